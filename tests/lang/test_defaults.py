"""Defaults of constants that depend on sizes, and values that a constant may take."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest

import hkc as hk
from hkc.errors import HkcError
from hkc.lang.constants import complete
from hkc.lang.defaults import size_names, sizes_of_shapes, used_sizes
from hkc.lang.text import parse_text

GEMM = Path(__file__).resolve().parents[2] / "examples" / "01_gemm.tile"
TEXT = """
kernel f(A: view[M, K, f32] if ORDER == "n" else view[K, M, f32], n: i32, alpha: f32;
         BM = 256 if M >= 2048 else 64 if M > 16 else 16, BK = BM // 2 if n > 0 else BM, TYPE = f16 if K > 9 else f32,
         ORDER in ("n", "t") = "n", DEPTH in (1, 2, 3) = 2, WHERE in ("x", "y"), SCALE = 1.0)
    grid (cdiv(M, BM)) { }
"""


def kernel(text: str = TEXT) -> Any:
    return parse_text(text, "k.tile")[0]


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        ({"M": 4096, "K": 1, "n": 1}, (256, 128, hk.f32)),
        ({"M": 2048, "K": 10, "n": 0}, (256, 256, hk.f16)),
        ({"M": 2047, "K": 0, "n": 5}, (64, 32, hk.f32)),
        ({"M": 16, "K": 64, "n": 5}, (16, 8, hk.f16)),
        ({}, (256, 128, hk.f16)),  # what is unknown counts as large
        ({"M": 3}, (16, 8, hk.f16)),
    ],
)
def test_defaults_follow_sizes(sizes: dict[str, int], expected: tuple[Any, ...]) -> None:
    values = complete(kernel(), {"WHERE": "x"}, sizes)
    assert tuple(values[n] for n in ("BM", "BK", "TYPE")) == expected
    assert list(values) == ["BM", "BK", "TYPE", "ORDER", "DEPTH", "WHERE", "SCALE"]


def test_what_is_given_wins_and_is_seen_by_later_defaults() -> None:
    values = complete(kernel(), {"WHERE": "y", "BM": "48", "TYPE": "bf16"}, {"M": 4096, "n": 1})
    assert (values["BM"], values["BK"], values["TYPE"]) == (48, 24, hk.bf16)


def test_sizes_come_from_the_view_that_constants_choose() -> None:
    assert sizes_of_shapes(kernel(), {}, {"A": (3, 5)}) == {"M": 3, "K": 5}
    assert sizes_of_shapes(kernel(), {"ORDER": "t"}, {"A": (3, 5)}) == {"K": 3, "M": 5}
    assert size_names(kernel()) == ["M", "K", "n"]
    assert used_sizes(kernel()) == {"M", "K", "n"}


@pytest.mark.parametrize(
    ("given", "message", "expected"),
    [
        ({"WHERE": "z"}, "WHERE=z is none of its values", '"x" or "y"'),
        ({"WHERE": "x", "ORDER": "nn"}, "ORDER=nn is none of its values", '"n" or "t"'),
        ({"WHERE": "x", "DEPTH": "4"}, "DEPTH=4 is none of its values", "1, 2 or 3"),
        ({"WHERE": "x", "DEPTH": "two"}, "DEPTH=two is not an int", "an int"),
        ({"WHERE": "x", "BM": "big"}, "BM=big is not an int", "an int"),
        ({"WHERE": "x", "TYPE": "7"}, "TYPE=7 is not an element type", "an element type"),
        ({}, "the constant WHERE of kernel f has no value", ""),
    ],
)
def test_wrong_values_are_named_at_the_constant(given: dict[str, object], message: str, expected: str) -> None:
    with pytest.raises(HkcError) as caught:
        complete(kernel(), given)
    assert caught.value.message == message
    assert expected in (caught.value.expected or "")
    assert caught.value.span is not None
    assert caught.value.span.line in (3, 4)


def test_a_close_word_is_suggested() -> None:
    text = 'kernel f(A: view[M, f32]; MODE in ("plain", "relu", "gelu") = "plain") grid (1) { }'
    with pytest.raises(HkcError) as caught:
        complete(kernel(text), {"MODE": "rellu"})
    assert caught.value.hint == "did you mean relu?"


def test_gemm_names_its_transpositions() -> None:
    with pytest.raises(HkcError) as caught:
        complete(parse_text(GEMM.read_text(encoding="utf-8"), str(GEMM))[0], {"TRANS": "xx"})
    assert caught.value.expected == '"nn", "nt", "tn" or "tt"'


def test_a_default_without_a_value_is_located() -> None:
    broken = kernel("kernel f(A: view[M, f32]; BM = 64 // M) grid (BM) { }")
    with pytest.raises(HkcError, match="division by zero") as caught:
        complete(broken, {}, {"M": 0})
    assert str(caught.value.span) == "k.tile:1:32"


@hk.kernel(grid=lambda M, BM: hk.cdiv(M, BM))
def scale(
    X: hk.View["M", hk.f32], Y: hk.View["M", hk.f32], *, BM=lambda M: 1024 if M >= 4096 else 256, BY: Literal[2, 3] = 2
):
    i = hk.block(0) * BM
    Y[i : i + BM] = X[i : i + BM] * BY


def test_python_writes_them_as_lambdas_and_literals() -> None:
    text = """kernel scale(X: view[M, f32], Y: view[M, f32]; BM = 1024 if M >= 4096 else 256, BY in (2, 3) = 2)
    grid (cdiv(M, BM)) { i = block(0) * BM; Y[i : i + BM] = X[i : i + BM] * BY }""".replace("; Y[", "\nY[")
    written, read = kernel(text).constants, scale.definition.constants
    assert written == read


def test_a_call_compiles_once_for_each_choice() -> None:
    for length in (5, 700, 4096, 9000, 3):
        x, y = np.arange(length, dtype=np.float32), np.zeros(length, np.float32)
        scale(x, y)
        assert np.array_equal(y, 2 * x)
    compiled = {kernel.hsaco for kernel, _ in scale._functions.values()}
    assert len(scale._functions) == len(compiled) == 2


def test_compile_takes_the_largest_choice_unless_told_sizes() -> None:
    blocks = [scale.compile("gfx950", **given).meta.constants["BM"] for given in ({}, {"M": 100}, {"BM": 512, "M": 9})]
    assert blocks == ["1024", "256", "512"]


@pytest.mark.parametrize(("size", "block"), [(np.int64(100), "256"), (np.int32(5000), "1024"), ("100", "256")])
def test_sizes_may_be_numpys_or_texts(size: object, block: str) -> None:
    assert scale.compile("gfx950", M=size).meta.constants["BM"] == block


@pytest.mark.parametrize(
    ("size", "message"), [(-1, "M=-1 is negative"), (1.5, "M=1.5 is no integer"), ("x", "M=x is no")]
)
def test_a_size_that_is_none_is_an_error(size: object, message: str) -> None:
    with pytest.raises(HkcError, match=message):
        scale.compile("gfx950", M=size)


def test_wrong_python_choice_is_an_error() -> None:
    with pytest.raises(HkcError, match="BY=4 is none of its values"):
        scale.compile("gfx950", BY=4)
