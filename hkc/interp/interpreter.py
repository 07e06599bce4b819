"""Runs tile IR, workgroup by workgroup, in program order.

A kernel is decoded once into steps (a function with operand and result numbers), then run for every
workgroup. Asynchronous copies land at once, waits and barriers do nothing: a correct program can't tell.
Layouts are ignored, so the same kernel runs before any pass and after every pass up to `map-mfma`, with
equal results.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from mlir import ir

from hkc.dialect.irdl import get_int, get_ints, get_str
from hkc.dialect.locations import span_of
from hkc.dialect.ops import op_class
from hkc.dialect.ops.memory import whole_tile
from hkc.dialect.types import lds_type, tile_type
from hkc.dialect.verify import walk
from hkc.errors import HkcError
from hkc.interp import pieces, reductions, tile_ops
from hkc.interp.scalar_ops import Fault, make_evaluator
from hkc.interp.values import Lds, Tile, View
from hkc.passes import grid_order
from hkc.targets import COMMON_XCDS

Frame = list[Any]


class _Varying:
    """A scalar that differs between the waves of a workgroup."""


WAVE = _Varying()


@dataclass(frozen=True, slots=True)
class Step:
    """One op: ``run(frame, values)`` gives the tuple of its results."""

    op: ir.Operation
    run: Callable[[Frame, list[Any]], Any]
    operands: tuple[int, ...]
    results: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Block:
    """Steps, the numbers of the block's arguments, and the numbers of what its terminator gives."""

    arguments: tuple[int, ...]
    steps: tuple[Step, ...]
    yields: tuple[int, ...]


def run(
    module: ir.Module,
    arguments: Mapping[str, View | int | float],
    grid: tuple[int, ...],
    progress: Callable[[int, int], None] | None = None,
) -> None:
    """Run the module's kernel over ``grid`` workgroups; views that it stores to change in place.

    ``arguments`` are by parameter name; ``progress(done, all)`` is called after every workgroup. Raises a
    located HkcError where the program breaks a rule (a copy of an unaligned view, an LDS slot out of range,
    ...).
    """
    from hkc.driver.meta import kernel_function

    function = kernel_function(module)
    if function is None:
        raise HkcError("there is no tile kernel in the module to interpret")
    decoder = _Decoder()
    block = decoder.block(function.regions[0].blocks[0])
    block_arguments = function.regions[0].blocks[0].arguments
    described = function.attributes["arg_attrs"] if len(block_arguments) else ()
    names = [attributes["tile.name"].value for attributes in described]
    values = [arguments[name] for name in names]
    extents = (*grid, 1, 1)[:3]
    total = extents[0] * extents[1] * extents[2]
    with np.errstate(all="ignore"):
        for done, (z, y, x) in enumerate(product(*map(range, reversed(extents))), start=1):
            frame: Frame = [None] * decoder.count
            frame[_BLOCK_ID] = (x, y, z)
            frame[_GRID] = extents
            _enter(frame, block, values)
            if progress is not None:
                progress(done, total)


_BLOCK_ID, _GRID = 0, 1


def _enter(frame: Frame, block: Block, values: list[Any]) -> list[Any]:
    """Run a block with its arguments; gives what it yields."""
    for number, value in zip(block.arguments, values, strict=True):
        frame[number] = value
    for step in block.steps:
        operands = [frame[number] for number in step.operands]
        try:
            results = step.run(frame, operands)
        except Fault as fault:
            raise HkcError(str(fault), span_of(step.op)) from None
        if len(step.results) == 1:
            frame[step.results[0]] = results
        else:
            for number, value in zip(step.results, results or (), strict=True):
                frame[number] = value
    return [frame[number] for number in block.yields]


class _Decoder:
    """Numbers values and turns ops into steps."""

    def __init__(self) -> None:
        self._numbers: dict[ir.Value, int] = {}
        self.count = 2  # numbers 0 and 1 hold the block id and the grid

    def number(self, value: ir.Value) -> int:
        if value not in self._numbers:
            self._numbers[value] = self.count
            self.count += 1
        return self._numbers[value]

    def block(self, block: ir.Block) -> Block:
        arguments = tuple(self.number(argument) for argument in block.arguments)
        ops = [op.operation for op in block.operations]
        yields: tuple[int, ...] = ()
        if ops and ops[-1].name in ("scf.yield", "func.return"):
            yields = tuple(self.number(value) for value in ops.pop().operands)
        return Block(arguments, tuple(self.step(op) for op in ops), yields)

    def step(self, op: ir.Operation) -> Step:
        operands = tuple(self.number(value) for value in op.operands)
        results = tuple(self.number(value) for value in op.results)
        return Step(op, self._runner(op), operands, results)

    def _runner(self, op: ir.Operation) -> Callable[[Frame, list[Any]], Any]:
        if op.name == "scf.for":
            return self._for(op)
        if op.name == "scf.if":
            return self._if(op)
        scalar = make_evaluator(op)
        if scalar is not None:
            evaluate = scalar
            return lambda _, values: WAVE if WAVE in values else evaluate(*values)
        make = _OPS.get(op.name)
        if make is None:
            raise HkcError(
                f"the interpreter does not know {op.name}",
                span_of(op),
                hint="it runs programs of tiles: modules of the steps before map-mfma",
            )
        function = make(op)

        def apply(frame: Frame, values: list[Any]) -> Any:
            if any(value is WAVE for value in values):
                raise Fault("this differs between the waves of a workgroup; the interpreter runs whole workgroups")
            return function(frame, values)

        return apply

    def _for(self, op: ir.Operation) -> Callable[[Frame, list[Any]], Any]:
        body = self.block(op.regions[0].blocks[0])

        def loop(frame: Frame, values: list[Any]) -> Any:
            low, high, step, *carried = values
            if any(value is WAVE for value in (low, high, step)):
                raise Fault("the waves of a workgroup go through this loop a different number of times")
            if step <= 0:
                raise Fault(f"the step of a loop must be positive, not {step}")
            for index in range(low, high, step):
                carried = _enter(frame, body, [index, *carried])
            return carried[0] if len(carried) == 1 else carried

        return loop

    def _if(self, op: ir.Operation) -> Callable[[Frame, list[Any]], Any]:
        then, *others = [self.block(region.blocks[0]) for region in op.regions if len(region.blocks)]
        otherwise = others[0] if others else None
        harmless = not len(op.results) and all(inner.name in _NO_EFFECT for inner in list(walk(op))[1:])

        def branch(frame: Frame, values: list[Any]) -> Any:
            if values[0] is WAVE:
                if not harmless:
                    raise Fault("waves of one workgroup take different ways here, which the interpreter can't follow")
                return ()
            block = then if values[0] else otherwise
            results = _enter(frame, block, []) if block is not None else []
            return results[0] if len(results) == 1 else results

        return branch


# Ops that may stand under a condition that differs between waves: they change no values.
_NO_EFFECT = {
    *(f"tile.{n}" for n in ("barrier", "wait", "waitcnt", "set_priority", "schedule_barrier", "interleave")),
    *("scf.yield", "scf.if", "arith.constant"),
}

_Function = Callable[[Frame, list[Any]], Any]


def _block_id(op: ir.Operation) -> _Function:
    axis = get_int(op, "axis")
    return lambda frame, _: frame[_BLOCK_ID][axis]


def _ordered_block(op: ir.Operation) -> _Function:
    axis, sizes = get_int(op, "axis") or 0, grid_order.options(op)

    def position(frame: Frame, _: list[Any]) -> Any:
        (x, y, _), (rows, columns, _) = frame[_BLOCK_ID], frame[_GRID]
        return grid_order.position(x + y * rows, rows, columns, COMMON_XCDS, *sizes)[axis]

    return position


def _dim(op: ir.Operation) -> _Function:
    axis = get_int(op, "axis")
    return lambda _, values: values[0].values.shape[axis]


def _subview(op: ir.Operation) -> _Function:
    axes = get_ints(op, "axes") or ()
    return lambda _, values: values[0].part(dict(zip(axes, values[1:], strict=True)))


def _load(op: ir.Operation, *, wide: bool) -> _Function:
    type_ = tile_type(op.results[0])
    shape, cut = whole_tile(op, type_).shape, pieces.cut(op, type_)
    offsets = len(_group(op, "offsets"))

    def load(_: Frame, values: list[Any]) -> Tile:
        view, *rest = values
        if len(rest) > offsets and not rest[offsets]:
            return tile_ops.full(0, type_.shape, type_.dtype)
        if wide:
            _require_wide(view, rest[:offsets], shape, "load")
        return cut(view.load(rest[:offsets], shape))

    return load


def _store(op: ir.Operation, *, wide: bool) -> _Function:
    type_ = tile_type(op.operands[0])
    shape, places = whole_tile(op, type_).shape, pieces.places(op, type_)

    def store(_: Frame, values: list[Any]) -> None:
        tile, view, *offsets = values
        if wide:
            _require_wide(view, offsets, shape, "store")
        view.store(offsets, tile, places)

    return store


def _require_wide(view: View, offsets: list[int], shape: tuple[int, ...], what: str) -> None:
    if not view.aligned:
        rule = "unit stride, rows at multiples of 4 bytes"
        raise Fault(f"a wide {what} of a view that is not aligned ({rule}); test it with aligned()")
    if not view.columns_inside(offsets, shape):
        columns = f"{offsets[-1]} to {offsets[-1] + shape[-1]}"
        raise Fault(f"a wide {what} of columns {columns} of a view with {view.values.shape[-1]} columns")


def _copy(op: ir.Operation) -> _Function:
    type_ = lds_type(_group(op, "slot")[0])
    shape = type_.shape

    def copy(_: Frame, values: list[Any]) -> None:
        view, row, column, slot, *when = values
        if when and not when[0]:
            slot.write(tile_ops.full(0, shape, type_.dtype))
            return
        _require_wide(view, [row, column], shape, "copy")
        slot.write(view.load([row, column], shape))

    return copy


def _lds_slot(op: ir.Operation) -> _Function:
    buffers = lds_type(op.operands[0]).shape[0]

    def slot(_: Frame, values: list[Any]) -> Lds:
        if not 0 <= values[1] < buffers:
            raise Fault(f"LDS slot {values[1]} of {buffers}")
        return values[0].slot(values[1])

    return slot


def _group(op: ir.Operation, name: str) -> list[ir.Value]:
    cls = op_class(op)
    assert cls is not None
    return list(cls.groups(op)[name])


def _lds_alloc(op: ir.Operation) -> _Function:
    type_ = lds_type(op.results[0])
    return lambda _, __: Lds.allocate(type_.shape, type_.dtype)


def _full(op: ir.Operation) -> _Function:
    type_ = tile_type(op.results[0])
    return lambda _, values: tile_ops.full(values[0], type_.shape, type_.dtype)


def _cast(op: ir.Operation) -> _Function:
    dtype = tile_type(op.results[0]).dtype
    return lambda _, values: tile_ops.cast(values[0], dtype)


def _compare(op: ir.Operation) -> _Function:
    predicate = get_str(op, "predicate") or ""
    return lambda _, values: tile_ops.compare(values[0], values[1], predicate)


def _plain(function: Callable[..., Any]) -> Callable[[ir.Operation], _Function]:
    """An op that is a function of its operands alone."""
    return lambda _op: lambda _frame, values: function(*values)


def _bound(function: Callable[..., Any]) -> _Function:
    """A function of the operands, as the interpreter calls it."""
    return lambda _frame, values: function(*values)


_OPS: dict[str, Callable[[ir.Operation], _Function]] = {
    "tile.block_id": _block_id,
    "tile.ordered_block": _ordered_block,
    "tile.dim": _dim,
    "tile.subview": _subview,
    "tile.aligned": _plain(lambda view: view.aligned),
    "tile.wave_id": lambda _op: lambda _frame, _values: WAVE,
    "tile.load": lambda op: _load(op, wide=False),
    "tile.masked_load": lambda op: _load(op, wide=False),
    "tile.buffer_load": lambda op: _load(op, wide=True),
    "tile.store": lambda op: _store(op, wide=False),
    "tile.masked_store": lambda op: _store(op, wide=False),
    "tile.buffer_store": lambda op: _store(op, wide=True),
    "tile.lds_alloc": _lds_alloc,
    "tile.lds_slot": _lds_slot,
    "tile.lds_read": _plain(lambda slot: slot.read()),
    "tile.lds_read_part": lambda op: _bound(pieces.lds_read_part(op)),
    "tile.part": lambda op: _bound(pieces.part(op)),
    "tile.join": lambda op: _bound(pieces.join(op)),
    "tile.set_priority": _plain(lambda: None),
    "tile.schedule_barrier": _plain(lambda: None),
    "tile.interleave": _plain(lambda: None),
    "tile.lds_write": _plain(lambda tile, slot: slot.write(tile)),
    "tile.copy": _copy,
    "tile.wait": _plain(lambda *_tokens: None),
    "tile.waitcnt": _plain(lambda: None),
    "tile.barrier": _plain(lambda: None),
    "tile.full": _full,
    "tile.mma": _plain(tile_ops.mma),
    "tile.transpose": _plain(tile_ops.transpose),
    "tile.fma": _plain(tile_ops.fma),
    "tile.relayout": _plain(lambda tile: tile),
    "tile.cast": _cast,
    "tile.narrow": _cast,
    "tile.compare": _compare,
    "tile.select": _plain(tile_ops.select),
    "tile.reduce": lambda op: _bound(reductions.reduce(op)),
    "tile.reduce_parts": lambda op: _bound(reductions.reduce_parts(op)),
    "tile.rescale": _plain(reductions.rescale),
    "tile.broadcast": lambda op: _bound(reductions.broadcast(op)),
    "tile.index": lambda op: _bound(reductions.index(op)),
    **{name: _plain(function) for name, function in tile_ops.BINARY.items()},
    **{name: _plain(function) for name, function in tile_ops.UNARY.items()},
}
