"""Products with scale, bias, activation and residual fused: against NumPy over ragged sizes, sanitized."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hkc as hk
from hkc.runtime import open_device

from .conftest import load_example

EPILOGUE = load_example("04_gemm_epilogue").gemm_epilogue
ERF = np.vectorize(math.erf, otypes=[float])
# The function, and the most that it is steeper than its argument.
ACTIVATIONS = {
    "none": (lambda x: x, 1.0),
    "relu": (lambda x: np.maximum(x, 0), 1.0),
    "gelu": (lambda x: x * (1 + ERF(x / math.sqrt(2))) / 2, 1.13),
    "silu": (lambda x: x / (1 + np.exp(-x)), 1.1),
    "tanh": (np.tanh, 1.0),
    "sigmoid": (lambda x: 1 / (1 + np.exp(-x)), 0.25),
}


@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
@settings(max_examples=6, deadline=None)
@given(
    sizes=st.tuples(st.integers(1, 150), st.integers(1, 150), st.integers(0, 200)),
    activation=st.sampled_from(sorted(ACTIVATIONS)),
    across=st.booleans(),
)
def test_against_numpy(arch: str, sizes: tuple[int, int, int], activation: str, across: bool) -> None:
    m, n, k = sizes
    random = np.random.default_rng(0)
    a, b, residual = (random.standard_normal(s).astype(np.float16) for s in ((m, k), (n, k), (m, n)))
    if across:
        residual = np.asfortranarray(residual)
    scale, bias = random.standard_normal(m).astype(np.float32), random.standard_normal(n).astype(np.float16)
    c = np.full((m, n), np.nan, np.float16)
    device = open_device(f"emulator:{arch}")
    with device.sanitize():
        EPILOGUE(a, b, scale, bias, residual, c, ACT=activation, DTYPE=hk.f16, device=f"emulator:{arch}")
    assert device.reports() == []
    function, steepest = ACTIVATIONS[activation]
    wide = [x.astype(np.float64) for x in (a, b, scale, bias, residual)]
    argument = wide[2][:, None] * (wide[0] @ wide[1].T) + wide[3]
    with np.errstate(over="ignore"):
        exact = function(argument) + wide[4]
    sums = abs(wide[2][:, None]) * (abs(wide[0]) @ abs(wide[1]).T) + abs(wide[3])
    rounding = steepest * (k + 4) * 2.0**-24 * sums + (20 + abs(argument)) * 2.0**-24 * (1 + abs(argument))
    assert np.all(abs(c - exact) <= 2.0**-11 * abs(exact) + 2.0**-24 + 2 * rounding)


@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
def test_loads_and_stores_are_as_wide_as_the_layout(arch: str) -> None:
    """A lane's accumulators are runs of four: residual and result move 8 bytes of bf16 at once on the aligned way."""
    asm = hk.compile(EPILOGUE, arch=arch, M=128, N=128, BM=64, BN=64).asm
    assert asm.count("buffer_store_dwordx2") == asm.count("buffer_store_") == 4
    assert asm.count("buffer_load_dwordx2") >= 4


def test_an_activation_that_is_not_there() -> None:
    with pytest.raises(hk.HkcError, match="ACT=swish is none of its values"):
        hk.compile(EPILOGUE, ACT="swish")
