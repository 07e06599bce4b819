"""The MFMA instructions as data: shapes, element types, register layout, and LLVM IR that executes one of them.

The layout is that of the CDNA3 ISA guide, 7.1.4, and the CDNA4 ISA guide, 7.1.5 (8-bit and smaller); it is written here
a second time so that the emulated device can be wrong.
"""

from __future__ import annotations

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
        """Lane and item of each element of C and D, by block, row and column."""
        b, i, j = np.meshgrid(*map(np.arange, (self.B, self.M, self.N)), indexing="ij")
        h = 1 if self.double else 4
        b_i = -(-64 // (self.N * self.M // h))
        m_i = 64 // b_i // self.N
        g = self.M // (h * m_i)
        item = i % h + h * (i // (h * m_i) + g * (b // b_i))
        return j + self.N * ((i // h) % m_i + m_i * (b % b_i)), item

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


def instructions(arch: str) -> list[Mfma]:
    """Every dense MFMA of a target, f8f6f4 left out."""
    table = [
        *(("f32", f"{s}f32", s, k, b, F32, "float", "") for s, k, b in _single()),
        *(("f32", f"{s}f16", s, k, b, HALF, "<4 x half>", "") for s, k, b in _half()),
        *(("f32", f"{s}bf16.1k", s, k, b, BFLOAT, "<4 x i16>", "") for s, k, b in _half()),
        *(("i32", f"{s}i8", s, k, b, I8, "i32", "") for s, k, b in _half()[:3]),
        ("i32", "32x32x16.i8", "32x32x", 16, 1, I8, "i64", ""),
        ("i32", "16x16x32.i8", "16x16x", 32, 1, I8, "i64", ""),
    ]
    if arch == "gfx942":
        for s, k in (("32x32x", 4), ("16x16x", 8)):
            table.append(("f32", f"{s}{k}.xf32", s, k, 1, XF32, "<2 x float>", ""))
    else:
        for s, k in (("16x16x", 32), ("32x32x", 16)):
            table.append(("f32", f"{s}{k}.f16", s, k, 1, HALF, "<8 x half>", ""))
            table.append(("f32", f"{s}{k}.bf16", s, k, 1, BFLOAT, "<8 x bfloat>", ""))
        table.append(("i32", "16x16x64.i8", "16x16x", 64, 1, I8, "<4 x i32>", ""))
        table.append(("i32", "32x32x32.i8", "32x32x", 32, 1, I8, "<4 x i32>", ""))
    made = []
    for out, intrinsic, shape, k, blocks, element, kind, _ in table:
        m = int(shape.split("x")[0])
        intrinsic = intrinsic if "." in intrinsic and intrinsic[-3:] != ".1k" else intrinsic.replace(shape, f"{shape}{k}")
        many = f"_{blocks}b" if blocks > 1 else ""
        mnemonic = f"v_mfma_{out}_{shape}{k}{many}_{element.name}"
        made.append(Mfma(mnemonic, m, m, k, blocks, element, element, f"{out}.{intrinsic}", kind))
    for m, k in ((16, 32), (32, 16)):
        for a in ("fp8", "bf8"):
            for b in ("fp8", "bf8"):
                shape, types = f"{m}x{m}x{k}", EIGHT_BITS[arch]
                name = f"v_mfma_f32_{shape}_{a}_{b}"
                made.append(Mfma(name, m, m, k, 1, types[a], types[b], f"f32.{shape}.{a}.{b}", "i64"))
    made.append(Mfma("v_mfma_f64_16x16x4_f64", 16, 16, 4, 1, F64, F64, "f64.16x16x4f64", "double"))
    made.append(Mfma("v_mfma_f64_4x4x4_4b_f64", 4, 4, 4, 4, F64, F64, "f64.4x4x4f64", "double"))
    return made


def _single() -> list[tuple[str, int, int]]:
    return [("32x32x", 1, 2), ("16x16x", 1, 4), ("4x4x", 1, 16), ("32x32x", 2, 1), ("16x16x", 4, 1)]


def _half() -> list[tuple[str, int, int]]:
    return [("32x32x", 4, 2), ("16x16x", 4, 4), ("4x4x", 4, 16), ("32x32x", 8, 1), ("16x16x", 16, 1)]


def mixed_instructions() -> list[Mfma]:
    """The f8f6f4 instructions of gfx950 with every pair of formats."""
    return [
        Mfma(f"v_mfma_f32_{m}x{m}x{k}_f8f6f4", m, m, k, 1, a, b, f"{m}x{m}x{k}.f8f6f4", "", mixed=True)
        for m, k in ((16, 128), (32, 64))
        for a in MIXED
        for b in MIXED
    ]
