"""Pieces of every wavefront's part of a tile, as schedules cut them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from mlir import ir

from hkc.dialect.irdl import get_int, get_ints
from hkc.dialect.ops.memory import whole_tile
from hkc.dialect.types import TileType, tile_type
from hkc.interp.values import Lds, Tile
from hkc.passes.layouts import parse_layout

Indices = tuple[np.ndarray, np.ndarray]


def _axis(extent: int, waves: int, pieces: int, piece: int) -> np.ndarray:
    """Positions along an axis that ``waves`` wavefronts split: of each one's part, piece ``piece`` of ``pieces``."""
    return np.arange(extent).reshape(waves, pieces, -1)[:, piece].ravel()


def _indices(shape: tuple[int, ...], layout: str, pieces: tuple[int, ...], piece: tuple[int, ...]) -> Indices:
    splits = parse_layout(layout).split
    rows, columns = (_axis(shape[a], splits[a].count, pieces[a], piece[a]) for a in (0, 1))
    down, across = np.ix_(rows, columns)
    return down, across


def places(op: ir.Operation, type_: TileType) -> Indices | None:
    """Where the piece that a masked access takes is in the whole tile; None if it takes all of it."""
    pieces = get_ints(op, "pieces")
    if pieces is None:
        return None
    whole = whole_tile(op, type_)
    return _indices(whole.shape, whole.layout or "", pieces, get_ints(op, "piece") or ())


def cut(op: ir.Operation, type_: TileType) -> Callable[[Tile], Tile]:
    """The piece of a whole tile that a masked load gives."""
    at = places(op, type_)
    if at is None:
        return lambda tile: tile
    return lambda tile: Tile(tile.value[at], tile.dtype, None if tile.error is None else tile.error[at])


def part(op: ir.Operation) -> Callable[[Tile], Tile]:
    """tile.part"""
    type_ = tile_type(op.operands[0])
    at = _indices(type_.shape, type_.layout or "", get_ints(op, "pieces") or (), get_ints(op, "piece") or ())
    return lambda tile: Tile(tile.value[at], tile.dtype, None if tile.error is None else tile.error[at])


def join(op: ir.Operation) -> Callable[..., Tile]:
    """tile.join"""
    type_ = tile_type(op.results[0])
    rows, columns = get_ints(op, "pieces") or (1, 1)
    places = [
        _indices(type_.shape, type_.layout or "", (rows, columns), (index // columns, index % columns))
        for index in range(rows * columns)
    ]

    def apply(*tiles: Tile) -> Tile:
        value: Any = np.zeros(type_.shape, tiles[0].value.dtype)
        error = np.zeros(type_.shape)
        for at, tile in zip(places, tiles, strict=True):
            value[at], error[at] = tile.value, tile.bound
        return Tile(value, type_.dtype, error if error.any() else None)

    return apply


def lds_read_part(op: ir.Operation) -> Callable[[Lds], Tile]:
    """tile.lds_read_part"""
    layout = tile_type(op.results[0]).layout or ""
    axis, parts, which = (get_int(op, name) or 0 for name in ("axis", "parts", "part"))
    pieces = tuple(parts if a == axis else 1 for a in (0, 1))
    piece = tuple(which if a == axis else 0 for a in (0, 1))

    def apply(slot: Lds) -> Tile:
        whole = slot.read()
        at = _indices(whole.value.shape, layout, pieces, piece)
        return Tile(whole.value[at], whole.dtype, None if whole.error is None else whole.error[at])

    return apply
