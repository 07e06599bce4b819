"""`choose-schedules`: each pipelined loop gets a schedule, stages and a wave grid, with a remark that says why.

What the program asks for is kept, or is an error at the loop that names the nearest thing that works; the rest is
chosen from the tile, the types and the target (``schedules/choice.py``). It comes first, since the MFMA shape, and so
every layout, follows the schedule. A loop then carries `tile.schedule`, `tile.stages` and `tile.wave_grid` (rows and
columns of computing wavefronts, and load waves), the kernel `tile.occupancy` (wavefronts a SIMD to leave registers
for).
"""

from __future__ import annotations

from mlir import ir

from hkc.dialect.irdl import get_int, get_ints, get_str
from hkc.dialect.locations import span_of
from hkc.dialect.ops import Barrier, LdsAlloc
from hkc.dialect.verify import walk
from hkc.errors import HkcError
from hkc.passes.rebuild import function_of, kernel_of
from hkc.passes.register_budget import OCCUPANCY
from hkc.passes.remarks import add_remark
from hkc.passes.schedules.choice import AUTO, TRAITS, Asked, Misfit, choose, mfma_shape, nearest, occupancy, smaller
from hkc.passes.schedules.loops import (
    LOAD_WAVES,
    SCHEDULE,
    STAGES,
    WAVE_GRID,
    GemmLoop,
    Grid,
    check_options,
    describe_loop,
    lds_bytes,
)
from hkc.passes.staging import matmul_loads, pipelined_loops
from hkc.targets import Target


def choose_schedules(module: ir.Module, target: Target) -> None:
    """Chooses for every loop of the kernel (see the module's text)."""
    function = kernel_of(module)
    pipelined = pipelined_loops(function)
    for op in walk(function):
        if op.name == "scf.for":
            check_options(op, (AUTO, *TRAITS))
            if op not in pipelined:
                _leave(op)
    taken = lds_bytes(function)
    grid: Grid | None = None
    for op, loads in pipelined.items():
        loop = describe_loop(op, loads, _alone(op, function, pipelined), taken)
        if mfma_shape(loop, target) is not None:  # else infer-layouts says what is wrong
            grid = _choose(module, op, loop, grid, target)


def _choose(module: ir.Module, op: ir.Operation, loop: GemmLoop, grid: Grid | None, target: Target) -> Grid:
    """Chooses for one loop; ``grid`` is that of loops before it. Returns its own."""
    asked = _asked(op, grid)
    choice = choose(loop, asked, target)
    if isinstance(choice, Misfit):
        name = asked.schedule if asked.schedule not in (None, AUTO) else None
        raise HkcError(
            f"schedule {name!r} can't apply here: {choice.reason}" if name else f"no schedule fits: {choice.reason}",
            span_of(op),
            expected=choice.expected,
            got=choice.got,
            hint=nearest(loop, asked, target),
        )
    plan = choice.plan
    op.attributes[SCHEDULE] = ir.StringAttr.get(plan.schedule)
    op.attributes[STAGES] = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), plan.stages)
    op.attributes[WAVE_GRID] = ir.DenseI64ArrayAttr.get([*plan.waves, plan.load_waves])
    function = function_of(op)
    least = min(get_int(function, OCCUPANCY) or target.max_waves_per_simd, occupancy(loop, plan, target))
    function.attributes[OCCUPANCY] = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), least)
    add_remark(module, choice.text(), span_of(op))
    return plan.waves


def _asked(op: ir.Operation, grid: Grid | None) -> Asked:
    """What the program says of a loop; ``grid`` is that of loops before it."""
    waves = get_ints(function_of(op), "tile.waves")
    # What is malformed assign-wave-roles reports.
    fixed = (waves[0], waves[1]) if waves is not None and len(waves) == 2 and min(waves) > 0 else None
    return Asked(get_str(op, SCHEDULE), get_int(op, STAGES), grid or fixed, get_int(op, LOAD_WAVES))


def shrink_hint(module: ir.Module, target: Target) -> str | None:
    """What the first pipelined loop of a module that no pass has changed could do with fewer registers."""
    function = kernel_of(module)
    taken = lds_bytes(function)
    pipelined = pipelined_loops(function)
    for op, loads in pipelined.items():
        loop = describe_loop(op, loads, _alone(op, function, pipelined), taken)
        if mfma_shape(loop, target) is not None:
            return smaller(loop, _asked(op, None), target)
    return None


def _leave(op: ir.Operation) -> None:
    """A loop without copies to schedule. Raises HkcError where it asks for a schedule that needs them."""
    schedule = get_str(op, SCHEDULE)
    if schedule is not None and schedule in TRAITS and TRAITS[schedule].plain:
        raise HkcError(
            f"schedule {schedule!r} can't apply here: the loop has no matmul whose operands it loads tile by tile",
            span_of(op),
            expected="acc += a @ b with a and b loaded at the loop's variable or at places that stay the same",
            hint='leave out schedule=..., or say schedule="auto"',
        )


def _alone(op: ir.Operation, function: ir.Operation, pipelined: dict[ir.Operation, list[ir.Operation]]) -> bool:
    staged = {load for loads in pipelined.values() for load in loads}
    elsewhere = any(load not in staged for load in matmul_loads(function))
    by_hand = any(inner.name in (Barrier.name, LdsAlloc.name) for inner in walk(function))
    return len(pipelined) == 1 and op.parent.operation == function and not elsewhere and not by_hand
