"""Triton's kernels (data/triton_kernels.py) against numpy, over whole and ragged sizes and padded strides.

Sizes and strides are multiples of 16, as the kernels were compiled for.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from hkc.runtime import Device

from ..formats import BF16, F16, Format, e8m0, fp8
from ..formats import E4M3 as OCP_E4M3
from .conftest import Triton

Array = npt.NDArray[Any]
Rng = np.random.Generator
UNIT = 2.0**-24  # Half an ulp of one in single precision.

GEMM_SIZES = [(256, 256, 128), (128, 272, 192), (144, 48, 80), (400, 304, 16), (16, 528, 336)]


def codes(rng: Rng, fmt: Format, shape: tuple[int, ...]) -> Array:
    """Random values of ordinary magnitude, as the format's codes."""
    kind = np.uint8 if fmt.bits == 8 else np.uint16
    if fmt.bits == 8:
        usable = fmt.finite()
        usable = usable[(np.abs(fmt.values[usable]) <= 8)]
        return rng.choice(usable, shape).astype(kind)
    values = rng.standard_normal(shape).astype(np.float32)
    if fmt is F16:
        return values.astype(np.float16).view(np.uint16)
    return (values.view(np.uint32) >> 16).astype(np.uint16)


def padded(data: Array, stride: int, fill: int) -> Array:
    """The matrix with rows ``stride`` elements apart; what is between them must not be used."""
    out = np.full((data.shape[0], stride), fill, data.dtype)
    out[:, : data.shape[1]] = data
    return out


def spacing(fmt: Format | None, x: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """The largest rounding error of ``x`` in the result's format; None is single precision."""
    digits = 23 if fmt is None else fmt.mantissa
    smallest = -126 if fmt is None else 1 - fmt.bias
    return np.ldexp(0.5, np.maximum(np.frexp(x)[1] - 1, smallest) - digits)


@pytest.mark.parametrize(("M", "N", "K"), GEMM_SIZES)
@pytest.mark.parametrize("name", ["gemm_bf16_nn", "gemm_bf16_tn", "gemm_bf16_pp", "gemm_f16", "gemm_fp8"])
def test_gemm(device: Device, name: str, M: int, N: int, K: int) -> None:
    rng = np.random.default_rng([M, N, K])
    fmt = {"bf16": BF16, "f16": F16, "fp8": fp8(device.arch)[0]}[name.split("_")[1]]
    single = name in ("gemm_bf16_tn", "gemm_fp8")  # C is float32, else of the type of A and B.
    transposed = name in ("gemm_bf16_tn", "gemm_bf16_pp", "gemm_fp8")  # B is N x K in memory.
    nan = int(np.flatnonzero(np.isnan(fmt.values))[0])
    a, b = codes(rng, fmt, (M, K)), codes(rng, fmt, (K, N))
    pa, pc = K + 16, N + 32
    stored = np.ascontiguousarray(b.T) if transposed else b
    pb = stored.shape[1] + 16
    c = np.full((M, pc), 0x5A5A, np.uint32 if single else np.uint16)
    kernel = Triton(device, name)
    grid = -(-M // int(kernel.constants["BM"])) * -(-N // int(kernel.constants["BN"]))
    strides = {"sam": pa, "scm": pc, "sbn" if transposed else "sbk": pb}
    kernel.launch(grid, A=padded(a, pa, nan), B=padded(stored, pb, nan), C=c, M=M, N=N, K=K, **strides)

    assert np.all(c[:, N:] == 0x5A5A), "stored beyond the matrix"
    out = c[:, :N].copy()
    got = out.view(np.float32).astype(np.float64) if single else fmt.decode(out)
    x, y = fmt.decode(a), fmt.decode(b)
    exact, scale = x @ y, np.abs(x) @ np.abs(y)
    bound = K * UNIT * scale + spacing(None if single else fmt, exact) * 1.001
    assert np.all(np.abs(got - exact) <= bound)


@pytest.mark.parametrize(("M", "N", "K"), [(128, 128, 128), (256, 128, 384), (128, 384, 256)])
@pytest.mark.parametrize("spread", [0, 6])
def test_mx_gemm(device: Device, M: int, N: int, K: int, spread: int) -> None:
    """Whole tiles; one E8M0 scale for 32 consecutive k, 2^-spread to 2^spread."""
    rng = np.random.default_rng([M, N, K])
    a, b = codes(rng, OCP_E4M3, (M, K)), codes(rng, OCP_E4M3, (K, N))
    sa, sb = (rng.integers(127 - spread, 128 + spread, (n, K // 32), np.uint8) for n in (M, N))
    c = np.zeros((M, N + 16), np.float32)
    pa, pb = K + 16, N + 16
    kernel = Triton(device, "mx_fp8")
    grid = M // int(kernel.constants["BM"]), N // int(kernel.constants["BN"])
    matrices = {"A": padded(a, pa, 0x7F), "B": padded(b, pb, 0x7F), "C": c, "SA": sa, "SB": sb}
    kernel.launch(grid, **matrices, K=K, sam=pa, sbk=pb, scm=N + 16)
    x = OCP_E4M3.decode(a) * np.repeat(e8m0(sa), 32, axis=1)
    y = OCP_E4M3.decode(b) * np.repeat(e8m0(sb), 32, axis=1).T
    assert np.all(np.abs(c[:, :N] - x @ y) <= K * UNIT * (np.abs(x) @ np.abs(y)))
    assert np.all(c[:, N:] == 0)


@pytest.mark.parametrize(
    ("rows", "columns", "groups"), [(5, 2048, 5), (7, 1000, 3), (3, 16, 3), (4, 784, 1), (9, 2000, 12)]
)
def test_softmax(device: Device, rows: int, columns: int, groups: int) -> None:
    """Fewer workgroups than rows take several rows each: the kernel reads its grid's size."""
    rng = np.random.default_rng(columns)
    stride = -(-columns // 16) * 16 + 16
    x = rng.standard_normal((rows, stride)).astype(np.float32) * 6
    x[:, columns:] = np.nan
    out = np.full((rows, stride + 16), 7, np.float32)
    Triton(device, "softmax_fp32").launch(groups, O=out, I=x, si=stride, so=stride + 16, R=rows, Cn=columns)
    e = np.exp(x[:, :columns].astype(np.float64) - x[:, :columns].max(1, keepdims=True))
    np.testing.assert_allclose(out[:, :columns], e / e.sum(1, keepdims=True), rtol=1e-5)
    assert np.all(out[:, columns:] == 7)


@pytest.mark.parametrize(("rows", "n"), [(2, 1024), (5, 2048), (3, 784), (1, 16), (4, 3008)])
def test_layernorm(device: Device, rows: int, n: int) -> None:
    rng = np.random.default_rng(n)
    stride, eps = n + 32, 1e-5
    x = padded(codes(rng, BF16, (rows, n)), stride, 0x7FC0)
    w, b = codes(rng, BF16, (n,)), codes(rng, BF16, (n,))
    y = np.full((rows, stride), 0x5A5A, np.uint16)
    mean, rstd = np.zeros((2, rows), np.float32)
    scalars = {"stride": stride, "N": n, "eps": ctypes.c_float(eps)}
    Triton(device, "layernorm_bf16").launch(rows, X=x, Y=y, W=w, B=b, Mean=mean, Rstd=rstd, **scalars)
    v = BF16.decode(x[:, :n])
    mu, scale = v.mean(1), 1 / np.sqrt(v.var(1) + eps)
    np.testing.assert_allclose(mean, mu, atol=1e-6)
    np.testing.assert_allclose(rstd, scale, rtol=1e-5)
    normal = (v - mu[:, None]) * scale[:, None] * BF16.decode(w)
    expected = normal + BF16.decode(b)
    bound = spacing(BF16, expected) * 1.01 + 1e-5 * (np.abs(normal) + np.abs(BF16.decode(b)))
    assert np.all(np.abs(BF16.decode(y[:, :n]) - expected) <= bound)
    assert np.all(y[:, n:] == 0x5A5A)


@pytest.mark.parametrize(("heads", "n"), [(1, 128), (3, 256), (2, 80), (1, 16), (2, 336)])
def test_attention(device: Device, heads: int, n: int) -> None:
    rng = np.random.default_rng(n)
    depth, rows = 64, n + 16  # Rows between the heads, and columns between the rows, are not used.
    pitches = {"q": depth + 16, "k": depth + 32, "v": depth + 16, "o": depth + 48}
    q, k, v = (codes(rng, F16, (heads, n, depth)) for _ in range(3))

    def spaced(data: Array, pitch: int) -> Array:
        out = np.full((heads, rows, pitch), 0x7E00, np.uint16)
        out[:, :n, :depth] = data
        return out

    out = np.full((heads, rows, pitches["o"]), 0x5A5A, np.uint16)
    logs = np.zeros((heads, n), np.float32)
    strides = {f"s{name}h": rows * pitch for name, pitch in pitches.items()}
    strides |= {f"s{name}{'n' if name in 'kv' else 'm'}": pitch for name, pitch in pitches.items()}
    kernel = Triton(device, "fa_f16_64")
    grid = -(-n // int(kernel.constants["BM"])), heads
    matrices = {"Q": spaced(q, pitches["q"]), "K": spaced(k, pitches["k"]), "V": spaced(v, pitches["v"])}
    kernel.launch(grid, **matrices, O=out, L=logs, sm=ctypes.c_float(0.125), N=n, **strides)

    score = 0.125 * F16.decode(q) @ F16.decode(k).swapaxes(1, 2)
    p = np.exp(score - score.max(2, keepdims=True))
    total = p.sum(2, keepdims=True)
    expected = p @ F16.decode(v) / total
    # The weights of the products are halves, relative to the largest.
    weighted = p @ np.abs(F16.decode(v)) / total
    bound = 2.0**-10 * weighted + spacing(F16, expected) * 1.01
    assert np.all(np.abs(F16.decode(out[:, :n, :depth]) - expected) <= bound)
    np.testing.assert_allclose(logs, np.log2(np.exp(1)) * score.max(2) + np.log2(total[..., 0]), atol=2e-5)
    out[:, :n, :depth] = 0x5A5A
    assert np.all(out == 0x5A5A)
