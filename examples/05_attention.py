"""Attention, softmax(Q.K^T / sqrt(D)) V, for any number of queries and keys; H query heads share HKV heads of K, V.

With CAUSAL=1 a query sees the keys up to its own place, counted from the end; WINDOW > 0 keeps the last WINDOW of
those alone. A query that sees no key gets zeros. The scores never leave registers: what the first matmul leaves in a
lane is what the second one wants there.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

import hkc as hk


@hk.kernel(grid=lambda N, H, B, BM: (hk.cdiv(N, BM), H, B))
def attention(
    Q: hk.View["B", "H", "N", D, DTYPE],
    K: hk.View["B", "HKV", "NK", D, DTYPE],
    V: hk.View["B", "HKV", "NK", D, DTYPE],
    OUT: hk.View["B", "H", "N", D, DTYPE],
    *,
    D=128,
    BM=lambda N, D: 256 if N >= 256 and D <= 128 else 128,
    BN=64,
    CAUSAL: Literal[0, 1] = 0,
    WINDOW=0,
    STAGES="auto",
    DTYPE=hk.bf16,
):
    m = hk.block(0) * BM
    h = hk.block(1)
    b = hk.block(2)
    g = h // (Q.shape[1] // K.shape[1])  # the head of K and V that this one shares
    scale = D**-0.5 * 1.4426950408889634  # exp2 instead of exp: log2(e)
    ahead = K.shape[2] - Q.shape[2]  # query i sees keys up to i + ahead
    last = min(K.shape[2], m + BM + ahead) if CAUSAL == 1 or WINDOW > 0 else K.shape[2]
    first = max(0, m + ahead + 1 - WINDOW) // BN * BN if WINDOW > 0 else 0

    q = Q[b, h, m : m + BM, 0:D]
    acc = hk.zeros(BM, D, hk.f32)
    best = hk.full(-hk.inf, BM, hk.f32)  # of each query: the largest score so far
    total = hk.zeros(BM, hk.f32)  # and the sum of exponentials
    for k in hk.range(first, last, BN, stages=STAGES):
        s = q @ K[b, g, k : k + BN, 0:D].T
        if CAUSAL == 1 or WINDOW > 0:
            place = hk.col_index(BM, BN) - hk.row_index(BM, BN) + (k - m - ahead)
            if k + BN > m + ahead:
                s = hk.where(place <= 0, s, -hk.inf)
            if WINDOW > 0:
                s = hk.where(place > -WINDOW, s, -hk.inf)
        if k + BN > K.shape[2]:
            s = hk.where(hk.col_index(BM, BN) < K.shape[2] - k, s, -hk.inf)
        new = hk.fmax(best, hk.row_fmax(s) * scale)
        top = hk.where(new > best + 8, new, best)  # weights up to 2^8 do, so that few turns rescale
        shift = hk.where(top == -hk.inf, 0, top)  # nothing seen yet: -inf - -inf would be NaN
        p = hk.exp2(s * scale - hk.col(shift))
        fade = hk.exp2(best - shift)
        total = total * fade + hk.row_sum(p)
        acc = hk.rescale(acc, fade) + hk.narrow(p, DTYPE) @ V[b, g, k : k + BN, 0:D]
        best = top
    OUT[b, h, m : m + BM, 0:D] = (acc * hk.col(1.0 / hk.where(total == 0, 1, total))).to(DTYPE)


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    q = rng.standard_normal((1, 4, 150, 64)).astype(np.float16)
    k, v = rng.standard_normal((2, 1, 2, 200, 64)).astype(np.float16)
    o = np.zeros_like(q)
    attention(q, k, v, o, D=64, CAUSAL=1, DTYPE=hk.f16)
    keys, values = (np.repeat(x, 2, axis=1).astype(float) for x in (k, v))
    scores = q.astype(float) @ keys.swapaxes(2, 3) / 8
    scores[..., np.arange(200) > np.arange(150)[:, None] + 50] = -np.inf
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    exact = weights / weights.sum(-1, keepdims=True) @ values
    # Weights are rounded to f16 (2^-11), so is the result.
    assert np.all(abs(o - exact) <= 2.0**-9 * abs(values).max())
    print("attention: correct")
