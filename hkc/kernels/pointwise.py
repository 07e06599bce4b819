"""Kernels element by element: GELU, SwiGLU, rotary embedding."""

from __future__ import annotations

from typing import Any

from hkc.arguments import Array, convert_array
from hkc.errors import HkcError
from hkc.kernels.operands import as_matrix, check_like, check_table, checked_rows, concrete, empty_like, finish, program


def gelu(x: Any, *, out: Any = None) -> Any:
    """x * (1 + erf(x / sqrt(2))) / 2, the exact GELU; ``x``: f32, f16 or bf16. Raises HkcError."""
    array = checked_rows("gelu", "x", x) if concrete(x) else None
    return finish("gelu", _run_gelu, x, array, out, (x,))


def swiglu(gate: Any, x: Any, *, out: Any = None) -> Any:
    """silu(gate) * x; both f32, f16 or bf16 of one shape. Raises HkcError that names the argument."""
    array = _check_swiglu(gate, x) if concrete(x) else None
    return finish("swiglu", _run_swiglu, x, array, out, (gate, x))


def rotary(x: Any, cos: Any, sin: Any, *, interleaved: bool = False, out: Any = None) -> Any:
    """Rotary embedding: pairs (a, b) of the last axis become (a cos - b sin, b cos + a sin).

    ``x``: [batch, heads, places, width], f32, f16 or bf16; ``cos`` and ``sin``: [places, width / 2], f32. Pairs are
    an element of the first half and one of the second, or neighbours if ``interleaved``. Raises HkcError.
    """
    if not isinstance(interleaved, bool):
        raise HkcError(
            "rotary: argument interleaved must be a bool",
            expected="True or False",
            got=repr(interleaved),
            hint="False pairs the halves, True neighbours",
        )
    array = _check_rotary(x, cos, sin) if concrete(x) else None
    return finish("rotary", _run_rotary, x, array, out, (x, cos, sin, interleaved))


def _check_swiglu(gate: Any, x: Any) -> Array:
    array = checked_rows("swiglu", "x", x)
    check_like("swiglu", "gate", gate, "x", array, array.shape)
    return array


def _check_rotary(x: Any, cos: Any, sin: Any) -> Array:
    array = checked_rows("rotary", "x", x)
    if len(array.shape) != 4 or array.shape[3] % 2:
        raise HkcError(
            "rotary: argument x has another shape",
            expected="[batch, heads, places, width] with an even width",
            got=f"shape {list(array.shape)}",
            hint="x.unsqueeze(0) adds an axis",
        )
    for name, table in (("cos", cos), ("sin", sin)):
        check_table("rotary", name, table, x, "f32", (array.shape[2], array.shape[3] // 2))
    return array


def _run_gelu(x: Any) -> Any:
    array = checked_rows("gelu", "x", x)
    y = empty_like(x)
    if 0 not in array.shape:
        program("gelu")(as_matrix(x), as_matrix(y), DTYPE=array.dtype)
    return y


def _run_swiglu(gate: Any, x: Any) -> Any:
    array = _check_swiglu(gate, x)
    y = empty_like(x)
    if 0 not in array.shape:
        program("swiglu")(as_matrix(gate), as_matrix(x), as_matrix(y), DTYPE=array.dtype)
    return y


def _run_rotary(x: Any, cos: Any, sin: Any, interleaved: bool) -> Any:
    array = _check_rotary(x, cos, sin)
    y = empty_like(x)
    half = array.shape[3] // 2
    first, second = (slice(0, None, 2), slice(1, None, 2)) if interleaved else (slice(half), slice(half, None))
    if 0 not in array.shape:
        parts = (x[..., first], x[..., second], cos, sin, y[..., first], y[..., second])
        program("rotary")(*(convert_array("x", part) for part in parts), DTYPE=array.dtype)
    return y


RUN: dict[str, Any] = {"gelu": _run_gelu, "swiglu": _run_swiglu, "rotary": _run_rotary}
