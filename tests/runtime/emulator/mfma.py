"""The MFMA instructions as data: shapes, element types, register layout, and LLVM IR that executes one of them.

The layout is that of the CDNA3 ISA guide, 7.1.4, and the CDNA4 ISA guide, 7.1.5 (8-bit and smaller); it is written here
a second time so that the emulated device can be wrong.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ...formats import BF16, E2M1, E2M3, E3M2, E4M3, E4M3_FNUZ, E5M2, E5M2_FNUZ, F16, Format

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]


class Element:
    """An element type: its codes (unsigned integers), and their values."""

    def __init__(self, name: str, bits: int) -> None:
        self.name, self.bits = name, bits

    def decode(self, codes: Array) -> Array:
        raise AssertionError(self.name)

    def usual(self, rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
        """Codes of finite values near one, of both signs, with full mantissas."""
        raise AssertionError(self.name)

    #: Codes of one and of the largest number; of the smallest number; infinities, NaNs, zeros.
    one: int
    largest: int
    tiny: tuple[int, ...] = ()
    special: tuple[int, ...] = ()


class Small(Element):
    """Up to 16 bits: by table."""

    def __init__(self, name: str, fmt: Format) -> None:
        super().__init__(name, fmt.bits)
        self.format = fmt
        values = fmt.values
        self.one = int(np.flatnonzero(values == 1)[0])
        self.largest = int(np.nanargmax(np.where(np.isfinite(values), values, np.nan)))
        sign = 1 << (fmt.bits - 1)
        self.tiny = (1, sign | 1, (1 << fmt.mantissa) - 1)
        odd = np.flatnonzero(~np.isfinite(values))
        self.special = (0, *([] if fmt.special == "fnuz" else [sign]), *map(int, odd[:3]), *map(int, odd[-1:]))

    def decode(self, codes: Array) -> Floats:
        return self.format.decode(codes)

    def usual(self, rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
        values = self.format.values
        return rng.choice(np.flatnonzero((np.abs(values) <= 8) & (np.abs(values) > 2.0**-9)), shape)


class Float(Element):
    """Single or double precision; of single with 10 bits of mantissa if ``short``."""

    def __init__(self, name: str, bits: int, *, short: bool = False) -> None:
        super().__init__(name, bits)
        self.kind: Any = np.float32 if bits == 32 else np.float64
        self.code: Any = np.uint32 if bits == 32 else np.uint64
        self.short = short
        info = np.finfo(self.kind)
        largest = self.kind(65504.0) * self.kind(2.0**112) if short else info.max

        def code(x: float) -> int:
            return int(np.array(x, self.kind).view(self.code))

        self.one, self.largest = code(1), code(largest)
        if not short:
            smallest = float(info.smallest_subnormal)
            self.tiny = (code(smallest), code(-smallest), code(3 * smallest))
        self.special = (code(0), code(-0.0), code(np.inf), code(-np.inf), code(np.nan))

    def decode(self, codes: Array) -> Floats:
        return np.ascontiguousarray(codes.astype(self.code)).view(self.kind).astype(np.float64)

    def usual(self, rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
        values = rng.standard_normal(shape)
        return (values.astype(np.float16) if self.short else values).astype(self.kind).view(self.code)


class Int8(Element):
    """Signed bytes; there is nothing special about any of them."""

    def __init__(self) -> None:
        super().__init__("i8", 8)
        self.one, self.largest, self.tiny, self.special = 1, 127, (255, 128), (0,)

    def decode(self, codes: Array) -> Array:
        return codes.astype(np.uint8).view(np.int8).astype(np.int64)

    def usual(self, rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
        return rng.integers(0, 256, shape)


F32, F64, XF32, I8 = Float("f32", 32), Float("f64", 64), Float("xf32", 32, short=True), Int8()
HALF, BFLOAT = Small("f16", F16), Small("bf16", BF16)
#: By target.
EIGHT_BITS = {
    "gfx942": {"fp8": Small("fp8", E4M3_FNUZ), "bf8": Small("bf8", E5M2_FNUZ)},
    "gfx950": {"fp8": Small("fp8", E4M3), "bf8": Small("bf8", E5M2)},
}
#: By cbsz and blgp of the f8f6f4 instructions.
MIXED = [
    *(EIGHT_BITS["gfx950"]["fp8"], EIGHT_BITS["gfx950"]["bf8"], Small("fp6", E2M3), Small("bf6", E3M2)),
    Small("fp4", E2M1),
]


@dataclass(frozen=True)
class Mfma:
    """One instruction, or one combination of formats of an f8f6f4 instruction (then ``mixed``)."""

    mnemonic: str
    M: int
    N: int
    K: int
    B: int
    a: Element
    b: Element
    intrinsic: str
    operand_type: str
    mixed: bool = False

    @property
    def name(self) -> str:
        return f"{self.mnemonic[2:]}_{self.a.name}_{self.b.name}" if self.mixed else self.mnemonic[2:]

    @property
    def double(self) -> bool:
        return self.a is F64

    @property
    def integer(self) -> bool:
        return self.a is I8

    def dwords(self, element: Element) -> int:
        """Registers of A or B."""
        return self.M * self.B * self.K * element.bits // (64 * 32)

    @property
    def result_dwords(self) -> int:
        return self.M * self.N * self.B * (2 if self.double else 1) // 64

    def operand_place(self, element: Element) -> tuple[Array, Array]:
        """Lane and item of each element, by block, row of A (column of B) and k."""
        b, i, k = np.meshgrid(*map(np.arange, (self.B, self.M, self.K)), indexing="ij")
        groups = 64 // (self.M * self.B)
        per = self.K // groups
        if self.mixed and element.bits == 8:
            return i + self.M * (k // 16 % groups), k // (16 * groups) * 16 + k % 16
        return i + self.M * (b + self.B * (k // per)), k % per

    @cached_property
    def result_place(self) -> tuple[Array, Array]:
        """Lane and item of each element of C and D, by block, row and column.

        The guide has the blocks behind the rows in the lane. That differs for one instruction, the 4x4x4 of doubles, of
        which AMD's matrix instruction calculator and Composable Kernel's layout tests say what is here.
        """
        b, i, j = np.meshgrid(*map(np.arange, (self.B, self.M, self.N)), indexing="ij")
        h = 1 if self.double else 4
        b_i = -(-64 // (self.N * self.M // h))
        m_i = 64 // b_i // self.N
        g = self.M // (h * m_i)
        item = i % h + h * (i // (h * m_i) + g * (b // b_i))
        return j + self.N * (b % b_i + b_i * ((i // h) % m_i)), item

    def pack(self, codes: Array, element: Element) -> Array:
        """Registers (waves, 64 lanes, dwords) of matrices (waves, B, rows, K)."""
        lane, item = self.operand_place(element)
        items = np.zeros((len(codes), 64, int(item.max()) + 1), np.uint64)
        items[:, lane, item] = codes
        if element.bits in (8, 16, 32, 64):
            kind = f"u{element.bits // 8}"
            return np.ascontiguousarray(items.astype(kind)).view(np.uint32)
        ones = (items[..., None] >> np.arange(element.bits, dtype=np.uint64)).astype(np.uint8) & 1
        flat = ones.reshape(*items.shape[:2], -1)
        return np.ascontiguousarray(np.packbits(flat, axis=-1, bitorder="little")).view(np.uint32)

    def pack_result(self, values: Array) -> Array:
        """Registers of C (waves, B, M, N), values of the accumulator's type."""
        lane, item = self.result_place
        items = np.zeros((len(values), 64, int(item.max()) + 1), values.dtype)
        items[:, lane, item] = values
        return items.view(np.uint32)

    def unpack_result(self, registers: Array) -> Array:
        lane, item = self.result_place
        kind = np.float64 if self.double else np.int32 if self.integer else np.float32
        return np.ascontiguousarray(registers).view(kind)[:, lane, item]


#: LLVM's intrinsic, number of blocks, element type, type of A and B in LLVM.
_BOTH = [
    ("f32.32x32x1f32", 2, F32, "float"),
    ("f32.16x16x1f32", 4, F32, "float"),
    ("f32.4x4x1f32", 16, F32, "float"),
    ("f32.32x32x2f32", 1, F32, "float"),
    ("f32.16x16x4f32", 1, F32, "float"),
    ("f32.32x32x4f16", 2, HALF, "<4 x half>"),
    ("f32.16x16x4f16", 4, HALF, "<4 x half>"),
    ("f32.4x4x4f16", 16, HALF, "<4 x half>"),
    ("f32.32x32x8f16", 1, HALF, "<4 x half>"),
    ("f32.16x16x16f16", 1, HALF, "<4 x half>"),
    ("f32.32x32x4bf16.1k", 2, BFLOAT, "<4 x i16>"),
    ("f32.16x16x4bf16.1k", 4, BFLOAT, "<4 x i16>"),
    ("f32.4x4x4bf16.1k", 16, BFLOAT, "<4 x i16>"),
    ("f32.32x32x8bf16.1k", 1, BFLOAT, "<4 x i16>"),
    ("f32.16x16x16bf16.1k", 1, BFLOAT, "<4 x i16>"),
    ("i32.32x32x4i8", 2, I8, "i32"),
    ("i32.16x16x4i8", 4, I8, "i32"),
    ("i32.4x4x4i8", 16, I8, "i32"),
    ("i32.32x32x16.i8", 1, I8, "i64"),
    ("i32.16x16x32.i8", 1, I8, "i64"),
    ("f64.16x16x4f64", 1, F64, "double"),
    ("f64.4x4x4f64", 4, F64, "double"),
]
_ONE = {
    "gfx942": [("f32.32x32x4.xf32", 1, XF32, "<2 x float>"), ("f32.16x16x8.xf32", 1, XF32, "<2 x float>")],
    "gfx950": [
        ("f32.32x32x16.f16", 1, HALF, "<8 x half>"),
        ("f32.16x16x32.f16", 1, HALF, "<8 x half>"),
        ("f32.32x32x16.bf16", 1, BFLOAT, "<8 x bfloat>"),
        ("f32.16x16x32.bf16", 1, BFLOAT, "<8 x bfloat>"),
        ("i32.32x32x32.i8", 1, I8, "<4 x i32>"),
        ("i32.16x16x64.i8", 1, I8, "<4 x i32>"),
    ],
}


def instructions(arch: str) -> list[Mfma]:
    """Every dense MFMA of a target, f8f6f4 left out."""
    made = []
    for intrinsic, blocks, element, kind in _BOTH + _ONE[arch]:
        match = re.match(r"(\w+)\.((\d+)x\d+x(\d+))", intrinsic)
        assert match
        out, shape, m, k = match[1], match[2], int(match[3]), int(match[4])
        mnemonic = f"v_mfma_{out}_{shape}{f'_{blocks}b' if blocks > 1 else ''}_{element.name}"
        made.append(Mfma(mnemonic, m, m, k, blocks, element, element, intrinsic, kind))
    for m, k in ((16, 32), (32, 16)):
        for a, left in EIGHT_BITS[arch].items():
            for b, right in EIGHT_BITS[arch].items():
                shape = f"{m}x{m}x{k}"
                mnemonic = f"v_mfma_f32_{shape}_{a}_{b}"
                made.append(Mfma(mnemonic, m, m, k, 1, left, right, f"f32.{shape}.{a}.{b}", "i64"))
    return made


def mixed_instructions() -> list[Mfma]:
    """The f8f6f4 instructions of gfx950 with every pair of formats."""
    return [
        Mfma(f"v_mfma_f32_{m}x{m}x{k}_f8f6f4", m, m, k, 1, a, b, f"{m}x{m}x{k}.f8f6f4", "", mixed=True)
        for m, k in ((16, 128), (32, 64))
        for a in MIXED
        for b in MIXED
    ]
