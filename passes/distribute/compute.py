"""Arithmetic of one lane: matmuls as MFMA, everything else item by item on vectors."""

from __future__ import annotations

from collections.abc import Callable
from itertools import groupby, pairwise
from operator import itemgetter

from mlir import ir
from mlir.dialects import arith, llvm, vector

from hkc.dialect import ops
from hkc.dialect.irdl import get_ints, get_str
from hkc.dialect.types import TileType, tile_type
from hkc.dtypes import DTYPES, DType
from hkc.errors import InternalError
from hkc.passes import scalars as s
from hkc.passes.distribute.distributor import Distributor, distribution, vector_type
from hkc.passes.distribute.functions import FUNCTIONS
from hkc.passes.distribute.vectors import join as join_vectors
from hkc.passes.distribute.vectors import length, pick, splat
from hkc.passes.distribute.vectors import part as items
from hkc.passes.rebuild import Handler
from hkc.passes.relayouts import places
from hkc.targets import MfmaShape

_Build = Callable[[ir.Value, ir.Value], ir.Value]

# Tile op -> arith op on floats, on integers.
_BINARY: dict[str, tuple[type, type | None]] = {
    ops.Add.name: (arith.AddFOp, arith.AddIOp),
    ops.Sub.name: (arith.SubFOp, arith.SubIOp),
    ops.Mul.name: (arith.MulFOp, arith.MulIOp),
    ops.Div.name: (arith.DivFOp, None),
    ops.Max.name: (arith.MaximumFOp, arith.MaxSIOp),
    ops.Min.name: (arith.MinimumFOp, arith.MinSIOp),
    ops.FMax.name: (llvm.MaxNumOp, None),  # arith's own are expanded to comparisons
    ops.FMin.name: (llvm.MinNumOp, None),
}
# A product and the sum it goes into may round once: no less exact, and one instruction.
_CONTRACTED = (ops.Add.name, ops.Sub.name, ops.Mul.name)
# Tile op -> LLVM intrinsic, on f32 (narrower floats are widened first).
_INTRINSIC = {
    ops.Log.name: "llvm.intr.log",
    ops.Log2.name: "llvm.intr.log2",
    ops.Sqrt.name: "llvm.intr.sqrt",
    ops.Abs.name: "llvm.intr.fabs",
}
# Predicate -> arith predicate on floats (ordered, but ne), on integers.
_COMPARE = {
    "lt": ("OLT", "slt"),
    "le": ("OLE", "sle"),
    "gt": ("OGT", "sgt"),
    "ge": ("OGE", "sge"),
    "eq": ("OEQ", "eq"),
    "ne": ("UNE", "ne"),
}


def binary(d: Distributor, op: ir.Operation) -> list[ir.Value]:
    type_, left = d.fragments(op.operands[0])
    right = d.get(op.operands[1])
    on_float, on_int = _BINARY[op.name]
    build = on_float if type_.dtype.is_float else on_int
    if build is None:
        raise InternalError(f"{op.name} on {type_}")
    made = [build(a, b) for a, b in zip(left, right, strict=True)]
    if op.name in _CONTRACTED and type_.dtype.is_float:
        for inner in made:
            inner.operation.attributes["fastmath"] = ir.Attribute.parse("#arith.fastmath<contract>")
    return [inner.result for inner in made]


def fma(d: Distributor, op: ir.Operation) -> list[ir.Value]:
    type_, left = d.fragments(op.operands[0])
    triples = zip(left, *(d.get(v) for v in list(op.operands)[1:]), strict=True)
    return [_fused(list(triple), type_.dtype) for triple in triples]


def _fused(operands: list[ir.Value], dtype: DType) -> ir.Value:
    """In f32 for bf16, which has no instruction: the product of two is exact there, so the sum rounds once, then to
    bf16."""
    if dtype.name != "bf16":
        return ir.Operation.create("llvm.intr.fma", results=[operands[0].type], operands=operands).result
    wide = [arith.ExtFOp(vector_type(length(v), DTYPES["f32"]), v).result for v in operands]
    return arith.TruncFOp(operands[0].type, _fused(wide, DTYPES["f32"])).result


def _widened(values: list[ir.Value], dtype: DType, apply: Callable[[ir.Value], ir.Value]) -> list[ir.Value]:
    """Applies a function of f32 vectors; 8- and 16-bit floats are widened before and narrowed after."""
    if dtype.bits >= DTYPES["f32"].bits:
        return [apply(v) for v in values]
    made = []
    for v in values:
        wide = arith.ExtFOp(vector_type(length(v), DTYPES["f32"]), v).result
        made.append(arith.TruncFOp(v.type, apply(wide)).result)
    return made


def _intrinsic(name: str, operand: ir.Value) -> ir.Value:
    return ir.Operation.create(name, results=[operand.type], operands=[operand]).result


def unary(d: Distributor, op: ir.Operation) -> list[ir.Value]:
    type_, values = d.fragments(op.operands[0])
    return _widened(values, type_.dtype, lambda v: _intrinsic(_INTRINSIC[op.name], v))


def made(d: Distributor, op: ir.Operation) -> list[ir.Value]:
    """A function that is made of other instructions."""
    type_, values = d.fragments(op.operands[0])
    return _widened(values, type_.dtype, FUNCTIONS[op.name])


def negate(d: Distributor, op: ir.Operation) -> list[ir.Value]:
    return [arith.NegFOp(v).result for v in d.get(op.operands[0])]


def rsqrt(d: Distributor, op: ir.Operation) -> list[ir.Value]:
    type_, values = d.fragments(op.operands[0])
    wide = type_.dtype if type_.dtype.bits >= DTYPES["f32"].bits else DTYPES["f32"]
    one = s.constant(1.0, wide.mlir_type())

    def apply(v: ir.Value) -> ir.Value:
        return arith.DivFOp(splat(one, length(v)), _intrinsic("llvm.intr.sqrt", v)).result

    return _widened(values, type_.dtype, apply)


def compare(d: Distributor, op: ir.Operation) -> list[ir.Value]:
    type_, left = d.fragments(op.operands[0])
    on_float, on_int = _COMPARE[get_str(op, "predicate") or ""]
    made = []
    for a, b in zip(left, d.get(op.operands[1]), strict=True):
        if type_.dtype.is_float:
            made.append(arith.CmpFOp(getattr(arith.CmpFPredicate, on_float), a, b).result)
        else:
            made.append(arith.CmpIOp(getattr(arith.CmpIPredicate, on_int), a, b).result)
    return made


def select(d: Distributor, op: ir.Operation) -> list[ir.Value]:
    groups = (d.get(v) for v in op.operands)
    return [arith.SelectOp(c, a, b).result for c, a, b in zip(*groups, strict=True)]


def full(d: Distributor, op: ir.Operation) -> list[ir.Value]:
    type_ = tile_type(op.results[0])
    dist = distribution(type_)
    one = splat(d.one(op.operands[0]), dist.layout.items_per_fragment)
    return [one] * len(dist.fragments)


def transpose(d: Distributor, op: ir.Operation) -> list[ir.Value]:
    """The same vectors: a fragment's transpose is where the flipped layout says."""
    source, vectors = d.fragments(op.operands[0])
    at = dict(zip(distribution(source).fragments, vectors, strict=True))
    return [at[column, row] for row, column in distribution(tile_type(op.results[0])).fragments]


def relayout(d: Distributor, op: ir.Operation) -> list[ir.Value]:
    """Each lane's elements in the other layout's order."""
    source, vectors = d.fragments(op.operands[0])
    dist = distribution(tile_type(op.results[0]))
    count = distribution(source).layout.items_per_fragment
    at = {place: divmod(index, count) for index, place in enumerate(places(distribution(source)))}
    wanted = [at[place] for place in places(dist)]
    size = dist.layout.items_per_fragment
    return [_collected(vectors, wanted[first : first + size]) for first in range(0, len(wanted), size)]


def _collected(vectors: list[ir.Value], wanted: list[tuple[int, int]]) -> ir.Value:
    """A vector of items, each given by its vector and place; those of one vector that follow each other go together."""
    groups = [list(group) for _, group in groupby(wanted, key=itemgetter(0))]
    if len({len(group) for group in groups}) > 1:
        groups = [[entry] for entry in wanted]
    return join_vectors([pick(vectors[group[0][0]], [place for _, place in group]) for group in groups])


def part(d: Distributor, op: ir.Operation) -> list[ir.Value]:
    source, vectors = d.fragments(op.operands[0])
    dist = distribution(source)
    at = dict(zip(dist.fragments, vectors, strict=True))
    pieces, piece = get_ints(op, "pieces") or (1, 1), get_ints(op, "piece") or (0, 0)
    return [at[fragment] for fragment in dist.piece((pieces[0], pieces[1]), (piece[0], piece[1]))]


def join(d: Distributor, op: ir.Operation) -> list[ir.Value]:
    dist = distribution(tile_type(op.results[0]))
    rows, columns = get_ints(op, "pieces") or (1, 1)
    at: dict[tuple[int, int], ir.Value] = {}
    for index, operand in enumerate(op.operands):
        places = dist.piece((rows, columns), (index // columns, index % columns))
        at.update(zip(places, d.get(operand), strict=True))
    return [at[fragment] for fragment in dist.fragments]


def _cast_op(source: DType, target: DType) -> type | None:
    """The arith op from one element type to another; None where it takes two steps."""
    if source.is_float and target.is_float:
        if source.bits == target.bits:
            return None
        return arith.ExtFOp if target.bits > source.bits else arith.TruncFOp
    if source.is_float:
        return arith.FPToSIOp
    unsigned = source.kind == "bool"
    if target.is_float:
        return arith.UIToFPOp if unsigned else arith.SIToFPOp
    if target.bits > source.bits:
        return arith.ExtUIOp if unsigned else arith.ExtSIOp
    return arith.TruncIOp


def cast(d: Distributor, op: ir.Operation) -> list[ir.Value]:
    source, values = d.fragments(op.operands[0])
    target = tile_type(op.results[0]).dtype
    if source.dtype == target:
        return values
    if target.kind == "bool":
        return [_nonzero(v, source.dtype) for v in values]
    steps = [source.dtype, target]
    if _cast_op(source.dtype, target) is None:
        steps.insert(1, DTYPES["f32"])
    for before, after in pairwise(steps):
        build = _cast_op(before, after)
        assert build is not None
        values = [build(vector_type(length(v), after), v).result for v in values]
    return values


# f32 and bf16 as bits: IEEE 754 binary32's upper half is a bf16.
_HALF_BITS, _BELOW_HALF = 16, 0x7FFF


def narrow(d: Distributor, op: ir.Operation) -> list[ir.Value]:
    """Where nothing converts to bf16: half of the dropped bits' range, and one more for an odd result, is added to the
    bits, whose upper half remains. (A NaN with the largest payload would carry into its sign.)"""
    source, values = d.fragments(op.operands[0])
    if source.dtype.name != "f32" or tile_type(op.results[0]).dtype.name != "bf16" or d.target.converts_bf16:
        return cast(d, op)
    return [_upper_half(v) for v in values]


def _upper_half(value: ir.Value) -> ir.Value:
    count = length(value)
    words, halves = (ir.VectorType.get([count], ir.IntegerType.get_signless(bits)) for bits in (32, 16))
    bits = arith.BitcastOp(words, value).result

    def constant(number: int) -> ir.Value:
        return splat(s.constant(number, s.i32()), count)

    upper = arith.ShRUIOp(bits, constant(_HALF_BITS)).result
    odd = arith.AndIOp(upper, constant(1)).result
    rounded = arith.AddIOp(arith.AddIOp(bits, odd).result, constant(_BELOW_HALF)).result
    narrow_bits = arith.TruncIOp(halves, arith.ShRUIOp(rounded, constant(_HALF_BITS)).result).result
    return arith.BitcastOp(vector_type(count, DTYPES["bf16"]), narrow_bits).result


def _nonzero(value: ir.Value, dtype: DType) -> ir.Value:
    zero = splat(s.constant(0, dtype.mlir_type()), length(value))
    if dtype.is_float:
        return arith.CmpFOp(arith.CmpFPredicate.UNE, value, zero).result
    return arith.CmpIOp(arith.CmpIPredicate.ne, value, zero).result


def _shape(d: Distributor, type_: TileType) -> tuple[MfmaShape, int]:
    """The MFMA of a left operand's layout `a(MxNxK*PACK)` or `ad(...)`, from the target's table."""
    _, _, text = (type_.layout or "").partition("(")
    name, _, rest = text.partition("*")
    for shape in d.target.mfma_shapes(type_.dtype.name):
        if shape.name == name:
            return shape, int(rest.partition(")")[0])
    raise InternalError(f"{d.target.arch} has no MFMA for {type_.layout} of {type_.dtype.name}")


def _operand(value: ir.Value, step: int, pack: int, shape: MfmaShape) -> ir.Value:
    """One MFMA's share of a fragment, in the element type that the rocdl op takes."""
    count = length(value) // pack
    piece = items(value, step * count, count)
    wanted = ir.VectorType.get([count], ir.Type.parse(shape.operand))
    return piece if piece.type == wanted else vector.BitCastOp(wanted, piece).result


def mma(d: Distributor, op: ir.Operation) -> list[ir.Value]:
    """One MFMA a pair of fragments and k-step; operands swap where the accumulator is held transposed."""
    (a_type, a), (b_type, b), (acc_type, acc) = (d.fragments(v) for v in op.operands)
    shape, pack = _shape(d, a_type)
    rows, depth = distribution(a_type).grid()
    columns = distribution(b_type).grid()[1]
    swapped = (acc_type.layout or "").startswith("ds(")
    acc = list(acc)
    zero = d.constant(0)
    for k in range(depth):
        for step in range(pack):
            left = [_operand(a[row * depth + k], step, pack, shape) for row in range(rows)]
            right = [_operand(b[k * columns + column], step, pack, shape) for column in range(columns)]
            for row in range(rows):
                for column in range(columns):
                    pair = (right[column], left[row]) if swapped else (left[row], right[column])
                    at = row * columns + column
                    acc[at] = ir.Operation.create(
                        shape.op, results=[acc[at].type], operands=[*pair, acc[at], zero, zero, zero]
                    ).result
    return acc


HANDLERS: dict[str, Handler] = {
    **dict.fromkeys(_BINARY, binary),
    **dict.fromkeys(_INTRINSIC, unary),
    **dict.fromkeys(FUNCTIONS, made),
    ops.Neg.name: negate,
    ops.Rsqrt.name: rsqrt,
    ops.Compare.name: compare,
    ops.Select.name: select,
    ops.Full.name: full,
    ops.Transpose.name: transpose,
    ops.Fma.name: fma,
    ops.Relayout.name: relayout,
    ops.Cast.name: cast,
    ops.Narrow.name: narrow,
    ops.Mma.name: mma,
    ops.Part.name: part,
    ops.Join.name: join,
}
