"""Tiles that no code can be made for are errors of the program, at their place."""

from __future__ import annotations

import pytest

from hkc.errors import HkcError

from .conftest import Make


def text(dtype: str, value: str) -> str:
    return (
        f"kernel f(A: view[M, N, {dtype}], B: view[M, N, {dtype}]) grid (1)\n"
        f"{{\n    x = A[0 : 16, 0 : 64]\n    B[0 : 16, 0 : 64] = {value}\n}}\n"
    )


@pytest.mark.parametrize(
    ("dtype", "value", "line", "message"),
    [
        ("fp8e4m3", "x", 3, "no code can be made for tiles of fp8e4m3"),
        ("f64", "exp(x)", 4, "gfx950 has no exp of f64"),
        ("f64", "exp2(x)", 4, "gfx950 has no exp2 of f64"),
        ("f64", "log(x)", 4, "gfx950 has no log of f64"),
        ("f64", "log2(x)", 4, "gfx950 has no log2 of f64"),
    ],
)
def test_element_types(make: Make, dtype: str, value: str, line: int, message: str) -> None:
    with pytest.raises(HkcError, match=message) as caught:
        make(text(dtype, value), "gfx950", "infer-layouts")
    assert caught.value.span is not None
    assert caught.value.span.line == line


@pytest.mark.parametrize("extents", ["1024, 1024", "100000, 100000"])
def test_a_tile_larger_than_all_registers(make: Make, extents: str) -> None:
    rows, columns = extents.split(", ")
    program = (
        "kernel f(B: view[M, N, f32]) grid (1)\n"
        f"{{\n    B[0 : {rows}, 0 : {columns}] = zeros({extents}, f32) + block(0).to(f32)\n}}\n"
    )
    with pytest.raises(HkcError, match=f"a {rows}x{columns} f32 tile does not fit the registers") as caught:
        make(program, "gfx942", "insert-buffer-loads")
    assert caught.value.expected == "at most 524288 bytes"


def test_what_f64_has(make: Make) -> None:
    make(text("f64", "sqrt(x) + rsqrt(x) * abs(x)"), "gfx950", "lower-to-rocdl")
