"""What LLVM makes of the passes' output: the main loop as it was meant."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from hkc.driver.assembly import main_loop
from hkc.driver.compile import CompiledKernel, compile_module

from .conftest import Make


@pytest.fixture(params=["gfx942", "gfx950"])
def arch(request: pytest.FixtureRequest) -> str:
    return request.param


def compiled(make: Make, gemm: str, arch: str, **definitions: object) -> CompiledKernel:
    return compile_module(lambda: make(gemm, arch, None, **definitions), arch)


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
    mix = main_loop(compiled(make, gemm, arch).asm)
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


# Per wavefront and K-step of 64, of a 256x256x64 bf16 tile by 2x4 wavefronts: 128x64x64 are multiplied, 24 KB read.
PINGPONG = {
    "gfx942": {"MFMA": 128, "LDS reads": 24, "LDS writes": 8, "global loads": 8, "barriers": 8},
    "gfx950": {"MFMA": 64, "LDS reads": 24, "loads to LDS": 8, "barriers": 8},
}
OTHERS = {"gfx942": 36, "gfx950": 40}


def test_pingpong_spills_nothing_and_moves_no_accumulators(make: Make, gemm: str, arch: str) -> None:
    kernel = compiled(make, gemm, arch, BM=256, BN=256, SCHEDULE="pingpong")
    used = kernel.report.resources
    assert (used.vgpr_spills, used.sgpr_spills, used.scratch) == (0, 0, 0)
    assert not any("accvgpr" in line for line in loop_lines(kernel.asm))


def test_pingpong_is_near_the_floor(make: Make, gemm: str, arch: str) -> None:
    kernel = compiled(make, gemm, arch, BM=256, BN=256, SCHEDULE="pingpong")
    mix = main_loop(kernel.asm)
    assert mix is not None
    steps = 2 if arch == "gfx950" else 1  # two LDS buffers: two K-steps an iteration
    counts = {name: mix.kinds.get(name, 0) / steps for name in PINGPONG[arch]}
    assert counts == PINGPONG[arch]
    core = sum(counts.values()) - counts["barriers"]
    assert mix.instructions / steps - core <= OTHERS[arch]
    assert kernel.report.resources.lds <= {"gfx942": 65536, "gfx950": 131072}[arch]
    assert kernel.report.resources.vgprs <= 256
