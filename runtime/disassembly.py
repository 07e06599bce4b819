"""Machine code as text in LLVM's syntax, by the emulated device's decoder; needs no LLVM."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from hkc.errors import HkcError
from hkc.runtime.elf import ElfFile, Section
from hkc.runtime.hip import emulator

SHT_SYMTAB, SHT_DYNSYM = 2, 11
SHF_EXECINSTR = 4
STT_FUNC, STT_AMDGPU_HSA_KERNEL = 2, 10

TARGETS = ("gfx942", "gfx950")
_LONGEST = 5  # dwords of an instruction, a literal included
_TEXT_BYTES = 512


@dataclass(frozen=True)
class Line:
    """One instruction at ``address`` (bytes, as the object was linked). ``text`` is None if its one word is no valid
    instruction of the target; ``target`` is where a branch goes."""

    address: int
    words: tuple[int, ...]
    text: str | None
    target: int | None


@dataclass(frozen=True)
class Code:
    """One executable section: its name, instructions, and the functions that begin in it by address."""

    section: str
    lines: tuple[Line, ...]
    labels: dict[int, str]

    def place(self, address: int) -> str:
        """``<function+0x10>`` for an address; empty if no function is before it."""
        before = [at for at in self.labels if at <= address]
        if not before:
            return ""
        start = max(before)
        offset = f"+{address - start:#x}" if address != start else ""
        return f"<{self.labels[start]}{offset}>"


def disassemble_words(words: Sequence[int], arch: str) -> tuple[int, str]:
    """Dwords of the instruction that ``words`` begin with, and its text; (0, "") if they are no valid instruction.

    :raises HkcError: for an unknown ``arch``, or if the installed library is older than this module.
    """
    data = struct.pack(f"<{len(words)}I", *words)
    return _one(_function(), arch, data, 0)


def disassemble(words: Sequence[int], arch: str, address: int = 0) -> Iterator[Line]:
    """The instructions of ``words``, which begin at ``address``.

    :raises HkcError: as for :func:`disassemble_words`.
    """
    function, data, at = _function(), struct.pack(f"<{len(words)}I", *words), 0
    while at < len(words):
        length, text = _one(function, arch, data, 4 * at)
        taken = tuple(words[at : at + max(length, 1)])
        here = address + 4 * at
        yield Line(here, taken, text if length else None, _target(here, taken[0], text))
        at += max(length, 1)


def disassemble_object(data: bytes) -> tuple[str, list[Code]]:
    """The target and the code of a linked code object.

    :raises HkcError: if ``data`` is no code object, is damaged, or is for another target.
    """
    file = ElfFile(data)
    if file.arch not in TARGETS:
        raise HkcError(f"cannot disassemble code for {file.arch}", expected=" or ".join(TARGETS))
    names = _section_names(file)
    result = []
    for section, name in zip(file.sections, names, strict=True):
        if not section.flags & SHF_EXECINSTR or section.occupies_no_file:
            continue
        size = section.size // 4
        words = struct.unpack(f"<{size}I", file.read(section.offset, 4 * size, f"section {name}"))
        labels = _functions(file, section)
        result.append(Code(name, tuple(disassemble(words, file.arch, section.address)), labels))
    return file.arch, result


def _target(address: int, word: int, text: str) -> int | None:
    """Where a branch with a 16-bit offset in dwords goes (CDNA3 ISA guide, "Branching")."""
    if not text.startswith(("s_branch", "s_cbranch_", "s_call_b64")) or text.startswith(
        ("s_cbranch_g", "s_cbranch_join")
    ):
        return None
    offset = (word & 0xFFFF ^ 0x8000) - 0x8000
    return address + 4 + 4 * offset


def _functions(file: ElfFile, section: Section) -> dict[int, str]:
    """The functions in a section, from the symbol table, else from the dynamic one."""
    for kind in (SHT_SYMTAB, SHT_DYNSYM):
        found: dict[int, str] = {}
        for table in file.sections:
            if table.kind != kind or not 0 < table.link < len(file.sections):
                continue
            strings = _contents(file, file.sections[table.link])
            symbols = _contents(file, table)
            for at in range(0, len(symbols) - 23, 24):
                name, info, _, _, value, _ = struct.unpack_from("<IBBHQQ", symbols, at)
                inside = section.address <= value < section.address + section.size
                if info & 15 in (STT_FUNC, STT_AMDGPU_HSA_KERNEL) and inside:
                    found.setdefault(value, _string(strings, name))
        if found:
            return dict(sorted(found.items()))
    return {}


def _section_names(file: ElfFile) -> list[str]:
    index = file.section_names
    strings = _contents(file, file.sections[index]) if index < len(file.sections) else b""
    return [_string(strings, section.name) for section in file.sections]


def _contents(file: ElfFile, section: Section) -> bytes:
    return b"" if section.occupies_no_file else file.read(section.offset, section.size, "a section")


def _string(strings: bytes, at: int) -> str:
    end = strings.find(b"\0", at)
    return strings[at : end if end >= 0 else len(strings)].decode("utf-8", "replace")


@cache
def _function() -> Any:
    library = ctypes.CDLL(emulator().path)
    try:
        function = library.hkcDisassemble
    except AttributeError:
        raise HkcError("the emulated device's library has no disassembler", hint="build hkc again") from None
    function.argtypes = (ctypes.c_char_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t)
    function.restype = ctypes.c_long
    return function


def _one(function: Any, arch: str, data: bytes, at: int) -> tuple[int, str]:
    piece = data[at : at + 4 * _LONGEST]
    text = ctypes.create_string_buffer(_TEXT_BYTES)
    length = function(arch.encode(), piece, len(piece) // 4, text, _TEXT_BYTES)
    if length < 0:
        raise HkcError(f"cannot disassemble code for {arch}", expected=" or ".join(TARGETS))
    return length, text.value.decode()
