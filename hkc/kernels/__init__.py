"""A library of kernels on torch tensors and NumPy arrays: ``hk.kernels.softmax(x)``.

Each is one program (``*.tile`` beside this file) for all sizes. Tensors on the CPU go to the emulated device. On
torch tensors each is also an op of torch's, ``torch.ops.hkc.softmax``. Modules are imported on first use.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

_FROM = {
    **dict.fromkeys(("softmax", "rmsnorm", "layernorm"), "rows"),
    **dict.fromkeys(("gelu", "swiglu", "rotary"), "pointwise"),
    "cross_entropy": "losses",
    "quantize": "quantization",
}
NAMES = tuple(_FROM)


def __getattr__(name: str) -> Any:
    if name in _FROM:
        if "torch" in sys.modules:  # so that torch.ops.hkc is there before a trace
            import_module("hkc.kernels.torch_ops")
        return getattr(import_module(f"hkc.kernels.{_FROM[name]}"), name)
    raise AttributeError(f"module 'hkc.kernels' has no attribute {name!r}")
