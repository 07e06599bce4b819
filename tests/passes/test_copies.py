"""Copies of one lane: LDS-direct loads cover the tile, and the main loops do no address arithmetic by lane."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hkc.driver.compile import CompiledKernel, compile_module
from hkc.passes.distribute.copies import MOST_INSTRUCTION_OFFSET, plan
from hkc.passes.swizzle import Swizzle

from .conftest import Make
from .test_machine_code import loop_lines

LANES, CHUNK = 64, 16


@settings(deadline=None, max_examples=50)
@given(
    rows=st.sampled_from([16, 64, 96, 256]),
    row_bytes=st.sampled_from([64, 128, 512]),
    block=st.sampled_from([16, 64, 128]),
    turns=st.sampled_from([(), ((3, 2),), ((0, 1), (3, 2)), ((2, 2), (3, 3)), ((3, 8),)]),
    waves=st.sampled_from([1, 2, 4, 8]),
    whole=st.booleans(),
    pad=st.sampled_from([0, 4, 1000]),
)
def test_direct_loads_fill_the_tile(
    rows: int, row_bytes: int, block: int, turns: tuple[tuple[int, int], ...], waves: int, whole: bool, pad: int
) -> None:
    """Every chunk of LDS gets the chunk of memory that the layout has there, whatever the pitch of rows."""
    block = min(block, row_bytes)
    chunk_bits = (block // CHUNK).bit_length() - 1
    swizzle = Swizzle(block, tuple((bit, mask) for bit, mask in turns if mask < 1 << bit + chunk_bits))
    wave_bytes = rows * row_bytes // waves
    if wave_bytes % (LANES * CHUNK):
        return
    pitch = row_bytes + pad
    filled = {}
    loads = plan(swizzle, rows, row_bytes, waves, LANES, whole)
    for wave in range(waves):
        for load in loads:
            assert 0 <= load.shared <= MOST_INSTRUCTION_OFFSET
            for lane in range(LANES):
                row, byte = swizzle.place(wave * wave_bytes + (load.base * LANES + lane) * CHUNK, row_bytes, rows)
                moved = load.moved[0] * pitch + load.moved[1]
                lane_offset = row * pitch + byte - (load.shared if load.moved == (0, 0) else 0)
                scalar = moved - load.shared if load.moved != (0, 0) else 0
                assert lane_offset >= 0
                assert scalar >= 0
                source = lane_offset + scalar + load.shared
                filled[wave * wave_bytes + load.destination + load.shared + lane * CHUNK] = source
    assert len(filled) == rows * row_bytes // CHUNK
    for destination, source in filled.items():
        row, byte = swizzle.place(destination, row_bytes, rows)
        assert source == row * pitch + byte


def test_whole_tiles_share_one_source_offset() -> None:
    assert {load.base for load in plan(Swizzle(64, ((3, 2),)), 64, 512, 8, LANES, True)} == {0}
    assert [load.base for load in plan(Swizzle(64, ((3, 2),)), 64, 512, 8, LANES, False)] == [0, 1, 2, 3]


def pingpong(make: Make, gemm: str, arch: str, trans: str) -> CompiledKernel:
    constants = {"BM": 256, "BN": 256, "BK": 64, "SCHEDULE": "pingpong", "TRANS": trans}
    return compile_module(lambda: make(gemm, arch, None, **constants), arch)


# v_perm_b32 of a wavefront and K-step: one a dword of each operand that is transposed in registers.
TRANSPOSING = {"nt": 0, "nn": 16, "tt": 16, "tn": 32}
OTHERS = {"gfx942": {"nt": 31, "nn": 55, "tt": 55, "tn": 75}, "gfx950": {"nt": 30, "nn": 34, "tt": 34, "tn": 37}}


@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
@pytest.mark.parametrize("trans", TRANSPOSING)
def test_pingpong_loops_have_no_address_arithmetic_by_lane(make: Make, gemm: str, arch: str, trans: str) -> None:
    kernel = pingpong(make, gemm, arch, trans)
    used = kernel.report.resources
    assert (used.vgpr_spills, used.sgpr_spills, used.scratch) == (0, 0, 0)
    lines = loop_lines(kernel.asm)
    vector = [line.split()[0] for line in lines if line.startswith("v_") and not line.startswith("v_mfma")]
    steps = 2 if arch == "gfx950" else 1  # two LDS buffers: two K-steps an iteration
    assert vector == ["v_perm_b32"] * (TRANSPOSING[trans] if arch == "gfx942" else 0)
    core = re.compile(r"v_mfma|ds_|buffer_load")
    others = sum(not core.match(line) for line in lines) + 1  # the branch back
    assert others / steps <= OTHERS[arch][trans]


@pytest.mark.parametrize("trans", TRANSPOSING)
def test_m0_is_set_once_for_each_tile(make: Make, gemm: str, trans: str) -> None:
    lines = loop_lines(pingpong(make, gemm, "gfx950", trans).asm)
    assert sum(bool(re.match(r"s_\w+ m0,", line)) for line in lines) == 4, "two operands, two buffers"
