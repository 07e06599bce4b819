"""Kernels along the last axis: softmax, RMS norm, layer norm."""

from __future__ import annotations

from typing import Any

from hkc.errors import HkcError
from hkc.kernels.operands import as_matrix, check_like, checked_rows, concrete, empty_like, filled, finish, program


def softmax(x: Any, *, out: Any = None) -> Any:
    """exp(x) / sum(exp(x)) along the last axis, of any width.

    ``x``: f32, f16 or bf16 of rank 1 or more, a torch tensor or a NumPy array; ``out``, like it, takes the result.
    Computed in f32. As in torch, a row that holds inf or NaN, or nothing but -inf, is NaN. Raises HkcError that
    names the argument.
    """
    array = checked_rows("softmax", "x", x) if concrete(x) else None
    return finish("softmax", RUN["softmax"], x, array, out, (x,))


def rmsnorm(x: Any, weight: Any = None, *, residual: Any = None, eps: float = 1e-6, out: Any = None) -> Any:
    """h / sqrt(mean(h^2) + eps) * weight along the last axis, of any width; h is x, or x + residual.

    ``x`` and ``residual``: f32, f16 or bf16 of one shape; ``weight``: [x.shape[-1]] of that type. Computed in f32,
    the sum with ``residual`` included. Raises HkcError that names the argument.
    """
    array = _check_norm("rmsnorm", x, residual, eps, weight=weight)
    return finish("rmsnorm", RUN["rmsnorm"], x, array, out, (x, weight, residual, float(eps)))


def layernorm(
    x: Any, weight: Any = None, bias: Any = None, *, residual: Any = None, eps: float = 1e-5, out: Any = None
) -> Any:
    """(h - mean(h)) / sqrt(var(h) + eps) * weight + bias along the last axis, of any width; h is x, or x + residual.

    ``x`` and ``residual``: f32, f16 or bf16 of one shape; ``weight`` and ``bias``: [x.shape[-1]] of that type.
    Computed in f32, the sum with ``residual`` included. Raises HkcError that names the argument.
    """
    array = _check_norm("layernorm", x, residual, eps, weight=weight, bias=bias)
    return finish("layernorm", RUN["layernorm"], x, array, out, (x, weight, bias, residual, float(eps)))


def _check_norm(op: str, x: Any, residual: Any, eps: Any, **vectors: Any) -> Any:
    if not isinstance(eps, int | float) or isinstance(eps, bool) or not eps >= 0:
        raise HkcError(
            f"{op}: argument eps must not be negative", expected="a number from 0", got=repr(eps), hint="1e-5"
        )
    if not concrete(x):
        return None
    array = checked_rows(op, "x", x)
    if residual is not None:
        check_like(op, "residual", residual, "x", array, array.shape)
    for name, vector in vectors.items():
        if vector is not None:
            check_like(op, name, vector, "x", array, array.shape[-1:])
    return array


def _run_softmax(x: Any) -> Any:
    array = checked_rows("softmax", "x", x)
    y = empty_like(x)
    if 0 not in array.shape:
        program("softmax")(as_matrix(x), as_matrix(y), DTYPE=array.dtype)
    return y


def _run_rmsnorm(x: Any, weight: Any, residual: Any, eps: float) -> Any:
    _check_norm("rmsnorm", x, residual, eps, weight=weight)
    return _run_norm("rmsnorm", x, residual, eps, filled(x, 1) if weight is None else weight)


def _run_layernorm(x: Any, weight: Any, bias: Any, residual: Any, eps: float) -> Any:
    _check_norm("layernorm", x, residual, eps, weight=weight, bias=bias)
    vectors = (filled(x, 1) if weight is None else weight, filled(x, 0) if bias is None else bias)
    return _run_norm("layernorm", x, residual, eps, *vectors)


def _run_norm(op: str, x: Any, residual: Any, eps: float, *vectors: Any) -> Any:
    y = empty_like(x)
    if 0 in y.shape:
        return y
    rows, added = as_matrix(x), as_matrix(x if residual is None else residual)
    constants: dict[str, Any] = {"RESIDUAL": int(residual is not None), "DTYPE": checked_rows(op, "x", x).dtype}
    program(op)(rows, added, *vectors, as_matrix(y), eps, 1 / x.shape[-1], **constants)
    return y


RUN: dict[str, Any] = {"softmax": _run_softmax, "rmsnorm": _run_rmsnorm, "layernorm": _run_layernorm}
