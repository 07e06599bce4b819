"""Which variables a loop's body assigns: those bound before it are carried from one turn to the next."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from hkc.errors import HkcError, Span
from hkc.lang import consteval, syntax

Decide = Callable[[syntax.Expression], bool | None]


def in_loop(loop: syntax.For, lookup: consteval.Lookup) -> dict[str, Span]:
    """The names that the loop's body assigns, with the first place of each.

    An if whose test is a constant counts with the branch that is taken. A test that uses a name which the loop
    itself assigns is not decided here: both branches count.
    """
    everything = {name for name, _ in _targets(loop.body, lambda test: None)} | {loop.variable.name}

    def outside(name: syntax.Name) -> object:
        if name.name in everything:
            raise consteval.NotConstant(name)
        return lookup(name)

    def decide(test: syntax.Expression) -> bool | None:
        try:
            return consteval.truth(consteval.evaluate(test, outside), test)
        except (consteval.NotConstant, HkcError):
            return None

    found: dict[str, Span] = {}
    for name, span in _targets(loop.body, decide):
        found.setdefault(name, span)
    return found


def _targets(body: Sequence[syntax.Statement], decide: Decide) -> Iterator[tuple[str, Span]]:
    for statement in body:
        if isinstance(statement, syntax.Assign):
            for target in statement.targets:
                if isinstance(target, syntax.Name):
                    yield target.name, target.span
        elif isinstance(statement, syntax.AugmentedAssign):
            if isinstance(statement.target, syntax.Name):
                yield statement.target.name, statement.target.span
        elif isinstance(statement, syntax.For):
            yield from _targets(statement.body, decide)
        elif isinstance(statement, syntax.If):
            taken = decide(statement.test)
            if taken is not False:
                yield from _targets(statement.then, decide)
            if taken is not True:
                yield from _targets(statement.otherwise, decide)
