"""Rounding and bits of the element types, against torch or by their definition."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hkc.dtypes import DTYPES
from hkc.errors import HkcError
from hkc.numerics import decode, encode, round_to, ulp, wrap

BF16, F16, F32 = (DTYPES[n] for n in ("bf16", "f16", "f32"))


@pytest.mark.parametrize("name", ["bf16", "f16"])
def test_every_value_of_a_narrow_type_is_its_own_rounding(name: str) -> None:
    dtype = DTYPES[name]
    bits = np.arange(1 << 16, dtype=np.uint16)
    raw = bits if dtype.numpy is None else bits.view(dtype.numpy)
    values = decode(raw, dtype)
    kept = ~np.isnan(values)
    np.testing.assert_array_equal(round_to(values, dtype)[kept], values[kept])
    np.testing.assert_array_equal(encode(values, dtype).view(np.uint16)[kept], bits[kept])


def test_bf16_ties_go_to_even_and_large_values_to_infinity() -> None:
    cases = {
        1 + 2.0**-8: 1.0,
        1 + 3 * 2.0**-8: 1 + 2 * 2.0**-7,
        1 + 2.0**-8 + 2.0**-40: 1 + 2.0**-7,
        -1 - 2.0**-8: -1.0,
        2.0**128: np.inf,
        (2 - 2.0**-8) * 2.0**127: np.inf,
        (2 - 2.0**-7.999) * 2.0**127: (2 - 2.0**-7) * 2.0**127,
        2.0**-133: 2.0**-133,
        2.0**-134: 0.0,
        3 * 2.0**-134: 2.0**-132,
        0.0: 0.0,
    }
    got = round_to(np.array(list(cases)), BF16)
    np.testing.assert_array_equal(got, list(cases.values()))
    assert np.isnan(round_to(np.array([np.nan]), BF16))[0]


def test_rounding_agrees_with_torch() -> None:
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(1)
    values = np.ldexp(rng.standard_normal(20000), rng.integers(-140, 125, 20000)).astype(np.float32)
    for dtype, name in ((BF16, torch.bfloat16), (F16, torch.float16)):
        expected = torch.from_numpy(values).to(name).to(torch.float64).numpy()
        np.testing.assert_array_equal(round_to(values.astype(np.float64), dtype), expected)


@given(st.floats(allow_nan=False, allow_infinity=False), st.sampled_from(["bf16", "f16", "f32"]))
def test_a_rounded_value_is_at_most_half_a_unit_away(x: float, name: str) -> None:
    dtype = DTYPES[name]
    rounded = round_to(np.array([x]), dtype)
    if np.isfinite(rounded[0]):
        assert abs(rounded[0] - x) <= ulp(x, dtype) / 2
    else:
        assert abs(x) > 65000


def test_integers_wrap() -> None:
    np.testing.assert_array_equal(wrap(np.array([127, 128, -129, 256]), DTYPES["i8"]), [127, -128, 127, 0])


def test_types_without_host_arithmetic_say_so() -> None:
    with pytest.raises(HkcError, match="fp8e4m3 has no host arithmetic"):
        round_to(np.zeros(1), DTYPES["fp8e4m3"])
