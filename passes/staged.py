"""A matmul operand on its way through LDS: what `staging.py` and `schedules/` share."""

from __future__ import annotations

from dataclasses import dataclass

from mlir import ir

from hkc.dialect.locations import location_of, name_of, place_of
from hkc.dialect.ops import LdsAlloc, Load
from hkc.dialect.types import LdsType, TileType, tile_type
from hkc.passes.rebuild import body_of
from hkc.passes.swizzle import CHUNK, parse_swizzle
from hkc.targets import Target

# Marks LDS that the compiler allocated; a person fences what the program itself allocates, in a kernel with barriers.
STAGED = "tile.staged"


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

    @property
    def slot(self) -> LdsType:
        """The type of one LDS buffer, before its swizzle is chosen."""
        return LdsType(self.type.shape, self.type.dtype)


def goes_direct(slot: LdsType, waves: int, target: Target) -> bool:
    """Whether LDS-direct loads of 16 bytes a lane can fill the slot: whole chunks, the same count for each lane."""
    row_bytes = slot.shape[-1] * slot.dtype.bytes
    all_bytes = slot.elements * slot.dtype.bytes
    wide_enough = target.lds_direct_bytes >= CHUNK and not parse_swizzle(slot.layout).columns
    return wide_enough and row_bytes % CHUNK == 0 and all_bytes % (CHUNK * waves * target.wavefront) == 0


def allocate(function: ir.Operation, load: ir.Operation, buffers: int) -> ir.Value:
    """LDS for a load's tile, allocated at the top of the kernel."""
    type_ = tile_type(load.results[0])
    with ir.InsertionPoint.at_block_begin(body_of(function)), location_of(_named(load)):
        rows, columns = type_.shape
        lds = LdsAlloc.build(buffers, rows, columns, type_.dtype)
        lds.owner.attributes[STAGED] = ir.UnitAttr.get()
        return lds


def tile_name(staged: Staged) -> str:
    return name_of(_named(staged.load)) or "tile"


def token_place(staged: Staged) -> ir.Location:
    """Where a copy of the tile comes from in the source, with a name for its token."""
    return place_of(staged.load, f"{tile_name(staged)}_copy")


def _named(load: ir.Operation) -> ir.Operation:
    """The op that carries the program's name for the tile: the load, or a transpose of it."""
    users = [use.owner.operation for use in load.results[0].uses]
    named = (op for op in (load, *users) if op.name in (Load.name, "tile.transpose") and name_of(op))
    return next(named, load)
