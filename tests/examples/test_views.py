"""Views of three and four dimensions on the emulated device: any strides, indices out of range, sanitized."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hkc as hk
from hkc.runtime import open_device


@hk.kernel(grid=lambda L, M, N, BM, BN: (hk.cdiv(M, BM), hk.cdiv(N, BN), L + 1))
def batched(
    A: hk.View["L", "M", "K", hk.f16],
    B: hk.View["K", "L", "N", hk.f16],
    C: hk.View["L", "M", "N", hk.f32],
    *,
    BM=32,
    BN=32,
):
    m, n, b = hk.block(0) * BM, hk.block(1) * BN, hk.block(2)
    acc = hk.zeros(BM, BN, hk.f32)
    for k in hk.range(0, A.shape[2], 32):
        acc += A[b, m : m + BM, k : k + 32] @ B[k : k + 32, b, n : n + BN]
    C[b, m : m + BM, n : n + BN] = acc


@hk.kernel(grid=lambda M, N: (hk.cdiv(M, 32), hk.cdiv(N, 32)))
def summed(A: hk.View["L", "M", "K", hk.f16], B: hk.View["L", "N", "K", hk.f16], C: hk.View["M", "N", hk.f32]):
    m, n = hk.block(0) * 32, hk.block(1) * 32
    acc = hk.zeros(32, 32, hk.f32)
    for b in hk.range(-1, A.shape[0] + 2):
        part = B[b]
        for k in hk.range(0, A.shape[2], 32):
            acc += A[b, m : m + 32, k : k + 32] @ part[n : n + 32, k : k + 32].T
    C[m : m + 32, n : n + 32] = acc


@hk.kernel(grid=lambda L, H, M: (hk.cdiv(M, 16), L, H))
def heads(A: hk.View["L", "M", "H", 64, hk.f32], B: hk.View["L", "H", "M", 64, hk.f32]):
    m = hk.block(0) * 16
    B[hk.block(1), hk.block(2), m : m + 16, 0:64] = A[hk.block(1), m : m + 16, hk.block(2), 0:64]


def strided(random: np.random.Generator, shape: tuple[int, ...], order: tuple[int, ...], pad: int) -> np.ndarray:
    """Values in memory that other axes may be innermost of, with NaN around them."""
    extents = [shape[axis] + pad * (axis == order[-1]) for axis in order]
    memory = np.full(extents, np.nan, np.float16).transpose(np.argsort(order))
    inside = memory[tuple(slice(0, extent) for extent in shape)]
    inside[...] = random.standard_normal(shape)
    return inside


SIZES = st.tuples(st.integers(1, 3), st.integers(1, 70), st.integers(1, 70), st.integers(0, 100))
ORDERS = st.permutations(range(3)).map(tuple)


@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
@settings(max_examples=8, deadline=None)
@given(sizes=SIZES, orders=st.tuples(ORDERS, ORDERS), pad=st.integers(0, 3))
def test_batched_matmul(arch: str, sizes: tuple[int, ...], orders: tuple[tuple[int, ...], ...], pad: int) -> None:
    count, m, n, k = sizes
    random = np.random.default_rng(0)
    a, b = strided(random, (count, m, k), orders[0], pad), strided(random, (k, count, n), orders[1], pad)
    c = np.full((count, m, n), np.nan, np.float32)
    device = open_device(f"emulator:{arch}")
    with device.sanitize():
        batched(a, b, c, device=f"emulator:{arch}")
    assert device.reports() == []
    exact = np.einsum("lmk,kln->lmn", a.astype(np.float64), b.astype(np.float64))
    bound = (k + 2) * 2.0**-24 * np.einsum("lmk,kln->lmn", abs(a.astype(np.float64)), abs(b.astype(np.float64)))
    assert np.all(abs(c - exact) <= bound)


@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
def test_indices_that_loops_change(arch: str) -> None:
    """Indices before the first and behind the last element add nothing."""
    random = np.random.default_rng(0)
    a, b = (random.standard_normal((3, extent, 70)).astype(np.float16) for extent in (40, 50))
    c = np.full((40, 50), np.nan, np.float32)
    device = open_device(f"emulator:{arch}")
    with device.sanitize():
        summed(a, b, c, device=f"emulator:{arch}")
    assert device.reports() == []
    exact = np.einsum("lmk,lnk->mn", a.astype(np.float64), b.astype(np.float64))
    assert np.all(abs(c - exact) <= 1e-3)


@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
def test_axes_in_the_middle(arch: str) -> None:
    a = np.random.default_rng(0).standard_normal((2, 37, 3, 64)).astype(np.float32)
    b = np.zeros((2, 3, 37, 64), np.float32)
    heads(a, b, device=f"emulator:{arch}")
    assert np.array_equal(b, a.transpose(0, 2, 1, 3))


@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
def test_parts_lie_beyond_4_gib(arch: str) -> None:
    """A batch stride of 3 GiB: the third matrix begins 6 GiB into the buffer. Little of the memory is touched."""
    device = open_device(f"emulator:{arch}")
    compiled = heads.compile(arch)
    stride, m = 3 << 28, 20  # elements of 4 bytes
    source = device.alloc((2 * stride + m * 64) * 4)
    target = device.alloc(3 * m * 64 * 4)
    rows = np.random.default_rng(0).standard_normal((3, m, 64)).astype(np.float32)
    for index in range(3):
        source.write(rows[index], offset=index * stride * 4)
    function = device.load(compiled.hsaco).function(compiled.name)
    views = [source, *(3, m, 1, 64), *(stride, 64, 64, 1), target, *(3, 1, m, 64), *(m * 64, m * 64, 64, 1)]
    function.launch((2, 3, 1), (compiled.meta.block, 1, 1), views)
    device.synchronize()
    assert np.array_equal(target.read("float32", (3, m, 64)), rows)
    source.free()
    target.free()
