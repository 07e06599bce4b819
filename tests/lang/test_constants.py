"""Binding of constants and sizes, and grid expressions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hkc.dtypes import DTYPES
from hkc.errors import HkcError
from hkc.lang import folding, gridexpr
from hkc.lang.constants import bind, complete
from hkc.lang.text import parse_text

TEXT = """
kernel f(A: view[M, K, DTYPE] if TRANS == "n" else view[K, M, DTYPE], B: view[L, f32], n: i32, w: i64, alpha: f32;
         BM = 128, SCALE = 1.0, TRANS = "n", DTYPE = bf16, CAUSAL = False, EXTRA) grid (1) { }
"""


def kernel(text: str = TEXT) -> Any:
    return parse_text(text, "k.tile")[0]


def test_texts_take_the_kind_of_the_default() -> None:
    given = {"BM": "0x40", "SCALE": "2", "TRANS": "12", "DTYPE": "f16", "CAUSAL": "1", "EXTRA": "7"}
    constants, sizes = bind(kernel(), given)
    assert constants == {
        **{"BM": 64, "SCALE": 2.0, "TRANS": "12", "DTYPE": DTYPES["f16"], "CAUSAL": True, "EXTRA": 7},
    }
    assert type(constants["SCALE"]) is float
    assert sizes == {}


@pytest.mark.parametrize(
    ("text", "value"), [("bf16", DTYPES["bf16"]), ("3", 3), ("2.5", 2.5), ("nn", "nn"), ("True", True)]
)
def test_constants_without_default_take_what_the_text_plainly_is(text: str, value: object) -> None:
    constants, _ = bind(kernel(), {"EXTRA": text})
    assert constants["EXTRA"] == value
    assert type(constants["EXTRA"]) is type(value)


def test_defaults_fill_in_the_rest() -> None:
    assert list(complete(kernel(), {"EXTRA": 1})) == ["BM", "SCALE", "TRANS", "DTYPE", "CAUSAL", "EXTRA"]


def test_sizes_and_scalars() -> None:
    _, sizes = bind(kernel(), {"EXTRA": "1", "M": "4096", "L": 3, "n": "-5", "w": "7", "alpha": "2"})
    assert sizes == {"M": 4096, "L": 3, "n": -5, "w": 7, "alpha": 2.0}
    assert type(sizes["alpha"]) is float


def test_integers_of_numpy_serve() -> None:
    constants, _ = bind(kernel(), {"EXTRA": np.int64(3), "BM": np.int32(64), "SCALE": np.int8(2)})
    assert [constants[n] for n in ("EXTRA", "BM", "SCALE")] == [3, 64, 2.0]
    assert [type(constants[n]) for n in ("EXTRA", "BM", "SCALE")] == [int, int, float]


@pytest.mark.parametrize(
    ("definitions", "message", "expected", "hint"),
    [
        ({}, "the constant EXTRA of kernel f has no value", "", "-D EXTRA=VALUE"),
        ({"BN": "3"}, "kernel f has nothing named BN", "BM, SCALE, TRANS, DTYPE, CAUSAL, EXTRA, M, K, L", "BM"),
        ({"BM": "big"}, "BM=big is not an int", "an int", ""),
        ({"BM": "1.5"}, "BM=1.5 is not an int", "an int", ""),
        ({"BM": True}, "BM=True is not an int", "an int", ""),
        ({"SCALE": "x"}, "SCALE=x is not a float", "a float", ""),
        ({"CAUSAL": "maybe"}, "CAUSAL=maybe is not a bool", "a bool", ""),
        ({"DTYPE": "f15"}, "DTYPE=f15 is not an element type", "an element type", "bf16"),
        ({"TRANS": 3}, "TRANS=3 is not a string", "a string", ""),
        ({"BM": [1]}, "BM can't be a list", "an int", ""),
        ({"M": "many"}, "M=many is no integer", "", ""),
        ({"M": "1.5"}, "M=1.5 is no integer", "", ""),
        ({"M": "-1"}, "M=-1 is negative", "0 or more", ""),
        ({"alpha": "x"}, "alpha=x is no number", "", ""),
    ],
)
def test_errors(definitions: dict[str, object], message: str, expected: str, hint: str) -> None:
    given = definitions if not definitions else {"EXTRA": "1", **definitions}
    with pytest.raises(HkcError) as caught:
        bind(kernel(), given)
    assert caught.value.message == message
    assert expected in (caught.value.expected or "")
    assert hint in (caught.value.hint or "")


VALUES = {"M": 1000, "N": 7, "n": -3}


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("cdiv(M, 128)", 8),
        ("M // 128 * 2 + 1", 15),
        ("M - N - 1", 992),
        ("-(M - N) % 10", 7),
        ("min(M, N) + max(N, n)", 14),
        ("(M + N) * -2", -2014),
        ("- - 3", 3),
        ("n // 2", -2),
        ("cdiv(n, 2)", -1),
        ("4", 4),
    ],
)
def test_grid_values(expression: str, value: int) -> None:
    assert gridexpr.evaluate(expression, VALUES) == value


def test_grid_symbols() -> None:
    assert gridexpr.symbols("cdiv(M, 128) * min(n, 3) - -M") == {"M", "n"}


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("M +", "malformed grid expression: M +"),
        ("M M", "malformed grid expression: M M"),
        ("", "malformed grid expression: "),
        ("(M", "malformed grid expression: (M"),
        ("cdiv(M)", "malformed grid expression: cdiv(M)"),
        ("__import__('os')", "malformed grid expression: __import__('os')"),
        ("M ** 2", "malformed grid expression: M ** 2"),
        ("M $ 2", "malformed grid expression: M $ 2"),
        ("Q + 1", "the grid expression Q + 1 needs a value of Q"),
        ("M // (N - 7)", "the grid expression M // (N - 7) divides by zero"),
        ("(" * 1000 + "M", "the grid expression is nested too deeply"),
        ("+".join("M" * 5000), "the grid expression is too long"),
    ],
)
def test_grid_errors(expression: str, message: str) -> None:
    with pytest.raises(HkcError) as caught:
        gridexpr.evaluate(expression, VALUES)
    assert caught.value.message.startswith(message)


def grid_texts() -> st.SearchStrategy[str]:
    leaves = st.one_of(st.sampled_from(["M", "N", "n"]), st.integers(0, 99).map(str))

    def extend(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        operators = st.sampled_from(["+", "-", "*", "//", "%"])
        binary = st.tuples(inner, operators, inner).map(lambda t: f"({t[0]}) {t[1]} ({t[2]})")
        calls = st.tuples(st.sampled_from(["cdiv", "min", "max"]), inner, inner).map(
            lambda t: f"{t[0]}({t[1]}, {t[2]})"
        )
        return st.one_of(binary, calls, inner.map(lambda t: f"-({t})"))

    return st.recursive(leaves, extend, max_leaves=12)


@given(grid_texts(), st.integers(0, 100), st.integers(1, 100), st.integers(-9, 9))
def test_canonical_grids_keep_their_value(text: str, m: int, n: int, scalar: int) -> None:
    values = {"M": m, "N": n, "n": scalar}
    try:
        expected = gridexpr.evaluate(text, values)
        parsed = kernel(f"kernel f(A: view[M, N, f32], n: i32) grid ({text}) {{ }}")
        canonical = gridexpr.canonical(parsed.grid[0], lambda node: node.name)
    except HkcError:
        # Here or when it is folded, something is divided by zero.
        with pytest.raises(ZeroDivisionError):
            eval(text, {"cdiv": lambda a, b: -(-a // b)}, values)
        return
    assert gridexpr.evaluate(canonical, values) == expected
    again = kernel(f"kernel f(A: view[M, N, f32], n: i32) grid ({canonical}) {{ }}")
    assert gridexpr.canonical(again.grid[0], lambda node: node.name) == canonical


@given(st.floats(width=64))
def test_rounding_of_constants(value: float) -> None:
    for name, numpy in (("f32", np.float32), ("f16", np.float16)):
        with np.errstate(over="ignore"):
            expected = float(numpy(value))
        rounded = folding.round_float(value, DTYPES[name])
        assert rounded == expected or (math.isnan(rounded) and math.isnan(expected))
        assert math.copysign(1, rounded) == math.copysign(1, expected) or math.isnan(value)


@pytest.mark.parametrize(
    ("value", "rounded"),
    [
        (1 + 2**-8, 1.0),
        (1 + 3 * 2**-8, 1 + 2**-6),
        (1 + 2**-8 + 2**-30, 1 + 2**-7),
        (3.4e38, math.inf),
        (2.0**-133, 2.0**-133),
        (2.0**-134, 0.0),
    ],
)
def test_rounding_to_bf16(value: float, rounded: float) -> None:
    assert folding.round_float(value, DTYPES["bf16"]) == rounded


@given(st.integers(-50, 50), st.integers(-50, 50).filter(bool))
def test_division_of_constants_is_pythons(a: int, b: int) -> None:
    assert folding.fold_binary("//", a, b) == a // b
    assert folding.fold_binary("%", a, b) == a % b
    assert folding.fold_binary("cdiv", a, b) == -(-a // b)
