"""The operators and functions of the language on :mod:`hkc.lang.values`, with their checks.

Each makes ops at the current insertion point and place (:mod:`hkc.lang.emit`); all-constant operands fold.
"""

from __future__ import annotations

from typing import Any

from hkc.dialect import ops
from hkc.dialect.types import TileType
from hkc.dtypes import DType
from hkc.errors import HkcError
from hkc.lang import folding, scalars, vectors
from hkc.lang.emit import emit, here
from hkc.lang.folding import CONSTANT_TYPES, F32, I1, I32, truth
from hkc.lang.values import Lds, Scalar, Spread, Tile, Token, View, describe_type

PREDICATES = {"<": "lt", "<=": "le", ">": "gt", ">=": "ge", "==": "eq", "!=": "ne"}
_TILE_OPS: dict[str, type[Any]] = {
    "+": ops.Add,
    "-": ops.Sub,
    "*": ops.Mul,
    "/": ops.Div,
    "max": ops.Max,
    "fmax": ops.FMax,
    "fmin": ops.FMin,
    "min": ops.Min,
}
_MATH: dict[str, type[Any]] = {
    "exp": ops.Exp,
    "exp2": ops.Exp2,
    "log": ops.Log,
    "log2": ops.Log2,
    "sqrt": ops.Sqrt,
    "rsqrt": ops.Rsqrt,
    "abs": ops.Abs,
    "tanh": ops.Tanh,
    "erf": ops.Erf,
    "sigmoid": ops.Sigmoid,
    "silu": ops.Silu,
    "gelu": ops.Gelu,
}


def is_constant(value: object) -> bool:
    """Whether the value is known at compile time."""
    return isinstance(value, CONSTANT_TYPES)


def binary(operator: str, left: Any, right: Any) -> Any:
    """``left operator right``; ``operator`` may also be cdiv, min or max."""
    if is_constant(left) and is_constant(right):
        return folding.fold_binary(operator, left, right)
    for value in (left, right):
        if not is_constant(value) and not isinstance(value, Scalar | Tile | Spread):
            raise HkcError(f"'{operator}' of {describe_type(value)}", here(), hint=_instead(value))
    if operator != "@":
        left, right = vectors.meet([left, right])
    if isinstance(left, Tile) or isinstance(right, Tile):
        return _tile_binary(operator, left, right)
    return scalars.binary(operator, left, right)


def _instead(value: object) -> str | None:
    if isinstance(value, View):
        return "load a tile of the view first: A[m : m + 128, k : k + 64]"
    return "read it into registers first: read(s[0])" if isinstance(value, Lds) else None


def _tile_binary(operator: str, left: Any, right: Any) -> Tile:
    if operator == "@":
        return mma(left, right, None)
    if operator not in _TILE_OPS and operator not in PREDICATES:
        hint = "combine conditions with where(a, b, c)" if operator in ("and", "or") else None
        raise HkcError(f"tiles have no '{operator}'", here(), hint=hint)
    like = left.type if isinstance(left, Tile) else right.type
    a, b = splat(left, like), splat(right, like)
    _same_type(operator, a, b)
    if operator in PREDICATES:
        return Tile(emit(ops.Compare.build, a.ir, b.ir, PREDICATES[operator]))
    if operator == "/" and not a.dtype.is_float:
        raise HkcError("'/' of integer tiles", here(), hint="convert them: x.to(f32)")
    if operator in ("fmax", "fmin"):
        _need_float(operator, a)
    return Tile(emit(_TILE_OPS[operator].build, a.ir, b.ir))


def _same_type(operator: str, a: Tile, b: Tile) -> None:
    if a.shape != b.shape:
        raise HkcError(
            f"'{operator}' of tiles of different shapes",
            here(),
            expected="two tiles of one shape",
            got=f"{a.type} and {b.type}",
        )
    if a.dtype != b.dtype:
        wide = a.dtype if a.dtype.bits >= b.dtype.bits else b.dtype
        raise HkcError(
            f"'{operator}' of tiles of different element types",
            here(),
            got=f"{a.type} and {b.type}",
            hint=f"convert one: x.to({wide.name})",
        )


def splat(value: Any, like: TileType) -> Tile:
    """A tile as it is; a scalar as a tile of that type."""
    if isinstance(value, Tile):
        return value
    return full_of(value, like)


def full_of(value: Any, type_: TileType) -> Tile:
    """A tile whose every element is the scalar."""
    dtype = type_.dtype
    if isinstance(value, Scalar | folding.Typed):
        have = scalars.natural_dtype(value)
        assert have is not None
        if have != dtype:
            raise HkcError(
                f"an {have.name} scalar for a tile of {dtype.name}",
                here(),
                hint=f"convert it: x.to({dtype.name})",
            )
    elif isinstance(value, bool) != (dtype == I1) or isinstance(value, str | DType):
        raise HkcError(f"{describe_type(value)} as an element of a tile of {dtype.name}", here())
    return Tile(emit(ops.Full.build, scalars.materialize(value, dtype).ir, type_))


def mma(a: Any, b: Any, acc: Tile | None) -> Tile:
    """``acc + a @ b``, or ``a @ b`` in f32 when ``acc`` is None."""
    got = f"{describe_type(a)} @ {describe_type(b)}"
    if not isinstance(a, Tile) or not isinstance(b, Tile):
        raise HkcError("a matmul takes two tiles", here(), got=got)
    if a.type.rank != 2 or b.type.rank != 2:
        raise HkcError("a matmul takes 2-D tiles", here(), got=got)
    (m, k), (k2, n) = a.shape, b.shape
    if k != k2:
        hint = "transpose the second: a @ b.T" if k == n else None
        hint = hint or ("transpose the first: a.T @ b" if m == k2 else None)
        raise HkcError(
            f"the inner dimensions of the matmul differ: {k} columns against {k2} rows",
            here(),
            got=got,
            hint=hint,
        )
    if a.dtype != b.dtype or not a.dtype.is_float:
        raise HkcError("both operands of a matmul have one float type", here(), got=got, hint="x.to(bf16)")
    shape = TileType((m, n), F32)
    if acc is None:
        product = Tile(emit(ops.Mma.build, a.ir, b.ir, full_of(0.0, shape).ir))
        product.factors = (a, b)
        return product
    if acc.type != shape:
        raise HkcError(
            "the accumulator does not fit the matmul",
            here(),
            expected=f"a {shape}",
            got=describe_type(acc),
            hint=f"zeros({m}, {n}, f32)",
        )
    return Tile(emit(ops.Mma.build, a.ir, b.ir, acc.ir))


def accumulate(left: Tile, right: Any) -> Tile | None:
    """``acc + a @ b`` as one op, when one side is a product that nothing else uses; None otherwise.

    For programs that use the builder: Python has computed ``a @ b`` by then, so it and its zeros are taken back.
    """
    for product, acc in ((right, left), (left, right)):
        if isinstance(product, Tile) and isinstance(acc, Tile) and product.factors and product.name is None:
            made = product.ir.owner.operation
            if not list(product.ir.uses):
                zeros = made.operands[2].owner.operation
                scalar = zeros.operands[0].owner.operation
                for op in (made, zeros, scalar):
                    op.erase()
                return mma(*product.factors, acc)
    return None


def unary(operator: str, value: Any) -> Any:
    """``-x``, ``+x`` or ``not x``."""
    if operator == "not":
        if is_constant(value):
            return not truth(value)
        if isinstance(value, Scalar):
            return scalars.invert(value)
        hint = "turn the comparison round" if isinstance(value, Tile) else None
        raise HkcError(f"'not' of {describe_type(value)}", here(), expected="a condition", hint=hint)
    if is_constant(value):
        return folding.negate(value) if operator == "-" else folding.fold_binary("+", value, 0)
    if not isinstance(value, Scalar | Tile):
        raise HkcError(f"'{operator}' of {describe_type(value)}", here(), hint=_instead(value))
    if operator == "+":
        return value
    if isinstance(value, Scalar):
        return scalars.negate(value)
    _need_float("minus", value)
    return Tile(emit(ops.Neg.build, value.ir))


def condition(value: Any) -> bool | Scalar:
    """The test of an if: a bool when known at compile time, else an i1 scalar."""
    if is_constant(value):
        return truth(value)
    if isinstance(value, Scalar) and value.type == I1:
        return value
    hint = "compare: x != 0" if isinstance(value, Scalar) else None
    hint = "choose elements with where(c, x, y)" if isinstance(value, Tile) else hint
    raise HkcError(f"{describe_type(value)} is no condition", here(), expected="a comparison", hint=hint)


def choose(test: Any, then: Any, otherwise: Any) -> Any:
    """``then if test else otherwise``; ``test`` is known only at run time, so both sides are evaluated."""
    for value in (then, otherwise):
        if scalars.natural_dtype(value) is None:
            raise HkcError(
                f"a conditional expression can't choose {describe_type(value)} at run time",
                here(),
                expected="scalars",
                hint="use an if statement" if isinstance(value, Tile | Token) else None,
            )
    return scalars.select(test, then, otherwise)


def to(value: Any, dtype: Any) -> Any:
    """``x.to(dtype)`` of a tile or scalar."""
    if not isinstance(dtype, DType):
        raise HkcError(f".to() takes an element type, not {describe_type(dtype)}", here(), hint="x.to(bf16)")
    if is_constant(value):
        return folding.convert(value, dtype)
    if isinstance(value, Scalar):
        return scalars.to(value, dtype)
    if isinstance(value, Tile):
        return value if value.dtype == dtype else Tile(emit(ops.Cast.build, value.ir, dtype))
    raise HkcError(f"{describe_type(value)} has no .to()", here(), hint=_instead(value))


def narrow(value: Any, dtype: Any, /) -> Any:
    """``x.to(dtype)`` from a wider float, where NaN don't matter."""
    if not isinstance(value, Tile) or not value.dtype.is_float:
        raise HkcError(f"narrow of {describe_type(value)}", here(), expected="a float tile")
    if not isinstance(dtype, DType) or not dtype.is_float or dtype.bits >= value.dtype.bits:
        expected = f"a float type narrower than {value.dtype.name}"
        raise HkcError(f"narrow to {describe_type(dtype)}", here(), expected=expected, hint="x.to(...) converts any")
    return Tile(emit(ops.Narrow.build, value.ir, dtype))


def transpose(value: Any) -> Tile:
    """``x.T``."""
    if not isinstance(value, Tile):
        raise HkcError(f"{describe_type(value)} has no .T", here(), hint=_instead(value))
    if value.type.rank != 2:
        raise HkcError("only a 2-D tile has a transpose", here(), got=describe_type(value))
    return Tile(emit(ops.Transpose.build, value.ir))


def slot(value: Any, index: Any) -> Lds:
    """``s[i]``: one buffer of an LDS allocation."""
    if value.type.rank != 3:
        raise HkcError("this is one buffer of an LDS allocation already", here(), got=describe_type(value))
    if is_constant(index):
        if not isinstance(index, int) or not 0 <= index < value.shape[0]:
            raise HkcError(
                f"the LDS allocation has no buffer {index}",
                here(),
                expected=f"0 to {value.shape[0] - 1}",
            )
    return Lds(emit(ops.LdsSlot.build, value.ir, as_i32(index, "a buffer's index").ir))


def as_i32(value: Any, what: str) -> Scalar:
    """A value that must be an i32 scalar."""
    if isinstance(value, bool) or scalars.natural_dtype(value) != I32:
        hint = "convert it: x.to(i32)" if isinstance(value, Scalar) and value.type != I1 else None
        raise HkcError(f"{what} is an i32", here(), got=describe_type(value), hint=hint)
    return scalars.materialize(value, I32)


def _need_float(what: str, value: Tile) -> None:
    if not value.dtype.is_float:
        raise HkcError(f"{what} takes floats", here(), got=describe_type(value), hint="convert it: x.to(f32)")


def math_function(name: str, value: Any) -> Any:
    """exp, log, abs ... of a float tile, or of a constant."""
    if is_constant(value):
        return folding.fold_math(name, value)
    if not isinstance(value, Tile):
        raise HkcError(f"{name} of {describe_type(value)}", here(), expected="a tile or a constant")
    _need_float(name, value)
    return Tile(emit(_MATH[name].build, value.ir))


def relu(value: Any) -> Any:
    """The value where it is positive, else zero."""
    return binary("max", value, 0)


def fma(x: Any, y: Any, z: Any) -> Tile:
    """``x * y + z``, element by element, rounded once."""
    values = vectors.meet([x, y, z])
    tiles = [v for v in values if isinstance(v, Tile)]
    if not tiles:
        raise HkcError(f"fma of {describe_type(x)}", here(), expected="a tile among its operands")
    a, b, c = (splat(v, tiles[0].type) for v in values)
    for other in (b, c):
        _same_type("fma", a, other)
    _need_float("fma", a)
    return Tile(emit(ops.Fma.build, a.ir, b.ir, c.ir))


def float_extreme(name: str, left: Any, right: Any) -> Tile:
    """``fmax`` or ``fmin``: extremes of tiles that skip NaN."""
    if not any(isinstance(v, Tile | Spread) for v in (left, right)):
        raise HkcError(f"{name} of {describe_type(left)}", here(), expected="a tile", hint=f"use {name[1:]}(x, y)")
    return binary(name, left, right)


def where(test: Any, then: Any, otherwise: Any) -> Any:
    """Element by element ``then`` where the i1 tile is true, else ``otherwise``."""
    if not isinstance(test, Tile) or test.dtype != I1:
        hint = "use `x if c else y`" if isinstance(test, Scalar) or is_constant(test) else "compare: x < y"
        raise HkcError(
            f"where takes an i1 tile, not {describe_type(test)}",
            here(),
            expected="a comparison of tiles",
            hint=hint,
        )
    test, then, otherwise = vectors.meet([test, then, otherwise])
    tiles = [v for v in (then, otherwise) if isinstance(v, Tile)]
    if tiles:
        like = tiles[0].type
    else:
        dtypes = scalars.common_dtype(then, otherwise, "where")
        like = TileType(test.shape, dtypes[0])
    a, b = splat(then, like), splat(otherwise, like)
    _same_type("where", a, b)
    if a.shape != test.shape:
        raise HkcError("the condition and the values have different shapes", here(), got=f"{test.type} and {a.type}")
    return Tile(emit(ops.Select.build, test.ir, a.ir, b.ir))
