"""Ops between tiles and vectors (1-D tiles): reductions, broadcasts, index tiles.

``axis`` of a reduction is the axis that disappears; of a broadcast, the axis of the result that the vector runs along.
"""

from __future__ import annotations

from mlir import ir

from hkc.dialect.irdl import TILE, Op, attribute, get_int, get_str, operand, result
from hkc.dialect.ops.checks import extent, fail
from hkc.dialect.types import TileType, tile_type
from hkc.dtypes import DTYPES

REDUCTIONS = ("sum", "prod", "max", "min", "fmax", "fmin")


def _check_axis(op: ir.Operation, rank: int) -> int:
    axis = get_int(op, "axis")
    if axis is None or not 0 <= axis < rank:
        raise fail(op, "there is no such axis", expected=" or ".join(map(str, range(rank))), got=str(axis))
    return axis


def _check_reduction(op: ir.Operation) -> tuple[TileType, int]:
    source, out = tile_type(op.operands[0]), tile_type(op.results[0])
    if get_str(op, "kind") not in REDUCTIONS:
        raise fail(op, "unknown reduction", expected=", ".join(REDUCTIONS), got=get_str(op, "kind"))
    if source.rank != 2:
        raise fail(op, "only a 2-D tile is reduced along an axis", got=str(source))
    if (get_str(op, "kind") or "").startswith("f") and not source.dtype.is_float:
        raise fail(op, "NaN is skipped in floats only", expected="a float tile", got=str(source))
    if source.dtype != out.dtype or source.dtype == DTYPES["i1"]:
        raise fail(op, "a reduction keeps a number type", expected=source.dtype.name, got=out.dtype.name)
    return source, _check_axis(op, 2)


class Reduce(Op):
    """The sum, product, maximum or minimum along ``axis``: one element for each row (axis 1) or column (axis 0).

    Sums and products run in any order, of 8- and 16-bit floats in f32; an extreme is NaN if any element is, but fmax
    and fmin skip NaN.
    """

    name = "tile.reduce"
    operands = (operand("source", TILE),)
    results = (result(TILE),)
    attributes = (attribute("kind", "str"), attribute("axis", "int"))

    @classmethod
    def build(cls, source: ir.Value, kind: str, axis: int, layout: str | None = None) -> ir.Value:
        type_ = tile_type(source)
        out = TileType((type_.shape[1 - axis],), type_.dtype, layout)
        return cls.create([source], [out.mlir()], kind=kind, axis=axis).result

    @classmethod
    def check(cls, op: ir.Operation) -> None:
        source, axis = _check_reduction(op)
        extent(op, "the reduced tile", (source.shape[1 - axis],), tile_type(op.results[0]).shape)


class ReduceParts(Op):
    """Like :class:`Reduce` of each of the equal parts that ``axis`` is cut into: row p of the result is part p's."""

    name = "tile.reduce_parts"
    operands = (operand("source", TILE),)
    results = (result(TILE),)
    attributes = (attribute("kind", "str"), attribute("axis", "int"))

    @classmethod
    def build(cls, source: ir.Value, kind: str, axis: int, parts: int, layout: str | None = None) -> ir.Value:
        type_ = tile_type(source)
        out = TileType((parts, type_.shape[1 - axis]), type_.dtype, layout)
        return cls.create([source], [out.mlir()], kind=kind, axis=axis).result

    @classmethod
    def check(cls, op: ir.Operation) -> None:
        source, axis = _check_reduction(op)
        out = tile_type(op.results[0])
        if out.rank != 2 or source.shape[axis] % out.shape[0]:
            raise fail(op, "the parts don't divide the axis", expected=f"parts of {source.shape[axis]}", got=str(out))
        extent(op, "a reduced part", (source.shape[1 - axis],), out.shape[1:])


class Broadcast(Op):
    """A vector along ``axis`` of a 2-D tile, the same in each place of the other axis: a column of M elements
    (axis 0) as M x N, a row of N elements (axis 1) as M x N."""

    name = "tile.broadcast"
    operands = (operand("source", TILE),)
    results = (result(TILE),)
    attributes = (attribute("axis", "int"),)

    @classmethod
    def build(cls, source: ir.Value, axis: int, shape: tuple[int, int], layout: str | None = None) -> ir.Value:
        out = TileType(shape, tile_type(source).dtype, layout)
        return cls.create([source], [out.mlir()], axis=axis).result

    @classmethod
    def check(cls, op: ir.Operation) -> None:
        source, out = tile_type(op.operands[0]), tile_type(op.results[0])
        if source.rank != 1 or out.rank != 2:
            raise fail(op, "a broadcast makes a 2-D tile of a vector", got=f"{source} to {out}")
        axis = _check_axis(op, 2)
        if (source.shape[0], source.dtype) != (out.shape[axis], out.dtype):
            raise fail(
                op, "the vector does not fit the tile", expected=f"{out.shape[axis]} of {out.dtype}", got=str(source)
            )


class Rescale(Op):
    """A float tile times a column of factors, one a row. Wavefronts whose factors are all 1 skip it."""

    name = "tile.rescale"
    operands = (operand("source", TILE), operand("factors", TILE))
    results = (result(TILE),)

    @classmethod
    def build(cls, source: ir.Value, factors: ir.Value) -> ir.Value:
        return cls.create([source, factors], [source.type]).result

    @classmethod
    def check(cls, op: ir.Operation) -> None:
        source, factors = (tile_type(v) for v in op.operands)
        if source.rank != 2 or factors.rank != 1 or not source.dtype.is_float or source.dtype != factors.dtype:
            expected = "a 2-D float tile and a 1-D one of its type"
            raise fail(op, "a rescale takes one factor a row", expected=expected, got=f"{source}, {factors}")
        extent(op, "the column of factors", source.shape[:1], factors.shape)


class Index(Op):
    """Each element is its own index along ``axis``, an i32."""

    name = "tile.index"
    results = (result(TILE),)
    attributes = (attribute("axis", "int"),)

    @classmethod
    def build(cls, axis: int, shape: tuple[int, ...], layout: str | None = None) -> ir.Value:
        return cls.create([], [TileType(shape, DTYPES["i32"], layout).mlir()], axis=axis).result

    @classmethod
    def check(cls, op: ir.Operation) -> None:
        out = tile_type(op.results[0])
        if out.dtype != DTYPES["i32"]:
            raise fail(op, "indices are i32", got=out.dtype.name)
        _check_axis(op, out.rank)
