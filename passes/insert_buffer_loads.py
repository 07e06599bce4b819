"""`insert-buffer-loads`: global memory is reached by buffer loads and stores, matmul operands through LDS.

1. Matmul operands are staged through LDS, their copies pipelined (``staging.py``).
2. Copies become LDS-direct loads where the target has 16-byte ones, else buffer loads and LDS writes
   (``register_staging.py``).
3. Every other load and store is split into a wide path and one that goes element by element, chosen at run time by a
   condition that is the same for the whole workgroup.
4. Each LDS tile gets the swizzle that the solver finds for its readers and writers (``swizzle.py``), and the sum is
   checked against the target's LDS.
"""

from __future__ import annotations

from dataclasses import replace

from mlir import ir
from mlir.dialects import scf

from hkc.dialect.irdl import get_ints
from hkc.dialect.locations import location_of, name_of, place_of, span_of
from hkc.dialect.ops import (
    BufferLoad,
    BufferStore,
    LdsAlloc,
    LdsRead,
    LdsReadPart,
    LdsSlot,
    LdsWrite,
    Load,
    MaskedLoad,
    MaskedStore,
    Store,
)
from hkc.dialect.types import lds_type, tile_type
from hkc.dialect.verify import walk
from hkc.errors import HkcError, Span
from hkc.passes.access import may_be_wide
from hkc.passes.rebuild import kernel_of
from hkc.passes.register_staging import slot_source, stage_through_registers
from hkc.passes.staging import stage_operands
from hkc.passes.supported import check_registers
from hkc.passes.swizzle import Access, solve
from hkc.targets import Target

CONFLICTS = "tile.lds_conflicts"


def insert_buffer_loads(module: ir.Module, target: Target) -> None:
    """Runs the four steps of the module's text."""
    function = kernel_of(module)
    grid = get_ints(function, "tile.waves") or (1, 1)
    waves = grid[0] * grid[1]
    stage_operands(module, waves, target)
    stage_through_registers(module, waves, target)
    for op in list(walk(function)):
        if op.name == Load.name:
            _split_load(op)
        elif op.name == Store.name:
            _split_store(op)
    _swizzle(function, target)
    _check_budget(function, target)
    check_registers(walk(function), target)


def _split_load(op: ir.Operation) -> None:
    view, *offsets = list(op.operands)
    type_ = tile_type(op.results[0])
    with ir.InsertionPoint(op), place_of(op):
        inside = may_be_wide(view, offsets, type_)
    with ir.InsertionPoint(op), location_of(op):
        branch = scf.IfOp(inside, [type_.mlir()], has_else=True)
        with ir.InsertionPoint(branch.then_block):
            scf.YieldOp([BufferLoad.build(view, offsets, type_)])
        with ir.InsertionPoint(branch.else_block):
            scf.YieldOp([MaskedLoad.build(view, offsets, type_)])
    op.results[0].replace_all_uses_with(branch.operation.results[0])
    op.erase()


def _split_store(op: ir.Operation) -> None:
    tile, view, *offsets = list(op.operands)
    with ir.InsertionPoint(op), location_of(op):
        branch = scf.IfOp(may_be_wide(view, offsets, tile_type(tile)), [], has_else=True)
        with ir.InsertionPoint(branch.then_block):
            BufferStore.build(tile, view, offsets)
            scf.YieldOp([])
        with ir.InsertionPoint(branch.else_block):
            MaskedStore.build(tile, view, offsets)
            scf.YieldOp([])
    op.erase()


def _swizzle(function: ir.Operation, target: Target) -> None:
    """Chooses each LDS tile's swizzle; the conflicts left over are noted on its allocation."""
    accesses: dict[ir.Value, set[Access]] = {}
    slots: dict[ir.Value, list[ir.Value]] = {}
    for op in walk(function):
        if op.name == LdsSlot.name:
            slots.setdefault(op.operands[0], []).append(op.results[0])
        elif op.name in (LdsRead.name, LdsReadPart.name):
            lds, _ = slot_source(op.operands[0])
            accesses.setdefault(lds, set()).add(Access(tile_type(op.results[0]).layout or ""))
        elif op.name == LdsWrite.name:
            lds, _ = slot_source(op.operands[1])
            accesses.setdefault(lds, set()).add(Access(tile_type(op.operands[0]).layout or "", write=True))
    for lds, found in accesses.items():
        type_ = lds_type(lds)
        if type_.layout is not None:
            continue
        ordered = tuple(sorted(found, key=lambda a: (a.write, a.layout)))
        swizzle, conflicts = solve(ordered, type_.shape[-1], type_.dtype.bytes, target)
        lds.set_type(replace(type_, layout=swizzle.text()).mlir())
        lds.owner.attributes[CONFLICTS] = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), conflicts)
        for slot in slots.get(lds, []):
            slot.set_type(replace(lds_type(slot), layout=swizzle.text()).mlir())


def _check_budget(function: ir.Operation, target: Target) -> None:
    """Raises HkcError, naming the tiles, if they don't fit into LDS together."""
    sizes: list[tuple[int, str, Span | None]] = []
    for op in walk(function):
        if op.name == LdsAlloc.name:
            type_ = lds_type(op.results[0])
            size = type_.elements * type_.dtype.bytes
            buffers, rows, columns = type_.shape
            name = name_of(op) or "a tile"
            text = f"{name}: {buffers} x {rows}x{columns} {type_.dtype.name} = {size} bytes"
            sizes.append((size, text, span_of(op)))
    total = sum(size for size, _, _ in sizes)
    if total <= target.lds_bytes:
        return
    sizes.sort(key=lambda entry: -entry[0])
    raise HkcError(
        f"the tiles need {total} bytes of LDS, {target.arch} has {target.lds_bytes}",
        sizes[0][2],
        expected=f"at most {target.lds_bytes} bytes",
        got=f"{total} bytes",
        notes=[(text, span) for _, text, span in sizes],
        hint="make the tiles smaller, or use fewer stages",
    )
