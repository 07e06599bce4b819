"""The order of a grid's tiles: a permutation for every grid, near ones together, and the machine computes it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import hkc as hk
from hkc.passes.grid_order import DEFAULT_CHUNK, DEFAULT_WINDOW, position
from hkc.targets import COMMON_XCDS, TARGETS

POWERS = st.integers(0, 10).map(lambda bits: 1 << bits)


def places(rows: int, columns: int, xcds: int, chunk: int, window: int) -> list[tuple[int, int]]:
    found = [position(tile, rows, columns, xcds, chunk, window) for tile in range(rows * columns)]
    assert all(isinstance(part, int) for place in found for part in place)
    return found  # type: ignore[return-value]


@settings(max_examples=200, deadline=None)
@given(rows=st.integers(1, 70), columns=st.integers(1, 70), xcds=POWERS, chunk=POWERS, window=POWERS)
@example(rows=1, columns=1, xcds=8, chunk=64, window=8)
@example(rows=9, columns=57, xcds=8, chunk=1, window=8)
def test_every_tile_is_taken_once(rows: int, columns: int, xcds: int, chunk: int, window: int) -> None:
    found = places(rows, columns, xcds, chunk, window)
    assert sorted(found) == [(row, column) for row in range(rows) for column in range(columns)]


def test_neighbours_share_an_xcd_and_a_window() -> None:
    """In a grid that everything divides, an XCD's first chunk is one square of 8 x 8 tiles."""
    found = places(16, 64, COMMON_XCDS, DEFAULT_CHUNK, DEFAULT_WINDOW)
    for xcd in range(COMMON_XCDS):
        mine = found[xcd::COMMON_XCDS][:DEFAULT_CHUNK]
        rows, columns = {r for r, _ in mine}, {c for _, c in mine}
        assert (len(rows), len(columns)) == (DEFAULT_WINDOW, DEFAULT_CHUNK // DEFAULT_WINDOW)
        assert set(mine) == {(r, c) for r in rows for c in columns}


def test_without_chunks_and_windows_rows_follow_each_other() -> None:
    assert places(3, 5, 8, 1, 1) == [(row, column) for row in range(3) for column in range(5)]


def test_targets_have_powers_of_two() -> None:
    assert all(t.xcds & (t.xcds - 1) == 0 for t in TARGETS.values())


@hk.kernel(grid=lambda M, N, L: (M, N, L))
def taken(X: hk.View["L", "M", "N", 64, hk.i32], *, CHUNK=64, WINDOW=8):
    m, n = hk.ordered_block(0, chunk=CHUNK, window=WINDOW), hk.ordered_block(1, chunk=CHUNK, window=WINDOW)
    number = hk.block(0) + hk.block(1) * X.shape[1]
    X[hk.block(2), m, n, 0:64] += number


@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
@pytest.mark.parametrize("sizes", [(1, 1), (16, 32), (13, 29), (3, 100), (100, 3)])
@pytest.mark.parametrize("options", [{}, {"CHUNK": 4, "WINDOW": 2}, {"CHUNK": 1, "WINDOW": 1}])
def test_the_machine_takes_the_same_tiles(arch: str, sizes: tuple[int, int], options: dict[str, int]) -> None:
    x = np.full((2, *sizes, 64), 1000, np.int32)
    taken(x, device=f"emulator:{arch}", **options)
    expected = np.zeros(sizes, np.int32)
    chunk, window = options.get("CHUNK", DEFAULT_CHUNK), options.get("WINDOW", DEFAULT_WINDOW)
    for number, place in enumerate(places(*sizes, COMMON_XCDS, chunk, window)):
        expected[place] = number
    assert np.array_equal(x, np.broadcast_to(expected[None, :, :, None] + 1000, x.shape))
