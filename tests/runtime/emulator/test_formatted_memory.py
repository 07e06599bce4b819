"""Buffer accesses with a data format (MUBUF and MTBUF) against numpy: CDNA3 ISA guide, 9.1, tables of DFMT and NFMT."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from hkc.runtime import Device

from .conftest import launch

Array = npt.NDArray[Any]

# DFMT, bits of a component; NFMT.
DATA = {"8_8_8_8": (10, 8), "16_16_16_16": (12, 16), "32_32_32_32": (14, 32)}
NUMBERS = {"unorm": 0, "snorm": 1, "uscaled": 2, "sscaled": 3, "uint": 4, "sint": 5, "float": 7}
PAIRS = [
    (data, number)
    for data, (_, bits) in DATA.items()
    for number in NUMBERS
    if (bits == 32) == (number in ("uint", "sint", "float")) or (bits == 16 and number == "float") or bits == 8
    if not (bits == 8 and number == "float")
]
SELECT_XYZW = 4 | 5 << 3 | 6 << 6 | 7 << 9  # DST_SEL of a resource's word 3

KERNEL = """
declare <4 x float> @llvm.amdgcn.raw.buffer.load.format.v4f32(<4 x i32>, i32, i32, i32 immarg)
declare void @llvm.amdgcn.raw.buffer.store.format.v4f32(<4 x float>, <4 x i32>, i32, i32, i32 immarg)
declare <4 x float> @llvm.amdgcn.raw.tbuffer.load.v4f32(<4 x i32>, i32, i32, i32 immarg, i32 immarg)
declare void @llvm.amdgcn.raw.tbuffer.store.v4f32(<4 x float>, <4 x i32>, i32, i32, i32 immarg, i32 immarg)
declare i32 @llvm.amdgcn.workitem.id.x()
define amdgpu_kernel void @moves(ptr addrspace(1) %in, ptr addrspace(1) %wide, ptr addrspace(1) %again) #0 {{
  %lane = call i32 @llvm.amdgcn.workitem.id.x()
  %offset = mul i32 %lane, {size}
  %from = {from}
  %to = {to}
  %v = {load}
  %place = getelementptr <4 x float>, ptr addrspace(1) %wide, i32 %lane
  store <4 x float> %v, ptr addrspace(1) %place
  {store}
  ret void
}}
attributes #0 = {{ "amdgpu-flat-work-group-size"="64,64" }}
"""


def resource(pointer: str, word3: int, name: str) -> str:
    """A resource of 1 MB at a pointer."""
    lines = [
        f"ptrtoint ptr addrspace(1) %{pointer} to i64",
        f"  %{name}.low = trunc i64 %{name}.address to i32",
        f"  %{name}.shifted = lshr i64 %{name}.address, 32",
        f"  %{name}.high = trunc i64 %{name}.shifted to i32",
        f"  %{name}.0 = insertelement <4 x i32> <i32 0, i32 0, i32 1048576, i32 {word3}>, i32 %{name}.low, i32 0",
        f"  %{name} = insertelement <4 x i32> %{name}.0, i32 %{name}.high, i32 1",
    ]
    return "\n".join(lines)


def kernel(data: str, number: str, typed: bool) -> str:
    dfmt, bits = DATA[data]
    # MUBUF takes the format from the resource, MTBUF from the instruction.
    word3 = SELECT_XYZW | NUMBERS[number] << 12 | dfmt << 15
    fmt = dfmt | NUMBERS[number] << 4
    kind, more = ("tbuffer", f", i32 {fmt}, i32 0") if typed else ("buffer", ", i32 0")
    name = "" if typed else ".format"
    text = KERNEL.format(
        size=4 * bits // 8,
        load=f"call <4 x float> @llvm.amdgcn.raw.{kind}.load{name}.v4f32(<4 x i32> %from, i32 %offset, i32 0{more})",
        store=f"call void @llvm.amdgcn.raw.{kind}.store{name}.v4f32(<4 x float> %v, <4 x i32> %to, i32 %offset,"
        f" i32 0{more})",
        **{"from": "@FROM@", "to": "@TO@"},
    )
    for place, pointer in (("from", "in"), ("to", "again")):
        text = text.replace(
            f"  %{place} = @{place.upper()}@", f"  %{place}.address = {resource(pointer, word3, place)}"
        )
    return text


def converted(stored: Array, number: str) -> Array:
    """Registers of stored components (unsigned codes), as dwords."""
    bits = 8 * stored.itemsize
    signed = stored.view(f"i{stored.itemsize}")
    largest = 2**bits - 1
    if number == "uint" or bits == 32:
        return stored.astype(np.uint32)
    if number == "sint":
        return signed.astype(np.int32).view(np.uint32)
    values = {
        "unorm": lambda: stored.astype(np.float32) / np.float32(largest),
        "snorm": lambda: np.maximum(signed.astype(np.float32) / np.float32(largest >> 1), np.float32(-1)),
        "uscaled": lambda: stored.astype(np.float32),
        "sscaled": lambda: signed.astype(np.float32),
        "float": lambda: stored.view(np.float16).astype(np.float32),
    }[number]()
    return values.astype(np.float32).view(np.uint32)


@pytest.mark.parametrize("typed", [False, True], ids=["MUBUF", "MTBUF"])
@pytest.mark.parametrize(("data", "number"), PAIRS)
def test_formats(device: Device, llvm: Callable[[str], bytes], data: str, number: str, typed: bool) -> None:
    bits = DATA[data][1]
    rng = np.random.default_rng(bits + len(number))
    stored = rng.integers(0, 2**bits, (64, 4), np.uint64).astype(f"u{bits // 8}")
    stored[:3] = [[0, 1, 2**bits - 1, 2 ** (bits - 1)], [2 ** (bits - 1) - 1, 2, 3, 4], [0, 0, 0, 0]]
    if number == "float":
        floats = rng.standard_normal((64, 4)).astype(f"f{bits // 8}")
        stored = floats.view(stored.dtype)
    wide, again = np.zeros((64, 4), np.uint32), np.zeros_like(stored)
    launch(device, llvm(kernel(data, number, typed)), "moves", [stored, wide, again])
    assert np.array_equal(wide, converted(stored, number))
    # What was loaded is stored as it was, but the most negative normalised number has two codes.
    least = stored.dtype.type(2 ** (bits - 1))
    same = np.where((number == "snorm") & (stored == least), least + 1, stored)
    assert np.array_equal(again, same)
