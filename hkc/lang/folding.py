"""Arithmetic on compile-time constants, with Python's meaning.

Constants are plain Python values: int and float literals (which take the type of what they meet), bool, str, DType;
and :class:`Typed`, a constant that was given an element type by ``.to(dtype)``.
"""

from __future__ import annotations

import math
import operator as op
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hkc.dtypes import DTYPES, DType
from hkc.errors import HkcError
from hkc.lang.emit import here

I32, I64, F32, I1 = (DTYPES[n] for n in ("i32", "i64", "f32", "i1"))


@dataclass(frozen=True)
class Typed:
    """A constant with an element type."""

    value: int | float
    dtype: DType


Number = int | float | Typed
CONSTANT_TYPES = (bool, int, float, str, DType, Typed)

COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "<": op.lt,
    "<=": op.le,
    ">": op.gt,
    ">=": op.ge,
    "==": op.eq,
    "!=": op.ne,
}


def describe(value: object) -> str:
    """What a constant is, for messages."""
    if isinstance(value, bool):
        return f"the bool {value}"
    if isinstance(value, DType):
        return f"the element type {value.name}"
    if isinstance(value, str):
        return f'the string "{value}"'
    if isinstance(value, Typed):
        return f"the {value.dtype.name} {value.value}"
    return f"the {type(value).__name__} {value}"


def kind_of(value: object) -> str:
    """The kind of a constant: int, float, bool, string or element type."""
    if isinstance(value, Typed):
        return value.dtype.name
    names = {bool: "bool", int: "int", float: "float", str: "string", DType: "element type"}
    return names[type(value)]


def is_number(value: object) -> bool:
    return isinstance(value, int | float | Typed) and not isinstance(value, bool)


def fold_binary(operator: str, left: object, right: object) -> object:
    """``left operator right`` of two constants.

    Raises HkcError (at the current place) for kinds that don't go together and for a division by zero.
    """
    if operator in COMPARISONS:
        return _compare(operator, left, right)
    if not is_number(left) or not is_number(right):
        raise HkcError(f"{describe(left)} {operator} {describe(right)} is not arithmetic", here())
    dtype = _common(operator, left, right)
    a, b = _plain(left), _plain(right)
    if operator in ("/", "//", "%", "cdiv") and b == 0:
        raise HkcError("division by zero", here())
    try:
        value = _ARITHMETIC[operator](a, b)
    except OverflowError:
        raise HkcError("the result is too large", here()) from None
    except (ValueError, ZeroDivisionError, TypeError, KeyError):
        raise HkcError(f"{a} {operator} {b} has no value", here()) from None
    if isinstance(value, complex):
        raise HkcError(f"{a} {operator} {b} has no real value", here())
    return value if dtype is None else make_typed(value, dtype)


def _power(a: Any, b: Any) -> Any:
    if isinstance(a, int) and isinstance(b, int) and b > 64 and abs(a) > 1:
        raise OverflowError
    return a**b


def _ceil_div(a: Any, b: Any) -> Any:
    if not isinstance(a, int) or not isinstance(b, int):
        raise TypeError
    return -(-a // b)


_ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "+": op.add,
    "-": op.sub,
    "*": op.mul,
    "/": op.truediv,
    "//": op.floordiv,
    "%": op.mod,
    "**": _power,
    "cdiv": _ceil_div,
    "min": min,
    "max": max,
}


def _compare(operator: str, left: object, right: object) -> bool:
    if is_number(left) and is_number(right):
        _common(operator, left, right)
        return COMPARISONS[operator](_plain(left), _plain(right))
    if kind_of(left) == kind_of(right) and operator in ("==", "!="):
        return COMPARISONS[operator](left, right)
    raise HkcError(f"{describe(left)} {operator} {describe(right)} compares different kinds", here())


def _plain(value: Any) -> Any:
    return value.value if isinstance(value, Typed) else value


def _common(operator: str, left: object, right: object) -> DType | None:
    dtypes = {v.dtype for v in (left, right) if isinstance(v, Typed)}
    if not dtypes:
        return None
    if len(dtypes) == 2:
        raise HkcError(f"{describe(left)} {operator} {describe(right)} mixes element types", here())
    dtype = dtypes.pop()
    for value in (left, right):
        if not isinstance(value, Typed):
            make_typed(value, dtype)
    return dtype


def make_typed(value: Any, dtype: DType) -> Typed:
    """A literal as a constant of ``dtype``.

    Raises HkcError when it does not fit, or is a fraction that would become an integer.
    """
    if dtype.kind == "float":
        return Typed(round_float(float(value), dtype), dtype)
    if isinstance(value, float):
        raise HkcError(f"{value} is not an integer", here(), expected=dtype.name, hint="a float literal has a point")
    if dtype.kind == "bool":
        return Typed(int(bool(value)), dtype)
    limit = 1 << (dtype.bits - 1)
    if not -limit <= int(value) < limit:
        hint = "(...).to(i64) makes it an i64" if dtype == I32 else None
        raise HkcError(f"{value} does not fit {dtype.name}", here(), hint=hint)
    return Typed(int(value), dtype)


def convert(value: object, dtype: DType) -> Typed:
    """``value.to(dtype)``: floats round to nearest even, a float becomes an integer by truncation."""
    if isinstance(value, str | DType):
        raise HkcError(f"{describe(value)} can't become {dtype.name}", here())
    number = _plain(value)
    if dtype.kind in ("int", "bool") and isinstance(number, float):
        if not math.isfinite(number):
            raise HkcError(f"{number} does not fit {dtype.name}", here())
        number = int(number)
    return make_typed(number, dtype)


def round_float(value: float, dtype: DType) -> float:
    """The nearest value of a float type, ties to even; beyond the largest finite value, infinity.

    fp8 types are left to the conversion that the hardware makes.
    """
    if not math.isfinite(value) or value == 0.0 or dtype.bits == 8 or dtype.bits == 64:
        return value
    exponent_bits = dtype.bits - 1 - dtype.mantissa
    bias = (1 << (exponent_bits - 1)) - 1
    exponent = max(math.frexp(value)[1] - 1, 1 - bias)
    step = math.ldexp(1.0, exponent - dtype.mantissa)
    rounded = round(value / step) * step
    largest = math.ldexp(2.0 - math.ldexp(1.0, -dtype.mantissa), bias)
    return math.copysign(math.inf if abs(rounded) > largest else abs(rounded), value)


def _sigmoid(x: float) -> float:
    """Of any size: e to a large number would overflow."""
    return 1.0 / (1.0 + math.exp(-x)) if x > 0 else math.exp(x) / (1.0 + math.exp(x))


MATH: dict[str, Callable[[float], float]] = {
    "exp": math.exp,
    "exp2": math.exp2,
    "log": math.log,
    "log2": math.log2,
    "sqrt": math.sqrt,
    "rsqrt": lambda x: 1.0 / math.sqrt(x),
    "tanh": math.tanh,
    "erf": math.erf,
    "sigmoid": _sigmoid,
    "silu": lambda x: x * _sigmoid(x),
    "gelu": lambda x: x * (1.0 + math.erf(x * math.sqrt(0.5))) / 2.0,
}


def fold_math(name: str, value: object) -> object:
    """A math function of a constant number.

    Raises HkcError for a value outside of its domain.
    """
    if not is_number(value):
        raise HkcError(f"{name} of {describe(value)}", here(), expected="a number")
    number = _plain(value)
    try:
        result: Any = abs(number) if name == "abs" else MATH[name](float(number))
    except OverflowError:
        result = math.inf
    except (ValueError, ZeroDivisionError):
        raise HkcError(f"{name}({number}) has no value", here()) from None
    return make_typed(result, value.dtype) if isinstance(value, Typed) else result


def negate(value: object) -> object:
    if not is_number(value):
        raise HkcError(f"minus {describe(value)}", here(), expected="a number")
    return make_typed(-value.value, value.dtype) if isinstance(value, Typed) else -value  # type: ignore[operator]


def truth(value: object) -> bool:
    """A constant as a condition, with Python's rules for numbers and bools."""
    if isinstance(value, Typed):
        return bool(value.value)
    if isinstance(value, bool | int | float):
        return bool(value)
    raise HkcError(f"{describe(value)} is no condition", here(), hint='compare: x == "..."')
