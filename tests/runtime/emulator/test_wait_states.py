"""Software wait states, rule by rule: one too few is reported, enough is not.

The numbers are those of the CDNA3 and CDNA4 ISA guides (4.5; tables 37 and 38) and of LLVM's code generator.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest

from hkc.runtime import Report

Words = Callable[..., npt.NDArray[np.uint32]]
S_NOP, S_NOP_16 = 0xBF800000, 0xBF80000F

# The first and the second instruction, and the wait states between them on gfx942 and gfx950.
# fmt: off
CASES = [
    # v_mfma_f32_16x16x16_f16 v[20:23], v[4:5], v[6:7], 0; v_mov_b32_e32 v12, v20
    pytest.param([0xD3CD0014, 0x02020D04], [0x7E180314], (7, 8), id="XDL result, read"),
    # v_mfma_f32_16x16x16_f16 v[20:23], v[4:5], v[6:7], 0; global_store_dword v1, v23, s[6:7]
    pytest.param([0xD3CD0014, 0x02020D04], [0xDC708000, 0x00061701], (7, 8), id="XDL result, stored"),
    # v_mfma_f32_16x16x16_f16 v[20:23], v[4:5], v[6:7], 0; ds_write_b32 v0, v23
    pytest.param([0xD3CD0014, 0x02020D04], [0xD81A0000, 0x00001700], (7, 8), id="XDL result, to LDS"),
    # v_mfma_f32_16x16x16_f16 v[20:23], v[4:5], v[6:7], 0; v_mov_b32_e32 v20, 0
    pytest.param([0xD3CD0014, 0x02020D04], [0x7E280280], (7, 8), id="XDL result, overwritten"),
    # v_mfma_f32_16x16x16_f16 v[20:23], v[4:5], v[6:7], 0; v_mfma_f32_16x16x16_f16 v[30:33], v[20:21], v[6:7], 0
    pytest.param([0xD3CD0014, 0x02020D04], [0xD3CD001E, 0x02020D14], (7, 8), id="XDL result, as A"),
    # v_mfma_f32_16x16x16_f16 v[20:23], v[4:5], v[6:7], 0; v_mfma_f32_16x16x16_f16 v[30:33], v[4:5], v[6:7],
    # v[22:25]
    pytest.param([0xD3CD0014, 0x02020D04], [0xD3CD001E, 0x045A0D04], (5, 6), id="XDL result, as part of C"),
    # v_mfma_f32_16x16x16_f16 v[20:23], v[4:5], v[6:7], 0; v_mfma_f32_16x16x16_f16 v[20:23], v[4:5], v[6:7],
    # v[20:23]
    pytest.param([0xD3CD0014, 0x02020D04], [0xD3CD0014, 0x04520D04], (0, 0), id="XDL result, as C"),
    # v_mfma_f32_4x4x4_16b_f16 v[20:23], v[4:5], v[6:7], 0; v_mov_b32_e32 v12, v20
    pytest.param([0xD3CA0014, 0x02020D04], [0x7E180314], (5, 5), id="XDL result of 2 passes"),
    # v_mfma_f32_4x4x4_16b_f16 v[20:23], v[4:5], v[6:7], 0; v_mfma_f32_4x4x4_16b_f16 v[20:23], v[4:5], v[6:7],
    # v[20:23]
    pytest.param([0xD3CA0014, 0x02020D04], [0xD3CA0014, 0x04520D04], (2, 2), id="XDL result of 2 passes, as C"),
    # v_mfma_f32_32x32x8_f16 v[20:35], v[4:5], v[6:7], 0; v_mov_b32_e32 v12, v35
    pytest.param([0xD3CC0014, 0x02020D04], [0x7E180323], (11, 12), id="XDL result of 8 passes"),
    # v_mfma_f32_32x32x4_2b_f16 v[20:51], v[4:5], v[6:7], 0; v_mov_b32_e32 v12, v35
    pytest.param([0xD3C80014, 0x02020D04], [0x7E180323], (19, None), id="XDL result of 16 passes"),
    # v_mfma_f32_16x16x128_f8f6f4 v[20:23], v[4:11], v[4:11], 0; v_mov_b32_e32 v12, v20
    pytest.param([0xD3AD0014, 0x02020904], [0x7E180314], (None, 12), id="f8f6f4 result, fp8"),
    # v_mfma_f32_16x16x128_f8f6f4 v[20:23], v[4:7], v[4:7], 0 cbsz:4 blgp:4; v_mov_b32_e32 v12, v20
    pytest.param([0xD3AD0414, 0x82020904], [0x7E180314], (None, 8), id="f8f6f4 result, fp4"),
    # v_mfma_f32_16x16x4_f32 v[20:23], v4, v5, 0; v_mov_b32_e32 v12, v20
    pytest.param([0xD3C50014, 0x02020B04], [0x7E180314], (10, 10), id="SGEMM result"),
    # v_mfma_f64_16x16x4_f64 v[20:27], v[4:5], v[6:7], 0; v_mov_b32_e32 v12, v20
    pytest.param([0xD3EE0014, 0x02020D04], [0x7E180314], (11, 19), id="DGEMM result"),
    # v_mfma_f64_16x16x4_f64 v[20:27], v[4:5], v[6:7], 0; global_store_dword v1, v20, s[6:7]
    pytest.param([0xD3EE0014, 0x02020D04], [0xDC708000, 0x00061401], (18, 18), id="DGEMM result, stored"),
    # v_mfma_f64_4x4x4_4b_f64 v[20:21], v[4:5], v[6:7], 0; v_mov_b32_e32 v12, v20
    pytest.param([0xD3EF0014, 0x02020D04], [0x7E180314], (6, 6), id="small DGEMM result"),
    # v_mfma_f32_16x16x16_f16 v[30:33], v[4:5], v[6:7], v[20:23]; v_mov_b32_e32 v20, 0
    pytest.param([0xD3CD001E, 0x04520D04], [0x7E280280], (3, 3), id="C of XDL, overwritten"),
    # v_mov_b32_e32 v20, v4; v_mfma_f32_16x16x16_f16 v[30:33], v[20:21], v[6:7], 0
    pytest.param([0x7E280304], [0xD3CD001E, 0x02020D14], (2, 2), id="VALU result, to MFMA"),
    # v_dot2_f32_f16 v20, v4, v5, v6; v_mov_b32_e32 v12, v20
    pytest.param([0xD3A34014, 0x1C1A0B04], [0x7E180314], (3, 3), id="dot product"),
    # v_dot2_f32_f16 v20, v4, v5, v6; v_dot2_f32_f16 v12, v4, v5, v20
    pytest.param([0xD3A34014, 0x1C1A0B04], [0xD3A3400C, 0x1C520B04], (0, 0), id="dot product, accumulated"),
    # s_mov_b64 exec, 0; v_readfirstlane_b32 s8, v4; global_load_dword v12, v1, s[8:9]
    pytest.param([0xBEFE0180, 0x7E100504], [0xDC508000, 0x0C080001], (5, 5), id="SGPR, to vector memory"),
    # v_cmp_eq_u32_e32 vcc, v4, v5; v_div_fmas_f32 v12, v4, v5, v6
    pytest.param([0x7D940B04], [0xD1E2000C, 0x041A0B04], (4, 4), id="vcc, to v_div_fmas"),
    # v_readfirstlane_b32 s8, v4; v_readlane_b32 s9, v5, s8
    pytest.param([0x7E100504], [0xD2890009, 0x00001105], (4, 4), id="SGPR, as lane number"),
    # v_readfirstlane_b32 s8, v4; v_mov_b32_e32 v12, s8
    pytest.param([0x7E100504], [0x7E180208], (2, 2), id="SGPR, as constant"),
    # v_cmp_eq_u32_e64 s[8:9], v4, v5; v_cndmask_b32_e64 v12, v4, v5, s[8:9]
    pytest.param([0xD0CA0008, 0x00020B04], [0xD100000C, 0x00220B04], (0, 0), id="SGPR, as mask"),
    # v_mov_b32_e32 v20, v4; v_mov_b32_dpp v12, v20 quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf
    pytest.param([0x7E280304], [0x7E1802FA, 0xFF00B114], (2, 2), id="VGPR, to DPP"),
    # v_cmpx_eq_u32_e32 vcc, v4, v4; v_mov_b32_dpp v12, v4 quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf
    pytest.param([0x7DB40904], [0x7E1802FA, 0xFF00B104], (5, 5), id="EXEC, to DPP"),
    # v_cmpx_eq_u32_e32 vcc, v4, v4; v_readlane_b32 s9, v5, 0
    pytest.param([0x7DB40904], [0xD2890009, 0x00010105], (4, 4), id="EXEC, to v_readlane"),
    # v_cmpx_eq_u32_e32 vcc, v4, v4; v_mfma_f32_16x16x16_f16 v[20:23], v[4:5], v[6:7], 0
    pytest.param([0x7DB40904], [0xD3CD0014, 0x02020D04], (4, 4), id="EXEC, to MFMA"),
    # v_rcp_f32_e32 v20, v4; v_add_u32_e32 v12, v20, v20
    pytest.param([0x7E284504], [0x68182914], (1, 1), id="transcendental"),
    # v_mov_b32_e32 v20, v4; v_readlane_b32 s9, v20, 0
    pytest.param([0x7E280304], [0xD2890009, 0x00010114], (1, 1), id="VGPR, to v_readlane"),
    # v_add_u16_sdwa v20, v4, v5 dst_sel:WORD_1 dst_unused:UNUSED_PAD src0_sel:DWORD src1_sel:DWORD; v_mov_b32_e32
    # v12, v20
    pytest.param([0x4C280AF9, 0x06060504], [0x7E180314], (1, 1), id="SDWA destination"),
    # v_mad_i16 v20, v4, v5, v6 op_sel:[0,0,0,1]; v_mov_b32_e32 v12, v20
    pytest.param([0xD2054014, 0x041A0B04], [0x7E180314], (1, 1), id="op_sel destination"),
    # s_mov_b32 m0, 0; s_sendmsg sendmsg(MSG_INTERRUPT)
    pytest.param([0xBEFC0080], [0xBF900001], (1, 1), id="M0"),
    # global_store_dwordx4 v1, v[4:7], s[6:7]; v_mov_b32_e32 v7, 0
    pytest.param([0xDC7C8000, 0x00060401], [0x7E0E0280], (2, 2), id="store of four dwords, overwritten"),
    # global_store_dwordx2 v1, v[4:5], s[6:7]; v_mov_b32_e32 v4, 0
    pytest.param([0xDC748000, 0x00060401], [0x7E080280], (0, 0), id="store of two dwords, overwritten"),
    # s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 4), 0; s_getreg_b32 s8, hwreg(HW_REG_MODE)
    pytest.param([0xBA001801, 0x00000000], [0xB888F801], (2, 2), id="hardware register"),
    # v_mov_b32_e32 v20, v4; v_permlane32_swap_b32_e32 v20, v5
    pytest.param([0x7E280304], [0x7E28B505], (None, 2), id="lane swap"),
]
# fmt: on


def states(count: int) -> list[int]:
    """s_nop of so many wait states."""
    full, rest = divmod(count, 16)
    return [S_NOP_16] * full + ([S_NOP + rest - 1] if rest else [])


@pytest.mark.parametrize(("first", "second", "needed"), CASES)
def test_wait_states(
    run_words: Words,
    checked: Callable[[], list[Report]],
    arch: str,
    first: list[int],
    second: list[int],
    needed: tuple[int | None, int | None],
) -> None:
    count = needed[arch == "gfx950"]
    if count is None:
        pytest.skip("an instruction of the other target")
    inputs = np.zeros((64, 8), np.uint32)
    # Nothing is read of what other tests left: more wait states than any rule needs come first.
    begin = states(32)

    def hazards(words: list[int]) -> list[str]:
        run_words([*begin, *words], inputs)
        return [report.message for report in checked() if report.kind == "hazard"]

    assert hazards([*first, *states(count), *second, *states(32)]) == []
    if count:
        found = hazards([*first, *states(count - 1), *second, *states(32)])
        assert len(found) == 1
        assert f" {count - 1} wait states after " in found[0]
        assert found[0].endswith(f"it needs {count}")


def test_other_instructions_are_wait_states(run_words: Words, checked: Callable[[], list[Report]]) -> None:
    # v_readfirstlane_b32 s8, v4; s_mov_b32 s9, 0; s_barrier; v_mov_b32_e32 v12, s8
    run_words([0x7E100504, 0xBE890080, 0xBF8A0000, 0x7E180208], np.zeros((64, 8), np.uint32))
    assert checked() == []
