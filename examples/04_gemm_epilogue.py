"""C = ACT(SCALE * (A.B^T) + BIAS) + R: what follows a product is part of its kernel.

It works on the f32 sums while they are in registers. SCALE is one factor a row, BIAS one term a column, R a residual of
C's shape.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

import hkc as hk


@hk.kernel(grid=lambda M, N, BM, BN: (hk.cdiv(M, BM), hk.cdiv(N, BN)))
def gemm_epilogue(
    A: hk.View["M", "K", DTYPE],
    B: hk.View["N", "K", DTYPE],
    SCALE: hk.View["M", hk.f32],
    BIAS: hk.View["N", DTYPE],
    R: hk.View["M", "N", DTYPE],
    C: hk.View["M", "N", DTYPE],
    *,
    BM=lambda M, N: 16 if M <= 16 else 128 if min(M, N) >= 512 else 64,
    BN=lambda M, BM: 64 if M <= 16 else BM,
    BK=64,
    ACT: Literal["none", "relu", "gelu", "silu", "tanh", "sigmoid"] = "gelu",
    DTYPE=hk.bf16,
):
    m = hk.ordered_block(0) * BM
    n = hk.ordered_block(1) * BN
    acc = hk.zeros(BM, BN, hk.f32)
    for k in hk.range(0, A.shape[1], BK):
        acc += A[m : m + BM, k : k + BK] @ B[n : n + BN, k : k + BK].T
    x = acc * hk.col(SCALE[m : m + BM]) + BIAS[n : n + BN].to(hk.f32)
    if ACT == "relu":
        x = hk.relu(x)
    if ACT == "gelu":
        x = hk.gelu(x)
    if ACT == "silu":
        x = hk.silu(x)
    if ACT == "tanh":
        x = hk.tanh(x)
    if ACT == "sigmoid":
        x = hk.sigmoid(x)
    C[m : m + BM, n : n + BN] = (x + R[m : m + BM, n : n + BN].to(hk.f32)).to(DTYPE)


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    a = rng.standard_normal((100, 200)).astype(np.float16)
    b = rng.standard_normal((130, 200)).astype(np.float16)
    scale = rng.standard_normal(100).astype(np.float32)
    bias, residual = rng.standard_normal(130).astype(np.float16), rng.standard_normal((100, 130)).astype(np.float16)
    c = np.zeros((100, 130), np.float16)
    gemm_epilogue(a, b, scale, bias, residual, c, ACT="relu", DTYPE=hk.f16)
    exact = np.maximum(scale[:, None] * (a.astype(float) @ b.astype(float).T) + bias, 0) + residual
    sums = abs(scale[:, None]) * (abs(a).astype(float) @ abs(b).astype(float).T)
    # Rounding of the result to f16, and of K sums in f32.
    assert np.all(abs(c - exact) <= 2.0**-11 * abs(exact) + 200 * 2.0**-23 * (sums + 10))
    print("gemm_epilogue: correct")
