"""C = A.B^T for any M, N, K and strides; TRANS tells how A and B lie in memory: nn, nt, tn or tt (t: transposed).

One workgroup computes one tile of C. Loads, LDS, waits and barriers are the compiler's work: STAGES says how many
K tiles are on their way at a time, SCHEDULE how the waves share the work.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

import hkc as hk


@hk.kernel(grid=lambda M, N, BM, BN: (hk.cdiv(M, BM), hk.cdiv(N, BN)))
def gemm(
    A: hk.View["K", "M", DTYPE] if TRANS == "tn" or TRANS == "tt" else hk.View["M", "K", DTYPE],
    B: hk.View["N", "K", DTYPE] if TRANS == "nt" or TRANS == "tt" else hk.View["K", "N", DTYPE],
    C: hk.View["M", "N", DTYPE],
    *,
    BM=lambda M, N: 16 if M <= 16 else 256 if min(M, N) >= 256 and M * N >= 2**24 else 128 if min(M, N) >= 512 else 64,
    BN=lambda M, N, BM: 16 if N <= 16 else 64 if M <= 16 else BM,
    BK=64,
    STAGES="auto",
    SCHEDULE="auto",
    DTYPE=hk.bf16,
    TRANS: Literal["nn", "nt", "tn", "tt"] = "nt",
):
    m = hk.ordered_block(0) * BM
    n = hk.ordered_block(1) * BN
    acc = hk.zeros(BM, BN, hk.f32)
    if TRANS == "tn" or TRANS == "tt":
        K = A.shape[0]
    else:
        K = A.shape[1]
    for k in hk.range(0, K, BK, stages=STAGES, schedule=SCHEDULE):
        if TRANS == "tn" or TRANS == "tt":
            a = A[k : k + BK, m : m + BM].T
        else:
            a = A[m : m + BM, k : k + BK]
        if TRANS == "nt" or TRANS == "tt":
            b = B[n : n + BN, k : k + BK].T
        else:
            b = B[k : k + BK, n : n + BN]
        acc += a @ b
    C[m : m + BM, n : n + BN] = acc.to(DTYPE)


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    a = rng.standard_normal((300, 200)).astype(np.float16)
    b = rng.standard_normal((170, 200)).astype(np.float16)
    c = np.zeros((300, 170), np.float16)
    exact = a.astype(np.float64) @ b.astype(np.float64).T
    # Rounding of the result to f16, and of K sums in f32.
    bound = 2.0**-11 * abs(exact) + 200 * 2.0**-23 * (abs(a).astype(np.float64) @ abs(b).astype(np.float64).T)

    gemm(a, b, c, DTYPE=hk.f16)
    assert np.all(abs(c - exact) <= bound)
    gemm(a, b.T.copy(), c, DTYPE=hk.f16, TRANS="nn", BM=64)
    assert np.all(abs(c - exact) <= bound)
    print("gemm: correct")
