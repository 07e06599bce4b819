"""Finding and replacing instructions in the machine code of a linked code object."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

# SOPP instructions (CDNA3 ISA guide, 12.5): the opcode in bits 22:16 of the dword, simm16 below.
S_NOP = 0xBF800000
S_BARRIER = 0xBF8A0000
S_WAITCNT = 0xBF8C0000

LITERAL, SDWA, DPP = 255, 249, 250
SHT_SYMTAB, SHT_DYNSYM, PT_LOAD, STT_FUNC = 2, 11, 1, 2


@dataclass(frozen=True)
class Instruction:
    """``offset``: bytes from the kernel's first instruction; ``position``: of its first dword in the file."""

    offset: int
    position: int
    word: int

    @property
    def is_wait(self) -> bool:
        return self.word & 0xFFFF0000 == S_WAITCNT

    @property
    def is_barrier(self) -> bool:
        return self.word == S_BARRIER

    @property
    def is_nop(self) -> bool:
        return self.word & 0xFFFF0000 == S_NOP

    @property
    def is_mfma(self) -> bool:
        """Matrix instructions: VOP3P opcodes from 0x35 on but for 0x58 and 0x59, which move accumulators, and the
        f8f6f4 ones with their scales."""
        opcode = self.word >> 16 & 0x7F
        matrix = (opcode >= 0x35 and opcode & 0x7E != 0x58) or 0x2C <= opcode <= 0x2E
        return self.word >> 23 == 0x1A7 and matrix

    @property
    def is_vector_alu(self) -> bool:
        """VOP1, VOP2 and VOPC have bit 31 clear; VOP3 and VOP3P begin with 110100."""
        return (self.word >> 31 == 0 or self.word >> 26 == 0x34) and not self.is_mfma

    @property
    def is_vector_memory(self) -> bool:
        """FLAT, GLOBAL, SCRATCH; MUBUF, MTBUF."""
        return self.word >> 26 in (0x37, 0x38, 0x3A)


def moved_behind(code: bytes, at: Instruction, end: int) -> bytes:
    """The code object with the one dword of an instruction moved to byte ``end``, behind what follows it."""
    return code[: at.position] + code[at.position + 4 : end] + code[at.position : at.position + 4] + code[end:]


def patched(code: bytes, at: Instruction, word: int) -> bytes:
    """The code object with the dword of an instruction replaced."""
    return code[: at.position] + struct.pack("<I", word) + code[at.position + 4 :]


def instructions(code: bytes, kernel: str) -> list[Instruction]:
    """The kernel's instructions, in the order of their addresses."""
    address, size = _function(code, kernel)
    start = _file_offset(code, address)
    words = struct.unpack_from(f"<{size // 4}I", code, start)
    found = []
    at = 0
    while at < len(words):
        found.append(Instruction(4 * at, start + 4 * at, words[at]))
        at += _length(words, at)
    return found


def _length(words: tuple[int, ...], at: int) -> int:
    """Dwords of an instruction, from its encoding (CDNA3 ISA guide, chapter 13)."""
    word = words[at]
    source0, source1 = word & 0xFF, word >> 8 & 0xFF
    if word >> 31 == 0:  # VOP1, VOP2, VOPC
        is_vop2 = word >> 26 < 0x1E
        constant = is_vop2 and word >> 25 in (23, 24, 36, 37)  # v_madmk, v_madak and the like
        return 2 if constant or word & 0x1FF in (LITERAL, SDWA, DPP) else 1
    if word >> 30 == 2:
        group = word >> 23
        if group == 0x17F:  # SOPP
            return 1
        if group == 0x17D:  # SOP1
            return 2 if source0 == LITERAL else 1
        if word >> 28 == 0xB and group not in (0x17D, 0x17E):  # SOPK
            return 2 if word >> 23 & 0x1F == 20 else 1
        return 2 if LITERAL in (source0, source1) else 1  # SOP2, SOPC
    scaled = word >> 16 == 0xD3AC  # the scales of an MFMA come first, as an instruction's worth
    return 4 if scaled else 2


def _sections(code: bytes) -> Iterator[tuple[int, ...]]:
    (offset,) = struct.unpack_from("<Q", code, 40)
    size, count = struct.unpack_from("<HH", code, 58)
    for i in range(count):
        yield struct.unpack_from("<IIQQQQIIQQ", code, offset + i * size)


def _function(code: bytes, name: str) -> tuple[int, int]:
    """Address and size of a function symbol."""
    sections = list(_sections(code))
    for kind in (SHT_SYMTAB, SHT_DYNSYM):
        for section in (s for s in sections if s[1] == kind):
            strings = sections[section[6]][4]
            for at in range(section[4], section[4] + section[5], 24):
                start, info, _, _, value, size = struct.unpack_from("<IBBHQQ", code, at)
                end = code.index(b"\0", strings + start)
                if info & 15 == STT_FUNC and code[strings + start : end].decode() == name:
                    return value, size
    raise KeyError(name)


def _file_offset(code: bytes, address: int) -> int:
    (offset,) = struct.unpack_from("<Q", code, 32)
    size, count = struct.unpack_from("<HH", code, 54)
    for i in range(count):
        kind, _, start, virtual, _, length, _, _ = struct.unpack_from("<IIQQQQQQ", code, offset + i * size)
        if kind == PT_LOAD and virtual <= address < virtual + length:
            return start + address - virtual
    raise ValueError(f"no segment holds address {address:#x}")
