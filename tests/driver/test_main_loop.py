"""Loops by control flow, and the main loop of other compilers' code objects."""

from __future__ import annotations

from pathlib import Path

import pytest

import hkc as hk
from hkc.driver.assembly import main_loop
from hkc.driver.loops import Instruction, find_loops
from hkc.errors import HkcError

DATA = Path(__file__).parent.parent / "foreign" / "data"


def texts(code: list[Instruction]) -> list[list[str]]:
    return sorted([i.text for i in loop] for loop in find_loops(code))


def test_a_loop_is_what_reaches_its_back_edge() -> None:
    code = [
        Instruction("s_mov_b32 s0, 0"),
        Instruction("outer"),
        Instruction("inner"),
        Instruction("s_cbranch_scc1", 2),
        Instruction("s_cbranch_scc1", 1),
        Instruction("s_endpgm"),
    ]
    assert texts(code) == [["inner", "s_cbranch_scc1"], ["outer", "inner", "s_cbranch_scc1", "s_cbranch_scc1"]]


def test_a_jump_backwards_alone_is_no_loop() -> None:
    """The code behind an unconditional branch may lie before it."""
    code = [
        Instruction("s_branch", 3),
        Instruction("tail"),
        Instruction("s_endpgm"),
        Instruction("head"),
        Instruction("s_branch", 1),
    ]
    assert texts(code) == []


def test_a_body_may_lie_in_pieces_and_hold_branches() -> None:
    code = [
        Instruction("s_branch", 3),
        Instruction("rare"),  # part of the loop, placed before it
        Instruction("s_branch", 5),
        Instruction("head"),
        Instruction("s_cbranch_scc1", 1),
        Instruction("latch"),
        Instruction("s_cbranch_scc0", 3),
        Instruction("s_endpgm"),
        Instruction("unreachable"),
        Instruction("s_branch", 8),
    ]
    assert texts(code) == [["rare", "s_branch", "head", "s_cbranch_scc1", "latch", "s_cbranch_scc0"]]


def test_a_wave_goes_on_behind_a_debug_trap_only() -> None:
    def code(trap: str) -> list[Instruction]:
        return [Instruction("head"), Instruction(trap), Instruction("s_cbranch_scc1", 0), Instruction("s_endpgm")]

    assert texts(code("s_trap 3")) == [["head", "s_trap 3", "s_cbranch_scc1"]]
    assert texts(code("s_trap 2")) == []


def test_no_code() -> None:
    assert find_loops([]) == []


def test_loads_and_the_waits_that_retire_them() -> None:
    """A store counts in vmcnt too; a load may be waited for an iteration later, an LDS wait is none."""
    loop = """
.LBB0_1:
    buffer_load_dwordx4 v1, s[0:3], 0 offen lds
    v_mfma_f32_16x16x32_bf16 v[0:3], v[4:7], v[8:11], v[0:3]
    global_load_lds_dwordx4 v1, v[2:3], off
    s_waitcnt lgkmcnt(0)
    v_mfma_f32_16x16x32_bf16 v[0:3], v[4:7], v[8:11], v[0:3]
    s_waitcnt vmcnt(1) lgkmcnt(0)
    v_mfma_f32_16x16x32_bf16 v[0:3], v[4:7], v[8:11], v[0:3]
    s_cbranch_scc1 .LBB0_1
    s_endpgm
"""
    mix = main_loop(loop)
    assert mix is not None
    assert mix.kinds["loads to LDS"] == 2
    assert mix.mfma_before_wait == (2, 4)
    with_store = main_loop(
        loop.replace("    s_waitcnt vmcnt(1)", "    buffer_store_dword v1, off\n    s_waitcnt vmcnt(1)")
    )
    assert with_store is not None
    assert with_store.mfma_before_wait == (2, 1)
    without = main_loop(loop.replace("vmcnt(1) ", ""))
    assert without is not None
    assert without.mfma_before_wait == ()


# What the loops of Triton's objects hold: counted in llvm-objdump's listing of the same loops.
TRITON = {
    ("gemm_bf16_pp", "gfx942"): {
        "MFMA": 64, "LDS reads": 24, "LDS writes": 8, "global loads": 8, "waits": 22, "barriers": 2,
        "branches": 1, "scalar": 7, "vector": 25,
    },
    ("gemm_bf16_pp", "gfx950"): {
        "MFMA": 32, "LDS reads": 24, "loads to LDS": 8, "scratch": 32, "waits": 23, "barriers": 1,
        "branches": 1, "scalar": 29, "AGPR moves": 39, "vector": 45,
    },
    ("gemm_bf16_nn", "gfx950"): {
        "MFMA": 32, "LDS reads": 24, "loads to LDS": 8, "waits": 7, "barriers": 1, "branches": 1, "scalar": 23,
        "vector": 30,
    },
}  # fmt: skip


@pytest.mark.parametrize(("name", "arch"), TRITON)
def test_main_loop_of_another_compilers_object(name: str, arch: str) -> None:
    mix = main_loop((DATA / "triton" / f"{name}.{arch}.hsaco").read_bytes(), "gemm")
    assert mix is not None
    assert mix.kinds == TRITON[name, arch]
    assert mix.instructions == sum(mix.kinds.values())


def test_every_gemm_of_triton_has_whole_steps_of_mfma() -> None:
    """256x256x64 (or 128x128x64) over its waves, in MFMAs of the shape found."""
    for name, tile, waves in (("gemm_bf16_nn", 128, 4), ("gemm_bf16_pp", 256, 8), ("gemm_f16", 128, 4)):
        for arch in ("gfx942", "gfx950"):
            mix = main_loop((DATA / "triton" / f"{name}.{arch}.hsaco").read_bytes())
            assert mix is not None
            assert mix.mfma_shape is not None
            m, n, k = mix.mfma_shape
            assert mix.kinds["MFMA"] == tile * tile * 64 // (m * n * k) // waves
            assert len(mix.mfma_before_wait) == 8


@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
def test_code_object_and_assembly_agree(arch: str) -> None:
    kernel = hk.compile(Path(__file__).parent.parent.parent / "examples" / "01_gemm.tile", arch=arch)
    assert main_loop(kernel.hsaco, kernel.name) == main_loop(kernel.asm, kernel.name)
    assert kernel.report.loop == main_loop(kernel.hsaco).kinds  # type: ignore[union-attr]


def test_a_kernel_that_is_not_there() -> None:
    with pytest.raises(HkcError, match="no kernel other"):
        main_loop((DATA / "triton" / "gemm_f16.gfx942.hsaco").read_bytes(), "other")
