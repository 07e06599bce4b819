"""Devices, buffers and arguments: the Python side's rules and messages."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest

from hkc.errors import HkcError
from hkc.runtime import Device, Function, HipError, open_device


@pytest.fixture
def add(device: Device, code: bytes) -> Function:
    return device.load(code).function("add")


def test_open_device(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HKC_DEVICE", "emulator:gfx942")
    assert open_device().arch == "gfx942"
    assert open_device("emulator:gfx950").arch == "gfx950"
    assert open_device("emulator", arch="gfx942").arch == "gfx942"
    monkeypatch.setenv("HKC_ARCH", "gfx942")
    assert open_device("emulator").arch == "gfx942"
    assert "MI355X" in open_device("emulator:gfx950").name


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("emulator:gfx90a", "no target 'gfx90a'"),
        ("cuda:0", "unknown device 'cuda:0'"),
        ("hip:99", "no GPU"),
    ],
)
def test_open_device_errors(spec: str, message: str) -> None:
    with pytest.raises(HkcError, match=message):
        open_device(spec)


def test_unknown_target() -> None:
    with pytest.raises(HkcError, match="unknown target 'gfx1100'"):
        open_device("emulator", arch="gfx1100")


def test_the_kernels_are_listed(device: Device, code: bytes) -> None:
    with device.load(code) as module:
        assert module.info.arch == device.arch
        with pytest.raises(KeyError, match=r"no kernel 'gemm'; the code object has: .*add.*values"):
            module.function("gemm")
    with pytest.raises(HkcError, match="has been unloaded"):
        module.function("add")
    module.unload()


def test_code_for_the_other_target(device: Device, code: bytes, arch: str) -> None:
    other = open_device("emulator:gfx950" if arch == "gfx942" else "emulator:gfx942")
    with pytest.raises(HkcError, match=f"is for {arch}, the device is {other.arch}"):
        other.load(code)


class TestArguments:
    def refused(self, add: Function, args: list[Any], *messages: str) -> None:
        with pytest.raises(HkcError) as raised:
            add.launch(1, 64, args)
        for message in messages:
            assert message in str(raised.value)

    def test_count(self, add: Function) -> None:
        self.refused(add, [None] * 3, "takes 4 arguments", "3 arguments", "2 (pointer), 3 (4 bytes)")

    @pytest.mark.parametrize(
        ("value", "message"),
        [
            (1, "pass a raw device address as ctypes.c_void_p"),
            (1.5, "a buffer, or None"),
            (b"12345678", "8 bytes"),
            (ctypes.c_int(1), "c_int of 4 bytes"),
        ],
    )
    def test_no_pointer(self, add: Function, value: Any, message: str) -> None:
        self.refused(add, [None, value, None, 4], "argument 1 (pointer) of kernel 'add'", message)

    @pytest.mark.parametrize(
        ("value", "message"),
        [
            (None, "got: None"),
            (1.5, "ctypes.c_float"),
            (1 << 32, "the int 4294967296"),
            (-(1 << 31) - 1, "-2147483648 to 4294967295"),
            (b"123", "got: 3 bytes"),
            (ctypes.c_double(1), "c_double of 8 bytes"),
            (np.float64(1), "the float64"),
            ("4", "a value of type str"),
        ],
    )
    def test_no_value(self, add: Function, value: Any, message: str) -> None:
        self.refused(add, [None, None, None, value], "argument 3 (4 bytes) of kernel 'add'", message)

    def test_a_buffer_is_no_value(self, add: Function, device: Device) -> None:
        with device.alloc(4) as buffer:
            self.refused(add, [buffer, buffer, buffer, buffer], "argument 3", "type Buffer")

    def test_a_freed_buffer(self, add: Function, device: Device) -> None:
        buffer = device.alloc(4)
        buffer.free()
        self.refused(add, [buffer, None, None, 0], "has been freed")


@pytest.mark.parametrize(
    ("grid", "block", "lds", "message"),
    [
        (0, 64, 0, "a launch's grid is one to three positive numbers"),
        ((1, 1, 1, 1), 64, 0, "a launch's grid"),
        (1, (64, -1), 0, "a launch's block"),
        (1, (), 0, "a launch's block"),
        (1, "64", 0, "a launch's block"),
        (1, (16, 16, 2), 0, "at most 256 work-items"),
        (1, 64, -1, "dynamic_lds is a number of bytes"),
        (1, 64, 1 << 20, "needs more LDS"),
    ],
)
def test_launch_shapes(add: Function, grid: Any, block: Any, lds: int, message: str) -> None:
    with pytest.raises(HkcError, match=message):
        add.launch(grid, block, [None, None, None, 0], lds)


def test_too_many_work_items(add: Function) -> None:
    with pytest.raises(HipError, match=r"more than 2\^32 - 1 work-items") as raised:
        add.launch((1 << 31, 1, 1), (64, 1, 1), [None, None, None, 0])
    assert (raised.value.code, raised.value.name) == (9, "hipErrorInvalidConfiguration")


def test_occupancy(add: Function, device: Device) -> None:
    """Few registers: 8 waves on each of 4 SIMDs, 32 workgroups of one wave; LDS divides what there is."""
    assert add.occupancy(64) == 32
    assert add.occupancy(256) == 8
    assert add.occupancy(256, device.lds_bytes) == 1
    assert add.occupancy(256, device.lds_bytes // 2) == 2
    assert add.occupancy(256, device.lds_bytes + 1) == 0
    with pytest.raises(HipError):
        add.occupancy(0)


class TestBuffers:
    def test_arrays(self, device: Device) -> None:
        with device.alloc(64) as buffer:
            for kind in (np.float32, np.int16, np.uint8, np.float64):
                array = (np.arange(64 // np.dtype(kind).itemsize) * 3).astype(kind).reshape(-1, 2)
                assert np.array_equal(buffer.write(array).read(kind, array.shape), array)
            strided = np.arange(32, dtype=np.float32).reshape(4, 8)[:, ::2]
            buffer.write(strided)
            assert np.array_equal(buffer.read(np.float32, (4, 4)), strided)
            buffer.fill(0x41)
            assert bytes(buffer.read()) == b"A" * 64
            buffer.write(b"xyz", offset=10)
            assert bytes(buffer.read(offset=9))[:5] == b"AxyzA"
            assert buffer.read("float32", 16).shape == (16,)
        assert "freed" in repr(buffer)

    def test_tensors(self, device: Device) -> None:
        torch = pytest.importorskip("torch")
        tensor = torch.randn(8, 6).to(torch.bfloat16)
        with device.alloc(96) as buffer:
            buffer.write(tensor.T)
            out = torch.empty(6, 8, dtype=torch.bfloat16)
            assert torch.equal(buffer.read_into(out), tensor.T)
            with pytest.raises(HkcError, match="not contiguous"):
                buffer.read_into(out.T)

    def test_empty(self, device: Device) -> None:
        with device.alloc(0) as buffer:
            assert buffer.address
            assert buffer.write(b"").read().size == 0

    @pytest.mark.parametrize("size", [-1, 1.5, "8", True])
    def test_size(self, device: Device, size: Any) -> None:
        with pytest.raises(HkcError, match="a number of bytes"):
            device.alloc(size)

    def test_bounds(self, device: Device) -> None:
        with device.alloc(16) as buffer:
            with pytest.raises(HkcError, match="cannot write 17 bytes at offset 0"):
                buffer.write(bytes(17))
            with pytest.raises(HkcError, match="cannot read 16 bytes at offset 4"):
                buffer.read("float32", 4, offset=4)
            with pytest.raises(HkcError, match="cannot write 1 bytes at offset -1"):
                buffer.write(b"x", offset=-1)
            with pytest.raises(HkcError, match="not host memory"):
                buffer.write(3)
            with pytest.raises(HkcError, match="not writable"):
                buffer.read_into(bytes(4))

    def test_out_of_memory(self, device: Device) -> None:
        with pytest.raises(HipError, match="bytes asked for") as raised:
            device.alloc(1 << 60)
        assert raised.value.name == "hipErrorOutOfMemory"
        assert raised.value.exit_code == 2


def test_checked_mode_can_be_scoped(device: Device) -> None:
    assert not device.sanitizing
    with device.sanitize():
        assert device.sanitizing
        with device.sanitize(False):
            assert not device.sanitizing
        assert device.sanitizing
    assert not device.sanitizing
    device.sanitize()
    assert device.sanitizing
    assert not open_device("emulator:gfx950" if device.arch == "gfx942" else "emulator:gfx942").sanitizing
    device.sanitize(False)
    assert not device.sanitizing


def test_thread_count(device: Device) -> None:
    with pytest.raises(HkcError, match="not negative"):
        device.set_threads(-1)
    device.set_threads(2)
    device.set_threads(0)


def test_import_is_light() -> None:
    """The runtime imports neither numpy nor MLIR until arrays are read."""
    import subprocess
    import sys

    script = "import sys, hkc.runtime.device; print({'numpy', 'mlir', 'torch'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
