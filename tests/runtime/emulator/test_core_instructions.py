"""Single instructions, made by hand, against numpy: the words are LLVM 22's assembler's for the text beside them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from hkc.runtime import HipError

U32 = npt.NDArray[np.uint32]
lane = np.arange(64)


class Env:
    """The inputs of a case: v4-v11 as x[0]-x[7]; a, b, c, d are the first four, a64 and c64 pairs of them."""

    def __init__(self, inputs: U32) -> None:
        self.x = [np.ascontiguousarray(inputs[:, n]) for n in range(8)]
        self.a, self.b, self.c, self.d = self.x[:4]
        self.a64 = self.a.astype(np.uint64) | self.b.astype(np.uint64) << np.uint64(32)
        self.c64 = self.c.astype(np.uint64) | self.d.astype(np.uint64) << np.uint64(32)


def u32(v: Any) -> Any:
    return np.asarray(v).astype(np.uint32)


def u64(v: U32) -> npt.NDArray[np.uint64]:
    return v.astype(np.uint64)


def s64(v: U32) -> npt.NDArray[np.int64]:
    return v.view(np.int32).astype(np.int64)


def i(v: Any) -> Any:
    return np.asarray(v, np.uint32).view(np.int32)


def u(v: Any) -> U32:
    return np.asarray(v, np.int32).view(np.uint32)


def lo(v: Any) -> U32:
    return (np.asarray(v) & 0xFFFFFFFF).astype(np.uint32)


def q(v: Any) -> U32:
    """64-bit values as (lanes, 2) dwords."""
    return np.ascontiguousarray(v).view(np.uint32).reshape(-1, 2)


def f(v: U32) -> npt.NDArray[np.float32]:
    return v.view(np.float32)


def F(v: Any) -> U32:
    return np.asarray(v, np.float32).view(np.uint32)


def h(v: U32) -> npt.NDArray[np.float16]:
    return v.view(np.float16).reshape(-1, 2)


def h2(v: Any) -> U32:
    return np.ascontiguousarray(v, np.float16).view(np.uint32).reshape(-1)


def bf16(v: npt.NDArray[np.float32]) -> U32:
    bits = v.view(np.uint32)
    return (bits + u32(0x7FFF) + (bits >> u32(16) & u32(1))) >> u32(16)


def bits(v: U32) -> npt.NDArray[np.uint32]:
    return v[:, None] >> np.arange(32, dtype=np.uint32) & u32(1)


def w(v: int) -> int:
    return v & 0xFFFFFFFF


def si(v: int) -> int:
    return v - (1 << 32) if v >> 31 else v


def scalar(op: Callable[[int, int], list[int]], a: U32, b: U32) -> U32:
    return np.tile(np.array(op(int(a[0]), int(b[0])), np.uint32), (64, 1))


def forward(values: U32, addresses: U32) -> U32:
    """ds_permute: each lane writes, the highest wins."""
    result = np.zeros(64, np.uint32)
    for source in range(64):
        result[addresses[source] // 4 % 64] = values[source]
    return result


def nextlane(values: U32, distance: int) -> U32:
    """The lanes' successors; 0 behind the last."""
    return np.append(values[distance:], np.zeros(distance, np.uint32))


def tr16(a: U32, b: U32) -> U32:
    """ds_read_b64_tr_b16 of 64 consecutive 8-byte rows: half n of lane l is half l mod 4 of row
    4 n + l div 4 of its 16 lanes."""
    rows = np.stack([a, b], 1).view(np.uint16)
    half = [[rows[(n & ~15) | (n >> 2 & 3) + 4 * k, n & 3] for k in range(4)] for n in range(64)]
    return np.array(half, np.uint16).view(np.uint32)


@dataclass(frozen=True)
class Case:
    text: str
    words: list[int]
    kind: str
    expected: Callable[[Env], Any]
    only: str | None = None
    rtol: float = 0.0


def case(text: str, words: list[int], kind: str, expected: Callable[[Env], Any], **rest: Any) -> Any:
    return pytest.param(Case(text, words, kind, expected, **rest), id=text[:50])


def make_inputs(kind: str, rng: np.random.Generator) -> U32:
    """(64, 8) dwords: random integers, small ones, or finite floats of one width with a few special values."""
    integers = rng.integers(0, 1 << 32, (64, 8), dtype=np.uint32)
    integers[1:9, :2] = [[0, 0], [1, 0xFFFFFFFF], [0x7FFFFFFF, 0x80000000], [0x80000000, 1], [5, 5], [0xFFFF, 0x10000],
                        [0xFFFFFFFF, 0xFFFFFFFF], [0x80000000, 0x80000000]]  # fmt: skip
    singles = (rng.standard_normal((64, 8)) * 8).astype(np.float32)
    singles[:4, :2] = [[1, 2], [-0.5, 0.5], [2.5, -2.5], [1024, -1]]
    if kind == "small":
        return rng.integers(0, 4, (64, 8), dtype=np.uint32)
    if kind == "f32":
        return singles.view(np.uint32)
    if kind == "f32nan":
        singles[4:8, :2] = [[np.nan, 1], [1, np.nan], [np.inf, -np.inf], [0.0, -0.0]]
        return singles.view(np.uint32)
    if kind == "f16":
        return (rng.standard_normal((64, 16)) * 4).astype(np.float16).view(np.uint32)
    if kind == "mix":
        singles.view(np.float16)[:, :2] = rng.standard_normal((64, 2))
        return singles.view(np.uint32)
    if kind == "f64":
        return rng.standard_normal((64, 4)).view(np.uint32)
    return integers


# fmt: off
CASES = [
    case("v_add_u32_e32 v12, v4, v5", [0x68180B04], "int", lambda e: e.a + e.b),
    case("v_sub_u32_e32 v12, v4, v5", [0x6A180B04], "int", lambda e: e.a - e.b),
    case("v_subrev_u32_e32 v12, 7, v5", [0x6C180A87], "int", lambda e: e.b - u32(7)),
    case("v_and_b32_e32 v12, 0xff00ff, v5", [0x26180AFF, 0x00FF00FF], "int", lambda e: e.b & u32(0xFF00FF)),
    case("v_or_b32_e32 v12, v4, v5", [0x28180B04], "int", lambda e: e.a | e.b),
    case("v_xor_b32_e32 v12, -1, v5", [0x2A180AC1], "int", lambda e: ~e.b),
    case("v_not_b32_e32 v12, v4", [0x7E185704], "int", lambda e: ~e.a),
    case("v_lshlrev_b32_e32 v12, v4, v5", [0x24180B04], "int", lambda e: e.b << (e.a & u32(31))),
    case("v_lshrrev_b32_e32 v12, 5, v5", [0x20180A85], "int", lambda e: e.b >> u32(5)),
    case("v_ashrrev_i32_e32 v12, v4, v5", [0x22180B04], "int", lambda e: u(i(e.b) >> i(e.a & u32(31)))),
    case("v_lshlrev_b64 v[12:13], v4, v[6:7]",
         [0xD28F000C, 0x00020D04],
         "int", lambda e: q(e.c64 << u64(e.a & u32(63)))),
    case("v_lshrrev_b64 v[12:13], 9, v[6:7]",
         [0xD290000C, 0x00020C89],
         "int", lambda e: q(e.c64 >> u64(np.uint32(9)))),
    case("v_ashrrev_i64 v[12:13], v4, v[6:7]",
         [0xD291000C, 0x00020D04],
         "int", lambda e: q(e.c64.view(np.int64) >> (e.a & u32(63)).astype(np.int64))),
    case("v_mul_lo_u32 v12, v4, v5", [0xD285000C, 0x00020B04], "int", lambda e: e.a * e.b),
    case("v_mul_hi_u32 v12, v4, v5",
         [0xD286000C, 0x00020B04],
         "int", lambda e: lo(u64(e.a) * u64(e.b) >> np.uint64(32))),
    case("v_mul_hi_i32 v12, v4, v5", [0xD287000C, 0x00020B04], "int", lambda e: lo((s64(e.a) * s64(e.b)) >> 32)),
    case("v_mul_u32_u24_e32 v12, v4, v5",
         [0x10180B04],
         "int", lambda e: lo(u64(e.a & u32(0xFFFFFF)) * u64(e.b & u32(0xFFFFFF)))),
    case("v_mad_u64_u32 v[12:13], vcc, v4, v5, v[6:7]; v_cndmask_b32_e64 v14, 0, 1, vcc",
         [0xD1E86A0C, 0x041A0B04, 0xD100000E, 0x01A90280],
         "int",
         lambda e: np.concatenate([q(u64(e.a) * u64(e.b) + e.c64), ((u64(e.a) * u64(e.b) + e.c64) < e.c64)[:,
             None].astype(np.uint32)], 1)),
    case("v_lshl_add_u64 v[12:13], v[4:5], 3, v[6:7]",
         [0xD208000C, 0x04190704],
         "int", lambda e: q((e.a64 << np.uint64(3)) + e.c64)),
    case("v_add_co_u32_e32 v12, vcc, v4, v6; v_addc_co_u32_e32 v13, vcc, v5, v7, vcc",
         [0x32180D04, 0x381A0F05],
         "int", lambda e: q(e.a64 + e.c64)),
    case("v_sub_co_u32_e32 v12, vcc, v4, v6; v_subb_co_u32_e32 v13, vcc, v5, v7, vcc",
         [0x34180D04, 0x3A1A0F05],
         "int", lambda e: q(e.a64 - e.c64)),
    case("v_add3_u32 v12, v4, v5, v6", [0xD1FF000C, 0x041A0B04], "int", lambda e: e.a + e.b + e.c),
    case("v_lshl_add_u32 v12, v4, 4, v6", [0xD1FD000C, 0x04190904], "int", lambda e: (e.a << u32(4)) + e.c),
    case("v_add_lshl_u32 v12, v4, v5, 3", [0xD1FE000C, 0x020E0B04], "int", lambda e: (e.a + e.b) << u32(3)),
    case("v_lshl_or_b32 v12, v4, 8, v6", [0xD200000C, 0x04191104], "int", lambda e: (e.a << u32(8)) | e.c),
    case("v_and_or_b32 v12, v4, v5, v6", [0xD201000C, 0x041A0B04], "int", lambda e: (e.a & e.b) | e.c),
    case("v_or3_b32 v12, v4, v5, v6", [0xD202000C, 0x041A0B04], "int", lambda e: e.a | e.b | e.c),
    case("v_xad_u32 v12, v4, v5, v6", [0xD1F3000C, 0x041A0B04], "int", lambda e: (e.a ^ e.b) + e.c),
    case("v_bfe_u32 v12, v4, 5, 11", [0xD1C8000C, 0x022D0B04], "int", lambda e: e.a >> u32(5) & u32(0x7FF)),
    case("v_bfe_i32 v12, v4, 5, 11", [0xD1C9000C, 0x022D0B04], "int", lambda e: u(i(e.a << u32(16)) >> 21)),
    case("v_bfi_b32 v12, v4, v5, v6", [0xD1CA000C, 0x041A0B04], "int", lambda e: (e.a & e.b) | (~e.a & e.c)),
    case("v_alignbit_b32 v12, v4, v5, 13",
         [0xD1CE000C, 0x02360B04],
         "int", lambda e: (e.b >> u32(13)) | (e.a << u32(19))),
    case("s_mov_b32 s8, 0x0d0c0005; v_perm_b32 v12, v4, v5, s8",
         [0xBE8800FF, 0x0D0C0005, 0xD1ED000C, 0x00220B04],
         "int", lambda e: (e.a >> u32(8) & u32(0xFF)) | (e.b & u32(0xFF)) << u32(8) | u32(0xFF000000)),
    case("v_max_i32_e32 v12, v4, v5", [0x1A180B04], "int", lambda e: u(np.maximum(i(e.a), i(e.b)))),
    case("v_min_u32_e32 v12, v4, v5", [0x1C180B04], "int", lambda e: np.minimum(e.a, e.b)),
    case("v_max3_i32 v12, v4, v5, v6",
         [0xD1D4000C, 0x041A0B04],
         "int", lambda e: u(np.maximum(np.maximum(i(e.a), i(e.b)), i(e.c)))),
    case("v_med3_u32 v12, v4, v5, v6",
         [0xD1D8000C, 0x041A0B04],
         "int", lambda e: np.sort(np.stack([e.a, e.b, e.c]), 0)[1]),
    case("v_bcnt_u32_b32 v12, v4, v5",
         [0xD28B000C, 0x00020B04],
         "int", lambda e: bits(e.a).sum(1).astype(np.uint32) + e.b),
    case("v_bfrev_b32_e32 v12, v4",
         [0x7E185904],
         "int",
         lambda e: (bits(e.a).astype(np.uint64) << np.arange(31, -1, -1, dtype=np.uint64)).sum(1).astype(np.uint32)),
    case("v_ffbh_u32_e32 v12, v4",
         [0x7E185B04],
         "small", lambda e: np.array([32 - int(e.x).bit_length() if e.x else 0xFFFFFFFF for e.x in e.a], np.uint32)),
    case("v_mbcnt_lo_u32_b32 v12, -1, 0; v_mbcnt_hi_u32_b32 v12, -1, v12",
         [0xD28C000C, 0x000100C1, 0xD28D000C, 0x000218C1],
         "int", lambda e: np.arange(64, dtype=np.uint32)),
    case("v_add_u32_e64 v12, v4, v5 clamp",
         [0xD134800C, 0x00020B04],
         "int", lambda e: np.minimum(u64(e.a) + u64(e.b), np.uint64(0xFFFFFFFF)).astype(np.uint32)),
    case("v_bitop3_b32 v12, v4, v5, v6 bitop3:0x6a",
         [0xD234050C, 0x4C1A0B04],
         "int", lambda e: (e.a & e.b) ^ e.c, only="gfx950"),
    case("v_add_f32_e32 v12, v4, v5", [0x02180B04], "f32", lambda e: F(f(e.a) + f(e.b))),
    case("v_sub_f32_e64 v12, |v4|, -v5", [0xD102010C, 0x40020B04], "f32", lambda e: F(np.abs(f(e.a)) + f(e.b))),
    case("v_mul_f32_e64 v12, v4, v5 mul:2",
         [0xD105000C, 0x08020B04],
         "f32", lambda e: F(f(e.a) * f(e.b) * np.float32(2))),
    case("v_add_f32_e64 v12, v4, v5 clamp",
         [0xD101800C, 0x00020B04],
         "f32", lambda e: F(np.clip(f(e.a) + f(e.b), 0, 1))),
    case("v_fma_f32 v12, v4, v5, v6",
         [0xD1CB000C, 0x041A0B04],
         "f32", lambda e: F((f(e.a).astype(np.float64) * f(e.b) + f(e.c)).astype(np.float32)), rtol=2e-07),
    case("v_mov_b32_e32 v12, v6; v_fmac_f32_e32 v12, v4, v5",
         [0x7E180306, 0x76180B04],
         "f32", lambda e: F((f(e.a).astype(np.float64) * f(e.b) + f(e.c)).astype(np.float32)), rtol=2e-07),
    case("v_max_f32_e32 v12, v4, v5", [0x16180B04], "f32", lambda e: F(np.maximum(f(e.a), f(e.b)))),
    case("v_min3_f32 v12, v4, v5, v6",
         [0xD1D0000C, 0x041A0B04],
         "f32", lambda e: F(np.minimum(np.minimum(f(e.a), f(e.b)), f(e.c)))),
    case("v_floor_f32_e32 v12, v4", [0x7E183F04], "f32", lambda e: F(np.floor(f(e.a)))),
    case("v_rndne_f32_e32 v12, v4", [0x7E183D04], "f32", lambda e: F(np.rint(f(e.a)))),
    case("v_trunc_f32_e32 v12, v4", [0x7E183904], "f32", lambda e: F(np.trunc(f(e.a)))),
    case("v_fract_f32_e32 v12, v4", [0x7E183704], "f32", lambda e: F(f(e.a) - np.floor(f(e.a)))),
    case("v_exp_f32_e32 v12, v4",
         [0x7E184104],
         "f32", lambda e: F(np.exp2(f(e.a).astype(np.float64)).astype(np.float32)), rtol=2.4e-07),
    case("v_log_f32_e64 v12, |v4|",
         [0xD161010C, 0x00000104],
         "f32", lambda e: F(np.log2(np.abs(f(e.a)).astype(np.float64)).astype(np.float32)), rtol=2.4e-07),
    case("v_rcp_f32_e32 v12, v4", [0x7E184504], "f32", lambda e: F(np.float32(1) / f(e.a))),
    case("v_rsq_f32_e64 v12, |v4|",
         [0xD164010C, 0x00000104],
         "f32", lambda e: F((1 / np.sqrt(np.abs(f(e.a)).astype(np.float64))).astype(np.float32)), rtol=1.2e-07),
    case("v_sqrt_f32_e64 v12, |v4|", [0xD167010C, 0x00000104], "f32", lambda e: F(np.sqrt(np.abs(f(e.a))))),
    case("v_sin_f32_e32 v12, v4",
         [0x7E185304],
         "f32", lambda e: F(np.sin(f(e.a).astype(np.float64) * 2 * np.pi).astype(np.float32)), rtol=1e-05),
    case("v_cvt_i32_f32_e32 v12, v4", [0x7E181104], "f32", lambda e: u(f(e.a).astype(np.int32))),
    case("v_cvt_f32_i32_e32 v12, v4", [0x7E180B04], "int", lambda e: F(i(e.a).astype(np.float32))),
    case("v_cvt_f32_u32_e32 v12, v4", [0x7E180D04], "int", lambda e: F(e.a.astype(np.float32))),
    case("v_cvt_f16_f32_e32 v12, v4", [0x7E181504], "f32", lambda e: u32(f(e.a).astype(np.float16).view(np.uint16))),
    case("v_cvt_f32_f16_e32 v12, v4",
         [0x7E181704],
         "f16", lambda e: F((e.a & u32(0xFFFF)).astype(np.uint16).view(np.float16).astype(np.float32))),
    case("v_ldexp_f32 v12, v4, 5", [0xD288000C, 0x00010B04], "f32", lambda e: F(f(e.a) * np.float32(32))),
    case("v_cvt_f32_ubyte2_e32 v12, v4",
         [0x7E182704],
         "int", lambda e: F((e.a >> u32(16) & u32(0xFF)).astype(np.float32))),
    case("v_cvt_pk_bf16_f32 v12, v4, v5",
         [0xD268000C, 0x00020B04],
         "f32", lambda e: bf16(f(e.a)) | bf16(f(e.b)) << u32(16), only="gfx950"),
    case("v_add_f64 v[12:13], v[4:5], v[6:7]",
         [0xD280000C, 0x00020D04],
         "f64", lambda e: q((e.a64.view(np.float64) + e.c64.view(np.float64)).view(np.uint64))),
    case("v_mul_f64 v[12:13], v[4:5], -v[6:7]",
         [0xD281000C, 0x40020D04],
         "f64", lambda e: q((e.a64.view(np.float64) * -e.c64.view(np.float64)).view(np.uint64))),
    case("v_cvt_f32_f64_e32 v12, v[4:5]",
         [0x7E181F04],
         "f64", lambda e: F(e.a64.view(np.float64).astype(np.float32))),
    case("v_pk_add_f16 v12, v4, v5", [0xD38F400C, 0x18020B04], "f16", lambda e: h2(h(e.a) + h(e.b))),
    case("v_pk_mul_f16 v12, v4, v5 op_sel:[1,0] op_sel_hi:[0,1]",
         [0xD390480C, 0x10020B04],
         "f16", lambda e: h2(h(e.a)[:, ::-1] * h(e.b))),
    case("v_pk_max_f16 v12, v4, v5 neg_lo:[0,1] neg_hi:[0,1]",
         [0xD392420C, 0x58020B04],
         "f16", lambda e: h2(np.maximum(h(e.a), -h(e.b)))),
    case("v_add_f16_e32 v12, v4, v5", [0x3E180B04], "f16", lambda e: u32((h(e.a) + h(e.b))[:, 0].view(np.uint16))),
    case("v_pk_add_u16 v12, v4, v5",
         [0xD38A400C, 0x18020B04],
         "int",
         lambda e: (e.a & u32(0xFFFF)) + (e.b & u32(0xFFFF)) & u32(0xFFFF) | (e.a & u32(0xFFFF0000)) +
             (e.b & u32(0xFFFF0000))),
    case("v_pk_fma_f32 v[12:13], v[4:5], v[6:7], v[8:9]",
         [0xD3B0400C, 0x1C220D04],
         "f32",
         lambda e: np.stack([F((f(e.x[0 + k]).astype(np.float64) * f(e.x[2 + k]) + f(e.x[4 +
             k])).astype(np.float32)) for k in (0, 1)], 1), rtol=2e-07),
    case("v_pk_mul_f32 v[12:13], v[4:5], v[6:7] op_sel:[1,0] op_sel_hi:[0,0]",
         [0xD3B1480C, 0x00020D04],
         "f32", lambda e: np.stack([F(f(e.b) * f(e.c)), F(f(e.a) * f(e.c))], 1)),
    case("v_pk_mov_b32 v[12:13], v[4:5], v[6:7] op_sel:[1,0]",
         [0xD3B3480C, 0x18020D04],
         "int", lambda e: np.stack([e.b, e.c], 1)),
    case("v_fma_mix_f32 v12, v4, v5, v6 op_sel:[1,0,0] op_sel_hi:[1,0,0]",
         [0xD3A0080C, 0x0C1A0B04],
         "mix", lambda e: F((h(e.a)[:, 1].astype(np.float64) * f(e.b) + f(e.c)).astype(np.float32)), rtol=2e-07),
    case("v_pack_b32_f16 v12, v4, v5",
         [0xD2A0000C, 0x00020B04],
         "int", lambda e: (e.a & u32(0xFFFF)) | e.b << u32(16)),
    case("v_cmp_lt_i32_e32 vcc, v4, v5; v_cndmask_b32_e32 v12, v6, v7, vcc",
         [0x7D820B04, 0x00180F06],
         "int", lambda e: np.where(i(e.a) < i(e.b), e.d, e.c)),
    case("v_cmp_ge_u32_e64 s[8:9], v4, v5; v_cndmask_b32_e64 v12, v6, v7, s[8:9]",
         [0xD0CE0008, 0x00020B04, 0xD100000C, 0x00220F06],
         "int", lambda e: np.where(e.a >= e.b, e.d, e.c)),
    case("v_cmp_nlt_f32_e32 vcc, v4, v5; v_cndmask_b32_e32 v12, v6, v7, vcc",
         [0x7C9C0B04, 0x00180F06],
         "f32nan", lambda e: np.where(~(f(e.a) < f(e.b)), e.d, e.c)),
    case("v_cmp_u_f32_e32 vcc, v4, v5; v_cndmask_b32_e32 v12, v6, v7, vcc",
         [0x7C900B04, 0x00180F06],
         "f32nan", lambda e: np.where(np.isnan(f(e.a)) | np.isnan(f(e.b)), e.d, e.c)),
    case("v_cmp_gt_u64_e32 vcc, v[4:5], v[6:7]; v_cndmask_b32_e32 v12, v6, v7, vcc",
         [0x7DD80D04, 0x00180F06],
         "int", lambda e: np.where(e.a64 > e.c64, e.d, e.c)),
    case("v_cmp_eq_u16_e32 vcc, v4, v5; v_cndmask_b32_e32 v12, v6, v7, vcc",
         [0x7D540B04, 0x00180F06],
         "small", lambda e: np.where((e.a & u32(0xFFFF)) == (e.b & u32(0xFFFF)), e.d, e.c)),
    case("v_cmpx_gt_i32_e32 vcc, 0, v4; v_mov_b32_e32 v12, v5",
         [0x7DA80880, 0x7E180305],
         "int", lambda e: np.where(i(e.a) < 0, e.b, u32(0))),
    case("v_cmp_class_f32_e64 vcc, v4, 3; v_cndmask_b32_e64 v12, 0, 1, vcc",
         [0xD010006A, 0x00010704, 0xD100000C, 0x01A90280],
         "f32nan", lambda e: u32(np.isnan(f(e.a)))),
    case("v_readfirstlane_b32 s8, v4; v_readlane_b32 s9, v5, 17; v_mov_b32_e32 v12, s8; "
         "v_mov_b32_e32 v13, s9; s_mov_b32 s10, 77; v_writelane_b32 v14, s10, 5",
         [0x7E100504, 0xD2890009, 0x00012305, 0x7E180208, 0x7E1A0209, 0xBE8A00FF, 0x0000004D, 0xD28A000E,
          0x00010A0A],
         "int",
         lambda e: np.stack([np.full(64, e.a[0]), np.full(64, e.b[17]), np.where(lane == 5, 77, 0)],
             1).astype(np.uint32)),
    case("v_mov_b32_dpp v12, v4 quad_perm:[3,2,1,0] row_mask:0xf bank_mask:0xf",
         [0x7E1802FA, 0xFF001B04],
         "int", lambda e: e.a[lane ^ 3]),
    case("v_mov_b32_dpp v12, v4 row_shr:3 row_mask:0xf bank_mask:0xf",
         [0x7E1802FA, 0xFF011304],
         "int", lambda e: np.where(lane % 16 >= 3, e.a[lane - 3], u32(0))),
    case("v_add_u32_dpp v12, v4, v5 row_ror:5 row_mask:0x5 bank_mask:0xf",
         [0x68180AFA, 0x5F012504],
         "int", lambda e: np.where(lane // 16 % 2 == 0, e.a[lane & ~15 | (lane - 5) & 15] + e.b, u32(0))),
    case("v_mov_b32_dpp v12, v4 row_bcast:15 row_mask:0xa bank_mask:0xf",
         [0x7E1802FA, 0xAF014204],
         "int", lambda e: np.where(lane // 16 % 2 == 1, e.a[lane // 16 * 16 - 1], u32(0))),
    case("v_mov_b32_dpp v12, v4 row_half_mirror row_mask:0xf bank_mask:0xf bound_ctrl:0",
         [0x7E1802FA, 0xFF094104],
         "int", lambda e: e.a[lane ^ 7]),
    case("v_mov_b32_dpp v12, v4 row_bcast:31 row_mask:0xc bank_mask:0xf",
         [0x7E1802FA, 0xCF014304],
         "int", lambda e: np.where(lane >= 32, e.a[31], u32(0))),
    case("v_add_u32_sdwa v12, v4, v5 dst_sel:WORD_1 dst_unused:UNUSED_PAD src0_sel:BYTE_2 src1_sel:WORD_0",
         [0x68180AF9, 0x04020504],
         "int", lambda e: ((e.a >> u32(16) & u32(0xFF)) + e.b) << u32(16)),
    case("v_mov_b32_e32 v12, v6; "
         "v_or_b32_sdwa v12, v4, sext(v5) dst_sel:BYTE_1 dst_unused:UNUSED_PRESERVE src0_sel:BYTE_3 src1_sel:BYTE_0",
         [0x7E180306, 0x28180AF9, 0x08031104],
         "int", lambda e: (e.c & ~u32(0xFF00)) | ((e.a >> u32(24)) | (e.b & u32(0xFF))) << u32(8)),
    case("v_permlane32_swap_b32_e32 v4, v5; v_mov_b32_e32 v12, v4; v_mov_b32_e32 v13, v5",
         [0x7E08B505, 0x7E180304, 0x7E1A0305],
         "int",
         lambda e: np.stack([np.where(lane < 32, e.a, e.b[lane - 32]), np.where(lane < 32, e.a[(lane + 32) % 64],
             e.b)], 1), only="gfx950"),
    case("v_swap_b32 v4, v5; v_mov_b32_e32 v12, v4; v_mov_b32_e32 v13, v5",
         [0x7E08A305, 0x7E180304, 0x7E1A0305],
         "int", lambda e: np.stack([e.b, e.a], 1)),
    case("v_accvgpr_write_b32 a7, v4; v_accvgpr_mov_b32 a9, a7; v_accvgpr_read_b32 v12, a9",
         [0xD3D94007, 0x18000104, 0x7E12A507, 0xD3D8400C, 0x18000109],
         "int", lambda e: e.a),
    case("ds_bpermute_b32 v12, v9, v4; s_waitcnt lgkmcnt(0)",
         [0xD87E0000, 0x0C000409, 0xBF8CC07F],
         "int", lambda e: e.a[e.x[5] // 4 % 64]),
    case("ds_swizzle_b32 v12, v4 offset:swizzle(SWAP,8); s_waitcnt lgkmcnt(0)",
         [0xD87A201F, 0x0C000004, 0xBF8CC07F],
         "int", lambda e: e.a[lane ^ 8]),
    case("ds_permute_b32 v12, v9, v4; s_waitcnt lgkmcnt(0)",
         [0xD87C0000, 0x0C000409, 0xBF8CC07F],
         "int", lambda e: forward(e.a, e.x[5])),
    case("v_readfirstlane_b32 s8, v4; v_readfirstlane_b32 s9, v5; s_add_u32 s10, s8, s9; "
         "s_addc_u32 s11, s8, 0; v_mov_b32_e32 v12, s10; v_mov_b32_e32 v13, s11",
         [0x7E100504, 0x7E120505, 0x800A0908, 0x820B8008, 0x7E18020A, 0x7E1A020B],
         "int", lambda e: scalar(lambda p, q_: [w(p + q_), w(p + (p + q_ >> 32))], e.a, e.b)),
    case("v_readfirstlane_b32 s8, v4; v_readfirstlane_b32 s9, v5; s_sub_i32 s10, s8, s9; "
         "s_cselect_b32 s11, 1, 0; v_mov_b32_e32 v12, s10; v_mov_b32_e32 v13, s11",
         [0x7E100504, 0x7E120505, 0x818A0908, 0x850B8081, 0x7E18020A, 0x7E1A020B],
         "int", lambda e: scalar(lambda p, q_: [w(p - q_), int(not -2**31 <= si(p) - si(q_) < 2**31)], e.a, e.b)),
    case("v_readfirstlane_b32 s8, v4; v_readfirstlane_b32 s9, v5; s_mul_hi_u32 s10, s8, s9; "
         "s_mul_i32 s11, s8, s9; v_mov_b32_e32 v12, s10; v_mov_b32_e32 v13, s11",
         [0x7E100504, 0x7E120505, 0x960A0908, 0x920B0908, 0x7E18020A, 0x7E1A020B],
         "int", lambda e: scalar(lambda p, q_: [w(p * q_ >> 32), w(p * q_)], e.a, e.b)),
    case("v_readfirstlane_b32 s8, v4; v_readfirstlane_b32 s9, v5; s_bfe_u32 s10, s8, 0xb0005; "
         "s_bfe_i32 s11, s8, 0xb0005; v_mov_b32_e32 v12, s10; v_mov_b32_e32 v13, s11",
         [0x7E100504, 0x7E120505, 0x928AFF08, 0x000B0005, 0x930BFF08, 0x000B0005, 0x7E18020A, 0x7E1A020B],
         "int", lambda e: scalar(lambda p, q_: [p >> 5 & 0x7FF, w(((p >> 5 & 0x7FF) ^ 0x400) - 0x400)], e.a, e.b)),
    case("v_readfirstlane_b32 s8, v4; v_readfirstlane_b32 s9, v5; s_lshl_b64 s[10:11], s[8:9], 13; "
         "v_mov_b32_e32 v12, s10; v_mov_b32_e32 v13, s11",
         [0x7E100504, 0x7E120505, 0x8E8A8D08, 0x7E18020A, 0x7E1A020B],
         "int", lambda e: scalar(lambda p, q_: [w((p | q_ << 32) << 13), w((p | q_ << 32) << 13 >> 32)], e.a, e.b)),
    case("v_readfirstlane_b32 s8, v4; v_readfirstlane_b32 s9, v5; s_ashr_i32 s10, s8, 7; "
         "s_lshr_b32 s11, s9, 3; v_mov_b32_e32 v12, s10; v_mov_b32_e32 v13, s11",
         [0x7E100504, 0x7E120505, 0x900A8708, 0x8F0B8309, 0x7E18020A, 0x7E1A020B],
         "int", lambda e: scalar(lambda p, q_: [w(si(p) >> 7), q_ >> 3], e.a, e.b)),
    case("v_readfirstlane_b32 s8, v4; v_readfirstlane_b32 s9, v5; s_ff1_i32_b32 s10, s8; "
         "s_flbit_i32_b32 s11, s9; v_mov_b32_e32 v12, s10; v_mov_b32_e32 v13, s11",
         [0x7E100504, 0x7E120505, 0xBE8A1008, 0xBE8B1209, 0x7E18020A, 0x7E1A020B],
         "int", lambda e: scalar(lambda p, q_: [(p & -p).bit_length() - 1, 32 - q_.bit_length()], e.a, e.b)),
    case("v_readfirstlane_b32 s8, v4; v_readfirstlane_b32 s9, v5; s_abs_i32 s10, s8; s_brev_b32 s11, s9; "
         "v_mov_b32_e32 v12, s10; v_mov_b32_e32 v13, s11",
         [0x7E100504, 0x7E120505, 0xBE8A3008, 0xBE8B0809, 0x7E18020A, 0x7E1A020B],
         "int", lambda e: scalar(lambda p, q_: [abs(si(p)), int(f"{q_:032b}"[::-1], 2)], e.a, e.b)),
    case("v_readfirstlane_b32 s8, v4; v_readfirstlane_b32 s9, v5; s_min_i32 s10, s8, s9; "
         "s_max_u32 s11, s8, s9; v_mov_b32_e32 v12, s10; v_mov_b32_e32 v13, s11",
         [0x7E100504, 0x7E120505, 0x830A0908, 0x848B0908, 0x7E18020A, 0x7E1A020B],
         "int", lambda e: scalar(lambda p, q_: [w(min(si(p), si(q_))), max(p, q_)], e.a, e.b)),
    case("v_readfirstlane_b32 s8, v4; v_readfirstlane_b32 s9, v5; s_cmp_gt_i32 s8, s9; "
         "s_cselect_b32 s10, s8, s9; s_lshl2_add_u32 s11, s8, s9; v_mov_b32_e32 v12, s10; "
         "v_mov_b32_e32 v13, s11",
         [0x7E100504, 0x7E120505, 0xBF020908, 0x850A0908, 0x978B0908, 0x7E18020A, 0x7E1A020B],
         "int", lambda e: scalar(lambda p, q_: [w(max(si(p), si(q_))), w(4 * p + q_)], e.a, e.b)),
    case("v_readfirstlane_b32 s8, v4; v_readfirstlane_b32 s9, v5; s_bcnt1_i32_b32 s10, s8; "
         "s_movk_i32 s11, 0xfff0; v_mov_b32_e32 v12, s10; v_mov_b32_e32 v13, s11",
         [0x7E100504, 0x7E120505, 0xBE8A0C08, 0xB00BFFF0, 0x7E18020A, 0x7E1A020B],
         "int", lambda e: scalar(lambda p, q_: [p.bit_count(), 0xFFFFFFF0], e.a, e.b)),
    case("v_cmp_gt_i32_e32 vcc, 0, v4; s_and_saveexec_b64 s[8:9], vcc; v_mov_b32_e32 v12, v5; "
         "s_xor_b64 exec, exec, s[8:9]; v_mov_b32_e32 v12, v6; s_or_b64 exec, exec, s[8:9]",
         [0x7D880880, 0xBE88206A, 0x7E180305, 0x88FE087E, 0x7E180306, 0x87FE087E],
         "int", lambda e: np.where(i(e.a) < 0, e.b, e.c)),
    case("s_mov_b32 s8, 0; v_mov_b32_e32 v12, 0; v_add_u32_e32 v12, 3, v12; s_add_i32 s8, s8, 1; "
         "s_cmp_lt_i32 s8, 5; s_cbranch_scc1 -4",
         [0xBE880080, 0x7E180280, 0x68181883, 0x81088108, 0xBF048508, 0xBF85FFFC],
         "int", lambda e: np.full(64, 15, np.uint32)),
    case("v_lshlrev_b32_e32 v20, 4, v0; ds_write_b128 v20, v[4:7]; s_waitcnt lgkmcnt(0); "
         "v_xor_b32_e32 v21, 48, v20; ds_read_b128 v[12:15], v21; s_waitcnt lgkmcnt(0)",
         [0x24280084, 0xD9BE0000, 0x00000414, 0xBF8CC07F, 0x2A2A28B0, 0xD9FE0000, 0x0C000015, 0xBF8CC07F],
         "int", lambda e: np.stack([y[lane ^ 3] for y in e.x[:4]], 1)),
    case("v_lshlrev_b32_e32 v20, 3, v0; ds_write2_b32 v20, v4, v5 offset1:1; s_waitcnt lgkmcnt(0); "
         "ds_read2st64_b32 v[12:13], v20 offset1:1; ds_read_u16 v14, v20 offset:2; "
         "ds_read_i8 v15, v20 offset:5; s_waitcnt lgkmcnt(0)",
         [0x24280083, 0xD81C0100, 0x00050414, 0xBF8CC07F, 0xD8700100, 0x0C000014, 0xD8780002, 0x0E000014,
          0xD8720005, 0x0F000014, 0xBF8CC07F],
         "int",
         lambda e: np.stack([e.a, np.where(lane < 32, e.a[(lane + 32) % 64], u32(0)), e.a >> u32(16),
             u(i(e.b << u32(16)) >> 24)], 1)),
    case("v_lshlrev_b32_e32 v20, 3, v0; ds_write_b64 v20, v[4:5]; s_waitcnt lgkmcnt(0); "
         "ds_read_u16_d16 v12, v20; ds_read_u16_d16_hi v12, v20 offset:6; ds_read_b96 v[14:16], v20 offset:8; "
         "s_waitcnt lgkmcnt(0)",
         [0x24280083, 0xD89A0000, 0x00000414, 0xBF8CC07F, 0xD8B40000, 0x0C000014, 0xD8B60006, 0x0C000014,
          0xD9FC0008, 0x0E000014, 0xBF8CC07F],
         "int",
         lambda e: np.stack([(e.a & u32(0xFFFF)) | (e.b & u32(0xFFFF0000)), u32(0 * e.a), nextlane(e.a, 1),
             nextlane(e.b, 1), nextlane(e.a, 2)], 1)),
    case("v_mov_b32_e32 v20, 0x100; v_mov_b32_e32 v21, 0; ds_write_b32 v20, v21; s_waitcnt lgkmcnt(0); "
         "v_and_b32_e32 v22, 0xff, v4; ds_add_u32 v20, v22; s_waitcnt lgkmcnt(0); ds_read_b32 v12, v20; "
         "s_waitcnt lgkmcnt(0)",
         [0x7E2802FF, 0x00000100, 0x7E2A0280, 0xD81A0000, 0x00001514, 0xBF8CC07F, 0x262C08FF, 0x000000FF,
          0xD8000000, 0x00001614, 0xBF8CC07F, 0xD86C0000, 0x0C000014, 0xBF8CC07F],
         "int", lambda e: np.full(64, (e.a & u32(0xFF)).sum(), np.uint32)),
    case("v_lshlrev_b32_e32 v20, 3, v0; ds_write_b64 v20, v[4:5]; s_waitcnt lgkmcnt(0); "
         "ds_read_b64_tr_b16 v[12:13], v20; s_waitcnt lgkmcnt(0)",
         [0x24280083, 0xD89A0000, 0x00000414, 0xBF8CC07F, 0xD9C60000, 0x0C000014, 0xBF8CC07F],
         "int", lambda e: tr16(e.a, e.b), only="gfx950"),
]
# fmt: on


@pytest.mark.parametrize("case", CASES)
def test_instruction(run_words: Callable[..., U32], arch: str, case: Case) -> None:
    inputs = make_inputs(case.kind, np.random.default_rng(len(case.text)))
    if case.only not in (None, arch):  # Not an instruction of this target.
        with pytest.raises(HipError, match="instruction"):
            run_words(case.words, inputs)
        return
    result = run_words(case.words, inputs)
    with np.errstate(all="ignore"):
        expected = np.asarray(case.expected(Env(inputs)))
    expected = expected.reshape(64, -1)
    got = np.ascontiguousarray(result[:, : expected.shape[1]])
    if case.rtol:
        np.testing.assert_allclose(got.view(np.float32), expected.view(np.float32), rtol=case.rtol, atol=1e-6)
    else:
        np.testing.assert_array_equal(got, expected)
