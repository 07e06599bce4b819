"""Instruction words for the disassembler's tests: drawn evenly over families and opcodes, random in the operands."""

from __future__ import annotations

import random
from collections.abc import Iterator

# Each family: its fixed leading bits, where its opcode is, how many opcodes, the bits of the first dword that are free.
FAMILIES: dict[str, tuple[int, int, int, int]] = {
    "SOP2": (0x80000000, 23, 96, 0x7FFFFF),
    "SOPK": (0xB0000000, 23, 29, 0x7FFFFF),
    "SOP1": (0xBE800000, 8, 256, 0x7F00FF),
    "SOPC": (0xBF000000, 16, 128, 0xFFFF),
    "SOPP": (0xBF800000, 16, 128, 0xFFFF),
    "SMEM": (0xC0000000, 18, 256, 0x3FFFF),
    "VOP1": (0x7E000000, 9, 256, 0x1FE01FF),
    "VOP2": (0x00000000, 25, 62, 0x1FFFFFF),
    "VOPC": (0x7C000000, 17, 256, 0x1FFFF),
    "SDWA": (0, 0, 62 + 512, 0),
    "DPP": (0, 0, 62 + 512, 0),
    "VOP3": (0xD0000000, 16, 0x380, 0xFFFF),
    "VOP3P": (0xD3800000, 16, 64, 0xFFFF),
    "MAI": (0xD3C00000, 16, 64, 0xFFFF),
    "SCALED": (0xD3AD0000, 16, 2, 0xFFFF),
    "DS": (0xD8000000, 17, 256, 0x201FFFF),
    "FLAT": (0xDC000000, 18, 128, 0x2033FFF),
    "SCRATCH": (0xDC004000, 18, 128, 0x2033FFF),
    "GLOBAL": (0xDC008000, 18, 128, 0x2033FFF),
    "MUBUF": (0xE0000000, 18, 128, 0x203FFFF),
    "MTBUF": (0xE8000000, 15, 16, 0x3F87FFF),
}
_VECTOR = 62  # VOP2's opcodes, before VOP1's and VOPC's in the families SDWA and DPP


def draw(family: str, index: int, source: random.Random) -> tuple[int, int, int, int]:
    """Four dwords that begin with an instruction word of the family and opcode ``index``.

    Every operand bit is random. In two of three words the bits are then thinned out at random, because an
    encoding's unused bits must mostly be zero: of plain random words nearly all are invalid.
    """
    _, _, count, _ = FAMILIES[family]
    opcode = index % count
    dwords = [source.getrandbits(32) for _ in range(4)]
    thin = source.random() < 2 / 3
    if thin:
        dwords[1] = _thinned(family, dwords[1], source)
        if family == "SCALED":
            dwords[3] = _thinned(family, dwords[3], source)
    if family in ("SDWA", "DPP"):
        return _vector(family, opcode, dwords)
    base, shift, _, free = FAMILIES[family]
    first = dwords[0] & source.getrandbits(32) & source.getrandbits(32) if thin and source.random() < 0.7 else dwords[0]
    if family == "SCALED":
        return _scaled(base | opcode << shift, first, dwords, thin, source)
    return base | opcode << shift | first & free, dwords[1], dwords[2], dwords[3]


def _scaled(matrix: int, first: int, dwords: list[int], thin: bool, source: random.Random) -> tuple[int, int, int, int]:
    """The scale operands' half, then the matrix instruction, mostly with its abid of 1 and aligned registers."""
    head = 0xD3AC0000 | (first & 0xFFFF if source.random() < 0.2 else first & 0x1800)
    tail = dwords[2] & 0xFFFF if source.random() < 0.2 else dwords[2] & 0x87FF | 0x800
    scales, last = dwords[1], dwords[3] | 0x00020100
    if thin:
        sources = 1 | 1 << 9 | 1 << 18
        tail &= ~0x81
        last = last & ~(0x81 * sources) | 0x100 << 18
        scales |= 0x100 | 0x100 << 9
    return head, scales, matrix | tail, last


def _vector(family: str, opcode: int, dwords: list[int]) -> tuple[int, int, int, int]:
    first = dwords[0]
    if opcode < _VECTOR:
        first = opcode << 25 | first & 0x1FFFFFF
    elif opcode < _VECTOR + 256:
        first = 0x7E000000 | (opcode - _VECTOR) << 9 | first & 0x1FE01FF
    else:
        first = 0x7C000000 | (opcode - _VECTOR - 256) << 17 | first & 0x1FFFF
    return first & ~511 | (249 if family == "SDWA" else 250), dwords[1], dwords[2], dwords[3]


# Groups of second-dword bits that are unused in many opcodes.
_GROUPS = {
    "SDWA": (
        0x00003F00,
        0x00003800,
        0x0000C000,
        0x00300000,
        0x30000000,
        0x08080000,
        0x3F000000,
        0xC0C00000,
        0x40400000,
    ),
    "DPP": (0x00F00000, 0x00C00000, 0x00F00000, 0x00060000, 0x0001FF00 ^ 0x00015000, 0x00060000),
    "VOP3": (0xE0000000, 0x18000000, 0x07FC0000, 0x07FC0000, 0x0003FE00, 0xF8000000),
    "VOP3P": (0xE0000000, 0x07FC0000, 0x18000000),
    "MAI": (0xE0000000,),
    "SCALED": (0xE7FC0000, 0xE7FC0000),
    "DS": (0xFF000000, 0x00FF0000, 0xFFFF0000, 0x0000FF00, 0x01010101, 0xFFFFFF00),
    "FLAT": (0x007F0000, 0x007F0000, 0xFF000000, 0x0000FF00, 0x00800000, 0x01000101),
    "MUBUF": (0x00600000, 0x00600000, 0x00000101, 0x00800000),
    "MTBUF": (0x00000101,),
}
_GROUPS |= {"GLOBAL": _GROUPS["FLAT"][2:], "SCRATCH": _GROUPS["FLAT"][2:]}


def _thinned(family: str, dword: int, source: random.Random) -> int:
    for group in _GROUPS.get(family, ()):
        if source.random() < 0.6:
            dword &= ~group
    if family in ("GLOBAL", "SCRATCH") and source.random() < 0.5:
        dword |= 0x7F0000  # no scalar address
    if family == "MAI" or family == "VOP3P":
        for at in (0, 9, 18):
            if source.random() < 0.5:
                dword = dword & ~(1 << at) | 0x100 << at  # an even VGPR
    return dword


def draws(count: int, seed: int) -> Iterator[tuple[str, tuple[int, int, int, int]]]:
    """``count`` words: as many of each family, in each as many of every opcode."""
    source = random.Random(seed)
    families = list(FAMILIES)
    for index in range(count):
        family = families[index % len(families)]
        yield family, draw(family, index // len(families), source)
