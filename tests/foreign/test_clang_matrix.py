"""clang's kernels of gemm.cl and g950.cl: one MFMA each, with the hardware's register layout in the source."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from hkc.runtime import Device

from ..formats import BF16, E2M1, E2M3, E3M2, E4M3, E5M2, F16, Format, e8m0, fp8, unpack
from .conftest import clang

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]
GFX950 = pytest.mark.parametrize("arch", ["gfx950"])
GFX942 = pytest.mark.parametrize("arch", ["gfx942"])
UNIT = 2.0**-24  # Half an ulp of one in single precision.


def close(got: Array, a: Floats, b: Floats, unit: float = UNIT) -> None:
    """``got`` is a @ b.T within the error of any order of summation."""
    scale = np.abs(a) @ np.abs(b).T
    assert np.all(np.abs(got - a @ b.T) <= a.shape[1] * unit * scale)


def check_float(device: Device, file: str, kernel: str, fmt: Format, size: tuple[int, int, int], tile: int) -> None:
    m, n, k = size
    rng = np.random.default_rng(size)
    usable = np.flatnonzero(np.abs(fmt.values) < 8).astype(np.uint8 if fmt.bits == 8 else np.uint16)
    a, b = rng.choice(usable, (m, k)), rng.choice(usable, (n, k))
    c = np.zeros((m, n), np.float32)
    block = 256 if tile == 128 else 64
    clang(device, file, kernel)((m // tile, n // tile), block, c, a, b, m, n, k)
    close(c, fmt.decode(a), fmt.decode(b))


@pytest.mark.parametrize("size", [(128, 128, 32), (256, 128, 96), (128, 384, 64)])
def test_bf16_32x32x8(device: Device, size: tuple[int, int, int]) -> None:
    check_float(device, "gemm", "gemm_bf16_32x32x8", BF16, size, 128)


@pytest.mark.parametrize("size", [(16, 16, 16), (48, 32, 80), (16, 80, 32)])
@pytest.mark.parametrize(("kernel", "fmt"), [("gemm_bf16_16x16x16", BF16), ("gemm_f16_16x16x16", F16)])
def test_16x16x16(device: Device, kernel: str, fmt: Format, size: tuple[int, int, int]) -> None:
    check_float(device, "gemm", kernel, fmt, size, 16)


@GFX950
@pytest.mark.parametrize("size", [(16, 16, 32), (48, 32, 96), (16, 80, 64)])
def test_bf16_16x16x32(device: Device, size: tuple[int, int, int]) -> None:
    check_float(device, "g950", "gemm_bf16_16x16x32", BF16, size, 16)


@GFX950
@pytest.mark.parametrize("size", [(32, 32, 16), (96, 64, 80), (32, 64, 48)])
def test_f16_32x32x16(device: Device, size: tuple[int, int, int]) -> None:
    check_float(device, "g950", "gemm_f16_32x32x16", F16, size, 32)


@pytest.mark.parametrize("size", [(32, 32, 16), (96, 64, 80), (32, 64, 48)])
def test_fp8_32x32x16(device: Device, size: tuple[int, int, int]) -> None:
    check_float(device, "gemm", "gemm_fp8_32", fp8(device.arch)[0], size, 32)


@pytest.mark.parametrize("size", [(16, 16, 32), (48, 32, 96), (16, 80, 64)])
def test_fp8_and_bf8_16x16x32(device: Device, size: tuple[int, int, int]) -> None:
    """A times B as E4M3, plus A read as E5M2 times B."""
    m, n, k = size
    rng = np.random.default_rng(size)
    e4m3, e5m2 = fp8(device.arch)
    both = np.flatnonzero((np.abs(e4m3.values) < 8) & (np.abs(e5m2.values) < 64)).astype(np.uint8)
    a, b = rng.choice(both, (m, k)), rng.choice(both, (n, k))
    c = np.zeros((m, n), np.float32)
    clang(device, "gemm", "gemm_fp8")((m // 16, n // 16), 64, c, a, b, m, n, k)
    left = np.concatenate([e4m3.decode(a), e5m2.decode(a)], axis=1)
    close(c, left, np.tile(e4m3.decode(b), 2))


@pytest.mark.parametrize("size", [(32, 32, 2), (64, 96, 50), (32, 64, 34)])
def test_f32(device: Device, size: tuple[int, int, int]) -> None:
    m, n, k = size
    rng = np.random.default_rng(size)
    a, b = rng.standard_normal((m, k)).astype(np.float32), rng.standard_normal((n, k)).astype(np.float32)
    c = np.zeros((m, n), np.float32)
    clang(device, "gemm", "gemm_f32")((m // 32, n // 32), 64, c, a, b, m, n, k)
    close(c, a.astype(np.float64), b.astype(np.float64))


@GFX942
@pytest.mark.parametrize("size", [(16, 16, 8), (48, 32, 40), (16, 80, 24)])
@pytest.mark.parametrize("short", [True, False])
def test_xf32(device: Device, size: tuple[int, int, int], short: bool) -> None:
    """Products of numbers with 10 bits of mantissa; others are shortened, nobody says how."""
    m, n, k = size
    rng = np.random.default_rng(size)
    a, b = rng.standard_normal((m, k)).astype(np.float32), rng.standard_normal((n, k)).astype(np.float32)
    if short:
        a, b = (x.astype(np.float16).astype(np.float32) for x in (a, b))
    c = np.zeros((m, n), np.float32)
    clang(device, "gemm", "gemm_xf32")((m // 16, n // 16), 64, c, a, b, m, n, k)
    if short:
        close(c, a.astype(np.float64), b.astype(np.float64))
    else:
        scale = np.abs(a.astype(np.float64)) @ np.abs(b.T)
        assert np.all(np.abs(c - a.astype(np.float64) @ b.T) <= 2.1 * 2.0**-10 * scale)


@pytest.mark.parametrize("size", [(16, 16, 4), (48, 32, 52), (16, 80, 20)])
def test_f64(device: Device, size: tuple[int, int, int]) -> None:
    m, n, k = size
    rng = np.random.default_rng(size)
    a, b = rng.standard_normal((m, k)), rng.standard_normal((n, k))
    c = np.zeros((m, n))
    clang(device, "gemm", "gemm_f64")((m // 16, n // 16), 64, c, a, b, m, n, k)
    close(c, a, b, 2.0**-52)  # numpy rounds too.


@pytest.mark.parametrize("size", [(16, 16, 32), (48, 32, 96), (16, 80, 64)])
def test_i8_16x16x32(device: Device, size: tuple[int, int, int]) -> None:
    m, n, k = size
    rng = np.random.default_rng(size)
    a, b = rng.integers(-128, 128, (m, k), np.int8), rng.integers(-128, 128, (n, k), np.int8)
    c = np.zeros((m, n), np.int32)
    clang(device, "gemm", "gemm_i8")((m // 16, n // 16), 64, c, a, b, m, n, k)
    assert np.array_equal(c, a.astype(np.int32) @ b.T.astype(np.int32))


@GFX950
@pytest.mark.parametrize("k", [64, 192, 640])
def test_i8_16x16x64(device: Device, k: int) -> None:
    rng = np.random.default_rng(k)
    a, b = rng.integers(-128, 128, (16, k), np.int8), rng.integers(-128, 128, (16, k), np.int8)
    c = np.zeros((16, 16), np.int32)
    clang(device, "g950", "gemm_i8_64")(1, 64, c, a, b, k)
    assert np.array_equal(c, a.astype(np.int32) @ b.T.astype(np.int32))


def registers(data: npt.NDArray[np.uint8], fmt: Format, groups: int) -> Floats:
    """The values that the lanes hold, by k, for the f8f6f4 kernels.

    Lane group g loads 32 consecutive bytes. Six- and four-bit values are its k from 32 g on; of 32 eight-bit values the
    first 16 are the k from 16 g on, the others as many k further as all the first ones are.
    """
    rows, k = data.shape
    loaded = data.reshape(rows, -1, groups, 32)
    if fmt.bits < 8:
        return fmt.decode(unpack(loaded[..., : 4 * fmt.bits], fmt.bits)).reshape(rows, k)
    halves = loaded.reshape(rows, -1, groups, 2, 16).swapaxes(2, 3)
    return fmt.decode(halves.reshape(rows, k))


@GFX950
@pytest.mark.parametrize("k", [128, 256, 640])
@pytest.mark.parametrize(
    ("kernel", "left", "right"),
    [
        ("mx_fp8", E4M3, E4M3),
        ("mx_bf8", E5M2, E5M2),
        ("mx_fp6", E2M3, E2M3),
        ("mx_bf6", E3M2, E3M2),
        ("mx_fp4", E2M1, E2M1),
        ("mx_fp4_fp8", E2M1, E4M3),
    ],
)
def test_scaled(device: Device, kernel: str, left: Format, right: Format, k: int) -> None:
    """16x16x128 with one scale for 32 consecutive k."""
    rng = np.random.default_rng(k)

    def operand(fmt: Format) -> tuple[Array, Array, Floats]:
        if fmt.bits == 8:
            data = rng.choice(np.flatnonzero(np.abs(fmt.values) < 8).astype(np.uint8), (16, k))
        else:
            data = rng.integers(0, 256, (16, k), np.uint8)
        scales = rng.integers(120, 135, (16, k // 32), np.uint8)
        return data, scales, registers(data, fmt, 4) * np.repeat(e8m0(scales), 32, axis=1)

    a, sa, x = operand(left)
    b, sb, y = operand(right)
    c = np.zeros((16, 16), np.float32)
    clang(device, "g950", kernel)(1, 64, c, a, b, sa, sb, k)
    close(c, x, y)


@GFX950
@pytest.mark.parametrize("k", [64, 192, 640])
def test_f8f6f4_32x32x64(device: Device, k: int) -> None:
    rng = np.random.default_rng(k)
    usable = np.flatnonzero(np.abs(E4M3.values) < 8).astype(np.uint8)
    a, b = rng.choice(usable, (32, k)), rng.choice(usable, (32, k))
    c = np.zeros((32, 32), np.float32)
    clang(device, "g950", "mx32_fp4")(1, 64, c, a, b, k)
    close(c, E4M3.decode(a), E4M3.decode(b))
