"""Variables: what each name is bound to, and where it stopped being visible."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from hkc.errors import Span


@dataclass(frozen=True)
class Binding:
    """A variable's value and the place that gave it."""

    value: Any
    span: Span


@dataclass
class Scope:
    """The variables at a point of the program.

    ``assigned`` are those assigned since the scope was opened; ``hidden`` those that only a loop or branch, now
    over, has bound: by the word for it ("loop", "if") and the place.
    """

    names: dict[str, Binding] = field(default_factory=dict)
    assigned: dict[str, Span] = field(default_factory=dict)
    hidden: dict[str, tuple[str, Span]] = field(default_factory=dict)

    def inner(self) -> Scope:
        """A scope for a loop's body or a branch: sees all, and keeps what it assigns to itself."""
        return Scope(dict(self.names), {}, dict(self.hidden))

    def assign(self, name: str, value: Any, span: Span) -> None:
        """Binds a name."""
        self.names[name] = Binding(value, span)
        self.assigned[name] = span
        self.hidden.pop(name, None)

    def hide(self, inner: Scope, what: str) -> None:
        """Remembers the names that ``inner``, now closed, has bound and this scope does not have."""
        for name, (kind, span) in inner.hidden.items():
            if name not in self.names:
                self.hidden.setdefault(name, (kind, span))
        for name, span in inner.assigned.items():
            if name not in self.names:
                self.hidden[name] = (what, span)
