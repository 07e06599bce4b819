"""Reductions, broadcasts and index tiles of one lane."""

from __future__ import annotations

from collections.abc import Callable

from mlir import ir
from mlir.dialects import arith, llvm, scf

from hkc.dialect.irdl import get_int, get_str
from hkc.dialect.ops import Broadcast, Index, LaneSwap, Reduce, ReduceParts, Rescale
from hkc.dialect.types import TileType, tile_type
from hkc.dtypes import DTYPES, DType
from hkc.passes import scalars as s
from hkc.passes.distribute.distributor import Distributor, distribution, vector_type
from hkc.passes.distribute.vectors import gather, item, length, pick, splat
from hkc.passes.layouts import LANE_BITS, Distribution
from hkc.passes.rebuild import Handler

# What has an instruction of three operands: CDNA3 ISA 12.11, V_MAX3_F32 and the like.
_TERNARY = ("fmax", "fmin")
_Combine = Callable[[ir.Value, ir.Value], ir.Value]

# Reduction -> arith op on floats, on integers.
_COMBINE: dict[str, tuple[type, type]] = {
    "sum": (arith.AddFOp, arith.AddIOp),
    "prod": (arith.MulFOp, arith.MulIOp),
    "max": (arith.MaximumFOp, arith.MaxSIOp),
    "min": (arith.MinimumFOp, arith.MinSIOp),
    "fmax": (llvm.MaxNumOp, arith.MaxSIOp),  # arith's own are expanded to comparisons
    "fmin": (llvm.MinNumOp, arith.MinSIOp),
}


def _combiner(kind: str, dtype: DType) -> _Combine:
    on_float, on_int = _COMBINE[kind]
    build = on_float if dtype.is_float else on_int
    return lambda a, b: build(a, b).result


def _accumulated(dtype: DType) -> DType:
    """The type that elements are combined in."""
    wide = DTYPES["f32"] if dtype.is_float else DTYPES["i32"]
    return wide if dtype.bits < wide.bits else dtype


def _lines(dist: Distribution, axis: int, vectors: list[ir.Value]) -> list[list[ir.Value]]:
    """A wavefront's fragments, grouped by their place on the axis that stays."""
    lines: dict[int, list[ir.Value]] = {}
    for fragment, vector in zip(dist.fragments, vectors, strict=True):
        lines.setdefault(fragment[1 - axis], []).append(vector)
    return list(lines.values())


def _tree(vectors: list[ir.Value], dist: Distribution, axis: int, combine: _Combine) -> ir.Value:
    """Whole vectors first: packed instructions combine two items each."""
    whole = vectors[0]
    for vector in vectors[1:]:
        whole = combine(whole, vector)
    return _fold_items(whole, dist, axis, combine)


def _chain(vectors: list[ir.Value], dist: Distribution, axis: int, combine: _Combine) -> ir.Value:
    """Item after item, two at a time: v_max3 and v_min3 take three operands."""
    gone = sum(1 << bit for bit, step in enumerate(dist.layout.items) if step[axis])
    results = []
    for kept in range(length(vectors[0])):
        if kept & gone:
            continue
        items = [item(v, i) for v in vectors for i in range(length(v)) if i & ~gone == kept]
        best = items[0]
        for value in items[1:]:
            best = combine(best, value)
        results.append(best)
    return gather(results)


def _fold_items(vector: ir.Value, dist: Distribution, axis: int, combine: _Combine) -> ir.Value:
    """Combines a lane's items along ``axis``; those along the other axis stay, in order."""
    gone = [bit for bit, step in enumerate(dist.layout.items) if step[axis]]
    count = length(vector)
    for bit in reversed(gone):
        low = [i for i in range(count) if not i >> bit & 1]
        vector = combine(pick(vector, low), pick(vector, [i | 1 << bit for i in low]))
        count //= 2
    return vector


def _fold_lanes(vector: ir.Value, dist: Distribution, axis: int, d: Distributor, combine: _Combine) -> ir.Value:
    """Combines with the lanes that hold the rest of the line; afterwards all of them hold the result."""
    done = 0
    for bit in range(LANE_BITS):
        if dist.layout.lanes[bit][axis]:
            mask = 1 << bit
            # Lanes that differ in folded bits hold the same by now, so any of those bits may be flipped along.
            cheap = [m for m in d.target.lane_swaps if m & ~done == mask]
            vector = combine(vector, LaneSwap.build(vector, cheap[0] if cheap else mask))
            done |= mask
    return vector


def _converted(vectors: list[ir.Value], source: DType, target: DType) -> list[ir.Value]:
    if source == target:
        return vectors
    widen, narrow = (arith.ExtFOp, arith.TruncFOp) if source.is_float else (arith.ExtSIOp, arith.TruncIOp)
    build = widen if target.bits > source.bits else narrow
    return [build(vector_type(length(v), target), v).result for v in vectors]


def reduce(d: Distributor, op: ir.Operation) -> list[ir.Value]:
    """Fragments, then a lane's items, then lanes. Wavefronts that share the axis each get their own part's result:
    the other parts are another op's work (:mod:`hkc.passes.split_reductions`)."""
    source, vectors = d.fragments(op.operands[0])
    axis, dist = get_int(op, "axis") or 0, distribution(source)
    wide = _accumulated(source.dtype)
    kind = get_str(op, "kind") or ""
    combine = _combiner(kind, wide)
    made = []
    for line in _lines(dist, axis, vectors):
        wides = _converted(line, source.dtype, wide)
        folded = _chain(wides, dist, axis, combine) if kind in _TERNARY else _tree(wides, dist, axis, combine)
        made.append(_fold_lanes(folded, dist, axis, d, combine))
    return _converted(made, wide, source.dtype)


def broadcast(d: Distributor, op: ir.Operation) -> list[ir.Value]:
    """Each fragment takes the items of its line."""
    return _spread(distribution(tile_type(op.results[0])), get_int(op, "axis") or 0, d.get(op.operands[0]))


def _spread(dist: Distribution, axis: int, vectors: list[ir.Value]) -> list[ir.Value]:
    """A vector's fragments as those of a tile that it runs along."""
    kept = [bit for bit, step in enumerate(dist.layout.items) if step[axis]]
    sources = [
        sum((index >> bit & 1) << place for place, bit in enumerate(kept))
        for index in range(dist.layout.items_per_fragment)
    ]
    places = sorted({fragment[axis] for fragment in dist.fragments})
    spread = [pick(vector, sources) for vector in vectors]
    line = dict(zip(places, spread, strict=True))
    return [line[fragment[axis]] for fragment in dist.fragments]


def rescale(d: Distributor, op: ir.Operation) -> list[ir.Value]:
    """A branch that the whole wavefront takes or not: by one ballot whether any lane's factor is another than 1."""
    source, vectors = d.fragments(op.operands[0])
    factors = d.get(op.operands[1])
    one = s.constant(1.0, source.dtype.mlir_type())
    changed: ir.Value | None = None
    for vector in factors:
        for place in range(length(vector)):
            differs = arith.CmpFOp(arith.CmpFPredicate.UNE, item(vector, place), one).result
            changed = differs if changed is None else arith.OrIOp(changed, differs).result
    ballot = ir.Operation.create("rocdl.ballot", results=[s.i64()], operands=[changed]).result
    branch = scf.IfOp(s.compare("ne", ballot, 0), [v.type for v in vectors], has_else=True)
    with ir.InsertionPoint(branch.then_block):
        column = _spread(distribution(source), 0, factors)
        scf.YieldOp([arith.MulFOp(v, factor).result for v, factor in zip(vectors, column, strict=True)])
    with ir.InsertionPoint(branch.else_block):
        scf.YieldOp(vectors)
    return list(branch.operation.results)


def index(d: Distributor, op: ir.Operation) -> list[ir.Value]:
    """A lane's origin plus constants."""
    type_: TileType = tile_type(op.results[0])
    dist = distribution(type_)
    axis = 1 if type_.rank == 1 else get_int(op, "axis") or 0
    origin = d.value(d.origin(dist)[axis])
    steps = [step[axis] for step in dist.layout.item_steps()]
    start = splat(origin, len(steps))
    made: dict[int, ir.Value] = {}
    for fragment in dist.fragments:
        if fragment[axis] not in made:
            made[fragment[axis]] = arith.AddIOp(start, _constants([fragment[axis] + step for step in steps])).result
    return [made[fragment[axis]] for fragment in dist.fragments]


def _constants(values: list[int]) -> ir.Value:
    type_ = ir.VectorType.get([len(values)], s.i32())
    items = [ir.IntegerAttr.get(s.i32(), value) for value in values]
    return arith.ConstantOp(type_, ir.DenseElementsAttr.get(items, type_)).result


HANDLERS: dict[str, Handler] = {
    Reduce.name: reduce,
    ReduceParts.name: reduce,
    Broadcast.name: broadcast,
    Rescale.name: rescale,
    Index.name: index,
}
