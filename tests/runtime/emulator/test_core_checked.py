"""Checked mode: what it must report, and what it must not."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest

from hkc.runtime import Device, HipError, Report

from .conftest import launch

Words = Callable[..., npt.NDArray[np.uint32]]
Reports = Callable[[], list[Report]]
S_BARRIER, S_NOP = 0xBF8A0000, 0xBF800000

# The template of conftest.py gives 8 KB of LDS and in v4-v11 defined values.
# fmt: off
FAULTY = [
    # global_load_dword v12, v1, s[4:5]; v_add_u32_e32 v13, 1, v12
    pytest.param("register-before-wait", 1,
        [0xDC508000, 0x0C040001, 0x681A1881],
        id="use"),
    # global_load_dword v12, v1, s[4:5]; global_load_dword v14, v1, s[4:5]; s_waitcnt vmcnt(1);
    # v_add_u32_e32 v13, 1, v14
    pytest.param("register-before-wait", 1,
        [0xDC508000, 0x0C040001, 0xDC508000, 0x0E040001, 0xBF8C0F71, 0x681A1C81],
        id="a wait for the older of two loads"),
    # global_load_dword v12, v1, s[4:5]; v_mov_b32_e32 v12, 0
    pytest.param("register-before-wait", 1,
        [0xDC508000, 0x0C040001, 0x7E180280],
        id="overwrite"),
    # v_lshlrev_b32_e32 v20, 2, v0; ds_write_b32 v20, v4; ds_read_b32 v12, v20; v_add_u32_e32 v13, 1, v12
    pytest.param("register-before-wait", 1,
        [0x24280082, 0xD81A0000, 0x00000414, 0xD86C0000, 0x0C000014, 0x681A1881],
        id="LDS"),
    # s_load_dword s8, s[4:5], 0x0; s_load_dword s9, s[4:5], 0x4; s_waitcnt lgkmcnt(1);
    # v_mov_b32_e32 v12, s8
    pytest.param("register-before-wait", 1,
        [0xC0020202, 0x00000000, 0xC0020242, 0x00000004, 0xBF8CC17F, 0x7E180208],
        id="scalar loads return in any order"),
    # v_mov_b32_e32 v12, v100
    pytest.param("uninitialized-register", 1,
        [0x7E180364],
        id="stored"),
    # v_lshlrev_b32_e32 v20, 2, v100; global_load_dword v12, v20, s[4:5]
    pytest.param("uninitialized-register", 1,
        [0x2428C882, 0xDC508000, 0x0C040014],
        id="address"),
    # s_cmp_eq_u32 s60, 0; s_cbranch_scc1 0
    pytest.param("uninitialized-register", 1,
        [0xBF06803C, 0xBF850000],
        id="scc"),
    # v_cmp_gt_u32_e32 vcc, 5, v100; s_cbranch_vccnz 0
    pytest.param("uninitialized-register", 1,
        [0x7D98C885, 0xBF870000],
        id="vcc"),
    # v_lshlrev_b32_e32 v20, 2, v0; ds_read_b32 v12, v20 offset:1024; s_waitcnt lgkmcnt(0)
    pytest.param("uninitialized-register", 1,
        [0x24280082, 0xD86C0400, 0x0C000014, 0xBF8CC07F],
        id="LDS never written"),
    # v_lshlrev_b32_e32 v20, 8, v0; ds_write_b32 v20, v4; s_waitcnt lgkmcnt(0)
    pytest.param("lds-out-of-bounds", 1,
        [0x24280088, 0xD81A0000, 0x00000414, 0xBF8CC07F],
        id="LDS bounds"),
    # s_mov_b32 m0, 0; s_nop 0; v_lshlrev_b32_e32 v20, 2, v0; global_load_lds_dword v20, s[4:5];
    # ds_read_b32 v12, v20; s_waitcnt lgkmcnt(0)
    pytest.param("lds-before-wait", 1,
        [0xBEFC0080, 0xBF800000, 0x24280082, 0xDCA88000, 0x00040014, 0xD86C0000, 0x0C000014, 0xBF8CC07F],
        id="load to LDS"),
    # v_lshlrev_b32_e32 v20, 2, v0; v_xor_b32_e32 v21, 0x100, v20; ds_write_b32 v20, v4;
    # s_waitcnt lgkmcnt(0); s_barrier; ds_read_b32 v12, v21; s_barrier; ds_write_b32 v20, v5;
    # s_waitcnt lgkmcnt(0)
    pytest.param("lds-race", 2,
        [0x24280082, 0x2A2A28FF, 0x00000100, 0xD81A0000, 0x00000414, 0xBF8CC07F, 0xBF8A0000, 0xD86C0000,
         0x0C000015, 0xBF8A0000, 0xD81A0000, 0x00000514, 0xBF8CC07F],
        id="read not waited for before the barrier"),
    # v_lshlrev_b32_e32 v20, 2, v0; v_xor_b32_e32 v21, 0x100, v20; ds_write_b32 v20, v4; s_barrier;
    # s_waitcnt lgkmcnt(0); ds_read_b32 v12, v21; s_waitcnt lgkmcnt(0)
    pytest.param("lds-before-wait", 2,
        [0x24280082, 0x2A2A28FF, 0x00000100, 0xD81A0000, 0x00000414, 0xBF8A0000, 0xBF8CC07F, 0xD86C0000,
         0x0C000015, 0xBF8CC07F],
        id="write not waited for before the barrier"),
    # v_lshlrev_b32_e32 v20, 8, v0; global_load_dword v12, v20, s[4:5]; s_waitcnt vmcnt(0)
    pytest.param("out-of-bounds", 1,
        [0x24280088, 0xDC508000, 0x0C040014, 0xBF8C0F70],
        id="global bounds"),
]
FINE = [
    # global_load_dword v12, v1, s[4:5]; global_load_dword v14, v1, s[4:5]; s_waitcnt vmcnt(1);
    # v_add_u32_e32 v13, 1, v12
    pytest.param(1,
        [0xDC508000, 0x0C040001, 0xDC508000, 0x0E040001, 0xBF8C0F71, 0x681A1881],
        id="a count that covers the older load"),
    # global_load_short_d16 v12, v1, s[4:5]; global_load_short_d16_hi v12, v1, s[4:5] offset:2;
    # s_waitcnt vmcnt(0); v_mov_b32_e32 v13, v12
    pytest.param(1,
        [0xDC908000, 0x0C040001, 0xDC948002, 0x0C040001, 0xBF8C0F70, 0x7E1A030C],
        id="two halves of one register"),
    # s_mov_b32 s8, 0; s_mov_b32 s9, -1; s_mov_b64 exec, s[8:9]; global_load_dword v12, v1, s[4:5];
    # s_not_b64 exec, exec; v_mov_b32_e32 v12, v4; s_mov_b64 exec, -1
    pytest.param(1,
        [0xBE880080, 0xBE8900C1, 0xBEFE0108, 0xDC508000, 0x0C040001, 0xBEFE057E, 0x7E180304, 0xBEFE01C1],
        id="lanes of another branch"),
    # s_mov_b32 s20, 0x03020100; v_and_b32_e32 v12, 0, v100; v_mov_b32_e32 v101, v100;
    # v_perm_b32 v13, v100, v4, s20
    pytest.param(1,
        [0xBE9400FF, 0x03020100, 0x2618C880, 0x7ECA0364, 0xD1ED000D, 0x00520964],
        id="undefined bits masked"),
    # v_lshlrev_b32_e32 v20, 16, v100; v_and_b32_e32 v20, 0xffff, v20; v_or_b32_e32 v12, v20, v4;
    # v_mad_u64_u32 v[100:101], vcc, v4, v5, v[6:7]; v_mov_b32_e32 v13, v100
    pytest.param(1,
        [0x2428C890, 0x262828FF, 0x0000FFFF, 0x28180914, 0xD1E86A64, 0x041A0B04, 0x7E1A0364],
        id="undefined upper parts"),
    # s_mov_b32 m0, 0; s_nop 0; v_lshlrev_b32_e32 v20, 2, v0; global_load_lds_dword v20, s[4:5];
    # s_waitcnt vmcnt(0); ds_read_b32 v12, v20; s_waitcnt lgkmcnt(0)
    pytest.param(1,
        [0xBEFC0080, 0xBF800000, 0x24280082, 0xDCA88000, 0x00040014, 0xBF8C0F70, 0xD86C0000, 0x0C000014,
         0xBF8CC07F],
        id="load to LDS, waited for"),
    # v_mov_b32_e32 v20, 0; v_mov_b32_e32 v21, 1; ds_add_u32 v20, v21; s_waitcnt lgkmcnt(0); s_barrier
    pytest.param(2,
        [0x7E280280, 0x7E2A0281, 0xD8000000, 0x00001514, 0xBF8CC07F, 0xBF8A0000],
        id="atomics do not race"),
    # ds_write_b8 v0, v4; s_waitcnt lgkmcnt(0); s_barrier; ds_read_u8 v12, v0; s_waitcnt lgkmcnt(0)
    pytest.param(2,
        [0xD83C0000, 0x00000400, 0xBF8CC07F, 0xBF8A0000, 0xD8740000, 0x0C000000, 0xBF8CC07F],
        id="bytes of one dword"),
]
# v_mov_b32_e32 v20, 0x1000; v_mov_b32_e32 v21, 0; global_load_dword v12, v[20:21], off
FAULT = [0x7E2802FF, 0x00001000, 0x7E2A0280, 0xDC508000, 0x0C7F0014]
# fmt: on


def inputs(waves: int) -> npt.NDArray[np.uint32]:
    return np.random.default_rng(1).integers(0, 1 << 32, (64 * waves, 8), dtype=np.uint32)


@pytest.mark.parametrize(("kind", "waves", "words"), FAULTY)
def test_reported(run_words: Words, checked: Reports, kind: str, waves: int, words: list[int]) -> None:
    run_words(words, inputs(waves), block=64 * waves)
    reports = checked()
    kinds = {report.kind for report in reports}
    if kind == "out-of-bounds":
        # What lies beyond the allocation may be memory that was freed before, and is then named as such.
        kinds.discard("use-after-free")
    assert kinds == {kind}
    for report in reports:
        assert report.instruction and report.instruction in report.message
        assert f"wave {report.wave}" in report.message


@pytest.mark.parametrize(("waves", "words"), FINE)
def test_not_reported(run_words: Words, checked: Reports, waves: int, words: list[int]) -> None:
    run_words(words, inputs(waves), block=64 * waves)
    assert checked() == []


def test_a_report_names_the_parties(run_words: Words, checked: Reports) -> None:
    words = next(p.values[2] for p in FAULTY if p.id == "use")
    run_words(words, inputs(1))
    report = checked()[0]
    assert report.instruction == "v_add_u32_e32 v13, 1, v12"
    assert "uses v12" in report.message and "global_load_dword v12, v1, s[4:5]" in report.message
    assert report.lane == 0 and tuple(report.workgroup) == (0, 0, 0)


def test_memory_fault(run_words: Words, device: Device) -> None:
    with pytest.raises(HipError, match="0x1000"):
        run_words(FAULT, inputs(1))
    (report,) = device.reports()
    assert (report.kind, report.address, report.lane) == ("memory-fault", 0x1000, 0)


def test_opcodes_without_executor_trap(run_words: Words) -> None:
    with pytest.raises(HipError, match="s_setvskip"):
        run_words([0xBF108080], inputs(1))  # s_setvskip 0, 0
    with pytest.raises(HipError, match="not an instruction"):
        run_words([0xBFFF0000], inputs(1))


def test_use_after_free(device: Device, llvm: Callable[[str], bytes], checked: Reports) -> None:
    text = """
    define amdgpu_kernel void @put(ptr addrspace(1) %p) #0 {
      store i32 7, ptr addrspace(1) %p
      ret void
    }
    attributes #0 = { "amdgpu-flat-work-group-size"="64,64" }
    """
    buffer = device.alloc(4096)
    address = ctypes.c_void_p(buffer.address)
    with device.load(llvm(text)) as module:
        module.function("put").launch(1, 64, [address])
        assert checked() == []
        buffer.free()
        module.function("put").launch(1, 64, [address])
        (report,) = checked()
    assert report.kind == "use-after-free" and "which was freed" in report.message


# Two LDS buffers in turn: each wave stores its data, passes the barrier, reads the data of another wave.
STAGED = """
@lds = internal addrspace(3) global [512 x i32] poison, align 16
declare i32 @llvm.amdgcn.workitem.id.x()
declare void @llvm.amdgcn.s.barrier()
define amdgpu_kernel void @staged(ptr addrspace(1) %in, ptr addrspace(1) %out, i32 %n) #0 {
entry:
  %t = call i32 @llvm.amdgcn.workitem.id.x()
  %other = add i32 %t, OFFSET
  %peer = and i32 %other, 255
  %p0 = getelementptr i32, ptr addrspace(1) %in, i32 %t
  %v0 = load i32, ptr addrspace(1) %p0
  br label %loop
loop:
  %k = phi i32 [ 0, %entry ], [ %k1, %loop ]
  %v = phi i32 [ %v0, %entry ], [ %vn, %loop ]
  %acc = phi i32 [ 0, %entry ], [ %sum, %loop ]
  %k1 = add i32 %k, 1
  %odd = and i32 %k, 1
  %base = mul i32 %odd, 256
  %at = add i32 %base, %t
  %ws = getelementptr i32, ptr addrspace(3) @lds, i32 %at
  store i32 %v, ptr addrspace(3) %ws
  %row = mul i32 %k1, 256
  %next = add i32 %row, %t
  %pn = getelementptr i32, ptr addrspace(1) %in, i32 %next
  %vn = load i32, ptr addrspace(1) %pn
  fence syncscope("workgroup") release
  call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire
  %from = add i32 %base, %peer
  %rs = getelementptr i32, ptr addrspace(3) @lds, i32 %from
  %r = load i32, ptr addrspace(3) %rs
  %scaled = mul i32 %r, %k1
  %sum = add i32 %acc, %scaled
  %more = icmp slt i32 %k1, %n
  br i1 %more, label %loop, label %done
done:
  %po = getelementptr i32, ptr addrspace(1) %out, i32 %t
  store i32 %sum, ptr addrspace(1) %po
  ret void
}
attributes #0 = { "amdgpu-flat-work-group-size"="256,256" }
"""
STEPS = 6


def run_staged(device: Device, code: bytes, offset: int) -> bool:
    data = np.random.default_rng(offset).integers(0, 1 << 30, (STEPS + 1, 256)).astype(np.int32)
    out = np.zeros(256, np.int32)
    try:
        launch(device, code, "staged", [data, out, STEPS], block=256)
    except HipError:  # A mutant may take its arguments before they have arrived.
        return False
    peers = data[:STEPS, (np.arange(256) + offset) & 255].astype(np.int64)
    expected = (peers * np.arange(1, STEPS + 1)[:, None]).sum(0)
    return bool(np.array_equal(out, expected.astype(np.uint32).view(np.int32)))


def waits_and_barriers(code: bytes) -> list[int]:
    """Offsets of the s_waitcnt and s_barrier words."""
    words = np.frombuffer(code[: len(code) // 4 * 4], np.uint32)
    return [int(at) * 4 for at in np.flatnonzero((words == S_BARRIER) | (words >> 16 == 0xBF8C))]


@pytest.mark.parametrize("offset", [64, 192], ids=["reads a later wave", "reads an earlier wave"])
def test_every_wait_and_barrier_is_needed(
    device: Device, llvm: Callable[[str], bytes], checked: Reports, offset: int
) -> None:
    """A register-staged, double-buffered loop is clean; without any one wait or barrier it is reported."""
    code = llvm(STAGED.replace("OFFSET", str(offset)))
    assert run_staged(device, code, offset)
    assert checked() == []
    places = waits_and_barriers(code)
    assert len(places) >= 5
    for at in places:
        mutant = code[:at] + S_NOP.to_bytes(4, "little") + code[at + 4 :]
        run_staged(device, mutant, offset)
        kinds = {report.kind for report in checked()}
        barrier = code[at : at + 4] == S_BARRIER.to_bytes(4, "little")
        assert kinds & ({"lds-race"} if barrier else {"register-before-wait", "lds-before-wait", "lds-race"}), hex(at)


def test_missing_wait_gives_wrong_data_too(device: Device, llvm: Callable[[str], bytes], checked: Reports) -> None:
    """What is used before a wait is not the loaded value, so a wrong kernel also computes wrongly."""
    code = llvm(STAGED.replace("OFFSET", "64"))
    waits = [at for at in waits_and_barriers(code) if code[at : at + 4] != S_BARRIER.to_bytes(4, "little")]
    mutants = [code[:at] + S_NOP.to_bytes(4, "little") + code[at + 4 :] for at in waits]
    assert not all(run_staged(device, mutant, 64) for mutant in mutants)
    assert checked()


@pytest.mark.parametrize(("shift", "cycles"), [(2, {"gfx942": 0, "gfx950": 0}), (7, {"gfx942": 62, "gfx950": 31})])
def test_bank_conflicts(
    run_words: Words, device: Device, arch: str, checked: Reports, shift: int, cycles: dict[str, int]
) -> None:
    """Dwords 128 bytes apart: on gfx942 the 32 lanes of a phase meet in one bank, on gfx950 all 64 in two banks."""
    # v_lshlrev_b32_e32 v20, SHIFT, v0; ds_read_b32 v12, v20; s_waitcnt lgkmcnt(0); v_mov_b32_e32 v12, 0
    words = [0x24280080 | shift, 0xD86C0000, 0x0C000014, 0xBF8CC07F, 0x7E180280]
    device.counters()
    run_words(words, inputs(1))
    assert device.counters()["lds_conflict_cycles"] == cycles[arch]
    assert checked() == []
