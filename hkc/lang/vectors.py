"""Vectors (1-D tiles) and tiles: reductions, broadcasts, index tiles."""

from __future__ import annotations

from typing import Any

from hkc.dialect import ops
from hkc.errors import HkcError
from hkc.lang.emit import emit, here
from hkc.lang.folding import I1
from hkc.lang.values import Spread, Tile, describe_type


def reduce(kind: str, axis: int, value: Any, /) -> Tile:
    """The sum, product, maximum or minimum along an axis of a 2-D tile."""
    name = f"{'row' if axis else 'col'}_{kind}"
    if not isinstance(value, Tile) or value.type.rank != 2:
        raise HkcError(f"{name} of {describe_type(value)}", here(), expected="a 2-D tile")
    if kind in ("fmax", "fmin") and not value.dtype.is_float:
        raise HkcError(
            f"{name} of {describe_type(value)}", here(), expected="floats", hint=f"use {name.replace('_f', '_')}"
        )
    if value.dtype == I1:
        raise HkcError(f"{name} of {describe_type(value)}", here(), hint="where(c, 1, 0) makes numbers of conditions")
    return Tile(emit(ops.Reduce.build, value.ir, kind, axis))


def extreme_index(kind: str, axis: int, value: Any, /) -> Tile:
    """Where the largest or smallest element of each row (axis 1) or column is: the first of equal ones, the first NaN
    if there is one."""
    from hkc.lang.operations import binary, where

    extreme = reduce(kind, axis, value)
    places = Tile(emit(ops.Index.build, axis, value.shape))
    wanted = binary("==", value, spread(extreme, 1 - axis))
    candidates = where(wanted, places, value.shape[axis])
    if value.dtype.is_float:
        candidates = where(binary("!=", value, value), places, candidates)
    return reduce("min", axis, candidates)


def spread(value: Any, axis: int, *extent: Any) -> Any:
    """A vector as the columns (axis 0) or rows (axis 1) of a tile; without an extent, of the tile that it meets."""
    name = "row" if axis else "col"
    if not isinstance(value, Tile) or value.type.rank != 1:
        raise HkcError(f"{name} of {describe_type(value)}", here(), expected="a 1-D tile")
    if not extent:
        return Spread(value, axis)
    return fill(value, axis, _extent(extent[0]))


def _extent(value: Any) -> int:
    from hkc.lang.memory import extent

    return extent(value, "the tile")


def fill(vector: Tile, axis: int, other: int) -> Tile:
    """A 2-D tile with the vector along ``axis`` and ``other`` places along the other axis."""
    shape = (vector.shape[0], other) if axis == 0 else (other, vector.shape[0])
    return Tile(emit(ops.Broadcast.build, vector.ir, axis, shape))


def rescale(value: Any, factors: Any, /) -> Tile:
    """``value * col(factors)``; wavefronts whose factors are all 1 skip it."""
    if not isinstance(value, Tile) or value.type.rank != 2 or not value.dtype.is_float:
        raise HkcError(f"rescale of {describe_type(value)}", here(), expected="a 2-D float tile")
    if not isinstance(factors, Tile) or factors.type.rank != 1 or factors.dtype != value.dtype:
        expected = f"a 1-D {value.dtype.name} tile of factors"
        raise HkcError(f"rescale by {describe_type(factors)}", here(), expected=expected)
    if factors.shape[0] != value.shape[0]:
        raise HkcError(
            "rescale takes one factor a row", here(), expected=f"{value.shape[0]} factors", got=f"{factors.shape[0]}"
        )
    return Tile(emit(ops.Rescale.build, value.ir, factors.ir))


def index(axis: int, *shape: Any) -> Tile:
    """A tile of its own indices along ``axis``."""
    return Tile(emit(ops.Index.build, axis, tuple(_extent(e) for e in shape)))


def meet(values: list[Any]) -> list[Any]:
    """Operands of one element-wise op: vectors beside 2-D tiles become tiles. A plain vector is a row, as in NumPy.

    Raises HkcError where a vector's length is not the tile's extent.
    """
    tiles = [v for v in values if isinstance(v, Tile) and v.type.rank == 2]
    spreads = [v for v in values if isinstance(v, Spread)]
    if not tiles and not spreads:
        return values
    rows = [t.shape[0] for t in tiles] + [v.vector.shape[0] for v in spreads if v.axis == 0]
    columns = [t.shape[1] for t in tiles] + [v.vector.shape[0] for v in spreads if v.axis == 1]
    columns += [v.shape[0] for v in values if isinstance(v, Tile) and v.type.rank == 1 and not tiles]
    if not rows or not columns:
        name, axis = ("col", "columns") if spreads[0].axis == 0 else ("row", "rows")
        raise HkcError(f"how many {axis} has this tile?", here(), hint=f"give their number: {name}(v, N)")
    return [_fitted(v, (rows[0], columns[0])) for v in values]


def _fitted(value: Any, shape: tuple[int, int]) -> Any:
    if isinstance(value, Spread):
        vector, axis = value.vector, value.axis
    elif isinstance(value, Tile) and value.type.rank == 1:
        vector, axis = value, 1
    else:
        return value
    if vector.shape[0] != shape[axis]:
        what = "row" if axis else "column"
        raise HkcError(
            f"a {what} of {vector.shape[0]} does not fit a tile of {shape[0]}x{shape[1]}",
            here(),
            expected=f"{shape[axis]} elements",
            got=f"{vector.shape[0]}",
            hint="a vector of rows beside a tile: col(v)" if vector.shape[0] == shape[1 - axis] else None,
        )
    return fill(vector, axis, shape[1 - axis])
