"""What is thrown at the emulated device: damaged code objects and random instruction streams, by number.

A case depends on the seed and its number only, so that any can be run again alone.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from ..runtime.emulator.disassembly_words import FAMILIES, draw

TESTS = Path(__file__).parent.parent
ARCHES = ("gfx942", "gfx950")
_EDGES = (0, 1, 2, 0x7F, 0x80, 0xFF, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 1 << 40, (1 << 63) - 1, (1 << 64) - 1)
_LITERAL = 255  # the source operand that a dword behind the instruction gives
Words = tuple[int, ...]


@dataclass(frozen=True)
class Case:
    """One code object and how its kernels are launched."""

    kind: str
    arch: str
    code: bytes
    words: tuple[Words, ...]  # candidates for instructions in the place of its code; none: the code as it is
    only_valid: bool  # leave out those that are no instructions, or that the device does not execute
    by_file: bool
    checked: bool
    threads: int
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    dynamic_lds: int
    arguments: tuple[int, ...]  # dwords; those below 8 stand for parts of addresses of device memory, see child.py


@cache
def objects(arch: str) -> list[bytes]:
    """Real code objects: clang's, Triton's, with and without debug lines."""
    return [path.read_bytes() for path in sorted(TESTS.rglob(f"*.{arch}.hsaco"))]


def case(seed: int, number: int) -> Case:
    """Case ``number`` of a seed."""
    source = random.Random(f"{seed}/{number}")
    arch = source.choice(ARCHES)
    kind = source.choices(list(_KINDS), weights=(1, 1, 3, 5, 5))[0]
    code = _KINDS[kind](source, arch)
    families = {"instructions": list(FAMILIES), "one family": [source.choice(list(FAMILIES))]}.get(kind)
    block = source.choice([(64, 1, 1), (64, 1, 1), (128, 1, 1), (256, 1, 1), (1, 1, 1), (7, 5, 3), (1024, 1, 1)])
    return Case(
        kind=kind,
        arch=arch,
        code=code,
        words=_stream(source, families) if families else (),
        only_valid=source.random() < 0.9,
        by_file=source.random() < 0.5,
        checked=source.random() < 0.5,
        threads=source.choice((1, 1, 1, 2)),
        grid=(source.choice((1, 1, 2, 5)), source.choice((1, 1, 2)), 1),
        block=block,
        dynamic_lds=source.choice((0, 0, 0, 0, 256, 4096, 65536, source.getrandbits(32))),
        arguments=tuple(_argument(source) for _ in range(64)),
    )


def _argument(source: random.Random) -> int:
    return source.choice(
        (
            source.randrange(8),
            source.randrange(8),
            source.getrandbits(10),
            source.getrandbits(32),
            source.choice(_EDGES[:10]),
        )
    )


def _random_bytes(source: random.Random, arch: str) -> bytes:
    code = source.randbytes(source.choice((0, 1, 3, 16, 63, 64, 65, 200, 4000)))
    if source.random() < 0.6:
        code = source.choice(objects(arch))[: source.choice((4, 20, 52, 64))] + code
    if source.random() < 0.1:
        code = source.choice((b"__CLANG_OFFLOAD_BUNDLE__", b"CCOB")) + code
    return code


def _truncated(source: random.Random, arch: str) -> bytes:
    code = source.choice(objects(arch))
    return code[: source.randrange(len(code))]


@cache
def regions(code: bytes) -> list[tuple[int, int]]:
    """Begin and end of the parts of an ELF file that are worth damage: headers, and each section's bytes."""
    segments_at, sections_at = struct.unpack_from("<QQ", code, 32)
    segments, sections = struct.unpack_from("<H", code, 56)[0], struct.unpack_from("<H", code, 60)[0]
    found = [(0, 64), (segments_at, segments_at + 56 * segments), (sections_at, sections_at + 64 * sections)]
    for i in range(sections):
        kind, offset, size = struct.unpack_from("<4xI16xQQ", code, sections_at + 64 * i)
        if kind not in (0, 8) and size:  # not null, not without bytes
            found.append((offset, offset + size))
    return found


def _damaged(source: random.Random, arch: str) -> bytes:
    original = source.choice(objects(arch))
    code = bytearray(original)
    low, high = source.choice(regions(original))
    for _ in range(source.choice((1, 1, 2, 4, 16))):
        at = source.randrange(low, high)
        if source.random() < 0.6:
            code[at] ^= 1 << source.randrange(8)
        else:
            width = source.choice((1, 2, 4, 8))
            at -= (at - low) % width
            edge = source.choice(_EDGES).to_bytes(8, "little")[:width]
            code[at : at + width] = edge
    return bytes(code[: len(original)])


def _state(source: random.Random) -> list[Words]:
    """Instructions that leave wild values and addresses of device memory in EXEC, M0, VCC, SGPRs and VGPRs.

    The first loads sixteen of the arguments (``s_load_dwordx16``), of which many are addresses, and waits for them.
    """
    loaded = source.choice((4, 16, 32, 64))
    state: list[Words] = [(0xC0120000 | loaded << 6, source.choice((0, 64))), (0xBF8CC07F,)]
    for _ in range(source.randrange(8)):
        value = source.choice((source.getrandbits(32), source.getrandbits(8), source.choice(_EDGES[:10])))
        target = source.choice((124, 126, 127, 106, source.randrange(102)))  # M0, EXEC, VCC, or any
        state.append((0xBE800000 | target << 16 | _LITERAL, value))
    for _ in range(source.randrange(8)):
        register, value = source.randrange(64), source.choice((source.getrandbits(32), source.getrandbits(12)))
        state.append((0x7E000200 | register << 17 | _LITERAL, value))
    for _ in range(source.randrange(8)):  # v_mov_b32 of an address into a pair
        register, scalar = source.randrange(0, 64, 2), loaded + source.randrange(0, 16, 2)
        state += [(0x7E000200 | register << 17 | scalar,), (0x7E000200 | (register + 1) << 17 | (scalar + 1),)]
    return state


def _stream(source: random.Random, families: list[str]) -> tuple[Words, ...]:
    """Candidates for instructions: four dwords each, of which one that is valid uses as many as it needs."""
    drawn = [draw(source.choice(families), source.randrange(1 << 12), source) for _ in range(source.randrange(4, 160))]
    return (*_state(source), *drawn)


def patched(code: bytes, words: list[int]) -> bytes:
    """The code object with ``words`` at the begin of its executable segment, as far as they fit."""
    segments_at, count = struct.unpack_from("<Q", code, 32)[0], struct.unpack_from("<H", code, 56)[0]
    for i in range(count):
        kind, flags, offset, _, _, size = struct.unpack_from("<IIQQQQ", code, segments_at + 56 * i)
        if kind == 1 and flags & 1:
            raw = struct.pack(f"<{len(words)}I", *words)[: size // 4 * 4]
            return code[:offset] + raw + code[offset + len(raw) :]
    return code


_KINDS: dict[str, Callable[[random.Random, str], bytes]] = {
    "random bytes": _random_bytes,
    "truncated": _truncated,
    "damaged": _damaged,
    "instructions": lambda source, arch: source.choice(objects(arch)),
    "one family": lambda source, arch: source.choice(objects(arch)),
}
