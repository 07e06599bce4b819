"""The emulated device's loader: foreign, truncated and damaged files give HIP's errors, never a crash."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hkc.runtime import HipError
from hkc.runtime.hip import HipLibrary, emulator

CODE = (Path(__file__).parent / "data" / "device.gfx942.hsaco").read_bytes()
INVALID_IMAGE, NO_BINARY, FILE_NOT_FOUND = 200, 209, 301
OUT_OF_MEMORY, SYMBOL_NOT_FOUND = 2, 302


def load(library: HipLibrary, code: bytes, ordinal: int = 0) -> None:
    """Loads and unloads.

    :raises HipError: as the library says.
    """
    handle = ctypes.c_void_p()
    with library.selected(ordinal):
        library.call("hipModuleLoadData", ctypes.byref(handle), code)
    library.call("hipModuleUnload", handle)


def test_loads(library: HipLibrary) -> None:
    load(library, CODE)


@pytest.mark.parametrize(
    ("at", "value", "code", "message"),
    [
        (0, b"\x7fELG", INVALID_IMAGE, "not an ELF file"),
        (4, b"\x01", INVALID_IMAGE, "not a 64-bit"),
        (7, b"\x00", NO_BINARY, "OS ABI is 0"),
        (8, b"\x01", NO_BINARY, "ABI version is 1"),
        (16, b"\x01\x00", INVALID_IMAGE, "not linked"),
        (18, b"\x3e\x00", NO_BINARY, "machine 62"),
        (48, b"\x3f", NO_BINARY, "is for gfx90a, the device is gfx942"),
        (49, b"\x07", NO_BINARY, "needs xnack\\+"),
        (49, b"\x09", NO_BINARY, "needs sramecc-"),
        (32, b"\xff" * 8, INVALID_IMAGE, "program headers"),
        (40, b"\xff" * 8, INVALID_IMAGE, "section headers"),
        (54, b"\x00\x00", INVALID_IMAGE, "program headers"),
        (58, b"\x00\x00", INVALID_IMAGE, "section headers"),
    ],
)
def test_header_errors(library: HipLibrary, at: int, value: bytes, code: int, message: str) -> None:
    with pytest.raises(HipError, match=message) as raised:
        load(library, CODE[:at] + value + CODE[at + len(value) :])
    assert raised.value.code == code


def test_the_other_target_is_refused(library: HipLibrary, arch: str, code: bytes) -> None:
    other = 1 if arch == "gfx942" else 0
    with pytest.raises(HipError, match=f"is for {arch}, the device is") as raised:
        load(library, code, other)
    assert raised.value.code == NO_BINARY


@pytest.mark.parametrize("field", range(8))
def test_program_header_fields(library: HipLibrary, field: int) -> None:
    """A load segment with any field out of range is an error or loads (the field may not matter)."""
    for index in range(struct.unpack_from("<H", CODE, 56)[0]):
        at = 64 + 56 * index
        width, offset = (4, 4 * field) if field < 2 else (8, 8 * (field - 1))
        for value in (0, 1, (1 << 8 * width) - 1, 1 << (8 * width - 1), len(CODE)):
            damaged = bytearray(CODE)
            damaged[at + offset : at + offset + width] = value.to_bytes(width, "little")
            load_or_error(library, bytes(damaged))


def load_or_error(library: HipLibrary, code: bytes) -> None:
    outcome = 0
    try:
        load(library, code)
    except HipError as error:
        outcome = error.code
    assert outcome in (0, INVALID_IMAGE, NO_BINARY, OUT_OF_MEMORY, SYMBOL_NOT_FOUND)


def test_truncated_files(hip: Callable[..., int], tmp_path: Path) -> None:
    path = tmp_path / "cut.hsaco"
    for size in [*range(0, 64, 7), *range(64, len(CODE), 211)]:
        path.write_bytes(CODE[:size])
        assert hip("hipModuleLoad", ctypes.byref(ctypes.c_void_p()), str(path).encode()) == INVALID_IMAGE
    path.write_bytes(CODE)
    module = ctypes.c_void_p()
    assert hip("hipModuleLoad", ctypes.byref(module), str(path).encode()) == 0
    assert hip("hipModuleUnload", module) == 0
    assert hip("hipModuleLoad", ctypes.byref(module), b"/nowhere") == FILE_NOT_FOUND


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(st.integers(0, len(CODE) - 1), st.integers(0, 255)), min_size=1, max_size=8))
def test_damaged_bytes(edits: list[tuple[int, int]]) -> None:
    damaged = bytearray(CODE)
    for at, byte in edits:
        damaged[at] = byte
    load_or_error(emulator(), bytes(damaged))


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 14), st.integers(0, 7), st.sampled_from([1, 2, 4, 8]), st.integers(0, 2**64 - 1))
def test_damaged_section_headers(section: int, word: int, width: int, value: int) -> None:
    damaged = bytearray(CODE)
    at = struct.unpack_from("<Q", CODE, 40)[0] + 64 * section + 8 * word
    damaged[at : at + width] = (value % (1 << 8 * width)).to_bytes(width, "little")
    load_or_error(emulator(), bytes(damaged)[: len(CODE)])


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_damaged_debug_lines(data: st.DataObject) -> None:
    """A damaged line table costs source positions, not the load."""
    start = CODE.index(b"device.cl")
    damaged = bytearray(CODE)
    for at in data.draw(st.lists(st.integers(max(start - 300, 0), start + 600), min_size=1, max_size=20)):
        damaged[at] = data.draw(st.integers(0, 255))
    load_or_error(emulator(), bytes(damaged))


def test_an_undefined_symbol(library: HipLibrary) -> None:
    """The relative relocation turned into one against a symbol that is not there."""
    relocation = struct.pack("<Q", 13)  # R_AMDGPU_RELATIVE64
    at = CODE.index(relocation, 0x1000)
    damaged = CODE[:at] + struct.pack("<Q", 3 | 9999 << 32) + CODE[at + 8 :]
    with pytest.raises(HipError, match="a symbol that does not exist"):
        load(library, damaged)
    damaged = CODE[:at] + struct.pack("<Q", 77) + CODE[at + 8 :]
    with pytest.raises(HipError, match="unknown type 77"):
        load(library, damaged)


def test_no_leak(library: HipLibrary) -> None:
    """Loading, failing to load and unloading give all memory back."""
    before = free_bytes(library)
    for _ in range(20):
        load(library, CODE)
        load_or_error(library, CODE.replace(b"amdhsa.kernels", b"amdhsa.kernelz"))
    assert free_bytes(library) == before


def free_bytes(library: HipLibrary) -> int:
    free, total = ctypes.c_size_t(), ctypes.c_size_t()
    library.call("hipMemGetInfo", ctypes.byref(free), ctypes.byref(total))
    return free.value


def test_offload_bundles(library: HipLibrary) -> None:
    target = b"hipv4-amdgcn-amd-amdhsa--gfx942:sramecc+:xnack-"
    table = 24 + 8 + 24 + len(target)
    bundle = b"__CLANG_OFFLOAD_BUNDLE__" + struct.pack("<QQQQ", 1, table, len(CODE), len(target)) + target + CODE
    load(library, bundle)
    with pytest.raises(HipError, match="no code object for gfx950; it has: hipv4-amdgcn") as raised:
        load(library, bundle, 1)
    assert raised.value.code == NO_BINARY
    with pytest.raises(HipError, match="xnack"):
        load(library, bundle.replace(b":xnack-", b":xnack+"))
    for at in (24, 32, 40, 48):
        load_or_error(library, bundle[:at] + b"\xff" * 8 + bundle[at + 8 :])
