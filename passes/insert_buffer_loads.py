"""`insert-buffer-loads`: global memory is reached by buffer loads and stores, matmul operands through LDS.

1. Matmul operands are staged through LDS, their copies pipelined (``staging.py``).
2. Tiles that lie column by column in LDS are found (``lds_orientation.py``). Copies become LDS-direct loads where the
   target has 16-byte ones, else buffer loads and LDS writes (``register_staging.py``).
3. A load that only goes into a store shares its way (``fused_stores.py``). Every other load and store is split into
   a wide path and one that goes element by element, chosen at run time by a condition that is the same for the whole
   workgroup.
4. Reductions across wavefronts (``split_reductions.py``) and relayouts across lanes (``relayouts.py``) go through LDS.
5. Each LDS tile gets the layout that the solver finds for its readers and writers (``swizzle_solver.py``), and the sum
   is checked against the target's LDS.
"""

from __future__ import annotations

from mlir import ir
from mlir.dialects import scf

from hkc.dialect.locations import location_of, name_of, place_of, span_of
from hkc.dialect.ops import (
    BufferLoad,
    BufferStore,
    LdsAlloc,
    Load,
    MaskedLoad,
    MaskedStore,
    Store,
)
from hkc.dialect.types import LdsType, lds_type, tile_type
from hkc.dialect.verify import walk
from hkc.driver.lds_tile import LdsAccess, LdsTile
from hkc.errors import HkcError, Span
from hkc.passes.access import may_be_wide
from hkc.passes.fused_stores import fuse_stores
from hkc.passes.lds_orientation import accesses_of, orient, set_layout
from hkc.passes.lds_report import keep_lds_tiles
from hkc.passes.rebuild import kernel_of
from hkc.passes.register_staging import stage_through_registers
from hkc.passes.relayouts import lower_relayouts
from hkc.passes.roles import roles_of
from hkc.passes.split_reductions import split_reductions
from hkc.passes.staging import stage_operands
from hkc.passes.supported import check_registers
from hkc.passes.swizzle import is_chosen, parse_swizzle
from hkc.passes.swizzle_solver import Degree, degree, solve
from hkc.targets import Target


def insert_buffer_loads(module: ir.Module, target: Target) -> None:
    """Runs the steps of the module's text."""
    function = kernel_of(module)
    roles = roles_of(function)
    split_reductions(function)
    lower_relayouts(module)
    stage_operands(module, roles, target)
    orient(function, target)
    stage_through_registers(module, roles, target)
    fuse_stores(function)
    for op in list(walk(function)):
        if op.name == Load.name:
            _split_load(op)
        elif op.name == Store.name:
            _split_store(op)
    _swizzle(module, function, target)
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


def _swizzle(module: ir.Module, function: ir.Operation, target: Target) -> None:
    """Chooses each LDS tile's layout; its conflicts are noted for the report."""
    noted = []
    for op in walk(function):
        if op.name != LdsAlloc.name:
            continue
        lds = op.results[0]
        type_, accesses = lds_type(lds), accesses_of(lds)
        rows, item_bytes = type_.shape[1:], type_.dtype.bytes
        if is_chosen(type_.layout):
            swizzle = parse_swizzle(type_.layout)
            degrees = tuple(degree(access, swizzle, rows, item_bytes, target) for access in accesses)
        else:
            solution = solve(accesses, rows, item_bytes, target, parse_swizzle(type_.layout).columns)
            swizzle, degrees = solution.swizzle, solution.degrees
            set_layout(lds, swizzle.text())
        noted.append(LdsTile(name_of(op) or "a tile", _shape_text(type_), swizzle.text(), tuple(map(_access, degrees))))
    if noted:
        keep_lds_tiles(module, noted)


def _access(found: Degree) -> LdsAccess:
    return LdsAccess("write" if found.access.write else "read", found.width, found.cycles, found.least)


def _shape_text(type_: LdsType) -> str:
    buffers, rows, columns = type_.shape
    return f"{buffers} x {rows}x{columns} {type_.dtype.name}"


def _check_budget(function: ir.Operation, target: Target) -> None:
    """Raises HkcError, naming the tiles, if they don't fit into LDS together."""
    sizes: list[tuple[int, str, Span | None]] = []
    for op in walk(function):
        if op.name == LdsAlloc.name:
            type_ = lds_type(op.results[0])
            size = type_.elements * type_.dtype.bytes
            text = f"{name_of(op) or 'a tile'}: {_shape_text(type_)} = {size} bytes"
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
