"""Which HIP library is used, and the path of a GPU user: the same calls without the emulator's extras."""

from __future__ import annotations

import ctypes
from pathlib import Path

import pytest

from hkc.errors import HkcError
from hkc.runtime import hip, open_device
from hkc.runtime.hip import HipError, HipLibrary, emulator


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> HipLibrary:
    """The emulator's library taken for ROCm's: only ``hip*`` functions are used."""
    library = HipLibrary(emulator().path)
    library.emulated = False
    for name in [name for name in library._functions if name.startswith("hkc")]:
        del library._functions[name]
    monkeypatch.setattr(hip, "gpu", lambda: library)
    monkeypatch.delenv("HKC_DEVICE", raising=False)
    return library


def test_a_gpu_is_found_by_target(gpu: HipLibrary) -> None:
    for arch, ordinal in (("gfx942", 0), ("gfx950", 1), (None, 0)):
        device = open_device(arch=arch)
        assert (device.emulated, device.ordinal) == (False, ordinal)
    assert open_device("hip").ordinal == 0
    assert open_device("hip:1").arch == "gfx950"
    for spec in ("hip:2", "hip:x", "hip:-1"):
        with pytest.raises(HkcError, match="0 to 1"):
            open_device(spec)
    assert open_device("emulator:gfx942").emulated


def test_another_gpu_is_not_taken(gpu: HipLibrary, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu, "arch", lambda ordinal: "gfx1100")
    assert open_device(arch="gfx942").emulated
    with pytest.raises(HkcError, match="the GPU is gfx1100"):
        open_device("hip:0")


def test_a_gpu_has_no_checked_mode(gpu: HipLibrary) -> None:
    device = open_device("hip:0")
    with pytest.raises(HkcError, match="needs the emulated device"):
        device.sanitize()
    with pytest.raises(HkcError, match="needs the emulated device"):
        device.set_threads(1)
    assert not device.sanitizing
    assert device.reports() == []
    assert device.counters() == {}


def test_memory_modules_and_errors_without_the_extras(gpu: HipLibrary, code: bytes, arch: str) -> None:
    device = open_device(arch=arch)
    with device.alloc(8) as buffer, device.load(code) as module:
        buffer.write(b"abcdefgh")
        assert bytes(buffer.read()) == b"abcdefgh"
        assert module.function("add").occupancy(256) > 0
        device.synchronize()
    with pytest.raises(HipError, match=r"out of memory \(hipMalloc: hipErrorOutOfMemory\)"):
        device.alloc(1 << 60)


def test_libraries_that_are_none(tmp_path: Path) -> None:
    path = tmp_path / "libamdhip64.so"
    path.write_bytes(b"not a library")
    with pytest.raises(HkcError, match="cannot use the HIP library"):
        HipLibrary(str(path))
    with pytest.raises(HkcError, match="hipInit"):
        HipLibrary("libc.so.6")


def test_the_emulator_is_never_taken_for_a_gpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """HIP clients may be pointed at the emulator through ROCM_PATH; hkc itself still sees no GPU there."""
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "libamdhip64.so").symlink_to(emulator().path)
    monkeypatch.setenv("ROCM_PATH", str(tmp_path))
    hip.gpu.cache_clear()
    try:
        found = hip.gpu()
        assert found is None or not found.path.startswith(str(tmp_path))
    finally:
        hip.gpu.cache_clear()


def test_the_thread_keeps_its_device(library: HipLibrary) -> None:
    """Work on one device leaves the caller's current device as it was."""
    current = ctypes.c_int()
    library.call("hipSetDevice", 0)
    open_device("emulator:gfx950").alloc(4).free()
    library.call("hipGetDevice", ctypes.byref(current))
    assert current.value == 0


def test_only_the_c_abi_is_exported(library: HipLibrary) -> None:
    raw = ctypes.CDLL(library.path)
    for name in ("_ZN3hkc3emu7Runtime3getEv", "_ZN3hkc3emu10CodeObjectD1Ev"):
        assert not hasattr(raw, name)
    raw.hkcVersion.restype = ctypes.c_char_p
    assert raw.hkcVersion().count(b".") == 2
