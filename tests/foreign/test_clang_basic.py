"""clang's kernels of basic.cl and red.cl, and conversions: integer, f16, f32 and f64 arithmetic, divergent loops and
switches, scratch memory, atomics, DPP and LDS-swizzle reductions."""

from __future__ import annotations

import ctypes
import math
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from hkc.runtime import Device

from ..formats import BF16, Format, fp8
from .conftest import FIRST_ID, clang

Array = npt.NDArray[Any]
GROUPS = pytest.mark.parametrize("groups", [1, 3, 8])
F32_TINY = np.float32(2.0**-126)


def ulps(got: Array, exact: Array) -> npt.NDArray[np.float64]:
    """The distance in units in the last place of the result's type."""
    info = np.finfo(got.dtype)
    unit = np.ldexp(1.0, np.maximum(np.frexp(exact)[1] - 1, info.minexp) - info.nmant)
    return np.abs(got.astype(np.float64) - exact) / unit


def any_floats(rng: np.random.Generator, n: int, kind: type) -> Array:
    """Values over most of the exponents, both signs."""
    span = {np.float16: 6, np.float32: 60, np.float64: 500}[kind]
    return (rng.choice([-1, 1], n) * np.ldexp(rng.uniform(1, 2, n), rng.integers(-span, span, n))).astype(kind)


@pytest.mark.parametrize("n", [1, 64, 1000, 5000])
def test_vadd(device: Device, n: int) -> None:
    rng = np.random.default_rng(n)
    a, b = any_floats(rng, n, np.float32), any_floats(rng, n, np.float32)
    c = np.zeros(n, np.float32)
    clang(device, "basic", "vadd")(-(-n // 256), 256, a, b, c, n)
    assert np.array_equal(c[FIRST_ID:], (a + b)[FIRST_ID:])
    assert not c[:FIRST_ID].any()


@pytest.mark.parametrize(("w", "h"), [(16, 16), (100, 3), (33, 65), (1, 1)])
def test_saxpy_of_two_dimensions(device: Device, w: int, h: int) -> None:
    rng = np.random.default_rng(w)
    x, y = rng.integers(-99, 99, (2, h, w)).astype(np.float32)
    grid = -(-w // 32), -(-h // 8)
    first = grid[1]  # See FIRST_ID: in the second dimension it is 1.
    expected = y.copy()
    expected[1:, first:] += np.float32(2.5) * x[1:, first:]
    clang(device, "basic", "saxpy2d")(grid, (32, 8), y, x, ctypes.c_float(2.5), w, h)
    assert np.array_equal(y, expected)


@pytest.mark.parametrize("n", [1, 100, 1000])
def test_collatz(device: Device, n: int) -> None:
    out = np.zeros(n, np.int32)
    clang(device, "basic", "collatz")(-(-n // 256), 256, out, n)
    for i in range(FIRST_ID, n):
        x, count = i + 1, 0
        while x != 1:
            x = (3 * x + 1) % 2**32 if x % 2 else x // 2
            count += 1
        assert out[i] == count


@pytest.mark.parametrize("n", [1, 7, 64])
def test_scratch(device: Device, n: int) -> None:
    """A private array of 64 floats, indexed by data."""
    rng = np.random.default_rng(n)
    items = 256
    index = rng.integers(-1000, 1000, (items + FIRST_ID, n), np.int32)
    out = np.zeros(items + FIRST_ID, np.float32)
    clang(device, "basic", "scratch_dyn")(2, 128, out, index, n)
    item = np.arange(items + FIRST_ID)
    table = (item[:, None] * np.arange(64)).astype(np.float32) + np.float32(1.5)
    s = np.zeros(len(item), np.float32)
    for k in range(n):
        j = index[:, k] & 63
        s = s + table[item, j]
        table[item, j] = s
    expected = s + table[item, index.ravel()[: len(item)] & 63]
    assert np.array_equal(out[FIRST_ID:], expected[FIRST_ID:])


@GROUPS
def test_switch(device: Device, groups: int) -> None:
    rng = np.random.default_rng(groups)
    n = 256 * groups + FIRST_ID
    v = rng.integers(-(2**31), 2**31, n).astype(np.int32)
    v[1:17] = [*range(-8, 8)]
    v[17:21] = [-(2**31), 2**31 - 1, -(2**31) + 3, 2**31 - 4]
    out = np.zeros(n, np.int32)
    clang(device, "basic", "switchy")(groups, 256, out, v)

    def case(x: int) -> int:
        unsigned = x % 2**32
        results = [
            *(x * 3, int(Fraction(x, 7)), int(math.fmod(x, 13)), unsigned.bit_count()),
            *(32 - unsigned.bit_length(), x >> 3, x * 12345678 >> 32, -x),
        ]
        return results[x & 7]

    expected = np.array([case(int(x)) for x in v[FIRST_ID:]], object) % 2**32
    assert np.array_equal(out.view(np.uint32)[FIRST_ID:], expected.astype(np.uint32))


@pytest.mark.parametrize(("groups", "block"), [(1, 64), (5, 256), (3, 100)])
def test_atomics(device: Device, groups: int, block: int) -> None:
    rng = np.random.default_rng(groups)
    values = rng.integers(-(2**30), 2**30, groups * block + FIRST_ID, np.int32)
    c = np.zeros(4 + groups, np.int32)
    c[1] = -(2**31)
    unused = np.zeros(1, np.float64)
    clang(device, "basic", "atomics")(groups, block, c, unused, unused, values)
    wide = values[FIRST_ID:].astype(np.int64)
    assert c[0] == wide.sum().astype(np.int32)
    assert c[1] == values[FIRST_ID:].max()
    assert FIRST_ID <= c[2] < FIRST_ID + groups * block
    assert c[3] == 0
    assert np.array_equal(c[4:], wide.reshape(groups, block).sum(1).astype(np.int32))


@GROUPS
def test_64_bit_integers(device: Device, groups: int) -> None:
    rng = np.random.default_rng(groups)
    n = 64 * groups + FIRST_ID
    a, b = rng.integers(-(2**63), 2**63, (2, n))
    a[: n // 2] >>= rng.integers(0, 64, n // 2)
    b[n // 4 : n // 4 + n // 2] >>= rng.integers(0, 64, n // 2)
    out = np.zeros((n, 4), np.int64)
    clang(device, "basic", "i64ops")(groups, 64, out, a, b)
    pairs = [(int(x), int(y)) for x, y in zip(a, b, strict=True)]
    expected = [(x * y, int(Fraction(x, y | 1)), x << (y & 63), max(x, y)) for x, y in pairs]
    wrapped = np.array(expected, object) % 2**64
    assert np.array_equal(out.view(np.uint64)[FIRST_ID:], wrapped.astype(np.uint64)[FIRST_ID:])


@GROUPS
def test_double_precision(device: Device, groups: int) -> None:
    """A fused multiply-add, a division and a square root, each rounded once."""
    rng = np.random.default_rng(groups)
    n = 64 * groups
    a, b = any_floats(rng, n + FIRST_ID, np.float64), any_floats(rng, n + FIRST_ID, np.float64)
    a[1:5], b[1:5] = [0.0, np.inf, np.nan, 1.0], [1.0, 2.0, 3.0, 0.0]
    out = np.zeros((n + FIRST_ID, 3))
    clang(device, "basic", "f64ops")(groups, 64, out, a, b)
    a, b, out = a[FIRST_ID:], b[FIRST_ID:], out[FIRST_ID:]
    fused = [float(Fraction(x) * Fraction(y) + Fraction(x)) for x, y in zip(a[4:], b[4:], strict=True)]
    with np.errstate(all="ignore"):
        assert np.array_equal(out[4:, 0], fused)
        assert np.array_equal(out[:4, 0], a[:4] * b[:4] + a[:4], equal_nan=True)
        assert np.array_equal(out[:, 1], a / b, equal_nan=True)
        assert np.array_equal(out[:, 2], np.sqrt(a), equal_nan=True)


@pytest.mark.parametrize("groups", [1, 3, 7])
def test_half_precision(device: Device, groups: int) -> None:
    rng = np.random.default_rng(groups)
    n = 256 * groups
    x, y = (any_floats(rng, 2 * (n + FIRST_ID), np.float16) for _ in range(2))
    out = np.zeros(4096 + n + FIRST_ID, np.float16)
    clang(device, "basic", "f16ops")(groups, 256, out, x, y)
    wide_x, wide_y = (v[2 * FIRST_ID :].astype(np.float64) for v in (x, y))
    assert np.array_equal(out[2 * FIRST_ID : 2 * (n + FIRST_ID)], (wide_x * wide_y + wide_x).astype(np.float16))
    quotient = (wide_x[::2] * 2).astype(np.float16).astype(np.float64) / wide_y[::2]
    assert np.all(ulps(out[4096 + FIRST_ID :], quotient) <= 1)


@GROUPS
def test_single_precision(device: Device, groups: int) -> None:
    """OpenCL's accuracy (specification, 7.4): 2.5 ulp for a division, 3 for a square root; the rest is exact."""
    rng = np.random.default_rng(groups)
    n = 64 * groups
    a, b = (any_floats(rng, n + FIRST_ID, np.float32) for _ in range(2))
    a[: n // 2], b[: n // 2] = rng.uniform(-100, 100, (2, n // 2))
    a[1:4] = [0.5, 1.5, -2.5]
    out = np.zeros((n + FIRST_ID, 3), np.float32)
    clang(device, "basic", "fdivsqrt")(groups, 64, out, a, b)
    a, b, out = a[FIRST_ID:], b[FIRST_ID:], out[FIRST_ID:]
    wide_a = a.astype(np.float64)
    quotient = wide_a / b
    normal = (np.abs(quotient) > F32_TINY) & (np.abs(quotient) < np.finfo(np.float32).max)
    assert np.all(ulps(out[:, 0], quotient)[normal] <= 2.5)
    positive = a >= 0
    assert np.all(ulps(out[:, 1], np.sqrt(np.abs(wide_a)))[positive] <= 3)
    assert np.all(np.isnan(out[~positive, 1]))
    assert np.array_equal(out[:, 2], np.float32(8) * a + np.floor(b) + np.rint(a))


@GROUPS
def test_bytes_and_shorts(device: Device, groups: int) -> None:
    rng = np.random.default_rng(groups)
    n = 128 * groups
    last = n + FIRST_ID
    a = rng.integers(0, 256, last, np.uint8)
    s = rng.integers(-(2**15), 2**15, last, np.int16)
    out = np.zeros(last + n, np.uint8)
    clang(device, "basic", "bytes")(groups, 128, out, a, s, n)
    item = np.arange(FIRST_ID, last)
    expected = np.zeros(last + n, np.uint8)
    expected[n + item] = a[n - item]
    sums = (a[item] * 3 + s[item].astype(np.uint8)).astype(np.uint8)
    expected[item] = sums
    # Item n stores to out[n] in its first statement; no item's second store goes there.
    assert np.array_equal(out, expected)


@GROUPS
def test_sine_and_logarithm(device: Device, groups: int) -> None:
    """v_sin_f32 counts in turns; s_setprio and s_sleep change nothing."""
    rng = np.random.default_rng(groups)
    x = rng.uniform(-200, 200, 64 * groups + FIRST_ID).astype(np.float32)
    out = x.copy()
    clang(device, "buf", "prio")(groups, 64, out)
    x, out = x[FIRST_ID:], out[FIRST_ID:]
    expected = np.sin(2 * np.pi * (x.astype(np.float64) % 1)) + np.log2(1.5)
    np.testing.assert_allclose(out, expected, atol=1e-6)


@pytest.mark.parametrize(("rows", "n"), [(1, 256), (3, 1000), (2, 64), (2, 4099)])
def test_softmax(device: Device, rows: int, n: int) -> None:
    """Maximum by DPP row shifts and broadcasts, sum by ds_swizzle, DPP mirrors and ds_bpermute."""
    rng = np.random.default_rng(n)
    x = rng.standard_normal((rows, n)).astype(np.float32) * 5
    out = np.zeros((rows, n), np.float32)
    clang(device, "red", "softmax")(rows, 256, out, x, n)
    e = np.exp(x.astype(np.float64) - x.max(1, keepdims=True))
    np.testing.assert_allclose(out, e / e.sum(1, keepdims=True), rtol=2e-5)


@pytest.mark.parametrize(("rows", "n"), [(1, 2048), (3, 8), (2, 5000)])
def test_layernorm(device: Device, rows: int, n: int) -> None:
    rng = np.random.default_rng(n)
    eps = 1e-3
    x = (rng.standard_normal((rows, n)).astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
    g, b = rng.standard_normal((2, n)).astype(np.float32)
    out = np.zeros((rows, n), np.uint16)
    clang(device, "red", "layernorm")(rows, 256, out, x, g, b, n, ctypes.c_float(eps))
    v = BF16.decode(x)
    mean = v.mean(1, keepdims=True)
    normal = (v - mean) / np.sqrt((v * v).mean(1, keepdims=True) - mean**2 + eps) * g
    expected = normal + b
    half_ulp = np.ldexp(0.5, np.frexp(expected)[1] - 1 - BF16.mantissa)
    assert np.all(np.abs(BF16.decode(out) - expected) <= half_ulp + 1e-5 * (np.abs(normal) + np.abs(b)))


def conversion_inputs(rng: np.random.Generator, n: int) -> Array:
    """Values around the 8-bit formats' ranges, ties between their values, and the special ones."""
    x = np.ldexp(rng.uniform(-2, 2, n), rng.integers(-20, 20, n)).astype(np.float32)
    x[: n // 4] = np.ldexp(rng.integers(-31, 32, n // 4), rng.integers(-18, 15, n // 4))
    special = [0.0, -0.0, np.inf, -np.inf, np.nan, 448, 464, 480, 240, 248, 57344, 61440, 1e30, -1e30, 2.0**-149]
    x[: len(special)] = special
    rng.shuffle(x)
    return x


def same_codes(codes: Array, fmt: Format, x: Array) -> None:
    """Each code is the value nearest to ``x``; of NaN any code, of zero the right sign."""
    expected = fmt.round(x.astype(np.float64))
    got = fmt.decode(codes)
    assert np.array_equal(got, expected, equal_nan=True)
    real = ~np.isnan(expected)
    if fmt.special != "fnuz":
        assert np.array_equal(np.signbit(got)[real], np.signbit(x)[real])


@GROUPS
def test_conversion_to_fp8(device: Device, groups: int) -> None:
    """Two values to each half, rounded to nearest; one to byte 2 with the random bits 0x1234567."""
    rng = np.random.default_rng(groups)
    e4m3, e5m2 = fp8(device.arch)
    items = 64 * groups + FIRST_ID
    a = conversion_inputs(rng, 4 * items).reshape(-1, 4)
    out = np.zeros((items, 2), np.uint32)
    clang(device, "gemm", "cvt_fp8")(groups, 64, out, a)
    a, out = a[FIRST_ID:], out[FIRST_ID:]
    codes = out.view(np.uint8).reshape(-1, 2, 4)
    same_codes(codes[:, 0], e4m3, a)
    same_codes(codes[:, 1, :2], e5m2, a[:, :2])
    x = a[:, 2].astype(np.float64)
    got = e4m3.decode(codes[:, 1, 2])
    usual = np.isfinite(x) & (np.abs(x) >= 2.0 ** (1 - e4m3.bias)) & (np.abs(x) < 200)
    assert usual.sum() > 16
    # The random bits count from the top: of the 20 bits that are dropped they are 0x01234.
    unit = np.ldexp(1.0, np.frexp(x)[1] - 1 - e4m3.mantissa)
    expected = np.copysign(np.floor(np.abs(x) / unit + 0x01234 / 2**20) * unit, x)
    assert np.array_equal(got[usual], expected[usual])
    largest = np.abs(e4m3.values[e4m3.finite()]).max()
    assert np.all(np.isnan(got[~(np.abs(x) < 1.1 * largest)]))
    assert not np.isnan(got[np.abs(x) <= largest]).any()


@GROUPS
def test_conversion_from_fp8(device: Device, groups: int) -> None:
    """SDWA selects the bytes."""
    rng = np.random.default_rng(groups)
    e4m3, e5m2 = fp8(device.arch)
    items = 64 * groups + FIRST_ID
    codes = rng.integers(0, 256, (items, 4), np.uint8)
    codes[1:65] = (np.arange(64)[:, None] + 64 * np.arange(4)) % 256
    if groups > 1:
        codes[65:129] = codes[1:65, ::-1]
    out = np.zeros((items, 4), np.float32)
    clang(device, "gemm", "dcvt_fp8")(groups, 64, out, codes.view(np.int32))
    codes, out = codes[FIRST_ID:], out[FIRST_ID:]
    expected = np.concatenate([e4m3.decode(codes[:, :2]), e5m2.decode(codes[:, 2:])], axis=1)
    assert np.array_equal(out, expected.astype(np.float32), equal_nan=True)


@pytest.mark.parametrize("arch", ["gfx950"])
@GROUPS
def test_conversion_to_bf16(device: Device, groups: int) -> None:
    rng = np.random.default_rng(groups)
    items = 64 * groups + FIRST_ID
    bits = rng.integers(0, 2**32, (items, 2), np.uint32)
    bits[::3] = bits[::3] & 0xFFFF0000 | 0x8000  # Ties.
    a = bits.view(np.float32)
    out = np.zeros(items, np.uint32)
    clang(device, "g950", "cvtbf16")(groups, 64, out, a)
    got = BF16.decode(out.view(np.uint16).reshape(-1, 2))[FIRST_ID:]
    with np.errstate(invalid="ignore"):
        exact = a[FIRST_ID:].astype(np.float64)
    assert np.array_equal(got, BF16.round(exact), equal_nan=True)
