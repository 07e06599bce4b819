"""Launching on host arrays, on a device of the test's own that keeps its memory in NumPy arrays."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest

from hkc.arguments import array, bind_arguments
from hkc.driver.launch import launch
from hkc.driver.meta import KernelMeta, Parameter
from hkc.dtypes import DTYPES


class Buffer:
    def __init__(self, size: int) -> None:
        self.memory = np.full(max(size, 1), 0xAA, np.uint8)
        self.address = self.memory.ctypes.data
        self.nbytes = size
        self.freed = False

    def write(self, data: np.ndarray) -> Buffer:
        self.memory[: data.size] = data
        return self

    def read(self, dtype: str, shape: tuple[int, ...], offset: int = 0) -> np.ndarray:
        return self.memory[offset : offset + shape[0]].copy()

    def free(self) -> None:
        self.freed = True


class Device:
    """Stands for a device, its module and its kernel: a launch calls ``body`` with NumPy views of the arguments."""

    def __init__(self, meta: KernelMeta, body: Any) -> None:
        self.module = self
        self.device = self
        self.meta, self.body = meta, body
        self.buffers: list[Buffer] = []
        self.launches: list[tuple[Any, ...]] = []

    def alloc(self, size: int) -> Buffer:
        self.buffers.append(Buffer(size))
        return self.buffers[-1]

    def synchronize(self) -> None:
        pass

    def launch(self, grid: Any, block: Any, args: list[Any], dynamic_lds: int) -> None:
        self.launches.append((grid, block, args, dynamic_lds))
        values, rest = [], list(args)
        for parameter in self.meta.parameters:
            if parameter.kind == "scalar":
                values.append(rest.pop(0))
                continue
            rank, element = len(parameter.dims), DTYPES[parameter.dtype]
            pointer, shape, strides = rest[0], rest[1 : 1 + rank], rest[1 + rank : 1 + 2 * rank]
            rest = rest[1 + 2 * rank :]
            dtype = np.dtype(element.numpy or "u2")
            steps = tuple(stride * dtype.itemsize for stride in strides)
            low = sum((n - 1) * s for n, s in zip(shape, steps, strict=True) if s < 0)
            high = sum((n - 1) * s for n, s in zip(shape, steps, strict=True) if s > 0) + dtype.itemsize
            memory = np.frombuffer((ctypes.c_ubyte * (high - low)).from_address(pointer.value + low), np.uint8)
            values.append(np.ndarray(tuple(shape), dtype, memory, -low, steps))
        assert not rest
        self.body(*values)


META = KernelMeta(
    name="axpy",
    arch="gfx950",
    parameters=(
        Parameter("X", "view", "f32", ("M", "N"), loaded=True),
        Parameter("alpha", "scalar", "f32"),
        Parameter("Y", "view", "f32", ("M", "N"), stored=True),
    ),
    grid=("cdiv(M, 4)", "N"),
    block=64,
)


def axpy(x: np.ndarray, alpha: ctypes.c_float, y: np.ndarray) -> None:
    y[...] = x * alpha.value


def run(x: Any, y: Any, meta: KernelMeta = META, body: Any = axpy) -> Device:
    device = Device(meta, body)
    launch(device, meta, bind_arguments(meta, {"X": x, "alpha": 2.0, "Y": y}))  # type: ignore[arg-type]
    return device


def test_grid_block_and_arguments_in_order() -> None:
    x, y = np.ones((6, 3), np.float32), np.zeros((6, 3), np.float32)
    device = run(x, y)
    ((grid, block, args, lds),) = device.launches
    assert (grid, block, lds) == ((2, 3, 1), (64, 1, 1), 0)
    assert args[1:5] == [6, 3, 3, 1]
    assert args[7:] == [6, 3, 3, 1]
    assert (y == 2).all()
    assert all(buffer.freed for buffer in device.buffers)


@pytest.mark.parametrize(
    "views",
    [
        lambda a, b: (a, b),
        lambda a, b: (a.T, b.T),
        lambda a, b: (a[::-1, 1:], b[:, :-1]),
        lambda a, b: (a[:, ::-1], b[::-1]),
        lambda a, b: (np.broadcast_to(a[0, :5], (4, 5)), b[1:5, 0:5]),
        lambda a, b: (a[::2, ::2], b[1::2, 1::2]),
    ],
)
def test_any_strides_and_nothing_else_is_touched(views: Any) -> None:
    a = np.arange(48, dtype=np.float32).reshape(6, 8)
    b = np.full((6, 8), -1, np.float32)
    x, y = views(a, b)
    expected = b.copy()
    np.ndarray(y.shape, y.dtype, expected, y.ctypes.data - b.ctypes.data, y.strides)[...] = x * 2
    before = a.copy()
    run(x, y)
    np.testing.assert_array_equal(b, expected)
    np.testing.assert_array_equal(a, before)


def test_what_is_only_read_may_be_read_only() -> None:
    x, y = np.ones((4, 4), np.float32), np.zeros((4, 4), np.float32)
    x.flags.writeable = False
    run(x, y)
    assert (y == 2).all()


def test_arrays_that_share_memory_share_it_on_the_device() -> None:
    a = np.arange(16, dtype=np.float32).reshape(4, 4)
    device = run(a, a)
    assert len(device.buffers) == 1
    np.testing.assert_array_equal(a, 2 * np.arange(16).reshape(4, 4))


def test_two_outputs_interleaved_in_one_array() -> None:
    parameters = (Parameter("X", "view", "f32", ("M", "N"), stored=True), *META.parameters[1:])
    both = KernelMeta("both", "gfx950", parameters, ("1",), 64)

    def fill(x: np.ndarray, _: ctypes.c_float, y: np.ndarray) -> None:
        x[...] = 1
        y[...] = 2

    a = np.zeros((4, 6), np.float32)
    device = run(a[:, :3], a[:, 3:], both, fill)
    assert len(device.buffers) == 1
    np.testing.assert_array_equal(a, [[1, 1, 1, 2, 2, 2]] * 4)


@pytest.mark.parametrize("shape", [(0, 4), (4, 0), (0, 0)])
def test_an_empty_grid_does_nothing(shape: tuple[int, int]) -> None:
    device = run(np.ones(shape, np.float32), np.ones(shape, np.float32))
    assert not device.launches


def test_an_empty_array_with_work_to_do_is_launched() -> None:
    parameters = (Parameter("X", "view", "f32", ("N", "K"), loaded=True), *META.parameters[1:])
    meta = KernelMeta(
        "sum", "gfx950", (*parameters[:2], Parameter("Y", "view", "f32", ("N",), stored=True)), ("N",), 64
    )

    def total(*values: Any) -> None:
        values[2][...] = 0

    y = np.ones(3, np.float32)
    device = Device(meta, total)
    device.launch = lambda grid, block, args, lds: device.launches.append((grid, args))  # type: ignore[method-assign]
    launch(device, meta, bind_arguments(meta, {"X": np.ones((3, 0), np.float32), "alpha": 1, "Y": y}))  # type: ignore[arg-type]
    assert device.launches[0][0] == (3, 1, 1)


def test_bf16_of_torch_and_wrapped_bits() -> None:
    torch = pytest.importorskip("torch")
    meta = KernelMeta(
        "copy",
        "gfx950",
        (
            Parameter("X", "view", "bf16", ("N",), loaded=True),
            Parameter("alpha", "scalar", "f32"),
            Parameter("Y", "view", "bf16", ("N",), stored=True),
        ),
        ("1",),
        64,
    )

    def copy(x: np.ndarray, _: ctypes.c_float, y: np.ndarray) -> None:
        y[...] = x

    x, y = torch.arange(9, dtype=torch.bfloat16), torch.zeros(9, dtype=torch.bfloat16)
    run(x, y, meta, copy)
    assert torch.equal(x, y)
    bits = np.zeros(9, np.uint16)
    run(x, array(bits, DTYPES["bf16"]), meta, copy)
    np.testing.assert_array_equal(bits, x.view(torch.uint16).numpy())
