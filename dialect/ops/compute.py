"""Ops on register tiles."""

from __future__ import annotations

from mlir import ir

from hkc.dialect.irdl import ANY, TILE, Op, attribute, get_ints, get_str, operand, result
from hkc.dialect.ops.checks import extent, fail, same_type
from hkc.dialect.types import TileType, parse_type, tile_type
from hkc.dtypes import DTYPES, DType

PREDICATES = ("lt", "le", "gt", "ge", "eq", "ne")


class Full(Op):
    """Every element is the scalar."""

    name = "tile.full"
    operands = (operand("value", ANY),)
    results = (result(TILE),)

    @classmethod
    def build(cls, value: ir.Value, type_: TileType) -> ir.Value:
        return cls.create([value], [type_.mlir()]).result

    @classmethod
    def check(cls, op: ir.Operation) -> None:
        value, tile = parse_type(op.operands[0].type), tile_type(op.results[0])
        if value != tile.dtype:
            raise fail(op, "the value's type is not the tile's", expected=tile.dtype.name, got=str(value))


class Mma(Op):
    """acc + a @ b: a is m x k, b is k x n, acc m x n of f32. Sums run in f32 inside the MFMA."""

    name = "tile.mma"
    operands = (operand("a", TILE), operand("b", TILE), operand("acc", TILE))
    results = (result(TILE),)

    @classmethod
    def build(cls, a: ir.Value, b: ir.Value, acc: ir.Value) -> ir.Value:
        return cls.create([a, b, acc], [acc.type]).result

    @classmethod
    def check(cls, op: ir.Operation) -> None:
        a, b, acc = (tile_type(v) for v in op.operands)
        if a.rank != 2 or b.rank != 2 or acc.rank != 2:
            raise fail(op, "a matmul takes 2-D tiles", got=f"{a} @ {b}")
        if a.shape[1] != b.shape[0]:
            raise fail(
                op,
                f"the inner dimensions of the matmul differ: {a.shape[1]} columns against {b.shape[0]} rows",
                expected=f"{a.shape[0]}x{a.shape[1]} @ {a.shape[1]}x{b.shape[1]}",
                got=f"{a.shape[0]}x{a.shape[1]} @ {b.shape[0]}x{b.shape[1]}",
                hint="transpose an operand with .T" if a.shape[1] == b.shape[1] else None,
            )
        if a.dtype != b.dtype or not a.dtype.is_float:
            raise fail(op, "both operands of a matmul have one float type", got=f"{a.dtype.name} @ {b.dtype.name}")
        if acc.dtype != DTYPES["f32"]:
            raise fail(op, "a matmul accumulates in f32", got=acc.dtype.name, hint="zeros(M, N, f32)")
        extent(op, "the accumulator", (a.shape[0], b.shape[1]), acc.shape)


class Transpose(Op):
    """Rows become columns."""

    name = "tile.transpose"
    operands = (operand("source", TILE),)
    results = (result(TILE),)

    @classmethod
    def build(cls, source: ir.Value, layout: str | None = None) -> ir.Value:
        type_ = tile_type(source)
        return cls.create([source], [TileType(type_.shape[::-1], type_.dtype, layout).mlir()]).result

    @classmethod
    def check(cls, op: ir.Operation) -> None:
        source, out = tile_type(op.operands[0]), tile_type(op.results[0])
        if source.rank != 2:
            raise fail(op, "only a 2-D tile has a transpose", got=str(source))
        if (source.shape[::-1], source.dtype) != (out.shape, out.dtype):
            raise fail(op, "a transpose swaps the extents", expected=str(source), got=str(out))


class Relayout(Op):
    """The same tile in another register layout. Free where every lane keeps its elements, else by way of LDS."""

    name = "tile.relayout"
    operands = (operand("source", TILE),)
    results = (result(TILE),)

    @classmethod
    def build(cls, source: ir.Value, layout: str | None = None) -> ir.Value:
        type_ = tile_type(source)
        return cls.create([source], [TileType(type_.shape, type_.dtype, layout).mlir()]).result

    @classmethod
    def check(cls, op: ir.Operation) -> None:
        source, out = tile_type(op.operands[0]), tile_type(op.results[0])
        if (source.shape, source.dtype) != (out.shape, out.dtype):
            raise fail(op, "a relayout keeps shape and element type", expected=str(source), got=str(out))


class Cast(Op):
    """The same values in another element type; floats round to nearest even, float to int truncates."""

    name = "tile.cast"
    operands = (operand("source", TILE),)
    results = (result(TILE),)

    @classmethod
    def build(cls, source: ir.Value, dtype: DType) -> ir.Value:
        type_ = tile_type(source)
        return cls.create([source], [TileType(type_.shape, dtype, type_.layout).mlir()]).result

    @classmethod
    def check(cls, op: ir.Operation) -> None:
        extent(op, "the converted tile", tile_type(op.operands[0]).shape, tile_type(op.results[0]).shape)


class Narrow(Op):
    """Floats rounded to a narrower type, to nearest even, where NaN don't matter: one may become any value."""

    name = "tile.narrow"
    operands = (operand("source", TILE),)
    results = (result(TILE),)

    @classmethod
    def build(cls, source: ir.Value, dtype: DType) -> ir.Value:
        type_ = tile_type(source)
        return cls.create([source], [TileType(type_.shape, dtype, type_.layout).mlir()]).result

    @classmethod
    def check(cls, op: ir.Operation) -> None:
        source, out = tile_type(op.operands[0]), tile_type(op.results[0])
        extent(op, "the narrowed tile", source.shape, out.shape)
        if not source.dtype.is_float or not out.dtype.is_float or out.dtype.bits >= source.dtype.bits:
            got = f"{source.dtype.name} to {out.dtype.name}"
            raise fail(op, "narrow makes floats of wider floats", got=got, hint="x.to(...) converts any")


class _Binary(Op):
    """Element by element on two tiles of one type."""

    operands = (operand("left", TILE), operand("right", TILE))
    results = (result(TILE),)

    @classmethod
    def build(cls, left: ir.Value, right: ir.Value) -> ir.Value:
        return cls.create([left, right], [left.type]).result

    @classmethod
    def check(cls, op: ir.Operation) -> None:
        same_type(op, cls.name.removeprefix("tile."), tile_type(op.operands[0]), tile_type(op.operands[1]))


class Add(_Binary):
    """left + right."""

    name = "tile.add"


class Sub(_Binary):
    """left - right."""

    name = "tile.sub"


class Mul(_Binary):
    """left * right."""

    name = "tile.mul"


class Div(_Binary):
    """left / right (floats)."""

    name = "tile.div"

    @classmethod
    def check(cls, op: ir.Operation) -> None:
        super().check(op)
        _needs_float(op, "a division of tiles")


class Max(_Binary):
    """The larger element; NaN if either is NaN."""

    name = "tile.max"


class Min(_Binary):
    """The smaller element; NaN if either is NaN."""

    name = "tile.min"


class FMax(_Binary):
    """The larger element of floats; the other one where one is NaN."""

    name = "tile.fmax"

    @classmethod
    def check(cls, op: ir.Operation) -> None:
        super().check(op)
        _needs_float(op, "fmax")


class FMin(_Binary):
    """The smaller element of floats; the other one where one is NaN."""

    name = "tile.fmin"

    @classmethod
    def check(cls, op: ir.Operation) -> None:
        super().check(op)
        _needs_float(op, "fmin")


class Fma(Op):
    """left * right + addend of floats, rounded once."""

    name = "tile.fma"
    operands = (operand("left", TILE), operand("right", TILE), operand("addend", TILE))
    results = (result(TILE),)

    @classmethod
    def build(cls, left: ir.Value, right: ir.Value, addend: ir.Value) -> ir.Value:
        return cls.create([left, right, addend], [left.type]).result

    @classmethod
    def check(cls, op: ir.Operation) -> None:
        left, right, addend = (tile_type(v) for v in op.operands)
        same_type(op, "fma", left, right)
        same_type(op, "fma", left, addend)
        _needs_float(op, "fma")


class _Unary(Op):
    """Element by element on one float tile."""

    operands = (operand("source", TILE),)
    results = (result(TILE),)

    @classmethod
    def build(cls, source: ir.Value) -> ir.Value:
        return cls.create([source], [source.type]).result

    @classmethod
    def check(cls, op: ir.Operation) -> None:
        _needs_float(op, cls.name.removeprefix("tile."))


def _needs_float(op: ir.Operation, what: str) -> None:
    type_ = tile_type(op.operands[0])
    if not type_.dtype.is_float:
        raise fail(op, f"{what} takes floats", got=str(type_), hint="convert it: x.to(f32)")


class Neg(_Unary):
    """-x."""

    name = "tile.neg"


class Abs(_Unary):
    """|x|."""

    name = "tile.abs"


class Exp(_Unary):
    """e to the x."""

    name = "tile.exp"


class Exp2(_Unary):
    """2 to the x."""

    name = "tile.exp2"


class Log(_Unary):
    """Natural logarithm."""

    name = "tile.log"


class Log2(_Unary):
    """Logarithm to base 2."""

    name = "tile.log2"


class Sqrt(_Unary):
    """Square root."""

    name = "tile.sqrt"


class Rsqrt(_Unary):
    """1 / square root."""

    name = "tile.rsqrt"


class Tanh(_Unary):
    """Hyperbolic tangent."""

    name = "tile.tanh"


class Erf(_Unary):
    """Error function."""

    name = "tile.erf"


class Sigmoid(_Unary):
    """1 / (1 + e to the -x)."""

    name = "tile.sigmoid"


class Silu(_Unary):
    """x * sigmoid(x)."""

    name = "tile.silu"


class Gelu(_Unary):
    """x * (1 + erf(x / sqrt(2))) / 2."""

    name = "tile.gelu"


class Compare(Op):
    """Element by element, an i1 tile; ``predicate`` is one of lt le gt ge eq ne (ordered: false on NaN, but ne)."""

    name = "tile.compare"
    operands = (operand("left", TILE), operand("right", TILE))
    results = (result(TILE),)
    attributes = (attribute("predicate", "str"),)

    @classmethod
    def build(cls, left: ir.Value, right: ir.Value, predicate: str) -> ir.Value:
        type_ = tile_type(left)
        out = TileType(type_.shape, DTYPES["i1"], type_.layout)
        return cls.create([left, right], [out.mlir()], predicate=predicate).result

    @classmethod
    def check(cls, op: ir.Operation) -> None:
        left = tile_type(op.operands[0])
        same_type(op, "a comparison", left, tile_type(op.operands[1]))
        if get_str(op, "predicate") not in PREDICATES:
            raise fail(op, "unknown comparison", expected=", ".join(PREDICATES), got=get_str(op, "predicate"))
        extent(op, "the comparison", left.shape, tile_type(op.results[0]).shape)


class Select(Op):
    """Where the i1 tile is true the second tile's element, else the third's."""

    name = "tile.select"
    operands = (operand("condition", TILE), operand("left", TILE), operand("right", TILE))
    results = (result(TILE),)

    @classmethod
    def build(cls, condition: ir.Value, left: ir.Value, right: ir.Value) -> ir.Value:
        return cls.create([condition, left, right], [left.type]).result

    @classmethod
    def check(cls, op: ir.Operation) -> None:
        condition, left, right = (tile_type(v) for v in op.operands)
        same_type(op, "a select", left, right)
        extent(op, "the condition", left.shape, condition.shape)
        if condition.dtype != DTYPES["i1"]:
            raise fail(op, "the condition of a select is an i1 tile", got=str(condition), hint="compare: x < y")


class Part(Op):
    """One piece of every wavefront's part of a tile, as a tile: the part is cut into rows x columns equal pieces, of
    which [row, column] is kept. No data moves."""

    name = "tile.part"
    operands = (operand("source", TILE),)
    results = (result(TILE),)
    attributes = (attribute("pieces", "ints"), attribute("piece", "ints"))

    @classmethod
    def build(cls, source: ir.Value, pieces: tuple[int, int], piece: tuple[int, int]) -> ir.Value:
        type_ = tile_type(source)
        shape_ = tuple(extent // count for extent, count in zip(type_.shape, pieces, strict=True))
        out = TileType(shape_, type_.dtype, type_.layout)
        return cls.create([source], [out.mlir()], pieces=pieces, piece=piece).result

    @classmethod
    def check(cls, op: ir.Operation) -> None:
        source, out = tile_type(op.operands[0]), tile_type(op.results[0])
        _check_pieces(op, source, out)


class Join(Op):
    """The inverse of :class:`Part`: all pieces, row by row, as one tile."""

    name = "tile.join"
    operands = (operand("parts", TILE, "variadic"),)
    results = (result(TILE),)
    attributes = (attribute("pieces", "ints"),)

    @classmethod
    def build(cls, parts: list[ir.Value], pieces: tuple[int, int]) -> ir.Value:
        type_ = tile_type(parts[0])
        shape_ = tuple(extent * count for extent, count in zip(type_.shape, pieces, strict=True))
        return cls.create([parts], [TileType(shape_, type_.dtype, type_.layout).mlir()], pieces=pieces).result

    @classmethod
    def check(cls, op: ir.Operation) -> None:
        out = tile_type(op.results[0])
        pieces = get_ints(op, "pieces") or ()
        if len(pieces) != 2 or len(op.operands) != pieces[0] * pieces[1]:
            raise fail(op, "a join takes rows x columns pieces", got=f"{len(op.operands)} for {pieces}")
        for part in op.operands:
            _check_pieces(op, out, tile_type(part))


def _check_pieces(op: ir.Operation, whole: TileType, piece: TileType) -> None:
    pieces = get_ints(op, "pieces") or ()
    if whole.rank != 2 or len(pieces) != 2:
        raise fail(op, "only a 2-D tile has pieces", got=str(whole))
    expected = TileType((whole.shape[0] // pieces[0], whole.shape[1] // pieces[1]), whole.dtype, whole.layout)
    if piece != expected:
        raise fail(op, "a piece has the wrong type", expected=str(expected), got=str(piece))
