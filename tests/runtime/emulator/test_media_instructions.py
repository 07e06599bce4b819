"""Media, graphics and index instructions against numpy: words of LLVM 22's assembler for the text beside them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from .test_core_instructions import U32, Case, Env, F, case, f, h, lo, make_inputs, u32, u64

Array = npt.NDArray[Any]


def bytes_of(v: Array) -> Array:
    """The four low bytes of each value, as signed numbers to count with."""
    return np.stack([(v >> v.dtype.type(8 * n)) & v.dtype.type(0xFF) for n in range(4)], 1).astype(np.int64)


def per_byte(e: Env, function: Callable[..., Array]) -> U32:
    made = function(*(bytes_of(x) for x in (e.a, e.b, e.c)))
    return (made << np.arange(0, 32, 8)).sum(1).astype(np.uint32)


def sums(a: Array, b: U32, counted: Callable[[Array], Array] = np.ones_like, shifts: range = range(4)) -> list[Array]:
    """Sums of byte differences of ``a``, from each of ``shifts`` bytes on, to ``b``."""
    reference = bytes_of(b)
    windows = (bytes_of(a >> a.dtype.type(8 * n)) for n in shifts)
    return [(np.abs(window - reference) * counted(reference)).sum(1).astype(np.uint64) for window in windows]


def masked_sums(a: Array, b: U32, shifts: range = range(4)) -> list[Array]:
    """Bytes of ``b`` that are zero do not count."""
    return sums(a, b, lambda reference: (reference != 0).astype(np.int64), shifts)


def quarters(e: Env) -> list[Array]:
    """The 16-bit fields of v[8:9]."""
    addend = e.x[4].astype(np.uint64) | e.x[5].astype(np.uint64) << np.uint64(32)
    return [addend >> np.uint64(16 * n) & np.uint64(0xFFFF) for n in range(4)]


def words16(fields: list[Array]) -> U32:
    """Four sums with their addends, each cut to 16 bits, as two dwords."""
    low = [(fields[n] + fields[n + 4]).astype(np.uint32) & u32(0xFFFF) for n in range(4)]
    return np.stack([low[0] | low[1] << u32(16), low[2] | low[3] << u32(16)], 1)


def halves(v: U32) -> npt.NDArray[np.int32]:
    return v.view(np.int16).reshape(-1, 2).astype(np.int32)


def norm(v: Array, least: int, scale: int) -> U32:
    product = np.clip(v.astype(np.float32), np.float32(least), np.float32(1)) * np.float32(scale)
    return np.rint(product).astype(np.int64).astype(np.uint32) & u32(0xFFFF)


def cube(x: np.float32, y: np.float32, z: np.float32) -> list[np.float32]:
    """Face, s, t and twice the major axis, by the tables of OpenGL 4.6, 8.13 (faces +x -x +y -y +z -z)."""
    size = [abs(x), abs(y), abs(z)]
    if size[2] >= max(size[:2]):
        face, s, t, axis = (4, x, -y, z) if z >= 0 else (5, -x, -y, z)
    elif size[1] >= size[0]:
        face, s, t, axis = (2, x, z, y) if y >= 0 else (3, x, -z, y)
    else:
        face, s, t, axis = (0, -z, -y, x) if x >= 0 else (1, z, -y, x)
    return [np.float32(face), s, t, 2 * axis]


def accumulated(e: Env) -> U32:
    byte = u32(np.clip(np.trunc(f(e.a)), 0, 255))
    return byte << (u32(8) * (e.b & u32(3)))


# fmt: off
CASES = [
    case("v_lerp_u8 v12, v4, v5, v6",
         [0xD1CD000C, 0x041A0B04],
         "int", lambda e: per_byte(e, lambda a, b, c: (a + b + (c & 1)) >> 1)),
    case("v_msad_u8 v12, v4, v5, v6",
         [0xD1E4000C, 0x041A0B04],
         "int", lambda e: lo(e.c.astype(np.uint64) + masked_sums(e.a, e.b, range(1))[0])),
    case("v_sat_pk_u8_i16_e32 v12, v4",
         [0x7E189F04],
         "int", lambda e: np.clip(halves(e.a)[:, 0], 0, 255) | np.clip(halves(e.a)[:, 1], 0, 255) << 8),
    case("v_qsad_pk_u16_u8 v[12:13], v[4:5], v6, v[8:9]",
         [0xD1E5000C, 0x04220D04],
         "int", lambda e: words16(sums(e.a64, e.c) + quarters(e))),
    case("v_mqsad_pk_u16_u8 v[12:13], v[4:5], v6, v[8:9]",
         [0xD1E6000C, 0x04220D04],
         "int", lambda e: words16(masked_sums(e.a64, e.c) + quarters(e))),
    case("v_mqsad_u32_u8 v[12:15], v[4:5], v6, v[8:11]",
         [0xD1E7000C, 0x04220D04],
         "int", lambda e: np.stack([lo(s + u64(x)) for s, x in zip(masked_sums(e.a64, e.c), e.x[4:], strict=True)], 1)),
    case("v_cvt_pk_u8_f32 v12, v4, 1, v6",
         [0xD1DD000C, 0x04190304],
         "f32", lambda e: (e.c & u32(0xFFFF00FF)) | u32(np.clip(np.trunc(f(e.a)), 0, 255)) << u32(8)),
    case("v_cvt_pknorm_i16_f32 v12, v4, v5",
         [0xD294000C, 0x00020B04],
         "f32", lambda e: norm(f(e.a), -1, 32767) | norm(f(e.b), -1, 32767) << u32(16)),
    case("v_cvt_pknorm_u16_f32 v12, v4, v5",
         [0xD295000C, 0x00020B04],
         "f32", lambda e: norm(f(e.a), 0, 65535) | norm(f(e.b), 0, 65535) << u32(16)),
    case("v_cvt_pknorm_i16_f16 v12, v4, v5",
         [0xD299000C, 0x00020B04],
         "f16", lambda e: norm(h(e.a)[:, 0], -1, 32767) | norm(h(e.b)[:, 0], -1, 32767) << u32(16)),
    case("v_cvt_pknorm_u16_f16 v12, v4, v5",
         [0xD29A000C, 0x00020B04],
         "f16", lambda e: norm(h(e.a)[:, 0], 0, 65535) | norm(h(e.b)[:, 0], 0, 65535) << u32(16)),
    case("v_cvt_norm_i16_f16_e32 v12, v4",
         [0x7E189B04],
         "f16", lambda e: norm(h(e.a)[:, 0], -1, 32767)),
    case("v_cvt_norm_u16_f16_e32 v12, v4",
         [0x7E189D04],
         "f16", lambda e: norm(h(e.a)[:, 0], 0, 65535)),
    case("v_cubeid_f32 v12, v4, v5, v6; v_cubesc_f32 v13, v4, v5, v6; v_cubetc_f32 v14, v4, v5, v6; "
         "v_cubema_f32 v15, v4, v5, v6",
         [0xD1C4000C, 0x041A0B04, 0xD1C5000D, 0x041A0B04, 0xD1C6000E, 0x041A0B04, 0xD1C7000F, 0x041A0B04],
         "f32", lambda e: F(np.stack([cube(*xyz) for xyz in zip(f(e.a), f(e.b), f(e.c), strict=True)]))),
    case("v_cvt_pkaccum_u8_f32 v12, v4, v5",
         [0xD1F0000C, 0x00020B04],
         "f32", lambda e: accumulated(e)),
    case("v_nop; v_clrexcp; v_mov_b32_e32 v12, v4",
         [0x7E000000, 0x7E006A00, 0x7E180304],
         "int", lambda e: e.a),
    case("s_mov_b32 m0, 2; s_nop 4; v_mov_b32_e32 v12, v5; s_movrels_b32 s8, s4; v_mov_b32_e32 v13, s6; "
         "v_mov_b32_e32 v14, s8; v_sub_u32_e32 v13, v13, v14",
         [0xBEFC0082, 0xBF800004, 0x7E180305, 0xBE882A04, 0x7E1A0206, 0x7E1C0208, 0x6A1A1D0D],
         "int", lambda e: np.stack([e.b, 0 * e.a], 1)),
    case("s_mov_b32 m0, 1; s_movk_i32 s10, 7; s_nop 4; s_movreld_b32 s8, s10; v_mov_b32_e32 v12, s9",
         [0xBEFC0081, 0xB00A0007, 0xBF800004, 0xBE882C0A, 0x7E180209],
         "int", lambda e: np.full(64, 7, np.uint32)),
    case("s_set_gpr_idx_on 2, gpr_idx(SRC0); s_nop 4; v_mov_b32_e32 v12, v4; s_set_gpr_idx_off; v_mov_b32_e32 "
         "v13, v4",
         [0xBF110182, 0xBF800004, 0x7E180304, 0xBF9C0000, 0x7E1A0304],
         "int", lambda e: np.stack([e.c, e.a], 1)),
    case("s_set_gpr_idx_on 3, gpr_idx(DST); s_nop 4; v_mov_b32_e32 v12, v5; s_set_gpr_idx_off",
         [0xBF110883, 0xBF800004, 0x7E180305, 0xBF9C0000],
         "int", lambda e: np.stack([0 * e.a, 0 * e.a, 0 * e.a, e.b], 1)),
    case("v_mov_b32_e32 v20, 0; s_mov_b32 m0, 64; ds_write_b32 v20, v20 offset:64; s_waitcnt lgkmcnt(0); "
         "ds_append v12 offset:0; s_waitcnt lgkmcnt(0); ds_read_b32 v13, v20 offset:64; s_waitcnt lgkmcnt(0); "
         "ds_consume v14 offset:0; s_waitcnt lgkmcnt(0)",
         [0x7E280280, 0xBEFC00C0, 0xD81A0040, 0x00001414, 0xBF8CC07F, 0xD97C0000, 0x0C000000, 0xBF8CC07F,
          0xD86C0040, 0x0D000014, 0xBF8CC07F, 0xD97A0000, 0x0E000000, 0xBF8CC07F],
         "int", lambda e: np.tile(np.array([0, 64, 64], np.uint32), (64, 1))),
    case("s_mov_b32 m0, 0; ds_write_addtid_b32 v4 offset:16; s_waitcnt lgkmcnt(0); ds_read_addtid_b32 v12 "
         "offset:16; v_lshlrev_b32_e32 v20, 2, v0; ds_read_b32 v13, v20 offset:16; s_waitcnt lgkmcnt(0)",
         [0xBEFC0080, 0xD83A0010, 0x00000400, 0xBF8CC07F, 0xD96C0010, 0x0C000000, 0x24280082, 0xD86C0010,
          0x0D000014, 0xBF8CC07F],
         "int", lambda e: np.stack([e.a, e.a], 1)),
    case("v_lshlrev_b32_e32 v20, 3, v0; ds_write_b64 v20, v[4:5]; s_waitcnt lgkmcnt(0); ds_wrxchg2_rtn_b32 "
         "v[12:13], v20, v6, v7 offset1:1; s_waitcnt lgkmcnt(0); ds_read_b64 v[14:15], v20; s_waitcnt "
         "lgkmcnt(0)",
         [0x24280083, 0xD89A0000, 0x00000414, 0xBF8CC07F, 0xD85C0100, 0x0C070614, 0xBF8CC07F, 0xD8EC0000,
          0x0E000014, 0xBF8CC07F],
         "int", lambda e: np.stack([e.a, e.b, e.c, e.d], 1)),
]
# fmt: on


@pytest.mark.parametrize("case", CASES)
def test_instruction(run_words: Callable[..., U32], case: Case) -> None:
    inputs = make_inputs(case.kind, np.random.default_rng(len(case.text)))
    result = run_words(case.words, inputs)
    with np.errstate(all="ignore"):
        expected = np.asarray(case.expected(Env(inputs)), np.uint32).reshape(64, -1)
    np.testing.assert_array_equal(np.ascontiguousarray(result[:, : expected.shape[1]]), expected)
