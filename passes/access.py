"""How tiles of global memory are reached: which accesses may be wide, which go element by element."""

from __future__ import annotations

from dataclasses import replace

from mlir import ir

from hkc.dialect.ops import Aligned, Dim
from hkc.dialect.types import TileType
from hkc.dtypes import DType
from hkc.errors import InternalError
from hkc.passes import scalars as s
from hkc.passes.layouts import distribute, plain_layout
from hkc.targets import Target

# On copies and buffer loads that a schedule makes: all rows of the tile are inside the view.
WHOLE = "tile.whole"
# Buffer accesses of a dword or more ignore the address's two low bits: AMD CDNA3 ISA 9.1.
DWORD = 4


def element_alignment(dtype: DType) -> int:
    """Elements in a dword: offsets along a row must be multiples of it."""
    return max(1, DWORD // dtype.bytes)


def longest_run(type_: TileType, target: Target) -> int:
    """Items of the widest global access."""
    return target.widest_access // type_.dtype.bytes


def plain_type(type_: TileType, waves: int, target: Target) -> TileType:
    """The tile in the `rows` layout that moves it by the widest accesses."""
    layout = plain_layout(type_.shape, waves, longest_run(type_, target))
    if layout is None:
        raise InternalError(f"a {type_} can't be spread over {waves} wavefronts")
    return replace(type_, layout=layout.text())


def accesses(type_: TileType) -> int:
    """Buffer accesses of one lane that move a laid-out tile: one for each run of a fragment along its rows."""
    dist = distribute(type_.layout or "", type_.shape)
    return len(dist.fragments) * dist.layout.items_per_fragment // dist.layout.side_by_side()


def may_be_wide(view: ir.Value, offsets: list[ir.Value], type_: TileType) -> ir.Value:
    """An i1, the same for all lanes: the whole tile's columns are inside an aligned view (rows may run out)."""
    last = len(offsets) - 1
    align = element_alignment(type_.dtype)
    fine: list[s.Condition] = [Aligned.build(view, type_.shape[0] if last else 1)]
    for axis, (at, extent) in enumerate(zip(offsets, type_.shape, strict=True)):
        offset = s.known(at)
        fine.append(s.holds("sge", offset, 0))
        if axis == last:
            # Not offset + extent <= size: that sum may have more than 31 bits.
            fine.append(s.compare("sle", offset, s.sub(Dim.build(view, axis), extent)))
            if align > 1:
                fine.append(s.holds("eq", s.bits(offset, 0, align.bit_length() - 1), 0))
    return s.both(fine)
