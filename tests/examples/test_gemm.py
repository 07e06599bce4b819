"""The GEMM examples on both emulated targets, against NumPy, over sizes, strides and types."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import hkc as hk
from hkc.runtime import open_device

from .conftest import load_example

GEMM = load_example("01_gemm").gemm
BY_HAND = load_example("02_gemm_by_hand").gemm_by_hand

SIZES = st.one_of(st.integers(1, 40), st.sampled_from([63, 64, 65, 96, 128, 130, 200]))
DEPTHS = st.one_of(st.integers(0, 40), st.sampled_from([63, 64, 65, 97, 128, 192, 250]))
# How an operand lies in memory: row pitch beyond the row, first column, column step, rows backwards.
PLACEMENTS = st.tuples(st.integers(0, 5), st.integers(0, 3), st.sampled_from([1, 1, 1, 2]), st.booleans())
Placement = tuple[int, int, int, bool]


def place(values: np.ndarray, placement: Placement) -> np.ndarray:
    """The values as a view into a larger array of NaN."""
    pad, first, step, backwards = placement
    rows, columns = values.shape
    whole = np.full((rows, first + columns * step + pad), np.nan, values.dtype)
    view = whole[::-1] if backwards else whole
    view = view[:, first : first + columns * step : step]
    view[...] = values
    return view


def reference(a: np.ndarray, b: np.ndarray, bits: int) -> tuple[np.ndarray, np.ndarray]:
    """A·B in fp64, and the error bound of f32 sums rounded to a type with ``bits`` explicit significand bits."""
    exact = a.astype(np.float64) @ b.astype(np.float64)
    magnitude = abs(a).astype(np.float64) @ abs(b).astype(np.float64)
    accumulated = (a.shape[1] + 2) * 2.0**-24 * magnitude
    # Half a unit in the last place, of a value that the sum's error may have moved; 2**-24: f16's smallest subnormal.
    return exact, accumulated + 2.0 ** -(bits + 1) * (abs(exact) + accumulated) + 2.0**-25


@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
@settings(max_examples=25, deadline=None)
@given(
    m=SIZES,
    n=SIZES,
    k=DEPTHS,
    how=st.sampled_from(
        [("nt", "auto"), ("nn", "uniform"), ("tn", "pingpong"), ("tt", "interleave"), ("nt", "interleave")]
    ),
    left=PLACEMENTS,
    right=PLACEMENTS,
    out=PLACEMENTS,
)
def test_any_size_and_stride(
    arch: str, m: int, n: int, k: int, how: tuple[str, str], left: Placement, right: Placement, out: Placement
) -> None:
    trans, schedule = how
    random = np.random.default_rng(m * 1_000_003 + n * 1009 + k)
    a = place(random.standard_normal((k, m) if trans[0] == "t" else (m, k)).astype(np.float16), left)
    b = place(random.standard_normal((n, k) if trans[1] == "t" else (k, n)).astype(np.float16), right)
    c = place(np.full((m, n), np.nan, np.float16), out)
    around = c.base if c.base is not None else c
    constants = {"BM": 64, "BN": 64, "BK": 32, "DTYPE": hk.f16, "TRANS": trans, "SCHEDULE": schedule}
    GEMM(a, b, c, **constants, device=f"emulator:{arch}")
    exact, bound = reference(a.T if trans[0] == "t" else a, b.T if trans[1] == "t" else b, 10)
    assert np.all(abs(c - exact) <= bound)
    written = np.count_nonzero(~np.isnan(around))
    assert written == m * n, "only C's elements are written"


@pytest.mark.parametrize("trans", ["nt", "nn"])
def test_torch_bf16_with_strides(arch: str, trans: str) -> None:
    torch.manual_seed(0)
    a = torch.randn(100, 150).to(torch.bfloat16)[:, ::2]
    b = torch.randn(75, 130).to(torch.bfloat16)
    c = torch.full((130, 100), float("nan"), dtype=torch.bfloat16).T
    GEMM(a, b if trans == "nn" else b.T, c, TRANS=trans, device=f"emulator:{arch}")
    exact, bound = reference(a.double().numpy(), b.double().numpy(), 7)
    assert np.all(abs(c.double().numpy() - exact) <= bound)


def test_k_of_zero_writes_zeros(arch: str) -> None:
    c = np.full((70, 80), np.nan, np.float16)
    GEMM(np.zeros((70, 0), np.float16), np.zeros((80, 0), np.float16), c, DTYPE=hk.f16, device=f"emulator:{arch}")
    assert np.all(c == 0)


@pytest.mark.parametrize("shape", [(0, 5, 7), (5, 0, 7), (0, 0, 0)])
def test_nothing_to_do_is_done(arch: str, shape: tuple[int, int, int]) -> None:
    m, n, k = shape
    a, b, c = (np.zeros(s, np.float16) for s in ((m, k), (n, k), (m, n)))
    GEMM(a, b, c, DTYPE=hk.f16, device=f"emulator:{arch}")


@pytest.mark.parametrize("stages", [1, 2, 3])
@pytest.mark.parametrize("block", [(32, 32, 32), (16, 16, 64), (64, 128, 32), (48, 80, 16)])
def test_tiles_and_stages(arch: str, stages: int, block: tuple[int, int, int]) -> None:
    random = np.random.default_rng(0)
    a = random.standard_normal((150, 264)).astype(np.float16)
    b = random.standard_normal((170, 264)).astype(np.float16)
    c = np.full((150, 170), np.nan, np.float16)
    bm, bn, bk = block
    GEMM(a, b, c, BM=bm, BN=bn, BK=bk, STAGES=stages, DTYPE=hk.f16, device=f"emulator:{arch}")
    exact, bound = reference(a, b.T, 10)
    assert np.all(abs(c - exact) <= bound)


ALL = ("nt", "nn", "tn", "tt")
# Some blocks' operands go to LDS by different ways on gfx950: one is too small for LDS-direct copies. Stages of
# interleave give one and two LDS buffers on gfx942, two and three on gfx950.
SCHEDULED = [
    *((trans, "pingpong", 2, block) for trans in ALL for block in ((64, 64, 32), (128, 64, 64), (256, 64, 16))),
    *((trans, "interleave", 2, (64, 64, 32)) for trans in ALL),
    *(("nt", "interleave", 2, (128, 64, 16)), ("tn", "interleave", 3, (64, 128, 64))),
]


@pytest.mark.parametrize(("trans", "schedule", "stages", "block"), SCHEDULED)
def test_schedules_are_right_and_clean(
    arch: str, trans: str, schedule: str, stages: int, block: tuple[int, int, int]
) -> None:
    """Depths with an even and an odd number of K tiles and without any, and a misaligned one."""
    bm, bn, bk = block
    random = np.random.default_rng(0)
    device = open_device(f"emulator:{arch}")
    for depth in (4 * bk, 5 * bk + 6, bk // 2, 3 * bk + 1):
        a = random.standard_normal((depth, 150) if trans[0] == "t" else (150, depth)).astype(np.float16)
        b = random.standard_normal((170, depth) if trans[1] == "t" else (depth, 170)).astype(np.float16)
        c = np.full((150, 170), np.nan, np.float16)
        with device.sanitize():
            GEMM(
                *(a, b, c),
                **{"BM": bm, "BN": bn, "BK": bk, "TRANS": trans},
                STAGES=stages,
                SCHEDULE=schedule,
                DTYPE=hk.f16,
                device=f"emulator:{arch}",
            )
        assert device.reports() == []
        exact, bound = reference(a.T if trans[0] == "t" else a, b.T if trans[1] == "t" else b, 10)
        assert np.all(abs(c - exact) <= bound)


@pytest.mark.parametrize("depth", [0, 33, 64, 192, 250])
def test_gemm_by_hand(arch: str, depth: int) -> None:
    random = np.random.default_rng(0)
    a = random.standard_normal((100, depth)).astype(np.float16)
    b = random.standard_normal((140, depth)).astype(np.float16)
    c = np.full((100, 140), np.nan, np.float16)
    BY_HAND(a, b, c, BM=64, BN=64, BK=32, DTYPE=hk.f16, device=f"emulator:{arch}")
    exact, bound = reference(a, b.T, 10)
    assert np.all(abs(c - exact) <= bound)
