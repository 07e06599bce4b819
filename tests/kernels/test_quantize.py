"""Row-wise quantization on both emulated targets in checked mode, against torch."""

from __future__ import annotations

import math

import pytest
import torch

import hkc as hk

from .bounds import ARCHES, BITS, U, checked


@pytest.mark.parametrize("arch", ARCHES)
@pytest.mark.parametrize("dtype", list(BITS), ids=str)
def test_quantize(monkeypatch: pytest.MonkeyPatch, arch: str, dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    x = torch.randn(300, 6).to(dtype).T
    x[1] = 0
    x[2, 7], x[3, 290] = math.inf, math.nan
    q, scale = checked(monkeypatch, arch, lambda: hk.kernels.quantize(x))
    exact = abs(x.double()).amax(-1) / 127
    finite = exact.isfinite()
    # Divisions are within 2.5 ulp, which is at most 5 U; x / scale has two of them.
    assert torch.all(abs(scale.double() - exact)[finite] <= 5 * U * exact[finite])
    assert torch.equal(scale.isnan(), exact.isnan()) and scale[2] == math.inf
    assert not q[1:4].any()
    steps = (x.double() / exact[:, None])[finite & (exact > 0)]
    assert torch.all(abs(q[finite & (exact > 0)].double() - steps) <= 0.5 + 127 * 10 * U)
    assert torch.all(abs(q).amax(-1)[finite & (exact > 0)] == 127)


def test_ranks_numpy_and_torch() -> None:
    x = torch.randn(2, 3, 40)
    q, scale = hk.kernels.quantize(x)
    assert q.shape == x.shape and scale.shape == (2, 3)
    p, factor = hk.kernels.quantize(x.numpy())
    assert (p == q.numpy()).all() and (factor == scale.numpy()).all()
    torch.library.opcheck(torch.ops.hkc.quantize, (x,))
    compiled = torch.compile(lambda x: hk.kernels.quantize(x)[0], backend="aot_eager", fullgraph=True)
    assert torch.equal(compiled(x), q)


def test_wrong_type() -> None:
    with pytest.raises(hk.HkcError, match="quantize: argument x has an element type"):
        hk.kernels.quantize(torch.zeros(3, dtype=torch.int32))
