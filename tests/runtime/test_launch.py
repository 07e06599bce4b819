"""Launches on the emulated devices: arguments, hidden arguments, globals, LDS, traps, faults and reports."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from hkc.runtime import Device, HipError

SOURCE = (Path(__file__).parent / "data" / "device.cl").read_text().splitlines()


def line_of(text: str) -> int:
    """The line of device.cl that has ``text``."""
    return next(number for number, line in enumerate(SOURCE, 1) if text in line)


@pytest.mark.parametrize("n", [1, 63, 64, 1000, 4096])
def test_add(device: Device, code: bytes, n: int) -> None:
    rng = np.random.default_rng(n)
    a, b = rng.standard_normal((2, n), dtype=np.float32)
    fn = device.load(code).function("add")
    with device.alloc(4 * n) as x, device.alloc(4 * n) as y, device.alloc(4 * n + 64) as out:
        out.fill(0xFF)
        x.write(a)
        y.write(b)
        fn.launch((n + 255) // 256, 256, [x, y, out, n])
        device.synchronize()
        assert np.array_equal(out.read(np.float32, n), a + b)
        assert np.all(out.read(offset=4 * n) == 0xFF)


def test_hidden_arguments(device: Device, code: bytes) -> None:
    with device.load(code) as module, device.alloc(40) as out:
        module.function("shape").launch((5, 4, 3), (8, 2, 4), [out, -9])
        assert list(out.read(np.int32)) == [5, 4, 3, 8, 2, 4, 0, 0, 0, -9]


def test_by_value_arguments(device: Device, code: bytes) -> None:
    class Triple(ctypes.Structure):
        _fields_ = [("small", ctypes.c_int8), ("middle", ctypes.c_int32), ("large", ctypes.c_int64)]

    triple = Triple(-3, 70000, -(1 << 40))
    rest = [-7, ctypes.c_short(-300), 1 << 62, ctypes.c_float(1.25), ctypes.c_double(-2.5)]
    with device.load(code) as module, device.alloc(64) as out:
        for struct in (triple, bytes(triple)):
            out.fill(0)
            module.function("values").launch(1, 1, [out, struct, *rest])
            expected = [-3, 70000, -(1 << 40), -7, -300, 1 << 62, 125, -250]
            assert list(out.read(np.int64)) == expected
        module.function("values").launch(1, 1, [out, triple, *rest[:3], np.float32(3), ctypes.c_double(0)])
        assert list(out.read(np.int64))[6:] == [300, 0]


def test_globals_are_relocated_and_live_with_the_module(device: Device, code: bytes, hip: Callable[..., int]) -> None:
    with device.alloc(4) as out:
        for _ in range(2):
            with device.load(code) as module:
                for expected in (8, 9):
                    module.function("count").launch(1, 1, [out])
                    assert out.read(np.int32)[0] == expected
                address, size = ctypes.c_void_p(), ctypes.c_size_t()
                name = b"counter"
                assert hip("hipModuleGetGlobal", ctypes.byref(address), ctypes.byref(size), module._handle, name) == 0
                assert size.value == 4
                assert hip("hipMemsetD32", address, 41, ctypes.c_size_t(1)) == 0
                module.function("count").launch(1, 1, [out])
                assert out.read(np.int32)[0] == 42


def test_dynamic_lds(device: Device, code: bytes) -> None:
    with device.load(code) as module, device.alloc(1024) as out:
        module.function("exchange").launch(1, 256, [out, 0], dynamic_lds=1024)
        assert np.array_equal(out.read(np.int32), (np.arange(256) ^ 1) * 3)


def test_an_argument_buffer(device: Device, code: bytes, hip: Callable[..., int]) -> None:
    """The `extra` list of hipModuleLaunchKernel: arguments as one buffer."""
    with device.load(code) as module, device.alloc(40) as out:
        raw = out.address.to_bytes(8, "little") + (123).to_bytes(4, "little")
        size = ctypes.c_size_t(len(raw))
        buffer = ctypes.create_string_buffer(raw, len(raw))
        keys = [1, ctypes.addressof(buffer), 2, ctypes.addressof(size), 3]
        extra = (ctypes.c_void_p * 5)(*keys)
        handle = module.function("shape")._handle
        shape = (2, 1, 1, 64, 1, 1, 0)
        assert hip("hipModuleLaunchKernel", handle, *shape, None, None, extra) == 0
        assert list(out.read(np.int32)) == [2, 1, 1, 64, 1, 1, 0, 0, 0, 123]
        size.value = 11
        assert hip("hipModuleLaunchKernel", handle, *shape, None, None, extra) == 1
        assert hip("hipModuleLaunchKernel", handle, *shape, None, extra, extra) == 1
        assert hip("hipModuleLaunchKernel", handle, *shape, None, None, None) == 1


def test_an_illegal_address_names_the_line(device: Device, code: bytes) -> None:
    with device.load(code) as module, device.alloc(4) as out:
        fn = module.function("store_at")
        with pytest.raises(HipError) as raised:
            fn.launch(1, 64, [0x10, 1])
        assert raised.value.name == "hipErrorIllegalAddress"
        assert raised.value.span is not None
        assert raised.value.span.file.endswith("device.cl")
        assert raised.value.span.line == line_of("*(global int*)address = value;")
        assert any(report.kind == "memory-fault" for report in device.reports())
        fn.launch(1, 64, [out.address, 77])
        assert out.read(np.int32)[0] == 77


def test_a_trap_is_a_launch_failure(device: Device, code: bytes) -> None:
    with device.load(code) as module:
        module.function("trap").launch(1, 64, [0])
        with pytest.raises(HipError, match="s_trap") as raised:
            module.function("trap").launch(1, 64, [1])
        assert raised.value.name == "hipErrorLaunchFailure"
        module.function("trap").launch(1, 64, [0])


def test_checked_mode_reports_a_store_past_the_end(device: Device, code: bytes) -> None:
    with device.load(code) as module, device.alloc(256) as x, device.alloc(252) as out:
        x.fill(0)
        args = [x, x, out, 64]
        module.function("add").launch(1, 64, args)
        assert device.reports() == []
        with device.sanitize():
            module.function("add").launch(1, 64, args)
        reports = device.reports()
        assert reports
        assert all(report.kind == "out-of-bounds" for report in reports)
        assert reports[0].lane == 63
        assert reports[0].address == out.address + 252
        assert reports[0].span is not None
        assert reports[0].span.line == line_of("out[i] = a[i] + b[i];")
        assert device.reports() == []


def test_counters(device: Device, code: bytes) -> None:
    with device.load(code) as module, device.alloc(4096) as out:
        module.function("exchange").launch(3, 256, [out, 0], dynamic_lds=1024)
        counted = device.counters()
        assert counted["launches"] == 1
        assert counted["barriers"] == 3 * 4
        assert counted["lds_writes"] == counted["lds_reads"] == counted["global_stores"] == 3 * 4
        assert counted["instructions"] > 100
        assert device.counters()["launches"] == 0


def test_threads_launch_at_once(device: Device, code: bytes) -> None:
    wrong: list[int] = []
    with device.load(code) as module:
        fn = module.function("add")

        def work(seed: int) -> None:
            a, b = np.random.default_rng(seed).standard_normal((2, 512), dtype=np.float32)
            with device.alloc(2048) as x, device.alloc(2048) as y, device.alloc(2048) as out:
                x.write(a)
                y.write(b)
                for _ in range(20):
                    out.fill(0)
                    fn.launch(2, 256, [x, y, out, 512])
                    if not np.array_equal(out.read(np.float32), a + b):
                        wrong.append(seed)

        threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert not wrong
