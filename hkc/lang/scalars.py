"""Scalars at run time: `arith` ops with Python's meaning."""

from __future__ import annotations

from typing import Any

from mlir import ir

from hkc.dtypes import DType
from hkc.errors import HkcError
from hkc.lang import folding
from hkc.lang.emit import emit, here
from hkc.lang.folding import F32, I1, I32, Typed
from hkc.lang.values import Scalar, describe_type

SCALAR_TYPES = ("i32", "i64", "f32")

# operator: (integer op, float op)
_OPS = {
    "+": ("addi", "addf"),
    "-": ("subi", "subf"),
    "*": ("muli", "mulf"),
    "/": (None, "divf"),
    "//": ("floordivsi", None),
    "cdiv": ("ceildivsi", None),
    "min": ("minsi", "minimumf"),
    "max": ("maxsi", "maximumf"),
}
# arith.cmpi and arith.cmpf predicates: MLIR ArithBase.td, CmpIPredicateAttr and CmpFPredicateAttr.
INT_PREDICATES = {"==": 0, "!=": 1, "<": 2, "<=": 3, ">": 4, ">=": 5}
FLOAT_PREDICATES = {"==": 1, ">": 2, ">=": 3, "<": 4, "<=": 5, "!=": 13}


def create(name: str, operands: list[ir.Value], result: ir.Type, **attributes: ir.Attribute) -> Scalar:
    """One op with one scalar result."""
    op = emit(ir.Operation.create, name, results=[result], operands=operands, attributes=attributes)
    return Scalar(op.result)


def constant(value: object, dtype: DType, name: str | None = None) -> Scalar:
    """An ``arith.constant``, named when it is the value of a variable.

    Raises HkcError when the literal does not fit the type.
    """
    typed = value if isinstance(value, Typed) else folding.make_typed(value, dtype)
    if typed.dtype != dtype:
        raise HkcError(f"{folding.describe(value)} where {dtype.name} is needed", here())
    type_ = dtype.mlir_type()
    attribute: ir.Attribute
    if dtype.is_float:
        attribute = ir.FloatAttr.get(type_, typed.value)
    else:
        # An i1 attribute holds -1 for true.
        attribute = ir.IntegerAttr.get(type_, -int(typed.value) if dtype == I1 else int(typed.value))
    made = create("arith.constant", [], type_, value=attribute)
    return made.named(name) if name else made


def natural_dtype(value: object) -> DType | None:
    """The element type of a scalar; of a literal the one that it takes by itself. None for all else."""
    if isinstance(value, Scalar):
        return value.type
    if isinstance(value, Typed):
        return value.dtype
    if isinstance(value, bool):
        return I1
    if isinstance(value, int):
        return I32
    return F32 if isinstance(value, float) else None


def materialize(value: object, dtype: DType | None = None, name: str | None = None) -> Scalar:
    """A scalar in IR: ``value`` itself, or a constant for a literal."""
    if isinstance(value, Scalar):
        return value
    natural = natural_dtype(value)
    if natural is None:
        raise HkcError(f"{describe_type(value)} is no scalar", here(), expected="a number")
    return constant(value, dtype or natural, name)


def unify(left: object, right: object, what: str) -> tuple[Scalar, Scalar]:
    """Both as scalars of one type; a literal takes the type of the other.

    Raises HkcError when both have types and they differ.
    """
    one, two = common_dtype(left, right, what)
    return materialize(left, one), materialize(right, two)


def common_dtype(left: object, right: object, what: str) -> tuple[DType, DType]:
    """The types that both take, equal ones."""
    kinds = [natural_dtype(v) for v in (left, right)]
    for value, kind in zip((left, right), kinds, strict=True):
        if kind is None:
            raise HkcError(f"{what} of {describe_type(value)}", here(), expected="a number")
    a, b = kinds
    assert a is not None and b is not None
    fixed = [isinstance(v, Scalar | Typed) for v in (left, right)]
    if a == b or (fixed[0] and _adapts(right, a, fixed[1])):
        return a, a
    if fixed[1] and _adapts(left, b, fixed[0]):
        return b, b
    raise HkcError(
        f"{what} of {a.name} and {b.name}",
        here(),
        expected="two values of one type",
        hint=f"convert one: x.to({max(a, b, key=lambda d: (d.is_float, d.bits)).name})",
    )


def _adapts(literal: object, dtype: DType, fixed: bool) -> bool:
    if fixed or isinstance(literal, bool):
        return False
    return dtype.kind == "float" or (dtype.kind == "int" and isinstance(literal, int))


def binary(operator: str, left: object, right: object) -> Scalar:
    """Arithmetic or a comparison, at least one side being known only at run time."""
    if operator == "@":
        raise HkcError("@ multiplies tiles", here(), got=f"{describe_type(left)} @ {describe_type(right)}")
    if operator == "**":
        raise HkcError("** takes compile-time constants", here(), hint="multiply instead: x * x")
    a, b = unify(left, right, f"'{operator}'")
    dtype = a.type
    type_ = dtype.mlir_type()
    if operator in folding.COMPARISONS:
        return _compare(operator, a, b)
    if operator in ("and", "or"):
        if dtype != I1:
            raise HkcError(
                f"'{operator}' of {dtype.name} values", here(), expected="conditions", hint="compare: x != 0"
            )
        return create(f"arith.{operator}i", [a.ir, b.ir], type_)
    if dtype == I1:
        raise HkcError(f"'{operator}' of conditions", here(), hint="use and, or, not, or `x if c else y`")
    if operator == "%":
        return _modulo(a, b)
    name = _OPS[operator][dtype.is_float]
    if name is None:
        hint = "use // (rounds down), or convert: x.to(f32)" if operator == "/" else "convert: x.to(i32)"
        raise HkcError(f"'{operator}' of {dtype.name} values", here(), hint=hint)
    return create(f"arith.{name}", [a.ir, b.ir], type_)


def _compare(operator: str, a: Scalar, b: Scalar) -> Scalar:
    floats = a.type.is_float
    if a.type == I1 and operator not in ("==", "!="):
        raise HkcError(f"'{operator}' of conditions", here(), expected="numbers")
    code = (FLOAT_PREDICATES if floats else INT_PREDICATES)[operator]
    attribute = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), code)
    return create("arith.cmpf" if floats else "arith.cmpi", [a.ir, b.ir], I1.mlir_type(), predicate=attribute)


def _modulo(a: Scalar, b: Scalar) -> Scalar:
    """a - (a // b) * b: the remainder has the sign of ``b``, as in Python."""
    if a.type.is_float:
        raise HkcError("'%' of floats", here(), expected="integers")
    type_ = a.type.mlir_type()
    quotient = create("arith.floordivsi", [a.ir, b.ir], type_)
    product = create("arith.muli", [quotient.ir, b.ir], type_)
    return create("arith.subi", [a.ir, product.ir], type_)


def negate(value: Scalar) -> Scalar:
    if value.type.is_float:
        return create("arith.negf", [value.ir], value.ir.type)
    if value.type == I1:
        raise HkcError("minus a condition", here(), hint="use `not`")
    zero = constant(0, value.type)
    return create("arith.subi", [zero.ir, value.ir], value.ir.type)


def invert(value: Scalar) -> Scalar:
    if value.type != I1:
        raise HkcError(f"'not' of an {value.type.name} value", here(), hint="compare: x == 0")
    return create("arith.xori", [value.ir, constant(True, I1).ir], value.ir.type)


def select(test: Scalar, then: Any, otherwise: Any) -> Scalar:
    """``then if test else otherwise`` of scalars; both are evaluated."""
    a, b = unify(then, otherwise, "a choice")
    return create("arith.select", [test.ir, a.ir, b.ir], a.ir.type)


def to(value: Scalar, dtype: DType) -> Scalar:
    """The value in another type: integers wrap, floats round to nearest even, float to integer truncates."""
    source = value.type
    if source == dtype:
        return value
    if dtype == I1:
        raise HkcError("a number can't become a condition", here(), hint="compare: x != 0")
    wider = dtype.bits > source.bits
    if source.is_float and dtype.is_float:
        if dtype.bits == source.bits:
            return to(to(value, F32), dtype)
        name = "extf" if wider else "truncf"
    elif source.is_float:
        name = "fptosi"
    elif dtype.is_float:
        name = "uitofp" if source == I1 else "sitofp"
    else:
        name = ("extui" if source == I1 else "extsi") if wider else "trunci"
    return create(f"arith.{name}", [value.ir], dtype.mlir_type())
