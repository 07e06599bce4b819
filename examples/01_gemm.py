"""C = A.B^T for any M, N, K and strides."""

from __future__ import annotations

import numpy as np

import hkc as hk


@hk.kernel(grid=lambda M, N, BM, BN: (hk.cdiv(M, BM), hk.cdiv(N, BN)))
def gemm(
    A: hk.View["M", "K", DTYPE],
    B: hk.View["N", "K", DTYPE] if TRANS == "nt" else hk.View["K", "N", DTYPE],
    C: hk.View["M", "N", DTYPE],
    *,
    BM=128,
    BN=128,
    BK=64,
    STAGES=2,
    SCHEDULE="uniform",
    DTYPE=hk.bf16,
    TRANS="nt",
):
    m = hk.block(0) * BM
    n = hk.block(1) * BN
    acc = hk.zeros(BM, BN, hk.f32)
    for k in hk.range(0, A.shape[1], BK, stages=STAGES, schedule=SCHEDULE):
        a = A[m : m + BM, k : k + BK]
        if TRANS == "nt":
            b = B[n : n + BN, k : k + BK].T
        else:
            b = B[k : k + BK, n : n + BN]
        acc += a @ b
    C[m : m + BM, n : n + BN] = acc.to(DTYPE)
