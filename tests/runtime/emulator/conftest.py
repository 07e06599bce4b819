"""Running machine code on the emulated device: LLVM IR compiled by the driver, and hand-made instruction words."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from hkc.driver.compile import compile_llvm
from hkc.runtime import Device, Report

_PLACES = 200

# s_load_dwordx4 s[4:7], s[0:1], 0x0;  v_and_b32_e32 v0, 0x3ff, v0;  v_lshlrev_b32_e32 v1, 6, v0;  s_waitcnt lgkmcnt(0)
# global_load_dwordx4 v[4:7], v1, s[4:5];  global_load_dwordx4 v[8:11], v1, s[4:5] offset:16;  s_waitcnt vmcnt(0)
# v_mov_b32_e32 v12 ... v19, 0
PROLOGUE = [
    *(0xC00A0100, 0x00000000, 0x260000FF, 0x000003FF, 0x24020086, 0xBF8CC07F),
    *(0xDC5C8000, 0x04040001, 0xDC5C8010, 0x08040001, 0xBF8C0F70),
    *(0x7E000280 | n << 17 for n in range(12, 20)),
]
# s_waitcnt vmcnt(0) lgkmcnt(0);  s_mov_b64 exec, -1;  global_store_dwordx4 v1, v[12:15], s[6:7];
# global_store_dwordx4 v1, v[16:19], s[6:7] offset:16;  s_endpgm
EPILOGUE = [
    *(0xBF8C0070, 0xBEFE01C1, 0xDC7C8000, 0x00060C01, 0xDC7C8010, 0x00061001, 0xBF810000),
]

TEMPLATE = (
    """
declare void @llvm.amdgcn.s.nop(i16)
@lds = internal addrspace(3) global [8192 x i8] poison, align 16
define amdgpu_kernel void @words(ptr addrspace(1) %in, ptr addrspace(1) %out) #0 {
  %v = load volatile i32, ptr addrspace(1) %in
  store volatile i32 %v, ptr addrspace(3) @lds
"""
    + "  call void @llvm.amdgcn.s.nop(i16 7)\n" * _PLACES
    + """
  store volatile i32 %v, ptr addrspace(1) %out
  ret void
}
attributes #0 = { "amdgpu-flat-work-group-size"="1,1024" "amdgpu-no-dispatch-ptr" "amdgpu-no-queue-ptr"
  "amdgpu-no-dispatch-id" "amdgpu-no-implicitarg-ptr" "amdgpu-no-workgroup-id-y" "amdgpu-no-workgroup-id-z" }
"""
)


@cache
def compiled(text: str, arch: str) -> bytes:
    return compile_llvm(text, arch, "test.ll").hsaco


def patch_entry(code: bytes, words: Sequence[int]) -> bytes:
    """The code object with ``words`` at the start of its code (which begins its executable segment)."""
    segments_at, count = struct.unpack_from("<Q", code, 32)[0], struct.unpack_from("<H", code, 56)[0]
    headers = [struct.unpack_from("<IIQ", code, segments_at + 56 * i) for i in range(count)]
    offset = next(offset for kind, flags, offset in headers if kind == 1 and flags & 1)
    return code[:offset] + struct.pack(f"<{len(words)}I", *words) + code[offset + 4 * len(words) :]


def launch(
    device: Device,
    code: bytes,
    name: str,
    arrays: Sequence[npt.NDArray[Any] | int],
    grid: int | tuple[int, ...] = 1,
    block: int = 64,
    dynamic_lds: int = 0,
) -> None:
    """Runs kernel ``name``; arrays go to device memory and come back with what the kernel wrote."""
    with ExitStack() as stack:
        buffers: list[Any] = []
        for array in arrays:
            if isinstance(array, int):
                buffers.append(array)
                continue
            buffer = stack.enter_context(device.alloc(array.nbytes))
            buffer.write(array)
            buffers.append(buffer)
        with device.load(code) as module:
            module.function(name).launch(grid, block, buffers, dynamic_lds)
            device.synchronize()
        for array, buffer in zip(arrays, buffers, strict=True):
            if not isinstance(array, int):
                array[...] = buffer.read(array.dtype, array.shape)


@pytest.fixture
def llvm(arch: str) -> Callable[[str], bytes]:
    """Compiles LLVM IR for the test's target."""
    return lambda text: compiled(text, arch)


Words = Callable[..., npt.NDArray[np.uint32]]


@pytest.fixture
def run_words(device: Device, arch: str) -> Words:
    """Runs instruction words in one or more waves and gives v12-v19 of each lane, as (lanes, 8) dwords.

    They find in v4-v11 the eight dwords of their lane, in v0 the lane's number in the workgroup, and in LDS
    8 KB. v12-v19 begin as 0; v1 and s[4:7] are needed at the end.
    """

    def run(words: Sequence[int], inputs: npt.NDArray[np.uint32], block: int = 64) -> npt.NDArray[np.uint32]:
        body = [*PROLOGUE, *words, *EPILOGUE]
        assert len(body) <= _PLACES
        code = patch_entry(compiled(TEMPLATE, arch), body)
        given = np.zeros((block, 16), np.uint32)
        given[:, :8] = inputs
        result = np.zeros((block, 16), np.uint32)
        launch(device, code, "words", [given, result], block=block)
        return result[:, :8]

    return run


@pytest.fixture
def checked(device: Device) -> Iterator[Callable[[], list[Report]]]:
    """Checked mode; gives a function that returns the reports so far."""
    with device.sanitize():
        device.reports()
        yield device.reports
