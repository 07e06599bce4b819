"""Softmax and the norms on both emulated targets in checked mode, against torch in fp64."""

from __future__ import annotations

import math
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import hkc as hk

from .bounds import ARCHES, BITS, U, checked, rounding

# In units of U: exp by exp2 beside the rounding of its argument, rsqrt and division (hkc/interp/tile_ops.py).
EXP, RSQRT, DIVISION = 4, 4, 5


def strided(rows: int, width: int, dtype: torch.dtype, layout: str) -> torch.Tensor:
    if layout == "transposed":
        return torch.randn(width, rows).to(dtype).T
    if layout == "padded":
        return torch.randn(rows, width + 3).to(dtype)[:, 2 : width + 2]
    return torch.randn(rows, width).to(dtype)


def check_softmax(monkeypatch: pytest.MonkeyPatch, arch: str, x: torch.Tensor) -> None:
    out = checked(monkeypatch, arch, lambda: hk.kernels.softmax(x))
    assert out.dtype == x.dtype
    exact = torch.softmax(x.double(), -1)
    # An exponential is off by the roundings of its argument (twice a product, once a difference) and its own; the sum
    # by those, one a term and one rescaling a turn of the loop.
    distance = x.double().amax(-1, keepdim=True) - x.double()
    spread = distance.amax(-1, keepdim=True)
    width = x.shape[-1]
    turns = math.ceil(width / 256)
    error = 3 * distance + EXP + (3 * spread + EXP + 1) * (turns + 1) + width + DIVISION
    assert torch.all(abs(out.double() - exact) <= exact * error * U + rounding(exact, x.dtype))


def check_norm(monkeypatch: pytest.MonkeyPatch, arch: str, name: str, x: torch.Tensor, residual: bool) -> None:
    width = x.shape[-1]
    w, b = torch.randn(2, width).to(x.dtype)
    r = torch.randn(x.shape).to(x.dtype) if residual else None
    eps = 1e-5
    vectors = (w,) if name == "rmsnorm" else (w, b)
    out = checked(monkeypatch, arch, lambda: getattr(hk.kernels, name)(x, *vectors, residual=r, eps=eps))
    h = x.double() + (r.double() if residual else 0)
    off = abs(h) * U if residual else torch.zeros_like(h)  # absolute error of what is normalised
    mean = torch.zeros_like(h[:, :1])
    if name == "layernorm":
        mean = h.mean(-1, keepdim=True)
        off = off + off.mean(-1, keepdim=True) + (width + 2) * U * abs(h).mean(-1, keepdim=True) + abs(h - mean) * U
    d = h - mean
    variance = (d * d).mean(-1, keepdim=True) + eps
    # Each square is off by its operand, twice, and by its rounding; the sum by one rounding a term.
    squares = (2 * abs(d) * off + off * off).mean(-1, keepdim=True) + (width + 5) * U * variance
    scale = variance.rsqrt()
    relative = 0.5 * squares / (variance - squares).clamp_min(1e-30) + RSQRT * U
    exact = d * scale * w.double() + (b.double() if name == "layernorm" else 0)
    bound = abs(w.double()) * scale * (off * (1 + relative) + abs(d) * (relative + 3 * U)) + abs(exact) * 2 * U
    assert torch.all(abs(out.double() - exact) <= bound + rounding(abs(exact) + bound, x.dtype))


@pytest.mark.parametrize("arch", ARCHES)
@pytest.mark.parametrize(
    ("dtype", "shape", "layout"),
    [
        (torch.float32, (5, 1), "plain"),
        (torch.float16, (3, 300), "padded"),
        (torch.bfloat16, (6, 1100), "transposed"),
    ],
    ids=str,
)
def test_kinds(monkeypatch: pytest.MonkeyPatch, arch: str, dtype: torch.dtype, shape: Any, layout: str) -> None:
    torch.manual_seed(0)
    x = strided(*shape, dtype, layout)
    check_softmax(monkeypatch, arch, x)
    check_norm(monkeypatch, arch, "rmsnorm", x, True)
    check_norm(monkeypatch, arch, "layernorm", x, False)
    check_norm(monkeypatch, arch, "layernorm", x, True)


@pytest.mark.long
@pytest.mark.parametrize("arch", ARCHES)
@settings(max_examples=30, deadline=None)
@given(
    rows=st.integers(1, 9),
    width=st.one_of(st.integers(1, 40), st.sampled_from([255, 256, 257, 1023, 1025, 2050])),
    dtype=st.sampled_from(list(BITS)),
    layout=st.sampled_from(["plain", "padded", "transposed"]),
    residual=st.booleans(),
    seed=st.integers(0, 99),
)
def test_any(arch: str, rows: int, width: int, dtype: torch.dtype, layout: str, residual: bool, seed: int) -> None:
    torch.manual_seed(seed)
    x = strided(rows, width, dtype, layout)
    with pytest.MonkeyPatch.context() as monkeypatch:
        check_softmax(monkeypatch, arch, x)
        check_norm(monkeypatch, arch, "rmsnorm", x, residual)
        check_norm(monkeypatch, arch, "layernorm", x, residual)


@pytest.mark.parametrize("arch", ARCHES)
def test_extreme_inputs_give_what_torch_gives(monkeypatch: pytest.MonkeyPatch, arch: str) -> None:
    inf, nan = math.inf, math.nan
    x = torch.zeros(8, 300)
    x[0] = -inf  # all masked
    x[1, :256] = -inf  # a first tile that is
    x[2, 7], x[3, 290], x[4, 3] = inf, nan, -inf
    x[5] = torch.linspace(-1e4, 1e4, 300)
    x[6] = -3e38
    out = checked(monkeypatch, arch, lambda: hk.kernels.softmax(x))
    torch.testing.assert_close(out, x.softmax(-1), equal_nan=True, rtol=(300 + 3 * 2e4) * U, atol=2.0**-126)
    x[6] = 0.5  # no variance
    for name, like in (("layernorm", torch.nn.functional.layer_norm), ("rmsnorm", torch.nn.functional.rms_norm)):
        got = checked(monkeypatch, arch, lambda name=name: getattr(hk.kernels, name)(x, eps=1e-5))
        wanted = like(x, (300,), eps=1e-5)
        assert torch.equal(got.isnan(), wanted.isnan())
    assert torch.equal(hk.kernels.layernorm(x)[6:], torch.zeros(2, 300))


def test_numpy_out_ranks_and_nothing() -> None:
    x = np.random.default_rng(0).standard_normal((2, 3, 20)).astype(np.float32)
    out = np.zeros((2, 3, 40), np.float32)[:, :, ::2]
    assert hk.kernels.softmax(x, out=out) is out
    assert np.array_equal(out, hk.kernels.softmax(torch.from_numpy(x)).numpy())
    t = torch.empty(20)
    assert hk.kernels.layernorm(torch.from_numpy(x)[1, 2], out=t) is t
    assert np.array_equal(t.numpy(), hk.kernels.layernorm(x)[1, 2])
    assert hk.kernels.rmsnorm(x[:, :0]).shape == (2, 0, 20)
    assert hk.kernels.softmax(torch.empty(3, 0)).shape == (3, 0)


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_compiles_in_one_graph(backend: str) -> None:
    def model(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        return hk.kernels.layernorm(hk.kernels.rmsnorm(x, w) + 1, residual=x).exp() + hk.kernels.softmax(x)

    x, w = torch.randn(3, 50), torch.randn(50)
    assert torch.equal(torch.compile(model, backend=backend, fullgraph=True)(x, w), model(x, w))


def test_opcheck() -> None:
    x, w = torch.randn(3, 50), torch.randn(50)
    hk.kernels.softmax(x)
    torch.library.opcheck(torch.ops.hkc.softmax, (x,))
    torch.library.opcheck(torch.ops.hkc.rmsnorm, (x, w, None, 1e-6))
    torch.library.opcheck(torch.ops.hkc.layernorm, (x.T, None, None, x.T, 1e-6))


X = torch.zeros(3, 50)
WRONG = {
    "softmax: argument x has an element type that the kernel doesn't take": lambda: hk.kernels.softmax(X.double()),
    "softmax: argument x must have a last axis": lambda: hk.kernels.softmax(X[0, 0]),
    "x and out disagree on a size\n  expected: out.shape[1] = x.shape[1] = 50\n  got: out.shape[1] = 49": (
        lambda: hk.kernels.softmax(X, out=X[:, 1:])
    ),
    "x and bias disagree on a size\n  expected: bias.shape[0] = x.shape[1] = 50\n  got: bias.shape[0] = 51": (
        lambda: hk.kernels.layernorm(X, bias=torch.zeros(51))
    ),
    "rmsnorm: argument residual has another rank": lambda: hk.kernels.rmsnorm(X, residual=X[0]),
    "rmsnorm: arguments x and weight have different element types": lambda: hk.kernels.rmsnorm(X, X[0].half()),
    "rmsnorm: arguments x and weight are of different kinds": lambda: hk.kernels.rmsnorm(X, np.zeros(50, np.float32)),
    "layernorm: argument eps must not be negative": lambda: hk.kernels.layernorm(X, eps=-1.0),
    "argument x is not a dense CPU tensor": lambda: hk.kernels.softmax(X.to("meta")),
    "argument x must be an array": lambda: hk.kernels.softmax([1.0]),
}


@pytest.mark.parametrize("message", WRONG)
def test_wrong_arguments(message: str) -> None:
    with pytest.raises(hk.HkcError) as caught:
        WRONG[message]()
    assert message in str(caught.value)


def test_documented_calls() -> None:
    text = (Path(__file__).resolve().parents[2] / "docs" / "kernels.md").read_text(encoding="utf-8")
    (program,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    space: dict[str, Any] = {}
    exec(compile(program, "kernels.md", "exec"), space)
    assert space["z"].shape == space["x"].shape
    from hkc import kernels

    assert all(f"`{name}(" in text for name in kernels.NAMES)


def test_import_is_light() -> None:
    check = "import sys, hkc; hkc.kernels; assert not {'torch', 'numpy', 'mlir'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", check], check=True)


def test_the_example_is_the_library_program() -> None:
    root = Path(__file__).resolve().parents[2]
    assert (root / "examples/06_softmax.tile").read_bytes() == (root / "hkc/kernels/softmax.tile").read_bytes()
