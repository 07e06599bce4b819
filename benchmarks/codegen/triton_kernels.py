"""The peers' side of the comparison: the same kernels in Triton. Read only where Triton is installed."""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def gemm(
    A,
    B,
    C,
    M,
    N,
    K,
    a_pitch,
    b_pitch,
    c_pitch,
    BM: tl.constexpr,
    BN: tl.constexpr,
    BK: tl.constexpr,
    B_TRANSPOSED: tl.constexpr,
    EVEN_K: tl.constexpr,
):
    """C[m, n] = sum over k of A[m, k] * B[k, n]; B lies as [N, K] if B_TRANSPOSED. One program, one tile of C."""
    tl.assume(a_pitch > 0)
    tl.assume(b_pitch > 0)
    tl.assume(c_pitch > 0)
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    depth = tl.arange(0, BK)
    # Rows and columns beyond the matrices are computed from others, and not stored.
    a_rows, b_columns = rows % M, columns % N
    a_at = A + a_rows[:, None] * a_pitch + depth[None, :]
    if B_TRANSPOSED:
        b_at = B + b_columns[None, :] * b_pitch + depth[:, None]
    else:
        b_at = B + b_columns[None, :] + depth[:, None] * b_pitch
    sums = tl.zeros((BM, BN), tl.float32)
    for k in range(0, tl.cdiv(K, BK)):
        if EVEN_K:
            a = tl.load(a_at)
            b = tl.load(b_at)
        else:
            left = K - k * BK
            a = tl.load(a_at, mask=depth[None, :] < left, other=0.0)
            b = tl.load(b_at, mask=depth[:, None] < left, other=0.0)
        sums = tl.dot(a, b, sums)
        a_at += BK
        b_at += BK if B_TRANSPOSED else BK * b_pitch
    inside = (rows < M)[:, None] & (columns < N)[None, :]
    tl.store(C + rows[:, None] * c_pitch + columns[None, :], sums.to(C.dtype.element_ty), mask=inside)
