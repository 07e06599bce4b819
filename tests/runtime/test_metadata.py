"""The metadata reader: what it finds, and that damaged files give errors that say what is wrong."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hkc.errors import HkcError
from hkc.runtime import read_code_object
from hkc.runtime.metadata import unbundle
from hkc.runtime.msgpack import unpack

CODE = (Path(__file__).parent / "data" / "device.gfx942.hsaco").read_bytes()
KERNELS = {"add", "shape", "values", "count", "store_at", "trap", "exchange"}


def test_kernels_and_arguments(code: bytes, arch: str) -> None:
    info = read_code_object(code)
    assert info.arch == arch
    assert set(info.kernels) == KERNELS
    add = info.kernels["add"]
    assert [(a.offset, a.size, a.value_kind) for a in add.explicit_args] == [
        (0, 8, "global_buffer"),
        (8, 8, "global_buffer"),
        (16, 8, "global_buffer"),
        (24, 4, "by_value"),
    ]
    assert any(a.value_kind == "hidden_block_count_x" for a in add.args)
    assert add.kernarg_size >= 28
    assert add.vgpr_count > 0
    assert add.sgpr_count > 0
    assert (add.vgpr_spills, add.sgpr_spills) == (0, 0)
    assert add.max_flat_workgroup_size == 256
    values = info.kernels["values"].explicit_args
    assert [a.size for a in values] == [8, 16, 1, 2, 8, 4, 8]


def test_every_truncation_is_an_error(code: bytes) -> None:
    for size in range(0, len(code), 97):
        with pytest.raises(HkcError):
            read_code_object(code[:size])


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        ({0: b"\x00"}, "not a code object"),
        ({4: b"\x01"}, "64-bit little-endian"),
        ({18: struct.pack("<H", 62)}, "not for an AMD GPU"),
        ({7: b"\x00"}, "not for an AMD GPU"),
        ({16: struct.pack("<H", 1)}, "not linked"),
        ({32: struct.pack("<Q", 1 << 60)}, "truncated or damaged"),
        ({40: struct.pack("<Q", 1 << 60)}, "truncated or damaged"),
        ({54: struct.pack("<H", 8)}, "wrong size"),
    ],
)
def test_header_errors(code: bytes, edit: dict[int, bytes], message: str) -> None:
    with pytest.raises(HkcError, match=message):
        read_code_object(edited(code, edit))


def test_a_file_without_metadata(code: bytes) -> None:
    with pytest.raises(HkcError, match="no AMDGPU metadata note"):
        read_code_object(code.replace(b"AMDGPU\0\0\x83", b"NOTICE\0\0\x83"))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (b".kernarg_segment_size", b".kernarg_segment_sise", "no valid .kernarg_segment_size"),
        (b"amdhsa.kernels", b"amdhsa.kernelz", "lists no kernels"),
        (b"\xaeamdhsa.kernels", b"\xc1amdhsa.kernels", "metadata note is damaged"),
    ],
)
def test_metadata_errors(code: bytes, old: bytes, new: bytes, message: str) -> None:
    assert old in code
    with pytest.raises(HkcError, match=message):
        read_code_object(code.replace(old, new))


@given(data=st.data())
def test_damage_never_gives_another_exception(data: st.DataObject) -> None:
    damaged = bytearray(CODE[: data.draw(st.integers(1, len(CODE)))])
    for at, byte in data.draw(st.lists(st.tuples(st.integers(0, len(damaged) - 1), st.integers(0, 255)))):
        damaged[at] = byte
    try:
        info = read_code_object(bytes(damaged))
    except HkcError:
        return
    assert all(a.offset + a.size <= k.kernarg_size for k in info.kernels.values() for a in k.args)


@given(st.binary(max_size=64))
def test_msgpack_gives_a_value_or_a_value_error(data: bytes) -> None:
    try:
        unpack(data)
    except ValueError:
        return


@pytest.mark.parametrize(
    ("data", "value"),
    [
        ("05", 5),
        ("ff", -1),
        ("c0", None),
        ("c3", True),
        ("cd1234", 0x1234),
        ("d1fffe", -2),
        ("cb3ff8000000000000", 1.5),
        ("a3616263", "abc"),
        ("d903616263", "abc"),
        ("c402ff00", b"\xff\x00"),
        ("93010203", [1, 2, 3]),
        ("dc000201a161", [1, "a"]),
        ("82a1610100c2", {"a": 1, 0: False}),
    ],
)
def test_msgpack_values(data: str, value: object) -> None:
    assert unpack(bytes.fromhex(data)) == value


def test_msgpack_refuses_deep_nesting() -> None:
    with pytest.raises(ValueError, match="too deep"):
        unpack(b"\x91" * 100 + b"\x00")


def test_offload_bundles(code: bytes, arch: str) -> None:
    bundle = make_bundle({"host-x86_64-unknown-linux--": b"", f"hipv4-amdgcn-amd-amdhsa--{arch}:xnack-": code})
    assert unbundle(bundle, arch) == code
    assert unbundle(code, arch) == code
    with pytest.raises(HkcError, match="no code object for gfx90a"):
        unbundle(bundle, "gfx90a")
    with pytest.raises(HkcError, match="truncated"):
        unbundle(bundle[:-1], arch)
    with pytest.raises(HkcError, match="truncated"):
        unbundle(bundle[:40], arch)
    with pytest.raises(HkcError, match="compressed"):
        unbundle(b"CCOB" + bundle, arch)


def edited(code: bytes, edit: dict[int, bytes]) -> bytes:
    result = bytearray(code)
    for at, value in edit.items():
        result[at : at + len(value)] = value
    return bytes(result)


def make_bundle(parts: dict[str, bytes]) -> bytes:
    """An uncompressed offload bundle (Clang, "Clang Offload Bundler")."""
    table = b"__CLANG_OFFLOAD_BUNDLE__" + struct.pack("<Q", len(parts))
    at = len(table) + sum(24 + len(target) for target in parts)
    body = b""
    for target, content in parts.items():
        table += struct.pack("<QQQ", at + len(body), len(content), len(target)) + target.encode()
        body += content
    return table + body
