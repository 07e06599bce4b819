"""What the tests of library kernels share: checked calls, and the rounding of each type."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from hkc.runtime import open_device

ARCHES = ["gfx942", "gfx950"]
BITS = {torch.float32: 23, torch.float16: 10, torch.bfloat16: 7}
TINY = {torch.float32: 2.0**-126, torch.float16: 2.0**-24, torch.bfloat16: 2.0**-126}
U = 2.0**-24  # of f32, in which all is computed


def checked(monkeypatch: pytest.MonkeyPatch, arch: str, call: Any) -> Any:
    """The result of a call whose kernels run on that target, sanitized."""
    monkeypatch.setenv("HKC_DEVICE", f"emulator:{arch}")
    device = open_device(f"emulator:{arch}")
    with device.sanitize():
        result = call()
    assert not device.reports()
    return result


def rounding(exact: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """Half a unit in the last place, or the smallest number."""
    return abs(exact) * 2.0 ** -(BITS[dtype] + 1) + TINY[dtype]
