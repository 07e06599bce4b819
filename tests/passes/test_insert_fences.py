"""Waits and barriers: exactly those that are needed, with exact counts."""

from __future__ import annotations

import pytest
from mlir import ir

from hkc.dialect.irdl import get_int
from hkc.dialect.verify import walk
from hkc.passes.rebuild import kernel_of

from .conftest import Make


@pytest.fixture
def gemm(gemm: str) -> str:
    """The GEMM whose waits and barriers are all the pass's own."""
    source = gemm.replace('STAGES = "auto"', "STAGES = 2").replace('SCHEDULE = "auto"', 'SCHEDULE = "uniform"')
    assert source != gemm
    return source


ORDER = ("tile.copy", "tile.lds_read", "tile.lds_write", "tile.waitcnt", "tile.barrier", "scf.for", "scf.yield")


def sequence(module: ir.Module) -> list[str]:
    """The ops that matter to order, in program order, with their counts."""
    found = []
    for op in walk(kernel_of(module)):
        if op.name == "tile.waitcnt":
            counts = ((name, get_int(op, name)) for name in ("vmcnt", "lgkmcnt"))
            found.append("wait " + " ".join(f"{name}={count}" for name, count in counts if count is not None))
        elif op.name in ORDER:
            found.append(op.name.partition(".")[2])
    return found


def main_loop(module: ir.Module) -> list[str]:
    whole = sequence(module)
    start = whole.index("for")
    return whole[start + 1 : whole.index("yield", start)]


PAIR = ["copy", "copy"]
READS = ["lds_read", "lds_read"]


def test_double_buffered_direct_copies_take_one_barrier(make: Make, gemm: str) -> None:
    module = make(gemm, "gfx950", "insert-fences")
    assert main_loop(module) == ["wait vmcnt=0 lgkmcnt=0", "barrier", *PAIR, *READS]


@pytest.mark.parametrize(("stages", "younger"), [(3, 8), (4, 16)])
def test_more_stages_leave_copies_in_flight(make: Make, gemm: str, stages: int, younger: int) -> None:
    """128x64 bf16 tiles by 256 lanes of 16 bytes: four instructions a copy, two copies a stage."""
    module = make(gemm, "gfx950", "insert-fences", STAGES=stages)
    assert main_loop(module) == [f"wait vmcnt={younger} lgkmcnt=0", "barrier", *PAIR, *READS]


def test_single_buffer_needs_a_barrier_on_both_sides(make: Make, gemm: str) -> None:
    module = make(gemm, "gfx950", "insert-fences", STAGES=1)
    expected = ["wait lgkmcnt=0", "barrier", *PAIR, "wait vmcnt=0", "barrier", *READS]
    assert main_loop(module) == expected


def test_register_staged_copies_wait_for_lds_writes(make: Make, gemm: str) -> None:
    """One wait for all of a copy's registers: the second copy's four loads may still be under way."""
    module = make(gemm, "gfx942", "insert-fences")
    writes = ["wait vmcnt=4", "lds_write", "wait vmcnt=0", "lds_write"]
    assert main_loop(module) == [*writes, "wait lgkmcnt=0", "barrier", *READS]


@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
def test_one_wavefront_needs_no_barrier(make: Make, gemm: str, arch: str) -> None:
    module = make(gemm, arch, "insert-fences", BM=16, BN=16, BK=64)
    assert "barrier" not in sequence(module)
    assert any(step.startswith("wait") for step in sequence(module))


@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
def test_masked_tail_is_fenced_on_both_sides(make: Make, gemm: str, arch: str) -> None:
    whole = sequence(make(gemm, arch, "insert-fences"))
    tail = whole[whole.index("for", whole.index("for") + 1) + 1 :]
    expected = ["wait lgkmcnt=0", "barrier", "lds_write", "lds_write", "wait lgkmcnt=0", "barrier", *READS]
    assert tail[: len(expected)] == expected


def test_no_tokens_are_waited_on_afterwards(make: Make, gemm: str) -> None:
    assert all(op.name != "tile.wait" for op in walk(kernel_of(make(gemm, "gfx950", "insert-fences"))))


def straight(module: ir.Module) -> list[str]:
    """The sequence of a kernel without loops."""
    return [step for step in sequence(module) if step != "yield"]


BY_HAND = """
kernel twice(A: view[64, 64, bf16], C: view[64, 64, bf16]) grid (1) {
    s = lds(1, 64, 64, bf16)
    t = copy(A[0 : 64, 0 : 64], s[0])
    wait(t)
    barrier()
    C[0 : 64, 0 : 64] = (read(s[0]) @ read(s[0]).T).to(bf16)
}
"""


def test_barriers_written_by_hand_are_kept_and_none_added(make: Make) -> None:
    assert straight(make(BY_HAND, "gfx950", "insert-fences")) == ["copy", "wait vmcnt=0", "barrier", *READS]


def test_a_missing_barrier_is_added_where_none_is_written(make: Make) -> None:
    module = make(BY_HAND.replace("    barrier()\n", ""), "gfx950", "insert-fences")
    assert straight(module) == ["copy", "wait vmcnt=0", "barrier", *READS]


def test_a_missing_wait_is_added(make: Make) -> None:
    module = make(BY_HAND.replace("    barrier()\n", "").replace("    wait(t)\n", ""), "gfx950", "insert-fences")
    assert straight(module) == ["copy", "wait vmcnt=0", "barrier", *READS]


OWN = """
kernel own(A: view[64, 64, bf16], C: view[64, 64, bf16]) grid (1) {
    s = lds(1, 64, 64, bf16)
    t = copy(A[0 : 64, 0 : 64], s[0])
    C[0 : 64, 0 : 64] = read(s[0])
}
"""


def test_a_wavefront_that_reads_its_own_bytes_needs_no_barrier(make: Make) -> None:
    assert straight(make(OWN, "gfx950", "insert-fences")) == ["copy", "wait vmcnt=0", "lds_read"]


LOOPED = """
kernel looped(A: view[M, K, bf16], C: view[64, 64, bf16]) grid (1) {
    s = lds(1, 64, 64, bf16)
    t = copy(A[0 : 64, 0 : 64], s[0])
    wait(t)
    barrier()
    b = read(s[0]).T
    acc = zeros(64, 64, f32)
    for k in range(0, K, 64, stages=1) { acc += A[0 : 64, k : k + 64] @ b }
    C[0 : 64, 0 : 64] = acc.to(bf16)
}
"""


def test_operands_that_the_compiler_stages_are_fenced_in_a_kernel_with_barriers_too(make: Make) -> None:
    """The reads of one iteration end before the next copy, which lands before it is read."""
    module = make(LOOPED, "gfx950", "insert-fences")
    assert main_loop(module) == ["wait lgkmcnt=0", "barrier", "copy", "wait vmcnt=0", "barrier", "lds_read"]
