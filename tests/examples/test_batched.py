"""Batched products with K in parts: any sizes and strides, sanitized, the same from run to run."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hkc as hk
from hkc.runtime import open_device

from .conftest import load_example

EXAMPLE = load_example("03_gemm_batched_split_k")


def run(a: np.ndarray, b: np.ndarray, parts: int, arch: str) -> np.ndarray:
    """The product by both kernels, in memory that was NaN."""
    shape = (len(a), a.shape[1], b.shape[1])
    workspace, c = np.full((parts, *shape), np.nan, np.float32), np.full(shape, np.nan, np.float16)
    EXAMPLE.gemm_parts(a, b, workspace, DTYPE=hk.f16, device=f"emulator:{arch}")
    EXAMPLE.add_parts(workspace, c, DTYPE=hk.f16, device=f"emulator:{arch}")
    return c


@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
@settings(max_examples=8, deadline=None)
@given(
    sizes=st.tuples(st.integers(1, 3), st.integers(1, 90), st.integers(1, 90), st.integers(0, 400)),
    parts=st.integers(1, 9),
    batch_inside=st.booleans(),
)
def test_any_size_and_number_of_parts(arch: str, sizes: tuple[int, ...], parts: int, batch_inside: bool) -> None:
    count, m, n, k = sizes
    random = np.random.default_rng(0)
    a, b = (random.standard_normal((count, extent, k)).astype(np.float16) for extent in (m, n))
    if batch_inside:
        a = np.ascontiguousarray(a.transpose(1, 0, 2)).transpose(1, 0, 2)
    device = open_device(f"emulator:{arch}")
    with device.sanitize():
        c = run(a, b, parts, arch)
    assert device.reports() == []
    exact = a.astype(np.float64) @ b.astype(np.float64).transpose(0, 2, 1)
    sums = abs(a.astype(np.float64)) @ abs(b.astype(np.float64)).transpose(0, 2, 1)
    assert np.all(abs(c - exact) <= 2.0**-11 * abs(exact) + 2.0**-25 + (k + parts + 2) * 2.0**-23 * sums)
    assert np.array_equal(c, run(a, b, parts, arch))
