"""Scalar arithmetic while building IR, folding what is known.

A scalar is a Python int or an MLIR value; every function takes either and creates an op only when it must.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from mlir import ir
from mlir.dialects import arith

Scalar: TypeAlias = ir.Value | int
Condition: TypeAlias = ir.Value | bool


def i1() -> ir.Type:
    return ir.IntegerType.get_signless(1)


def i32() -> ir.Type:
    return ir.IntegerType.get_signless(32)


def i64() -> ir.Type:
    return ir.IntegerType.get_signless(64)


def constant(value: int | float, type_: ir.Type) -> ir.Value:
    """A constant of an integer or float type."""
    if isinstance(type_, ir.IntegerType):
        return arith.ConstantOp(type_, ir.IntegerAttr.get(type_, int(value))).result
    return arith.ConstantOp(type_, ir.FloatAttr.get(type_, float(value))).result


def value(scalar: Scalar, type_: ir.Type | None = None) -> ir.Value:
    """The scalar as an MLIR value (ints become constants of ``type_``, i32 by default)."""
    return scalar if isinstance(scalar, ir.Value) else constant(scalar, type_ or i32())


def _pair(a: Scalar, b: Scalar) -> tuple[ir.Value, ir.Value]:
    type_ = a.type if isinstance(a, ir.Value) else b.type if isinstance(b, ir.Value) else i32()
    return value(a, type_), value(b, type_)


def add(a: Scalar, b: Scalar) -> Scalar:
    if isinstance(a, int) and isinstance(b, int):
        return a + b
    if isinstance(a, int) and a == 0:
        return b
    if isinstance(b, int) and b == 0:
        return a
    return arith.AddIOp(*_pair(a, b)).result


def sub(a: Scalar, b: Scalar) -> Scalar:
    if isinstance(a, int) and isinstance(b, int):
        return a - b
    if isinstance(b, int) and b == 0:
        return a
    return arith.SubIOp(*_pair(a, b)).result


def mul(a: Scalar, b: Scalar) -> Scalar:
    if isinstance(a, int) and isinstance(b, int):
        return a * b
    for known, other in ((a, b), (b, a)):
        if isinstance(known, int) and known in (0, 1):
            return other if known else 0
    return arith.MulIOp(*_pair(a, b)).result


def div(a: Scalar, b: int) -> Scalar:
    """Unsigned quotient by a positive constant."""
    if isinstance(a, int):
        return a // b
    return a if b == 1 else arith.DivUIOp(*_pair(a, b)).result


def mod(a: Scalar, b: int) -> Scalar:
    """Unsigned remainder by a positive constant."""
    if isinstance(a, int):
        return a % b
    return 0 if b == 1 else arith.RemUIOp(*_pair(a, b)).result


def bits(a: Scalar, low: int, count: int) -> Scalar:
    """``count`` bits of ``a`` from bit ``low`` on."""
    mask = (1 << count) - 1
    if isinstance(a, int):
        return a >> low & mask
    shifted = arith.ShRUIOp(*_pair(a, low)).result if low else a
    return arith.AndIOp(*_pair(shifted, mask)).result


def xor(a: Scalar, b: Scalar) -> Scalar:
    if isinstance(a, int) and isinstance(b, int):
        return a ^ b
    if a == 0:
        return b
    if b == 0:
        return a
    return arith.XOrIOp(*_pair(a, b)).result


def smin(a: Scalar, b: Scalar) -> Scalar:
    return min(a, b) if isinstance(a, int) and isinstance(b, int) else arith.MinSIOp(*_pair(a, b)).result


def smax(a: Scalar, b: Scalar) -> Scalar:
    return max(a, b) if isinstance(a, int) and isinstance(b, int) else arith.MaxSIOp(*_pair(a, b)).result


_FOLDED: dict[str, Callable[[int, int], bool]] = {
    "eq": lambda a, b: a == b,
    "sle": lambda a, b: a <= b,
    "slt": lambda a, b: a < b,
    "sge": lambda a, b: a >= b,
}


def holds(predicate: str, a: Scalar, b: Scalar) -> Condition:
    """Like :func:`compare`, but known where both sides are (eq sle slt sge)."""
    if isinstance(a, int) and isinstance(b, int):
        return _FOLDED[predicate](a, b)
    return compare(predicate, a, b)


def known(a: ir.Value) -> Scalar:
    """The int that a value is, if it is a constant."""
    owner = None if isinstance(a, ir.BlockArgument) else a.owner
    if owner is None or owner.name != "arith.constant":
        return a
    attribute = owner.attributes["value"]
    return attribute.value if isinstance(attribute, ir.IntegerAttr) else a


def compare(predicate: str, a: Scalar, b: Scalar) -> ir.Value:
    """A signed or unsigned comparison: one of eq ne slt sle sgt sge ult ule ugt uge."""
    return arith.CmpIOp(getattr(arith.CmpIPredicate, predicate), *_pair(a, b)).result


def both(conditions: Sequence[Condition]) -> ir.Value:
    """The conjunction; true when there is none."""
    if any(condition is False for condition in conditions):
        return constant(0, i1())
    whole: ir.Value | None = None
    for condition in conditions:
        if condition is not True:
            whole = condition if whole is None else arith.AndIOp(whole, condition).result
    return constant(1, i1()) if whole is None else whole


def select(condition: ir.Value, a: Scalar, b: Scalar) -> ir.Value:
    return arith.SelectOp(condition, *_pair(a, b)).result


def wide(a: Scalar) -> Scalar:
    """An i32 as i64 (sign extended); an int stays one."""
    return a if isinstance(a, int) else arith.ExtSIOp(i64(), a).result


def narrow(a: Scalar) -> Scalar:
    """The low 32 bits of an i64; an int stays one."""
    return a if isinstance(a, int) else arith.TruncIOp(i32(), a).result
