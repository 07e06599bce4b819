"""What LLVM makes of the passes' output: the main loop as it was meant."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

import numpy as np
import pytest

import hkc as hk
from hkc.driver.assembly import main_loop
from hkc.driver.compile import CompiledKernel, compile_module
from hkc.numerics import encode
from hkc.runtime import open_device

from .conftest import EXAMPLES, Make


@pytest.fixture(params=["gfx942", "gfx950"])
def arch(request: pytest.FixtureRequest) -> str:
    return request.param


_COMPILED: dict[tuple[object, ...], CompiledKernel] = {}


def compiled(make: Make, gemm: str, arch: str, **definitions: object) -> CompiledKernel:
    key = (gemm, arch, *definitions.items())
    if key not in _COMPILED:
        _COMPILED[key] = compile_module(lambda: make(gemm, arch, None, **definitions), arch)
    return _COMPILED[key]


def loop_lines(assembly: str) -> list[str]:
    """The main loop's instructions: from its label to the branch back."""
    lines = [line.split(";")[0].strip() for line in assembly.splitlines()]
    ends = [i for i, line in enumerate(lines) if line.startswith("s_cbranch")]
    best: list[str] = []
    for end in ends:
        label = lines[end].split()[-1] + ":"
        if label in lines[:end]:
            body = [x for x in lines[lines.index(label) : end] if x and not x.startswith(".")]
            mfma = sum("v_mfma" in x for x in body)
            known = sum("v_mfma" in x for x in best)
            if mfma and (not best or mfma > known or (mfma == known and len(body) < len(best))):
                best = body
    return best


@pytest.mark.parametrize("trans", ["nt", "nn"])
def test_default_gemm_spills_nothing(make: Make, gemm: str, arch: str, trans: str) -> None:
    used = compiled(make, gemm, arch, TRANS=trans).report.resources
    assert (used.vgpr_spills, used.sgpr_spills, used.scratch) == (0, 0, 0)


def test_main_loop_is_the_tiles_share_of_work(make: Make, gemm: str, arch: str) -> None:
    """128x128x64 by 2x2 wavefronts: each multiplies 64x64x64 and reads 2 x 8 KB from LDS, 16 bytes a lane."""
    mix = main_loop(compiled(make, gemm, arch, SCHEDULE="uniform").asm)
    assert mix is not None
    mfma_k = {"gfx942": 16, "gfx950": 32}[arch]
    assert mix.mfma_shape == (16, 16, mfma_k)
    assert mix.kinds["MFMA"] == 4 * 4 * 64 // mfma_k
    assert mix.kinds["LDS reads"] == 16
    assert mix.kinds["barriers"] == 1
    moved = "loads to LDS" if arch == "gfx950" else "global loads"
    assert mix.kinds[moved] == 8, "16 KB of two operands by 256 lanes of 16 bytes"


@pytest.mark.parametrize(("stages", "vmcnt"), [(2, 0), (3, 8)])
def test_llvm_adds_no_wait_for_direct_copies(make: Make, gemm: str, stages: int, vmcnt: int) -> None:
    lines = loop_lines(compiled(make, gemm, "gfx950", STAGES=stages).asm)
    counts = [int(m[1]) for line in lines if (m := re.search(r"vmcnt\((\d+)\)", line))]
    assert counts == [vmcnt]


def test_the_widest_lds_reads_are_used(make: Make, gemm: str, arch: str) -> None:
    lines = loop_lines(compiled(make, gemm, arch).asm)
    reads = {line.split()[0] for line in lines if line.startswith("ds_read")}
    assert reads == {"ds_read_b128"}


def test_transposed_operands_use_transposing_reads(make: Make, gemm: str) -> None:
    """A lane's eight k's of B[k, n] are two reads of four; A[m, k] is read 16 bytes at a time."""
    reads = Counter(line.split()[0] for line in loop_lines(compiled(make, gemm, "gfx950", TRANS="nn").asm))
    assert reads["ds_read_b128"] == 8
    assert reads["ds_read_b64_tr_b16"] == 16
    assert not any(name.startswith("ds_read_u") for name in reads)


@dataclass(frozen=True)
class Loop:
    """What the main loop of a 256x256x64 bf16 tile should have, per wavefront and K-step of 64: by 2x4 wavefronts each
    multiplies 128x64x64 and reads 24 KB, by 2x2 128x128x64 and 32 KB."""

    schedule: str
    arch: str
    shape: tuple[int, int, int]
    kinds: dict[str, int]
    others: int  # at most; what is not an MFMA, a read or write of LDS, or a load
    lds: int
    registers: int
    ahead: int  # MFMA from a load to the wait for it, at least
    steps: int  # K-steps of an iteration: one for each LDS buffer


LOOPS = (
    Loop(
        "pingpong",
        "gfx942",
        (16, 16, 16),
        {"MFMA": 128, "LDS reads": 24, "LDS writes": 8, "global loads": 8, "barriers": 8},
        *(36, 65536, 256, 32, 1),
    ),
    Loop(
        "pingpong",
        "gfx950",
        (16, 16, 32),
        {"MFMA": 64, "LDS reads": 24, "loads to LDS": 8, "barriers": 8},
        *(40, 131072, 256, 32, 2),
    ),
    Loop(
        "interleave",
        "gfx942",
        (32, 32, 8),
        {"MFMA": 128, "LDS reads": 32, "LDS writes": 16, "global loads": 16, "barriers": 2},
        *(36, 65536, 512, 32, 1),
    ),
    Loop(
        "interleave",
        "gfx950",
        (32, 32, 16),
        {"MFMA": 64, "LDS reads": 32, "loads to LDS": 16, "barriers": 1},
        *(48, 131072, 512, 32, 2),
    ),
)


@pytest.mark.parametrize("loop", LOOPS, ids=lambda loop: f"{loop.schedule}-{loop.arch}")
def test_schedules_are_near_the_floor(make: Make, gemm: str, loop: Loop) -> None:
    kernel = compiled(make, gemm, loop.arch, BM=256, BN=256, SCHEDULE=loop.schedule)
    mix, used = main_loop(kernel.hsaco), kernel.report.resources
    assert mix is not None
    assert mix.mfma_shape == loop.shape
    counts = {name: mix.kinds.get(name, 0) / loop.steps for name in loop.kinds}
    assert counts == loop.kinds
    core = sum(counts.values()) - counts["barriers"]
    assert mix.instructions / loop.steps - core <= loop.others
    assert "AGPR moves" not in mix.kinds and "scratch" not in mix.kinds
    loads = round(counts.get("loads to LDS", 0) + counts.get("global loads", 0))
    assert len(mix.mfma_before_wait) == loads * loop.steps
    assert min(mix.mfma_before_wait) >= loop.ahead
    assert (used.vgpr_spills, used.sgpr_spills, used.scratch) == (0, 0, 0)
    assert used.lds <= loop.lds
    assert used.vgprs <= loop.registers


def test_interleaved_memory_instructions_stand_between_mfma(make: Make, gemm: str) -> None:
    """No more than two in a row, and never more than eight MFMA without any but before the barrier."""
    kernel = compiled(make, gemm, "gfx950", BM=256, BN=256, SCHEDULE="interleave")
    texts = [x.split()[0] for x in loop_lines(kernel.asm) if not x.startswith(("s_mov", "s_wait", "s_add", "s_cmp"))]
    kinds = "".join("M" if x.startswith("v_mfma") else "x" if x.startswith(("ds_", "buffer_")) else "" for x in texts)
    assert max(map(len, kinds.split("M"))) <= 2
    assert max(map(len, kinds.split("x"))) <= 8


def test_interleave_spills_nothing_with_transposed_operands(make: Make, gemm: str, arch: str) -> None:
    kernel = compiled(make, gemm, arch, BM=256, BN=256, TRANS="tn", SCHEDULE="interleave")
    mix, used = main_loop(kernel.hsaco), kernel.report.resources
    assert (used.vgpr_spills, used.sgpr_spills, used.scratch) == (0, 0, 0)
    assert mix is not None and "AGPR moves" not in mix.kinds


@pytest.mark.parametrize(("arch", "most"), [("gfx950", 7.5), ("gfx942", 6.0)])
def test_attention_executes_few_instructions_for_each_mfma(arch: str, most: float) -> None:
    """HipKittens' loop on gfx950 has 8.3, FlyDSL's on gfx942 7.2 (static counts of their listings)."""
    random = np.random.default_rng(0).standard_normal((3, 1, 1, 4096, 128))
    arrays = [hk.array(encode(values, hk.bf16), hk.bf16) for values in (*random, np.zeros((1, 1, 4096, 128)))]
    device = open_device(f"emulator:{arch}")
    device.counters()
    hk.load(EXAMPLES / "05_attention.tile")(*arrays, device=f"emulator:{arch}")
    counters = device.counters()
    assert counters["instructions"] <= most * counters["mfma"]
    assert counters["lds_conflict_cycles"] == 0
