"""clang's kernels of buf.cl and g950.cl that move data: buffer bounds, loads straight to LDS, transposed LDS reads and
lane swaps."""

from __future__ import annotations

import numpy as np
import pytest

from hkc.runtime import Device

from .conftest import FIRST_ID, clang

GROUPS = pytest.mark.parametrize("groups", [1, 3, 6])
GFX950 = pytest.mark.parametrize("arch", ["gfx950"])


@pytest.mark.parametrize("n", [256, 1000, 30, 63, 1, 0])
def test_buffer_bounds(device: Device, n: int) -> None:
    """Dwords from ``n`` on read as 0 and are not written. The scalar offset (here 64 bytes) is not checked."""
    rng = np.random.default_rng(n)
    groups = 1 + n // 256
    items, total = 64 * groups + FIRST_ID, 256 * groups + 4 * FIRST_ID
    data = rng.integers(0, 2**31, total + 64, np.uint32)
    out = np.full(total, 0xCCCCCCCC, np.uint32)
    clang(device, "buf", "buf_oob")(groups, 64, out, data, n)
    index = np.arange(total)
    expected = np.where(index < n, data[:total], 0)
    item = np.arange(items)
    expected[::4] += np.where(item < n, data[item + 16], 0)
    written = (index < n) & (index >= 4 * FIRST_ID)
    assert np.array_equal(out, np.where(written, expected, 0xCCCCCCCC))


def lane_sums(data: np.ndarray, groups: int) -> np.ndarray:
    """Item t of a group sums the four values that item t ^ 1 loaded."""
    rows = data.reshape(groups, 4, 256)[:, :, np.arange(256) ^ 1]
    return ((rows[:, 0] + rows[:, 1]) + rows[:, 2]) + rows[:, 3]


@pytest.mark.parametrize(("groups", "n"), [(1, 1024), (3, 3072), (3, 2000), (2, 5)])
def test_buffer_load_to_lds(device: Device, groups: int, n: int) -> None:
    rng = np.random.default_rng(n)
    data = rng.standard_normal(groups * 1024).astype(np.float32)
    out = np.zeros(groups * 256 + FIRST_ID, np.float32)
    clang(device, "buf", "lds_dma")(groups, 256, out, data, n)
    inside = np.where(np.arange(data.size) < n, data, np.float32(0))
    assert np.array_equal(out[FIRST_ID:].reshape(groups, 256), lane_sums(inside, groups))


@GROUPS
def test_global_load_to_lds(device: Device, groups: int) -> None:
    rng = np.random.default_rng(groups)
    data = rng.standard_normal(groups * 1024).astype(np.float32)
    out = np.zeros(groups * 256 + FIRST_ID, np.float32)
    clang(device, "buf", "glds_dma")(groups, 256, out, data, data.size)
    assert np.array_equal(out[FIRST_ID:].reshape(groups, 256), lane_sums(data, groups))


@GFX950
@GROUPS
def test_global_load_of_16_bytes_to_lds(device: Device, groups: int) -> None:
    rng = np.random.default_rng(groups)
    data = rng.standard_normal(groups * 1024).astype(np.float32)
    out = np.zeros(groups * 256 + FIRST_ID, np.float32)
    clang(device, "g950", "glds_dma16")(groups, 256, out, data, data.size)
    assert np.array_equal(out[FIRST_ID:].reshape(groups, 256), lane_sums(data, groups))


def transpose(rows: np.ndarray, bits: int, count: int) -> np.ndarray:
    """What a transposed LDS read gives each of 64 lanes.

    ``rows`` holds each lane's ``count`` elements. Sixteen lanes hold a matrix of ``count`` columns by 16 * ``count``
    elements; 16 // ``count`` lanes make one row of 16, and lane l receives column l.
    """
    lane, item = np.arange(64)[:, None], np.arange(count)
    per = 16 // count
    return rows[(lane & ~15) + (lane & 15) // count % per + per * item, lane % count]


@GFX950
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_transposed_lds_reads(device: Device, seed: int) -> None:
    """16-, 8-, 4- and 6-bit elements; the last in 12 bytes of each 16."""
    rng = np.random.default_rng(seed)
    data = rng.integers(0, 2**32, 512, np.uint32)
    o16, o8, o4 = (np.zeros((64, 8), np.uint8) for _ in range(3))
    o6 = np.zeros((64, 4), np.uint32)
    clang(device, "g950", "trread")(1, 64, o16, o8, o4, o6, data)
    eight = data[:128].view(np.uint8).reshape(64, 8)

    def elements(rows: np.ndarray, bits: int) -> np.ndarray:
        ones = np.unpackbits(rows, axis=1, bitorder="little")
        return ones.reshape(64, -1, bits)

    for out, bits in ((o16, 16), (o8, 8), (o4, 4)):
        given = elements(eight, bits)
        assert np.array_equal(elements(out, bits), transpose(given, bits, given.shape[1]))
    twelve = np.ascontiguousarray(data[:256].reshape(64, 4)[:, :3]).view(np.uint8)
    got = np.ascontiguousarray(o6[:, :3]).view(np.uint8)
    assert np.array_equal(elements(got, 6), transpose(elements(twelve, 6), 6, 16))


@GFX950
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_lane_swaps(device: Device, seed: int) -> None:
    rng = np.random.default_rng(seed)
    data = rng.integers(0, 2**32, 128, np.uint32)
    out = np.zeros((64, 2, 2), np.uint32)
    clang(device, "g950", "plswap")(1, 64, out, data)
    for pair, group in ((0, 32), (1, 16)):
        a, b = data.reshape(2, -1, 2, group)
        swapped = np.stack([a[:, 0], b[:, 0]], 1), np.stack([a[:, 1], b[:, 1]], 1)
        for n in range(2):
            assert np.array_equal(out[:, pair, n], swapped[n].ravel())
