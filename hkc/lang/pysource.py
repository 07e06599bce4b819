"""Where a Python function's source is, and its syntax tree there."""

from __future__ import annotations

import ast
import inspect
import linecache
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from hkc.errors import HkcError, Span

FunctionNode = ast.FunctionDef | ast.Lambda


@dataclass(frozen=True)
class Source:
    """A Python file (or notebook cell) with the lines that spans need."""

    filename: str
    lines: tuple[str, ...]

    def span(self, node: ast.AST) -> Span:
        """The place of a node; columns count characters."""
        line, column = node.lineno, self._column(node.lineno, node.col_offset)  # type: ignore[attr-defined]
        end: int | None = None
        if node.end_lineno == line:  # type: ignore[attr-defined]
            end = self._column(line, node.end_col_offset)  # type: ignore[attr-defined]
        return Span(self.filename, line, column, end)

    def _column(self, line: int, offset: int) -> int:
        # The compiler counts UTF-8 bytes.
        text = self.lines[line - 1] if line <= len(self.lines) else ""
        return len(text.encode()[:offset].decode(errors="ignore")) + 1

    def name_span(self, node: ast.FunctionDef) -> Span:
        """The place of a function's name in its `def`."""
        at = self.span(node)
        column = self.lines[node.lineno - 1].find(node.name, at.column + 2) + 1
        return Span(self.filename, node.lineno, column, column + len(node.name))


@lru_cache(maxsize=16)
def _parse(text: str) -> ast.Module:
    return ast.parse(text)


def find(function: Callable[..., Any], what: str) -> tuple[Source, FunctionNode]:
    """The source of a function and its node.

    Raises HkcError when the source can't be had, or has changed since it was loaded.
    """
    code = getattr(function, "__code__", None)
    if code is None:
        raise HkcError(f"{what} is no Python function", got=type(function).__name__)
    where = Span(code.co_filename, code.co_firstlineno, 1)
    if code.co_flags & (inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR):
        raise HkcError(f"{what} is an async function", where, expected="a function written with plain def")
    linecache.checkcache(code.co_filename)
    lines = linecache.getlines(code.co_filename, function.__globals__)
    if not lines:
        raise HkcError(
            f"the source of {what} is not available", where, hint="write the kernel in a file or a notebook cell"
        )
    try:
        tree = _parse("".join(lines))
    except (SyntaxError, RecursionError, MemoryError, ValueError):
        raise HkcError(f"the source of {what} can't be read", where) from None
    source = Source(code.co_filename, tuple(line.rstrip("\n") for line in lines))
    nodes = [n for n in _functions(tree) if _matches(n, code)]
    if len(nodes) > 1:
        nodes = [n for n in nodes if _covers(source, n, code)] or nodes
    if not nodes:
        raise HkcError(f"the source of {what} has changed since it was loaded", where, hint="load the module again")
    return source, nodes[0]


def _functions(tree: ast.Module) -> Iterator[FunctionNode]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.Lambda):
            yield node


def _matches(node: FunctionNode, code: Any) -> bool:
    arguments = node.args
    names = [a.arg for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]
    if tuple(names) != code.co_varnames[: len(names)] or len(names) != code.co_argcount + code.co_kwonlyargcount:
        return False
    if isinstance(node, ast.Lambda):
        return code.co_name == "<lambda>" and node.lineno == code.co_firstlineno
    first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
    return code.co_name == node.name and first == code.co_firstlineno


def _covers(source: Source, node: FunctionNode, code: Any) -> bool:
    """Whether the function's instructions lie inside the node; tells lambdas of one line apart."""
    places = [p for p in code.co_positions() if None not in p and p[2] != p[3]]
    if not places or not isinstance(node, ast.Lambda):
        return True
    body = node.body
    inside = (body.lineno, body.col_offset), (body.end_lineno, body.end_col_offset)
    return all(inside[0] <= (p[0], p[2]) and (p[1], p[3]) <= inside[1] for p in places)
