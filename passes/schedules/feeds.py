"""How a schedule that walks a K tile slice by slice gets its tiles into LDS, beside the multiplying.

A feed is asked, in each slice, for what may be issued there: `early`, while wavefronts still read the current tile's
buffer, and `late`, in the last slice, when none does any more. `land` waits for this wavefront's share of the next
tile.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

from mlir import ir

from hkc.dialect.locations import place_of
from hkc.dialect.ops import BufferLoad, LdsWrite, Wait, Waitcnt
from hkc.passes import scalars as s
from hkc.passes.access import plain_type
from hkc.passes.schedules.matmul import MatmulLoop, Operand
from hkc.passes.staged import tile_name, token_place


class Feed(ABC):
    """The copies of a loop whose K tiles have ``steps`` slices and ``loop.stages`` LDS buffers.

    ``flying`` is what crosses iterations: a list of values, one an operand, for each tile under way.
    """

    def __init__(self, loop: MatmulLoop, steps: int) -> None:
        self.loop, self.steps, self.stages = loop, steps, loop.stages
        self.sides = (loop.left, loop.right)
        self.flying: list[list[ir.Value]] = []

    def slot(self, side: Operand, index: int) -> ir.Value:
        return self.loop.slot_of(side.staged, s.value(index % self.stages))

    def places(self) -> list[ir.Location]:
        """Where the values of ``flying`` come from in the source."""
        return [token_place(side.staged) for tile in self.flying for side, _ in zip(self.sides, tile, strict=False)]

    def carried(self) -> list[ir.Value]:
        return [value for tile in self.flying for value in tile]

    def carry(self, values: list[ir.Value]) -> None:
        """The same, as values of another block."""
        rest = list(values)
        for tile in self.flying:
            tile[:], rest = rest[: len(tile)], rest[len(tile) :]

    @abstractmethod
    def fill(self) -> None:
        """The prologue: this wavefront's share of the first tile is in LDS, later ones are under way."""

    @abstractmethod
    def early(self, step: int, index: int, variable: ir.Value) -> None:
        """In slice ``step`` of the tile in buffer ``index``, which begins at ``variable`` + ``index`` steps."""

    @abstractmethod
    def late(self, index: int, variable: ir.Value) -> None:
        """In the last slice, once every wavefront has read the whole tile."""

    @abstractmethod
    def land(self) -> None:
        """This wavefront's share of the next tile is in LDS afterwards, and its LDS reads are done."""

    @abstractmethod
    def drain(self) -> None:
        """After the loop: no copy of this wavefront's is under way to a buffer that is still used."""


class DirectFeed(Feed):
    """LDS-direct copies, ``stages`` tiles ahead: the left operand's in the last slice, when the buffer is free, the
    right one's in the slice after it (which is the next tile's first)."""

    def fill(self) -> None:
        for index in range(self.stages):
            sides = self.sides if index < self.stages - 1 or self.steps == 1 else self.sides[:1]
            self.flying.append([self._copy(side, self.loop.start, index) for side in sides])
        self.land()

    def _copy(self, side: Operand, start: s.Scalar, ahead: int) -> ir.Value:
        at = s.add(start, ahead * self.loop.step_size)
        when = s.compare("slt", at, self.loop.whole_end)
        return self.loop.copy(side.staged, at, s.value(ahead % self.stages), when)

    def early(self, step: int, index: int, variable: ir.Value) -> None:
        if step == 0 and self.steps > 1:
            self.flying[-1].append(self._copy(self.loop.right, variable, index + self.stages - 1))

    def late(self, index: int, variable: ir.Value) -> None:
        sides = self.sides[:1] if self.steps > 1 else self.sides
        self.flying.append([self._copy(side, variable, index + self.stages) for side in sides])

    def land(self) -> None:
        Wait.build(self.flying.pop(0))
        Waitcnt.build(lgkmcnt=0)

    def drain(self) -> None:
        """All but the last tile's: its buffer is not used any more."""
        if left := [token for tile in self.flying[:-1] for token in tile]:
            Wait.build(left)


class RegisterFeed(Feed):
    """Loads into registers, LDS writes an iteration later: in the slices before the last one, to the buffer whose
    reading ended with the tile before. Needs two buffers."""

    def fill(self) -> None:
        for index in range(self.stages - 1):
            tiles = [self._load(side, self.loop.start, index) for side in self.sides]
            for tile, side in zip(tiles, self.sides, strict=True):
                self._write(tile, side, index)
        self.flying = [[self._load(side, self.loop.start, self.stages - 1) for side in self.sides]]
        self.land()

    def places(self) -> list[ir.Location]:
        return [place_of(x.staged.load, f"{tile_name(x.staged)}_next") for x in self.sides[: len(self.carried())]]

    def _load(self, side: Operand, start: s.Scalar, ahead: int) -> ir.Value:
        staged, loop = side.staged, self.loop
        at = s.add(start, ahead * loop.step_size)
        when = s.compare("slt", at, loop.whole_end)
        with place_of(staged.load, f"{tile_name(staged)}_next"):
            offsets = [s.value(at) if o == loop.variable else o for o in staged.offsets]
            tile = BufferLoad.build(staged.view, offsets, plain_type(staged.type, loop.waves, loop.target), when)
        loop.mark_whole(tile, staged)
        return tile

    def _write(self, tile: ir.Value, side: Operand, index: int) -> None:
        with token_place(side.staged):
            LdsWrite.build(tile, self.slot(side, index))

    def early(self, step: int, index: int, variable: ir.Value) -> None:
        # The second operand's a slice later, if that is before the last one.
        for number, side in enumerate(self.sides):
            if step == min(number, max(self.steps - 2, 0)):
                self._write(self.flying[0][number], side, index + self.stages - 1)
                self.flying[0][number] = self._load(side, variable, index + self.stages)

    def late(self, index: int, variable: ir.Value) -> None:
        """Nothing: the writes come first."""

    def land(self) -> None:
        Waitcnt.build(lgkmcnt=0)

    def drain(self) -> None:
        """Nothing: each write was waited for in its iteration, and what was loaded beyond the end is dropped."""


class SingleFeed(RegisterFeed):
    """Loads into registers with a single LDS buffer: loaded in the first slices, written in the last one."""

    def fill(self) -> None:
        self.flying = [[self._load(side, self.loop.start, 0) for side in self.sides]]
        self.late(0, self.loop.low)
        self.land()

    def early(self, step: int, index: int, variable: ir.Value) -> None:
        for number, side in enumerate(self.sides):
            if step == min(number, max(self.steps - 2, 0)):
                if number == 0:
                    self.flying = [[]]
                self.flying[0].append(self._load(side, variable, index + 1))

    def late(self, index: int, variable: ir.Value) -> None:
        [tiles] = self.flying
        for tile, side in zip(tiles, self.sides, strict=True):
            self._write(tile, side, 0)
        self.flying = []
