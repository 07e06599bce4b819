"""C = A.B^T with the work of the compiler written out: LDS tiles, asynchronous copies, waits and barriers."""

from __future__ import annotations

import numpy as np

import hkc as hk


@hk.kernel(grid=lambda M, N, BM, BN: (hk.cdiv(M, BM), hk.cdiv(N, BN)))
def gemm_by_hand(
    A: hk.View["M", "K", DTYPE],
    B: hk.View["N", "K", DTYPE],
    C: hk.View["M", "N", DTYPE],
    *,
    BM=128,
    BN=128,
    BK=64,
    DTYPE=hk.bf16,
):
    K = A.shape[1]
    m = hk.block(0) * BM
    n = hk.block(1) * BN
    sA = hk.lds(2, BM, BK, DTYPE)
    sB = hk.lds(2, BN, BK, DTYPE)

    # Copies need aligned rows and whole tiles along K; the tail loop does the rest.
    kmain = K - K % BK if hk.aligned(A) and hk.aligned(B) else 0

    ta = hk.copy(A[m : m + BM, 0:BK], sA[0], when=kmain > 0)
    tb = hk.copy(B[n : n + BN, 0:BK], sB[0], when=kmain > 0)
    acc = hk.zeros(BM, BN, hk.f32)
    slot = 0
    for k in hk.range(0, kmain, BK):
        # Our part of this slot is there; past the barrier all parts are, and nobody reads the next slot any more.
        hk.wait(ta, tb)
        hk.barrier()
        after = 1 - slot
        ta = hk.copy(A[m : m + BM, k + BK : k + BK + BK], sA[after], when=k + BK < kmain)
        tb = hk.copy(B[n : n + BN, k + BK : k + BK + BK], sB[after], when=k + BK < kmain)
        acc += hk.read(sA[slot]) @ hk.read(sB[slot]).T
        slot = after
    # The last copies read nothing, yet they clear their slot when they land.
    hk.wait(ta, tb)

    # Loads may reach over the edge, where they give zero; so they go through registers.
    for k in hk.range(kmain, K, BK):
        a = A[m : m + BM, k : k + BK]
        b = B[n : n + BN, k : k + BK]
        # Nobody reads slot 0 any more.
        hk.barrier()
        hk.wait(hk.write(a, sA[0]), hk.write(b, sB[0]))
        hk.barrier()
        acc += hk.read(sA[0]) @ hk.read(sB[0]).T
    C[m : m + BM, n : n + BN] = acc.to(DTYPE)


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    a = rng.standard_normal((300, 200)).astype(np.float16)
    b = rng.standard_normal((170, 200)).astype(np.float16)
    c = np.zeros((300, 170), np.float16)
    exact = a.astype(np.float64) @ b.astype(np.float64).T
    # Rounding of the result to f16, and of K sums in f32.
    bound = 2.0**-11 * abs(exact) + 200 * 2.0**-23 * (abs(a).astype(np.float64) @ abs(b).astype(np.float64).T)

    gemm_by_hand(a, b, c, DTYPE=hk.f16)
    assert np.all(abs(c - exact) <= bound)
    print("gemm_by_hand: correct")
