"""Residuals take the way of the store that they go into: in pieces, with equal results and without spills."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from mlir import ir

import hkc as hk
from hkc.dialect.context import parse_module
from hkc.dialect.verify import verify_module, walk
from hkc.errors import HkcError
from hkc.interp import View, run
from hkc.passes.pipelines import PASSES

from .conftest import EXAMPLES, Make

EPILOGUE = (EXAMPLES / "04_gemm_epilogue.tile").read_text(encoding="utf-8")
BEFORE = [p.name for p in PASSES[: [p.name for p in PASSES].index("map-mfma")]]
HEAD = """kernel f(A: view[M, N, f32], B: view[M, N, f32], L: view[4, M, N, f32]) grid (cdiv(M, 64)) {
    m = block(0) * 64
"""


@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
@pytest.mark.parametrize("sizes", [(64, 64, 64), (70, 45, 33), (32, 96, 0)])
def test_equal_results_after_every_pass(make: Make, arch: str, sizes: tuple[int, int, int]) -> None:
    m, n, k = sizes
    random = np.random.default_rng(0)
    given = {
        "A": random.integers(-1, 2, (m, k)),
        "B": random.integers(-1, 2, (n, k)),
        "SCALE": random.integers(1, 3, m),
        "BIAS": random.integers(-3, 4, n),
        "R": random.integers(-5, 6, (m, n)),
        "C": np.zeros((m, n)),
    }
    expected = np.maximum(given["SCALE"][:, None] * (given["A"] @ given["B"].T) + given["BIAS"], 0) + given["R"]
    for step in [None, *BEFORE]:
        module = make(EPILOGUE, arch, step, BM=32, BN=32, BK=32, ACT="relu", DTYPE="f16")
        views = {
            name: View(v.astype(float), hk.f32 if name == "SCALE" else hk.f16, (v.shape[1], 1) if v.ndim == 2 else (1,))
            for name, v in given.items()
        }
        run(module, views, (-(-m // 32), -(-n // 32)))
        np.testing.assert_array_equal(views["C"].values, expected)


@pytest.mark.parametrize(
    ("body", "fused"),
    [
        ("B[m : m + 64, 0 : 64] = A[m : m + 64, 0 : 64] * 2.0", True),
        ("A[m : m + 64, 0 : 64] += 1.0", True),
        ("A[m : m + 64, 0 : 64] = A[m + 1 : m + 65, 0 : 64]", False),
        ("L[0, m : m + 64, 0 : 64] = L[1, m : m + 64, 0 : 64]", False),
        ("x = A[m : m + 64, 0 : 64]\nA[m : m + 64, 0 : 64] = zeros(64, 64, f32)\nB[m : m + 64, 0 : 64] = x", False),
        ("x = A[m : m + 64, 0 : 64]\nB[m : m + 64, 0 : 64] = x * x", False),
        ("x = A[m : m + 64, 0 : 64]\nB[m : m + 64, 0 : 64] = x\nL[0, m : m + 64, 0 : 64] = x", False),
    ],
)
def test_what_is_fused(make: Make, body: str, fused: bool) -> None:
    """Two arrays or one place, nothing written between, one use: else a later piece could read an earlier one's."""
    ops = list(walk(make(HEAD + body + "\n}", "gfx950", "insert-buffer-loads").operation))
    found = Counter(op.name for op in ops)
    assert found["tile.buffer_load"] == found["tile.masked_load"] > 0
    # A load with branches of its own gives their tile on.
    assert any(op.name == "scf.if" and len(op.results) for op in ops) != fused


@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
def test_the_largest_tile_spills_nothing(arch: str) -> None:
    used = hk.compile(EXAMPLES / "04_gemm_epilogue.tile", arch=arch, BM=256, BN=256).resources
    assert (used.vgpr_spills, used.scratch) == (0, 0)


@pytest.mark.parametrize("attributes", ["pieces = array<i64: 2, 2>", "piece = array<i64: 0, 0>"])
def test_a_piece_needs_all_its_numbers(make: Make, attributes: str) -> None:
    module: ir.Module = make(HEAD + "B[m : m + 64, 0 : 64] = A[m + 1 : m + 65, 0 : 64] * 2.0\n}", "gfx950", None)
    text = str(module).replace('"tile.load"', '"tile.masked_load"')
    close = text.index(" : ", text.index('"tile.masked_load"'))
    with pytest.raises(HkcError, match="only a 2-D tile has pieces"):
        verify_module(parse_module(f"{text[:close]} {{{attributes}}}{text[close:]}", "edited.mlir"))
