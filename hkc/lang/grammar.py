"""The parser made from `grammar.lark`, kept in the user's cache folder since making it takes longer than parsing."""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
from collections.abc import Iterator
from functools import cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

from hkc import knobs
from hkc.lang.syntax import MAX_DEPTH

if TYPE_CHECKING:
    from lark import Lark, Token

OPENING = {"LPAR": "RPAR", "LSQB": "RSQB", "LBRACE": "RBRACE"}
CLOSING = frozenset(OPENING.values())


class NestingError(Exception):
    """Brackets deeper than the limit, at ``token``."""

    def __init__(self, token: Token) -> None:
        super().__init__()
        self.token = token


class Layout:
    """Lark's hook between lexer and parser: drops the newlines that end nothing, which are those outside { } and
    inside ( ) or [ ]. It looks no token ahead, since the parser's state chooses what the lexer looks for."""

    always_accept = ("_NEWLINE",)

    def process(self, stream: Iterator[Token]) -> Iterator[Token]:
        brackets: list[str] = []
        for token in stream:
            if token.type == "_NEWLINE" and not (brackets and brackets[-1] == "LBRACE"):
                continue
            if token.type in OPENING:
                brackets.append(token.type)
                if len(brackets) > MAX_DEPTH:
                    raise NestingError(token)
            elif token.type in CLOSING and brackets:
                brackets.pop()
            yield token


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
    made = lark.Lark(
        source,
        parser="lalr",
        lexer="contextual",
        postlex=Layout(),
        propagate_positions=True,
        maybe_placeholders=True,
    )
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
