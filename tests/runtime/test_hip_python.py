"""A HIP client that hkc did not write: AMD's hip-python, which finds the emulator's library through ROCM_PATH."""

from __future__ import annotations

import ctypes
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hkc.runtime.hip import emulator

hip = pytest.importorskip("hip", reason="hip-python is not installed: pip install -e '.[hip-python]'").hip

FOREIGN = Path(__file__).parent.parent / "foreign" / "data"
ORDINALS = {"gfx942": 0, "gfx950": 1}


def ok(result: tuple[Any, ...]) -> Any:
    """What a call gives behind hipSuccess."""
    error, *values = result
    assert error == hip.hipError_t.hipSuccess, error
    return values[0] if len(values) == 1 else tuple(values)


@pytest.fixture(autouse=True)
def rocm(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """A ROCM_PATH whose libamdhip64.so is the emulator's; hip-python reads it at its first call."""
    lib = tmp_path_factory.mktemp("rocm") / "lib"
    lib.mkdir()
    (lib / "libamdhip64.so").symlink_to(emulator().path)
    monkeypatch.setenv("ROCM_PATH", str(lib.parent))


@pytest.fixture
def ordinal(arch: str) -> Iterator[int]:
    number = ORDINALS[arch]
    ok(hip.hipInit(0))
    ok(hip.hipSetDevice(number))
    yield number
    ok(hip.hipSetDevice(0))


def kernel_of(code: bytes, name: str) -> tuple[Any, Any]:
    module = ok(hip.hipModuleLoadData(code))
    return module, ok(hip.hipModuleGetFunction(module, name.encode()))


def to_device(array: np.ndarray) -> Any:
    pointer = ok(hip.hipMalloc(array.nbytes))
    ok(hip.hipMemcpy(pointer, array, array.nbytes, hip.hipMemcpyKind.hipMemcpyHostToDevice))
    return pointer


def test_the_library_is_the_emulators(ordinal: int, arch: str) -> None:
    assert ok(hip.hipGetDeviceCount()) == 2
    properties = ok(hip.hipGetDeviceProperties(ordinal))
    assert properties.gcnArchName.startswith(arch)
    assert properties.warpSize == 64
    assert "emulated by hkc" in properties.name


def test_every_attribute_agrees_with_the_properties(ordinal: int) -> None:
    """hip-python's own names, numbers and layout: an attribute is its property, or an error where it has no value."""
    properties = ok(hip.hipGetDeviceProperties(ordinal))
    fields = {
        "WarpSize": "warpSize", "MultiprocessorCount": "multiProcessorCount", "ClockRate": "clockRate",
        "MaxThreadsPerBlock": "maxThreadsPerBlock", "MaxSharedMemoryPerBlock": "sharedMemPerBlock",
        "SharedMemPerBlockOptin": "sharedMemPerBlockOptin", "L2CacheSize": "l2CacheSize",
        "MemoryBusWidth": "memoryBusWidth", "ManagedMemory": "managedMemory", "PciBusId": "pciBusID",
        "ComputeCapabilityMajor": "major", "ComputeCapabilityMinor": "minor", "EccEnabled": "ECCEnabled",
        "MaxRegistersPerMultiprocessor": "regsPerMultiprocessor", "UnifiedAddressing": "unifiedAddressing",
        "MaxThreadsPerMultiProcessor": "maxThreadsPerMultiProcessor", "CooperativeLaunch": "cooperativeLaunch",
        "AsyncEngineCount": "asyncEngineCount", "IsLargeBar": "isLargeBar", "ConcurrentKernels": "concurrentKernels",
    }  # fmt: skip
    for attribute, field in fields.items():
        value = ok(hip.hipDeviceGetAttribute(getattr(hip.hipDeviceAttribute_t, f"hipDeviceAttribute{attribute}"), 0))
        there = ok(hip.hipGetDeviceProperties(0))
        assert value == getattr(there, field), attribute
    assert properties.maxBlocksPerMultiProcessor == 32
    for attribute in hip.hipDeviceAttribute_t:
        error, _ = hip.hipDeviceGetAttribute(attribute, ordinal)
        assert error in (hip.hipError_t.hipSuccess, hip.hipError_t.hipErrorInvalidValue)


def test_every_error_has_its_name() -> None:
    """All numbers that hip-python knows and ROCm 6 has, by hipGetErrorName."""
    newer = {"hipErrorInvalidResourceType", "hipErrorInvalidResourceConfiguration", "hipErrorStreamDetached",
             "hipErrorInvalidClusterSize", "hipErrorTbd"}  # fmt: skip
    for error in hip.hipError_t:
        if error.name not in newer:
            assert str(ok(hip.hipGetErrorName(error))) == error.name
            assert ok(hip.hipGetErrorString(error))


def test_add(ordinal: int, code: bytes) -> None:
    """Allocate, copy, load, launch with hip-python's own argument packing, read back; timed by events on a stream."""
    n = 1000
    a, b = np.random.default_rng(n).standard_normal((2, n), dtype=np.float32)
    out = np.zeros(n, np.float32)
    x, y, z = (to_device(array) for array in (a, b, out))
    module, add = kernel_of(code, "add")
    stream, start, stop = ok(hip.hipStreamCreate()), ok(hip.hipEventCreate()), ok(hip.hipEventCreate())
    ok(hip.hipEventRecord(start, stream))
    ok(
        hip.hipModuleLaunchKernel(
            add, gridDimX=4, gridDimY=1, gridDimZ=1, blockDimX=256, blockDimY=1, blockDimZ=1, sharedMemBytes=0,
            stream=stream, kernelParams=None, extra=(x, y, z, ctypes.c_int(n)),
        )
    )  # fmt: skip
    ok(hip.hipEventRecord(stop, stream))
    ok(hip.hipStreamSynchronize(stream))
    ok(hip.hipMemcpyAsync(out, z, out.nbytes, hip.hipMemcpyKind.hipMemcpyDeviceToHost, stream))
    assert np.array_equal(out, a + b)
    assert ok(hip.hipEventElapsedTime(start, stop)) > 0
    ok(hip.hipEventDestroy(start))
    ok(hip.hipEventDestroy(stop))
    ok(hip.hipStreamDestroy(stream))
    ok(hip.hipModuleUnload(module))
    for pointer in (x, y, z):
        ok(hip.hipFree(pointer))


@pytest.mark.parametrize("size", [(64, 96, 80), (128, 272, 192)])
def test_a_triton_gemm(ordinal: int, arch: str, size: tuple[int, int, int]) -> None:
    m, n, k = size
    folder = FOREIGN / "triton"
    info = json.loads((folder / f"gemm_f16.{arch}.json").read_text())
    module, gemm = kernel_of((folder / f"gemm_f16.{arch}.hsaco").read_bytes(), info["kernel"])
    rng = np.random.default_rng(size)
    a, b = (rng.integers(-4, 5, shape).astype(np.float16) for shape in ((m, k), (k, n)))
    c = np.zeros((m, n), np.float16)
    values: dict[str, Any] = {"A": to_device(a), "B": to_device(b), "C": to_device(c)}
    scalars = {"M": m, "N": n, "K": k, "sam": k, "sbk": n, "scm": n}
    values |= {name: ctypes.c_int(value) for name, value in scalars.items()}
    parameters = [name for name, kind in info["sig"].items() if kind != "constexpr"]
    null = ctypes.c_void_p(None)
    arguments = (*(values[name] for name in parameters), null, null)
    grid = -(-m // int(info["consts"]["BM"])) * -(-n // int(info["consts"]["BN"]))
    shape = (grid, 1, 1, 64 * info["num_warps"], 1, 1, info["shared"])
    ok(hip.hipModuleLaunchKernel(gemm, *shape, None, None, arguments))
    ok(hip.hipDeviceSynchronize())
    ok(hip.hipMemcpy(c, values["C"], c.nbytes, hip.hipMemcpyKind.hipMemcpyDeviceToHost))
    assert np.array_equal(c, (a.astype(np.float32) @ b.astype(np.float32)).astype(np.float16))
    ok(hip.hipModuleUnload(module))
    for name in "ABC":
        ok(hip.hipFree(values[name]))


def test_queries_of_functions_and_pointers(ordinal: int, code: bytes) -> None:
    module, add = kernel_of(code, "add")
    kind = hip.hipFunction_attribute
    assert ok(hip.hipFuncGetAttribute(kind.HIP_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, add)) >= 256
    assert ok(hip.hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(add, 256, 0)) == 8
    assert ok(hip.hipModuleGetFunctionCount(module)) > 3
    grid, block = ok(hip.hipModuleOccupancyMaxPotentialBlockSize(add, 0, 0))
    assert block * grid == 2048 * ok(hip.hipGetDeviceProperties(ordinal)).multiProcessorCount
    pointer = ok(hip.hipMalloc(1000))
    base, size = ok(hip.hipMemGetAddressRange(int(pointer) + 100))
    assert (int(base), size) == (int(pointer), 1000)
    attributes = ok(hip.hipPointerGetAttributes(pointer))
    assert (attributes.type, attributes.device) == (hip.hipMemoryType.hipMemoryTypeDevice, ordinal)
    ok(hip.hipFree(pointer))
    ok(hip.hipModuleUnload(module))


def test_errors_are_hips(ordinal: int, code: bytes) -> None:
    errors = hip.hipError_t
    assert hip.hipSetDevice(7)[0] == errors.hipErrorInvalidDevice
    assert hip.hipGetLastError()[0] == errors.hipErrorInvalidDevice
    assert hip.hipGetLastError()[0] == errors.hipSuccess
    assert hip.hipMalloc(1 << 60)[0] == errors.hipErrorOutOfMemory
    assert hip.hipModuleLoadData(b"not a code object" * 8)[0] == errors.hipErrorInvalidImage
    module = ok(hip.hipModuleLoadData(code))
    assert hip.hipModuleGetFunction(module, b"none")[0] == errors.hipErrorNotFound
    pointer = ok(hip.hipMalloc(64))
    ok(hip.hipFree(pointer))
    assert hip.hipFree(pointer)[0] == errors.hipErrorInvalidValue
    ok(hip.hipModuleUnload(module))
