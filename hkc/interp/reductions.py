"""Reductions, broadcasts and index tiles, with the bounds of sums in any order."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from mlir import ir

from hkc.dialect.irdl import get_int, get_str
from hkc.dialect.types import tile_type
from hkc.dtypes import DTYPES, DType
from hkc.interp.tile_ops import BINARY
from hkc.interp.values import Tile, settle
from hkc.numerics import Floats, round_to, wrap

# Rounding and smallest normal number of f32, in which narrow floats are summed (IEEE 754 binary32); of f64.
_ROUNDING = {"f32": 2.0**-24, "f64": 2.0**-53}
_TINY = 2.0**-126


def _wide(dtype: DType) -> DType:
    return DTYPES["f64"] if dtype.name == "f64" else DTYPES["f32"]


def _growth(terms: int, wide: DType) -> float:
    """Relative error of ``terms`` roundings in a row: Higham, Accuracy and Stability, lemma 3.1."""
    rounding = terms * _ROUNDING[wide.name]
    return rounding / (1 - rounding)


def _sum(value: Floats, error: Floats, axis: int, wide: DType) -> tuple[Floats, Floats]:
    total, size = value.sum(axis), (np.abs(value) + error).sum(axis)
    reach = error.sum(axis) + _growth(max(value.shape[axis] - 1, 0), wide) * size
    # Some order may overflow on the way.
    return total, np.where(np.isfinite(total) & np.isinf(round_to(size, wide)), np.inf, reach)


def _product(value: Floats, error: Floats, axis: int, wide: DType) -> tuple[Floats, Floats]:
    total, size = value.prod(axis), np.abs(value)
    most = (size + error).prod(axis)
    reach = most - size.prod(axis) + _growth(max(value.shape[axis] - 1, 0), wide) * most
    above, below = np.maximum(size + error, 1).prod(axis), np.where(size > 0, np.minimum(size, 1), 1).prod(axis)
    unsure = np.isfinite(total) & (np.isinf(round_to(above, wide)) | ((wide.name == "f32") & (below < _TINY)))
    return total, np.where(unsure, np.inf, reach)


def _extreme(function: Callable[..., Floats]) -> Callable[..., tuple[Floats, Floats]]:
    def apply(value: Floats, error: Floats, axis: int, _: DType) -> tuple[Floats, Floats]:
        best = function(value, axis)
        reach = np.maximum(function(value + error, axis) - best, best - function(value - error, axis))
        return best, np.nan_to_num(np.abs(reach), nan=0.0, posinf=np.inf)

    return apply


_FLOAT: dict[str, Callable[..., tuple[Floats, Floats]]] = {
    "sum": _sum,
    "prod": _product,
    "max": _extreme(np.max),
    "min": _extreme(np.min),
    "fmax": _extreme(np.fmax.reduce),
    "fmin": _extreme(np.fmin.reduce),
}
_INT: dict[str, Callable[..., np.ndarray]] = {"sum": np.sum, "prod": np.prod, "max": np.max, "min": np.min}


def _reduced(tile: Tile, kind: str, axis: int) -> Tile:
    if not tile.dtype.is_float:
        error = None if tile.error is None else np.broadcast_to(tile.error, tile.value.shape).sum(axis)
        return Tile(wrap(_INT[kind](tile.value, axis), tile.dtype), tile.dtype, error)
    with np.errstate(invalid="ignore", over="ignore", under="ignore"):
        bound = np.broadcast_to(tile.bound, tile.value.shape)
        value, error = _FLOAT[kind](tile.value, bound, axis, _wide(tile.dtype))
        if kind not in ("sum", "prod"):
            return Tile(value, tile.dtype, error if error.any() else None)
        return settle(value, np.where(np.isnan(value), 0.0, error), tile.dtype)


def reduce(op: ir.Operation) -> Callable[[Tile], Tile]:
    """tile.reduce"""
    kind, axis = get_str(op, "kind") or "", get_int(op, "axis") or 0
    return lambda tile: _reduced(tile, kind, axis)


def reduce_parts(op: ir.Operation) -> Callable[[Tile], Tile]:
    """tile.reduce_parts"""
    kind, axis, parts = get_str(op, "kind") or "", get_int(op, "axis") or 0, tile_type(op.results[0]).shape[0]

    def apply(tile: Tile) -> Tile:
        values = np.split(tile.value, parts, axis)
        errors = np.split(np.broadcast_to(tile.bound, tile.value.shape), parts, axis)
        rows = [_reduced(Tile(v, tile.dtype, e), kind, axis) for v, e in zip(values, errors, strict=True)]
        error = np.stack([np.broadcast_to(row.bound, row.value.shape) for row in rows])
        return Tile(np.stack([row.value for row in rows]), tile.dtype, error if error.any() else None)

    return apply


def broadcast(op: ir.Operation) -> Callable[[Tile], Tile]:
    """tile.broadcast"""
    axis, shape = get_int(op, "axis") or 0, tile_type(op.results[0]).shape

    def spread(values: Floats) -> Floats:
        return np.broadcast_to(values[:, None] if axis == 0 else values, shape)

    return lambda tile: Tile(spread(tile.value), tile.dtype, None if tile.error is None else spread(tile.error))


def rescale(source: Tile, factors: Tile) -> Tile:
    """Each row times its factor."""
    error = None if factors.error is None else factors.error[:, None]
    return BINARY["tile.mul"](source, Tile(factors.value[:, None], factors.dtype, error))


def index(op: ir.Operation) -> Callable[[], Tile]:
    """tile.index"""
    type_ = tile_type(op.results[0])
    values = np.indices(type_.shape, np.int64)[get_int(op, "axis") or 0]
    return lambda: Tile(values, type_.dtype)
