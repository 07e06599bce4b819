"""The parser made from `grammar.lark`, kept in the user's cache folder: making it takes longer than parsing."""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
from functools import cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

from hkc import knobs

if TYPE_CHECKING:
    from lark import Lark


@cache
def parser() -> Lark:
    """The LALR parser of the language."""
    import lark

    source = resources.files("hkc.lang").joinpath("grammar.lark").read_text(encoding="utf-8")
    path = _cache_file(source, lark.__version__)
    if path is not None:
        try:
            with path.open("rb") as file:
                return lark.Lark.load(file)
        except Exception:
            # Absent or damaged (which can fail in any way): made anew below.
            pass
    from hkc.lang.lexer import TileLexer

    made = lark.Lark(source, parser="lalr", lexer=TileLexer, propagate_positions=True, maybe_placeholders=True)
    if path is not None:
        _save(made, path)
    return made


def _cache_file(source: str, version: str) -> Path | None:
    key = hashlib.sha256("\0".join((source, version, sys.version)).encode()).hexdigest()[:16]
    try:
        return knobs.cache_dir() / f"grammar-{key}.lark" if knobs.cache_enabled() else None
    except RuntimeError:
        return None  # there is no home folder


def _save(made: Lark, path: Path) -> None:
    """Writes the tables under a name of their own first, so that another process never reads half of them."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=path.name)
        with os.fdopen(handle, "wb") as file:
            made.save(file)
        os.replace(temporary, path)
    except OSError:
        pass  # a cache that can't be written only costs time
