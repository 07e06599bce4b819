"""The part of ELF64 that AMDGPU code objects use, with every offset checked against the file's size."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

from hkc.errors import HkcError

# LLVM AMDGPUUsage, "ELF Code Object".
EM_AMDGPU = 224
ELFOSABI_AMDGPU_HSA = 64
EF_AMDGPU_MACH = 0xFF
MACHINES = {0x3F: "gfx90a", 0x4C: "gfx942", 0x4F: "gfx950", 0x5F: "gfx9-4-generic"}

ET_REL, ET_DYN = 1, 3
PT_NOTE = 4
SHT_NOTE, SHT_NOBITS = 7, 8


@dataclass(frozen=True)
class Segment:
    kind: int
    offset: int
    file_size: int


@dataclass(frozen=True)
class Section:
    """``name`` is an offset in the section names; ``link`` the index of a symbol table's strings."""

    kind: int
    offset: int
    size: int
    name: int = 0
    flags: int = 0
    address: int = 0
    link: int = 0

    @property
    def occupies_no_file(self) -> bool:
        return self.kind == SHT_NOBITS


class ElfFile:
    """A linked AMDGPU code object.

    :raises HkcError: if ``data`` is no such file, or if a header, segment or section reaches past its end.
    """

    def __init__(self, data: bytes) -> None:
        self.data = data
        if data[:4] != b"\x7fELF":
            raise HkcError("not a code object", expected="an ELF file", got=_first_bytes(data))
        if len(data) < 64:
            raise truncated("its header")
        if data[4:6] != b"\x02\x01":
            raise HkcError("not a code object", expected="a 64-bit little-endian ELF file")
        header = struct.unpack_from("<HHIQQQIHHHHHH", data, 16)
        kind, machine, _, _, segments_at, sections_at, flags = header[:7]
        _, segment_size, segment_count, section_size, section_count, names = header[7:]
        if machine != EM_AMDGPU or data[7] != ELFOSABI_AMDGPU_HSA:
            raise HkcError(
                "the ELF file is not for an AMD GPU",
                expected=f"machine {EM_AMDGPU} (AMDGPU) and OS ABI {ELFOSABI_AMDGPU_HSA} (HSA)",
                got=f"machine {machine}, OS ABI {data[7]}",
            )
        if kind != ET_DYN:
            hint = "link it with ld.lld -shared" if kind == ET_REL else None
            raise HkcError("the code object is not linked", expected="a shared object", hint=hint)
        if segment_size != 56 or section_size != 64:
            raise HkcError("the code object is damaged: its header tables have entries of a wrong size")
        #: The index of the section that names sections.
        self.section_names: int = names
        #: ``gfx942``, ``gfx950``, or ``machine 0x..`` for one that hkc has no name of.
        self.arch = MACHINES.get(flags & EF_AMDGPU_MACH, f"machine {flags & EF_AMDGPU_MACH:#x}")
        self.segments = [self._segment(at) for at in _table(self, segments_at, 56, segment_count)]
        self.sections = [self._section(at) for at in _table(self, sections_at, 64, section_count)]

    def _segment(self, at: int) -> Segment:
        kind, _, offset, _, _, size, _, _ = struct.unpack_from("<IIQQQQQQ", self.data, at)
        self.read(offset, size, "a segment")
        return Segment(kind, offset, size)

    def _section(self, at: int) -> Section:
        name, kind, flags, address, offset, size, link, _, _, _ = struct.unpack_from("<IIQQQQIIQQ", self.data, at)
        if kind != SHT_NOBITS:
            self.read(offset, size, "a section")
        return Section(kind, offset, size, name, flags, address, link)

    def read(self, offset: int, size: int, what: str) -> bytes:
        """The file's bytes at ``offset``.

        :raises HkcError: naming ``what`` if the file is shorter.
        """
        if offset + size > len(self.data):
            raise truncated(what)
        return self.data[offset : offset + size]

    def note(self, owner: str, kind: int) -> bytes | None:
        """The descriptor of the first note of this owner and kind."""
        places = [(s.offset, s.file_size) for s in self.segments if s.kind == PT_NOTE]
        places += [(s.offset, s.size) for s in self.sections if s.kind == SHT_NOTE]
        for offset, size in places:
            for found_owner, found_kind, descriptor in _notes(self.read(offset, size, "its notes")):
                if (found_owner, found_kind) == (owner, kind):
                    return descriptor
        return None


def _table(file: ElfFile, offset: int, entry: int, count: int) -> range:
    file.read(offset, entry * count, "its header tables")
    return range(offset, offset + entry * count, entry)


def _notes(data: bytes) -> Iterator[tuple[str, int, bytes]]:
    at = 0
    while at + 12 <= len(data):
        name_size, size, kind = struct.unpack_from("<III", data, at)
        start = at + 12 + (name_size + 3) // 4 * 4
        if start + size > len(data):
            return
        owner = data[at + 12 : at + 12 + name_size].rstrip(b"\0").decode("utf-8", "replace")
        yield owner, kind, data[start : start + size]
        at = start + (size + 3) // 4 * 4


def truncated(what: str) -> HkcError:
    """The error for a file whose ``what`` reaches past its end."""
    return HkcError(f"the code object is truncated or damaged: {what} reaches past its end")


def _first_bytes(data: bytes) -> str:
    return f"{len(data)} bytes that begin with {data[:4].hex(' ')}" if data else "an empty file"
