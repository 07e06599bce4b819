"""Functions that the hardware lacks, on f32 vectors of one lane: made of multiply-adds, v_exp_f32 and one division.

The polynomials are least-maximum fits made for this file (degree and interval beside each, error relative to the
function). Accuracy in units in the last place, measured over the whole range: tanh 2, erf 3, before what exp2 adds;
the interpreter's bounds (hkc.interp.tile_ops) allow for both.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from mlir import ir
from mlir.dialects import arith, rocdl

from hkc.dialect import ops
from hkc.passes import scalars as s
from hkc.passes.distribute.vectors import element_type, gather, item, length, splat

# erf(x) / x over z = x^2 in [0, 1]: 1.2e-9.
_ERF_SMALL = (1.1283791, -0.37612626, 0.112836, -0.026854444, 0.0051895352, -0.00080208411, 7.8891193e-05)
# log2(1 - erf(x)) over x in [1, 4]: 2.3e-11 of erf's own value. Behind 4, erf is 1 in f32.
_ERFC_LOG2 = (
    *(0.00029482896, -1.6297566, -0.91328311, -0.15673295, 0.036606304, -0.0061781723),
    *(0.00066910469, -3.6521549e-05, 3.625876e-07),
)
_ERF_ONE = 4.0
# tanh(x) / x over z = x^2 in [0, 0.4]: 4.2e-9.
_TANH_SMALL = (1.0, -0.33333257, 0.13330998, -0.053709835, 0.020552816, -0.0056155994)
_TANH_LIMIT = 0.4
_MOST_DIVISOR = 2.0**125


def _constant(value: float, like: ir.Value) -> ir.Value:
    return splat(s.constant(value, element_type(like)), length(like))


def _call(name: str, *operands: ir.Value) -> ir.Value:
    return ir.Operation.create(f"llvm.intr.{name}", results=[operands[0].type], operands=list(operands)).result


def _polynomial(coefficients: Sequence[float], x: ir.Value) -> ir.Value:
    value = _constant(coefficients[-1], x)
    for coefficient in coefficients[-2::-1]:
        value = _call("fma", value, x, _constant(coefficient, x))
    return value


def _less(a: ir.Value, b: ir.Value) -> ir.Value:
    return arith.CmpFOp(arith.CmpFPredicate.OLT, a, b).result


def exp2(x: ir.Value) -> ir.Value:
    """v_exp_f32 as it is (CDNA3 ISA 12: 1 unit in the last place): results below the normal numbers are zero, which
    spares scaling in and out."""
    kind = element_type(x)
    return gather([rocdl.exp2(kind, item(x, index)) for index in range(length(x))])


def exp(x: ir.Value) -> ir.Value:
    return _exp(x, 1.0)


def _exp(x: ir.Value, factor: float) -> ir.Value:
    """e to the factor * x."""
    return exp2(arith.MulFOp(x, _constant(factor / math.log(2), x)).result)


def _one_plus_exp(x: ir.Value) -> ir.Value:
    return arith.AddFOp(_constant(1.0, x), _exp(x, -1.0)).result


def sigmoid(x: ir.Value) -> ir.Value:
    """At least 2^-125: below the normal numbers a division has few bits to give."""
    below, most = _one_plus_exp(x), _constant(_MOST_DIVISOR, x)
    below = arith.SelectOp(_less(most, below), most, below).result
    return arith.DivFOp(_constant(1.0, x), below).result


def silu(x: ir.Value) -> ir.Value:
    return arith.DivFOp(x, _one_plus_exp(x)).result


def tanh(x: ir.Value) -> ir.Value:
    """A polynomial near 0, where (1 - t) / (1 + t) with t = exp(-2 |x|) would cancel."""
    size = _call("fabs", x)
    square = arith.MulFOp(size, size).result
    small = arith.MulFOp(_polynomial(_TANH_SMALL, square), size).result
    falling, one = _exp(size, -2.0), _constant(1.0, x)
    large = arith.DivFOp(arith.SubFOp(one, falling).result, arith.AddFOp(one, falling).result).result
    near = _less(square, _constant(_TANH_LIMIT, x))
    return _call("copysign", arith.SelectOp(near, small, large).result, x)


def erf(x: ir.Value) -> ir.Value:
    """A polynomial up to 1, then 1 minus a power of two of one; a NaN passes both."""
    size, most = _call("fabs", x), _constant(_ERF_ONE, x)
    size = arith.SelectOp(_less(most, size), most, size).result
    small = arith.MulFOp(_polynomial(_ERF_SMALL, arith.MulFOp(size, size).result), size).result
    one = _constant(1.0, x)
    large = arith.SubFOp(one, exp2(_polynomial(_ERFC_LOG2, size))).result
    return _call("copysign", arith.SelectOp(_less(size, one), small, large).result, x)


def gelu(x: ir.Value) -> ir.Value:
    half = arith.MulFOp(x, _constant(0.5, x)).result
    return _call("fma", half, erf(arith.MulFOp(x, _constant(math.sqrt(0.5), x)).result), half)


FUNCTIONS = {
    ops.Exp.name: exp,
    ops.Exp2.name: exp2,
    ops.Sigmoid.name: sigmoid,
    ops.Silu.name: silu,
    ops.Tanh.name: tanh,
    ops.Erf.name: erf,
    ops.Gelu.name: gelu,
}
