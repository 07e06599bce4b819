"""Code objects that other compilers made (data/), run on the emulated device of their target."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from hkc.runtime import Device, open_device

DATA = Path(__file__).parent / "data"
GUARD = 256  # Bytes behind every array, which no kernel may change.
Array = npt.NDArray[Any]

# The kernels of data/clang that call get_global_id() count from 1: libclc 22 reads the global offset where the hidden
# arguments of code object version 5 have the number of workgroups in the next dimension, which is 1 in all launches
# here (`s_load_dword` at 4 bytes into them). The last work-item is one further, too.
FIRST_ID = 1


class Runner:
    """Runs one kernel; what it writes comes back into the arrays."""

    def __init__(self, device: Device, code: bytes, name: str, dynamic_lds: int = 0, trailing: int = 0) -> None:
        self.device, self.code, self.name = device, code, name
        self.dynamic_lds, self.trailing = dynamic_lds, trailing

    def __call__(self, grid: int | Sequence[int], block: int | Sequence[int], *args: Any) -> None:
        with ExitStack() as stack:
            values: list[Any] = []
            buffers = []
            for arg in args:
                if not isinstance(arg, np.ndarray):
                    values.append(arg)
                    continue
                buffer = stack.enter_context(self.device.alloc(arg.nbytes + GUARD))
                buffer.fill(0xA5)
                buffer.write(arg)
                buffers.append((arg, buffer))
                values.append(buffer)
            module = stack.enter_context(self.device.load(self.code))
            values += [None] * self.trailing
            module.function(self.name).launch(grid, block, values, self.dynamic_lds)
            self.device.synchronize()
            for array, buffer in buffers:
                assert np.all(buffer.read(np.uint8, GUARD, array.nbytes) == 0xA5), "bytes behind an array changed"
                buffer.read_into(array)


@pytest.fixture(params=["gfx942", "gfx950"])
def arch(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(params=["fast", "checked"])
def device(arch: str, request: pytest.FixtureRequest) -> Iterator[Device]:
    """The emulated device in both modes: checked mode gives the same numbers and finds nothing to report."""
    opened = open_device(f"emulator:{arch}")
    opened.reports()
    with opened.sanitize(request.param == "checked"):
        yield opened
    assert [str(report) for report in opened.reports()] == []


class Triton(Runner):
    """A kernel of data/triton: its arguments by name, two null pointers (Triton's scratch memory) behind them."""

    def __init__(self, device: Device, name: str) -> None:
        folder = DATA / "triton"
        info = json.loads((folder / f"{name}.{device.arch}.json").read_text())
        code = (folder / f"{name}.{device.arch}.hsaco").read_bytes()
        super().__init__(device, code, info["kernel"], info["shared"], trailing=2)
        self.block = 64 * info["num_warps"]
        self.constants: dict[str, str] = info["consts"]
        self.parameters = [name for name, kind in info["sig"].items() if kind != "constexpr"]

    def launch(self, grid: int | Sequence[int], **args: Any) -> None:
        assert sorted(args) == sorted(self.parameters)
        self(grid, self.block, *(args[name] for name in self.parameters))


def clang(device: Device, file: str, kernel: str) -> Runner:
    """A kernel of data/clang."""
    return Runner(device, (DATA / "clang" / f"{file}.{device.arch}.hsaco").read_bytes(), kernel)
