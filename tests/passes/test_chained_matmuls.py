"""Matmuls of what another matmul made: operands in an accumulator's order, relayouts, results on the device."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import hkc as hk
from hkc.dialect.types import TileType, tile_type
from hkc.dialect.verify import walk
from hkc.jit import load
from hkc.passes.layouts import parse_layout
from hkc.passes.relayouts import moves_nothing
from hkc.targets import TARGETS

from .conftest import Make

CHAIN = """\
kernel chain(Q: view[M, D, f16], K: view[N, D, f16], V: view[N, D, f16], O: view[M, D, f16];
             BM = 64, BN = 64, HD = 64, ROWS = 2, COLUMNS = 1)
    grid (cdiv(M, BM)) waves (ROWS, COLUMNS)
{
    m = block(0) * BM
    q = Q[m : m + BM, 0 : HD]
    acc = zeros(BM, HD, f32)
    for n in range(0, N, BN) {
        s = q @ K[n : n + BN, 0 : HD].T
        acc += (s * 0.125).to(f16) @ V[n : n + BN, 0 : HD]
    }
    O[m : m + BM, 0 : HD] = acc.to(f16)
}
"""
# The same, all transposed: what the first matmul made is the second one's right operand.
TURNED = """\
kernel chain(Q: view[M, D, f16], K: view[N, D, f16], V: view[N, D, f16], O: view[M, D, f16];
             BM = 64, BN = 64, HD = 64, ROWS = 1, COLUMNS = 2)
    grid (cdiv(M, BM)) waves (ROWS, COLUMNS)
{
    m = block(0) * BM
    q = Q[m : m + BM, 0 : HD]
    acc = zeros(HD, BM, f32)
    for n in range(0, N, BN) {
        s = K[n : n + BN, 0 : HD] @ q.T
        acc += V[n : n + BN, 0 : HD].T @ (s * 0.125).to(f16)
    }
    O[m : m + BM, 0 : HD] = acc.T.to(f16)
}
"""
SHAPES = [(arch, shape) for arch, target in TARGETS.items() for shape in target.mfma if shape.dtype == "bf16"]


@pytest.mark.parametrize(("arch", "shape"), SHAPES, ids=lambda value: value if isinstance(value, str) else value.name)
@pytest.mark.parametrize("pack", [1, 2])
def test_an_accumulator_is_an_operand_in_its_order(arch: str, shape: Any, pack: int) -> None:
    depth = max(2 * shape.k * pack, shape.m)
    for made, wanted, extents in (
        (f"ds({shape.m}x{shape.n})", f"ad({shape.name}*{pack})", (2 * shape.m, depth)),
        (f"d({shape.m}x{shape.n})", f"bd({shape.name}*{pack})", (depth, 2 * shape.n)),
    ):
        split = " by 1/1,1/1"
        source, result = (TileType(extents, hk.bf16, layout + split) for layout in (made, wanted))
        assert moves_nothing(source, result)
    assert not moves_nothing(
        TileType((32, 32), hk.bf16, "ds(16x16) by 1/1,1/1"), TileType((32, 32), hk.bf16, "d(16x16) by 1/1,1/1")
    )


def test_the_order_holds_every_k_once() -> None:
    for text in ("ad(32x32x16*1)", "ad(16x16x32*1)", "ad(32x32x8*2)", "bd(16x16x16*2)"):
        layout = parse_layout(text)
        places = {
            (lane[0] + item[0], lane[1] + item[1])
            for lane in map(layout.lane_step, range(64))
            for item in layout.item_steps()
        }
        assert len(places) == layout.fragment[0] * layout.fragment[1]


@pytest.mark.parametrize("source", [CHAIN, TURNED])
@pytest.mark.parametrize("arch", TARGETS)
def test_nothing_is_written_to_lds_in_between(make: Make, arch: str, source: str) -> None:
    module = make(source, arch, "insert-buffer-loads")
    relayouts = [op for op in walk(module.operation) if op.name == "tile.relayout"]
    assert relayouts and all(moves_nothing(tile_type(r.operands[0]), tile_type(r.results[0])) for r in relayouts)
    shared = make(source, arch, "insert-buffer-loads", ROWS=2, COLUMNS=2)  # two wavefronts share each row
    assert "tile.relayout" not in [op.name for op in walk(shared.operation)]


@pytest.mark.parametrize("source", [CHAIN, TURNED])
@pytest.mark.parametrize("arch", TARGETS)
@pytest.mark.parametrize("grid", [None, (2, 2)])
def test_equal_to_numpy(source: str, arch: str, grid: Any, tmp_path: Any) -> None:
    path = tmp_path / "chain.tile"
    path.write_text(source)
    random = np.random.default_rng(1)
    q, k, v = (random.standard_normal((rows, 64)).astype(np.float16) for rows in (70, 150, 150))
    out = np.full((70, 64), np.nan, np.float16)
    constants = {} if grid is None else {"ROWS": grid[0], "COLUMNS": grid[1]}
    load(path)(q, k, v, out, **constants, device=f"emulator:{arch}")
    p = (q.astype(np.float64) @ k.astype(np.float64).T * 0.125).astype(np.float16).astype(np.float64)
    exact, size = p @ v.astype(np.float64), abs(p) @ abs(v.astype(np.float64))
    # p may round the other way (2^-11 of it), sums of 150 in f32, one rounding to f16.
    assert np.all(abs(out - exact) <= size * (2.0**-10 + 152 * 2.0**-24) + abs(exact) * 2.0**-11 + 2.0**-25)
