"""Reductions along an axis that wavefronts share: part of `insert-buffer-loads`.

Each wavefront reduces its own part and writes the result as a row of an LDS tile; then all of them read every row and
reduce those. Where no wavefronts share the axis a reduction needs nothing.
"""

from __future__ import annotations

from dataclasses import replace

from mlir import ir

from hkc.dialect.irdl import get_int, get_str
from hkc.dialect.locations import location_of
from hkc.dialect.ops import LdsAlloc, LdsRead, LdsSlot, LdsWrite, Reduce, ReduceParts, Wait
from hkc.dialect.types import tile_type
from hkc.dialect.verify import walk
from hkc.passes import scalars as s
from hkc.passes.layouts import parse_layout
from hkc.passes.rebuild import body_of


def split_reductions(function: ir.Operation) -> None:
    """Rewrites every reduction across wavefronts."""
    for op in list(walk(function)):
        if op.name == Reduce.name:
            axis = get_int(op, "axis") or 0
            split = parse_layout(tile_type(op.operands[0]).layout or "").split[axis]
            if split.count > 1:
                _split(function, op, axis)


def _split(function: ir.Operation, op: ir.Operation, axis: int) -> None:
    kind, result = get_str(op, "kind") or "", tile_type(op.results[0])
    shared = parse_layout(tile_type(op.operands[0]).layout or "").split[axis]
    whole = parse_layout(result.layout or "")
    own = replace(whole, split=(shared, whole.split[1])).text()
    with ir.InsertionPoint.at_block_begin(body_of(function)), location_of(op):
        lds = LdsAlloc.build(1, shared.count, result.shape[0], result.dtype)
    with ir.InsertionPoint(op), location_of(op):
        parts = ReduceParts.build(op.operands[0], kind, axis, shared.count, own)
        slot = LdsSlot.build(lds, s.value(0))
        Wait.build([LdsWrite.build(parts, slot)])
        rows = LdsRead.build(slot, whole.text())
        combined = Reduce.build(rows, kind, 0, whole.text())
    op.results[0].replace_all_uses_with(combined)
    op.erase()
