"""Matmul operands go through LDS: part of `insert-buffer-loads`.

A load that only feeds matmuls becomes an LDS tile. In a loop whose offsets are the loop variable or loop-invariant
the copies are pipelined over `stages` LDS buffers, and what is not a whole, aligned tile is left to a second loop
that loads element by element. Any other load is staged where it stands.
"""

from __future__ import annotations

from dataclasses import dataclass

from mlir import ir
from mlir.dialects import scf

from hkc.dialect.irdl import get_int
from hkc.dialect.locations import location_of, name_of, place_of, span_of
from hkc.dialect.ops import Aligned, Copy, Dim, LdsAlloc, LdsRead, LdsSlot, LdsWrite, Load, MaskedLoad, Wait
from hkc.dialect.types import TileType, tile_type
from hkc.dialect.verify import walk
from hkc.errors import HkcError
from hkc.passes import scalars as s
from hkc.passes.access import element_alignment, plain_type
from hkc.passes.rebuild import Rebuilder, body_of, carried_places, kernel_of, make_loop, variable_place

DEFAULT_STAGES = 2
# Buffers of a pipelined copy: more would only lengthen the prologue.
MOST_STAGES = 4


@dataclass(frozen=True)
class Staged:
    """A load that feeds matmuls, and its LDS."""

    load: ir.Operation
    lds: ir.Value

    @property
    def view(self) -> ir.Value:
        return self.load.operands[0]

    @property
    def offsets(self) -> list[ir.Value]:
        return list(self.load.operands)[1:]

    @property
    def type(self) -> TileType:
        return tile_type(self.load.results[0])


def matmul_loads(function: ir.Operation) -> list[ir.Operation]:
    """Loads whose every use is a matmul operand, straight or transposed."""
    return [
        op
        for op in walk(function)
        if op.name == Load.name and len(list(op.results[0].uses)) and _feeds_matmuls(op.results[0])
    ]


def _feeds_matmuls(value: ir.Value) -> bool:
    for use in value.uses:
        user = use.owner.operation
        if user.name == "tile.transpose":
            if not _feeds_matmuls(user.results[0]):
                return False
        elif user.name != "tile.mma" or use.operand_number > 1:
            return False
    return True


def stage_operands(module: ir.Module, waves: int) -> None:
    """Moves every matmul operand through LDS."""
    function = kernel_of(module)
    loops: dict[ir.Operation, list[ir.Operation]] = {}
    for load in matmul_loads(function):
        parent = load.parent.operation
        if parent.name == "scf.for" and _pipelinable(parent, load):
            loops.setdefault(parent, []).append(load)
        else:
            stage_in_place(load, waves, allocate(function, load, 1))
    for loop, loads in loops.items():
        stages = get_int(loop, "tile.stages") or DEFAULT_STAGES
        if not 1 <= stages <= MOST_STAGES:
            raise HkcError(
                "a loop can't have that many stages",
                span_of(loop),
                expected=f"1 to {MOST_STAGES}",
                got=str(stages),
                hint="stages counts LDS buffers of each staged tile",
            )
        staged = [Staged(load, allocate(function, load, stages)) for load in loads]
        Pipeline(loop, staged, stages, waves).build()


def allocate(function: ir.Operation, load: ir.Operation, buffers: int) -> ir.Value:
    """LDS for a load's tile, allocated at the top of the kernel."""
    type_ = tile_type(load.results[0])
    with ir.InsertionPoint.at_block_begin(body_of(function)), location_of(_named(load)):
        rows, columns = type_.shape
        return LdsAlloc.build(buffers, rows, columns, type_.dtype)


def _name(staged: Staged) -> str:
    return name_of(_named(staged.load)) or "tile"


def _token_place(staged: Staged) -> ir.Location:
    """Where a copy of the tile comes from in the source, with a name for its token."""
    return place_of(staged.load, f"{_name(staged)}_copy")


def _named(load: ir.Operation) -> ir.Operation:
    """The op that carries the program's name for the tile: the load, or a transpose of it."""
    users = [use.owner.operation for use in load.results[0].uses]
    named = (op for op in (load, *users) if op.name in (Load.name, "tile.transpose") and name_of(op))
    return next(named, load)


def stage_in_place(load: ir.Operation, waves: int, lds: ir.Value) -> None:
    """Load, write to LDS, read back, where the load stands."""
    with ir.InsertionPoint(load), location_of(load):
        wide = plain_type(tile_type(load.results[0]), waves)
        tile = Load.build(load.operands[0], list(load.operands)[1:], wide)
        load.results[0].replace_all_uses_with(_through_lds(tile, lds, tile_type(load.results[0])))
    load.erase()


def _through_lds(tile: ir.Value, lds: ir.Value, type_: TileType) -> ir.Value:
    slot = LdsSlot.build(lds, s.value(0))
    Wait.build([LdsWrite.build(tile, slot)])
    return LdsRead.build(slot, type_.layout)


def _inside(value: ir.Value, loop: ir.Operation) -> bool:
    """Whether a value is defined inside the loop."""
    block = value.owner if isinstance(value, ir.BlockArgument) else value.owner.operation.block
    while True:
        owner = block.owner.operation
        if owner == loop:
            return True
        if owner.name in ("func.func", "builtin.module"):
            return False
        block = owner.block


def _pipelinable(loop: ir.Operation, load: ir.Operation) -> bool:
    """Whether each offset is the loop variable itself or loop-invariant, with steps that keep alignment."""
    step = s.known(loop.operands[2])
    variable = loop.regions[0].blocks[0].arguments[0]
    offsets = list(load.operands)[1:]
    align = element_alignment(tile_type(load.results[0]).dtype)
    if not isinstance(step, int) or step < 1 or step % align:
        return False
    return all(o == variable or not _inside(o, loop) for o in offsets)


class Pipeline:
    """One loop's rewriting into prologue, main loop and masked tail loop."""

    def __init__(self, loop: ir.Operation, staged: list[Staged], stages: int, waves: int) -> None:
        self.loop, self.staged, self.stages, self.waves = loop, staged, stages, waves
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
            tokens: list[ir.Value] = []
            for stage in range(self.stages - 1):
                at = s.add(self.start, stage * self.step_size)
                tokens += self.copies(at, s.value(stage), main_end)
            initial = list(self.loop.operands)[3:]
            results = self.main_loop(main_end, initial, tokens)
            results = self.tail_loop(main_end, results)
        for old, new in zip(self.loop.results, results, strict=True):
            old.replace_all_uses_with(new)
        self.loop.erase()

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
        end = s.add(self.start, s.mul(s.div(room, self.step_size), self.step_size))
        whole = s.both(fine)
        with place_of(self.loop, "main_end"):
            return s.select(whole, end, self.low)

    def copies(self, at: s.Scalar, slot: ir.Value, main_end: ir.Value) -> list[ir.Value]:
        """One asynchronous copy a staged tile, for the iteration that begins at ``at``."""
        when = s.compare("slt", at, main_end)
        tokens = []
        for staged in self.staged:
            with _token_place(staged):
                offsets = [s.value(at) if o == self.variable else o for o in staged.offsets]
                tokens.append(Copy.build(staged.view, offsets, self.slot_of(staged, slot), when))
        return tokens

    def _successor(self, slot: ir.Value, by: int) -> ir.Value:
        """(slot + by) mod stages for a slot that is below stages."""
        if by == 0:
            return slot
        moved = s.add(slot, by)
        over, wrapped = s.compare("sge", moved, self.stages), s.sub(moved, self.stages)
        with place_of(self.loop, "slot"):
            return s.select(over, wrapped, moved)

    def main_loop(self, end: ir.Value, initial: list[ir.Value], tokens: list[ir.Value]) -> list[ir.Value]:
        carried, width = len(initial), len(self.staged)
        places = [*carried_places(self.loop), place_of(self.loop, "slot"), *(_token_place(x) for x in self.staged)]
        places += places[carried + 1 :] * max(0, self.stages - 2)
        bounds, inputs = (self.low, end, self.step), [*initial, s.value(0), *tokens]
        loop, block = make_loop(bounds, inputs, variable_place(self.loop), places[: len(inputs)])
        variable, *arguments = block.arguments
        slot, waiting = arguments[carried], arguments[carried + 1 :]
        with ir.InsertionPoint(block):
            ahead = self._successor(slot, self.stages - 1)
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
            scf.YieldOp([*yielded, self._successor(slot, 1) if self.stages > 1 else slot, *kept])
        results = list(loop.results)
        if results[carried + 1 :]:
            Wait.build(results[carried + 1 :])
        return results[:carried]

    def tail_loop(self, begin: ir.Value, initial: list[ir.Value]) -> list[ir.Value]:
        bounds = (begin, self.high, self.step)
        loop, block = make_loop(bounds, initial, variable_place(self.loop), carried_places(self.loop))
        variable, *arguments = block.arguments
        with ir.InsertionPoint(block):
            tiles = {}
            for staged in self.staged:
                with place_of(staged.load, f"{_name(staged)}_part"):
                    offsets = [variable if o == self.variable else o for o in staged.offsets]
                    wide = plain_type(staged.type, self.waves)
                    tiles[staged.load] = MaskedLoad.build(staged.view, offsets, wide)
            first, tokens = s.value(0), []
            for staged in self.staged:
                with _token_place(staged):
                    tokens.append(LdsWrite.build(tiles[staged.load], self.slot_of(staged, first)))
            Wait.build(tokens)

            def read(staged: Staged) -> ir.Value:
                return LdsRead.build(self.slot_of(staged, first), staged.type.layout)

            scf.YieldOp(self.body(variable, arguments, read))
        return list(loop.results)

    def slot_of(self, staged: Staged, index: ir.Value) -> ir.Value:
        with place_of(staged.load):
            return LdsSlot.build(staged.lds, index)

    def body(self, variable: ir.Value, arguments: list[ir.Value], read: object) -> list[ir.Value]:
        """A copy of the loop's body with the staged loads replaced; what it yields."""
        staged = {x.load: x for x in self.staged}

        def load(rebuilder: Rebuilder, op: ir.Operation) -> list[ir.Value]:
            return [read(staged[op])] if op in staged else list(rebuilder.clone(op).results)  # type: ignore[operator]

        rebuilder = Rebuilder({Load.name: load})
        rebuilder.values[self.variable] = [variable]
        for old, new in zip(list(self.block.arguments)[1:], arguments, strict=True):
            rebuilder.values[old] = [new]
        *body, end = [op.operation for op in self.block.operations]
        rebuilder.block(body)
        return [rebuilder.one(v) for v in end.operands]
