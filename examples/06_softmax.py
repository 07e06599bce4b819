"""Softmax of each row, of any width. One pass finds the largest element and the sum of exponentials, one writes.

The largest element so far is subtracted before exp, so that nothing overflows; when a later tile holds a larger one,
the sum so far shrinks by exp(old - new).
"""

from __future__ import annotations

import numpy as np

import hkc as hk


@hk.kernel(grid=lambda M, BM: hk.cdiv(M, BM))
def softmax(
    X: hk.View["M", "N", DTYPE],
    Y: hk.View["M", "N", DTYPE],
    *,
    BM=4,
    BN=lambda N: 256 if N <= 256 else 1024,
    DTYPE=hk.bf16,
):
    m = hk.block(0) * BM
    best = hk.full(-hk.inf, BM, hk.f32)
    total = hk.zeros(BM, hk.f32)
    for n in range(0, X.shape[1], BN):
        x = hk.where(hk.col_index(BM, BN) < X.shape[1] - n, X[m : m + BM, n : n + BN].to(hk.f32), -hk.inf)
        new = max(best, hk.row_max(x))
        shift = hk.where(new == -hk.inf, 0, new)  # nothing seen yet: -inf - -inf would be NaN
        total = total * hk.exp(best - shift) + hk.row_sum(hk.exp(x - hk.col(shift)))
        best = new
    for n in range(0, X.shape[1], BN):
        Y[m : m + BM, n : n + BN] = (hk.exp(X[m : m + BM, n : n + BN].to(hk.f32) - hk.col(best)) / hk.col(total)).to(
            DTYPE
        )


if __name__ == "__main__":
    x = np.random.default_rng(0).standard_normal((50, 1500)).astype(np.float32)
    y = np.empty_like(x)
    softmax(x, y, DTYPE=hk.f32)
    weights = np.exp(x.astype(float) - x.max(-1, keepdims=True))
    exact = weights / weights.sum(-1, keepdims=True)
    # Sums of 1500 positive terms in f32; exponentials of arguments down to -10 that are rounded themselves.
    assert np.all(abs(y - exact) <= exact * 2.0**-24 * (1500 + 10 * 10))
    print("softmax: correct")
