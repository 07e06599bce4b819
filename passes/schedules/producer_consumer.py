"""`producer_consumer`: wavefronts that only load, and wavefronts that only compute, in two branches on the wave id.

The load waves copy tiles to LDS up to `stages` - 1 iterations ahead; the compute waves read LDS and multiply, and run
the rest of the kernel. Both pass the same barriers. With LDS-direct copies that is one an iteration: past it the next
tile is in LDS, and the buffer before is free. Through registers there is one buffer, and two barriers: the compute
waves read the whole tile between them, the load waves write the next one behind the second.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import ClassVar

from mlir import ir
from mlir.dialects import scf

from hkc.dialect.irdl import get_int, get_ints
from hkc.dialect.locations import place_of, span_of
from hkc.dialect.ops import LdsRead, LdsWrite, MaskedLoad, Wait, Waitcnt, WaveId
from hkc.errors import HkcError
from hkc.passes import scalars as s
from hkc.passes.access import plain_type
from hkc.passes.rebuild import carried_places, make_loop, variable_place
from hkc.passes.roles import WAVES
from hkc.passes.schedules.loops import STAGES, WAVE_GRID
from hkc.passes.schedules.pipeline import Pipeline
from hkc.passes.staged import Staged, tile_name, token_place
from hkc.targets import Target


class ProducerConsumer(Pipeline):
    """See the module's text. ``waves`` are the computing wavefronts; the load waves are numbered behind them."""

    places_barriers: ClassVar[bool] = True

    def __init__(self, loop: ir.Operation, staged: list[Staged], stages: int, waves: int, target: Target) -> None:
        super().__init__(loop, staged, stages, waves, target)
        planned = get_ints(loop, WAVE_GRID)
        if planned is None or planned[2] < 1:
            raise HkcError(
                "this loop has no load waves", span_of(loop), hint="run choose-schedules first, which counts them"
            )
        self.load_waves = planned[2]
        self.ahead = max(1, (get_int(loop, STAGES) or 2) - 1)
        self.single = stages == 1

    @classmethod
    def buffers(cls, stages: int, direct: bool) -> int:
        return stages if direct else 1

    def build(self) -> None:
        with ir.InsertionPoint(self.loop), place_of(self.loop):
            end = self.whole_end = self.whole_tiles_end()
            computes = s.compare("slt", WaveId.build(), self.waves)
            branch = scf.IfOp(computes, [], has_else=True)
            with ir.InsertionPoint(branch.then_block):
                results = self.main_loop(end, list(self.loop.operands)[3:])
                results = self.tail_loop(end, results)
                last = scf.YieldOp([])
            with ir.InsertionPoint(branch.else_block):
                self._load(end)
                self._load_tail(end)
                scf.YieldOp([])
        for old, new in zip(self.loop.results, results, strict=True):
            old.replace_all_uses_with(new)
        self._take_rest(last)
        self.loop.erase()

    def _take_rest(self, last: ir.Operation) -> None:
        """What follows the loop is the compute waves'."""
        ops = [op.operation for op in self.loop.block.operations]
        for op in ops[ops.index(self.loop) + 1 : -1]:
            op.move_before(last.operation)

    def copy(self, staged: Staged, at: s.Scalar, slot: ir.Value, when: ir.Value | None) -> ir.Value:
        token = super().copy(staged, at, slot, when)
        count = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), self.load_waves)
        token.owner.attributes[WAVES] = count
        return token

    @contextmanager
    def _loop(
        self, bounds: tuple[ir.Value, ir.Value], inputs: list[ir.Value], places: list[ir.Location]
    ) -> Iterator[tuple[ir.Operation, ir.Block]]:
        loop, block = make_loop((*bounds, self.step), inputs, variable_place(self.loop), places)
        with ir.InsertionPoint(block):
            yield loop, block

    def main_loop(self, end: ir.Value, initial: list[ir.Value]) -> list[ir.Value]:
        """The compute waves' part."""
        count = len(initial)
        places = [*carried_places(self.loop), place_of(self.loop, "slot")]
        with self._loop((self.low, end), [*initial, s.value(0)], places) as (loop, block):
            variable, *arguments = block.arguments
            self.barrier()
            slot = s.value(0) if self.single else arguments[count]
            tiles = {x: self._read(x, slot) for x in self.staged}
            if self.single:
                Waitcnt.build(lgkmcnt=0)
                self.barrier()
            yielded = self.body(variable, arguments[:count], tiles.__getitem__)
            if not self.single:
                Waitcnt.build(lgkmcnt=0)
            scf.YieldOp([*yielded, arguments[count] if self.single else self.successor(arguments[count], 1)])
        return list(loop.results)[:count]

    def tail_loop(self, begin: ir.Value, initial: list[ir.Value]) -> list[ir.Value]:
        """The compute waves' part: the load waves fill the first buffer between two barriers."""
        with self._loop((begin, self.high), initial, carried_places(self.loop)) as (loop, block):
            variable, *arguments = block.arguments
            self.barrier()
            self.barrier()
            first = s.value(0)
            yielded = self.body(variable, arguments, lambda staged: self._read(staged, first))
            Waitcnt.build(lgkmcnt=0)
            scf.YieldOp(yielded)
        return list(loop.results)

    def _read(self, staged: Staged, slot: ir.Value) -> ir.Value:
        return LdsRead.build(self.slot_of(staged, slot), staged.type.layout)

    def _load(self, end: ir.Value) -> None:
        """The load waves' main loop. A token a tile and iteration ahead is carried, oldest first."""
        width = len(self.staged)
        tokens: list[ir.Value] = []
        for index in range(self.ahead):
            at = s.add(self.start, index * self.step_size)
            tokens += self.copies(at, s.value(0 if self.single else index), end)
        Wait.build(tokens[:width])
        places = [place_of(self.loop, "slot"), *[token_place(x) for x in self.staged] * self.ahead]
        waiting = tokens[width:]
        inputs = [s.value(0), *waiting]
        with self._loop((self.low, end), inputs, places[: len(inputs)]) as (loop, block):
            variable, slot, *waiting = block.arguments
            self.barrier()
            at = s.add(variable, self.ahead * self.step_size)
            target = s.value(0) if self.single else self.successor(slot, self.ahead)
            waiting = [*waiting, *self.copies(at, target, end)]
            if self.single:
                self.barrier()
            Wait.build(waiting[:width])
            scf.YieldOp([slot if self.single else self.successor(slot, 1), *waiting[width:]])
        left = list(loop.results)[1:]
        if left and not self.single:
            # LDS-direct copies that are switched off write zeros, which must not come after the tail's tiles.
            Wait.build(left)

    def _load_tail(self, begin: ir.Value) -> None:
        with self._loop((begin, self.high), [], []) as (_, block):
            [variable] = block.arguments
            tiles = []
            for staged in self.staged:
                with place_of(staged.load, f"{tile_name(staged)}_part"):
                    offsets = [variable if o == self.variable else o for o in staged.offsets]
                    wide = plain_type(staged.type, self.load_waves, self.target)
                    tiles.append(MaskedLoad.build(staged.view, offsets, wide))
            self.barrier()
            first, tokens = s.value(0), []
            for staged, tile in zip(self.staged, tiles, strict=True):
                with token_place(staged):
                    tokens.append(LdsWrite.build(tile, self.slot_of(staged, first)))
            Wait.build(tokens)
            self.barrier()
            scf.YieldOp([])
