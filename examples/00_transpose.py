"""B = A^T, tile by tile. Any strides will do: with those of a transposed array this is a plain copy."""

from __future__ import annotations

import numpy as np

import hkc as hk


@hk.kernel(grid=lambda M, N, BM, BN: (hk.cdiv(M, BM), hk.cdiv(N, BN)))
def transpose(A: hk.View["M", "N", DTYPE], B: hk.View["N", "M", DTYPE], *, BM=64, BN=64, DTYPE=hk.f32):
    m = hk.block(0) * BM
    n = hk.block(1) * BN
    B[n : n + BN, m : m + BM] = A[m : m + BM, n : n + BN].T


if __name__ == "__main__":
    a = np.random.default_rng(0).standard_normal((200, 130)).astype(np.float32)
    b = np.zeros((130, 200), np.float32)
    transpose(a, b)
    assert np.array_equal(b, a.T)
    print("transpose: correct")
