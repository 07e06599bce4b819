"""`interleave`: four wavefronts, one a SIMD, each with copies, LDS reads and MFMA finely mixed.

A K tile is walked in slices of one MFMA fragment. While a slice is multiplied, the operands of the next one are read
into registers of their own, and copies for later tiles are issued; all of that is spread evenly between the MFMA. One
barrier a K tile, before the last slice: it publishes the next tile, whose first slice is then read, and frees this
one's buffer. The schedule follows HipKittens' 4-wave interleave (arXiv 2511.08083).

Through registers with a single LDS buffer (64 KB of LDS hold no more of 256x256x64) the next tile is written between
two barriers in the last slice: half of its MFMA hide the writes, the other half the first reads.
"""

from __future__ import annotations

from typing import ClassVar

from mlir import ir
from mlir.dialects import scf

from hkc.dialect.locations import name_of, place_of
from hkc.dialect.ops import Interleave as Mix
from hkc.dialect.ops import Join, Mma, Part, ScheduleBarrier, Waitcnt
from hkc.passes import scalars as s
from hkc.passes.rebuild import function_of, make_loop, variable_place
from hkc.passes.schedules.feeds import DirectFeed, Feed, RegisterFeed, SingleFeed
from hkc.passes.schedules.matmul import MatmulLoop
from hkc.passes.schedules.pipeline import AGPRS
from hkc.passes.staged import Staged, goes_direct, tile_name
from hkc.targets import MfmaShape, Target

WAVES = 4
HALVES = 2
# Accumulator registers that leave operands and addresses enough of the 256 VGPRs (CDNA3 ISA 3.6.4: VGPRs and AGPRs are
# 256 each).
MOST_IN_VGPRS = 128


def _wave_grids() -> list[tuple[int, int]]:
    return [(rows, WAVES // rows) for rows in range(1, WAVES + 1) if WAVES % rows == 0]


class Interleave(MatmulLoop):
    """See the module's text."""

    title: ClassVar[str] = "interleave"
    places_barriers: ClassVar[bool] = True
    runs_once: ClassVar[bool] = True

    def __init__(self, loop: ir.Operation, staged: list[Staged], stages: int, waves: int, target: Target) -> None:
        super().__init__(loop, staged, stages, waves, target)
        if waves != WAVES:
            raise self.misfit(
                f"a tile that {WAVES} wavefronts share in whole MFMA fragments",
                'leave it to schedule="uniform", or use tiles of at least 64x64 or 16x128',
            )
        self.unroll = stages
        self.steps = self.left.steps()
        direct = all(goes_direct(x.slot, waves, target) for x in staged)
        feed = DirectFeed if direct else RegisterFeed if stages > 1 else SingleFeed
        self.feed: Feed = feed(self, self.steps)

    @classmethod
    def buffers(cls, stages: int, direct: bool) -> int:
        """Copies into registers are a stage of their own."""
        return max(2, stages) if direct else max(1, stages - 1)

    @classmethod
    def mfma_order(cls, shapes: tuple[MfmaShape, ...], m: int, n: int) -> tuple[MfmaShape, ...]:
        """The largest accumulator first: fewer MFMA, and fewer operand registers are read for the same work."""
        fine = [x for x in shapes if any(m % (x.m * r) == 0 and n % (x.n * c) == 0 for r, c in _wave_grids())]
        return tuple(sorted(fine or shapes, key=lambda shape: -shape.m * shape.n))

    def build(self) -> None:
        if self.accumulators > MOST_IN_VGPRS:
            agprs = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), self.accumulators)
            function_of(self.loop).attributes[AGPRS] = agprs
        super().build()

    def tail_loop(self, begin: ir.Value, initial: list[ir.Value]) -> list[ir.Value]:
        results = super().tail_loop(begin, initial)
        if self.accumulators <= MOST_IN_VGPRS:
            return results
        # LLVM keeps accumulators in AGPRs where all that takes them is an MFMA, and copies them back and forth in the
        # loops if anything else is in reach. So the last one adds nothing.
        left, right = self.nothing(self.left.depth())
        return [Mma.build(left, right, results[0])]

    def main_loop(self, end: ir.Value, initial: list[ir.Value]) -> list[ir.Value]:
        self.feed.fill()
        self.barrier()
        operands = self._read(0, 0)
        name = name_of(self.loop) or "acc"
        step = s.value(self.step_size * self.unroll)
        inputs = [*initial, *operands, *self.feed.carried()]
        places = [place_of(self.loop, name), *self._places(), *self.feed.places()]
        loop, block = make_loop((self.low, end, step), inputs, variable_place(self.loop), places)
        variable, acc, *arguments = block.arguments
        operands, carried = arguments[:HALVES], arguments[HALVES:]
        self.feed.carry(carried)
        with ir.InsertionPoint(block):
            for index in range(self.unroll):
                acc, operands = self._iteration(acc, operands, variable, index)
            scf.YieldOp([acc, *operands, *self.feed.carried()])
        acc, *results = loop.results
        self.feed.carry(results[HALVES:])
        self.feed.drain()
        self.barrier()
        return [acc]

    def _places(self) -> list[ir.Location]:
        return [place_of(x.staged.load, f"{tile_name(x.staged)}_slice") for x in (self.left, self.right)]

    def _read(self, index: int, step: int) -> list[ir.Value]:
        """Both operands of one slice of the tile in a buffer."""
        tiles = []
        for side, place in zip((self.left, self.right), self._places(), strict=True):
            slot = self.slot_of(side.staged, s.value(index % self.stages))
            with place:
                tiles.append(side.read(slot, step, self.steps, depth=True))
        return tiles

    def _iteration(
        self, acc: ir.Value, operands: list[ir.Value], variable: ir.Value, index: int
    ) -> tuple[ir.Value, list[ir.Value]]:
        """One iteration of the program's loop, on the buffer ``index``."""
        for step in range(self.steps):
            ScheduleBarrier.build()
            self.feed.early(step, index, variable)
            if step < self.steps - 1:
                following = self._read(index, step + 1)
                acc = self._multiply(acc, operands)
            elif self.stages > 1:
                self._publish()
                following = self._read(index + 1, 0)
                self.feed.late(index, variable)
                acc = self._multiply(acc, operands)
            else:
                acc, following = self._single_buffer(acc, operands, index, variable)
            operands = following
        return acc, operands

    def _publish(self) -> None:
        """All wavefronts have read this tile, and the next one is in LDS."""
        self.feed.land()
        self.barrier()

    def _single_buffer(
        self, acc: ir.Value, operands: list[ir.Value], index: int, variable: ir.Value
    ) -> tuple[ir.Value, list[ir.Value]]:
        """The last slice with one LDS buffer."""
        cut = next((axis for axis in (0, 1) if self.grid[axis] % HALVES == 0), None)
        pieces = (HALVES if cut == 0 else 1, HALVES if cut == 1 else 1)
        parts = []
        Waitcnt.build(lgkmcnt=0)
        self.barrier()
        self.feed.late(index, variable)
        parts.append(self._multiply_part(acc, operands, pieces, (0, 0)))
        self.feed.land()
        self.barrier()
        following = self._read(index, 0)
        if cut is not None:
            parts.append(self._multiply_part(acc, operands, pieces, (1 - cut, cut)))
        return Join.build(parts, pieces), following

    def _multiply_part(
        self, acc: ir.Value, operands: list[ir.Value], pieces: tuple[int, int], piece: tuple[int, int]
    ) -> ir.Value:
        """What a piece of the accumulators takes of one slice."""
        left = Part.build(operands[0], (pieces[0], 1), (piece[0], 0))
        right = Part.build(operands[1], (1, pieces[1]), (0, piece[1]))
        return self._multiply(Part.build(acc, pieces, piece), [left, right])

    def _multiply(self, acc: ir.Value, operands: list[ir.Value]) -> ir.Value:
        """One slice's MFMA, mixed with the memory operations since the last fence."""
        acc = Mma.build(operands[0], operands[1], acc)
        Mix.build()
        return acc
