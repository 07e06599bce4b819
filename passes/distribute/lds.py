"""LDS reads, writes and direct copies of one lane."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from mlir import ir

from hkc.dialect.irdl import get_int
from hkc.dialect.ops import (
    Copy,
    LaneLdsCopy,
    LaneLdsLoad,
    LaneLdsLoadTransposed,
    LaneLdsStore,
    LdsRead,
    LdsReadPart,
    LdsWrite,
)
from hkc.dialect.types import LdsType, lds_type, tile_type, view_type
from hkc.passes import scalars as s
from hkc.passes.distribute.distributor import Distributor, Run, distribution, runs, vector_type
from hkc.passes.distribute.memory import row_descriptor
from hkc.passes.distribute.vectors import join, part
from hkc.passes.layouts import Distribution, Step
from hkc.passes.swizzle import CHUNK, Swizzle, parse_swizzle, reads_transposed, transposed_source


def _offset(d: Distributor, dist: Distribution, slot: LdsType, step: Step) -> tuple[ir.Value, int]:
    """Byte offset in a slot of what lies ``step`` from this lane's origin: a value and an immediate."""
    swizzle = parse_swizzle(slot.layout)
    item, row_bytes = slot.dtype.bytes, slot.shape[1] * slot.dtype.bytes
    row, column = step
    kept_row = row % swizzle.period
    immediate = (row - kept_row) * row_bytes
    kept_column = column if swizzle.mask else 0
    immediate += (column - kept_column) * item
    key = ("lds", dist.layout, dist.part, slot, kept_row, kept_column)

    def make() -> s.Scalar:
        first, second = d.origin(dist)
        at_row, at_byte = s.add(first, kept_row), s.mul(s.add(second, kept_column), item)
        return s.add(s.mul(at_row, row_bytes), _swizzled(swizzle, at_row, at_byte))

    return d.value(d.once(key, make)), immediate


def _swizzled(swizzle: Swizzle, row: s.Scalar, byte: s.Scalar) -> s.Scalar:
    """Byte offset inside a row after the swizzle."""
    if not swizzle.mask:
        return byte
    turn = s.bits(row, swizzle.shift, swizzle.mask.bit_length())
    return s.xor(byte, s.mul(turn, CHUNK << swizzle.up))


def _pieces(dist: Distribution, item_bytes: int) -> Iterator[tuple[int, Step, Run]]:
    """Every access of a tile: the fragment's index, its place and the run of items."""
    for index, (row, column) in enumerate(dist.fragments):
        for run in runs(dist.layout, CHUNK // item_bytes):
            yield index, (row + run.step[0], column + run.step[1]), run


def lds_read(d: Distributor, op: ir.Operation) -> list[ir.Value]:
    slot = lds_type(op.operands[0])
    type_ = replace(tile_type(op.results[0]), shape=slot.shape)
    dist, load = distribution(type_), LaneLdsLoad
    if op.name == LdsReadPart.name:
        pieces, piece = [1, 1], [0, 0]
        axis = get_int(op, "axis") or 0
        pieces[axis], piece[axis] = get_int(op, "parts") or 1, get_int(op, "part") or 0
        dist = replace(dist, fragments=dist.piece((pieces[0], pieces[1]), (piece[0], piece[1])))
    if reads_transposed(dist.layout, type_.dtype.bytes, d.target):
        dist, load = replace(dist, layout=transposed_source(dist.layout)), LaneLdsLoadTransposed
    source = d.one(op.operands[0])
    parts: dict[int, list[ir.Value]] = {}
    for index, step, run in _pieces(dist, type_.dtype.bytes):
        offset, immediate = _offset(d, dist, slot, step)
        loaded = load.build(source, offset, immediate, vector_type(run.count, type_.dtype))
        parts.setdefault(index, []).append(loaded)
    return [join(pieces) for pieces in parts.values()]


def lds_write(d: Distributor, op: ir.Operation) -> list[ir.Value]:
    type_, vectors = d.fragments(op.operands[0])
    slot, target = lds_type(op.operands[1]), d.one(op.operands[1])
    dist = distribution(type_)
    for index, step, run in _pieces(dist, type_.dtype.bytes):
        offset, immediate = _offset(d, dist, slot, step)
        LaneLdsStore.build(part(vectors[index], run.first, run.count), target, offset, immediate)
    return []


def copy(d: Distributor, op: ir.Operation) -> list[ir.Value]:
    """LDS-direct loads: lane after lane fills consecutive chunks, so the swizzle is applied to the source."""
    groups = Copy.groups(op)
    view, slot = d.one(groups["view"][0]), groups["slot"][0]
    type_ = lds_type(slot)
    row0, column0 = (d.one(v) for v in groups["offsets"])
    when = d.one(groups["when"][0]) if groups["when"] else None
    descriptor = row_descriptor(d, view, row0, when)
    scalar = d.value(s.mul(column0, type_.dtype.bytes))
    lanes = d.target.wavefront
    wave_bytes = type_.elements * type_.dtype.bytes // (d.waves[0] * d.waves[1])
    destination = d.value(d.once(("copy destination", wave_bytes), lambda: s.mul(d.wave, wave_bytes)))
    for index in range(wave_bytes // (CHUNK * lanes)):
        offset = _source_offset(d, view, type_, wave_bytes // CHUNK, index * lanes)
        LaneLdsCopy.build(
            descriptor, offset, scalar, d.one(slot), destination, width=CHUNK, immediate=index * lanes * CHUNK
        )
    return []


def _source_offset(d: Distributor, view: ir.Value, slot: LdsType, wave_chunks: int, first: int) -> ir.Value:
    """Byte offset, from the tile's first row, of the chunk that this lane copies."""
    dtype = view_type(view).dtype
    chunks = slot.shape[1] * dtype.bytes // CHUNK

    def make() -> s.Scalar:
        place = s.add(s.add(s.mul(d.wave, wave_chunks), first), d.lane)
        row = s.div(place, chunks)
        byte = _swizzled(parse_swizzle(slot.layout), row, s.mul(s.mod(place, chunks), CHUNK))
        return s.add(s.mul(row, s.narrow(d.stride_bytes(view, 0, dtype))), byte)

    return d.value(d.once(("copy source", view, slot, first), make))


HANDLERS = {LdsRead.name: lds_read, LdsReadPart.name: lds_read, LdsWrite.name: lds_write, Copy.name: copy}
