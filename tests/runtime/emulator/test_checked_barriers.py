"""Barriers in checked mode: divergent control flow, waves that end, waves that never arrive."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest

from hkc.runtime import Device, HipError, Report

Words = Callable[..., npt.NDArray[np.uint32]]
Reports = Callable[[], list[Report]]

S_BARRIER = 0xBF8A0000
ALL_LANES = 0xBEFE01C1  # s_mov_b64 exec, -1
LOW_HALF = [0x7D9800A0, 0xBE88206A]  # v_cmp_gt_u32_e32 vcc, 32, v0; s_and_saveexec_b64 s[8:9], vcc
OTHER_HALF = 0x88FE087E  # s_xor_b64 exec, exec, s[8:9]
# v_readfirstlane_b32 s8, v0; s_lshr_b32 s8, s8, 6; s_cmp_eq_u32 s8, 1
IS_WAVE_1 = [0x7E100500, 0x8F088608, 0xBF068108]
UNLESS, IF = 0xBF840000, 0xBF850000  # s_cbranch_scc0, s_cbranch_scc1
HANG = 0xBF82FFFF  # s_branch to itself

DIVERGENT = {
    "in both branches": [*LOW_HALF, S_BARRIER, OTHER_HALF, S_BARRIER, ALL_LANES],
    "in one branch": [*LOW_HALF, S_BARRIER, ALL_LANES, S_BARRIER],
}
FINE = {
    "uniform": [S_BARRIER, S_BARRIER],
    "a branch between barriers": [S_BARRIER, *LOW_HALF, 0xBF800000, ALL_LANES, S_BARRIER],
    "lanes that have left": [*LOW_HALF, S_BARRIER, S_BARRIER, ALL_LANES],
    "a wave that ends early": [*IS_WAVE_1, IF | 2, S_BARRIER, S_BARRIER],
    "two places": [*IS_WAVE_1, IF | 2, S_BARRIER, 0xBF820001, S_BARRIER],
}


def inputs(waves: int) -> npt.NDArray[np.uint32]:
    return np.ones((64 * waves, 8), np.uint32)


@pytest.mark.parametrize("name", DIVERGENT)
def test_divergent(run_words: Words, checked: Reports, name: str) -> None:
    run_words(DIVERGENT[name], inputs(1))
    (report,) = checked()
    assert report.kind == "barrier-mismatch" and report.lane == 32
    assert report.instruction == "s_barrier" and report.other is not None
    assert report.other.instruction == "s_barrier" and report.other.pc < report.pc
    assert report.other.wave == report.wave == 0


@pytest.mark.parametrize("name", FINE)
def test_not_reported(run_words: Words, checked: Reports, name: str) -> None:
    run_words(FINE[name], inputs(2), block=128)
    assert checked() == []


@pytest.mark.parametrize("lanes", [16, 80])
def test_lanes_that_do_not_exist(run_words: Words, checked: Reports, lanes: int) -> None:
    """All lanes of the last wave are switched on between the barriers, as whole-wave operations do."""
    run_words([S_BARRIER, ALL_LANES, S_BARRIER], np.ones((lanes, 8), np.uint32), block=lanes)
    assert "barrier-mismatch" not in {report.kind for report in checked()}


@pytest.mark.parametrize("sanitize", [False, True])
def test_a_hang_is_reported(run_words: Words, device: Device, sanitize: bool) -> None:
    """Wave 1 spins for ever, wave 0 waits for it."""
    device.set_instruction_budget(10_000)
    try:
        with device.sanitize(sanitize):
            device.reports()
            with pytest.raises(HipError, match="wave 1 has not ended"):
                run_words([*IS_WAVE_1, UNLESS | 1, HANG, S_BARRIER], inputs(2), block=128)
    finally:
        device.set_instruction_budget(0)
    (report,) = device.reports()
    assert (report.kind, report.wave) == ("runaway", 1)
    assert report.other is not None and (report.other.instruction, report.other.wave) == ("s_barrier", 0)
    assert "while wave 0 waits at a barrier" in report.message
