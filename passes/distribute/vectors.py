"""Small vector operations."""

from __future__ import annotations

from collections.abc import Sequence

from mlir import ir
from mlir.dialects import vector


def length(value: ir.Value) -> int:
    return ir.VectorType(value.type).shape[0]


def element_type(value: ir.Value) -> ir.Type:
    return ir.VectorType(value.type).element_type


def part(value: ir.Value, first: int, count: int) -> ir.Value:
    """``count`` items from ``first`` on."""
    if first == 0 and count == length(value):
        return value
    type_ = ir.VectorType.get([count], element_type(value))
    return vector.ExtractStridedSliceOp(type_, value, [first], [count], [1]).result


def pick(value: ir.Value, places: Sequence[int]) -> ir.Value:
    """A vector of the items at ``places``."""
    first = places[0]
    if list(places) == list(range(first, first + len(places))):
        return part(value, first, len(places))
    return vector.ShuffleOp(value, value, list(places)).result


def item(value: ir.Value, index: int) -> ir.Value:
    """One item as a scalar."""
    return vector.ExtractOp(value, [], [index]).result


def gather(items: Sequence[ir.Value]) -> ir.Value:
    """Scalars as a vector."""
    type_ = ir.VectorType.get([len(items)], items[0].type)
    return vector.FromElementsOp(type_, items).result


def join(pieces: Sequence[ir.Value]) -> ir.Value:
    """Vectors one after the other (all of one length)."""
    if len(pieces) == 1:
        return pieces[0]
    if length(pieces[0]) == 1:
        return gather([item(piece, 0) for piece in pieces])
    total = sum(length(piece) for piece in pieces)
    type_ = ir.VectorType.get([total], element_type(pieces[0]))
    whole = splat_zero(type_)
    at = 0
    for piece in pieces:
        whole = vector.InsertStridedSliceOp(piece, whole, [at], [1]).result
        at += length(piece)
    return whole


def splat_zero(type_: ir.Type) -> ir.Value:
    """A vector of zeros."""
    from mlir.dialects import arith

    element = ir.VectorType(type_).element_type
    zero = ir.IntegerAttr.get(element, 0) if isinstance(element, ir.IntegerType) else ir.FloatAttr.get(element, 0.0)
    return arith.ConstantOp(type_, ir.DenseElementsAttr.get_splat(type_, zero)).result


def splat(scalar: ir.Value, count: int) -> ir.Value:
    """A vector with ``count`` times the scalar."""
    return vector.BroadcastOp(ir.VectorType.get([count], scalar.type), scalar).result
