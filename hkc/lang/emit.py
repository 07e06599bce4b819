"""Where ops are made: the current place in the source, and how many ops were made so far."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import islice
from types import FrameType
from typing import Any

from hkc.errors import Span


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
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        module = frame.f_globals.get("__name__", "")
        if not module.startswith("hkc.") and module != "contextlib":
            column = next(islice(frame.f_code.co_positions(), frame.f_lasti // 2, None))[2]
            return Span(frame.f_code.co_filename, frame.f_lineno, (column or 0) + 1)
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
