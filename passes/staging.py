"""Matmul operands go through LDS: part of `insert-buffer-loads`.

A load that only feeds matmuls becomes an LDS tile. In a loop whose offsets are the loop variable or loop-invariant
the copies are pipelined over `stages` LDS buffers, and what is not a whole, aligned tile is left to a second loop
that loads element by element. Any other load is staged where it stands; only where LDS has no room for it, one at the
kernel's top level that loads wide pieces of an operand just as a lane needs them does so straight away.
"""

from __future__ import annotations

from mlir import ir

from hkc.dialect.irdl import get_int, get_str
from hkc.dialect.locations import location_of
from hkc.dialect.ops import LdsRead, LdsSlot, LdsWrite, Load, Wait
from hkc.dialect.types import TileType, tile_type
from hkc.dialect.verify import walk
from hkc.passes import scalars as s
from hkc.passes.access import element_alignment, plain_type
from hkc.passes.invariants import hoist, is_inside
from hkc.passes.layouts import parse_layout
from hkc.passes.rebuild import kernel_of
from hkc.passes.roles import Roles
from hkc.passes.schedules import SCHEDULES
from hkc.passes.schedules.loops import check_options, lds_bytes, slot_bytes, slot_type
from hkc.passes.staged import Staged, allocate, goes_direct
from hkc.targets import Target

# Of a loop that `choose-schedules` has not seen.
DEFAULT_STAGES = 2
DEFAULT_SCHEDULE = "uniform"


def matmul_loads(function: ir.Operation) -> list[ir.Operation]:
    """Loads whose every use is a matmul operand, straight or transposed."""
    return [
        op
        for op in walk(function)
        if op.name == Load.name and len(list(op.results[0].uses)) and _feeds_matmuls(op.results[0])
    ]


def _feeds_matmuls(value: ir.Value) -> bool:
    for use in value.uses:
        user = use.owner.operation
        if user.name == "tile.transpose":
            if not _feeds_matmuls(user.results[0]):
                return False
        elif user.name != "tile.mma" or use.operand_number > 1:
            return False
    return True


def stage_operands(module: ir.Module, roles: Roles, target: Target) -> None:
    """Moves every matmul operand through LDS."""
    function = kernel_of(module)
    loops = pipelined_loops(function)
    pipelined = {load for loads in loops.values() for load in loads}
    others = [load for load in matmul_loads(function) if load not in pipelined]
    once = [load for load in others if _loaded_once(load, target)]
    for load in others:
        if load not in once:
            stage_in_place(load, roles.total, allocate(function, load, 1), target)
    for loop, loads in loops.items():
        check_options(loop, SCHEDULES)
        schedule = SCHEDULES[get_str(loop, "tile.schedule") or DEFAULT_SCHEDULE]
        direct = any(goes_direct(slot_type(load), roles.copying, target) for load in loads)
        buffers = schedule.buffers(get_int(loop, "tile.stages") or DEFAULT_STAGES, direct)
        staged = [Staged(load, allocate(function, load, buffers)) for load in loads]
        schedule(loop, staged, buffers, roles.computing, target).build()
    for load in once:  # with what LDS is left
        if lds_bytes(function) + slot_bytes(slot_type(load)) <= target.lds_bytes:
            stage_in_place(load, roles.total, allocate(function, load, 1), target)


def pipelined_loops(function: ir.Operation) -> dict[ir.Operation, list[ir.Operation]]:
    """The loops whose matmul operands are copied ahead, with their loads."""
    loops: dict[ir.Operation, list[ir.Operation]] = {}
    for load in matmul_loads(function):
        parent = load.parent.operation
        if parent.name == "scf.for" and _pipelinable(parent, load):
            loops.setdefault(parent, []).append(load)
    return loops


def _loaded_once(load: ir.Operation, target: Target) -> bool:
    """Whether a load runs once and gets its operand by the widest accesses as it is, so that it can do without LDS."""
    type_ = tile_type(load.results[0])
    wide = parse_layout(type_.layout or "").side_by_side() * type_.dtype.bytes >= target.widest_access
    return wide and load.parent.operation.name == "func.func"


def stage_in_place(load: ir.Operation, waves: int, lds: ir.Value, target: Target) -> None:
    """Load, write to LDS, read back, where the load stands."""
    with ir.InsertionPoint(load), location_of(load):
        wide = plain_type(tile_type(load.results[0]), waves, target)
        tile = Load.build(load.operands[0], list(load.operands)[1:], wide)
        load.results[0].replace_all_uses_with(_through_lds(tile, lds, tile_type(load.results[0])))
    load.erase()


def _through_lds(tile: ir.Value, lds: ir.Value, type_: TileType) -> ir.Value:
    slot = LdsSlot.build(lds, s.value(0))
    Wait.build([LdsWrite.build(tile, slot)])
    return LdsRead.build(slot, type_.layout)


def _pipelinable(loop: ir.Operation, load: ir.Operation) -> bool:
    """Whether each offset is the loop variable itself or loop-invariant, with steps that keep alignment."""
    step = s.known(loop.operands[2])
    variable = loop.regions[0].blocks[0].arguments[0]
    offsets = list(load.operands)[1:]
    align = element_alignment(tile_type(load.results[0]).dtype)
    if not isinstance(step, int) or step < 1 or step % align:
        return False
    for value in (load.operands[0], *offsets):
        hoist(value, loop)
    return not is_inside(load.operands[0], loop) and all(o == variable or not is_inside(o, loop) for o in offsets)
