"""Ops on global views and LDS tiles, as a whole workgroup."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from mlir import ir

from hkc.dialect.irdl import (
    I1,
    I32,
    LDS,
    TILE,
    TOKEN,
    VIEW,
    Memory,
    Op,
    Slot,
    attribute,
    get_int,
    get_ints,
    operand,
    result,
)
from hkc.dialect.ops.checks import extent, fail
from hkc.dialect.types import LdsType, TileType, TokenType, ViewType, lds_type, tile_type, view_type
from hkc.dtypes import DType

TILE_RANK = 2  # the most axes of a tile


def _i32() -> ir.Type:
    return ir.IntegerType.get_signless(32)


class BlockId(Op):
    """This workgroup's index in the grid along ``axis`` (0-2)."""

    name = "tile.block_id"
    results = (result(I32),)
    attributes = (attribute("axis", "int"),)

    @classmethod
    def build(cls, axis: int) -> ir.Value:
        return cls.create([], [_i32()], axis=axis).result

    @classmethod
    def check(cls, op: ir.Operation) -> None:
        if get_int(op, "axis") not in (0, 1, 2):
            raise fail(op, "a grid has axes 0, 1 and 2", got=str(get_int(op, "axis")))


class OrderedBlock(Op):
    """This workgroup's index along ``axis`` (0 or 1) of the grid when tiles are taken in an order that shares caches:
    ``chunk`` tiles in a row on one XCD, ``window`` rows at a time (:mod:`hkc.passes.grid_order`). Powers of two;
    without them the usual ones, as far as they fit the grid."""

    name = "tile.ordered_block"
    results = (result(I32),)
    attributes = (attribute("axis", "int"), attribute("chunk", "int", True), attribute("window", "int", True))

    @classmethod
    def build(cls, axis: int, chunk: int | None = None, window: int | None = None) -> ir.Value:
        return cls.create([], [_i32()], axis=axis, chunk=chunk, window=window).result

    @classmethod
    def check(cls, op: ir.Operation) -> None:
        if get_int(op, "axis") not in (0, 1):
            raise fail(op, "axes 0 and 1 of a grid are ordered", got=str(get_int(op, "axis")))
        for name in ("chunk", "window"):
            size = get_int(op, name)
            if size is not None and (size < 1 or size & (size - 1)):
                raise fail(op, f"{name} is not a power of two", got=str(size))


class Dim(Op):
    """The run-time size of a view along ``axis``, in elements."""

    name = "tile.dim"
    operands = (operand("view", VIEW),)
    results = (result(I32),)
    attributes = (attribute("axis", "int"),)

    @classmethod
    def build(cls, view: ir.Value, axis: int) -> ir.Value:
        return cls.create([view], [_i32()], axis=axis).result

    @classmethod
    def check(cls, op: ir.Operation) -> None:
        rank, axis = view_type(op.operands[0]).rank, get_int(op, "axis")
        if axis is None or not 0 <= axis < rank:
            raise fail(op, f"a view of rank {rank} has no axis {axis}")


class SubView(Op):
    """The part of a view at fixed ``indices`` (elements) along ``axes``: a view of the remaining axes. The one place
    where a view's address moves by an index, in 64 bits. With an index out of range it is empty: reads give zero and
    nothing is stored."""

    name = "tile.subview"
    operands = (operand("view", VIEW), operand("indices", I32, "variadic"))
    results = (result(VIEW),)
    attributes = (attribute("axes", "ints"),)

    @classmethod
    def build(cls, view: ir.Value, indices: list[ir.Value], axes: tuple[int, ...]) -> ir.Value:
        return cls.create([view, indices], [cls._part(view_type(view), axes).mlir()], axes=axes).result

    @staticmethod
    def _part(view: ViewType, axes: tuple[int, ...]) -> ViewType:
        return ViewType(tuple(dim for axis, dim in enumerate(view.dims) if axis not in axes), view.dtype)

    @classmethod
    def check(cls, op: ir.Operation) -> None:
        view, axes = view_type(op.operands[0]), get_ints(op, "axes") or ()
        if list(axes) != sorted(set(axes)) or not set(axes) < set(range(view.rank)):
            raise fail(op, f"a view of rank {view.rank} can't be indexed along axes {list(axes)}")
        if len(axes) != len(op.operands) - 1:
            raise fail(op, "a part of a view takes one index an axis", got=f"{len(op.operands) - 1} for {list(axes)}")
        part, expected = view_type(op.results[0]), cls._part(view, axes)
        if part != expected:
            raise fail(op, "a part of a view has the wrong type", expected=str(expected), got=str(part))


class Aligned(Op):
    """Whether buffer loads can move the view, the same for every lane: unit stride along the last axis, base address
    and row strides multiples of 4 bytes, rows that don't overlap and lie at most MOST_PITCH bytes apart, and less where
    tiles of ``rows`` rows would else reach further than a 32-bit byte offset."""

    MOST_PITCH: ClassVar[int] = 1 << 22
    REACH: ClassVar[int] = 1 << 32

    name = "tile.aligned"
    operands = (operand("view", VIEW),)
    results = (result(I1),)
    attributes = (attribute("rows", "int", optional=True),)

    @classmethod
    def build(cls, view: ir.Value, rows: int = 1) -> ir.Value:
        wanted = rows if cls.most_pitch(rows) < cls.MOST_PITCH else None
        return cls.create([view], [ir.IntegerType.get_signless(1)], rows=wanted).result

    @classmethod
    def most_pitch(cls, rows: int) -> int:
        """The widest pitch of rows, in bytes, for tiles of that many."""
        return min(cls.MOST_PITCH, cls.REACH // rows)

    @classmethod
    def check(cls, op: ir.Operation) -> None:
        rank = view_type(op.operands[0]).rank
        if rank > TILE_RANK:
            raise fail(
                op, f"a view of rank {rank} is not aligned or not as a whole", hint="ask of a part: aligned(A[b])"
            )


class _ReadView(Op):
    """A tile of a view at offsets (elements, one an axis) of the same rank."""

    operands: ClassVar[tuple[Slot, ...]] = (operand("view", VIEW), operand("offsets", I32, "variadic"))
    results = (result(TILE),)
    memory: ClassVar[Memory] = "read"

    @classmethod
    def build(cls, view: ir.Value, offsets: list[ir.Value], type_: TileType) -> ir.Value:
        return cls.create([view, offsets], [type_.mlir()]).result

    @classmethod
    def check(cls, op: ir.Operation) -> None:
        _check_access(op, op.operands[0], len(op.operands) - 1, tile_type(op.results[0]))


class _WriteView(Op):
    """Stores a tile to a view at offsets (elements, one an axis)."""

    operands = (operand("tile", TILE), operand("view", VIEW), operand("offsets", I32, "variadic"))
    memory: ClassVar[Memory] = "write"

    @classmethod
    def build(cls, tile: ir.Value, view: ir.Value, offsets: list[ir.Value]) -> ir.Operation:
        return cls.create([tile, view, offsets])

    @classmethod
    def check(cls, op: ir.Operation) -> None:
        _check_access(op, op.operands[1], len(op.operands) - 2, tile_type(op.operands[0]))


def _check_access(op: ir.Operation, view: ir.Value, offsets: int, tile: TileType) -> None:
    of = view_type(view)
    if of.rank != offsets or of.rank != tile.rank:
        raise fail(op, f"a view of rank {of.rank} takes {of.rank} slices", got=f"{offsets} for a {tile}")
    if of.dtype != tile.dtype:
        raise fail(
            op,
            "the tile's element type is not the view's",
            expected=of.dtype.name,
            got=tile.dtype.name,
            hint=f"convert it: x.to({of.dtype.name})",
        )


class Load(_ReadView):
    """Reads a tile of a view; elements out of range are zero."""

    name = "tile.load"


# One piece of every wavefront's part of a larger tile that begins at the offsets, as of `tile.part`.
PIECE = (attribute("pieces", "ints", True), attribute("piece", "ints", True))
Pair = tuple[int, int]


class BufferLoad(_ReadView):
    """A load by wide buffer loads. The view must be aligned and the tile's columns inside it; rows out of range
    read zero by the buffer descriptor's bound."""

    name = "tile.buffer_load"
    operands = (*_ReadView.operands, operand("when", I1, "optional"))
    attributes = PIECE

    @classmethod
    def build(
        cls,
        view: ir.Value,
        offsets: list[ir.Value],
        type_: TileType,
        when: ir.Value | None = None,
        pieces: Pair | None = None,
        piece: Pair | None = None,
    ) -> ir.Value:
        return cls.create([view, offsets, when], [type_.mlir()], pieces=pieces, piece=piece).result

    @classmethod
    def check(cls, op: ir.Operation) -> None:
        _check_access(op, op.operands[0], len(cls.groups(op)["offsets"]), tile_type(op.results[0]))
        _check_piece(op, tile_type(op.results[0]))


class MaskedLoad(_ReadView):
    """A load element by element, for any strides and any part of the tile out of range (zero there)."""

    name = "tile.masked_load"
    attributes = PIECE

    @classmethod
    def build(
        cls,
        view: ir.Value,
        offsets: list[ir.Value],
        type_: TileType,
        pieces: Pair | None = None,
        piece: Pair | None = None,
    ) -> ir.Value:
        return cls.create([view, offsets], [type_.mlir()], pieces=pieces, piece=piece).result

    @classmethod
    def check(cls, op: ir.Operation) -> None:
        super().check(op)
        _check_piece(op, tile_type(op.results[0]))


class Store(_WriteView):
    """Stores a tile to a view; elements out of range are not stored."""

    name = "tile.store"


class _StorePiece(_WriteView):
    """A store of a tile, or of one piece."""

    attributes = PIECE

    @classmethod
    def build(
        cls,
        tile: ir.Value,
        view: ir.Value,
        offsets: list[ir.Value],
        pieces: Pair | None = None,
        piece: Pair | None = None,
    ) -> ir.Operation:
        return cls.create([tile, view, offsets], pieces=pieces, piece=piece)

    @classmethod
    def check(cls, op: ir.Operation) -> None:
        super().check(op)
        _check_piece(op, tile_type(op.operands[0]))


class BufferStore(_StorePiece):
    """A store by wide buffer stores; the same conditions as :class:`BufferLoad`."""

    name = "tile.buffer_store"


class MaskedStore(_StorePiece):
    """A store element by element, for any strides and any part of the tile out of range."""

    name = "tile.masked_store"


def whole_tile(op: ir.Operation, piece: TileType) -> TileType:
    """The tile that an access takes its piece of: the piece itself if it is no part of a larger one."""
    pieces = get_ints(op, "pieces") or (1,) * piece.rank
    return replace(piece, shape=tuple(extent * count for extent, count in zip(piece.shape, pieces, strict=True)))


def _check_piece(op: ir.Operation, tile: TileType) -> None:
    pieces, piece = get_ints(op, "pieces"), get_ints(op, "piece")
    if pieces is None and piece is None:
        return
    good = pieces is not None and piece is not None and len(pieces) == len(piece) == tile.rank == TILE_RANK
    if not good or not all(0 <= at < count for at, count in zip(piece or (), pieces or (), strict=True)):
        raise fail(op, "only a 2-D tile has pieces", got=f"piece {piece} of {pieces} of a {tile}")


class LdsAlloc(Op):
    """LDS for ``buffers`` tiles of rows x columns, kept for the whole kernel."""

    name = "tile.lds_alloc"
    results = (result(LDS),)

    @classmethod
    def build(cls, buffers: int, rows: int, columns: int, dtype: DType) -> ir.Value:
        return cls.create([], [LdsType((buffers, rows, columns), dtype).mlir()]).result

    @classmethod
    def check(cls, op: ir.Operation) -> None:
        type_ = lds_type(op.results[0])
        if type_.rank != 3 or min(type_.shape) < 1:
            raise fail(op, "LDS is allocated as buffers x rows x columns", got=str(type_))


class LdsSlot(Op):
    """One buffer of an LDS allocation; the index must be in range."""

    name = "tile.lds_slot"
    operands = (operand("lds", LDS), operand("index", I32))
    results = (result(LDS),)

    @classmethod
    def build(cls, lds: ir.Value, index: ir.Value) -> ir.Value:
        whole = lds_type(lds)
        return cls.create([lds, index], [LdsType(whole.shape[1:], whole.dtype, whole.layout).mlir()]).result

    @classmethod
    def check(cls, op: ir.Operation) -> None:
        whole, part = lds_type(op.operands[0]), lds_type(op.results[0])
        if whole.rank != 3 or part != LdsType(whole.shape[1:], whole.dtype, whole.layout):
            raise fail(op, "an LDS slot is one buffer of its allocation", expected=str(whole), got=str(part))


class Copy(Op):
    """Starts an asynchronous copy of a tile from a view to an LDS slot. The view must be aligned and the tile's
    columns inside it; rows out of range give zero. With ``when`` false nothing is read and all of the slot becomes
    zero."""

    name = "tile.copy"
    operands = (
        operand("view", VIEW),
        operand("offsets", I32, "variadic"),
        operand("slot", LDS),
        operand("when", I1, "optional"),
    )
    results = (result(TOKEN),)
    memory: ClassVar[Memory] = "write"

    @classmethod
    def build(cls, view: ir.Value, offsets: list[ir.Value], slot: ir.Value, when: ir.Value | None = None) -> ir.Value:
        return cls.create([view, offsets, slot, when], [TokenType().mlir()]).result

    @classmethod
    def check(cls, op: ir.Operation) -> None:
        groups = cls.groups(op)
        view, slot = view_type(groups["view"][0]), lds_type(groups["slot"][0])
        if view.rank != 2 or len(groups["offsets"]) != 2 or slot.rank != 2:
            raise fail(op, "a copy moves a 2-D tile of a view to one LDS slot", got=f"{view}, {slot}")
        if view.dtype != slot.dtype:
            raise fail(op, "a copy can't convert elements", expected=view.dtype.name, got=f"LDS of {slot.dtype.name}")


class LdsRead(Op):
    """Reads a whole LDS slot into registers."""

    name = "tile.lds_read"
    operands = (operand("slot", LDS),)
    results = (result(TILE),)
    memory: ClassVar[Memory] = "read"

    @classmethod
    def build(cls, slot: ir.Value, layout: str | None = None) -> ir.Value:
        type_ = lds_type(slot)
        return cls.create([slot], [TileType(type_.shape, type_.dtype, layout).mlir()]).result

    @classmethod
    def check(cls, op: ir.Operation) -> None:
        _check_slot(op, lds_type(op.operands[0]), tile_type(op.results[0]))


class LdsReadPart(Op):
    """Reads one piece of every wavefront's part of an LDS slot: along ``axis`` the part is cut into ``parts`` equal
    pieces, of which ``part`` is read."""

    name = "tile.lds_read_part"
    operands = (operand("slot", LDS),)
    results = (result(TILE),)
    attributes = (attribute("axis", "int"), attribute("parts", "int"), attribute("part", "int"))
    memory: ClassVar[Memory] = "read"

    @classmethod
    def build(cls, slot: ir.Value, axis: int, parts: int, part: int, layout: str | None) -> ir.Value:
        type_ = lds_type(slot)
        shape = tuple(extent // parts if at == axis else extent for at, extent in enumerate(type_.shape))
        out = TileType(shape, type_.dtype, layout)
        return cls.create([slot], [out.mlir()], axis=axis, parts=parts, part=part).result

    @classmethod
    def check(cls, op: ir.Operation) -> None:
        slot, tile = lds_type(op.operands[0]), tile_type(op.results[0])
        axis, parts = get_int(op, "axis"), get_int(op, "parts") or 1
        shape = tuple(extent // parts if at == axis else extent for at, extent in enumerate(slot.shape))
        _check_slot(op, LdsType(shape, slot.dtype, slot.layout), tile)


class LdsWrite(Op):
    """Writes a register tile to an LDS slot."""

    name = "tile.lds_write"
    operands = (operand("tile", TILE), operand("slot", LDS))
    results = (result(TOKEN),)
    memory: ClassVar[Memory] = "write"

    @classmethod
    def build(cls, tile: ir.Value, slot: ir.Value) -> ir.Value:
        return cls.create([tile, slot], [TokenType().mlir()]).result

    @classmethod
    def check(cls, op: ir.Operation) -> None:
        _check_slot(op, lds_type(op.operands[1]), tile_type(op.operands[0]))


def _check_slot(op: ir.Operation, slot: LdsType, tile: TileType) -> None:
    if slot.rank != 2:
        raise fail(op, "name one buffer of the LDS allocation", got=str(slot), hint="index it: s[0]")
    extent(op, "the tile", slot.shape, tile.shape)
    if slot.dtype != tile.dtype:
        raise fail(op, "the tile's element type is not the LDS tile's", expected=slot.dtype.name, got=tile.dtype.name)
