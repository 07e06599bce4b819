"""Each wait and barrier matters: weakened, `verify-sync` rejects the kernel wherever the device reports something.

What it rejects though the device is silent is explained by ``derived``: waits that LLVM makes again from registers.
What it accepts is a schedule's own pacing: see ``given``.
"""

from __future__ import annotations

import pytest
from mlir import ir

from hkc.dialect.irdl import get_int
from hkc.errors import HkcError
from hkc.passes.pipelines import find_pass
from hkc.passes.schedules import SCHEDULES

from .mutants import Kernel, Mutation, fences, mutations, run_unproved, verdict

BLOCK, STEP = 64, 32
TILE = (("BM", BLOCK), ("BN", BLOCK), ("BK", STEP))
# A misaligned pitch sends all of K through the masked loop, a ragged K both loops: every fence is passed repeatedly.
# Nine tiles: a loop unrolled over four LDS buffers runs twice, and leaves one.
PROBLEMS = [(BLOCK, BLOCK, 9 * STEP + 6, 0), (BLOCK, BLOCK, 9 * STEP, 1)]

BY_HAND = [Kernel(arch, "02_gemm_by_hand", TILE) for arch in ("gfx942", "gfx950")]
UNIFORM = [
    Kernel(arch, definitions=(*TILE, ("SCHEDULE", "uniform"), ("STAGES", stages)))
    for arch in ("gfx942", "gfx950")
    for stages in (1, 2, 3, 4)
]
SCHEDULED = [
    Kernel(arch, definitions=(*TILE, ("SCHEDULE", schedule), ("STAGES", stages)))
    for arch in ("gfx942", "gfx950")
    for schedule in SCHEDULES
    for stages in (1, 2, 3, 4)
    if schedule != "uniform"
]


def derived(error: HkcError) -> bool:
    """Whether LLVM waits for the same by itself: for LDS reads before the MFMA that takes them, which stands before the
    barrier; for loads into registers before they are used, and so for the copies before them."""
    other = error.notes[0][0] if error.notes else ""
    wait_missing = "a wait" in (error.expected or "")
    reads = wait_missing and other.startswith("the read")
    loads = "still being loaded" in error.message
    copies_before_loads = "write may overwrite" in error.message and wait_missing and other.startswith("the copy")
    return reads or loads or copies_before_loads


def fresh(kernel: Kernel) -> ir.Module:
    """The kernel's module; skips a schedule that does not apply."""
    try:
        return kernel.module()
    except HkcError as error:
        if "schedule" in error.message or "stages" in error.message or "LDS" in error.message:
            pytest.skip(error.message)
        raise


def check(kernel: Kernel, wanted: str = "") -> int:
    """Tries every weakening whose change ends in ``wanted``; how many the device reported."""
    reported = 0
    for mutation in mutations(fresh(kernel)):
        if not mutation.change.endswith(wanted):
            continue
        module = kernel.module()
        mutation.apply(module)
        error, reports = verdict(module), run_unproved(module, PROBLEMS)
        assert all(r.file.endswith("test.tile") and r.line > 0 for r in reports), reports
        if reports:
            reported += 1
            assert error is not None, f"{mutation}: the device reports {reports[0].message}"
        elif error is not None:
            assert derived(error), f"{mutation}: nothing is reported of {error}"
    return reported


@pytest.mark.parametrize("kernel", [UNIFORM[0], UNIFORM[5], BY_HAND[1]], ids=str)
def test_what_the_device_reports_is_rejected(kernel: Kernel) -> None:
    assert run_unproved(fresh(kernel), PROBLEMS) == []
    assert check(kernel, "removed") >= 3


@pytest.mark.long
@pytest.mark.parametrize("kernel", [*UNIFORM, *SCHEDULED, *BY_HAND], ids=str)
def test_what_the_device_reports_is_rejected_everywhere(kernel: Kernel) -> None:
    assert verdict(fresh(kernel)) is None
    assert run_unproved(fresh(kernel), PROBLEMS) == []
    assert check(kernel) >= 3


def given(kernel: Kernel) -> set[int]:
    """Which fences a schedule placed itself: they also pace the wavefronts, or end reads before an MFMA."""
    module = kernel.module("insert-buffer-loads")
    with module.context:
        for op in fences(module):
            op.attributes["tile.given"] = ir.UnitAttr.get()
    find_pass("insert-fences")(module)
    return {index for index, op in enumerate(fences(module)) if "tile.given" in op.attributes}


def needless(kernel: Kernel, mutation: Mutation) -> bool:
    module = kernel.module()
    mutation.apply(module)
    return verdict(module) is None


@pytest.mark.parametrize("kernel", [UNIFORM[1], UNIFORM[6], *BY_HAND], ids=str)
def test_no_fence_could_be_weaker(kernel: Kernel) -> None:
    """Each count is the largest that is enough, each barrier is needed."""
    tried = [m for m in mutations(fresh(kernel)) if not m.change.endswith(" removed")]
    assert len(tried) >= 6
    assert [m for m in tried if needless(kernel, m)] == []


@pytest.mark.long
@pytest.mark.parametrize("kernel", [*UNIFORM, *SCHEDULED, *BY_HAND], ids=str)
def test_no_fence_could_be_weaker_anywhere(kernel: Kernel) -> None:
    module = fresh(kernel)
    placed = given(kernel)
    assert [m for m in mutations(module) if m.index not in placed and needless(kernel, m)] == []


def test_counts_are_not_zero_where_more_is_enough() -> None:
    counts = {get_int(op, "vmcnt") for op in fences(fresh(UNIFORM[7])) if op.name == "tile.waitcnt"}
    assert max(count for count in counts if count is not None) > 0
