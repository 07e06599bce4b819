"""The library's kernels as torch's ops, ``torch.ops.hkc.softmax`` and so on, for tracing and ``torch.compile``.

Each makes new, contiguous tensors. There is no backward pass.
"""

from __future__ import annotations

from typing import Any

import torch

from hkc.kernels import losses, pointwise, quantization, rows

_NORM = "(Tensor x, Tensor? weight, {}Tensor? residual, float eps) -> Tensor"
_SCHEMAS = {
    "softmax": "(Tensor x) -> Tensor",
    "rmsnorm": _NORM.format(""),
    "layernorm": _NORM.format("Tensor? bias, "),
    "gelu": "(Tensor x) -> Tensor",
    "swiglu": "(Tensor gate, Tensor x) -> Tensor",
    "rotary": "(Tensor x, Tensor cos, Tensor sin, bool interleaved) -> Tensor",
    "quantize": "(Tensor x) -> (Tensor, Tensor)",
    "cross_entropy": "(Tensor x, Tensor target, int ignore_index) -> (Tensor, Tensor)",
}
_RUN = {**rows.RUN, **pointwise.RUN, **losses.RUN, **quantization.RUN}


def _like(x: Any, *_: Any) -> Any:
    return x.new_empty(x.shape)


def _losses(x: Any, *_: Any) -> Any:
    return tuple(x.new_empty(x.shape[:-1], dtype=torch.float32) for _ in range(2))


def _quantized(x: Any) -> Any:
    return x.new_empty(x.shape, dtype=torch.int8), x.new_empty(x.shape[:-1], dtype=torch.float32)


_FAKE = {"cross_entropy": _losses, "quantize": _quantized}


def _register(name: str, schema: str) -> None:
    def run(*arguments: Any) -> Any:
        return _RUN[name](*arguments)

    op = torch.library.custom_op(f"hkc::{name}", run, mutates_args=(), schema=schema)
    op.register_fake(_FAKE.get(name, _like))


for _name, _schema in _SCHEMAS.items():
    _register(_name, _schema)
