"""Scalar arithmetic (the upstream ``arith`` dialect): Python numbers, wrapped or rounded to the op's type."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

from mlir import ir

from hkc.dialect.types import parse_type
from hkc.dtypes import DType
from hkc.errors import InternalError
from hkc.interp.tile_ops import rounded

Evaluator = Callable[..., Any]


class Fault(Exception):
    """The program did something undefined; the caller knows where."""


def _truncated(a: int, b: int) -> int:
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


def _checked(function: Callable[[int, int], int]) -> Callable[[int, int], int]:
    def apply(a: int, b: int) -> int:
        if b == 0:
            raise Fault("integer division by zero")
        return function(a, b)

    return apply


_INTEGER: dict[str, Callable[[int, int], int]] = {
    "arith.addi": operator.add,
    "arith.subi": operator.sub,
    "arith.muli": operator.mul,
    "arith.divsi": _checked(_truncated),
    "arith.floordivsi": _checked(operator.floordiv),
    "arith.ceildivsi": _checked(lambda a, b: -(-a // b)),
    "arith.remsi": _checked(lambda a, b: a - b * _truncated(a, b)),
    "arith.maxsi": max,
    "arith.minsi": min,
    "arith.andi": operator.and_,
    "arith.ori": operator.or_,
    "arith.xori": operator.xor,
    "arith.shli": operator.lshift,
    "arith.shrsi": operator.rshift,
}
# On the operands' bits read as unsigned numbers.
_UNSIGNED: dict[str, Callable[[int, int], int]] = {
    "arith.divui": _checked(operator.floordiv),
    "arith.ceildivui": _checked(lambda a, b: -(-a // b)),
    "arith.remui": _checked(operator.mod),
    "arith.maxui": max,
    "arith.minui": min,
    "arith.shrui": operator.rshift,
}


def _quotient(a: float, b: float) -> float:
    if b == 0:
        return math.nan if a == 0 or math.isnan(a) else math.copysign(math.inf, a) * math.copysign(1, b)
    return a / b


def _propagating(function: Callable[[float, float], float]) -> Callable[[float, float], float]:
    return lambda a, b: math.nan if math.isnan(a) or math.isnan(b) else function(a, b)


_FLOAT: dict[str, Callable[..., float]] = {
    "arith.addf": operator.add,
    "arith.subf": operator.sub,
    "arith.mulf": operator.mul,
    "arith.divf": _quotient,
    "arith.maximumf": _propagating(max),
    "arith.minimumf": _propagating(min),
    "arith.negf": operator.neg,
}
_COMPARE: tuple[Callable[[Any, Any], bool], ...] = (
    *(operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge),
    *(operator.lt, operator.le, operator.gt, operator.ge),
)
_FIRST_UNSIGNED = 6  # of arith.cmpi's predicates
# arith.cmpf's ordered predicates 1-6 by number, then the same unordered 8-13.
_ORDERED = (operator.eq, operator.gt, operator.ge, operator.lt, operator.le, operator.ne)


def make_evaluator(op: ir.Operation) -> Evaluator | None:
    """The function that computes the op's result from its operands, None for an op of another dialect.

    Raises InternalError for an arith op that neither the front end nor a pass makes.
    """
    name = op.name
    if not name.startswith("arith."):
        return None
    if name == "arith.constant":
        value = _constant(op)
        return lambda: value
    if name == "arith.select":
        return lambda condition, left, right: left if condition else right
    if name in ("arith.cmpi", "arith.cmpf"):
        return _comparison(op)
    result = parse_type(op.results[0].type) if str(op.results[0].type) != "index" else None
    if name in _INTEGER:
        function = _INTEGER[name]
        return lambda *values: wrapped(function(*values), result)
    if name in _UNSIGNED:
        unsigned, bits = _UNSIGNED[name], _bits(op.operands[0])
        return lambda a, b: wrapped(unsigned(a % (1 << bits), b % (1 << bits)), result)
    if name in _FLOAT and isinstance(result, DType):
        arithmetic, type_ = _FLOAT[name], result
        return lambda *values: rounded(arithmetic(*values), type_)
    return _conversion(op, result)


def _conversion(op: ir.Operation, result: Any) -> Evaluator:
    bits = _bits(op.operands[0])
    conversions: dict[str, Evaluator] = {
        # An i1 is a bool here: true extends to -1 by its sign.
        "arith.extsi": lambda a: -int(a) if bits == 1 else a,
        "arith.extui": lambda a: int(a) % (1 << bits),
        "arith.trunci": lambda a: wrapped(a, result),
        "arith.index_cast": lambda a: wrapped(a, result),
        "arith.sitofp": lambda a: rounded(float(a), result),
        "arith.fptosi": lambda a: wrapped(math.trunc(a), result) if math.isfinite(a) else 0,
        "arith.extf": lambda a: a,
        "arith.truncf": lambda a: rounded(a, result),
    }
    if op.name not in conversions:
        raise InternalError(f"the interpreter does not know {op.name}")
    return conversions[op.name]


def wrapped(value: int, type_: Any) -> int | bool:
    """Two's complement wrap-around; an index (no type) is not bounded."""
    if not isinstance(type_, DType):
        return value
    if type_.kind == "bool":
        return bool(value & 1)
    half = 1 << (type_.bits - 1)
    return (int(value) + half) % (2 * half) - half


def _bits(value: ir.Value) -> int:
    type_ = value.type
    return type_.width if isinstance(type_, ir.IntegerType) else 64


def _constant(op: ir.Operation) -> Any:
    attribute, type_ = op.attributes["value"], op.results[0].type
    if isinstance(attribute, ir.FloatAttr):
        return attribute.value
    value = ir.IntegerAttr(attribute).value
    return bool(value) if isinstance(type_, ir.IntegerType) and type_.width == 1 else value


def _comparison(op: ir.Operation) -> Evaluator:
    predicate = ir.IntegerAttr(op.attributes["predicate"]).value
    if op.name == "arith.cmpi":
        compare, bits = _COMPARE[predicate], _bits(op.operands[0])
        if predicate < _FIRST_UNSIGNED:
            return lambda a, b: compare(a, b)
        return lambda a, b: compare(a % (1 << bits), b % (1 << bits))

    def floats(a: float, b: float) -> bool:
        unordered = math.isnan(a) or math.isnan(b)
        if predicate in (0, 15):
            return predicate == 15
        if predicate in (7, 14):
            return unordered == (predicate == 14)
        ordered = predicate < 7
        return not ordered if unordered else bool(_ORDERED[predicate - (1 if ordered else 8)](a, b))

    return floats
