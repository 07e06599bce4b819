"""Where ops are made: the current place in the source, and how many ops were made so far."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hkc.errors import Span

_PACKAGE = str(Path(__file__).resolve().parent.parent)


class _Cursor(threading.local):
    span: Span | None = None
    count: int = 0


CURSOR = _Cursor()


def here() -> Span | None:
    """The place in the source that is being turned into ops.

    For a language front end that is the syntax node at hand; else (a program that uses the builder) the line of
    the caller outside of hkc.
    """
    return CURSOR.span or _caller()


def _caller() -> Span | None:
    frame = sys._getframe(1)
    while frame is not None:
        name = frame.f_code.co_filename
        if not name.startswith(_PACKAGE) and not name.endswith("contextlib.py"):
            positions = list(frame.f_code.co_positions())[frame.f_lasti // 2]
            return Span(name, frame.f_lineno, (positions[2] or 0) + 1)
        if frame.f_back is None:
            return None
        frame = frame.f_back
    return None


@contextmanager
def at(span: Span | None) -> Iterator[None]:
    """Makes ``span`` the current place."""
    before = CURSOR.span
    CURSOR.span = span
    try:
        yield
    finally:
        CURSOR.span = before


def emit(build: Callable[..., Any], *args: Any, **keywords: Any) -> Any:
    """Calls ``build`` (of an op class) at the current place."""
    from hkc.dialect.locations import make_loc

    CURSOR.count += 1
    with make_loc(here()):
        return build(*args, **keywords)
