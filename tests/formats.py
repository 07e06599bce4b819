"""Narrow floating-point formats in numpy, written from their definitions for the tests to compare with.

A format is sign, ``exponent`` bits and ``mantissa`` bits with a ``bias``. ``special`` says what the codes at the top
mean: ``ieee`` (infinity and NaN), ``nan`` (only all ones is NaN; OCP E4M3), ``fnuz`` (0x80 is the only NaN, no -0),
``finite`` (every code is a number; OCP FP6 and FP4).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[Any]


@dataclass(frozen=True)
class Format:
    """A format of at most 16 bits."""

    exponent: int
    mantissa: int
    bias: int
    special: str

    @property
    def bits(self) -> int:
        return 1 + self.exponent + self.mantissa

    @cached_property
    def values(self) -> Floats:
        """The value of every code."""
        codes = np.arange(1 << self.bits)
        fraction = codes & ((1 << self.mantissa) - 1)
        field = (codes >> self.mantissa) & ((1 << self.exponent) - 1)
        sign = np.where(codes >> (self.bits - 1), -1.0, 1.0)
        significand = np.where(field > 0, (1 << self.mantissa) + fraction, fraction)
        values = sign * np.ldexp(significand.astype(np.float64), np.maximum(field, 1) - self.bias - self.mantissa)
        top = field == (1 << self.exponent) - 1
        if self.special == "ieee":
            values = np.where(top, np.where(fraction == 0, sign * np.inf, np.nan), values)
        elif self.special == "nan":
            values = np.where(top & (fraction == (1 << self.mantissa) - 1), np.nan, values)
        elif self.special == "fnuz":
            values = np.where(codes == 1 << (self.bits - 1), np.nan, values)
        return values

    def decode(self, codes: Codes) -> Floats:
        return self.values[codes.astype(np.int64) & ((1 << self.bits) - 1)]

    def finite(self) -> Codes:
        """All codes of finite values."""
        return np.flatnonzero(np.isfinite(self.values))

    def round(self, x: Floats) -> Floats:
        """The nearest value, ties to even; a magnitude that rounds beyond the largest becomes what the format has
        for it: infinity or NaN."""
        largest = np.nanmax(np.where(np.isfinite(self.values), self.values, np.nan))
        with np.errstate(all="ignore"):
            exponent = np.maximum(np.frexp(x)[1] - 1, 1 - self.bias)
            step = np.ldexp(1.0, exponent - self.mantissa)
            rounded = np.where(np.isfinite(x), np.rint(x / step) * step, x)
        beyond = np.copysign(np.inf if self.special == "ieee" else np.nan, x)
        rounded = np.where(np.abs(rounded) > largest, beyond, rounded)
        return rounded + 0.0 if self.special == "fnuz" else rounded


F16 = Format(5, 10, 15, "ieee")
BF16 = Format(8, 7, 127, "ieee")
E4M3_FNUZ, E5M2_FNUZ = Format(4, 3, 8, "fnuz"), Format(5, 2, 16, "fnuz")
E4M3, E5M2 = Format(4, 3, 7, "nan"), Format(5, 2, 15, "ieee")
E2M3, E3M2, E2M1 = Format(2, 3, 1, "finite"), Format(3, 2, 3, "finite"), Format(2, 1, 1, "finite")


def fp8(arch: str) -> tuple[Format, Format]:
    """E4M3 and E5M2 of a target: FNUZ on gfx942, OCP on gfx950 (CDNA3 and CDNA4 ISA guides, 7.3)."""
    return (E4M3_FNUZ, E5M2_FNUZ) if arch == "gfx942" else (E4M3, E5M2)


def e8m0(codes: Codes) -> Floats:
    """Values of block scales."""
    return np.where(codes == 255, np.nan, np.ldexp(1.0, codes.astype(np.int64) - 127))


def unpack(data: npt.NDArray[np.uint8], bits: int) -> npt.NDArray[np.int64]:
    """Codes of ``bits`` bits, packed from the low bits of the bytes of the last axis up."""
    ones = np.unpackbits(data, axis=-1, bitorder="little")
    count = ones.shape[-1] // bits
    groups = ones[..., : count * bits].reshape(*ones.shape[:-1], count, bits)
    return (groups.astype(np.int64) << np.arange(bits)).sum(-1)
