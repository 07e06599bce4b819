"""Every pass before `map-mfma` keeps what the program computes, as the interpreter sees it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mlir import ir

from hkc.dialect.types import ViewType, parse_type
from hkc.interp import interpreter
from hkc.interp.values import View
from hkc.passes.pipelines import PASSES
from hkc.passes.rebuild import body_of, kernel_of

from .conftest import EXAMPLES, compile_to

STEPS = [None, *(p.name for p in PASSES[: [p.name for p in PASSES].index("map-mfma")])]


def view(module: ir.Module, index: int, values: np.ndarray, pitch: int) -> View:
    type_ = parse_type(body_of(kernel_of(module)).arguments[index].type)
    assert isinstance(type_, ViewType)
    return View(values.copy(), type_.dtype, (pitch, 1))


def run(module: ir.Module, m: int, n: int, k: int, trans: str, pad: int, block: int = 32) -> np.ndarray:
    random = np.random.default_rng(1)
    a = random.integers(-1, 2, (k, m) if trans[0] == "t" else (m, k)).astype(float)
    b = random.integers(-1, 2, (n, k) if trans[1] == "t" else (k, n)).astype(float)
    c = np.full((m, n), np.nan)
    views = {
        "A": view(module, 0, a, k + pad),
        "B": view(module, 1, b, b.shape[1] + pad),
        "C": view(module, 2, c, n + pad),
    }
    interpreter.run(module, views, (-(-m // block), -(-n // block)))
    # Sums below 256 are exact even in bf16, so any order of additions gives the same result.
    expected = (a.T if trans[0] == "t" else a) @ (b.T if trans[1] == "t" else b)
    np.testing.assert_array_equal(views["C"].values, expected)
    return views["C"].values


@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
@settings(max_examples=12, deadline=None)
@given(
    m=st.integers(1, 70),
    n=st.integers(1, 70),
    k=st.integers(0, 150),
    stages=st.integers(1, 4),
    trans=st.sampled_from(["nt", "nn", "tn", "tt"]),
    pad=st.integers(0, 3),
)
def test_gemm_after_every_pass(arch: str, m: int, n: int, k: int, stages: int, trans: str, pad: int) -> None:
    source = (EXAMPLES / "01_gemm.tile").read_text(encoding="utf-8")
    for step in STEPS:
        module = compile_to(source, arch, step, BM=32, BN=32, BK=32, STAGES=stages, TRANS=trans)
        run(module, m, n, k, trans, pad)


@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
@pytest.mark.parametrize("trans", ["nt", "nn", "tn", "tt"])
@pytest.mark.parametrize(
    ("schedule", "stages", "m", "n", "k"),
    [
        *(("pingpong", 2, *size) for size in ((70, 64, 200), (64, 130, 64), (5, 3, 37), (64, 64, 0))),
        *(("interleave", *case) for case in ((2, 70, 64, 200), (3, 64, 130, 96), (4, 5, 3, 37))),
    ],
)
def test_schedules_after_every_pass(arch: str, trans: str, schedule: str, stages: int, m: int, n: int, k: int) -> None:
    source = (EXAMPLES / "01_gemm.tile").read_text(encoding="utf-8")
    for step in STEPS:
        definitions = {"BM": 64, "BN": 64, "BK": 32, "SCHEDULE": schedule, "STAGES": stages, "TRANS": trans}
        module = compile_to(source, arch, step, **definitions)
        run(module, m, n, k, trans, 0, block=64)


def by_hand() -> Path:
    return EXAMPLES / "02_gemm_by_hand.tile"


@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
@pytest.mark.parametrize(("m", "n", "k"), [(33, 40, 96), (32, 32, 0), (5, 70, 77)])
def test_gemm_by_hand_after_every_pass(arch: str, m: int, n: int, k: int) -> None:
    source = by_hand().read_text(encoding="utf-8")
    for step in STEPS:
        run(compile_to(source, arch, step, BM=32, BN=32, BK=32), m, n, k, "nt", 0)
