"""`uniform`: all wavefronts alike. Wait for a copy, start the one `stages` - 1 iterations on, read, multiply."""

from __future__ import annotations

from mlir import ir
from mlir.dialects import scf

from hkc.dialect.locations import place_of
from hkc.dialect.ops import LdsRead, Wait
from hkc.passes import scalars as s
from hkc.passes.rebuild import carried_places, make_loop, variable_place
from hkc.passes.schedules.pipeline import Pipeline
from hkc.passes.staged import Staged, token_place


class Uniform(Pipeline):
    """See the module's text."""

    def main_loop(self, end: ir.Value, initial: list[ir.Value]) -> list[ir.Value]:
        carried, width = len(initial), len(self.staged)
        tokens: list[ir.Value] = []
        for stage in range(self.stages - 1):
            at = s.add(self.start, stage * self.step_size)
            tokens += self.copies(at, s.value(stage), end)
        places = [*carried_places(self.loop), place_of(self.loop, "slot"), *(token_place(x) for x in self.staged)]
        places += places[carried + 1 :] * max(0, self.stages - 2)
        bounds, inputs = (self.low, end, self.step), [*initial, s.value(0), *tokens]
        loop, block = make_loop(bounds, inputs, variable_place(self.loop), places[: len(inputs)])
        variable, *arguments = block.arguments
        slot, waiting = arguments[carried], arguments[carried + 1 :]
        with ir.InsertionPoint(block):
            ahead = self.successor(slot, self.stages - 1)
            at = s.add(variable, (self.stages - 1) * self.step_size)
            if self.stages == 1:
                waiting = self.copies(at, ahead, end)
                Wait.build(waiting)
            else:
                Wait.build(waiting[:width])
                waiting = waiting[width:] + self.copies(at, ahead, end)

            def read(staged: Staged) -> ir.Value:
                return LdsRead.build(self.slot_of(staged, slot), staged.type.layout)

            yielded = self.body(variable, arguments[:carried], read)
            kept = waiting if self.stages > 1 else []
            scf.YieldOp([*yielded, self.successor(slot, 1) if self.stages > 1 else slot, *kept])
        results = list(loop.results)
        if results[carried + 1 :]:
            Wait.build(results[carried + 1 :])
        return results[:carried]
