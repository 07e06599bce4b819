"""The attention example on both emulated targets in checked mode, against torch in fp64."""

from __future__ import annotations

import math
from dataclasses import dataclass

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import hkc as hk
from hkc.runtime import open_device

from .conftest import load_example

ATTENTION = load_example("05_attention").attention
DTYPES = {torch.bfloat16: (hk.bf16, 7), torch.float16: (hk.f16, 10)}


@dataclass(frozen=True)
class Case:
    """``ratio`` query heads share one of ``shared`` heads of K and V."""

    batch: int
    shared: int
    ratio: int
    queries: int
    keys: int
    width: int
    causal: int
    window: int
    dtype: torch.dtype


LENGTHS = st.one_of(st.integers(1, 12), st.sampled_from([63, 64, 65, 127, 130, 200]))
CASES = st.builds(
    Case,
    batch=st.sampled_from([1, 1, 2]),
    shared=st.sampled_from([1, 2]),
    ratio=st.sampled_from([1, 3]),
    queries=LENGTHS,
    keys=LENGTHS,
    width=st.sampled_from([64, 64, 96, 128]),
    causal=st.sampled_from([0, 1]),
    window=st.sampled_from([0, 0, 1, 50]),
    dtype=st.sampled_from(list(DTYPES)),
)


def reference(case: Case, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    keys, values = (x.double().repeat_interleave(case.ratio, 1) for x in (k, v))
    scores = q.double() @ keys.transpose(-1, -2) / math.sqrt(case.width)
    place = torch.arange(case.keys)[None] - torch.arange(case.queries)[:, None] - (case.keys - case.queries)
    seen = torch.ones_like(place, dtype=torch.bool)
    if case.causal or case.window:  # a window ends at the query's own place
        seen &= place <= 0
    if case.window:
        seen &= place > -case.window
    weights = torch.softmax(scores.masked_fill(~seen, -math.inf), -1)
    return torch.where(seen.any(-1)[:, None], weights, 0.0) @ values


def check(arch: str, case: Case, seed: int = 0) -> None:
    torch.manual_seed(seed)
    heads = case.shared * case.ratio
    q = torch.randn(case.batch, heads, case.queries, case.width).to(case.dtype)
    k, v = (torch.randn(case.batch, case.shared, case.keys, case.width).to(case.dtype) for _ in range(2))
    out = torch.full_like(q, math.nan)
    dtype, bits = DTYPES[case.dtype]
    device = open_device(f"emulator:{arch}")
    options = {"D": case.width, "CAUSAL": case.causal, "WINDOW": case.window, "DTYPE": dtype}
    with device.sanitize():
        ATTENTION(q, k, v, out, **options, device=f"emulator:{arch}")
    assert not device.reports()
    exact = reference(case, q, k, v)
    # Each weight, of a sum of 1, rounds to the type, and so does the result; scores are sums of `width` in f32, whose
    # error, scaled by log2(e), is a relative one of a weight; the weights' sum has one of `keys`.
    scores = (abs(q.double()).amax() * abs(k.double()).amax() * case.width / math.sqrt(case.width)).item()
    weights = 2.0 ** -(bits + 1) + 2.0**-24 * (2 * (case.width + 4) * scores + 2 * case.keys + 8)
    bound = abs(v.double()).amax() * weights + abs(exact) * 2.0 ** -(bits + 1) + 2.0**-24
    assert torch.all(abs(out.double() - exact) <= bound)


@pytest.mark.parametrize(
    "case",
    [
        Case(1, 1, 1, 1, 1, 64, 0, 0, torch.bfloat16),
        Case(2, 2, 3, 70, 200, 96, 1, 0, torch.float16),
        Case(1, 1, 1, 150, 65, 256, 1, 0, torch.bfloat16),  # queries that see no key
        Case(1, 1, 8, 130, 130, 128, 1, 50, torch.bfloat16),
        Case(1, 1, 1, 100, 300, 128, 0, 0, torch.bfloat16),
    ],
    ids=str,
)
def test_kinds_of_attention(arch: str, case: Case) -> None:
    check(arch, case)


@pytest.mark.long
@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
@settings(max_examples=60, deadline=None)
@given(case=CASES, seed=st.integers(0, 99))
def test_any_attention(arch: str, case: Case, seed: int) -> None:
    check(arch, case, seed)
