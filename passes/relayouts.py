"""Tiles that change their register layout: part of `insert-buffer-loads`.

Where every lane holds the same elements in both layouts, a relayout only renumbers registers and stays an op until
`map-mfma`. Any other goes through LDS, which a remark says.
"""

from __future__ import annotations

from mlir import ir

from hkc.dialect.locations import location_of, name_of, span_of
from hkc.dialect.ops import LdsAlloc, LdsRead, LdsSlot, LdsWrite, Relayout, Wait
from hkc.dialect.types import TileType, tile_type
from hkc.dialect.verify import walk
from hkc.passes import scalars as s
from hkc.passes.layouts import Distribution, Step, as_matrix, distribute
from hkc.passes.rebuild import body_of, kernel_of
from hkc.passes.remarks import add_remark


def places(dist: Distribution) -> list[Step]:
    """The places of a lane's elements from its origin, fragment by fragment."""
    steps = dist.layout.item_steps()
    return [(row + down, column + right) for row, column in dist.fragments for down, right in steps]


def moves_nothing(source: TileType, target: TileType) -> bool:
    """Whether every lane of every wavefront holds the same elements in both layouts."""
    first, second = (distribute(t.layout or "", t.shape) for t in (source, target))
    same_lanes = (first.layout.lanes, first.layout.spread()) == (second.layout.lanes, second.layout.spread())
    return same_lanes and set(places(first)) == set(places(second))


def lower_relayouts(module: ir.Module) -> None:
    """Takes every relayout that moves elements between lanes through LDS."""
    function = kernel_of(module)
    for op in list(walk(function)):
        if op.name == Relayout.name and not moves_nothing(tile_type(op.operands[0]), tile_type(op.results[0])):
            _through_lds(module, function, op)


def _through_lds(module: ir.Module, function: ir.Operation, op: ir.Operation) -> None:
    source, result = tile_type(op.operands[0]), tile_type(op.results[0])
    name = name_of(op.operands[0]) or f"a {source.shape} tile"
    add_remark(module, f"{name} goes through LDS from {source.layout} to {result.layout}", span_of(op))
    with ir.InsertionPoint.at_block_begin(body_of(function)), location_of(op):
        lds = LdsAlloc.build(1, *as_matrix(source.shape), source.dtype)
    with ir.InsertionPoint(op), location_of(op):
        slot = LdsSlot.build(lds, s.value(0))
        Wait.build([LdsWrite.build(op.operands[0], slot)])
        read = LdsRead.build(slot, result.layout)
    op.results[0].replace_all_uses_with(read)
    op.erase()
