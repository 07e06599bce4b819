"""Fixtures of the runtime's tests: the emulated devices and a code object that clang made (data/device.cl)."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hkc.runtime import Device, open_device
from hkc.runtime.hip import HipLibrary, emulator

DATA = Path(__file__).parent / "data"


@pytest.fixture(params=["gfx942", "gfx950"])
def arch(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def code(arch: str) -> bytes:
    """The code object of device.cl for ``arch``."""
    return (DATA / f"device.{arch}.hsaco").read_bytes()


@pytest.fixture
def device(arch: str) -> Iterator[Device]:
    """The emulated device of ``arch``, with no reports or counts left from before."""
    opened = open_device(f"emulator:{arch}")
    opened.reports()
    opened.counters()
    yield opened
    opened.reports()


@pytest.fixture
def library() -> HipLibrary:
    return emulator()


@pytest.fixture
def hip(library: HipLibrary) -> Callable[..., int]:
    """Calls any function of the emulator's library by name and gives its code, as a C client would."""
    raw = ctypes.CDLL(library.path)

    def call(name: str, *args: object) -> int:
        return getattr(raw, name)(*args)

    call("hipSetDevice", 0)
    return call
