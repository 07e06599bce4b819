"""HIP's functions as a C client calls them: numbers of errors, handles, streams, events, properties."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from ctypes import byref, c_char_p, c_float, c_int, c_size_t, c_void_p
from itertools import pairwise

import pytest

Hip = Callable[..., int]
INVALID_VALUE, OUT_OF_MEMORY, INVALID_DIRECTION = 1, 2, 21
INVALID_DEVICE, INVALID_HANDLE, NOT_FOUND = 101, 400, 500
NOT_A_HANDLE = c_void_p(0xDEAD0)


def test_devices(hip: Hip) -> None:
    count, device = c_int(), c_int(-1)
    assert hip("hipInit", 0) == 0
    assert hip("hipGetDeviceCount", byref(count)) == 0
    assert count.value == 2
    assert hip("hipGetDevice", byref(device)) == 0
    assert device.value == 0
    assert hip("hipSetDevice", 2) == INVALID_DEVICE
    assert hip("hipSetDevice", -1) == INVALID_DEVICE
    assert hip("hipGetDeviceCount", None) == INVALID_VALUE


@pytest.mark.parametrize(("ordinal", "arch", "lds"), [(0, b"gfx942", 65536), (1, b"gfx950", 163840)])
def test_properties(hip: Hip, ordinal: int, arch: bytes, lds: int) -> None:
    """Fields of ROCm 6's hipDeviceProp_tR0600 at their published offsets; nothing is written beyond it."""
    block = ctypes.create_string_buffer(b"\xaa" * 2048, 2048)
    assert hip("hipGetDevicePropertiesR0600", block, ordinal) == 0
    assert block.raw[1160:].startswith(arch + b":sramecc+:xnack-\0")
    assert b"MI3" in block.raw[:256]
    assert int.from_bytes(block.raw[296:304], "little") == lds  # sharedMemPerBlock
    assert int.from_bytes(block.raw[308:312], "little") == 64  # warpSize
    assert int.from_bytes(block.raw[320:324], "little") == 1024  # maxThreadsPerBlock
    assert int.from_bytes(block.raw[388:392], "little") in (304, 256)  # multiProcessorCount
    assert block.raw[1472:] == b"\xaa" * (2048 - 1472)
    old = ctypes.create_string_buffer(b"\xaa" * 2048, 2048)
    assert hip("hipGetDeviceProperties", old, ordinal) == 0
    assert old.raw[792:] == b"\xaa" * (2048 - 792)
    assert arch + b":sramecc+:xnack-" in old.raw
    assert hip("hipGetDevicePropertiesR0600", block, 2) == INVALID_DEVICE
    assert hip("hipGetDevicePropertiesR0600", None, 0) == INVALID_VALUE


def test_attributes(hip: Hip) -> None:
    value = c_int()
    for attribute, expected in {87: 64, 56: 1024, 74: 163840, 63: 256, 23: 9, 61: 5}.items():
        assert hip("hipDeviceGetAttribute", byref(value), attribute, 1) == 0
        assert value.value == expected
    assert hip("hipDeviceGetAttribute", byref(value), 123456, 1) == INVALID_VALUE


def test_errors_are_kept_for_the_thread(hip: Hip, library: object) -> None:
    assert hip("hipGetLastError") in range(1000)
    assert hip("hipSetDevice", 9) == INVALID_DEVICE
    seen = []
    thread = threading.Thread(target=lambda: seen.append(hip("hipPeekAtLastError")))
    thread.start()
    thread.join()
    assert seen == [0]
    assert hip("hipPeekAtLastError") == INVALID_DEVICE
    assert hip("hipGetLastError") == INVALID_DEVICE
    assert hip("hipGetLastError") == 0


def test_error_names() -> None:
    from hkc.runtime.hip import emulator

    raw = ctypes.CDLL(emulator().path)
    raw.hipGetErrorName.restype = raw.hipGetErrorString.restype = c_char_p
    assert raw.hipGetErrorName(700) == b"hipErrorIllegalAddress"
    assert raw.hipGetErrorName(98) == b"hipErrorInvalidDeviceFunction"
    assert raw.hipGetErrorName(123456) == b"hipErrorUnknown"
    assert raw.hipGetErrorString(0) == b"no error"


def test_handles_that_are_not_live(hip: Hip) -> None:
    out, number = c_void_p(), c_int()
    one = (1, 1, 1, 64, 1, 1, 0)
    assert hip("hipModuleLaunchKernel", NOT_A_HANDLE, *one, None, None, None) == INVALID_HANDLE
    assert hip("hipModuleGetFunction", byref(out), NOT_A_HANDLE, b"add") == INVALID_HANDLE
    assert hip("hipModuleGetGlobal", byref(out), None, NOT_A_HANDLE, b"x") == INVALID_HANDLE
    assert hip("hipModuleUnload", NOT_A_HANDLE) == INVALID_HANDLE
    assert hip("hipFuncGetAttribute", byref(number), 0, NOT_A_HANDLE) == INVALID_HANDLE
    for function in ("hipStreamDestroy", "hipStreamSynchronize", "hipStreamQuery"):
        assert hip(function, NOT_A_HANDLE) == INVALID_HANDLE
    for function in ("hipEventDestroy", "hipEventSynchronize", "hipEventQuery"):
        assert hip(function, NOT_A_HANDLE) == INVALID_HANDLE
    assert hip("hipModuleLoadData", byref(out), None) == INVALID_VALUE
    assert hip("hipModuleLoadData", None, b"x") == INVALID_VALUE


def test_streams_and_events(hip: Hip) -> None:
    stream, start, stop, elapsed = c_void_p(), c_void_p(), c_void_p(), c_float(-1)
    assert hip("hipStreamCreate", byref(stream)) == 0
    assert hip("hipEventCreate", byref(start)) == 0
    assert hip("hipEventCreate", byref(stop)) == 0
    assert hip("hipEventElapsedTime", byref(elapsed), start, stop) == INVALID_HANDLE
    assert hip("hipEventRecord", start, stream) == 0
    assert hip("hipEventRecord", stop, stream) == 0
    assert hip("hipStreamWaitEvent", stream, stop, 0) == 0
    assert hip("hipEventSynchronize", stop) == 0
    assert hip("hipEventElapsedTime", byref(elapsed), start, stop) == 0
    assert elapsed.value >= 0
    untimed = c_void_p()
    assert hip("hipEventCreateWithFlags", byref(untimed), 2) == 0
    assert hip("hipEventRecord", untimed, None) == 0
    assert hip("hipEventElapsedTime", byref(elapsed), start, untimed) == INVALID_HANDLE
    assert hip("hipStreamQuery", stream) == 0
    assert hip("hipStreamQuery", None) == 0
    assert hip("hipStreamDestroy", stream) == 0
    assert hip("hipStreamDestroy", stream) == INVALID_HANDLE
    assert hip("hipStreamQuery", stream) == INVALID_HANDLE
    for event in (start, stop, untimed):
        assert hip("hipEventDestroy", event) == 0
        assert hip("hipEventQuery", event) == INVALID_HANDLE


class TestMemory:
    def alloc(self, hip: Hip, size: int) -> c_void_p:
        pointer = c_void_p()
        assert hip("hipMalloc", byref(pointer), c_size_t(size)) == 0
        assert pointer.value
        assert pointer.value % 256 == 0
        return pointer

    def test_copies_and_fills(self, hip: Hip) -> None:
        first, second = self.alloc(hip, 64), self.alloc(hip, 64)
        assert hip("hipMemcpyHtoD", first, bytes(range(64)), c_size_t(64)) == 0
        assert hip("hipMemcpyDtoD", second, first, c_size_t(64)) == 0
        out = ctypes.create_string_buffer(64)
        assert hip("hipMemcpy", out, second, c_size_t(64), 4) == 0
        assert out.raw == bytes(range(64))
        assert hip("hipMemsetD16", second, 0x1234, c_size_t(2)) == 0
        assert hip("hipMemsetD32", c_void_p(second.value + 4), -2, c_size_t(1)) == 0
        assert hip("hipMemset", c_void_p(second.value + 8), 7, c_size_t(2)) == 0
        assert hip("hipMemcpyDtoH", out, second, c_size_t(64)) == 0
        assert out.raw[:12] == bytes.fromhex("34123412feffffff07070a0b")
        assert hip("hipFree", first) == 0
        assert hip("hipFree", second) == 0

    def test_bounds(self, hip: Hip) -> None:
        p, host = self.alloc(hip, 100), ctypes.create_string_buffer(400)
        assert hip("hipMemcpyHtoD", p, host, c_size_t(101)) == INVALID_VALUE
        assert hip("hipMemcpyHtoD", c_void_p(p.value + 50), host, c_size_t(51)) == INVALID_VALUE
        assert hip("hipMemcpyHtoD", host, host, c_size_t(4)) == INVALID_VALUE
        assert hip("hipMemcpyDtoH", host, c_void_p(p.value - 1), c_size_t(1)) == INVALID_VALUE
        assert hip("hipMemcpyHtoD", None, host, c_size_t(4)) == INVALID_VALUE
        assert hip("hipMemcpy", p, host, c_size_t(4), 9) == INVALID_DIRECTION
        assert hip("hipMemcpyAsync", p, host, c_size_t(4), 1, NOT_A_HANDLE) == INVALID_HANDLE
        assert hip("hipMemsetD32", p, 0, c_size_t(26)) == INVALID_VALUE
        assert hip("hipMemsetD32", c_void_p(p.value + 2), 0, c_size_t(1)) == INVALID_VALUE
        assert hip("hipMemsetD32", p, 0, c_size_t(2**62)) == INVALID_VALUE
        assert hip("hipFree", c_void_p(p.value + 256)) == INVALID_VALUE
        assert hip("hipHostFree", p) == INVALID_VALUE
        assert hip("hipFree", p) == 0
        assert hip("hipFree", p) == INVALID_VALUE
        assert hip("hipMemcpyDtoH", host, p, c_size_t(1)) == INVALID_VALUE
        assert hip("hipFree", None) == 0

    def test_out_of_memory(self, hip: Hip) -> None:
        pointer = c_void_p(5)
        assert hip("hipMalloc", byref(pointer), c_size_t(2**64 - 1)) == OUT_OF_MEMORY
        assert pointer.value is None
        assert hip("hipMalloc", byref(pointer), c_size_t(1 << 50)) == OUT_OF_MEMORY
        assert hip("hipMalloc", None, c_size_t(1)) == INVALID_VALUE

    def test_attributes(self, hip: Hip) -> None:
        class Attributes(ctypes.Structure):
            _fields_ = [
                ("type", c_int),
                ("device", c_int),
                ("device_pointer", c_void_p),
                ("host_pointer", c_void_p),
                ("managed", c_int),
                ("flags", ctypes.c_uint),
            ]

        found, pinned = Attributes(), c_void_p()
        assert hip("hipSetDevice", 1) == 0
        p = self.alloc(hip, 10)
        assert hip("hipSetDevice", 0) == 0
        assert hip("hipPointerGetAttributes", byref(found), c_void_p(p.value + 9)) == 0
        assert (found.type, found.device) == (2, 1)
        assert hip("hipHostMalloc", byref(pinned), c_size_t(8), 0) == 0
        assert hip("hipPointerGetAttributes", byref(found), pinned) == 0
        assert (found.type, found.host_pointer) == (1, pinned.value)
        assert hip("hipPointerGetAttributes", byref(found), byref(found)) == 0
        assert found.type == 0
        assert hip("hipFree", pinned) == INVALID_VALUE
        assert hip("hipHostFree", pinned) == 0
        assert hip("hipFree", p) == 0

    def test_threads_allocate_at_once(self, hip: Hip) -> None:
        """No two live allocations overlap or touch, whichever thread made them."""
        ranges: list[tuple[int, int]] = []
        failures: list[str] = []

        def work(seed: int) -> None:
            mine = []
            for i in range(200):
                size = 1 + (seed * 7919 + i * 104729) % 5000
                pointer = c_void_p()
                if hip("hipMalloc", byref(pointer), c_size_t(size)) != 0:
                    failures.append("hipMalloc")
                    return
                mine.append((pointer.value or 0, size))
                if i % 3 == 2 and hip("hipFree", c_void_p(mine.pop(i % len(mine))[0])) != 0:
                    failures.append("hipFree")
            ranges.extend(mine)

        threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not failures
        ranges.sort()
        assert all(a + size + 256 <= b for (a, size), (b, _) in pairwise(ranges))
        for address, _ in ranges:
            assert hip("hipFree", c_void_p(address)) == 0

    def test_large_allocations_are_reused(self, hip: Hip) -> None:
        """Memory comes back from quarantine: many times the device's memory can be allocated in turn."""
        free, total = c_size_t(), c_size_t()
        assert hip("hipMemGetInfo", byref(free), byref(total)) == 0
        for _ in range(20):
            p = self.alloc(hip, free.value // 2)
            assert hip("hipFree", p) == 0
        after = c_size_t()
        assert hip("hipMemGetInfo", byref(after), byref(total)) == 0
        assert after.value == free.value


def test_hkc_functions_check_their_device(hip: Hip) -> None:
    assert hip("hkcSetMode", 7, 0) == INVALID_DEVICE
    assert hip("hkcSetMode", 0, 5) == INVALID_VALUE
    assert hip("hkcSetThreads", -1, 1) == INVALID_DEVICE
    assert hip("hkcReports", 7, None, 0, 0) == -1
    assert hip("hkcCounters", 0, None, c_size_t(0), 0) > 0
