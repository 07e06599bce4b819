"""A loop whose matmul operands are copied ahead, as schedules share it: part of `insert-buffer-loads`.

prologue    the first copies
main loop   whole, aligned tiles: the schedule's own
tail loop   what is left: whole tiles that are too few for one more iteration of an unrolled main loop are in LDS
            already; others go there element by element; compute
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import ClassVar

from mlir import ir
from mlir.dialects import scf

from hkc.dialect.locations import place_of
from hkc.dialect.ops import (
    Aligned,
    Barrier,
    Copy,
    Dim,
    LdsRead,
    LdsSlot,
    LdsWrite,
    Load,
    MaskedLoad,
    ScheduleBarrier,
    Wait,
    Waitcnt,
)
from hkc.passes import scalars as s
from hkc.passes.access import WHOLE, element_alignment, plain_type
from hkc.passes.rebuild import Rebuilder, carried_places, make_loop, variable_place
from hkc.passes.staged import Staged, tile_name, token_place
from hkc.targets import MfmaShape, Target

# Marks barriers that a schedule placed; others in a program are a person's, who then places them all.
SCHEDULED = "tile.scheduled"
# Kernel attribute: the AGPRs that a schedule wants for accumulators; LLVM then keeps all of those there.
AGPRS = "tile.agprs"


class Pipeline(ABC):
    """One loop's rewriting into prologue, main loop and masked tail loop.

    ``unroll`` iterations of the program's loop make one of the main loop; a schedule that sets it leaves the tiles of
    up to ``unroll`` - 1 more iterations in LDS, from buffer 0 on. Where ``places_barriers`` is set the schedule puts
    barriers itself, else `insert-fences` does. With ``runs_once`` the main loop always runs, on zeros if there is no
    whole tile: without a way around it LLVM need not copy the accumulators of both.
    """

    places_barriers: ClassVar[bool] = False
    runs_once: ClassVar[bool] = False

    def __init__(self, loop: ir.Operation, staged: list[Staged], stages: int, waves: int, target: Target) -> None:
        self.loop, self.staged, self.stages = loop, staged, stages
        self.waves, self.target = waves, target
        self.unroll = 1
        self.low, self.high, self.step = list(loop.operands)[:3]
        self.start = s.known(self.low)
        self.block = loop.regions[0].blocks[0]
        self.variable = self.block.arguments[0]
        step = s.known(self.step)
        assert isinstance(step, int)  # see _pipelinable
        self.step_size = step

    def build(self) -> None:
        with ir.InsertionPoint(self.loop), place_of(self.loop):
            self.whole_end = self.whole_tiles_end()
            results = list(self.loop.operands)[3:]
            main_end = self._main_end() if self.unroll > 1 else self.whole_end
            results = self.main_loop(self._at_least_once(main_end), results)
            if self.runs_once:
                main_end = s.select(s.compare("eq", main_end, self.low), self.whole_end, main_end)
            results = self.tail_loop(main_end, results)
        for old, new in zip(self.loop.results, results, strict=True):
            old.replace_all_uses_with(new)
        self.loop.erase()

    @classmethod
    def buffers(cls, stages: int, direct: bool) -> int:
        """LDS buffers of each tile, for the `stages` asked for; ``direct``: some copies are LDS-direct."""
        return stages

    @classmethod
    def mfma_order(cls, shapes: tuple[MfmaShape, ...], m: int, n: int) -> tuple[MfmaShape, ...]:
        """A target's MFMA for an m x n accumulator of the workgroup, preferred first; those that the schedule can't use
        may be left out."""
        return shapes

    @abstractmethod
    def main_loop(self, end: ir.Value, initial: list[ir.Value]) -> list[ir.Value]:
        """Prologue and main loop up to ``end``, from the carried values ``initial``; what is carried on. Whole tiles
        that may be copied end at ``whole_end``."""

    def whole_tiles_end(self) -> ir.Value:
        """Where whole, aligned tiles end: the loop variable's first value that needs the masked loop."""
        rows: dict[ir.Value, int] = {}
        for staged in self.staged:
            rows[staged.view] = max(staged.type.shape[0], rows.get(staged.view, 1))
        fine: list[s.Condition] = [Aligned.build(view, most) for view, most in rows.items()]
        last: s.Scalar = s.sub(self.high, 1)
        for staged in self.staged:
            align = element_alignment(staged.type.dtype)
            for axis, (offset, extent) in enumerate(zip(staged.offsets, staged.type.shape, strict=True)):
                start = self.start if offset == self.variable else offset
                if offset == self.variable:
                    last = s.smin(last, s.sub(Dim.build(staged.view, axis), extent))
                elif axis == 1:
                    fine.append(s.compare("sle", offset, s.sub(Dim.build(staged.view, axis), extent)))
                fine.append(s.holds("sge", start, 0))
                if axis == 1 and align > 1:
                    fine.append(s.holds("eq", s.bits(start, 0, align.bit_length() - 1), 0))
        room = s.smax(s.add(s.sub(last, self.start), self.step_size), 0)
        end = s.add(self.start, s.mul(s.div(room, self.step_size), self.step_size))
        whole = s.both(fine)
        with place_of(self.loop, "whole_end" if self.unroll > 1 else "main_end"):
            return s.select(whole, end, self.low)

    def _main_end(self) -> ir.Value:
        """Where the iterations of the unrolled loop end."""
        stride = self.step_size * self.unroll
        trips = s.div(s.sub(self.whole_end, self.low), stride)
        with place_of(self.loop, "main_end"):
            return s.value(s.add(self.low, s.mul(trips, stride)))

    def _at_least_once(self, end: ir.Value) -> ir.Value:
        """Where the main loop ends: after its first iteration at least, if it always runs."""
        if not self.runs_once:
            return end
        return s.value(s.smax(end, s.add(self.start, self.step_size * self.unroll)))

    def copies(self, at: s.Scalar, slot: ir.Value, end: ir.Value) -> list[ir.Value]:
        """One asynchronous copy a staged tile, for the iteration that begins at ``at`` if that is before ``end``."""
        when = s.compare("slt", at, end)
        return [self.copy(staged, at, slot, when) for staged in self.staged]

    def copy(self, staged: Staged, at: s.Scalar, slot: ir.Value, when: ir.Value | None) -> ir.Value:
        with token_place(staged):
            offsets = [s.value(at) if o == self.variable else o for o in staged.offsets]
            token = Copy.build(staged.view, offsets, self.slot_of(staged, slot), when)
            self.mark_whole(token, staged)
            return token

    def mark_whole(self, copied: ir.Value, staged: Staged) -> None:
        """The main loop ends before the tile that the view does not hold whole along the loop's axis."""
        if staged.offsets[0] == self.variable:
            copied.owner.operation.attributes[WHOLE] = ir.UnitAttr.get()

    def barrier(self) -> None:
        """A barrier of the schedule."""
        Barrier.build().attributes[SCHEDULED] = ir.UnitAttr.get()

    def tail_loop(self, begin: ir.Value, initial: list[ir.Value]) -> list[ir.Value]:
        """All iterations from ``begin`` on. Tiles that begin before ``whole_end`` are in LDS already."""
        kept = max(1, self.unroll - 1)  # buffers with tiles of iterations that the main loop left
        bounds, inputs = (begin, self.high, self.step), [*initial, *([s.value(0)] if kept > 1 else [])]
        places = [*carried_places(self.loop), *([place_of(self.loop, "slot")] if kept > 1 else [])]
        loop, block = make_loop(bounds, inputs, variable_place(self.loop), places)
        variable, *arguments = block.arguments
        with ir.InsertionPoint(block):
            slot = arguments.pop() if kept > 1 else s.value(0)
            if self.places_barriers:
                Waitcnt.build(lgkmcnt=0)
                self.barrier()
            if self.unroll > 1:
                branch = scf.IfOp(s.compare("sge", variable, self.whole_end), [])
                with ir.InsertionPoint(branch.then_block):
                    self._load_masked(variable, slot)
                    scf.YieldOp([])
            else:
                self._load_masked(variable, slot)

            def read(staged: Staged) -> ir.Value:
                return LdsRead.build(self.slot_of(staged, slot), staged.type.layout)

            results = self.body(variable, arguments, read)
            scf.YieldOp([*results, *([self.successor(slot, 1, kept)] if kept > 1 else [])])
        return list(loop.results)[: len(initial)]

    def _load_masked(self, variable: ir.Value, slot: ir.Value) -> None:
        """Element by element into LDS, one operand after the other: together they would take more registers."""
        tokens = []
        for staged in self.staged:
            with place_of(staged.load, f"{tile_name(staged)}_part"):
                offsets = [variable if o == self.variable else o for o in staged.offsets]
                wide = plain_type(staged.type, self.waves, self.target)
                tile = MaskedLoad.build(staged.view, offsets, wide)
            with token_place(staged):
                tokens.append(LdsWrite.build(tile, self.slot_of(staged, slot)))
            ScheduleBarrier.build()
        Wait.build(tokens)
        if self.places_barriers:
            self.barrier()

    def slot_of(self, staged: Staged, index: ir.Value) -> ir.Value:
        with place_of(staged.load):
            return LdsSlot.build(staged.lds, index)

    def successor(self, slot: ir.Value, by: int, count: int | None = None) -> ir.Value:
        """(slot + by) mod ``count``, all buffers by default, for a slot below it."""
        if by == 0:
            return slot
        count = count or self.stages
        moved = s.add(slot, by)
        over, wrapped = s.compare("sge", moved, count), s.sub(moved, count)
        with place_of(self.loop, "slot"):
            return s.select(over, wrapped, moved)

    def body(self, variable: ir.Value, arguments: list[ir.Value], read: Callable[[Staged], ir.Value]) -> list[ir.Value]:
        """A copy of the loop's body with the staged loads replaced; what it yields."""
        staged = {x.load: x for x in self.staged}

        def load(rebuilder: Rebuilder, op: ir.Operation) -> list[ir.Value]:
            return [read(staged[op])] if op in staged else list(rebuilder.clone(op).results)

        rebuilder = Rebuilder({Load.name: load})
        rebuilder.values[self.variable] = [variable]
        for old, new in zip(list(self.block.arguments)[1:], arguments, strict=True):
            rebuilder.values[old] = [new]
        *body, end = [op.operation for op in self.block.operations]
        rebuilder.block(body)
        return [rebuilder.one(v) for v in end.operands]
