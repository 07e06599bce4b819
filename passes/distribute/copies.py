"""LDS-direct copies of one lane.

Lane after lane fills consecutive 16-byte chunks of LDS, so the tile's swizzle is applied to the source. An LDS-direct
load adds its instruction offset to both the source and the destination: loads whose destinations are a few KB apart
share M0, and their source offsets are that much less. Where all rows of the tile are inside the view, loads also share
one VGPR of source offsets: what they differ by is the same for all lanes and goes into a scalar offset, which the
descriptor's bound does not see.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from mlir import ir

from hkc.dialect.ops import Copy, LaneLdsCopy
from hkc.dialect.types import LdsType, lds_type, view_type
from hkc.passes import scalars as s
from hkc.passes.access import WHOLE
from hkc.passes.distribute.distributor import Distributor
from hkc.passes.distribute.lds import swizzled_place
from hkc.passes.distribute.memory import row_descriptor
from hkc.passes.roles import copying_waves
from hkc.passes.swizzle import CHUNK, Swizzle, parse_swizzle

MOST_INSTRUCTION_OFFSET = (1 << 12) - 1  # 12 bits: CDNA3 ISA 9.1, MUBUF's OFFSET


@dataclass(frozen=True)
class DirectLoad:
    """One of a wavefront's LDS-direct loads: the load whose lanes' source offsets it shares, what it lies behind that
    one in (rows, bytes), the bytes of its instruction offset, and where the rest of its destination is."""

    base: int
    moved: tuple[int, int]
    shared: int
    destination: int


@cache
def plan(swizzle: Swizzle, rows: int, row_bytes: int, waves: int, lanes: int, whole: bool) -> tuple[DirectLoad, ...]:
    """The loads of a tile. Rows lie at least ``row_bytes`` apart in memory, so that no offset becomes negative."""
    wave_bytes, step = rows * row_bytes // waves, lanes * CHUNK
    group = (MOST_INSTRUCTION_OFFSET + 1) // step

    def places(index: int) -> list[tuple[int, int]]:
        starts = [wave * wave_bytes + index * step for wave in range(waves)]
        return [swizzle.place(at + lane * CHUNK, row_bytes, rows) for at in starts for lane in range(lanes)]

    first, made = places(0), []
    for index in range(wave_bytes // step):
        shared, destination = index % group * step, index // group * group * step
        own = places(index)
        moves = {(row - row0, byte - byte0) for (row, byte), (row0, byte0) in zip(own, first, strict=True)}
        row, byte = next(iter(moves))
        if whole and len(moves) == 1 and row >= 0 and row * row_bytes + byte >= shared:
            made.append(DirectLoad(0, (row, byte), shared, destination))
        elif all(row * row_bytes + byte >= shared for row, byte in own):
            made.append(DirectLoad(index, (0, 0), shared, destination))
        else:
            made.append(DirectLoad(index, (0, 0), 0, index * step))
    return tuple(made)


def copy(d: Distributor, op: ir.Operation) -> list[ir.Value]:
    """See the module's text."""
    groups = Copy.groups(op)
    view, slot = d.one(groups["view"][0]), groups["slot"][0]
    type_ = lds_type(slot)
    row0, column0 = (d.one(v) for v in groups["offsets"])
    when = d.one(groups["when"][0]) if groups["when"] else None
    whole, rows = WHOLE in op.attributes, type_.shape[0]
    descriptor = row_descriptor(d, view, row0, when, rows if whole else None)
    column = s.mul(column0, type_.dtype.bytes)
    sharing, row_bytes = copying_waves(op, d.roles), type_.shape[1] * type_.dtype.bytes
    wave_bytes = rows * row_bytes // sharing
    share = _share(d, sharing)
    start = d.value(d.once(("copy destination", wave_bytes, sharing), lambda: s.mul(share, wave_bytes)))
    for load in plan(parse_swizzle(type_.layout), rows, row_bytes, sharing, d.target.wavefront, whole):
        offset = _source_offset(d, view, type_, share, wave_bytes, load)
        scalar = d.value(s.add(column, _behind(d, view, load) if load.base == 0 else 0))
        LaneLdsCopy.build(
            descriptor,
            offset,
            scalar,
            d.one(slot),
            start,
            width=CHUNK,
            immediate=load.destination,
            instruction_offset=load.shared,
        )
    return []


def _share(d: Distributor, sharing: int) -> s.Scalar:
    """Which of ``sharing`` equal parts of a copy is this wavefront's: they are numbered consecutively."""
    if sharing == d.roles.total:
        return d.wave
    return d.once(("copy share", sharing), lambda: s.mod(d.wave, sharing))


def _behind(d: Distributor, view: ir.Value, load: DirectLoad) -> s.Scalar:
    """Bytes from a load's base to it, less what its instruction offset adds."""
    row, byte = load.moved
    if (row, byte) == (0, 0):
        return 0

    def make() -> s.Scalar:
        pitch = s.narrow(d.stride_bytes(view, 0, view_type(view).dtype))
        return s.add(s.mul(pitch, row), byte - load.shared)

    return d.once(("copy step", view, load), make)


def _source_offset(
    d: Distributor, view: ir.Value, slot: LdsType, share: s.Scalar, wave_bytes: int, load: DirectLoad
) -> ir.Value:
    """Byte offset, from the tile's first row, of the chunk that this lane copies in a load's base."""
    dtype = view_type(view).dtype
    rows, row_bytes = slot.shape[0], slot.shape[1] * dtype.bytes
    lanes = d.target.wavefront
    less = load.shared if load.moved == (0, 0) else 0

    def make() -> s.Scalar:
        place = s.add(s.add(s.mul(share, wave_bytes // CHUNK), load.base * lanes), d.lane)
        row, byte = swizzled_place(parse_swizzle(slot.layout), s.mul(place, CHUNK), row_bytes, rows)
        return s.add(s.add(s.mul(row, s.narrow(d.stride_bytes(view, 0, dtype))), byte), -less)

    return d.value(d.once(("copy source", view, slot, wave_bytes, load.base, less), make))


HANDLERS = {Copy.name: copy}
