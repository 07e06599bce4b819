"""Quotients by v_div_scale, v_div_fmas and v_div_fixup are correctly rounded, whatever their operands."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from hkc.runtime import Device

from .conftest import launch

Array = npt.NDArray[Any]

# LLVM expands fdiv without fast-math flags to the three instructions when denormals are kept.
DIVIDE = """
declare i32 @llvm.amdgcn.workitem.id.x()
define amdgpu_kernel void @divide(ptr addrspace(1) %a, ptr addrspace(1) %b, ptr addrspace(1) %c) #0 {{
  %i = call i32 @llvm.amdgcn.workitem.id.x()
  %pa = getelementptr {type}, ptr addrspace(1) %a, i32 %i
  %pb = getelementptr {type}, ptr addrspace(1) %b, i32 %i
  %pc = getelementptr {type}, ptr addrspace(1) %c, i32 %i
  %x = load {type}, ptr addrspace(1) %pa
  %y = load {type}, ptr addrspace(1) %pb
  %z = fdiv {type} %x, %y
  store {type} %z, ptr addrspace(1) %pc
  ret void
}}
attributes #0 = {{ "amdgpu-flat-work-group-size"="1,1024" "denormal-fp-math-f32"="ieee,ieee" }}
"""
BLOCK = 1024


def special(dtype: Any) -> tuple[Array, Array]:
    """Every pair of the ends of the format's ranges, of both signs."""
    info = np.finfo(dtype)
    powers = [n * 2.0 ** (info.maxexp - 1) for n in (0.125, 0.25, 0.5, 0.75, 1, 1.5)]
    tiny = [n * float(info.tiny) for n in (0.5, 1, 1.5, 2.0**24)]
    some = [0, 1, 3, 10, float(info.smallest_subnormal), float(info.max), np.inf, np.nan, *powers, *tiny]
    values = np.array([*some, *(-v for v in some)], dtype)
    x, y = np.meshgrid(values, values)
    return x.ravel(), y.ravel()


def random(dtype: Any) -> tuple[Array, Array]:
    """Random bits."""
    rng = np.random.default_rng(31)
    bits = rng.integers(0, 256, (2, 8 * BLOCK * np.dtype(dtype).itemsize), dtype=np.uint8)
    return bits[0].view(dtype), bits[1].view(dtype)


def reciprocal(dtype: Any) -> tuple[Array, Array]:
    """Numerators about 1 by the greatest denominators: subnormal quotients."""
    rng = np.random.default_rng(32)
    greatest = rng.uniform(1, 2, 2 * BLOCK) * 2.0 ** (np.finfo(dtype).maxexp - rng.integers(1, 4, 2 * BLOCK))
    numerator = np.where(np.arange(2 * BLOCK) % 2, rng.standard_normal(2 * BLOCK), 1)
    return numerator.astype(dtype), greatest.astype(dtype)


@pytest.mark.parametrize("operands", [special, random, reciprocal])
@pytest.mark.parametrize(("type_name", "dtype"), [("float", np.float32), ("double", np.float64)])
def test_quotients(
    device: Device,
    llvm: Callable[[str], bytes],
    type_name: str,
    dtype: Any,
    operands: Callable[[Any], tuple[Array, Array]],
) -> None:
    x, y = operands(dtype)
    code = llvm(DIVIDE.format(type=type_name))
    result = np.empty_like(x)
    for first in range(0, len(x), BLOCK):
        part = slice(first, first + BLOCK)
        launch(device, code, "divide", [x[part].copy(), y[part].copy(), result[part]], block=len(x[part]))
    with np.errstate(all="ignore"):
        expected = x / y
    # Infinities, NaNs and the signs of zeros are part of it.
    np.testing.assert_array_equal(result, expected)
    numbers = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(result[numbers]), np.signbit(expected[numbers]))
