"""Global loads and stores of one lane."""

from __future__ import annotations

from dataclasses import replace

from mlir import ir
from mlir.dialects import arith, scf

from hkc.dialect.irdl import get_ints
from hkc.dialect.ops import (
    BufferLoad,
    BufferStore,
    DescribeView,
    LaneBufferLoad,
    LaneBufferStore,
    LaneLoad,
    LaneStore,
    MaskedLoad,
    MaskedStore,
)
from hkc.dialect.ops.memory import whole_tile
from hkc.dialect.types import TileType, tile_type, view_type
from hkc.passes import scalars as s
from hkc.passes.access import WHOLE, longest_run
from hkc.passes.distribute.distributor import Distributor, distribution, runs, vector_type
from hkc.passes.distribute.vectors import gather, item, join, part, splat_zero
from hkc.passes.layouts import Distribution, Step


def row_descriptor(
    d: Distributor, view: ir.Value, row0: ir.Value, when: ir.Value | None, whole: int | None = None
) -> ir.Value:
    """A buffer descriptor that begins at row ``row0`` of an aligned 2-D view and ends with the view's last row, or
    with ``whole`` rows where that many are known to be left: then its size is the same for every tile of a loop."""
    dtype = view_type(view).dtype
    pitch = d.stride_bytes(view, 0, dtype)
    rows, columns = (d.size(view, axis) for axis in (0, 1))
    left = s.sub(s.sub(rows, row0), 1) if whole is None else whole - 1
    # Rows don't overlap, so behind the last row this is negative. A maximum, not a condition: that would be joined
    # with ``when`` anew in every iteration.
    size = s.add(s.mul(s.wide(left), pitch), s.mul(s.wide(columns), dtype.bytes))
    return _describe(view, s.mul(s.wide(row0), pitch), size, when)


def _line_descriptor(d: Distributor, view: ir.Value, first: ir.Value, when: ir.Value | None) -> ir.Value:
    """A buffer descriptor of a 1-D view from element ``first`` on."""
    item_bytes = view_type(view).dtype.bytes
    size = s.mul(s.wide(s.sub(d.size(view, 0), first)), item_bytes)
    return _describe(view, s.mul(s.wide(first), item_bytes), size, when)


def _describe(view: ir.Value, start: s.Scalar, size: s.Scalar, when: ir.Value | None) -> ir.Value:
    bounded = s.smax(size, 0)
    if when is not None:
        bounded = s.select(when, bounded, 0)
    return DescribeView.build(view, s.value(start, s.i64()), s.value(bounded, s.i64()))


class _Wide:
    """The buffer accesses of one tile; ``whole``: all its rows are inside the view.

    Then rows need no check of their own, and steps from a lane's origin go into scalar offsets, which the descriptor's
    bound does not see: one VGPR serves all accesses.
    """

    def __init__(
        self,
        d: Distributor,
        view: ir.Value,
        offsets: list[ir.Value],
        type_: TileType,
        when: ir.Value | None = None,
        whole: bool = False,
    ) -> None:
        self.d, self.view, self.type, self.whole = d, view, type_, whole
        self.dtype = type_.dtype
        if len(offsets) == 1:
            self.descriptor = _line_descriptor(d, view, offsets[0], when)
            self.column: s.Scalar = 0
        else:
            self.descriptor = row_descriptor(d, view, offsets[0], when, type_.shape[0] if whole else None)
            self.column = s.mul(offsets[1], self.dtype.bytes)

    def place(self, step: Step) -> tuple[ir.Value, ir.Value]:
        """Byte offset of what lies ``step`` from this lane's origin: a part for each lane and a scalar one."""
        d = self.d
        if not self.whole:
            return self._lane_offset(step), d.value(self.column)
        moved = d.once(("wide step", self.view, self.type.dtype, step), lambda: self._bytes(*step))
        return self._lane_offset((0, 0)), d.value(s.add(self.column, moved))

    def _lane_offset(self, step: Step) -> ir.Value:
        d = self.d

        def make() -> s.Scalar:
            row, column = d.origin(distribution(self.type))
            return self._bytes(s.add(row, step[0]), s.add(column, step[1]))

        return d.value(d.once(("wide", self.view, self.type, step), make))

    def _bytes(self, row: s.Scalar, column: s.Scalar) -> s.Scalar:
        at = s.mul(column, self.dtype.bytes)
        if self.type.rank == 1:
            return at
        return s.add(at, s.mul(row, s.narrow(self.d.stride_bytes(self.view, 0, self.dtype))))


def _pieced(op: ir.Operation, type_: TileType) -> Distribution:
    """Where the elements of an access are: of a piece, in the whole tile."""
    dist = distribution(whole_tile(op, type_))
    pieces, piece = get_ints(op, "pieces"), get_ints(op, "piece")
    if pieces is None or piece is None:
        return dist
    return replace(dist, fragments=dist.piece((pieces[0], pieces[1]), (piece[0], piece[1])))


def buffer_load(d: Distributor, op: ir.Operation) -> list[ir.Value]:
    groups = BufferLoad.groups(op)
    type_ = tile_type(op.results[0])
    when = d.one(groups["when"][0]) if groups["when"] else None
    view, offsets = d.one(groups["view"][0]), [d.one(v) for v in groups["offsets"]]
    wide = _Wide(d, view, offsets, whole_tile(op, type_), when, WHOLE in op.attributes)
    dist = _pieced(op, type_)
    vectors = []
    for row, column in dist.fragments:
        pieces = []
        for run in runs(dist.layout, longest_run(type_, d.target)):
            offset, scalar = wide.place((row + run.step[0], column + run.step[1]))
            made = vector_type(run.count, type_.dtype)
            pieces.append(LaneBufferLoad.build(wide.descriptor, offset, scalar, made))
        vectors.append(join(pieces))
    return vectors


def buffer_store(d: Distributor, op: ir.Operation) -> list[ir.Value]:
    type_, vectors = d.fragments(op.operands[0])
    view, *offsets = [d.one(v) for v in list(op.operands)[1:]]
    wide = _Wide(d, view, offsets, whole_tile(op, type_))
    dist = _pieced(op, type_)
    with d.once_each(dist):
        for (row, column), vector in zip(dist.fragments, vectors, strict=True):
            for run in runs(dist.layout, longest_run(type_, d.target)):
                offset, scalar = wide.place((row + run.step[0], column + run.step[1]))
                LaneBufferStore.build(part(vector, run.first, run.count), wide.descriptor, offset, scalar)
    return []


class _Masked:
    """The element accesses of one tile: 64-bit offsets, and whether each element is inside the view."""

    def __init__(self, d: Distributor, view: ir.Value, offsets: list[ir.Value], type_: TileType) -> None:
        self.d, self.view, self.type = d, view, type_
        row, column = d.origin(distribution(type_))
        last = len(offsets) - 1
        self.column = s.add(offsets[last], column)
        self.row: s.Scalar | None = s.add(offsets[0], row) if last else None
        self.strides = [d.stride_bytes(view, axis, type_.dtype) for axis in range(last + 1)]
        self.sizes = [d.size(view, axis) for axis in range(last + 1)]
        self._rows: dict[int, tuple[s.Scalar, s.Scalar]] = {}
        self._columns: dict[int, tuple[s.Scalar, s.Scalar]] = {}

    def _row(self, step: int) -> tuple[s.Scalar, s.Scalar]:
        """Byte offset of a row, and how many columns it has: none outside.

        Columns, not a condition: that would be kept in a pair of SGPRs for each row.
        """
        if step not in self._rows:
            if self.row is None:
                self._rows[step] = (0, self.sizes[-1])
            else:
                row = s.add(self.row, step)
                inside = s.compare("ult", row, self.sizes[0])
                offset = s.mul(s.wide(row), self.strides[0])
                self._rows[step] = (offset, s.select(inside, self.sizes[-1], 0))
        return self._rows[step]

    def _column(self, step: int) -> tuple[s.Scalar, s.Scalar]:
        """Byte offset of a column in its row, and the column.

        A product for each column, not a sum of the first one and multiples of the stride, for the same reason.
        """
        if step not in self._columns:
            column = s.add(self.column, step)
            self._columns[step] = (s.mul(s.wide(column), self.strides[-1]), column)
        return self._columns[step]

    def element(self, step: Step) -> tuple[ir.Value, ir.Value]:
        """Byte offset of the element at ``step`` from this lane's origin, and whether it is inside."""
        offset, columns = self._row(step[0])
        move, column = self._column(step[1])
        return self.d.value(s.add(offset, move), s.i64()), s.compare("ult", column, columns)

    def nonempty(self) -> ir.Value:
        return s.both([s.compare("sgt", size, 0) for size in self.sizes])


def masked_load(d: Distributor, op: ir.Operation) -> list[ir.Value]:
    """Elements outside read the view's first element and are then zeroed; an empty view is not touched."""
    type_ = tile_type(op.results[0])
    view, *offsets = [d.one(v) for v in op.operands]
    dist = _pieced(op, type_)
    access = _Masked(d, view, offsets, whole_tile(op, type_))
    made = vector_type(dist.layout.items_per_fragment, type_.dtype)
    branch = scf.IfOp(access.nonempty(), [made] * len(dist.fragments), has_else=True)
    with ir.InsertionPoint(branch.else_block):
        scf.YieldOp([splat_zero(made)] * len(dist.fragments))
    with ir.InsertionPoint(branch.then_block):
        zero = s.constant(0, type_.dtype.mlir_type())
        vectors = []
        for row, column in dist.fragments:
            items = []
            for down, right in dist.layout.item_steps():
                offset, inside = access.element((row + down, column + right))
                loaded = LaneLoad.build(view, s.select(inside, offset, d.constant(0, s.i64())), zero.type)
                items.append(arith.SelectOp(inside, loaded, zero).result)
            vectors.append(gather(items))
        scf.YieldOp(vectors)
    return list(branch.operation.results)


def masked_store(d: Distributor, op: ir.Operation) -> list[ir.Value]:
    type_, vectors = d.fragments(op.operands[0])
    view, *offsets = [d.one(v) for v in list(op.operands)[1:]]
    dist = _pieced(op, type_)
    access = _Masked(d, view, offsets, whole_tile(op, type_))
    places: dict[Step, tuple[ir.Value, int]] = {}
    for (row, column), vector in zip(dist.fragments, vectors, strict=True):
        for index, (down, right) in enumerate(dist.layout.item_steps()):
            places[row + down, column + right] = vector, index
    # Along the axis with more positions first, so that the offsets of few are kept for all of the others.
    rows, columns = (len({step[axis] for step in places}) for axis in (0, 1))
    with d.once_each(dist):
        for step in sorted(places, key=lambda step: step if rows > columns else step[::-1]):
            vector, index = places[step]
            offset, inside = access.element(step)
            LaneStore.build(item(vector, index), view, offset, inside)
    return []


HANDLERS = {
    BufferLoad.name: buffer_load,
    BufferStore.name: buffer_store,
    MaskedLoad.name: masked_load,
    MaskedStore.name: masked_store,
}
