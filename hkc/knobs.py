"""Environment variables that hkc reads, one typed function each.

==================  ==================================================================================
``HKC_ARCH``        target when none is given: ``gfx942`` or ``gfx950`` (default ``gfx950``)
``HKC_CACHE``       ``0`` turns the cache of compiled kernels off
``HKC_CACHE_DIR``   where compiled kernels are kept (default ``$XDG_CACHE_HOME/hkc``, else ``~/.cache/hkc``)
``HKC_DEVICE``      where kernels run: ``emulator``, ``hip``, or with a target or number (``emulator:gfx942``,
                    ``hip:0``); default: a GPU if present, else the emulator of the kernel's target
``HKC_LLD``         the ``ld.lld`` to link with (default: ROCm's, then ``PATH``'s, then PyPI ``ziglang``'s)
``ROCM_PATH``       ROCm's folder (default ``/opt/rocm``)
==================  ==================================================================================
"""

from __future__ import annotations

import os
from pathlib import Path


def _text(name: str) -> str | None:
    return os.environ.get(name) or None


def arch() -> str:
    """``HKC_ARCH``: the default target."""
    return _text("HKC_ARCH") or "gfx950"


def cache_enabled() -> bool:
    """``HKC_CACHE``: whether compiled kernels are kept on disk."""
    return _text("HKC_CACHE") != "0"


def cache_dir() -> Path:
    """``HKC_CACHE_DIR``: the folder of compiled kernels."""
    if chosen := _text("HKC_CACHE_DIR"):
        return Path(chosen)
    base = _text("XDG_CACHE_HOME")
    return Path(base or os.path.expanduser("~/.cache")) / "hkc"


def device() -> str | None:
    """``HKC_DEVICE``: the device that runs kernels, or None for the default."""
    return _text("HKC_DEVICE")


def lld() -> str | None:
    """``HKC_LLD``: the linker's path or name."""
    return _text("HKC_LLD")


def rocm_path() -> Path:
    """``ROCM_PATH``: ROCm's folder."""
    return Path(_text("ROCM_PATH") or "/opt/rocm")
