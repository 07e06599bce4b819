"""The library's kernels as torch's ops, ``torch.ops.hkc.softmax`` and so on, for tracing and ``torch.compile``.

Each makes a new, contiguous tensor like x. There is no backward pass.
"""

from __future__ import annotations

from typing import Any

import torch

from hkc.kernels import rows

_NORM = "(Tensor x, Tensor? weight, {}Tensor? residual, float eps) -> Tensor"
_SCHEMAS = {
    "softmax": "(Tensor x) -> Tensor",
    "rmsnorm": _NORM.format(""),
    "layernorm": _NORM.format("Tensor? bias, "),
}


def _like(x: Any, *_: Any) -> Any:
    return x.new_empty(x.shape)


def _register(name: str, schema: str) -> None:
    def run(*arguments: Any) -> Any:
        return rows.RUN[name](*arguments)

    torch.library.custom_op(f"hkc::{name}", run, mutates_args=(), schema=schema).register_fake(_like)


for _name, _schema in _SCHEMAS.items():
    _register(_name, _schema)
