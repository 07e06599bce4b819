"""Element types as numbers: rounding, units in the last place, and the bits that arrays hold.

Everything works on float64 arrays, which hold every value of the narrower types exactly.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hkc.dtypes import DType
from hkc.errors import HkcError

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class _Format:
    """Exponent of the smallest normal number, and the largest finite number."""

    emin: int
    largest: float


# IEEE 754-2019 tables 3.5 (binary16/32/64); bfloat16 is binary32's exponent with 7 bits of significand.
_FORMATS = {
    "f64": _Format(-1022, float(np.finfo(np.float64).max)),
    "f32": _Format(-126, float(np.finfo(np.float32).max)),
    "f16": _Format(-14, 65504.0),
    "bf16": _Format(-126, (2 - 2.0**-7) * 2.0**127),
}


def _format(dtype: DType) -> _Format:
    if dtype.name not in _FORMATS:
        raise HkcError(f"{dtype.name} has no host arithmetic", expected=", ".join(_FORMATS), got=dtype.name)
    return _FORMATS[dtype.name]


def ulp(x: npt.ArrayLike, dtype: DType) -> Floats:
    """The distance between neighbours of ``dtype`` at |x| (subnormals included)."""
    fmt = _format(dtype)
    _, exponent = np.frexp(np.asarray(x, np.float64))
    return np.ldexp(1.0, np.maximum(exponent - 1, fmt.emin) - dtype.mantissa)


def round_to(x: Floats, dtype: DType) -> Floats:
    """Round to the nearest value of ``dtype``, ties to even; beyond the largest to infinity."""
    if dtype.name == "f64":
        return x
    if dtype.numpy is not None:
        with np.errstate(over="ignore"):
            return x.astype(dtype.numpy).astype(np.float64)
    fmt = _format(dtype)
    step = ulp(x, dtype)
    with np.errstate(invalid="ignore", over="ignore"):
        rounded = np.where(np.isfinite(x), np.rint(x / step) * step, x)
    return np.where(np.abs(rounded) > fmt.largest, np.copysign(np.inf, rounded), rounded)


def wrap(x: npt.NDArray[np.int64], dtype: DType) -> npt.NDArray[np.int64]:
    """Two's complement wrap-around of integers to ``dtype``."""
    return x.astype(dtype.numpy).astype(np.int64)


def storage(dtype: DType) -> np.dtype:
    """The NumPy type of the bits in memory; an unsigned integer for a type that NumPy lacks."""
    return np.dtype(dtype.numpy if dtype.numpy is not None else f"uint{dtype.bits}")


def decode(raw: npt.NDArray, dtype: DType) -> npt.NDArray:
    """Values of stored elements: float64 for floats, int64 for integers, bool for i1."""
    if dtype.kind == "bool":
        return raw.astype(bool)
    if dtype.kind == "int":
        return raw.astype(np.int64)
    _format(dtype)
    values = raw if dtype.name != "bf16" else (raw.astype(np.uint32) << 16).view(np.float32)
    with np.errstate(invalid="ignore"):  # a signalling NaN becomes a quiet one
        return values.astype(np.float64)


def encode(values: npt.NDArray, dtype: DType) -> npt.NDArray:
    """Stored elements of values, rounded; the inverse of :func:`decode`."""
    if dtype.name == "bf16":
        bits = np.asarray(round_to(np.asarray(values, np.float64), dtype), np.float32).view(np.uint32)
        return (bits >> 16).astype(np.uint16)
    with np.errstate(over="ignore"):
        return values.astype(storage(dtype))
