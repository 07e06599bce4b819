"""The rest of HIP's module API as C clients call it: 2D copies, contexts, pointers, launches, lookup."""

from __future__ import annotations

import ctypes
import mmap
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from ctypes import byref, c_char_p, c_float, c_int, c_size_t, c_uint, c_uint64, c_void_p
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hkc.runtime import Device, open_device
from hkc.runtime.hip import HipLibrary

Hip = Callable[..., int]
INVALID_VALUE, INVALID_CONFIGURATION, INVALID_PITCH, INVALID_DIRECTION = 1, 9, 12, 21
INVALID_FUNCTION, INVALID_DEVICE, INVALID_CONTEXT = 98, 101, 201
UNSUPPORTED_LIMIT, INVALID_HANDLE, NOT_FOUND, NOT_REGISTERED, NOT_SUPPORTED = 215, 400, 500, 713, 801
TO_DEVICE, TO_HOST, ON_DEVICE, DEFAULT = 1, 2, 3, 4
NOT_A_HANDLE = c_void_p(0xDEAD0)
UNMAPPED = c_void_p(0x1000)


def size(value: int) -> c_size_t:
    return c_size_t(value)


@pytest.fixture
def memory(hip: Hip) -> Iterator[Callable[[int], int]]:
    """Allocates device memory by size; all is freed in the end."""
    pointers = []

    def allocate(nbytes: int) -> int:
        pointer = c_void_p()
        assert hip("hipMalloc", byref(pointer), size(nbytes)) == 0
        pointers.append(pointer)
        return pointer.value or 0

    yield allocate
    for pointer in pointers:
        hip("hipFree", pointer)


class TestCopies:
    def test_rows(self, hip: Hip, memory: Callable[[int], int]) -> None:
        source = np.arange(5 * 16, dtype=np.uint8).reshape(5, 16)
        device, back = memory(5 * 32), np.zeros((5, 24), np.uint8)
        assert hip("hipMemset", c_void_p(device), 0xEE, size(160)) == 0
        host = source.ctypes.data_as(c_void_p)
        out = back.ctypes.data_as(c_void_p)
        args = (c_void_p(device), size(32), host, size(16), size(10), size(5))
        assert hip("hipMemcpy2D", *args, TO_DEVICE) == 0
        assert hip("hipMemcpy2DAsync", out, size(24), c_void_p(device), size(32), size(24), size(5), TO_HOST, None) == 0
        assert np.array_equal(back[:, :10], source[:, :10])
        assert np.all(back[:, 10:] == 0xEE)

    def test_rows_that_are_none(self, hip: Hip, memory: Callable[[int], int]) -> None:
        p, host = c_void_p(memory(320)), ctypes.create_string_buffer(1024)

        def copy(to: Any, to_pitch: int, source: Any, pitch: int, width: int, height: int, kind: int = DEFAULT) -> int:
            return hip("hipMemcpy2D", to, size(to_pitch), source, size(pitch), size(width), size(height), kind)

        assert copy(p, 8, host, 16, 10, 2) == INVALID_PITCH
        assert copy(p, 16, host, 8, 10, 2) == INVALID_PITCH
        assert copy(p, 64, host, 64, 64, 6) == INVALID_VALUE
        assert copy(p, 1 << 63, host, 64, 1, 4) == INVALID_VALUE
        assert copy(p, 64, host, (1 << 64) - 1, 1, 3) == INVALID_VALUE
        assert copy(None, 64, host, 64, 1, 1) == INVALID_VALUE
        assert copy(p, 64, None, 64, 1, 1) == INVALID_VALUE
        assert copy(p, 64, host, 64, 1, 1, 7) == INVALID_DIRECTION
        assert copy(p, 64, host, 64, 1, 1, TO_HOST) == INVALID_VALUE
        assert copy(p, 64, host, 64, 0, 5) == copy(p, 64, host, 64, 5, 0) == 0
        assert copy(p, 64, p, 64, 64, 5, ON_DEVICE) == copy(p, 64, p, 64, 64, 5, 1024) == 0

    def test_described_rows(self, hip: Hip, memory: Callable[[int], int]) -> None:
        device = memory(8 * 64)
        source = np.arange(64, dtype=np.uint8).reshape(4, 16)
        back = np.zeros((4, 16), np.uint8)
        host, device_type, array_type = 1, 2, 10

        def describe(*fields: int | None) -> Any:
            return (c_void_p * 16)(*fields)

        address = source.ctypes.data
        into = describe(2, 1, host, address, None, None, 16, 4, 3, device_type, None, device, None, 64, 8, 3)
        assert hip("hipMemcpyParam2D", into) == 0
        out = back.ctypes.data
        again = describe(4, 3, device_type, None, device, None, 64, 0, 0, host, out, None, None, 16, 8, 3)
        assert hip("hipMemcpyParam2DAsync", again, None) == 0
        assert np.array_equal(back[:3, :8], source[1:, 2:10])
        wrong = describe(0, 0, array_type, None, None, 0x40, 0, 0, 0, host, out, None, None, 0, 8, 1)
        assert hip("hipMemcpyParam2D", wrong) == INVALID_VALUE
        far = describe(0, 1 << 62, device_type, None, device, None, 64, 0, 0, host, out, None, None, 16, 8, 1)
        assert hip("hipDrvMemcpy2DUnaligned", far) == INVALID_VALUE
        assert hip("hipMemcpyParam2D", None) == INVALID_VALUE

    def test_fills_of_rows(self, hip: Hip, memory: Callable[[int], int]) -> None:
        p = memory(4 * 32)
        out = np.zeros((4, 32), np.uint8)
        assert hip("hipMemset2D", c_void_p(p), size(32), 1, size(32), size(4)) == 0
        assert hip("hipMemsetD2D8", c_void_p(p), size(32), 2, size(3), size(4)) == 0
        assert hip("hipMemsetD2D16", c_void_p(p + 4), size(32), 0x0403, size(2), size(3)) == 0
        assert hip("hipMemsetD2D32", c_void_p(p + 8), size(32), 0x05050505, size(1), size(2)) == 0
        assert hip("hipMemcpyDtoH", out.ctypes.data_as(c_void_p), c_void_p(p), size(128)) == 0
        expected = np.ones((4, 32), np.uint8)
        expected[:, :3] = 2
        expected[:3, 4:8] = [3, 4, 3, 4]
        expected[:2, 8:12] = 5
        assert np.array_equal(out, expected)
        assert hip("hipMemset2D", c_void_p(p), size(16), 0, size(17), size(2)) == INVALID_PITCH
        assert hip("hipMemset2DAsync", c_void_p(p), size(64), 0, size(32), size(3), None) == INVALID_VALUE
        assert hip("hipMemsetD2D32", c_void_p(p), size(30), 0, size(1), size(2)) == INVALID_VALUE
        assert hip("hipMemsetD2D32", c_void_p(p), size(32), 0, size(1 << 62), size(1)) == INVALID_VALUE

    def test_host_memory_that_is_not_there(self, hip: Hip, memory: Callable[[int], int]) -> None:
        p = c_void_p(memory(4096))
        assert hip("hipMemcpyHtoD", p, UNMAPPED, size(64)) == INVALID_VALUE
        assert hip("hipMemcpyDtoH", UNMAPPED, p, size(64)) == INVALID_VALUE
        assert hip("hipMemcpy", UNMAPPED, UNMAPPED, size(64), 0) == INVALID_VALUE
        assert hip("hipMemcpy2D", UNMAPPED, size(64), p, size(64), size(64), size(2), TO_HOST) == INVALID_VALUE
        constant = mmap.mmap(-1, 4096, prot=mmap.PROT_READ)
        place = np.frombuffer(constant, np.uint8).ctypes.data_as(c_void_p)
        assert hip("hipMemset", p, 1, size(4096)) == 0
        assert hip("hipMemcpyDtoH", place, p, size(4096)) == INVALID_VALUE
        assert hip("hipMemcpyHtoD", p, place, size(4096)) == 0
        out = ctypes.create_string_buffer(b"x" * 4096, 4096)
        assert hip("hipMemcpyDtoH", out, p, size(4096)) == 0
        assert out.raw == bytes(4096)

    def test_between_devices(self, hip: Hip, memory: Callable[[int], int]) -> None:
        a, b, back = c_void_p(memory(8)), c_void_p(memory(8)), ctypes.create_string_buffer(8)
        assert hip("hipMemcpyHtoD", a, b"12345678", size(8)) == 0
        assert hip("hipMemcpyPeer", b, 1, a, 0, size(8)) == 0
        assert hip("hipMemcpyDtoH", back, b, size(8)) == 0
        assert back.raw == b"12345678"
        assert hip("hipMemcpyPeerAsync", b, 2, a, 0, size(8), None) == INVALID_DEVICE


class TestAllocation:
    def test_kinds(self, hip: Hip) -> None:
        p, flags = c_void_p(), c_uint()
        for call, free in (("hipHostAlloc", "hipFreeHost"), ("hipExtMallocWithFlags", "hipFree")):
            assert hip(call, byref(p), size(64), 1) == 0
            assert hip("hipHostGetFlags", byref(flags), p) == (0 if free == "hipFreeHost" else INVALID_VALUE)
            assert hip(free, p) == 0
        assert flags.value == 1
        assert hip("hipMallocHost", byref(p), size(64)) == 0
        assert hip("hipHostRegister", p, size(64), 0) == 712
        assert hip("hipFreeHost", p) == 0
        assert hip("hipHostRegister", byref(p), size(8), 0) == NOT_SUPPORTED
        assert hip("hipHostUnregister", byref(p)) == NOT_REGISTERED

    def test_rows(self, hip: Hip) -> None:
        p, pitch = c_void_p(), c_size_t()
        assert hip("hipMallocPitch", byref(p), byref(pitch), size(300), size(7)) == 0
        assert pitch.value == 512
        assert hip("hipMemset2D", p, pitch, 0, size(512), size(7)) == 0
        assert hip("hipMemset2D", p, pitch, 0, size(512), size(8)) == INVALID_VALUE
        assert hip("hipFree", p) == 0
        assert hip("hipMemAllocPitch", byref(p), byref(pitch), size(1 << 40), size(1 << 40), 4) == INVALID_VALUE
        assert hip("hipMallocPitch", byref(p), byref(pitch), size((1 << 64) - 1), size(1)) == INVALID_VALUE

    def test_managed(self, hip: Hip) -> None:
        p, managed = c_void_p(), ctypes.c_bool()
        assert hip("hipMallocManaged", byref(p), size(100), 1) == 0
        ctypes.memset(p.value or 0, 7, 100)  # the host uses it directly
        assert hip("hipPointerGetAttribute", byref(managed), 8, p) == 0
        assert managed.value
        assert hip("hipMemPrefetchAsync", p, size(100), -1, None) == 0
        assert hip("hipMemPrefetchAsync", p, size(101), 0, None) == INVALID_VALUE
        assert hip("hipMemPrefetchAsync", p, size(100), 5, None) == INVALID_DEVICE
        assert hip("hipMemAdvise", p, size(100), 1, 0) == 0
        assert hip("hipFree", p) == 0
        assert hip("hipMemAdvise", p, size(100), 1, 0) == INVALID_VALUE


def test_pointer_attributes(hip: Hip, memory: Callable[[int], int]) -> None:
    p = memory(1000)
    inside = c_void_p(p + 10)
    wide, narrow = c_uint64(), c_int(-1)
    for attribute, expected in {3: p + 10, 11: p, 12: 1000}.items():
        assert hip("hipPointerGetAttribute", byref(wide), attribute, inside) == 0
        assert wide.value == expected
    for attribute, value in {2: 2, 9: 0, 16: 3}.items():
        assert hip("hipPointerGetAttribute", byref(narrow), attribute, inside) == 0
        assert narrow.value == value
    assert hip("hipPointerGetAttribute", byref(wide), 4, inside) == INVALID_VALUE
    assert hip("hipPointerGetAttribute", byref(wide), 17, inside) == INVALID_VALUE
    assert hip("hipPointerGetAttribute", byref(wide), 3, byref(wide)) == INVALID_VALUE
    assert hip("hipPointerGetAttribute", None, 3, inside) == INVALID_VALUE
    values = (c_void_p * 2)(ctypes.addressof(narrow), ctypes.addressof(wide))
    assert hip("hipDrvPointerGetAttributes", 2, (c_int * 2)(9, 12), values, byref(narrow)) == 0
    assert (narrow.value, wide.value) == (-2, 0)
    total = c_size_t()
    assert hip("hipMemPtrGetInfo", inside, byref(total)) == 0
    assert total.value == 1000
    assert hip("hipMemGetAddressRange", None, byref(total), c_void_p(p + 1000)) == NOT_FOUND


def test_contexts_are_devices(hip: Hip) -> None:
    first, second, found, device = c_void_p(), c_void_p(), c_void_p(), c_int()
    assert hip("hipDevicePrimaryCtxRetain", byref(first), 0) == 0
    assert hip("hipCtxCreate", byref(second), 0, 1) == 0
    assert hip("hipCtxGetDevice", byref(device)) == 0
    assert device.value == 1
    assert hip("hipCtxPushCurrent", first) == 0
    assert hip("hipGetDevice", byref(device)) == 0
    assert device.value == 0
    assert hip("hipCtxPopCurrent", byref(found)) == 0
    assert found.value == first.value
    assert hip("hipCtxGetCurrent", byref(found)) == 0
    assert found.value == second.value
    assert hip("hipCtxSetCurrent", NOT_A_HANDLE) == INVALID_CONTEXT
    assert hip("hipCtxDestroy", second) == 0
    assert hip("hipCtxPopCurrent", None) == INVALID_CONTEXT
    assert hip("hipDevicePrimaryCtxRetain", byref(first), 2) == INVALID_DEVICE
    assert hip("hipCtxSetCurrent", first) == 0
    assert hip("hipCtxSynchronize") == 0
    assert hip("hipDevicePrimaryCtxRelease", 0) == 0


def test_settings(hip: Hip) -> None:
    value, can = c_size_t(), c_int()
    assert hip("hipDeviceGetLimit", byref(value), 0) == 0
    assert value.value >= 1024
    assert hip("hipDeviceGetLimit", byref(value), 77) == UNSUPPORTED_LIMIT
    assert hip("hipDeviceCanAccessPeer", byref(can), 0, 1) == 0
    assert can.value == 1
    assert hip("hipDeviceEnablePeerAccess", 0, 0) == INVALID_DEVICE
    assert hip("hipDeviceEnablePeerAccess", 1, 0) == 0
    assert hip("hipDeviceGetP2PAttribute", byref(can), 9, 0, 1) == INVALID_VALUE
    assert hip("hipSetDeviceFlags", 4) == 0
    assert hip("hipSetDeviceFlags", 0x8000) == INVALID_VALUE
    text = ctypes.create_string_buffer(16)
    assert hip("hipDeviceGetPCIBusId", text, 16, 1) == 0
    assert hip("hipDeviceGetByPCIBusId", byref(can), text) == 0
    assert can.value == 1
    assert hip("hipDeviceGetPCIBusId", text, 4, 1) == INVALID_VALUE
    assert hip("hipDeviceGetByPCIBusId", byref(can), b"zz") == INVALID_VALUE
    assert hip("hipDeviceGetByPCIBusId", byref(can), b"0000:77:00.0") == INVALID_DEVICE


def test_streams(hip: Hip) -> None:
    stream, value, number = c_void_p(), c_uint(), c_uint64()
    assert hip("hipStreamCreateWithFlags", byref(stream), 1) == 0
    assert hip("hipStreamGetFlags", stream, byref(value)) == 0
    assert value.value == 1
    assert hip("hipStreamGetId", stream, byref(number)) == 0
    assert number.value > 0
    assert hip("hipStreamIsCapturing", stream, byref(value)) == 0
    assert value.value == 0
    mode = c_int(2)
    assert hip("hipThreadExchangeStreamCaptureMode", byref(mode)) == 0
    assert hip("hipThreadExchangeStreamCaptureMode", byref(mode)) == 0
    assert mode.value == 2
    assert hip("hipThreadExchangeStreamCaptureMode", byref(c_int(9))) == INVALID_VALUE
    seen: list[int] = []
    note = ctypes.CFUNCTYPE(None, c_void_p)(lambda data: seen.append(data or 0))
    assert hip("hipLaunchHostFunc", stream, note, c_void_p(5)) == 0
    callback = ctypes.CFUNCTYPE(None, c_void_p, c_int, c_void_p)(lambda _, error, data: seen.append(data + error))
    assert hip("hipStreamAddCallback", stream, callback, c_void_p(6), 0) == 0
    assert seen == [5, 6]
    assert hip("hipStreamDestroy", stream) == 0
    for call in ("hipStreamGetFlags", "hipStreamGetId", "hipStreamIsCapturing"):
        assert hip(call, stream, byref(number)) == INVALID_HANDLE
        assert hip(call, None, None) == INVALID_VALUE
    assert hip("hipLaunchHostFunc", stream, note, None) == INVALID_HANDLE
    assert hip("hipMemsetAsync", None, 0, size(0), stream) == INVALID_HANDLE


def test_events_are_ordered(hip: Hip) -> None:
    """Each record is later than the one before, however fast they follow; elapsed time is never 0."""
    events = [c_void_p() for _ in range(50)]
    for event in events:
        assert hip("hipEventCreate", byref(event)) == 0
    for event in events:
        assert hip("hipEventRecord", event, None) == 0
    elapsed = c_float()
    times = []
    for event in events[1:]:
        assert hip("hipEventElapsedTime", byref(elapsed), events[0], event) == 0
        times.append(elapsed.value)
    assert times[0] > 0
    assert times == sorted(set(times))
    assert hip("hipEventElapsedTime", byref(elapsed), events[1], events[0]) == 0
    assert elapsed.value < 0
    assert hip("hipEventCreateWithFlags", byref(c_void_p()), 0x100) == INVALID_VALUE
    for event in events:
        assert hip("hipEventDestroy", event) == 0


def test_the_last_error_and_the_last_call(hip: Hip) -> None:
    """A call that works leaves the last error; hipExtGetLastError tells of the last call, whatever it gave."""
    hip("hipGetLastError")
    assert hip("hipSetDevice", 9) == INVALID_DEVICE
    assert hip("hipSetDevice", 0) == 0
    assert hip("hipExtGetLastError") == 0
    assert hip("hipPeekAtLastError") == hip("hipPeekAtLastError") == INVALID_DEVICE
    assert hip("hipGetLastError") == INVALID_DEVICE
    assert hip("hipGetLastError") == hip("hipPeekAtLastError") == 0
    assert hip("hipMalloc", None, size(1)) == INVALID_VALUE
    assert hip("hipExtGetLastError") == INVALID_VALUE
    hip("hipGetLastError")


def test_functions_by_name(hip: Hip, library: HipLibrary) -> None:
    function, status, old = c_void_p(), c_int(-1), c_void_p()
    raw = ctypes.CDLL(library.path)
    assert hip("hipGetProcAddress", b"hipMalloc", byref(function), 60200000, c_uint64(0), byref(status)) == 0
    assert status.value == 0
    assert function.value == ctypes.cast(raw.hipMalloc, c_void_p).value
    name = b"hipGetDeviceProperties"
    assert hip("hipGetProcAddress", name, byref(function), 60200000, c_uint64(0), None) == 0
    assert function.value == ctypes.cast(raw.hipGetDevicePropertiesR0600, c_void_p).value
    assert hip("hipGetProcAddress", name, byref(old), 50700000, c_uint64(0), None) == 0
    assert old.value == ctypes.cast(raw.hipGetDeviceProperties, c_void_p).value
    for unknown in (b"hipNothing", b"hkcVersion", b"malloc"):
        assert hip("hipGetProcAddress", unknown, byref(function), 0, c_uint64(0), byref(status)) == INVALID_VALUE
        assert (status.value, function.value) == (1, None)
    assert hip("hipGetProcAddress", None, byref(function), 0, c_uint64(0), None) == INVALID_VALUE
    assert hip("hipGetDriverEntryPoint", b"hipFree", byref(function), c_uint64(0), None) == 0
    assert function.value


class TestLaunches:
    @pytest.fixture
    def shape(self, device: Device, code: bytes) -> Iterator[Callable[..., int]]:
        """Runs the kernel `shape`, whose output tells of the launch, by any launch function."""
        with device.load(code) as module, device.alloc(40) as out:
            function = module.function("shape")
            raw = ctypes.CDLL(device._library.path)
            values = [c_void_p(out.address), c_int(3)]
            pointers = (c_void_p * 2)(*map(ctypes.addressof, values))

            def launch(name: str, *args: Any, parameters: Any = pointers) -> Any:
                handle = [function._handle if arg is shape_handle else arg for arg in args]
                code = getattr(raw, name)(*[parameters if arg is shape_parameters else arg for arg in handle])
                return code if code else [int(value) for value in out.read(np.int32)]

            yield launch

    def test_by_configuration(self, shape: Callable[..., Any]) -> None:
        config, attribute = launch_config(2, 3, 1, 64, 2, 1), (c_int * 18)(2, 0, 0)
        assert shape("hipDrvLaunchKernelEx", config, shape_handle, shape_parameters, None)[:6] == [2, 3, 1, 64, 2, 1]
        config = launch_config(1, 1, 1, 64, 1, 1, attributes=attribute)
        assert shape("hipDrvLaunchKernelEx", config, shape_handle, shape_parameters, None)[:3] == [1, 1, 1]
        attribute[2] = 1  # cooperative
        assert shape("hipDrvLaunchKernelEx", config, shape_handle, shape_parameters, None) == NOT_SUPPORTED
        assert shape("hipDrvLaunchKernelEx", None, shape_handle, shape_parameters, None) == INVALID_VALUE
        assert shape("hipDrvLaunchKernelEx", UNMAPPED, shape_handle, shape_parameters, None) == INVALID_VALUE
        assert shape("hipDrvLaunchKernelEx", config, NOT_A_HANDLE, shape_parameters, None) != 0

    def test_by_work_items(self, shape: Callable[..., Any], hip: Hip) -> None:
        start, stop, elapsed = c_void_p(), c_void_p(), c_float()
        assert hip("hipEventCreate", byref(start)) == hip("hipEventCreate", byref(stop)) == 0
        tail = (size(0), None, shape_parameters, None)
        got = shape("hipExtModuleLaunchKernel", shape_handle, 128, 6, 1, 64, 2, 1, *tail, start, stop, 0)
        assert got[:6] == [2, 3, 1, 64, 2, 1]
        assert hip("hipEventElapsedTime", byref(elapsed), start, stop) == 0
        assert elapsed.value > 0
        call = ("hipExtModuleLaunchKernel", shape_handle)
        assert shape(*call, 100, 1, 1, 64, 1, 1, *tail, None, None, 0) == INVALID_CONFIGURATION
        assert shape(*call, 64, 1, 1, 0, 1, 1, *tail, None, None, 0) == INVALID_CONFIGURATION
        assert shape(*call, 64, 1, 1, 64, 1, 1, *tail, NOT_A_HANDLE, None, 0) == INVALID_HANDLE
        assert shape("hipHccModuleLaunchKernel", shape_handle, 64, 1, 1, 64, 1, 1, *tail, None, None)[0] == 1

    def test_cooperation_is_not_supported(self, shape: Callable[..., Any]) -> None:
        args = (1, 1, 1, 64, 1, 1, 0, None, shape_parameters)
        assert shape("hipModuleLaunchCooperativeKernel", shape_handle, *args) == NOT_SUPPORTED

    def test_arguments_that_are_not_there(self, shape: Callable[..., Any]) -> None:
        args = (1, 1, 1, 64, 1, 1, 0, None)
        call = ("hipModuleLaunchKernel", shape_handle, *args)
        assert shape(*call, UNMAPPED, None) == INVALID_VALUE
        assert shape(*call, (c_void_p * 2)(0x1000, 0x1000), None) == INVALID_VALUE
        assert shape(*call, None, UNMAPPED) == INVALID_VALUE
        assert shape(*call, None, (c_void_p * 5)(1, 0x1000, 2, 0x1000, 3)) == INVALID_VALUE
        long = c_size_t(12)
        assert shape(*call, None, (c_void_p * 5)(1, 0x1000, 2, ctypes.addressof(long), 3)) == INVALID_VALUE
        assert shape(*call, None, (c_void_p * 9)(*[1, 0x1000] * 4, 3)) == INVALID_VALUE
        destroyed = ("hipModuleLaunchKernel", shape_handle, 1, 1, 1, 64, 1, 1, 0, NOT_A_HANDLE, shape_parameters, None)
        assert shape(*destroyed) == INVALID_HANDLE


shape_handle, shape_parameters = object(), object()


def launch_config(*extent: int, attributes: Any = None) -> Any:
    class Config(ctypes.Structure):
        _fields_ = [
            ("extent", c_uint * 6),
            ("lds", c_uint),
            ("stream", c_void_p),
            ("attributes", c_void_p),
            ("count", c_uint),
        ]

    return byref(Config((c_uint * 6)(*extent), 0, None, attributes and ctypes.addressof(attributes), bool(attributes)))


def test_functions(device: Device, code: bytes, hip: Hip) -> None:
    with device.load(code) as module:
        add = module.function("add")._handle
        number, grid, block = c_int(), c_int(), c_int()
        assert hip("hipOccupancyMaxActiveBlocksPerMultiprocessor", byref(number), add, 1024, size(0)) == 0
        assert number.value == 2
        best = ("hipModuleOccupancyMaxPotentialBlockSize", byref(grid), byref(block), add)
        assert hip(*best, size(0), 100) == 0
        assert block.value == 64  # 32 workgroups of 64 lanes fill more of the device than 16 of 100 do
        assert hip(*best, size(1 << 40), 0) == 701
        assert hip(*best, size(0), -1) == INVALID_VALUE
        attributes = ctypes.create_string_buffer(b"\xaa" * 64, 64)
        assert hip("hipFuncGetAttributes", attributes, add) == 0
        assert attributes.raw[56:] == b"\xaa" * 8
        assert int.from_bytes(attributes.raw[28:32], "little") == module.kernels["add"].max_flat_workgroup_size
        assert hip("hipFuncGetAttributes", attributes, NOT_A_HANDLE) == INVALID_FUNCTION
        assert hip("hipFuncSetCacheConfig", NOT_A_HANDLE, 0) == INVALID_FUNCTION
        assert hip("hipModuleOccupancyMaxActiveBlocksPerMultiprocessor", byref(number), None, 64, size(0)) != 0


@pytest.mark.parametrize(
    ("file", "kernel", "workgroups"),
    [
        ("mx_fp8.gfx942", "mxgemm", 1),  # 258 VGPRs: one wave on each of the four SIMDs
        ("gemm_bf16_pp.gfx942", "gemm", 2),  # 252: two
        ("gemm_bf16_nn.gfx942", "gemm", 3),  # 162: three
    ],
)
def test_occupancy_by_registers(file: str, kernel: str, workgroups: int) -> None:
    code = (Path(__file__).parent.parent / "foreign" / "data" / "triton" / f"{file}.hsaco").read_bytes()
    with open_device("emulator:gfx942").load(code) as module:
        function = module.function(kernel)
        assert function.occupancy(256) == workgroups
        assert function.occupancy(64) == 4 * workgroups
        assert function.occupancy(256, 65536) == 1  # all of the LDS
        assert function.occupancy(64, 65536 // 2) == 2


def test_libraries(device: Device, code: bytes, hip: Hip, tmp_path: Path) -> None:
    """HIP 7's names for modules and functions."""
    library, kernel, name, count = c_void_p(), c_void_p(), c_char_p(), c_uint()
    path = tmp_path / "code.hsaco"
    path.write_bytes(code)
    none = (None, None, 0, None, None, 0)
    for other in (tmp_path, tmp_path / "none", "/dev/zero"):
        assert hip("hipModuleLoad", byref(library), str(other).encode()) == 301
    assert hip("hipSetDevice", device.ordinal) == 0
    assert hip("hipLibraryLoadFromFile", byref(library), str(path).encode(), *none) == 0
    assert hip("hipLibraryGetKernelCount", byref(count), library) == 0
    kernels = (c_void_p * count.value)()
    assert hip("hipLibraryEnumerateKernels", kernels, count, library) == 0
    assert hip("hipLibraryGetKernel", byref(kernel), library, b"add") == 0
    assert kernel.value in list(kernels)
    assert hip("hipKernelGetName", byref(name), kernel) == 0
    assert name.value == b"add"
    offset, width = c_size_t(), c_size_t()
    assert hip("hipKernelGetParamInfo", kernel, size(3), byref(offset), byref(width)) == 0
    assert (offset.value, width.value) == (24, 4)
    assert hip("hipKernelGetParamInfo", kernel, size(4), byref(offset), byref(width)) == INVALID_VALUE
    assert hip("hipLibraryGetKernel", byref(kernel), library, b"none") == NOT_FOUND
    assert hip("hipLibraryUnload", library) == 0
    assert hip("hipLibraryUnload", library) == INVALID_HANDLE
    assert hip("hipKernelGetName", byref(name), kernel) == INVALID_HANDLE
    assert hip("hipLibraryLoadData", byref(library), code, *none) == 0
    assert hip("hipLibraryUnload", library) == 0
    assert hip("hipSetDevice", 0) == 0


def test_an_image_that_reaches_into_memory_without_content(hip: Hip, code: bytes, arch: str, tmp_path: Path) -> None:
    """A section table on a page that is mapped, but behind its file's end: touching it would be a bus error."""
    path = tmp_path / "image"
    path.write_bytes(code[:64].ljust(8192, b"\0"))
    module = c_void_p()
    assert hip("hipSetDevice", 0 if arch == "gfx942" else 1) == 0
    with path.open("r+b") as file:
        image = mmap.mmap(file.fileno(), 8192)
        image[40:48] = (4096).to_bytes(8, "little")  # e_shoff
        file.truncate(4096)
        place = (ctypes.c_char * 8192).from_buffer(image)
        assert hip("hipModuleLoadData", byref(module), place) == 200
        assert hip("hipModuleLoadData", byref(module), UNMAPPED) == 200
    assert hip("hipSetDevice", 0) == 0


def test_reset(library: HipLibrary) -> None:
    """hipDeviceReset ends the device's memory, streams and modules, and leaves those of the other device."""
    program = """
import ctypes, sys
hip = ctypes.CDLL(sys.argv[1])
new = lambda call, *args: (p := ctypes.c_void_p(), hip[call](ctypes.byref(p), *args))[0]
kept = new("hipMalloc", ctypes.c_size_t(8))
hip.hipSetDevice(1)
gone, stream = new("hipMalloc", ctypes.c_size_t(8)), new("hipStreamCreate")
assert hip.hipDeviceReset() == 0
assert hip.hipFree(gone) == 1 and hip.hipStreamSynchronize(stream) == 400
assert hip.hipFree(kept) == 0
"""
    subprocess.run([sys.executable, "-c", program, library.path], check=True)


def test_every_function_survives_nulls(library: HipLibrary) -> None:
    """Each exported function, called with nothing but zeros, gives a code: no crash."""
    symbols = subprocess.run(["nm", "-D", "--defined-only", library.path], capture_output=True, text=True, check=False)
    names = [line.split()[2] for line in symbols.stdout.splitlines() if " T hip" in line]
    if not names:
        pytest.skip("binutils' nm is not installed")
    program = "import ctypes, sys\nhip = ctypes.CDLL(sys.argv[1])\nfor n in sys.argv[2:]: hip[n](*[None] * 16)"
    assert len(names) > 150
    subprocess.run([sys.executable, "-c", program, library.path, *names], check=True)


def test_two_threads_do_everything_at_once(device: Device, code: bytes, hip: Hip) -> None:
    """Allocation, copies, modules, launches, streams, events and errors from several threads: none is mixed up."""
    wrong: list[str] = []

    def check(good: bool, what: str) -> None:
        if not good:
            wrong.append(what)

    def work(seed: int) -> None:
        rng = np.random.default_rng(seed)
        n = 700 + seed
        a, b = rng.standard_normal((2, n), dtype=np.float32)
        hip("hipSetDevice", device.ordinal)
        for step in range(12):
            stream, event = c_void_p(), c_void_p()
            check(hip("hipStreamCreate", byref(stream)) == 0, "stream")
            check(hip("hipEventCreate", byref(event)) == 0, "event")
            with device.load(code) as module, device.alloc(4 * n) as x, device.alloc(4 * n) as y:
                x.write(a)
                y.write(b)
                module.function("add").launch(-(-n // 256), 256, [x, y, x, n], stream=stream.value)
                check(hip("hipEventRecord", event, stream) == 0, "record")
                check(np.array_equal(x.read(np.float32), a + b), "sum")
            check(hip("hipSetDevice", 100 + seed) == INVALID_DEVICE, "device")
            check(hip("hipGetLastError") == INVALID_DEVICE, f"last error of step {step}")
            check(hip("hipGetLastError") == 0, "cleared error")
            check(hip("hipStreamDestroy", stream) == 0, "destroyed stream")
            check(hip("hipEventDestroy", event) == 0, "destroyed event")

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
