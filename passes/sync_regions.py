"""Which bytes of an LDS slot each wavefront touches, and whether two wavefronts share some.

A set of a slot's bytes is an int with one bit an item, in the order of addresses, so swizzled places are exact.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from mlir import ir

from hkc.dialect.irdl import get_int
from hkc.dialect.locations import span_of
from hkc.dialect.ops import Copy, LdsReadPart, LdsWrite
from hkc.dialect.types import LdsType, lds_type, tile_type
from hkc.errors import HkcError
from hkc.passes.access import accesses
from hkc.passes.layouts import distribute
from hkc.passes.roles import Roles, copying_waves
from hkc.passes.swizzle import CHUNK, Swizzle, in_lds, lane_width, parse_swizzle
from hkc.targets import Target


@dataclass(frozen=True)
class Touched:
    """What one op touches of a slot. ``layout`` is that of the register tile; None for a copy, whose bytes ``sharers``
    wavefronts split evenly. Along ``axis`` a wavefront's part is cut into ``parts``, of which ``part`` is touched."""

    slot: LdsType
    layout: str | None
    sharers: int = 1
    axis: int = 0
    parts: int = 1
    part: int = 0


def check_slot(op: ir.Operation, index: int | None, buffers: int) -> None:
    """Raises HkcError for a slot index that is known to be out of range."""
    if index is not None and not 0 <= index < buffers:
        raise HkcError(
            "this slot is outside of its LDS allocation",
            span_of(op),
            expected=f"0 to {buffers - 1}",
            got=str(index),
            hint="rotate the slot index modulo the number of buffers",
        )


def touched_by(op: ir.Operation, roles: Roles) -> Touched:
    """What a copy, LDS read or LDS write touches."""
    if op.name == Copy.name:
        return Touched(lds_type(Copy.groups(op)["slot"][0]), None, copying_waves(op, roles))
    if op.name == LdsWrite.name:
        return Touched(lds_type(op.operands[1]), tile_type(op.operands[0]).layout)
    slot, layout = lds_type(op.operands[0]), tile_type(op.results[0]).layout
    if op.name == LdsReadPart.name:
        axis, parts, part = (get_int(op, name) or 0 for name in ("axis", "parts", "part"))
        return Touched(slot, layout, axis=axis, parts=max(parts, 1), part=part)
    return Touched(slot, layout)


def instructions_of(op: ir.Operation, touched: Touched | None, target: Target) -> int:
    """Instructions that a copy, load, LDS read or LDS write surely makes in its queue. LLVM may join LDS writes that
    are narrower than the widest, and drop or join LDS reads, so these don't count."""
    if touched is None:
        return accesses(tile_type(op.results[0]))
    slot = touched.slot
    if touched.layout is None:
        return slot.elements * slot.dtype.bytes // (CHUNK * touched.sharers * target.wavefront)
    dist = in_lds(distribute(touched.layout, slot.shape), parse_swizzle(slot.layout))
    if op.name != LdsWrite.name or lane_width(dist.layout, slot.dtype.bytes) < CHUNK:
        return 0
    return len(dist.fragments) * dist.layout.items_per_fragment * slot.dtype.bytes // CHUNK


@cache
def items_of(touched: Touched, wave: int) -> int:
    """The items of the slot that a wavefront touches, as a bit set."""
    slot = touched.slot
    if touched.layout is None:
        count = slot.elements // touched.sharers
        return _ones(count) << wave % touched.sharers * count
    swizzle = parse_swizzle(slot.layout)
    dist = in_lds(distribute(touched.layout, slot.shape), swizzle)
    axis = 1 - touched.axis if swizzle.columns else touched.axis
    begin, size = [0, 0], list(dist.part)
    for at, split in enumerate(dist.layout.split):
        begin[at] = wave // split.divisor % split.count * dist.part[at]
    size[axis] //= touched.parts
    begin[axis] += touched.part * size[axis]
    rows, columns = (range(first, first + count) for first, count in zip(begin, size, strict=True))
    return places(swizzle, slot.dtype.bytes, dist.shape, rows, columns)


def _ones(count: int) -> int:
    return (1 << count) - 1


@cache
def places(swizzle: Swizzle, item: int, shape: tuple[int, int], rows: range, columns: range) -> int:
    """Where some rows and columns of a tile lie, as seen from LDS; ``item`` is an element's size in bytes."""
    height, width = shape[0], swizzle.width(shape[1] * item) // item
    found = 0
    for first in range(columns.start // width * width, columns.stop, width):
        inside = range(max(columns.start, first) - first, min(columns.stop, first + width) - first)
        found |= _in_block(swizzle, item, width, rows, inside) << first // width * height * width
    return found


@cache
def _in_block(swizzle: Swizzle, item: int, width: int, rows: range, columns: range) -> int:
    """The places in one block. A row's place is the XOR of what its bits contribute, so a run of 2^n rows is the first
    one, n times doubled."""
    if not swizzle.turns:
        return sum(_ones(len(columns)) << row * width + columns.start for row in rows)
    found, row = 0, rows.start
    while row < rows.stop:
        bits = min((row & -row).bit_length() - 1 if row else rows.stop.bit_length(), (rows.stop - row).bit_length() - 1)
        run = _moved(_ones(len(columns)) << columns.start, _contributed(swizzle, item, width, row))
        for bit in range(bits):
            run |= _moved(run, _contributed(swizzle, item, width, 1 << bit))
        found |= run
        row += 1 << bits
    return found


def _contributed(swizzle: Swizzle, item: int, width: int, row: int) -> int:
    """What a row's number, bit by bit, XORs to the places of row 0. Blocks with turns are 2^n items wide."""
    return row * width ^ swizzle.turn(row) * CHUNK // item


def _moved(items: int, by: int) -> int:
    """A bit set with the number of each of its members XORed with ``by``."""
    length = max(items.bit_length(), by + 1)
    bit = 1
    while bit <= by:
        if by & bit:
            span = _ones(2 * bit)
            low = _ones((-(-length // (2 * bit))) * 2 * bit) // span * _ones(bit)
            items = (items & low) << bit | items >> bit & low
            length = max(length, items.bit_length())
        bit *= 2
    return items


@cache
def shared(a: Touched, waves_a: tuple[int, ...], b: Touched, waves_b: tuple[int, ...]) -> tuple[int, int] | None:
    """Two different wavefronts, one of ``waves_a`` and one of ``waves_b``, of which the first touches with ``a`` what
    the second touches with ``b``; None if there are none."""
    for first in waves_a:
        items = items_of(a, first)
        for second in waves_b:
            if first != second and items & items_of(b, second):
                return first, second
    return None


@cache
def meets(a: Touched, b: Touched, waves: tuple[int, ...]) -> bool:
    """Whether one of the wavefronts touches some bytes with both."""
    return any(items_of(a, wave) & items_of(b, wave) for wave in waves)


@cache
def covered(read: Touched, waves: tuple[int, ...], writes: frozenset[tuple[Touched, tuple[int, ...]]]) -> bool:
    """Whether all that the wavefronts read is among what others have written."""
    written = 0
    for touched, writers in writes:
        for wave in writers:
            written |= items_of(touched, wave)
    return all(not items_of(read, wave) & ~written for wave in waves)
