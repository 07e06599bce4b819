"""LDS layouts: which swizzle keeps reads and writes free of bank conflicts.

An LDS tile is row-major; the swizzle moves the 16-byte chunks inside a row: chunk c of row r lies at place
c ^ (r >> shift & mask) << up. The solver counts conflicts with the target's phase tables and takes the cheapest.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache

from hkc.errors import InternalError
from hkc.passes.layouts import Layout, parse_layout
from hkc.targets import LdsPhases, Target

CHUNK = 16  # bytes that stay together: the widest LDS access and the unit of LDS-direct loads
BANK_BYTES = 4  # CDNA3 ISA 11.1: an LDS bank is one dword wide


@dataclass(frozen=True)
class Swizzle:
    """XOR of the chunk index with ``(row >> shift & mask) << up``; mask 0 is plain row-major."""

    shift: int = 0
    mask: int = 0
    up: int = 0

    @property
    def period(self) -> int:
        """Rows after which the pattern repeats."""
        return (self.mask + 1) << self.shift if self.mask else 1

    def text(self) -> str:
        return f"xor({self.shift},{self.mask},{self.up})"

    def turn(self, row: int) -> int:
        """What a row's chunk indices are XORed with."""
        return (row >> self.shift & self.mask) << self.up

    def offset(self, row: int, byte: int, row_bytes: int) -> int:
        """Byte offset in the tile of a byte of a row."""
        chunk, rest = divmod(byte, CHUNK)
        return row * row_bytes + ((chunk ^ self.turn(row)) * CHUNK) + rest


def parse_swizzle(text: str | None) -> Swizzle:
    """The swizzle of an LDS type's layout text; none is plain."""
    if text is None:
        return Swizzle()
    match = re.fullmatch(r"xor\((\d+),(\d+),(\d+)\)", text)
    if match is None:
        raise InternalError(f"not an LDS layout: {text!r}")
    return Swizzle(*map(int, match.groups()))


@dataclass(frozen=True)
class Access:
    """How one wavefront reads or writes an LDS tile: a register layout, and whether it writes."""

    layout: str
    write: bool = False


def lane_width(layout: Layout, item_bytes: int) -> int:
    """Bytes that a lane moves at once: its contiguous items, at most the widest access."""
    run = 1
    for bit, step in enumerate(layout.items):
        if step != (0, 1 << bit):
            break
        run *= 2
    return min(CHUNK, run * item_bytes)


def reads_transposed(layout: Layout, item_bytes: int, target: Target) -> bool:
    """Whether the target's transposing LDS reads serve a layout whose lanes hold runs along a column: 16 lanes side
    by side in a row, four rows or a multiple in a run."""
    run = layout.items_per_fragment
    down = all(step == (1 << bit, 0) for bit, step in enumerate(layout.items))
    side_by_side = layout.lanes[:4] == ((0, 1), (0, 2), (0, 4), (0, 8))
    return item_bytes == target.lds_transpose_bytes and down and side_by_side and run % TRANSPOSED_RUN == 0


# A transposing LDS read of 16-bit items: 16 lanes read four rows of 16 items, each lane then holds four rows of one
# column. CDNA4 ISA 11.4, ds_read_b64_tr_b16.
TRANSPOSED_RUN = 4


def transposed_source(layout: Layout) -> Layout:
    """What each lane addresses in a transposing read: four items of a row, lane 4r + c of 16 at row r, items 4c on."""
    run = TRANSPOSED_RUN
    lanes = ((0, run), (0, 2 * run), (1, 0), (2, 0), *layout.lanes[4:])
    return replace(layout, lanes=lanes, items=((0, 1), (0, 2), *layout.items[2:]))


def conflict_cost(addresses: list[int], width: int, phases: LdsPhases) -> int:
    """Cycles of one access beyond the least possible: per phase, the most dwords that meet in one bank."""
    extra = 0
    for lanes in phases.phases:
        banks: dict[int, set[int]] = {}
        dwords: set[int] = set()
        for lane in lanes:
            for at in range(addresses[lane] // BANK_BYTES, (addresses[lane] + width - 1) // BANK_BYTES + 1):
                banks.setdefault(at % phases.banks, set()).add(at)
                dwords.add(at)
        least = -(-len(dwords) // phases.banks)
        extra += max(len(found) for found in banks.values()) - least
    return extra


def _cost(access: Access, row_bytes: int, item_bytes: int, swizzle: Swizzle, target: Target) -> int:
    layout = parse_layout(access.layout)
    if not access.write and reads_transposed(layout, item_bytes, target):
        layout = transposed_source(layout)
    width = lane_width(layout, item_bytes)
    table = target.write_phases if access.write else target.read_phases
    phases = table.get(width) or table[min(table)]
    places = [layout.lane_step(lane) for lane in range(target.wavefront)]
    addresses = [swizzle.offset(row, column * item_bytes, row_bytes) for row, column in places]
    return conflict_cost(addresses, width, phases)


@cache
def solve(accesses: tuple[Access, ...], columns: int, item_bytes: int, target: Target) -> tuple[Swizzle, int]:
    """The swizzle of least conflict for all accesses to rows of ``columns`` items, and the conflicts left
    (extra cycles of one access each, summed)."""
    row_bytes = columns * item_bytes
    best: tuple[int, int, Swizzle] | None = None
    for candidate in _candidates(row_bytes // CHUNK if row_bytes % CHUNK == 0 else 1):
        cost = sum(_cost(access, row_bytes, item_bytes, candidate, target) for access in accesses)
        if best is None or (cost, candidate.mask) < best[:2]:
            best = (cost, candidate.mask, candidate)
        if cost == 0 and candidate.mask == 0:
            break
    assert best is not None
    return best[2], best[0]


def _candidates(chunks: int) -> Iterable[Swizzle]:
    yield Swizzle()
    mask = 1
    # The chunk index must stay in the row, so the mask is below the largest power of two that divides it.
    while chunks % (mask + 1) == 0:
        up = 0
        while chunks % ((mask + 1) << up) == 0:
            for shift in range(4):
                yield Swizzle(shift, mask, up)
            up += 1
        mask = mask * 2 + 1
