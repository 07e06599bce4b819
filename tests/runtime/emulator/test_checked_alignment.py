"""Checked mode: which addresses must be aligned, and which need not be."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest

from hkc.runtime import Device, HipError, Report

Words = Callable[..., npt.NDArray[np.uint32]]
Reports = Callable[[], list[Report]]

# s[8:11]: a raw buffer resource over the input. s_mov_b32 s8, s4; s_mov_b32 s9, s5; s_movk_i32 s10, 0x1000;
# s_mov_b32 s11, 0x27000
RESOURCE = [0xBE880004, 0xBE890005, 0xB00A1000, 0xBE8B00FF, 0x00027000]

# fmt: off
MISALIGNED = [
    # s_load_dword s8, s[4:5], 0x2; s_waitcnt lgkmcnt(0)
    pytest.param("s_load_dword", -1, 2,
        [0xC0020202, 0x00000002, 0xBF8CC07F],
        id="scalar load"),
    # s_buffer_load_dword s12, s[8:11], 0x5; s_waitcnt lgkmcnt(0)
    pytest.param("s_buffer_load_dword", -1, 5,
        [*RESOURCE, 0xC0220304, 0x00000005, 0xBF8CC07F],
        id="scalar buffer load"),
    # v_lshlrev_b32_e32 v20, 3, v0; buffer_load_dword v12, v20, s[8:11], 0 offen offset:2; s_waitcnt vmcnt(0)
    pytest.param("buffer_load_dword", 0, 2,
        [*RESOURCE, 0x24280083, 0xE0501002, 0x80020C14, 0xBF8C0F70],
        id="buffer load"),
    # v_mov_b32_e32 v20, 0; v_mov_b32_e32 v21, 1; ds_add_u32 v20, v21 offset:2; s_waitcnt lgkmcnt(0)
    pytest.param("ds_add_u32", 0, 2,
        [0x7E280280, 0x7E2A0281, 0xD8000002, 0x00001514, 0xBF8CC07F],
        id="LDS atomic"),
    # s_mov_b32 m0, 2; s_nop 0; v_lshlrev_b32_e32 v20, 2, v0; s_movk_i32 s10, 0x1000;
    # buffer_load_dword v20, s[8:11], 0 offen lds; s_waitcnt vmcnt(0)
    pytest.param("buffer_load_dword", -1, 2,
        [*RESOURCE, 0xBEFC0082, 0xBF800000, 0x24280082, 0xE0511000, 0x80020014, 0xBF8C0F70],
        id="load to LDS"),
]
FINE = [
    # v_lshlrev_b32_e32 v20, 3, v0; global_load_dword v12, v20, s[4:5] offset:1;
    # global_load_dwordx2 v[14:15], v20, s[4:5] offset:3; s_waitcnt vmcnt(0)
    pytest.param([0x24280083, 0xDC508001, 0x0C040014, 0xDC548003, 0x0E040014, 0xBF8C0F70],
        id="global loads"),
    # v_lshlrev_b32_e32 v20, 3, v0; ds_write_b64 v20, v[4:5] offset:1; ds_write_b64 v20, v[4:5] offset:9;
    # s_waitcnt lgkmcnt(0); ds_read_b32 v14, v20 offset:3; s_waitcnt lgkmcnt(0);
    # ds_read_b64 v[12:13], v20 offset:1; s_waitcnt lgkmcnt(0)
    pytest.param([0x24280083, 0xD89A0001, 0x00000414, 0xD89A0009, 0x00000414, 0xBF8CC07F, 0xD86C0003,
        0x0E000014, 0xBF8CC07F, 0xD8EC0001, 0x0C000014, 0xBF8CC07F],
        id="LDS"),
    # v_lshlrev_b32_e32 v20, 3, v0; buffer_load_ushort v12, v20, s[8:11], 0 offen offset:1; s_waitcnt vmcnt(0)
    pytest.param([*RESOURCE, 0x24280083, 0xE0481001, 0x80020C14, 0xBF8C0F70],
        id="halves of a buffer"),
    # v_mov_b32_e32 v20, 0; v_mov_b32_e32 v21, 1; ds_add_u32 v20, v21 offset:4; s_waitcnt lgkmcnt(0);
    # s_load_dword s8, s[4:5], 0x4; s_waitcnt lgkmcnt(0)
    pytest.param([0x7E280280, 0x7E2A0281, 0xD8000004, 0x00001514, 0xBF8CC07F, 0xC0020202, 0x00000004, 0xBF8CC07F],
        id="aligned"),
]
# v_lshlrev_b32_e32 v20, 3, v0; ds_read_b64_tr_b16 v[12:13], v20 offset:4; s_waitcnt lgkmcnt(0)
TRANSPOSED = [0x24280083, 0xD9C60004, 0x0C000014, 0xBF8CC07F]
# v_lshlrev_b32_e32 v20, 3, v0; global_atomic_add v20, v4, s[4:5] offset:2
ATOMIC = [0x24280083, 0xDD088002, 0x00040414]
# fmt: on


def inputs() -> npt.NDArray[np.uint32]:
    return np.random.default_rng(3).integers(0, 1 << 32, (64, 8), dtype=np.uint32)


@pytest.mark.parametrize(("mnemonic", "lane", "bits", "words"), MISALIGNED)
def test_reported(run_words: Words, checked: Reports, mnemonic: str, lane: int, bits: int, words: list[int]) -> None:
    run_words(words, inputs())
    (report,) = [r for r in checked() if r.kind == "misaligned"]
    assert report.instruction.startswith(mnemonic) and report.lane == lane
    assert report.address % 8 == bits and f"{report.address:#x}" in report.message


@pytest.mark.parametrize("words", FINE)
def test_not_reported(run_words: Words, checked: Reports, words: list[int]) -> None:
    run_words(words, inputs())
    assert [r for r in checked() if r.kind == "misaligned"] == []


def test_unaligned_data(run_words: Words, checked: Reports) -> None:
    """Unaligned global loads give the bytes at the address."""
    words = next(p.values[0] for p in FINE if p.id == "global loads")
    given = inputs()
    result = run_words(words, given)
    rows = np.zeros((64, 16), np.uint32)
    rows[:, :8] = given
    raw = rows.tobytes()
    for lane in range(64):
        assert result[lane, 0] == int.from_bytes(raw[8 * lane + 1 : 8 * lane + 5], "little")
        assert result[lane, 2] == int.from_bytes(raw[8 * lane + 3 : 8 * lane + 7], "little")


def test_transposed_reads(run_words: Words, checked: Reports, arch: str) -> None:
    if arch == "gfx942":
        with pytest.raises(HipError):
            run_words(TRANSPOSED, inputs())
        return
    run_words(TRANSPOSED, inputs())
    (report,) = [r for r in checked() if r.kind == "misaligned"]
    assert report.instruction.startswith("ds_read_b64_tr_b16") and report.address == 4


@pytest.mark.parametrize("sanitize", [False, True])
def test_global_atomics_fault(run_words: Words, device: Device, sanitize: bool) -> None:
    with device.sanitize(sanitize):
        device.reports()
        with pytest.raises(HipError, match="not a multiple of the atomic's size"):
            run_words(ATOMIC, inputs())
    (report,) = device.reports()
    assert report.kind == "misaligned" and report.address % 4 == 2
