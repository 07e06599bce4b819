"""Z = X + Y. Each workgroup adds one tile of BN elements; what lies beyond N reads as zero and is not stored."""

from __future__ import annotations

import numpy as np

import hkc as hk


@hk.kernel(grid=lambda N, BN: (hk.cdiv(N, BN),))
def vector_add(X: hk.View["N", DTYPE], Y: hk.View["N", DTYPE], Z: hk.View["N", DTYPE], *, BN=1024, DTYPE=hk.f32):
    i = hk.block(0) * BN
    Z[i : i + BN] = X[i : i + BN] + Y[i : i + BN]


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    x = rng.standard_normal(10_000).astype(np.float32)
    y = rng.standard_normal(10_000).astype(np.float32)
    z = np.empty_like(x)
    vector_add(x, y, z)
    assert np.array_equal(z, x + y)
    print("vector_add: correct")
