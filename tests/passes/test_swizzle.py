"""The swizzle solver: bijective, and free of conflicts where the hardware allows it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hkc.passes.swizzle import CHUNK, Access, Swizzle, conflict_cost, parse_swizzle, solve
from hkc.targets import TARGETS, get_target

SWIZZLES = st.builds(Swizzle, st.integers(0, 3), st.sampled_from([0, 1, 3, 7, 15]), st.integers(0, 2))


@given(SWIZZLES, st.sampled_from([1, 2, 4]))
def test_offsets_are_a_permutation(swizzle: Swizzle, scale: int) -> None:
    row_bytes = CHUNK * ((swizzle.mask + 1) << swizzle.up) * scale
    rows = 32
    offsets = {swizzle.offset(row, byte, row_bytes) for row in range(rows) for byte in range(row_bytes)}
    assert offsets == set(range(rows * row_bytes))


@given(SWIZZLES)
def test_pattern_repeats_with_its_period(swizzle: Swizzle) -> None:
    row_bytes = CHUNK * ((swizzle.mask + 1) << swizzle.up)
    for row in range(4):
        first = swizzle.offset(row, 0, row_bytes)
        again = swizzle.offset(row + swizzle.period, 0, row_bytes)
        assert again - first == swizzle.period * row_bytes


@given(SWIZZLES)
def test_text_round_trips(swizzle: Swizzle) -> None:
    assert parse_swizzle(swizzle.text()) == swizzle


@pytest.mark.parametrize("arch", TARGETS)
@pytest.mark.parametrize("columns", [32, 64, 128])
def test_operand_reads_and_copies_have_no_conflicts(arch: str, columns: int) -> None:
    target = get_target(arch)
    mfma = "16x16x32*1" if arch == "gfx950" else "16x16x16*2"
    read = Access(f"a({mfma}) by 1/1,1/1")
    lanes = min(64, columns // 8)
    write = Access(f"rows(8,{lanes}) by 1/1,1/1", write=True)
    swizzle, conflicts = solve((read, write), columns, 2, target)
    assert conflicts == 0
    assert swizzle.mask, "a row-major tile of these widths conflicts: the solver must have moved chunks"


@pytest.mark.parametrize("arch", TARGETS)
def test_row_major_conflicts_are_counted(arch: str) -> None:
    """All lanes of a phase in one bank: each phase takes one cycle a lane."""
    phases = get_target(arch).read_phases[4]
    addresses = [lane * phases.banks * 4 for lane in range(64)]
    lanes = len(phases.phases[0])
    assert conflict_cost(addresses, 4, phases) == len(phases.phases) * (lanes - 1)
    assert conflict_cost([lane * 4 for lane in range(64)], 4, phases) == 0
    assert conflict_cost([0] * 64, 4, phases) == 0, "the same dword is broadcast"


@pytest.mark.parametrize("arch", TARGETS)
def test_phases_cover_every_lane_once(arch: str) -> None:
    target = get_target(arch)
    for table in (target.read_phases, target.write_phases):
        for phases in table.values():
            assert sorted(lane for phase in phases.phases for lane in phase) == list(range(64))
