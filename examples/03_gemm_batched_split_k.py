"""C[b] = A[b].B[b]^T for a batch of matrices, with K cut into S parts that workgroups sum up side by side.

That is for products of few tiles and a long K. A second kernel adds the parts, always in the same order, so results do
not vary from run to run.
"""

from __future__ import annotations

import numpy as np

import hkc as hk


@hk.kernel(grid=lambda L, M, N, S, BM, BN: (hk.cdiv(M, BM), hk.cdiv(N, BN), L * S))
def gemm_parts(
    A: hk.View["L", "M", "K", DTYPE],
    B: hk.View["L", "N", "K", DTYPE],
    P: hk.View["S", "L", "M", "N", hk.f32],
    *,
    BM=lambda M, N: 16 if M <= 16 else 128 if min(M, N) >= 512 else 64,
    BN=lambda M, N, BM: 16 if N <= 16 else 64 if M <= 16 else BM,
    BK=64,
    DTYPE=hk.bf16,
):
    m = hk.ordered_block(0) * BM
    n = hk.ordered_block(1) * BN
    S = P.shape[0]
    K = A.shape[2]
    b = hk.block(2) // S
    s = hk.block(2) % S
    part = hk.cdiv(hk.cdiv(K, BK), S) * BK
    acc = hk.zeros(BM, BN, hk.f32)
    for k in hk.range(s * part, min(s * part + part, K), BK):
        acc += A[b, m : m + BM, k : k + BK] @ B[b, n : n + BN, k : k + BK].T
    P[s, b, m : m + BM, n : n + BN] = acc


@hk.kernel(grid=lambda L, M, N, BM, BN: (hk.cdiv(N, BN), hk.cdiv(M, BM), L))
def add_parts(
    P: hk.View["S", "L", "M", "N", hk.f32], C: hk.View["L", "M", "N", DTYPE], *, BM=16, BN=256, DTYPE=hk.bf16
):
    m = hk.block(1) * BM
    n = hk.block(0) * BN
    b = hk.block(2)
    acc = hk.zeros(BM, BN, hk.f32)
    for s in hk.range(P.shape[0]):
        acc += P[s, b, m : m + BM, n : n + BN]
    C[b, m : m + BM, n : n + BN] = acc.to(DTYPE)


def gemm(a: np.ndarray, b: np.ndarray, c: np.ndarray, parts: int, **options: object) -> None:
    """``c[i] = a[i] @ b[i].T`` of float16 arrays, K in ``parts`` parts."""
    workspace = np.empty((parts, *c.shape), np.float32)
    gemm_parts(a, b, workspace, DTYPE=hk.f16, **options)
    add_parts(workspace, c, DTYPE=hk.f16, **options)


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    a = rng.standard_normal((3, 40, 1000)).astype(np.float16)
    b = rng.standard_normal((3, 70, 1000)).astype(np.float16)
    exact = a.astype(np.float64) @ b.astype(np.float64).transpose(0, 2, 1)
    sums = abs(a).astype(np.float64) @ abs(b).astype(np.float64).transpose(0, 2, 1)
    results = []
    for parts in (1, 4, 4):
        c = np.zeros((3, 40, 70), np.float16)
        gemm(a, b, c, parts)
        # Rounding of the result to f16, and of K sums in f32.
        assert np.all(abs(c - exact) <= 2.0**-11 * abs(exact) + 1000 * 2.0**-23 * sums)
        results.append(c)
    assert np.array_equal(results[1], results[2])
    print("gemm_batched_split_k: correct")
