"""Row-wise quantization to int8."""

from __future__ import annotations

from typing import Any

from hkc.kernels.operands import as_matrix, checked_rows, concrete, empty, empty_like, is_torch, program, torch_op


def quantize(x: Any) -> tuple[Any, Any]:
    """Int8 q of the shape of ``x`` and one f32 scale a row (last axis), so that q * scale is close to x.

    ``x``: f32, f16 or bf16. The scale is the row's largest magnitude / 127; a row that holds NaN or inf has that as
    its scale and 0 in q. Raises HkcError that names the argument.
    """
    if concrete(x):
        checked_rows("quantize", "x", x)
    run = torch_op("quantize") if is_torch(x) else _run
    q, scale = run(x)
    return q, scale


def _run(x: Any) -> tuple[Any, Any]:
    array = checked_rows("quantize", "x", x)
    q = _int8_like(x)
    scale = empty(x, array.shape[:-1])
    if 0 in array.shape:
        scale[...] = 0
    else:
        program("quantize")(as_matrix(x), as_matrix(q), scale.reshape(-1), DTYPE=array.dtype)
    return q, scale


def _int8_like(x: Any) -> Any:
    if is_torch(x):
        import torch

        return x.new_empty(x.shape, dtype=torch.int8)
    return empty_like(x.astype("int8"))


RUN: dict[str, Any] = {"quantize": _run}
