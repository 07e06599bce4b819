"""LDS reads and writes of one lane."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from mlir import ir

from hkc.dialect.irdl import get_int
from hkc.dialect.ops import (
    LaneLdsLoad,
    LaneLdsLoadTransposed,
    LaneLdsStore,
    LdsRead,
    LdsReadPart,
    LdsWrite,
)
from hkc.dialect.types import LdsType, lds_type, tile_type
from hkc.passes import scalars as s
from hkc.passes.distribute.distributor import Distributor, distribution, vector_type
from hkc.passes.distribute.vectors import join, pick
from hkc.passes.layouts import Distribution, Step
from hkc.passes.swizzle import (
    CHUNK,
    Swizzle,
    in_lds,
    lane_width,
    parse_swizzle,
    reads_transposed,
    transposed_source,
)


def _offset(d: Distributor, dist: Distribution, slot: LdsType, step: Step) -> tuple[ir.Value, int]:
    """Byte offset in a slot of what lies ``step`` from this lane's origin: a value and an immediate. ``dist`` and
    ``step`` are as seen from LDS."""
    swizzle = parse_swizzle(slot.layout)
    item, (rows, columns) = slot.dtype.bytes, dist.shape
    kept, immediate = swizzle.kept(dist, step, item, columns * item, rows)
    key = ("lds", dist.layout, dist.part, slot, kept)

    def make() -> s.Scalar:
        first, second = d.origin(dist)
        return _swizzled(swizzle, s.add(first, kept[0]), s.mul(s.add(second, kept[1]), item), columns * item, rows)

    return d.value(d.once(key, make)), immediate


def _swizzled(swizzle: Swizzle, row: s.Scalar, byte: s.Scalar, row_bytes: int, rows: int) -> s.Scalar:
    """Byte offset of a byte of a row: ``Swizzle.offset`` on scalars."""
    width = swizzle.width(row_bytes)
    inside = s.xor(s.add(s.mul(row, width), s.mod(byte, width)), _turned(swizzle, row))
    return s.add(s.mul(s.div(byte, width), rows * width), inside) if width < row_bytes else inside


def _turned(swizzle: Swizzle, row: s.Scalar) -> s.Scalar:
    """What the offsets in a row are XORed with; neighbouring row bits that turn neighbouring bits go together."""
    turned: s.Scalar = 0
    turns = list(swizzle.turns)
    while turns:
        bit, mask = turns[0]
        count = 1
        while count < len(turns) and turns[count] == (bit + count, mask << count) and mask & mask - 1 == 0:
            count += 1
        turned = s.xor(turned, s.mul(s.bits(row, bit, count), mask * CHUNK))
        turns = turns[count:]
    return turned


@dataclass(frozen=True)
class _Piece:
    """One access: the fragment's index, where it is from the lane's origin, and its items."""

    index: int
    step: Step
    items: tuple[int, ...]


def _pieces(dist: Distribution, item_bytes: int) -> Iterator[_Piece]:
    """Every access of a tile."""
    layout = dist.layout
    count = lane_width(layout, item_bytes) // item_bytes
    at = {step: index for index, step in enumerate(layout.item_steps())}
    for index, (row, column) in enumerate(dist.fragments):
        for down, right in layout.item_steps():
            if right % count == 0:
                items = tuple(at[down, right + more] for more in range(count))
                yield _Piece(index, (row + down, column + right), items)


def lds_read(d: Distributor, op: ir.Operation) -> list[ir.Value]:
    slot = lds_type(op.operands[0])
    type_ = replace(tile_type(op.results[0]), shape=slot.shape)
    dist, load = distribution(type_), LaneLdsLoad
    if op.name == LdsReadPart.name:
        pieces, piece = [1, 1], [0, 0]
        axis = get_int(op, "axis") or 0
        pieces[axis], piece[axis] = get_int(op, "parts") or 1, get_int(op, "part") or 0
        dist = replace(dist, fragments=dist.piece((pieces[0], pieces[1]), (piece[0], piece[1])))
    dist = in_lds(dist, parse_swizzle(slot.layout))
    if reads_transposed(dist.layout, type_.dtype.bytes, d.target):
        dist, load = replace(dist, layout=transposed_source(dist.layout)), LaneLdsLoadTransposed
    source = d.one(op.operands[0])
    parts: dict[int, list[tuple[_Piece, ir.Value]]] = {}
    for piece_ in _pieces(dist, type_.dtype.bytes):
        offset, immediate = _offset(d, dist, slot, piece_.step)
        loaded = load.build(source, offset, immediate, vector_type(len(piece_.items), type_.dtype))
        parts.setdefault(piece_.index, []).append((piece_, loaded))
    return [_assembled(found) for found in parts.values()]


def _assembled(found: list[tuple[_Piece, ir.Value]]) -> ir.Value:
    """A fragment's vector from what its accesses read."""
    order = [item for piece, _ in found for item in piece.items]
    whole = join([loaded for _, loaded in found])
    places = [order.index(item) for item in range(len(order))]
    return pick(whole, places)


def lds_write(d: Distributor, op: ir.Operation) -> list[ir.Value]:
    type_, vectors = d.fragments(op.operands[0])
    slot, target = lds_type(op.operands[1]), d.one(op.operands[1])
    dist = in_lds(distribution(type_), parse_swizzle(slot.layout))
    for piece in _pieces(dist, type_.dtype.bytes):
        offset, immediate = _offset(d, dist, slot, piece.step)
        LaneLdsStore.build(pick(vectors[piece.index], piece.items), target, offset, immediate)
    return []


def swizzled_place(swizzle: Swizzle, offset: s.Scalar, row_bytes: int, rows: int) -> tuple[s.Scalar, s.Scalar]:
    """The row and byte at an offset: ``Swizzle.place`` on scalars."""
    width = swizzle.width(row_bytes)
    block, inside = (s.div(offset, rows * width), s.mod(offset, rows * width)) if width < row_bytes else (0, offset)
    turned = s.xor(inside, _turned(swizzle, s.div(inside, width)))
    return s.div(turned, width), s.add(s.mul(block, width), s.mod(turned, width))


HANDLERS = {LdsRead.name: lds_read, LdsReadPart.name: lds_read, LdsWrite.name: lds_write}
