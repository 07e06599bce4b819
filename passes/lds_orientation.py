"""LDS tiles that lie column by column: part of `insert-buffer-loads`.

A matmul takes runs along k. Where a tile's rows run across k (a transposed operand), its readers hold runs down the
columns, and the target can't transpose while it reads LDS, the tile is kept column by column: every lane loads a small
block by runs along rows, transposes it in registers and writes runs down columns, so that reads are as wide as those of
an operand that was never transposed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

from mlir import ir

from hkc.dialect.ops import BufferLoad, LdsAlloc, LdsRead, LdsReadPart, LdsSlot, LdsWrite, Load, MaskedLoad
from hkc.dialect.types import TileType, lds_type, tile_type
from hkc.dialect.verify import walk
from hkc.errors import InternalError
from hkc.passes.access import longest_run, plain_type
from hkc.passes.layouts import block_layouts, parse_layout
from hkc.passes.swizzle import COLUMNS, parse_swizzle, reads_transposed
from hkc.passes.swizzle_solver import COALESCED, Access, solve, unavoidable
from hkc.targets import Target

# Layouts of a staged copy that are tried for one without conflicts: later ones need many more accesses.
MOST_TRIED = 8


def orient(function: ir.Operation, target: Target) -> None:
    """Marks the LDS tiles that lie column by column, and loads what is written to them in blocks."""
    for op in list(walk(function)):
        if op.name == LdsAlloc.name and lds_type(op.results[0]).layout is None and _read_down(op.results[0], target):
            set_layout(op.results[0], COLUMNS)
            for slot in slots_of(op.results[0]):
                for use in slot.uses:
                    _load_in_blocks(use.owner.operation, op.results[0], target)


def slots_of(lds: ir.Value) -> Iterator[ir.Value]:
    """The slots of an LDS allocation."""
    for use in lds.uses:
        if use.owner.operation.name == LdsSlot.name:
            yield use.owner.operation.results[0]


def set_layout(lds: ir.Value, layout: str) -> None:
    """Gives an LDS allocation and its slots a layout."""
    for value in (lds, *slots_of(lds)):
        value.set_type(replace(lds_type(value), layout=layout).mlir())


def accesses_of(lds: ir.Value) -> tuple[Access, ...]:
    """How an LDS allocation is read and written, each way once."""
    found = set()
    for slot in slots_of(lds):
        for use in slot.uses:
            op = use.owner.operation
            if op.name in (LdsRead.name, LdsReadPart.name):
                found.add(Access(tile_type(op.results[0]).layout or ""))
            elif op.name == LdsWrite.name:
                found.add(Access(tile_type(op.operands[0]).layout or "", write=True))
    return tuple(sorted(found, key=lambda access: (access.write, access.layout)))


def _reads(lds: ir.Value) -> tuple[Access, ...]:
    return tuple(access for access in accesses_of(lds) if not access.write)


def _read_down(lds: ir.Value, target: Target) -> bool:
    """Whether the tile is read, and only in runs down its columns by reads that can't transpose."""
    item_bytes = lds_type(lds).dtype.bytes
    reads = [parse_layout(access.layout) for access in _reads(lds)]
    down = all(layout.side_by_side() == 1 and (1, 0) in layout.items for layout in reads)
    return bool(reads) and down and not any(reads_transposed(layout, item_bytes, target) for layout in reads)


def _load_in_blocks(write: ir.Operation, lds: ir.Value, target: Target) -> None:
    """Loads what an op writes to LDS in the blocks' layout, by the same wavefronts, if the loads serve that alone."""
    if write.name != LdsWrite.name:
        return
    split = parse_layout(tile_type(write.operands[0]).layout or "").split
    type_ = staged_type(lds, split[0].count * split[1].count, target)
    for value in _web(write.operands[0]) or ():
        value.set_type(type_.mlir())


def _web(start: ir.Value) -> set[ir.Value] | None:
    """The values that a tile to be written may be, through what loops carry: None if one is no load's, or is used for
    anything else."""
    found: set[ir.Value] = set()
    work = [start]
    while work:
        value = work.pop()
        if value in found:
            continue
        found.add(value)
        if not isinstance(value, ir.BlockArgument) and value.owner.name in _LOADS:
            pass
        elif (carried := _carried(value)) is not None:
            work += carried
        else:
            return None
        for use in value.uses:
            user, index = use.owner.operation, use.operand_number
            if user.name == "scf.for" and index >= _BOUNDS:
                work.append(user.results[index - _BOUNDS])
            elif user.name == "scf.yield" and user.parent.operation.name == "scf.for":
                work.append(user.parent.operation.results[index])
            elif user.name != LdsWrite.name:
                return None
    return found


_LOADS = frozenset(op.name for op in (Load, MaskedLoad, BufferLoad))
_BOUNDS = 3  # operands of an scf.for before those that it carries: low, high, step


def _carried(value: ir.Value) -> list[ir.Value] | None:
    """Everything that stands for one value carried by a loop, None for any other value."""
    if isinstance(value, ir.BlockArgument):
        loop, index = value.owner.owner.operation, value.arg_number - 1
    else:
        loop = value.owner.operation
        index = next(i for i, result in enumerate(loop.results) if result == value)
    if loop.name != "scf.for" or index < 0:
        return None
    block = loop.regions[0].blocks[0]
    end = list(block.operations)[-1].operation
    return [loop.operands[index + _BOUNDS], block.arguments[index + 1], end.operands[index], loop.results[index]]


def staged_type(lds: ir.Value, waves: int, target: Target) -> TileType:
    """The register tile in which a copy to a slot of ``lds`` travels: wide loads, wide LDS writes without conflicts
    where there are such."""
    whole = lds_type(lds)
    type_ = TileType(whole.shape[1:], whole.dtype)
    if not parse_swizzle(whole.layout).columns:
        return plain_type(type_, waves, target)
    reads, item_bytes = _reads(lds), type_.dtype.bytes
    layouts = block_layouts(type_.shape, waves, longest_run(type_, target), COALESCED // item_bytes)
    bound = unavoidable(reads, type_.shape, item_bytes, target, columns=True)
    tried = []
    for layout in islice(layouts, MOST_TRIED):
        access = Access(layout.text(), write=True)
        extra = solve((*reads, access), type_.shape, item_bytes, target, columns=True).extra
        if extra <= bound:
            return replace(type_, layout=layout.text())
        tried.append((extra, layout.text()))
    if not tried:
        raise InternalError(f"a {type_} can't be spread over {waves} wavefronts")
    return replace(type_, layout=min(tried, key=lambda entry: entry[0])[1])
