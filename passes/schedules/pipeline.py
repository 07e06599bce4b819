"""A loop whose matmul operands are copied ahead, as schedules share it: part of `insert-buffer-loads`.

prologue    the first copies
main loop   whole, aligned tiles: the schedule's own
tail loop   what is left: element by element into the first buffer, compute
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
    Wait,
    Waitcnt,
)
from hkc.passes import scalars as s
from hkc.passes.access import WHOLE, element_alignment, plain_type
from hkc.passes.rebuild import Rebuilder, carried_places, make_loop, variable_place
from hkc.passes.staged import Staged, tile_name, token_place
from hkc.targets import Target

# Marks barriers that a schedule placed; others in a program are a person's, who then places them all.
SCHEDULED = "tile.scheduled"


class Pipeline(ABC):
    """One loop's rewriting into prologue, main loop and masked tail loop.

    ``unroll`` iterations of the program's loop make one of the main loop. Where ``places_barriers`` is set the schedule
    puts barriers itself, else `insert-fences` does.
    """

    places_barriers: ClassVar[bool] = False

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
            main_end = self.main_end()
            results = self.main_loop(main_end, list(self.loop.operands)[3:])
            results = self.tail_loop(main_end, results)
        for old, new in zip(self.loop.results, results, strict=True):
            old.replace_all_uses_with(new)
        self.loop.erase()

    @classmethod
    def buffers(cls, stages: int, direct: bool) -> int:
        """LDS buffers of each tile, for the `stages` asked for; ``direct``: some copies are LDS-direct."""
        return stages

    @abstractmethod
    def main_loop(self, end: ir.Value, initial: list[ir.Value]) -> list[ir.Value]:
        """Prologue and main loop up to ``end``, from the carried values ``initial``; what is carried on."""

    def main_end(self) -> ir.Value:
        """Where whole, aligned tiles end: the loop variable's first value that needs the masked loop."""
        fine: list[s.Condition] = [Aligned.build(view) for view in dict.fromkeys(x.view for x in self.staged)]
        last: s.Scalar = s.sub(self.high, 1)
        for staged in self.staged:
            align = element_alignment(staged.type.dtype)
            for axis, (offset, extent) in enumerate(zip(staged.offsets, staged.type.shape, strict=True)):
                start = self.start if offset == self.variable else offset
                if offset == self.variable:
                    last = s.smin(last, s.sub(Dim.build(staged.view, axis), extent))
                elif axis == 1:
                    fine.append(s.compare("sle", s.add(offset, extent), Dim.build(staged.view, axis)))
                fine.append(s.holds("sge", start, 0))
                if axis == 1 and align > 1:
                    fine.append(s.holds("eq", s.bits(start, 0, align.bit_length() - 1), 0))
        room = s.smax(s.add(s.sub(last, self.start), self.step_size), 0)
        stride = self.step_size * self.unroll
        end = s.add(self.start, s.mul(s.div(room, stride), stride))
        whole = s.both(fine)
        with place_of(self.loop, "main_end"):
            return s.select(whole, end, self.low)

    def copies(self, at: s.Scalar, slot: ir.Value, main_end: ir.Value) -> list[ir.Value]:
        """One asynchronous copy a staged tile, for the iteration that begins at ``at`` if the main loop has it."""
        when = s.compare("slt", at, main_end)
        return [self.copy(staged, at, slot, when) for staged in self.staged]

    def copy(self, staged: Staged, at: s.Scalar, slot: ir.Value, when: ir.Value | None) -> ir.Value:
        with token_place(staged):
            offsets = [s.value(at) if o == self.variable else o for o in staged.offsets]
            token = Copy.build(staged.view, offsets, self.slot_of(staged, slot), when)
            if staged.offsets[0] == self.variable:
                # The main loop ends before the tile that the view does not hold whole along the loop's axis.
                token.owner.operation.attributes[WHOLE] = ir.UnitAttr.get()
            return token

    def barrier(self) -> None:
        """A barrier of the schedule."""
        Barrier.build().attributes[SCHEDULED] = ir.UnitAttr.get()

    def tail_loop(self, begin: ir.Value, initial: list[ir.Value]) -> list[ir.Value]:
        bounds = (begin, self.high, self.step)
        loop, block = make_loop(bounds, initial, variable_place(self.loop), carried_places(self.loop))
        variable, *arguments = block.arguments
        with ir.InsertionPoint(block):
            tiles = {}
            for staged in self.staged:
                with place_of(staged.load, f"{tile_name(staged)}_part"):
                    offsets = [variable if o == self.variable else o for o in staged.offsets]
                    wide = plain_type(staged.type, self.waves, self.target)
                    tiles[staged.load] = MaskedLoad.build(staged.view, offsets, wide)
            if self.places_barriers:
                Waitcnt.build(lgkmcnt=0)
                self.barrier()
            first, tokens = s.value(0), []
            for staged in self.staged:
                with token_place(staged):
                    tokens.append(LdsWrite.build(tiles[staged.load], self.slot_of(staged, first)))
            Wait.build(tokens)
            if self.places_barriers:
                self.barrier()

            def read(staged: Staged) -> ir.Value:
                return LdsRead.build(self.slot_of(staged, first), staged.type.layout)

            scf.YieldOp(self.body(variable, arguments, read))
        return list(loop.results)

    def slot_of(self, staged: Staged, index: ir.Value) -> ir.Value:
        with place_of(staged.load):
            return LdsSlot.build(staged.lds, index)

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
