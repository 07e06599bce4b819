"""Arithmetic on register tiles: one function an op, from tiles to a tile with its error bound."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from hkc.dtypes import DTYPES, DType
from hkc.interp.values import Tile, narrow, rounding_units, settle
from hkc.numerics import Floats, round_to, wrap

Bound = Floats | float
# f32 sums inside an MFMA: each of the k products and the accumulator is added with one rounding of 2^-24
# (IEEE 754 binary32), in any order; tiny sums may be flushed.
_ROUNDING = 2.0**-24
_TINY = 2.0**-126


def full(value: float | int | bool, shape: tuple[int, ...], dtype: DType) -> Tile:
    """Every element is the scalar."""
    kind = {"float": np.float64, "int": np.int64, "bool": np.bool_}[dtype.kind]
    return Tile(np.full(shape, value, kind), dtype)


def mma(a: Tile, b: Tile, acc: Tile) -> Tile:
    """acc + a @ b in f32, in any order of summation."""
    left, right = np.abs(a.value), np.abs(b.value)
    magnitude = left @ right
    error = acc.bound
    if a.error is not None:
        error = error + a.error @ (right + b.bound)
    if b.error is not None:
        error = error + left @ b.error
    terms = a.value.shape[1] + 2
    error = error + terms * (_ROUNDING * (np.abs(acc.value) + acc.bound + magnitude) + _TINY)
    return Tile(acc.value + a.value @ b.value, acc.dtype, error)


def transpose(source: Tile) -> Tile:
    """Rows become columns."""
    return Tile(source.value.T, source.dtype, None if source.error is None else source.error.T)


def cast(source: Tile, dtype: DType) -> Tile:
    """The same values in another type: floats to nearest even, float to integer truncates."""
    if source.dtype.is_float and dtype.is_float:
        wider = dtype.mantissa >= source.dtype.mantissa and {source.dtype.name, dtype.name} != {"bf16", "f16"}
        return Tile(source.value, dtype, source.error) if wider else narrow(source, dtype)
    if dtype.is_float:
        return settle(source.value.astype(np.float64), source.bound, dtype)
    if dtype.kind == "bool":
        return Tile(source.value != 0, dtype, source.error)
    value = source.value
    if source.dtype.is_float:
        value = np.trunc(value)
        if source.error is not None:
            apart = np.trunc(source.value + source.error) - np.trunc(source.value - source.error)
            return Tile(wrap(value.astype(np.int64), dtype), dtype, apart)
    return Tile(wrap(value.astype(np.int64), dtype), dtype, source.error)


def _sum_error(_left: Tile, _right: Tile, a: Bound, b: Bound) -> Bound:
    return a + b


def _product_error(left: Tile, right: Tile, a: Bound, b: Bound) -> Bound:
    return np.abs(left.value) * b + np.abs(right.value) * a + a * b


def _quotient_error(left: Tile, right: Tile, a: Bound, b: Bound) -> Bound:
    room = np.abs(right.value) - b
    return np.where(room > 0, (a + np.abs(left.value / right.value) * b) / np.maximum(room, _TINY), np.inf)


_Arithmetic = tuple[Callable[..., np.ndarray], Callable[[Tile, Tile, Bound, Bound], Bound]]
_ARITHMETIC: dict[str, _Arithmetic] = {
    "tile.add": (np.add, _sum_error),
    "tile.sub": (np.subtract, _sum_error),
    "tile.mul": (np.multiply, _product_error),
    "tile.div": (np.divide, _quotient_error),
}
# OpenCL C 3.0, 7.4: x / y of f32 within 2.5 ulp; the other operations are correctly rounded.
_UNITS = {"tile.div": 2.5}


def _arithmetic(name: str) -> Callable[[Tile, Tile], Tile]:
    function, error_of = _ARITHMETIC[name]

    def apply(left: Tile, right: Tile) -> Tile:
        exact = left.error is None and right.error is None
        error = 0.0 if exact else error_of(left, right, left.bound, right.bound)
        value = function(left.value, right.value)
        if left.dtype.is_float:
            return settle(value, error, left.dtype, _UNITS.get(name, rounding_units(left.dtype)))
        return Tile(wrap(value, left.dtype), left.dtype, None if exact else np.asarray(error))

    return apply


def _extreme(function: Callable[..., np.ndarray]) -> Callable[[Tile, Tile], Tile]:
    def apply(left: Tile, right: Tile) -> Tile:
        exact = left.error is None and right.error is None
        error = None if exact else np.maximum(left.bound, right.bound) + np.zeros(left.value.shape)
        return Tile(function(left.value, right.value), left.dtype, error)

    return apply


BINARY: dict[str, Callable[[Tile, Tile], Tile]] = {
    **{name: _arithmetic(name) for name in _ARITHMETIC},
    "tile.fmax": _extreme(np.fmax),
    "tile.fmin": _extreme(np.fmin),
    "tile.max": _extreme(np.maximum),
    "tile.min": _extreme(np.minimum),
}


def _sign(function: Callable[[np.ndarray], np.ndarray]) -> Callable[[Tile], Tile]:
    return lambda source: Tile(function(source.value), source.dtype, source.error)


def _monotone(
    function: Callable[[Floats], Floats], units: float, slope: float = 0.0, flushed: bool = False
) -> Callable[[Tile], Tile]:
    """A monotone function whose machine form is within ``units + slope * |x|`` units in the last place; ``flushed``: it
    may give zero for results below the normal numbers of f32."""

    def apply(source: Tile) -> Tile:
        value = function(source.value)
        error: Bound = 0.0
        if source.error is not None:
            above = np.abs(function(source.value + source.error) - value)
            below = np.abs(value - function(source.value - source.error))
            # Outside the domain (a logarithm that may have seen a negative number) anything can come out.
            error = np.nan_to_num(np.maximum(above, below), nan=np.inf, posinf=np.inf)
        allowed: Bound = units
        if slope:
            allowed = units + slope * np.where(np.isinf(source.value), 0.0, np.abs(source.value))
        if source.dtype.mantissa < DTYPES["f32"].mantissa:
            # Computed in f32, then rounded to the narrow type.
            allowed = 0.5 + (allowed + 0.5) * 2.0 ** (source.dtype.mantissa - DTYPES["f32"].mantissa)
        if flushed:
            error = error + np.where((value > 0) & (value < 2 * _TINY), _TINY, 0.0)
        return settle(value, error, source.dtype, allowed)

    return apply


def _bounded(
    function: Callable[[Floats], Floats], steepest: float, units: float, slope: float = 0.0, part: float = 0.0
) -> Callable[[Tile], Tile]:
    """A function no steeper than ``steepest``, whose machine form is within ``units + slope * |x|`` units in the last
    place, and ``part * |x|`` roundings of f32 where its terms cancel."""

    def apply(source: Tile) -> Tile:
        size = np.abs(source.value)
        # Near and below the smallest normal number a machine is as good as zero.
        error = steepest * source.bound + np.where(np.isnan(size), 0.0, 2 * _TINY * (1 + size))
        error = error + np.where(np.isfinite(size), part * _ROUNDING * size, 0.0)
        allowed = units + np.where(np.isfinite(size), slope * size, 0.0)
        if source.dtype.mantissa < DTYPES["f32"].mantissa:
            # Computed in f32, then rounded to the narrow type.
            allowed = 0.5 + (allowed + 0.5) * 2.0 ** (source.dtype.mantissa - DTYPES["f32"].mantissa)
        return settle(function(source.value), error, source.dtype, allowed)

    return apply


def _erf(x: np.ndarray) -> Floats:
    return np.frompyfunc(math.erf, 1, 1)(x).astype(np.float64)


def _sigmoid(x: Floats) -> Floats:
    return 1 / (1 + np.exp(-x))


# Machine accuracy in units in the last place of f32: OpenCL C 3.0, 7.4 (exp, exp2, log, log2: 3; sqrt: 3;
# rsqrt: 2). An exponential computed as exp2(x * log2 e) also scales the rounding of that product by |x|.
UNARY: dict[str, Callable[[Tile], Tile]] = {
    "tile.neg": _sign(np.negative),
    "tile.abs": _sign(np.abs),
    "tile.exp": _monotone(np.exp, 3.0, 1.0, flushed=True),
    "tile.exp2": _monotone(np.exp2, 3.0, flushed=True),
    "tile.log": _monotone(np.log, 3.0),
    "tile.log2": _monotone(np.log2, 3.0),
    "tile.sqrt": _monotone(np.sqrt, 3.0),
    "tile.rsqrt": _monotone(lambda x: 1 / np.sqrt(x), 2.0),
    # As hkc.passes.distribute.functions computes them: a few roundings, and those of exp2 and its argument.
    "tile.tanh": _bounded(np.tanh, 1.0, 8.0),
    "tile.erf": _bounded(_erf, 2 / math.sqrt(math.pi), 8.0),
    "tile.sigmoid": _bounded(_sigmoid, 0.25, 8.0, slope=1.0),
    "tile.silu": _bounded(lambda x: x / (1 + np.exp(-x)), 1.1, 8.0, slope=1.0),
    "tile.gelu": _bounded(lambda x: x * (1 + _erf(x * math.sqrt(0.5))) / 2, 1.13, 2.0, part=8.0),
}

_COMPARISONS: dict[str, Callable[..., np.ndarray]] = {
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "eq": np.equal,
    "ne": np.not_equal,
}


def fma(left: Tile, right: Tile, addend: Tile) -> Tile:
    """left * right + addend with one rounding."""
    exact = left.error is None and right.error is None and addend.error is None
    error = 0.0 if exact else _product_error(left, right, left.bound, right.bound) + addend.bound
    units = 0.5 if left.dtype.name in ("f32", "f64") else rounding_units(left.dtype)
    return settle(left.value * right.value + addend.value, error, left.dtype, units)


def compare(left: Tile, right: Tile, predicate: str) -> Tile:
    """An i1 tile; its error is 1 where the operands' bounds overlap."""
    value = _COMPARISONS[predicate](left.value, right.value)
    if left.error is None and right.error is None:
        return Tile(value, DTYPES["i1"])
    reach = left.bound + right.bound
    unsure = (np.abs(left.value - right.value) <= reach) & (reach > 0)
    return Tile(value, DTYPES["i1"], unsure.astype(np.float64))


def select(condition: Tile, left: Tile, right: Tile) -> Tile:
    """Where the condition is true the left element, else the right; where it is unsure, either."""
    value = np.where(condition.value, left.value, right.value)
    if condition.error is None and left.error is None and right.error is None:
        return Tile(value, left.dtype)
    error = np.where(condition.value, left.bound, right.bound)
    if condition.error is not None:
        either = np.abs(left.value.astype(np.float64) - right.value) + np.maximum(left.bound, right.bound)
        error = np.where(condition.error > 0, either, error)
    return Tile(value, left.dtype, error)


def rounded(value: float, dtype: DType) -> float:
    """A scalar in ``dtype``."""
    return float(round_to(np.asarray(value, np.float64), dtype))
