"""The ops with regions: the kernel's function, loops and ifs. Used by the elaborator and by the builder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mlir import ir

from hkc.dialect.locations import make_loc
from hkc.dialect.types import ViewType
from hkc.dtypes import DType
from hkc.errors import HkcError, Span
from hkc.lang import scalars
from hkc.lang.defaults import AUTO
from hkc.lang.emit import CURSOR, here
from hkc.lang.folding import I32
from hkc.lang.operations import as_i32, is_constant
from hkc.lang.values import Scalar, Tile, Token, Value, describe_type, wrap


@dataclass(frozen=True)
class Argument:
    """A run-time argument of a kernel."""

    name: str
    type: ViewType | DType
    span: Span | None


def open_function(
    module: ir.Module,
    name: str,
    arguments: Sequence[Argument],
    grid: Sequence[str],
    waves: Sequence[int] | None,
) -> ir.Block:
    """Adds the kernel's function to the module; the block is its body, without the return."""
    attributes: dict[str, ir.Attribute] = {
        "sym_name": ir.StringAttr.get(name),
        "function_type": ir.TypeAttr.get(ir.FunctionType.get([], [])),
        "tile.kernel": ir.UnitAttr.get(),
        "tile.grid": ir.ArrayAttr.get([ir.StringAttr.get(axis) for axis in grid]),
    }
    if waves is not None:
        attributes["tile.waves"] = ir.DenseI64ArrayAttr.get(list(waves))
    with ir.InsertionPoint(module.body), make_loc(here()):
        function = ir.Operation.create("func.func", attributes=attributes, regions=1)
    locations = [make_loc(a.span, a.name) for a in arguments]
    block = ir.Block.create_at_start(function.regions[0], [_mlir_type(a) for a in arguments], locations)
    set_signature(function, arguments)
    return block


def set_signature(function: ir.Operation, arguments: Sequence[Argument]) -> None:
    """Gives the function the type and the argument names that its block has."""
    types = [_mlir_type(a) for a in arguments]
    function.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(types, []))
    if arguments:
        names = [ir.DictAttr.get({"tile.name": ir.StringAttr.get(a.name)}) for a in arguments]
        function.attributes["arg_attrs"] = ir.ArrayAttr.get(names)


def _mlir_type(argument: Argument) -> ir.Type:
    type_ = argument.type
    return type_.mlir() if isinstance(type_, ViewType) else type_.mlir_type()


def end_function(block: ir.Block) -> None:
    """Ends the kernel's body."""
    with ir.InsertionPoint(block), make_loc(here()):
        ir.Operation.create("func.return")


def carried_value(value: Any, name: str, what: str) -> Value:
    """A variable's value as one that a loop or an if may carry.

    Raises HkcError for views, LDS, strings and element types, which have no run-time value to choose.
    """
    if isinstance(value, Scalar | Tile | Token):
        return value
    if is_constant(value) and scalars.natural_dtype(value) is not None:
        return scalars.materialize(value, name=name)
    raise HkcError(
        f"{name} is {describe_type(value)}, which {what} can't change",
        here(),
        expected="a scalar, tile or token",
    )


def result_location(span: Span | None, names: Sequence[str]) -> ir.Location:
    """The location of an op whose results are the variables ``names``."""
    if len(names) < 2:
        return make_loc(span, names[0] if names else None)
    return ir.Location.fused([make_loc(span, name) for name in names])


class Loop:
    """An scf.for under construction: make the body at ``point``, then call :meth:`finish`."""

    def __init__(
        self,
        bounds: tuple[Any, Any, Any],
        variable: str,
        variable_span: Span | None,
        names: Sequence[str],
        inits: Sequence[Any],
        *,
        stages: int | str | None = None,
        schedule: str | None = None,
        load_waves: int | None = None,
    ) -> None:
        self.span = here()
        self.names = list(names)
        low, high, step = (as_i32(b, w).ir for b, w in zip(bounds, _BOUNDS, strict=True))
        self.inits = [carried_value(v, n, "a loop") for v, n in zip(inits, names, strict=True)]
        values = [i.ir for i in self.inits]
        attributes: dict[str, ir.Attribute] = {}
        for name, count in (("tile.stages", stages), ("tile.load_waves", load_waves)):
            if count is not None and count != AUTO:
                attributes[name] = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), count)
        if schedule is not None and schedule != AUTO:
            attributes["tile.schedule"] = ir.StringAttr.get(schedule)
        CURSOR.count += 1
        self.op = ir.Operation.create(
            "scf.for",
            results=[v.type for v in values],
            operands=[low, high, step, *values],
            attributes=attributes,
            regions=1,
            loc=result_location(self.span, self.names),
        )
        types = [I32.mlir_type(), *(v.type for v in values)]
        locations = [make_loc(variable_span, variable), *(make_loc(self.span, n) for n in self.names)]
        self.block = ir.Block.create_at_start(self.op.regions[0], types, locations)
        self.variable = Scalar(self.block.arguments[0])
        self.arguments = [wrap(a) for a in list(self.block.arguments)[1:]]

    @property
    def point(self) -> ir.InsertionPoint:
        """Where the body's next op goes."""
        return ir.InsertionPoint(self.block)

    def finish(self, values: Sequence[Value]) -> list[Any]:
        """Ends the body with the variables' values; returns those after the loop."""
        with self.point, make_loc(self.span):
            ir.Operation.create("scf.yield", operands=[v.ir for v in values])
        return [wrap(r) for r in self.op.results]


_BOUNDS = ("a loop's first value", "a loop's end", "a loop's step")


# All of them left out, or stages and schedule given as "auto", leave the choice to the compiler.
RANGE_OPTIONS = ("stages", "schedule", "load_waves")


def check_range(low: Any, high: Any, step: Any, stages: Any, schedule: Any, load_waves: Any = None) -> None:
    """Raises HkcError for a step that is not positive, and options that are not constants of their kind."""
    if is_constant(step) and isinstance(step, int) and step <= 0:
        raise HkcError(f"the step of a loop is {step}", here(), expected="1 or more")
    counts = (
        ("stages is the number of buffers of the loop's loads", 'an integer, 1 or more, or "auto"', stages),
        ("load_waves is the number of waves that only load", "an integer, 1 or more", load_waves),
    )
    for message, expected, count in counts:
        left = count is None or (count == AUTO and count is stages)
        if not left and (not isinstance(count, int) or isinstance(count, bool) or count < 1):
            raise HkcError(message, here(), expected=expected, got=describe_type(count))
    if schedule is not None and not isinstance(schedule, str):
        raise HkcError("schedule is a name", here(), expected="a string", got=describe_type(schedule))


class Choice:
    """An scf.if under construction: make the branches at ``then`` and ``otherwise``, then :meth:`finish`."""

    def __init__(self, test: Scalar) -> None:
        self.span = here()
        self.op = ir.Operation.create("scf.if", operands=[test.ir], regions=2, loc=make_loc(self.span))
        self.blocks = [ir.Block.create_at_start(region, []) for region in self.op.regions]

    @property
    def then(self) -> ir.InsertionPoint:
        return ir.InsertionPoint(self.blocks[0])

    @property
    def otherwise(self) -> ir.InsertionPoint:
        return ir.InsertionPoint(self.blocks[1])

    def finish(self, names: Sequence[str], then: Sequence[Value], otherwise: Sequence[Value]) -> list[Any]:
        """Ends both branches with the variables' values, of equal types; returns those after the if.

        The op is made anew once its results are known, and takes the branches over.
        """
        for block, values in zip(self.blocks, (then, otherwise), strict=True):
            with ir.InsertionPoint(block), make_loc(self.span):
                ir.Operation.create("scf.yield", operands=[v.ir for v in values])
        CURSOR.count += 1
        final = ir.Operation.create(
            "scf.if",
            results=[v.ir.type for v in then],
            operands=[self.op.operands[0]],
            regions=2,
            loc=result_location(self.span, names),
            ip=ir.InsertionPoint(self.op),
        )
        self.blocks[0].append_to(final.regions[0])
        if names or len(list(self.blocks[1].operations)) > 1:
            self.blocks[1].append_to(final.regions[1])
        self.op.erase()
        return [wrap(r) for r in final.results]
