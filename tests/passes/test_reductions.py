"""Reductions, broadcasts and index tiles on the emulated device, against NumPy; how they are split and laid out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hkc as hk
from hkc.dialect.verify import walk
from hkc.errors import HkcError
from hkc.jit import load
from hkc.passes.layouts import parse_layout

from .conftest import Make, compile_to

KERNEL = """\
kernel lines(X: view[M, N, DTYPE], R: view[M, DTYPE], C: view[N, DTYPE], I: view[M, i32];
             BM = 16, BN = 64, KIND = "sum", DTYPE = f32)
    grid (1)
{
    x = X[0 : BM, 0 : BN]
    if KIND == "sum" { R[0 : BM] = row_sum(x)
        C[0 : BN] = col_sum(x) }
    if KIND == "prod" { R[0 : BM] = row_prod(x)
        C[0 : BN] = col_prod(x) }
    if KIND == "max" { R[0 : BM] = row_max(x)
        C[0 : BN] = col_max(x)
        I[0 : BM] = row_argmax(x) }
    if KIND == "min" { R[0 : BM] = row_min(x)
        C[0 : BN] = col_min(x)
        I[0 : BM] = row_argmin(x) }
}
"""
SOFTMAX = """\
kernel softmax(X: view[M, N, f32], Y: view[M, N, f32]; BM = 16, BN = 64)
    grid (cdiv(M, BM))
{
    m = block(0) * BM
    x = where(col_index(BM, BN) < N, X[m : m + BM, 0 : BN], -inf)
    e = exp(x - col(row_max(x)))
    Y[m : m + BM, 0 : BN] = e / col(row_sum(e))
}
"""
NUMPY = {"sum": np.sum, "prod": np.prod, "max": np.max, "min": np.min}
SHAPES = st.tuples(st.sampled_from([1, 2, 4, 16, 32, 64]), st.sampled_from([64, 128, 256])) | st.sampled_from(
    [(256, 1), (64, 2), (8, 16)]
)


def kernel(tmp_path: Any, text: str) -> Any:
    path = tmp_path / "k.tile"
    path.write_text(text)
    return load(path)


@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
@pytest.mark.parametrize("kind", NUMPY)
def test_lines_of_any_tile(arch: str, kind: str, tmp_path_factory: Any) -> None:
    lines = kernel(tmp_path_factory.mktemp("k"), KERNEL)

    @settings(max_examples=12, deadline=None)
    @given(shape=SHAPES, dtype=st.sampled_from([hk.f32, hk.i32, hk.i16, hk.f64]), seed=st.integers(0, 99))
    def check(shape: tuple[int, int], dtype: Any, seed: int) -> None:
        random = np.random.default_rng(seed)
        x = random.integers(-3, 4, shape).astype(dtype.numpy)  # every sum and product of these is exact
        if kind == "prod":
            x[random.random(shape) < 0.95] = 1
        rows, columns = np.zeros(shape[0], dtype.numpy), np.zeros(shape[1], dtype.numpy)
        where = np.zeros(shape[0], np.int32)
        lines(x, rows, columns, where, BM=shape[0], BN=shape[1], KIND=kind, DTYPE=dtype, device=f"emulator:{arch}")
        assert np.array_equal(rows, NUMPY[kind](x, 1).astype(dtype.numpy))
        assert np.array_equal(columns, NUMPY[kind](x, 0).astype(dtype.numpy))
        if kind in ("max", "min"):
            assert np.array_equal(where, getattr(np, f"arg{kind}")(x, 1))

    check()


@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
def test_a_line_with_nan_has_a_nan_extreme_at_its_first(arch: str, tmp_path: Any) -> None:
    x = np.random.default_rng(0).standard_normal((16, 64)).astype(np.float32)
    x[3, 5] = x[3, 9] = np.nan
    rows, columns, where = np.zeros(16, np.float32), np.zeros(64, np.float32), np.zeros(16, np.int32)
    kernel(tmp_path, KERNEL)(x, rows, columns, where, KIND="max", device=f"emulator:{arch}")
    assert np.array_equal(rows, x.max(1), equal_nan=True) and np.array_equal(columns, x.max(0), equal_nan=True)
    assert np.array_equal(where, x.argmax(1)) and where[3] == 5


@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
def test_extremes_that_skip_nan_and_one_rounding(arch: str, tmp_path: Any) -> None:
    text = """\
kernel f(X: view[M, N, f32], Y: view[M, N, f32], R: view[M, f32], C: view[N, f32], Z: view[M, N, f32]) grid (1)
{
    x = X[0 : 16, 0 : 64]
    y = Y[0 : 16, 0 : 64]
    R[0 : 16] = row_fmax(x)
    C[0 : 64] = col_fmin(x)
    Z[0 : 16, 0 : 64] = fmax(x, fma(y, y, -1.0))
}
"""
    x, y = np.random.default_rng(3).standard_normal((2, 16, 64)).astype(np.float32)
    x[2, 7], x[5], x[:, 9] = np.nan, np.nan, np.nan
    rows, columns, z = np.zeros(16, np.float32), np.zeros(64, np.float32), np.zeros((16, 64), np.float32)
    kernel(tmp_path, text)(x, y, rows, columns, z, device=f"emulator:{arch}")
    assert np.array_equal(rows, np.fmax.reduce(x, 1), equal_nan=True)
    assert np.array_equal(columns, np.fmin.reduce(x, 0), equal_nan=True)
    once = (y.astype(np.float64) ** 2 - 1).astype(np.float32)
    assert np.array_equal(z, np.fmax(x, once))


@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
@pytest.mark.parametrize(("m", "n"), [(16, 64), (5, 3), (33, 63), (1, 1)])
@pytest.mark.parametrize(("bm", "bn"), [(16, 64), (1, 64), (4, 128)])
def test_softmax(arch: str, m: int, n: int, bm: int, bn: int, tmp_path: Any) -> None:
    x = 10 * np.random.default_rng(m).standard_normal((m, n)).astype(np.float32)
    y = np.full_like(x, np.nan)
    kernel(tmp_path, SOFTMAX)(x, y, BM=bm, BN=bn, device=f"emulator:{arch}")
    exact = np.exp(x.astype(np.float64) - x.max(1, keepdims=True))
    exact /= exact.sum(1, keepdims=True)
    # x - max rounds once, exp scales that by |x|; a sum of n, a quotient: all relative.
    assert np.all(abs(y - exact) <= exact * (2 * abs(x).max() + n + 12) * 2.0**-23 + 2.0**-126)


def test_wavefronts_that_share_a_row_meet_in_lds(make: Make) -> None:
    module = make(SOFTMAX, "gfx950", "insert-buffer-loads", BM=1, BN=1024)
    names = [op.name for op in walk(module.operation)]
    assert names.count("tile.reduce_parts") == 2 and names.count("tile.lds_alloc") == 2
    alone = make(SOFTMAX, "gfx950", "insert-buffer-loads", BM=16, BN=64)
    assert "tile.reduce_parts" not in [op.name for op in walk(alone.operation)]


def test_a_vector_has_a_slice_of_its_tiles_layout(make: Make) -> None:
    text = """\
kernel f(A: view[M, K, bf16], B: view[N, K, bf16], S: view[N, f32], C: view[M, N, f32]) grid (1)
{
    acc = A[0 : 64, 0 : 64] @ B[0 : 64, 0 : 64].T
    C[0 : 64, 0 : 64] = acc * S[0 : 64]
}
"""
    module = make(text, "gfx950", "assign-wave-roles")
    [spread] = [op for op in walk(module.operation) if op.name == "tile.broadcast"]
    assert ".across by" in str(spread.operands[0].type)


def test_slices_of_a_layout() -> None:
    layout = parse_layout("ds(16x16) by 2/2,4/1")
    down, across = layout.sliced(0), layout.sliced(1)
    assert (down.kind, across.kind) == ("ds(16x16).down", "ds(16x16).across")
    assert down.split[1] == layout.split[0] and across.split[1] == layout.split[1]
    assert layout.transposed().sliced(1).places() == down.places()
    assert parse_layout(down.text()) == down


def test_a_vector_of_two_tiles_that_lie_differently() -> None:
    text = """\
kernel f(X: view[M, N, f32], Y: view[M, N, f32]) grid (1)
{
    s = row_sum(X[0 : 64, 0 : 256])
    Y[0 : 64, 0 : 4] = Y[0 : 64, 0 : 4] * col(s)
}
"""
    with pytest.raises(HkcError, match="a vector is used along two tiles") as caught:
        compile_to(text, "gfx950", "assign-wave-roles")
    assert caught.value.span is not None and caught.value.span.line == 4
