"""Which schedule a loop gets: with how many wavefronts and stages, and why not another.

Everything here is a function of the loop, what the program asks for, and the target. :func:`plan_schedule` tells
whether one schedule applies, :func:`choose` picks one.

The order of preference follows instruction counts: those of a workgroup and a K step of 64 (bf16, nt) that are neither
MFMA nor LDS read nor copy, and all, in thousands.

              gfx950 256x256   128x256      128x128       64x64       gfx942 256x256   128x256      128x128
pingpong         0.21  0.98   0.21 0.64    0.21 0.47    0.11 0.19     0.25  1.59      0.25 0.98    0.25 0.66
interleave       0.10  0.55   0.08 0.35    0.07 0.23    0.05 0.12     0.11  0.88      0.08 0.53    0.08 0.34
uniform          0.34  1.10   0.16 0.56    0.14 0.36    0.13 0.21     0.17  1.52*     0.08 0.79*   0.14 0.52
                                                                     (* one stage: its copies overlap with nothing)

So `interleave` comes before `uniform` where a wavefront has enough MFMA in a K step to hide its own copies and reads;
with less, workgroups on a compute unit hide each other's, as `uniform` leaves room for. Where four wavefronts can't
hold the accumulators in their share of registers, eight do, and `pingpong` hides the memory half of one behind the
compute half of the other; it is the one that was measured to be fastest on hardware at 256x256 (arXiv 2511.08083,
table 2: 1610 TFLOPS). Load wavefronts issue no MFMA and take registers from those that do (the same table: 893 to 1278
TFLOPS), so `producer_consumer` is for programs that ask for it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from hkc.lang.defaults import AUTO
from hkc.passes.layouts import plain_layout
from hkc.passes.register_budget import Budget, Held, plan_registers, waves_a_simd
from hkc.passes.schedules import SCHEDULES
from hkc.passes.schedules.loops import MOST_STAGES, GemmLoop, Grid
from hkc.passes.staged import goes_direct
from hkc.targets import MfmaShape, Target

# Accumulator registers a lane before more wavefronts are used: a quarter of the 512 (CDNA3 ISA 3.6.4) leaves two
# wavefronts a SIMD room for operands and addresses.
ACCUMULATOR_REGISTERS = 128
USUAL_WAVES = 4  # of a workgroup: one a SIMD
PAIRED_WAVES = 8  # two a SIMD
# MFMA cycles of a wavefront's K step that hide its own copies and LDS reads: of 128x256x64 on gfx950.
STEP_CYCLES = 1024
WANTED_GROUPS = 2  # workgroups a compute unit that deeper buffers should leave room for
SLACK = 1.5  # registers that LLVM takes for those planned: at most 1.47 seen where half of the file is planned
LEANER = "has fewer instructions beside its MFMA"
TILES = (16, 32, 64, 128, 256)  # extents to propose where the program's do not work


@dataclass(frozen=True)
class Asked:
    """What the program says; None where it leaves the choice."""

    schedule: str | None = None
    stages: int | None = None
    waves: Grid | None = None
    load_waves: int | None = None


@dataclass(frozen=True)
class Plan:
    """A schedule that applies. ``waves`` are the computing wavefronts, ``load_waves`` further ones that only copy."""

    schedule: str
    stages: int
    waves: Grid
    load_waves: int
    registers: Budget

    def text(self) -> str:
        """The plan in a few words."""
        rows, columns = self.waves
        loaders = f" and {self.load_waves} load waves" if self.load_waves else ""
        return f"{self.schedule}, {rows}x{columns} waves{loaders}, {_count(self.stages, 'stage')}"


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'s' * (number != 1)}"


@dataclass(frozen=True)
class Misfit:
    """Why a schedule does not apply; ``expected`` and ``got`` as errors say them."""

    reason: str
    expected: str
    got: str


@dataclass(frozen=True)
class Choice:
    """The plan, and for each other schedule why it was not taken."""

    plan: Plan
    others: tuple[tuple[str, str], ...] = ()

    def text(self) -> str:
        """The remark."""
        why = "; ".join(f"not {name}: {reason}" for name, reason in self.others)
        return f"schedule {self.plan.text()}; {self.plan.registers.text()}" + (f"; {why}" if why else "")


@dataclass(frozen=True)
class Traits:
    """What a schedule asks of a loop. ``stages``: least and most; ``plain``: only a loop of one matmul, nothing else;
    ``alone``: only the kernel's one loop; ``halves``: it computes each wavefront's part in 2x2 quadrants; ``counts``:
    computing wavefronts to try, best first (empty: as the accumulators need); ``load_waves``: likewise of those that
    only copy."""

    stages: tuple[int, int]
    held: Held
    counts: tuple[int, ...] = ()
    plain: bool = True
    alone: bool = False
    halves: bool = False
    load_waves: tuple[int, ...] = ()


TRAITS: dict[str, Traits] = {
    "pingpong": Traits((2, 2), Held(0.5, 1.0, 1.0, by_stage=False), (PAIRED_WAVES, USUAL_WAVES, 2), halves=True),
    # The operands of two slices at a time.
    "interleave": Traits((2, MOST_STAGES), Held(2.0, 2.0, by_stage=False), (USUAL_WAVES,)),
    "uniform": Traits((1, MOST_STAGES), Held(), plain=False),
    "producer_consumer": Traits(
        (2, MOST_STAGES), Held(staged_depth=1.0), (USUAL_WAVES, PAIRED_WAVES, 2, 1), alone=True, load_waves=(4, 2, 1)
    ),
}


def mfma_shape(loop: GemmLoop, target: Target, schedule: str | None = None) -> MfmaShape | None:
    """The MFMA that the loop's matmul is made of under a schedule, None if none divides it."""
    shapes = target.mfma_shapes(loop.dtype.name)
    for shape in SCHEDULES[schedule].mfma_order(shapes, loop.m, loop.n) if schedule else shapes:
        if loop.m % shape.m == 0 and loop.n % shape.n == 0 and loop.k % shape.k == 0:
            return shape
    return None


def usual_count(registers: int, target: Target) -> int:
    """Wavefronts that hold ``registers`` dwords, each no more than its share of accumulators."""
    count = USUAL_WAVES
    most = target.max_workgroup // target.wavefront
    while count < most and registers // (count * target.wavefront) > ACCUMULATOR_REGISTERS:
        count *= 2
    return count


def grids_of(count: int, m: int, n: int) -> list[Grid]:
    """Ways to lay ``count`` wavefronts over an m x n tile, fewest operand bytes of a wavefront first."""
    pairs = [(rows, count // rows) for rows in range(1, count + 1) if count % rows == 0]
    return sorted(pairs, key=lambda p: (m / p[0] + n / p[1], p[0]))


def candidate_grids(name: str, loop: GemmLoop, target: Target) -> Iterator[Grid]:
    """Grids of computing wavefronts for a schedule, best first."""
    counts = TRAITS[name].counts or range(usual_count(loop.m * loop.n, target), 0, -1)
    for count in counts:
        grids = grids_of(count, loop.m, loop.n)
        if loop.whole is not None:
            grids.sort(key=lambda grid: grid[loop.whole or 0])
        yield from grids


def _grid_misfit(name: str, loop: GemmLoop, grid: Grid, shape: MfmaShape) -> Misfit | None:
    halves = 2 if TRAITS[name].halves else 1
    rows, columns = grid[0] * shape.m * halves, grid[1] * shape.n * halves
    if loop.m % rows or loop.n % columns:
        what = "each with two fragments or more along rows and columns" if halves > 1 else "each with whole fragments"
        return Misfit(
            f"{loop.tile} does not divide over {grid[0]}x{grid[1]} wavefronts, {what}",
            f"multiples of {rows}x{columns}",
            loop.tile,
        )
    if halves > 1 and grid[0] * grid[1] % halves:
        return Misfit("it needs an even number of wavefronts", "2, 4 or 8 wavefronts", str(grid[0] * grid[1]))
    return None


def _copy_misfit(loop: GemmLoop, copying: int, target: Target) -> Misfit | None:
    for slot in loop.operands:
        rows, columns = slot.shape[-2:]
        if plain_layout((rows, columns), copying, target.widest_access // slot.dtype.bytes) is None:
            what = f"a {rows}x{columns} tile does not divide over {copying} wavefronts that copy it"
            return Misfit(what, "a number of wavefronts that divides it", str(copying))
    return None


def lds_bytes(name: str, loop: GemmLoop, stages: int, copying: int, target: Target) -> int:
    """LDS that a schedule takes with that many stages."""
    direct = any(goes_direct(slot, copying, target) for slot in loop.operands)
    return SCHEDULES[name].buffers(stages, direct) * loop.bytes + loop.lds_taken


def _stage_misfit(name: str, loop: GemmLoop, stages: int, copying: int, target: Target) -> Misfit | None:
    least, most = TRAITS[name].stages
    if not least <= stages <= most:
        expected = f"{least} to {most}" if least < most else str(least)
        return Misfit(f"it has {expected} stages", expected, str(stages))
    needed = lds_bytes(name, loop, stages, copying, target)
    if needed <= target.lds_bytes:
        return None
    fits = [s for s in range(least, most + 1) if lds_bytes(name, loop, s, copying, target) <= target.lds_bytes]
    expected = f"at most {target.lds_bytes} bytes" + (f": {_count(max(fits), 'stage')} or fewer" if fits else "")
    return Misfit(
        f"{_count(stages, 'stage')} need {needed} bytes of LDS, {target.arch} has {target.lds_bytes}",
        expected,
        f"{needed} bytes",
    )


def _loop_misfit(name: str, loop: GemmLoop) -> Misfit | None:
    traits = TRAITS[name]
    if traits.plain and loop.misfit is not None:
        return Misfit(loop.misfit, "a loop of one matmul: acc += a @ b with a and b loaded in the loop", loop.misfit)
    if traits.alone and not loop.alone:
        reason = "the loop is not the only one, at the kernel's top level"
        return Misfit(reason, "a kernel with one such loop, not inside another", "another loop, or one inside another")
    return None


def _groups(loop: GemmLoop, plan: Plan, target: Target) -> int:
    """Workgroups that fit a compute unit, by registers and LDS."""
    waves = plan.waves[0] * plan.waves[1] + plan.load_waves
    registers = target.vgprs_per_lane // plan.registers.total // waves_a_simd(waves, target)
    copying = plan.load_waves or waves
    return min(registers, target.lds_bytes // max(1, lds_bytes(plan.schedule, loop, plan.stages, copying, target)))


def _plan_grid(
    name: str, loop: GemmLoop, asked: Asked, grid: Grid, load_waves: int, shape: MfmaShape, target: Target
) -> Plan | Misfit:
    """A plan with those wavefronts and the stages asked for, or the best that fit."""
    traits = TRAITS[name]
    waves = grid[0] * grid[1] + load_waves
    copying = load_waves or waves
    if waves * target.wavefront > target.max_workgroup:
        limit = target.max_workgroup // target.wavefront
        return Misfit(f"{waves} wavefronts are too many", f"at most {limit} wavefronts", str(waves))
    misfit = _grid_misfit(name, loop, grid, shape) or _copy_misfit(loop, copying, target)
    if misfit is not None:
        return misfit
    least, most = traits.stages
    plans: list[Plan] = []
    misfits: list[Misfit] = []
    for stages in range(most, least - 1, -1) if asked.stages is None else (asked.stages,):
        misfit = _stage_misfit(name, loop, stages, copying, target)
        budget = plan_registers(loop, grid, load_waves, stages, shape, traits.held, target)
        if misfit is not None:
            misfits.append(misfit)
        elif not budget.fits:
            misfits.append(_budget_misfit(budget))
        else:
            plans.append(Plan(name, stages, grid, load_waves, budget))
    return _best(loop, plans, target) if plans else misfits[-1]


def _budget_misfit(budget: Budget) -> Misfit:
    return Misfit(f"it needs {budget.text()}", f"at most {budget.available} registers", str(budget.total))


def _best(loop: GemmLoop, plans: list[Plan], target: Target) -> Plan:
    """Of plans that differ in stages, deepest first: the deepest that leaves room for another workgroup, else the
    deepest; one stage, which does not overlap copies, only if there is no other."""
    overlapping = [plan for plan in plans if plan.stages > 1] or plans
    shared = (plan for plan in overlapping if _groups(loop, plan, target) >= WANTED_GROUPS)
    return next(shared, overlapping[0])


def plan_schedule(name: str, loop: GemmLoop, asked: Asked, target: Target) -> Plan | Misfit:
    """Whether and how a schedule applies to a loop. The loop's matmul must be one that MFMA divide."""
    misfit = _loop_misfit(name, loop)
    if misfit is not None:
        return misfit
    if asked.load_waves is not None and not TRAITS[name].load_waves:
        return Misfit("it has no load waves", "no load_waves", str(asked.load_waves))
    shape = mfma_shape(loop, target, name)
    assert shape is not None
    misfits: list[Misfit] = []
    for grid in [asked.waves] if asked.waves is not None else candidate_grids(name, loop, target):
        for count in (asked.load_waves,) if asked.load_waves is not None else TRAITS[name].load_waves or (0,):
            plan = _plan_grid(name, loop, asked, grid, count, shape, target)
            if isinstance(plan, Plan):
                return plan
            misfits.append(plan)
    # What a grid that divides the tile lacks says more than that others do not divide it.
    return next((m for m in misfits if m.got != loop.tile), misfits[-1])


def occupancy(loop: GemmLoop, plan: Plan, target: Target) -> int:
    """Wavefronts a SIMD that LLVM is to leave registers for: those of one workgroup, or of two where LDS has room and
    the plan is so far below what each then gets that LLVM's own use can't undo it."""
    one = waves_a_simd(plan.waves[0] * plan.waves[1] + plan.load_waves, target)
    shared = target.vgprs_per_lane // (WANTED_GROUPS * one)
    roomy = plan.registers.total * SLACK <= shared and _groups(loop, plan, target) >= WANTED_GROUPS
    return WANTED_GROUPS * one if roomy else one


def _idle(plan: Plan, loop: GemmLoop, target: Target) -> str | None:
    """Why a schedule that applies is not worth it, None if it is."""
    if plan.load_waves:
        return "load waves take registers and issue slots from those that compute; ask for it"
    if plan.schedule == "pingpong" and usual_count(loop.m * loop.n, target) < PAIRED_WAVES:
        return f"{USUAL_WAVES} wavefronts, one a SIMD, can hold the accumulators of {loop.tile}"
    shape = mfma_shape(loop, target, plan.schedule)
    if plan.schedule == "interleave" and shape is not None:
        count = loop.m * loop.n * loop.k // (shape.m * shape.n * shape.k) // (plan.waves[0] * plan.waves[1])
        if count * shape.cycles < STEP_CYCLES:
            return f"{count * shape.cycles} cycles of MFMA a K step are too few to hide a wavefront's own copies"
    return None


def choose(loop: GemmLoop, asked: Asked, target: Target) -> Choice | Misfit:
    """The schedule for a loop: the one asked for, else the first of ``TRAITS`` that applies and is worth it."""
    if asked.schedule not in (None, AUTO):
        plan = plan_schedule(asked.schedule or "", loop, asked, target)
        return Choice(plan) if isinstance(plan, Plan) else plan
    taken: Plan | None = None
    spare: Plan | None = None
    others: list[tuple[str, str]] = []
    first: Misfit | None = None
    for name in TRAITS:
        plan = plan_schedule(name, loop, asked, target)
        if isinstance(plan, Misfit):
            others.append((name, plan.reason))
            first = plan if first is None or not TRAITS[name].plain else first
        elif (idle := _idle(plan, loop, target)) is not None:
            others.append((name, idle))
            spare = spare or (plan if not TRAITS[name].load_waves else None)
        elif taken is not None:
            why = "keeps two wavefronts on each SIMD" if taken.waves[0] * taken.waves[1] == PAIRED_WAVES else LEANER
            others.append((name, f"{taken.schedule} {why}"))
        else:
            taken = plan
    if taken is None:
        taken = spare
    if taken is None:
        assert first is not None
        return first
    return Choice(taken, tuple(entry for entry in others if entry[0] != taken.schedule))


def nearest(loop: GemmLoop, asked: Asked, target: Target) -> str | None:
    """What would work instead, as a hint: fewer or more stages, another tile, another schedule."""
    name = asked.schedule if asked.schedule not in (None, AUTO) else None

    def works(loop: GemmLoop, asked: Asked) -> bool:
        if mfma_shape(loop, target) is None:
            return False
        return isinstance(choose(loop, asked, target), Choice)

    if asked.stages is not None:
        counts = sorted(range(1, MOST_STAGES + 1), key=lambda s: (abs(s - (asked.stages or 0)), s))
        for stages in counts:
            if works(loop, replace(asked, stages=stages)):
                return f"stages={stages}"
    for dropped, text in (({"waves": None}, "leave out waves (...)"), ({"load_waves": None}, "leave out load_waves")):
        if getattr(asked, next(iter(dropped))) is not None and works(loop, replace(asked, **dropped)):
            return text
    if loop.misfit is None or name is None or not TRAITS[name].plain:
        for m, n in _other_tiles(loop):
            if works(resized(loop, m, n), asked):
                return f"a tile of {m}x{n}"
    for other in TRAITS:
        if other != name and works(loop, replace(asked, schedule=other)):
            return f'schedule="{other}"'
    return None


def smaller(loop: GemmLoop, asked: Asked, target: Target) -> str | None:
    """The next thing that is planned with fewer registers, as a hint: a smaller tile, or more wavefronts."""
    now = choose(loop, asked, target)
    least = now.plan.registers.total if isinstance(now, Choice) else target.vgprs_per_lane

    def works(loop: GemmLoop, asked: Asked) -> bool:
        choice = choose(loop, asked, target) if mfma_shape(loop, target) is not None else None
        return isinstance(choice, Choice) and choice.plan.registers.total < least

    hints = []
    tiles = (t for t in _other_tiles(loop) if t[0] <= loop.m and t[1] <= loop.n)
    fitting = next((tile for tile in tiles if works(resized(loop, *tile), asked)), None)
    if fitting is not None:
        hints.append(f"a tile of {fitting[0]}x{fitting[1]}")
    if isinstance(now, Choice):
        rows, columns = now.plan.waves
        grids = grids_of(2 * rows * columns, loop.m, loop.n)
        more = next((grid for grid in grids if works(loop, replace(asked, waves=grid))), None)
        if more is not None:
            hints.append(f"waves ({more[0]}, {more[1]})")
    return ", or ".join(hints) or None


def _other_tiles(loop: GemmLoop) -> list[Grid]:
    def distance(tile: Grid) -> tuple[float, int]:
        (m, n) = tile
        return max(m / loop.m, loop.m / m) * max(n / loop.n, loop.n / n), -m * n

    return sorted(((m, n) for m in TILES for n in TILES if (m, n) != (loop.m, loop.n)), key=distance)


def resized(loop: GemmLoop, m: int, n: int) -> GemmLoop:
    """The loop with another accumulator tile; its operands are the left and the right one."""
    operands = []
    for slot, old, new in zip(loop.operands, (loop.m, loop.n), (m, n), strict=False):
        rows, columns = slot.shape[-2:]
        shape = (new, columns) if (rows, columns) == (old, loop.k) else (rows, new)
        operands.append(replace(slot, shape=shape))
    return replace(loop, m=m, n=n, operands=tuple(operands))
