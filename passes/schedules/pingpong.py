"""`pingpong`: two groups of wavefronts, one barrier out of phase.

Each iteration has four phases, one a quadrant of every wavefront's accumulators. A phase is a memory half (LDS reads
for its quadrant, copies for the next iteration) and a compute half (MFMA at raised priority), each ended by a barrier.
The second group passes one barrier more before the loop, so that on every SIMD one wavefront computes while the other
moves data. The schedule follows HipKittens' 8-wave ping-pong (arXiv 2511.08083).

With LDS-direct copies there are two buffers. Through registers one is enough: what was loaded is written in the last
phase, when nobody reads any more.
"""

from __future__ import annotations

from typing import ClassVar

from mlir import ir
from mlir.dialects import scf

from hkc.dialect.locations import name_of, place_of
from hkc.dialect.ops import Join, Mma, Part, ScheduleBarrier, SetPriority, Wait, Waitcnt, WaveId
from hkc.passes import scalars as s
from hkc.passes.rebuild import make_loop, variable_place
from hkc.passes.schedules.matmul import MatmulLoop
from hkc.passes.staged import Staged
from hkc.targets import Target

HALVES = 2
# Each phase's quadrant (row half, column half): neighbours share a half, so that three of four need one new operand.
PHASES = ((0, 0), (0, 1), (1, 1), (1, 0))
COMPUTING = 1  # s_setprio level of the compute halves; 0 is a wavefront's own


class PingPong(MatmulLoop):
    """See the module's text."""

    title: ClassVar[str] = "ping-pong"
    places_barriers: ClassVar[bool] = True

    def __init__(self, loop: ir.Operation, staged: list[Staged], stages: int, waves: int, target: Target) -> None:
        super().__init__(loop, staged, stages, waves, target)
        self.unroll = stages
        if waves % HALVES or any(extent % HALVES for extent in self.grid):
            raise self.misfit(
                "an even number of wavefronts, each with two fragments or more along rows and columns",
                'leave it to schedule="uniform", or use tiles of 256x256',
            )

    @classmethod
    def buffers(cls, stages: int, direct: bool) -> int:
        return 2 if direct else 1

    def main_loop(self, end: ir.Value, initial: list[ir.Value]) -> list[ir.Value]:
        Wait.build(self.copies(self.start, s.value(0), self.whole_end))
        self.barrier()
        self._step_aside(behind=True)
        quadrants = [Part.build(initial[0], (HALVES, HALVES), (row, column)) for row, column in _grid()]
        name = name_of(self.loop) or "acc"
        places = [place_of(self.loop, f"{name}_{row}{column}") for row, column in _grid()]
        step = s.value(self.step_size * self.unroll)
        loop, block = make_loop((self.low, end, step), quadrants, variable_place(self.loop), places)
        variable, *arguments = block.arguments
        with ir.InsertionPoint(block):
            acc = dict(zip(_grid(), arguments, strict=True))
            for index in range(self.unroll):
                self._iteration(acc, variable, index)
            scf.YieldOp(list(acc.values()))
        self._step_aside(behind=False)
        with place_of(self.loop, name):
            return [Join.build(list(loop.results), (HALVES, HALVES))]

    def _step_aside(self, behind: bool) -> None:
        """One barrier for the second group only (before the loop) or the first only (after it)."""
        second = s.compare("sge", WaveId.build(), self.waves // HALVES)
        branch = scf.IfOp(second, [], has_else=True)
        for block, passes in ((branch.then_block, behind), (branch.else_block, not behind)):
            with ir.InsertionPoint(block):
                if passes:
                    self.barrier()
                scf.YieldOp([])

    def _iteration(self, acc: dict[tuple[int, int], ir.Value], variable: ir.Value, index: int) -> None:
        """One iteration of the program's loop, on the buffer ``index``."""
        slot, following = s.value(index), s.value((index + 1) % self.stages)
        at = s.add(variable, (index + 1) * self.step_size)
        # All but the last iteration of an unrolled one are followed by another.
        when = s.compare("slt", at, self.whole_end) if index == self.unroll - 1 else None
        left: ir.Value | None = None
        right: dict[int, ir.Value] = {}
        tokens = []
        for phase, (row, column) in enumerate(PHASES):
            reads = phase < 3
            if phase in (0, 2):
                left = self.left.read(self.slot_of(self.left.staged, slot), row, HALVES)
            if phase in (0, 1):
                right[column] = self.right.read(self.slot_of(self.right.staged, slot), column, HALVES)
                side = (self.right, self.left)[phase]
                tokens.append(self.copy(side.staged, at, following, when))
            if phase == len(PHASES) - 1:
                Wait.build(tokens)
            self._end_of_memory(reads)
            SetPriority.build(COMPUTING)
            assert left is not None
            acc[row, column] = Mma.build(left, right[column], acc[row, column])
            SetPriority.build(0)
            ScheduleBarrier.build()
            self.barrier()

    def _end_of_memory(self, reads: bool) -> None:
        """The barrier between the halves of a phase. With one buffer the reads are waited for before it, since the
        other group may write as soon as it is passed; else behind it, so that they overlap with the other group."""
        if reads and self.stages == 1:
            Waitcnt.build(lgkmcnt=0)
        ScheduleBarrier.build()
        self.barrier()
        if reads and self.stages > 1:
            Waitcnt.build(lgkmcnt=0)
        ScheduleBarrier.build()


def _grid() -> list[tuple[int, int]]:
    return [(row, column) for row in range(HALVES) for column in range(HALVES)]
