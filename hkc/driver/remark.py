"""What the compiler tells of its choices."""

from __future__ import annotations

from dataclasses import dataclass

from hkc.errors import Span


@dataclass(frozen=True)
class Remark:
    """One remark; ``file`` is empty and ``line`` 0 where no place is known."""

    message: str
    file: str = ""
    line: int = 0
    column: int = 0

    @property
    def span(self) -> Span | None:
        """The place in the source."""
        return Span(self.file, self.line, self.column) if self.file else None

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}: {self.message}" if self.file else self.message
