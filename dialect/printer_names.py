"""Names in printed text: which are taken, and what each variable holds at a point of the text."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from mlir import ir

from hkc.dialect.locations import location_of, name_of
from hkc.dialect.types import ViewType, try_parse_type
from hkc.dtypes import DTYPES

KEYWORDS = frozenset(
    {*DTYPES, *("for", "in", "if", "else", "and", "or", "not", "True", "False", "pass", "inf", "nan", "view")}
)


class Names:
    """All names of a kernel; fresh ones differ from them."""

    def __init__(self, function: ir.Operation) -> None:
        self.taken: set[str] = set(KEYWORDS)
        self._next: dict[str, int] = {}
        for region in function.regions:
            for block in region.blocks:
                self._collect(block)

    def _collect(self, block: ir.Block) -> None:
        for argument in block.arguments:
            self.taken.add(name_of(argument) or "")
            type_ = try_parse_type(argument.type)
            if isinstance(type_, ViewType):
                self.taken.update(d for d in type_.dims if isinstance(d, str))
        for op in block.operations:
            self.taken.update(result_names(op.operation) or [])
            for region in op.operation.regions:
                for inner in region.blocks:
                    self._collect(inner)

    def claim(self, name: str | None, default: str) -> str:
        """``name`` if it can stand in the text, else a fresh one."""
        return name if name is not None and usable(name) else self.fresh(default)

    def fresh(self, base: str) -> str:
        """A name that nothing in the kernel has, made from ``base``."""
        number = self._next.get(base, 1)
        while f"{base}_{number}" in self.taken:
            number += 1
        self._next[base] = number + 1
        name = f"{base}_{number}"
        self.taken.add(name)
        return name


def usable(name: str) -> bool:
    """Whether the language can write the name."""
    return name.isidentifier() and name not in KEYWORDS


def result_names(op: ir.Operation) -> list[str] | None:
    """The source's names of an op's results, as the front end keeps them: a fused location has one a result."""
    location = location_of(op)
    if location.is_a_name():
        return [location.name_str]
    if location.is_a_fused():
        names = [part.name_str for part in location.locations if part.is_a_name()]
        return names if len(names) == len(op.results) else None
    return None


@dataclass
class TextScope:
    """The variables of the text so far: ``holds`` maps names to values.

    ``barred`` are names that may not be assigned here, since the parser would take them for variables of an
    enclosing block; ``assigned`` those that this block has assigned.
    """

    holds: dict[str, ir.Value] = field(default_factory=dict)
    barred: frozenset[str] = frozenset()
    assigned: set[str] = field(default_factory=set)
    held_by: dict[ir.Value, list[str]] = field(default_factory=dict)

    def bind(self, name: str, value: ir.Value) -> None:
        self.holds[name] = value
        self.assigned.add(name)
        names = self.held_by.setdefault(value, [])
        if name not in names:
            names.append(name)

    def has(self, name: str, value: ir.Value) -> bool:
        """Whether the name holds the value now."""
        held = self.holds.get(name)
        return held is not None and held == value

    def variables(self, value: ir.Value) -> Iterator[str]:
        """The names that hold the value now."""
        return (n for n in self.held_by.get(value, ()) if self.has(n, value))

    def inner(self, barred: frozenset[str]) -> TextScope:
        """The scope of a block inside; it may not assign what is bound here, but for ``barred``'s complement."""
        return TextScope(dict(self.holds), barred, set(), {v: list(n) for v, n in self.held_by.items()})
