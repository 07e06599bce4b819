"""Launching a compiled kernel on host arrays: copies in, launch, copies back."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from hkc.arguments import Array, Bound
from hkc.driver.meta import KernelMeta
from hkc.dtypes import DTYPES
from hkc.errors import HkcError

if TYPE_CHECKING:
    from hkc.runtime.device import Buffer, Device, Function

_CTYPES = {"f32": ctypes.c_float, "f64": ctypes.c_double}


@dataclass
class _Range:
    """Host bytes ``low`` to ``high`` with their copy on the device."""

    low: int
    high: int
    buffer: Buffer | None = None


def launch(function: Function, meta: KernelMeta, bound: Bound) -> None:
    """Run the kernel once and write what it stored back to the host arrays; an empty grid does nothing.

    Arrays that share host memory share it on the device too. Raises HipError if the kernel traps or faults.
    """
    grid = bound.grid(meta)
    if 0 in grid:
        return
    device = function.module.device
    ranges = _upload(device, [v for v in bound.values.values() if isinstance(v, Array)])
    try:
        arguments: list[Any] = []
        for parameter in meta.parameters:
            value = bound.values[parameter.name]
            if isinstance(value, Array):
                arguments += [ctypes.c_void_p(_address(value, ranges)), *value.shape, *value.strides]
            else:
                arguments.append(_scalar(value, parameter.dtype))
        function.launch(grid, (meta.block, 1, 1), arguments, meta.dynamic_lds)
        device.synchronize()
        for parameter in meta.parameters:
            value = bound.values[parameter.name]
            if parameter.stored and isinstance(value, Array):
                _download(value, ranges)
    finally:
        for memory in ranges:
            if memory.buffer is not None:
                memory.buffer.free()


def open_device(spec: str | None, arch: str | None) -> Device:
    """Like :func:`hkc.runtime.open_device`; raises HkcError also when the named device is not of the named
    target."""
    from hkc.runtime.device import open_device

    if spec is not None and not isinstance(spec, str):
        raise HkcError(
            "a device is given by its name", expected="for example 'emulator:gfx950' or 'hip:0'", got=repr(spec)
        )
    device = open_device(spec, arch=arch)
    if arch is not None and device.arch != arch:
        raise HkcError(f"the device is {device.arch}, the kernel is wanted for {arch}")
    return device


def _scalar(value: int | float, dtype: str) -> Any:
    if dtype in _CTYPES:
        return _CTYPES[dtype](value)
    if DTYPES[dtype].is_float:
        from hkc.numerics import encode

        return encode(np.asarray(value, np.float64), DTYPES[dtype]).tobytes()
    return value


def _upload(device: Device, arrays: list[Array]) -> list[_Range]:
    """Copies of the arrays' bytes on the device, one for all that overlap."""
    ranges: list[_Range] = []
    for array in sorted(arrays, key=lambda a: a.low):
        if ranges and (array.low < ranges[-1].high or (array.low, array.high) == (ranges[-1].low, ranges[-1].high)):
            ranges[-1].high = max(ranges[-1].high, array.high)
        else:
            ranges.append(_Range(array.low, array.high))
    for memory in ranges:
        memory.buffer = device.alloc(memory.high - memory.low).write(host_bytes(memory.low, memory.high))
    return ranges


def _holding(array: Array, ranges: list[_Range]) -> _Range:
    return next(r for r in ranges if r.low <= array.low and array.high <= r.high)


def _address(array: Array, ranges: list[_Range]) -> int:
    memory = _holding(array, ranges)
    assert memory.buffer is not None
    return memory.buffer.address + array.address - memory.low


def _download(array: Array, ranges: list[_Range]) -> None:
    """Write the elements of one array back, and nothing between them."""
    memory = _holding(array, ranges)
    assert memory.buffer is not None
    copy = memory.buffer.read("uint8", (array.high - array.low,), offset=array.low - memory.low)
    target = elements(array, host_bytes(array.low, array.high))
    np.copyto(target, elements(array, copy))


def host_bytes(low: int, high: int) -> npt.NDArray[np.uint8]:
    """Host memory as a NumPy array, without a copy."""
    return np.frombuffer(memoryview((ctypes.c_ubyte * (high - low)).from_address(low)), np.uint8)


def elements(array: Array, memory: npt.NDArray[np.uint8]) -> npt.NDArray:
    """The array's elements, as raw bits, in ``memory`` that holds its bytes ``low`` to ``high``."""
    size = array.dtype.bytes
    strides = tuple(stride * size for stride in array.strides)
    return np.ndarray(array.shape, f"u{size}", memory, array.address - array.low, strides)
