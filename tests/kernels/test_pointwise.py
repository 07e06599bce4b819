"""GELU, SwiGLU, rotary embedding and cross-entropy on both emulated targets in checked mode, against torch in fp64."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional as F

import hkc as hk

from .bounds import ARCHES, BITS, U, checked, rounding

# In units of U, of erf, of sigmoid beside |x|, and of exp and log (hkc/interp/tile_ops.py; an ulp is up to 2 U).
ERF, SIGMOID, EXP, LOG = 16, 16, 4, 4


def check_gates(monkeypatch: pytest.MonkeyPatch, arch: str, x: torch.Tensor, gate: torch.Tensor) -> None:
    out = checked(monkeypatch, arch, lambda: hk.kernels.gelu(x))
    exact = F.gelu(x.double())
    bound = abs(x.double()) / 2 * (ERF + 4) * U + abs(exact) * 4 * U
    assert torch.all(abs(out.double() - exact) <= bound + rounding(abs(exact) + bound, x.dtype))
    out = checked(monkeypatch, arch, lambda: hk.kernels.swiglu(gate, x))
    exact = F.silu(gate.double()) * x.double()
    bound = abs(exact) * (SIGMOID + 2 * abs(gate.double()) + 2) * U
    assert torch.all(abs(out.double() - exact) <= bound + rounding(abs(exact) + bound, x.dtype))


def check_rotary(monkeypatch: pytest.MonkeyPatch, arch: str, x: torch.Tensor, interleaved: bool) -> None:
    angles = torch.rand(x.shape[2], x.shape[3] // 2) * 6
    cos, sin = angles.cos(), angles.sin()
    out = checked(monkeypatch, arch, lambda: hk.kernels.rotary(x, cos, sin, interleaved=interleaved))
    pairs = x.double().unflatten(-1, (-1, 2) if interleaved else (2, -1)).movedim(-1 if interleaved else -2, 0)
    turned = torch.view_as_complex(pairs.movedim(0, -1).contiguous()) * torch.complex(cos.double(), sin.double())
    parts = torch.view_as_real(turned)
    exact = parts.flatten(-2) if interleaved else parts.transpose(-1, -2).flatten(-2)
    bound = 4 * U * abs(x.double()).amax()  # two products and a sum
    assert torch.all(abs(out.double() - exact) <= bound + rounding(abs(exact) + bound, x.dtype))


def check_cross_entropy(monkeypatch: pytest.MonkeyPatch, arch: str, x: torch.Tensor, target: torch.Tensor) -> None:
    losses, sums = checked(monkeypatch, arch, lambda: hk.kernels.cross_entropy(x, target))
    exact = torch.logsumexp(x.double(), -1)
    width = x.shape[-1]
    spread = x.double().amax(-1) - x.double().amin(-1)
    # A relative error of the sum is an absolute one of its logarithm; see test_rows.py.
    error = (3 * spread + EXP + 1) * (math.ceil(width / 256) + 1) + width + LOG * math.log(width + 1)
    bound = error * U + 2 * U * (abs(exact) + abs(x.double()).amax(-1))
    assert torch.all(abs(sums.double() - exact) <= bound)
    wanted = F.cross_entropy(x.double(), target, reduction="none")
    assert torch.all(abs(losses.double() - wanted) <= bound + U * abs(wanted))


@pytest.mark.parametrize("arch", ARCHES)
@pytest.mark.parametrize("dtype", list(BITS), ids=str)
def test_kinds(monkeypatch: pytest.MonkeyPatch, arch: str, dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    x, gate = (torch.randn(300, 5) * 3).to(dtype).T, (torch.randn(5, 301) * 3).to(dtype)[:, 1:]
    check_gates(monkeypatch, arch, x, gate)
    check_rotary(monkeypatch, arch, torch.randn(2, 19, 3, 10).to(dtype).transpose(1, 2), dtype == torch.float16)
    check_cross_entropy(monkeypatch, arch, gate, torch.tensor([0, 299, -100, 256, 7]))


@pytest.mark.long
@pytest.mark.parametrize("arch", ARCHES)
@settings(max_examples=20, deadline=None)
@given(
    rows=st.integers(1, 20),
    width=st.one_of(st.integers(1, 40), st.sampled_from([64, 65, 257, 1025])),
    dtype=st.sampled_from(list(BITS)),
    interleaved=st.booleans(),
    seed=st.integers(0, 99),
)
def test_any(arch: str, rows: int, width: int, dtype: torch.dtype, interleaved: bool, seed: int) -> None:
    torch.manual_seed(seed)
    x = (torch.randn(rows, width) * 3).to(dtype)
    with pytest.MonkeyPatch.context() as monkeypatch:
        check_gates(monkeypatch, arch, x, x.flip(0))
        check_rotary(monkeypatch, arch, torch.randn(1, 2, rows, 2 * width).to(dtype), interleaved)
        check_cross_entropy(monkeypatch, arch, x, torch.randint(0, width, (rows,)))


@pytest.mark.parametrize("arch", ARCHES)
def test_extreme_inputs(monkeypatch: pytest.MonkeyPatch, arch: str) -> None:
    inf, nan = math.inf, math.nan
    x = torch.zeros(9, 30)
    x[0], x[1, 2], x[2, 3], x[3, 0], x[4, 4] = -inf, inf, nan, -inf, 1e4
    target = torch.tensor([0, 1, 1, 0, 5, 30, -1, 2**32, -100])
    losses, sums = checked(monkeypatch, arch, lambda: hk.kernels.cross_entropy(x, target))
    wanted = F.cross_entropy(x[:5], target[:5], reduction="none")
    torch.testing.assert_close(losses[:5], wanted, equal_nan=True)
    assert torch.all(losses[5:8].isnan()) and losses[8] == 0  # torch raises for targets that are no class
    torch.testing.assert_close(sums, x.logsumexp(-1).where(x.amax(-1) < inf, nan), equal_nan=True)


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_torch_ops(backend: str) -> None:
    def model(x: torch.Tensor, t: torch.Tensor, c: torch.Tensor) -> torch.Tensor:
        turned = hk.kernels.rotary(x[None, None], c, c)[0, 0]
        return hk.kernels.cross_entropy(hk.kernels.swiglu(hk.kernels.gelu(x), turned), t)[0]

    arguments = torch.randn(3, 50), torch.tensor([1, 2, 3]), torch.rand(3, 25)
    x, t, c = arguments
    assert torch.equal(torch.compile(model, backend=backend, fullgraph=True)(*arguments), model(*arguments))
    torch.library.opcheck(torch.ops.hkc.gelu, (x,))
    torch.library.opcheck(torch.ops.hkc.swiglu, (x, x))
    torch.library.opcheck(torch.ops.hkc.rotary, (x[None, None], c, c, True))
    torch.library.opcheck(torch.ops.hkc.cross_entropy, (x, t, -100))


X = torch.zeros(1, 1, 3, 50)
C = torch.zeros(3, 25)
WRONG: dict[str, Any] = {
    "rotary: argument x has another shape\n  expected: [batch, heads": lambda: hk.kernels.rotary(X[0], C, C),
    "rotary: argument sin doesn't go with x\n  expected: a torch tensor of f32, shape [3, 25]": (
        lambda: hk.kernels.rotary(X, C, C[:2])
    ),
    "rotary: argument interleaved must be a bool": lambda: hk.kernels.rotary(X, C, C, interleaved=2),
    "cross_entropy: argument x has another shape": lambda: hk.kernels.cross_entropy(X, C),
    "cross_entropy: argument target doesn't go with x\n  expected: a torch tensor of i64, shape [3]": (
        lambda: hk.kernels.cross_entropy(X[0, 0], np.zeros(3, np.int64))
    ),
    "cross_entropy: argument ignore_index must be an integer": (
        lambda: hk.kernels.cross_entropy(X[0, 0], C, ignore_index=2**31)
    ),
    "swiglu: arguments x and gate disagree on a size": lambda: hk.kernels.swiglu(X[0, 0, :2], X[0, 0]),
}


@pytest.mark.parametrize("message", WRONG)
def test_wrong_arguments(message: str) -> None:
    with pytest.raises(hk.HkcError) as caught:
        WRONG[message]()
    assert message in str(caught.value)
