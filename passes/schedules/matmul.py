"""What schedules of a plain matmul loop, ``acc += a @ b``, share: its two operands, and reading pieces of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from mlir import ir

from hkc.dialect.locations import span_of
from hkc.dialect.ops import Full, LdsReadPart, Load, Mma, Transpose
from hkc.dialect.types import tile_type
from hkc.errors import HkcError
from hkc.passes import scalars as s
from hkc.passes.layouts import Distribution, distribute
from hkc.passes.schedules.pipeline import Pipeline
from hkc.passes.staged import Staged
from hkc.targets import Target

SIDES = 2
BYTE = 8  # bits; floats of a byte may have one zero only (FNUZ)


@dataclass(frozen=True)
class Operand:
    """One side of the matmul: its copy's source, and whether the program transposes it."""

    staged: Staged
    transposed: bool
    right: bool

    @property
    def along(self) -> int:
        """The axis of the LDS tile that runs along the accumulators; the other one is K."""
        return int(self.right) ^ int(self.transposed)

    def read(self, slot: ir.Value, part: int, parts: int, depth: bool = False) -> ir.Value:
        """One of ``parts`` pieces of every wavefront's part: along the accumulators, or along K (``depth``)."""
        return self.turned(LdsReadPart.build(slot, self.along ^ int(depth), parts, part, self.staged.type.layout))

    def turned(self, tile: ir.Value) -> ir.Value:
        """A tile that lies like the loaded one, as the matmul takes it."""
        if not self.transposed:
            return tile
        return Transpose.build(tile, self._distribution().layout.transposed().text())

    def depth(self) -> int:
        """K of one fragment."""
        return self._distribution().layout.fragment[1 - self.along]

    def steps(self) -> int:
        """Fragments along K."""
        return self._distribution().grid()[1 - self.along]

    def _distribution(self) -> Distribution:
        return distribute(self.staged.type.layout or "", self.staged.type.shape)


class MatmulLoop(Pipeline):
    """A schedule for loops of one matmul: ``left`` and ``right`` are its operands, ``grid`` the fragments (rows x
    columns) of every wavefront's part of the accumulator, ``accumulators`` the registers a lane that they take.

    Raises HkcError, located at the loop, for any other loop.
    """

    title: ClassVar[str]

    def __init__(self, loop: ir.Operation, staged: list[Staged], stages: int, waves: int, target: Target) -> None:
        super().__init__(loop, staged, stages, waves, target)
        *body, end = [op.operation for op in self.block.operations]
        matmuls = [op for op in body if op.name == Mma.name]
        plain = all(op.name in (Mma.name, Load.name, Transpose.name, "arith.constant") for op in body)
        arguments = list(self.block.arguments)[1:]
        if not plain or len(matmuls) != 1 or len(arguments) != 1 or len(self.staged) != SIDES:
            raise self.misfit("a loop of one matmul: acc += a @ b with a and b loaded in the loop")
        matmul = matmuls[0]
        if matmul.operands[2] != arguments[0] or list(end.operands) != list(matmul.results):
            raise self.misfit("a loop that adds to one accumulator")
        accumulator = tile_type(matmul.results[0])
        part = distribute(accumulator.layout or "", accumulator.shape)
        self.grid = part.grid()
        self.accumulators = len(part.fragments) * part.layout.items_per_fragment
        self.left, self.right = (self._operand(matmul.operands[side], bool(side)) for side in range(SIDES))

    def _operand(self, value: ir.Value, right: bool) -> Operand:
        transposed = False
        while value.owner.name == Transpose.name:
            value, transposed = value.owner.operands[0], not transposed
        return Operand(next(x for x in self.staged if x.load == value.owner.operation), transposed, right)

    def nothing(self, depth: int) -> tuple[ir.Value, ir.Value]:
        """Operands whose product adds nothing to any accumulator: not even to the sign of a zero, where the type has
        two zeros."""
        tiles = []
        for side, zero in ((self.left, 0.0), (self.right, -0.0)):
            type_ = side.staged.type
            zero = zero if type_.dtype.bits > BYTE else 0.0
            shape = tuple(depth if axis != side.along else extent for axis, extent in enumerate(type_.shape))
            tile = Full.build(s.constant(zero, type_.dtype.mlir_type()), replace(type_, shape=shape))
            tiles.append(side.turned(tile))
        return tiles[0], tiles[1]

    def misfit(self, expected: str, hint: str = 'leave it to schedule="uniform"') -> HkcError:
        return HkcError(
            f"this loop can't be scheduled as {self.title}", span_of(self.loop), expected=expected, hint=hint
        )
