"""hkc: tile programs for AMD CDNA GPUs, compiled to real code objects and run on a GPU or on an emulated device.

Everything is imported on first use, so ``import hkc`` costs next to nothing.
"""

from __future__ import annotations

import os.path
from importlib import import_module
from typing import Any

__version__ = "0.1.0"

# In a source checkout dialect/, passes/ and runtime/ stand beside this folder; an installed hkc has them inside.
_checkout = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
if not os.path.isdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), "dialect")):
    __path__.append(_checkout)

_FROM: dict[str, str] = {
    **dict.fromkeys(("kernel", "Kernel", "compile", "load"), "hkc.jit"),
    "array": "hkc.arguments",
    "CompiledKernel": "hkc.driver.compile",
    **dict.fromkeys(("HkcError", "InternalError", "Span"), "hkc.errors"),
    **dict.fromkeys(("DType", "dtype"), "hkc.dtypes"),
}
_SUBMODULES = (
    *(
        "builder",
        "cli",
        "dialect",
        "driver",
        "errors",
        "interp",
        "kernels",
        "knobs",
        "lang",
        "numerics",
        "passes",
        "runtime",
    ),
    "targets",
)


def __getattr__(name: str) -> Any:
    if name in _SUBMODULES:
        return import_module(f"hkc.{name}")
    if name in _FROM:
        return getattr(import_module(_FROM[name]), name)
    from hkc.dtypes import DTYPES

    if name in DTYPES:
        return DTYPES[name]
    names = import_module("hkc.lang.names")
    if not name.startswith("_") and hasattr(names, name):
        return getattr(names, name)
    raise AttributeError(f"module 'hkc' has no attribute {name!r}")
