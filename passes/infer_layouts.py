"""`infer-layouts`: every tile gets a register layout.

Matmuls fix the layouts of their operands and accumulators; element-wise ops, casts, loops and branches keep one
layout; a transpose flips it. What nothing fixes is `rows`. Tiles that must share a layout form a class (union-find
with a "transposed" parity); a class with two different fixed layouts is an error that names both uses. A vector that
a tile is reduced to, or that is broadcast over one, is a slice of that tile's layout.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from mlir import ir

from hkc.dialect.irdl import get_int
from hkc.dialect.locations import span_of
from hkc.dialect.types import TileType, tile_type, try_parse_type
from hkc.dialect.verify import walk
from hkc.errors import HkcError
from hkc.passes.chained_matmuls import Chained, separate
from hkc.passes.layouts import flip, slice_kind
from hkc.passes.rebuild import kernel_of
from hkc.passes.schedules import schedule_around
from hkc.passes.supported import check_elements
from hkc.targets import MfmaShape, Target

PLAIN = "rows"


@dataclass(frozen=True)
class Anchor:
    """A layout that an op demands of a value."""

    layout: str
    use: ir.Operation
    role: str


@dataclass(frozen=True)
class Slice:
    """A vector that lies along ``axis`` of a tile."""

    vector: ir.Value
    tile: ir.Value
    axis: int
    use: ir.Operation


class Classes:
    """Union-find over values; each value is its root's layout, transposed or not, or a slice of a tile's."""

    def __init__(self) -> None:
        self.parent: dict[ir.Value, tuple[ir.Value, bool]] = {}
        self.anchors: dict[ir.Value, Anchor] = {}
        self.slices: list[Slice] = []

    def find(self, value: ir.Value) -> tuple[ir.Value, bool]:
        flipped = False
        while value in self.parent:
            value, more = self.parent[value]
            flipped ^= more
        return value, flipped

    def unite(self, first: ir.Value, second: ir.Value, transposed: bool = False) -> None:
        """``second`` lies like ``first`` (transposed)."""
        (a, a_flip), (b, b_flip) = self.find(first), self.find(second)
        if a == b:
            return
        self.parent[b] = (a, a_flip ^ b_flip ^ transposed)
        if b in self.anchors:
            anchor = self.anchors.pop(b)
            if self.parent[b][1]:
                anchor = replace(anchor, layout=flip(anchor.layout))
            self._fix(a, anchor)

    def fix(self, value: ir.Value, anchor: Anchor) -> None:
        """``value`` must have the anchor's layout."""
        root, flipped = self.find(value)
        self._fix(root, replace(anchor, layout=flip(anchor.layout)) if flipped else anchor)

    def _fix(self, root: ir.Value, anchor: Anchor) -> None:
        known = self.anchors.setdefault(root, anchor)
        if known.layout != anchor.layout:
            raise HkcError(
                f"one tile is needed in two layouts: as {known.role} and as {anchor.role}",
                span_of(anchor.use),
                expected=known.layout,
                got=anchor.layout,
                notes=[(f"used here as {known.role}", span_of(known.use))],
                hint="load the tile again for the second use, or pass it through LDS: write(x, s[0]) ... read(s[0])",
            )

    def slices_of(self, value: ir.Value) -> list[Slice]:
        """The tiles that a vector is a slice of."""
        root, _ = self.find(value)
        return [known for known in self.slices if self.find(known.vector)[0] == root]

    def layout(self, value: ir.Value) -> str:
        root, flipped = self.find(value)
        if root not in self.anchors and (slices := self.slices_of(value)):
            return slice_kind(self.layout(slices[0].tile), slices[0].axis)
        layout = self.anchors[root].layout if root in self.anchors else PLAIN
        return flip(layout) if flipped else layout


def choose_mfma(op: ir.Operation, target: Target, chained: bool = False) -> tuple[MfmaShape, int]:
    """The MFMA for a matmul, and how many k-steps a lane's operand holds side by side. In a chain the largest: what is
    done to the accumulators in between costs the same for either, the operand reads less.

    Raises HkcError if no shape of the target's table divides the tiles.
    """
    a, b, _ = (tile_type(v) for v in op.operands)
    m, n, k = a.shape[0], b.shape[1], a.shape[1]
    shapes = target.mfma_shapes(a.dtype.name)
    if not shapes:
        known = sorted({s.dtype for s in target.mfma})
        raise HkcError(
            f"{target.arch} has no MFMA for {a.dtype.name} operands here",
            span_of(op),
            expected=" or ".join(known),
            got=a.dtype.name,
            hint="convert the operands, e.g. x.to(bf16)",
        )
    if chained:
        shapes = tuple(sorted(shapes, key=lambda shape: -shape.m * shape.n))
    elif schedule := schedule_around(op):
        shapes = schedule.mfma_order(shapes, m, n)
    for shape in shapes:
        if m % shape.m == 0 and n % shape.n == 0 and k % shape.k == 0:
            held = shape.k * shape.m // target.wavefront * a.dtype.bytes
            pack = max(1, target.widest_lds_access // held)
            return shape, pack if k % (shape.k * pack) == 0 else 1
    raise HkcError(
        f"no MFMA shape divides a {m}x{k} @ {k}x{n} matmul of {a.dtype.name}",
        span_of(op),
        expected=" or ".join(f"multiples of {s.name} (m x n x k)" for s in shapes),
        got=f"{m}x{n}x{k}",
        hint="make the tile sizes multiples of 16",
    )


def _relate(op: ir.Operation, classes: Classes) -> None:
    """Unites the values that an op forces into one layout."""
    name = op.name
    if name == "scf.for":
        block = op.regions[0].blocks[0]
        end = list(block.operations)[-1].operation
        groups = zip(list(op.operands)[3:], list(block.arguments)[1:], end.operands, op.results, strict=True)
        for group in groups:
            _unite_tiles(list(group), classes)
    elif name == "scf.if":
        ends = [list(region.blocks[0].operations)[-1].operation for region in op.regions if len(region.blocks)]
        for index, result in enumerate(op.results):
            _unite_tiles([result, *(end.operands[index] for end in ends)], classes)
    elif name == "tile.transpose":
        classes.unite(op.operands[0], op.results[0], transposed=True)
    elif name == "tile.rescale":
        source, factors = op.operands
        classes.unite(source, op.results[0])
        classes.slices.append(Slice(factors, source, 0, op))
    elif name in ("tile.reduce", "tile.broadcast"):
        axis = get_int(op, "axis") or 0
        source, out = op.operands[0], op.results[0]
        reduced = name == "tile.reduce"
        vector, tile = (out, source) if reduced else (source, out)
        classes.slices.append(Slice(vector, tile, 1 - axis if reduced else axis, op))
    elif (
        name.startswith("tile.")
        and name not in ("tile.mma", "tile.relayout")
        and len(op.results) == 1
        and _is_tile(op.results[0])
    ):
        _unite_tiles([op.results[0], *op.operands], classes)


def _is_tile(value: ir.Value) -> bool:
    return isinstance(try_parse_type(value.type), TileType)


def _unite_tiles(values: list[ir.Value], classes: Classes) -> None:
    tiles = [v for v in values if _is_tile(v)]
    for other in tiles[1:]:
        classes.unite(tiles[0], other)


def _stored_transposed(classes: Classes, stores: list[ir.Value], root: ir.Value) -> bool:
    """Whether most stores of a class take it transposed with respect to its root."""
    flips = [flipped for found, flipped in map(classes.find, stores) if found == root]
    return sum(flips) * 2 > len(flips)


def _wanted_by_chains(classes: Classes, chains: list[Chained], root: ir.Value) -> bool | None:
    """Whether matmuls of a class want lanes to hold columns of its root; None if there are none."""
    for chain in chains:
        found, flipped = classes.find(chain.source)
        if found == root:
            return chain.wants_columns ^ flipped
    return None


def layout_classes(ops: list[ir.Operation]) -> Classes:
    """The classes of a kernel's ops, with no layout demanded yet."""
    classes = Classes()
    for op in ops:
        _relate(op, classes)
        if op.name == "tile.mma":
            classes.unite(op.operands[2], op.results[0])
    return classes


def infer_layouts(module: ir.Module, target: Target) -> None:
    """Puts a layout into the type of every tile (see the module's text)."""
    ops = list(walk(kernel_of(module)))
    check_elements(ops, target)
    classes = layout_classes(ops)
    matmuls = [op for op in ops if op.name == "tile.mma"]
    stores = [op.operands[0] for op in ops if op.name == "tile.store"]
    chains = separate(matmuls, lambda value: classes.find(value)[0])
    chained = {chain.matmul for chain in chains}
    for op in matmuls:
        shape, pack = choose_mfma(op, target, bool(chains))
        root, flipped = classes.find(op.results[0])
        # Runs of D lie along columns unless the tile is mostly stored transposed: stores are widest so.
        columns = _wanted_by_chains(classes, chains, root)
        if columns is None:
            columns = _stored_transposed(classes, stores, root)
        kind = "d" if columns ^ flipped else "ds"
        order = "d" if op in chained else ""
        classes.fix(op.results[0], Anchor(f"{kind}({shape.m}x{shape.n})", op, "an accumulator"))
        classes.fix(op.operands[0], Anchor(f"a{order}({shape.name}*{pack})", op, "a left operand"))
        classes.fix(op.operands[1], Anchor(f"b{order}({shape.name}*{pack})", op, "a right operand"))
    for op in walk(kernel_of(module)):
        for value in (*op.results, *(a for r in op.regions for b in r.blocks for a in b.arguments)):
            type_ = try_parse_type(value.type)
            if isinstance(type_, TileType):
                value.set_type(replace(type_, layout=classes.layout(value)).mlir())
