"""Functions made of other instructions: within the interpreter's bounds, over the whole range of each type."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import hkc as hk
from hkc.interp import View, run
from hkc.lang.elaborate import elaborate
from hkc.numerics import decode, encode

NAMES = ("tanh", "erf", "sigmoid", "silu", "gelu", "relu")
EXACT: dict[str, Any] = {
    "tanh": math.tanh,
    "erf": math.erf,
    "sigmoid": lambda x: 0.0 if x < -700 else 1 / (1 + math.exp(-x)),
    "silu": lambda x: 0.0 if x < -700 else x / (1 + math.exp(-x)),
    "gelu": lambda x: x * math.erfc(-x / math.sqrt(2)) / 2,
    "relu": lambda x: max(x, 0.0),
}


@hk.kernel(grid=lambda N: hk.cdiv(N, 1024))
def functions(
    X: hk.View["N", DTYPE],
    TANH: hk.View["N", DTYPE],
    ERF: hk.View["N", DTYPE],
    SIGMOID: hk.View["N", DTYPE],
    SILU: hk.View["N", DTYPE],
    GELU: hk.View["N", DTYPE],
    RELU: hk.View["N", DTYPE],
    *,
    DTYPE=hk.f32,
):
    i = hk.block(0) * 1024
    x = X[i : i + 1024]
    TANH[i : i + 1024] = hk.tanh(x)
    ERF[i : i + 1024] = hk.erf(x)
    SIGMOID[i : i + 1024] = hk.sigmoid(x)
    SILU[i : i + 1024] = hk.silu(x)
    GELU[i : i + 1024] = hk.gelu(x)
    RELU[i : i + 1024] = hk.relu(x)


def inputs() -> np.ndarray:
    powers = 10.0 ** np.linspace(-44, 38, 1500)
    special = [0.0, -0.0, np.inf, -np.inf, np.nan, -88.0, -88.72, -103.5, 88.8]
    return np.concatenate([np.linspace(-130, 130, 8001), np.linspace(-6, 6, 6001), powers, -powers, special])


@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
@pytest.mark.parametrize("name", ["f32", "f16", "bf16"])
def test_machine_is_within_the_bounds(arch: str, name: str) -> None:
    dtype = hk.dtype(name)
    with np.errstate(over="ignore"):
        raw = encode(inputs(), dtype)
    results = [np.zeros_like(raw) for _ in NAMES]
    functions(*(hk.array(a, dtype) for a in (raw, *results)), DTYPE=dtype, device=f"emulator:{arch}")
    values = decode(raw, dtype)
    views = {n.upper(): View(np.zeros(len(raw)), dtype, (1,)) for n in NAMES}
    run(
        elaborate(functions.definition, {"DTYPE": dtype}),
        {"X": View(values, dtype, (1,)), **views},
        (-(-len(raw) // 1024),),
    )
    for function, result in zip(NAMES, results, strict=True):
        got, view = decode(result, dtype), views[function.upper()]
        same = (got == view.values) | (np.isnan(got) & np.isnan(view.values))
        with np.errstate(invalid="ignore"):
            within = abs(got - view.values) <= view.errors * (1 + 2.0**-20)
        assert np.all(same | within), (function, values[~(same | within)][:5])


@pytest.mark.parametrize("name", NAMES)
def test_bounds_hold_the_exact_value_and_are_tight(name: str) -> None:
    """Of f32 values in a range that programs use: within 20 roundings of what mathematics gives."""
    x = np.linspace(-8, 8, 4001).astype(np.float32)
    got = [np.zeros_like(x) for _ in NAMES]
    functions(x, *got, device="emulator:gfx950")
    exact = np.array([EXACT[name](v) for v in x.astype(float)])
    assert np.all(
        abs(got[NAMES.index(name)] - exact) <= 20 * 2.0**-24 * np.maximum(abs(exact), abs(x) * (name == "gelu"))
    )


def test_constants_fold() -> None:
    from hkc.lang.folding import fold_math

    for name in ("tanh", "erf", "sigmoid", "silu", "gelu"):
        for x in (-1000.0, -1.5, 0.0, 0.3, 700.0):
            assert fold_math(name, x) == pytest.approx(EXACT[name](x), rel=1e-14, abs=1e-15)
