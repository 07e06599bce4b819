"""The state of `map-mfma`: where this lane's elements are, and what is computed once for many of them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from mlir import ir
from mlir.dialects import arith, scf

from hkc.dialect.ops import Dim, LaneId, ViewStride, WaveId
from hkc.dialect.types import TileType, TokenType, tile_type, try_parse_type
from hkc.dtypes import DType
from hkc.passes import scalars as s
from hkc.passes.layouts import Distribution, Layout, Step, WaveSplit, distribute
from hkc.passes.rebuild import Handler, Rebuilder
from hkc.passes.roles import Roles
from hkc.targets import Target


def vector_type(count: int, dtype: DType) -> ir.Type:
    return ir.VectorType.get([count], dtype.mlir_type())


def distribution(type_: TileType) -> Distribution:
    """Where a laid-out tile's elements are."""
    return distribute(type_.layout or "", type_.shape)


@dataclass(frozen=True)
class Run:
    """Items of a fragment that lie side by side in a row: the first one, how many, and where the first one is."""

    first: int
    count: int
    step: Step


def runs(layout: Layout, most: int) -> list[Run]:
    """A fragment's items as runs of at most ``most``."""
    steps = layout.item_steps()
    found: list[Run] = []
    for index, (row, column) in enumerate(steps):
        if found:
            last = found[-1]
            if last.count < most and (row, column) == (last.step[0], last.step[1] + last.count):
                found[-1] = Run(last.first, last.count + 1, last.step)
                continue
        found.append(Run(index, 1, (row, column)))
    return found


class Distributor(Rebuilder):
    """Rebuilds a kernel with each tile as one vector a fragment."""

    def __init__(self, handlers: dict[str, Handler], target: Target, roles: Roles) -> None:
        super().__init__(handlers)
        self.target = target
        self.roles = roles
        self._known: dict[tuple[ir.Block, Hashable], s.Scalar] = {}
        self._blocks: dict[ir.Block, list[ir.Block]] = {}
        self._constants: dict[tuple[int, str], ir.Value] = {}
        self._top: ir.Operation | None = None
        self._lane: ir.Value | None = None
        self._wave: ir.Value | None = None

    def begin(self) -> None:
        """Creates the lane and wavefront indices; constants go right behind them."""
        self._lane = LaneId.build()
        self._wave = WaveId.build() if self.roles.total > 1 else None
        self._top = s.constant(0, s.i32()).owner.operation

    def once(self, key: Hashable, make: Callable[[], s.Scalar]) -> s.Scalar:
        """A value that depends only on the key, the arguments, lane and wavefront: made once a block, and shared with
        the blocks inside. (Made at the kernel's top it would take a register from the main loop.)"""
        blocks = self._enclosing(ir.InsertionPoint.current.block)
        for block in blocks:
            if (block, key) in self._known:
                return self._known[block, key]
        made = self._known[blocks[0], key] = make()
        return made

    def _enclosing(self, block: ir.Block) -> list[ir.Block]:
        """The block and those around it, innermost first."""
        if block not in self._blocks:
            owner = block.owner.operation
            around = [] if owner.name == "func.func" else self._enclosing(owner.block)
            self._blocks[block] = [block, *around]
        return self._blocks[block]

    def constant(self, value: int, type_: ir.Type | None = None) -> ir.Value:
        """A constant, made once at the kernel's top."""
        chosen = type_ or s.i32()
        key = (value, str(chosen))
        if key not in self._constants:
            assert self._top is not None
            with ir.InsertionPoint(self._top):
                self._constants[key] = s.constant(value, chosen)
        return self._constants[key]

    def value(self, scalar: s.Scalar, type_: ir.Type | None = None) -> ir.Value:
        """A scalar as a value; ints become constants made once."""
        return scalar if isinstance(scalar, ir.Value) else self.constant(scalar, type_)

    @property
    def lane(self) -> ir.Value:
        assert self._lane is not None
        return self._lane

    @property
    def wave(self) -> s.Scalar:
        return self._wave if self._wave is not None else 0

    def convert(self, value: ir.Value) -> list[ir.Type]:
        type_ = try_parse_type(value.type)
        if isinstance(type_, TokenType):
            return []  # waits are counters by now
        if not isinstance(type_, TileType):
            return [value.type]
        dist = distribution(type_)
        return [vector_type(dist.layout.items_per_fragment, type_.dtype)] * len(dist.fragments)

    def origin(self, dist: Distribution) -> tuple[s.Scalar, s.Scalar]:
        """Row and column of this lane's first item of the tile's first fragment."""
        first, second = (self._axis(dist, axis) for axis in (0, 1))
        return first, second

    def _axis(self, dist: Distribution, axis: int) -> s.Scalar:
        key = ("origin", axis, dist.layout.lanes, dist.layout.split, dist.part)

        def make() -> s.Scalar:
            split = dist.layout.split[axis]
            part = s.mod(s.div(self.wave, split.divisor), split.count)
            place: s.Scalar = s.mul(part, dist.part[axis])
            for low, count, step in _bit_runs(dist.layout, axis):
                place = s.add(place, s.mul(s.bits(self.lane, low, count), step))
            return place

        return self.once(key, make)

    @contextmanager
    def once_each(self, dist: Distribution) -> Iterator[None]:
        """What is built inside runs on one lane for each element: the first of those that hold the same ones."""
        idle, splits = dist.layout.idle_lanes(), dist.layout.split
        if not idle and splits[0].count * splits[1].count == self.roles.computing:
            yield
            return
        branch = scf.IfOp(self._is_first(idle, splits), [])
        with ir.InsertionPoint(branch.then_block):
            yield
            scf.YieldOp([])

    def _is_first(self, idle: int, splits: tuple[WaveSplit, WaveSplit]) -> ir.Value:
        first: s.Scalar = 0
        for split in splits:
            first = s.add(first, s.mul(s.mod(s.div(self.wave, split.divisor), split.count), split.divisor))
        conditions = [s.holds("eq", self.wave, first)] if self.roles.total > 1 else []
        return s.both([*conditions, s.compare("eq", arith.AndIOp(self.lane, self.constant(idle)).result, 0)])

    def size(self, view: ir.Value, axis: int) -> s.Scalar:
        """A view's size along an axis, i32."""
        return self.once(("size", view, axis), lambda: Dim.build(view, axis))

    def stride_bytes(self, view: ir.Value, axis: int, dtype: DType) -> s.Scalar:
        """A view's stride in bytes, i64."""
        return self.once(("stride", view, axis), lambda: s.mul(ViewStride.build(view, axis), dtype.bytes))

    def fragments(self, value: ir.Value) -> tuple[TileType, list[ir.Value]]:
        """An old tile's type and this lane's vectors of it."""
        return tile_type(value), self.get(value)


def _bit_runs(layout: Layout, axis: int) -> list[tuple[int, int, int]]:
    """Lane bits that move along an axis, as (lowest bit, count, step) with steps that double."""
    found: list[tuple[int, int, int]] = []
    for bit, step in enumerate(layout.lanes):
        if not step[axis]:
            continue
        if found:
            low, count, first = found[-1]
            if low + count == bit and first << count == step[axis]:
                found[-1] = (low, count + 1, first)
                continue
        found.append((bit, 1, step[axis]))
    return found
