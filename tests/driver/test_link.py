"""Finding a linker, and what it makes."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from hkc.driver import link
from hkc.driver.codegen import POOL
from hkc.driver.resources import read_resources
from hkc.errors import HkcError, InternalError

from .conftest import LLVM_IR

ET_DYN = 3
EM_AMDGPU = 224


@pytest.fixture
def program(tmp_path: Path) -> str:
    return _executable(tmp_path / "my-lld")


def _executable(path: Path) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\necho no such luck >&2\nexit 1\n")
    path.chmod(0o755)
    return str(path)


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A machine without any linker."""
    monkeypatch.setenv("ROCM_PATH", str(tmp_path / "rocm"))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setattr(link, "_zig", lambda: None)


def test_links_a_code_object() -> None:
    hsaco = link.link(POOL.generate(LLVM_IR, "gfx950").object)
    kind, machine = struct.unpack_from("<HH", hsaco, 16)
    assert (kind, machine) == (ET_DYN, EM_AMDGPU)
    resources = read_resources(hsaco)
    assert (resources.name, resources.workgroup, resources.scratch) == ("add_one", 64, 0)


def test_linking_is_deterministic() -> None:
    obj = POOL.generate(LLVM_IR, "gfx950").object
    assert link.link(obj) == link.link(obj)


def test_hkc_lld_comes_first(program: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HKC_LLD", program)
    assert link.find_linker() == [program]


def test_hkc_lld_must_exist(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HKC_LLD", "/no/such/lld")
    with pytest.raises(HkcError, match="HKC_LLD names '/no/such/lld'"):
        link.find_linker()


@pytest.mark.usefixtures("bare")
def test_search_order(tmp_path: Path) -> None:
    generic = _executable(tmp_path / "bin" / "lld")
    assert link.find_linker() == [generic, "-flavor", "gnu"]
    _executable(tmp_path / "bin" / "ld.lld-9")
    newest = _executable(tmp_path / "bin" / "ld.lld-22")
    assert link.find_linker() == [newest]
    plain = _executable(tmp_path / "bin" / "ld.lld")
    assert link.find_linker() == [plain]
    rocm = _executable(tmp_path / "rocm" / "llvm" / "bin" / "ld.lld")
    assert link.find_linker() == [rocm]


@pytest.mark.usefixtures("bare")
def test_ziglang_serves_when_nothing_else_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(link, "_zig", lambda: "/site/ziglang/zig")
    assert link.find_linker() == ["/site/ziglang/zig", "ld.lld"]


@pytest.mark.usefixtures("bare")
def test_no_linker_says_how_to_get_one() -> None:
    with pytest.raises(HkcError, match=r"pip install 'hkc\[lld\]'"):
        link.find_linker()


def test_a_linker_that_fails_is_an_internal_error(program: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(link, "find_linker", lambda: [program])
    with pytest.raises(InternalError, match="no such luck"):
        link.link(b"")


def test_a_linker_of_the_users_that_fails_is_the_users(program: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HKC_LLD", program)
    with pytest.raises(HkcError, match="no such luck") as caught:
        link.link(b"")
    assert caught.value.exit_code == 2 and "unset it" in (caught.value.hint or "")


def test_a_linker_that_makes_nothing(program: str, monkeypatch: pytest.MonkeyPatch) -> None:
    Path(program).write_text("#!/bin/sh\nexit 0\n")
    monkeypatch.setenv("HKC_LLD", program)
    with pytest.raises(HkcError, match="made no code object"):
        link.link(b"")


def test_a_linker_that_is_no_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = tmp_path / "ld.lld"
    broken.write_bytes(b"\x7fELF, not really")
    broken.chmod(0o755)
    monkeypatch.setenv("HKC_LLD", str(broken))
    with pytest.raises(HkcError, match="cannot start the linker"):
        link.link(b"")
