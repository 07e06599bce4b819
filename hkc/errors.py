"""Errors that users see: where, what was expected and got, and what to do.

Every problem with the user's input is an :class:`HkcError` (exit code 2); a fault of hkc itself is an
:class:`InternalError` (exit code 3). :func:`render` turns either into the text that the command line prints.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Span:
    """A place in a source file; lines and columns count from 1."""

    file: str
    line: int
    column: int
    end_column: int | None = None

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


class HkcError(Exception):
    """A problem with the input.

    ``expected``, ``got`` and ``hint`` are short phrases; ``notes`` are further ``(message, span)`` pairs, for
    errors that involve two places.
    """

    exit_code = 2
    label = "error"

    def __init__(
        self,
        message: str,
        span: Span | None = None,
        *,
        expected: str | None = None,
        got: str | None = None,
        hint: str | None = None,
        notes: Iterable[tuple[str, Span | None]] = (),
    ) -> None:
        super().__init__(message)
        self.message = message
        self.span = span
        self.expected = expected
        self.got = got
        self.hint = hint
        self.notes = tuple(notes)

    def __str__(self) -> str:
        return render(self)


class InternalError(HkcError):
    """hkc itself went wrong; the input may be fine."""

    exit_code = 3
    label = "internal error"


def _source_line(span: Span) -> str | None:
    try:
        lines = Path(span.file).read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError, ValueError):
        return None
    return lines[span.line - 1] if 1 <= span.line <= len(lines) else None


def _caret(span: Span) -> list[str]:
    source = _source_line(span)
    if source is None:
        return []
    # A tab keeps its width under the caret line, so copy it instead of a space.
    lead = "".join("\t" if c == "\t" else " " for c in source[: span.column - 1])
    width = max(1, (span.end_column or span.column + 1) - span.column)
    width = min(width, max(1, len(source) - span.column + 1))
    return [f"    {source}", f"    {lead}{'^' * width}"]


def render(error: HkcError) -> str:
    """The full message: ``file:line:column: error: ...``, the source line with a caret, and the advice."""
    where = f"{error.span}: " if error.span else ""
    lines = [f"{where}{error.label}: {error.message}"]
    if error.span:
        lines += _caret(error.span)
    if error.expected:
        lines.append(f"  expected: {error.expected}")
    if error.got:
        lines.append(f"  got: {error.got}")
    for message, span in error.notes:
        lines.append(f"{span}: note: {message}" if span else f"  note: {message}")
        if span:
            lines += _caret(span)
    if error.hint:
        lines.append(f"  hint: {error.hint}")
    return "\n".join(lines)
