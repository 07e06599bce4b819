"""Wait states that compilers put in with s_nop: checked mode misses each one that belongs to a matrix instruction.

An s_nop is taken away by moving it behind the instruction that it delays.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from hkc.runtime import open_device

from .machine_code import Instruction, instructions, moved_behind
from .mutations import recorded
from .test_missing_waits import ALL, CASES

REACH = 20  # Instructions; no rule of the ISA guides needs more wait states.
PADDING = 3  # More s_nop than this in a row fill up space, behind the code and before an aligned entry.

# How many of them each compiler's kernels have in all, so that the test cannot pass for want of any.
EXPECTED = {"clang gfx942": 3, "clang gfx950": 7, "triton gfx942": 10, "triton gfx950": 14}


def matrix_nops(code: bytes, kernel: str) -> Iterator[tuple[Instruction, int]]:
    """Each s_nop that delays an instruction for a matrix instruction's sake, with the byte where that one ends.

    Others of one or two wait states lie between two vector ALU instructions, or between two of vector memory, where
    LLVM ends a clause whose addresses would be overwritten if it were replayed.
    """
    code_list = instructions(code, kernel)
    for index, nop in enumerate(code_list):
        if not nop.is_nop:
            continue
        first = last = index
        while first and code_list[first - 1].is_nop:
            first -= 1
        while last + 1 < len(code_list) and code_list[last + 1].is_nop:
            last += 1
        if first == 0 or last + 2 >= len(code_list) or last - first >= PADDING:
            continue
        before, delayed = code_list[first - 1], code_list[last + 1]
        near = any(i.is_mfma for i in code_list[max(0, first - REACH) : first])
        if not (near or delayed.is_mfma):
            continue
        alu = before.is_vector_alu and delayed.is_vector_alu
        clause = before.is_vector_memory and delayed.is_vector_memory
        if (nop.word & 15) < 2 and (alu or clause):
            continue
        yield nop, code_list[last + 2].position


@pytest.mark.parametrize("family", sorted(EXPECTED))
def test_matrix_nops_matter(family: str) -> None:
    compiler, arch = family.split()
    device = open_device(f"emulator:{arch}")
    tried = 0
    for name, (work, archs) in CASES.items():
        if not name.startswith(compiler) or arch not in archs:
            continue
        with recorded() as launches:
            work(device)
        for nop, end in matrix_nops(launches[0].code, launches[0].kernel):
            code = moved_behind(launches[0].code, nop, end)
            reports = [report for launch in launches for report in launch.run(device, code).reports]
            assert any(report.kind == "hazard" for report in reports), f"{name}: s_nop at +{nop.offset:#x}"
            tried += 1
    assert tried >= EXPECTED[family]


@pytest.mark.parametrize(("name", "arch"), ALL)
def test_checked_mode_is_silent(name: str, arch: str) -> None:
    device = open_device(f"emulator:{arch}")
    with recorded() as launches:
        CASES[name][0](device)
    assert launches
    for launch in launches:
        run = launch.run(device)
        assert [str(report) for report in run.reports] == []
        assert run.failure == ""
