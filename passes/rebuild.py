"""Rebuilding a kernel op by op, where one old value may become several new ones.

A pass subclasses :class:`Rebuilder`, registers a handler an op name and says how types convert. Ops without a
handler are cloned; scf.for and scf.if are rebuilt with their carried values converted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from mlir import ir
from mlir.dialects import scf

from hkc.dialect.locations import location_of, name_of, place_of
from hkc.errors import HkcError, InternalError

# The first argument is the Rebuilder (of the subclass that the handler is for).
Handler = Callable[[Any, ir.Operation], Sequence[ir.Value] | None]


class Rebuilder:
    """Writes a new body for a kernel while walking the old one."""

    def __init__(self, handlers: dict[str, Handler]) -> None:
        self.handlers = handlers
        self.values: dict[ir.Value, list[ir.Value]] = {}

    def convert(self, value: ir.Value) -> list[ir.Type]:
        """The types of the values that stand for an old value."""
        return [value.type]

    def get(self, value: ir.Value) -> list[ir.Value]:
        """The new values of an old one."""
        return self.values.get(value, [value])

    def one(self, value: ir.Value) -> ir.Value:
        """The new value of an old one that stays single."""
        found = self.get(value)
        if len(found) != 1:
            raise InternalError(f"a value of type {value.type} became {len(found)} values")
        return found[0]

    def block(self, operations: Sequence[ir.Operation]) -> None:
        """Rebuilds ops at the current insertion point; terminators are left to the caller."""
        for op in operations:
            with location_of(op):
                self.operation(op)

    def operation(self, op: ir.Operation) -> None:
        handler = self.handlers.get(op.name)
        if handler is not None:
            self.bind(op, handler(self, op))
        elif op.name == "scf.for":
            self._loop(op)
        elif op.name == "scf.if":
            self._branch(op)
        else:
            self.clone(op)

    def bind(self, op: ir.Operation, made: Sequence[ir.Value] | None) -> None:
        """Records what replaces a single-result op (nothing for an op without results)."""
        if op.results:
            self.values[op.results[0]] = list(made or [])

    def clone(self, op: ir.Operation) -> ir.Operation:
        """A copy of a region-less op with the new operands."""
        operands = [self.one(v) for v in op.operands]
        attributes = {named: op.attributes[named] for named in _names(op)}
        copy = ir.Operation.create(
            op.name, results=[r.type for r in op.results], operands=operands, attributes=attributes
        )
        for old, new in zip(op.results, copy.results, strict=True):
            self.values[old] = [new]
        return copy

    def _flat(self, values: Sequence[ir.Value]) -> list[ir.Value]:
        return [new for old in values for new in self.get(old)]

    def _rebind(self, old: Sequence[ir.Value], new: Sequence[ir.Value]) -> None:
        rest = list(new)
        for value in old:
            count = len(self.convert(value))
            self.values[value], rest = rest[:count], rest[count:]

    def _loop(self, op: ir.Operation) -> None:
        low, high, step, *initial = list(op.operands)
        old = op.regions[0].blocks[0]
        variable, *carried = old.arguments
        places = [p for p, a in zip(carried_places(op), carried, strict=True) for _ in self.convert(a)]
        bounds = (self.one(low), self.one(high), self.one(step))
        loop, block = make_loop(bounds, self._flat(initial), variable_place(op), places)
        for named in _names(op):
            loop.attributes[named] = op.attributes[named]
        new_variable, *new_carried = block.arguments
        self.values[variable] = [new_variable]
        self._rebind(carried, new_carried)
        *body, end = [inner.operation for inner in old.operations]
        with ir.InsertionPoint(block):
            self.block(body)
            with location_of(end):
                scf.YieldOp(self._flat(list(end.operands)))
        self._rebind(list(op.results), list(loop.results))

    def _branch(self, op: ir.Operation) -> None:
        types = [t for result in op.results for t in self.convert(result)]
        has_else = len(op.regions[1].blocks) > 0
        branch = scf.IfOp(self.one(op.operands[0]), types, has_else=has_else)
        for region, block in zip(op.regions, (branch.then_block, branch.else_block if has_else else None), strict=True):
            if block is None:
                continue
            *body, end = [inner.operation for inner in region.blocks[0].operations]
            with ir.InsertionPoint(block):
                self.block(body)
                with location_of(end):
                    scf.YieldOp(self._flat(list(end.operands)))
        self._rebind(list(op.results), list(branch.operation.results))


def carried_places(loop: ir.Operation) -> list[ir.Location]:
    """The named places of what an scf.for carries, one a result.

    They are kept in the loop's own location: MLIR's text has none for a loop's arguments.
    """
    location, count = location_of(loop), len(loop.results)
    if count == 1:
        return [location]
    if location.is_a_fused() and len(location.locations) == count:
        return list(location.locations)
    return [place_of(location)] * count


def variable_place(loop: ir.Operation) -> ir.Location:
    """The place of a loop's variable: the loop's own, for the reason above, with the variable's name."""
    return place_of(loop, name_of(loop.regions[0].blocks[0].arguments[0]))


def make_loop(
    bounds: tuple[ir.Value, ir.Value, ir.Value],
    initial: Sequence[ir.Value],
    variable: ir.Location,
    carried: Sequence[ir.Location],
) -> tuple[ir.Operation, ir.Block]:
    """An scf.for (low, high, step) without its body's ops, and its block.

    Locations name the loop variable and what is carried; the loop's own is the latter's, one a result.
    """
    loop = ir.Operation.create(
        "scf.for",
        results=[v.type for v in initial],
        operands=[*bounds, *initial],
        regions=1,
        loc=ir.Location.fused(list(carried)) if carried else None,
    )
    types = [bounds[0].type, *(v.type for v in initial)]
    return loop, ir.Block.create_at_start(loop.regions[0], types, [variable, *carried])


def _names(op: ir.Operation) -> list[str]:
    return [named if isinstance(named, str) else named.name for named in op.attributes]


def kernel_of(module: ir.Module) -> ir.Operation:
    """The module's kernel function. Raises HkcError if there is none."""
    for op in module.body.operations:
        if op.operation.name in ("func.func", "llvm.func") and "tile.kernel" in op.operation.attributes:
            return op.operation
    raise HkcError("the module holds no kernel", hint="feed a dump that hkc wrote with --dump-ir")


def function_of(op: ir.Operation) -> ir.Operation:
    """The function that an op stands in."""
    while op.name != "func.func":
        op = op.parent.operation
    return op


def body_of(function: ir.Operation) -> ir.Block:
    return function.regions[0].blocks[0]


def rebuild_body(function: ir.Operation, rebuilder: Rebuilder) -> None:
    """Replaces the kernel's body by the rebuilt one; block arguments stay."""
    block = body_of(function)
    *old, end = [op.operation for op in block.operations]
    # New ops go before the terminator, after all old ones; the old ones are erased afterwards, last first.
    with ir.InsertionPoint(end):
        rebuilder.block(old)
    for op in reversed(old):
        op.erase()
