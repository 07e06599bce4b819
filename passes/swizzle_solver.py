"""The LDS layout of least bank conflict for all of a tile's readers and writers.

Lane bits move an access by fixed steps, turns are XORs and the lanes served together (a phase) are a coset of a linear
space of lane numbers, so the addresses of a phase are a coset too. It reaches 2^a dwords in 2^b banks, with ranks a and
b over GF(2), and every bank delivers 2^(a - b) of them: that many cycles, in each phase alike. The search minimises the
sum over all accesses, and what it finds is then counted lane by lane with the target's tables (``conflict_cost``): the
count is the proof, the ranks are only the way there.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache
from itertools import combinations, product

from hkc.passes.layouts import Distribution, distribute
from hkc.passes.swizzle import (
    CHUNK,
    CHUNK_BITS,
    Swizzle,
    in_lds,
    lane_width,
    reads_transposed,
    transposed_source,
)
from hkc.targets import LdsPhases, Target

BANK_BYTES = 4  # CDNA3 ISA 11.1: an LDS bank is one dword wide
# Bytes of a row that neighbouring lanes of a copy should load: what the vector L1 delivers a clock (CDNA3 whitepaper).
COALESCED = 64
# A cache line (CDNA3 whitepaper): wider blocks would not help copies.
WIDEST_BLOCK = 128


@dataclass(frozen=True)
class Access:
    """How wavefronts read or write an LDS tile: a register layout, and whether it writes."""

    layout: str
    write: bool = False


@dataclass(frozen=True)
class Degree:
    """The conflicts of one kind of access: bytes a lane, cycles of one instruction, and the least possible."""

    access: Access
    width: int
    cycles: int
    least: int

    @property
    def ways(self) -> float:
        """How many times longer than without conflicts it takes."""
        return self.cycles / self.least


@dataclass(frozen=True)
class Solution:
    """A layout, and what every access costs in it."""

    swizzle: Swizzle
    degrees: tuple[Degree, ...]

    @property
    def extra(self) -> int:
        """Cycles beyond the least of one instruction of each access, summed."""
        return sum(degree.cycles - degree.least for degree in self.degrees)

    @property
    def ways(self) -> float:
        """The worst access's degree; 1 is proved free of conflicts."""
        return max((degree.ways for degree in self.degrees), default=1)


@dataclass(frozen=True)
class _Pattern:
    """An access as seen from LDS: steps of the lane bits in (row, byte), width, phases, and the fragments' steps."""

    access: Access
    dist: Distribution
    width: int
    phases: LdsPhases
    lanes: tuple[tuple[int, int], ...]
    moves: tuple[tuple[int, int], ...]


def addressed(access: Access, columns: bool, shape: tuple[int, ...], item_bytes: int, target: Target) -> Distribution:
    """Where the lanes of an access point: its layout as seen from LDS, or, of a transposing read, its source."""
    dist = in_lds(distribute(access.layout, shape), Swizzle(columns=columns))
    if not access.write and reads_transposed(dist.layout, item_bytes, target):
        return replace(dist, layout=transposed_source(dist.layout))
    return dist


def _pattern(access: Access, columns: bool, shape: tuple[int, ...], item_bytes: int, target: Target) -> _Pattern:
    dist = addressed(access, columns, shape, item_bytes, target)
    width = lane_width(dist.layout, item_bytes)
    table = target.write_phases if access.write else target.read_phases
    steps = dist.layout.lanes
    lanes = tuple((row, column * item_bytes) for row, column in steps)
    run = width // item_bytes
    inner = [(row, column * item_bytes) for row, column in dist.layout.items if row or column >= run]
    outer = [(row, column * item_bytes) for row, column in dist.fragments]
    phases = table.get(width) or table[min(table)]
    return _Pattern(access, dist, width, phases, lanes, (*inner, *outer))


def conflict_cycles(addresses: list[int], width: int, phases: LdsPhases) -> tuple[int, int]:
    """Cycles of one access, lane by lane, and the least possible: a phase takes as many as the most dwords that meet in
    one bank."""
    cycles = least = 0
    for lanes in phases.phases:
        banks: dict[int, set[int]] = {}
        for lane in lanes:
            for at in range(addresses[lane] // BANK_BYTES, (addresses[lane] + width - 1) // BANK_BYTES + 1):
                banks.setdefault(at % phases.banks, set()).add(at)
        cycles += max(len(found) for found in banks.values())
        least += -(-sum(len(found) for found in banks.values()) // phases.banks)
    return cycles, least


def degree(access: Access, swizzle: Swizzle, shape: tuple[int, ...], item_bytes: int, target: Target) -> Degree:
    """What an access to a tile of ``shape`` in a layout costs, counted lane by lane."""
    pattern = _pattern(access, swizzle.columns, shape, item_bytes, target)
    rows, columns = pattern.dist.shape
    places = [pattern.dist.layout.lane_step(lane) for lane in range(target.wavefront)]
    addresses = [swizzle.offset(row, column * item_bytes, columns * item_bytes, rows) for row, column in places]
    return Degree(access, pattern.width, *conflict_cycles(addresses, pattern.width, pattern.phases))


@cache
def solve(
    accesses: tuple[Access, ...], shape: tuple[int, ...], item_bytes: int, target: Target, columns: bool = False
) -> Solution:
    """The layout of least conflict for all accesses to a tile of ``shape``; of equals the one that needs the fewest
    address registers. ``columns``: the tile lies column by column."""
    patterns = [_pattern(access, columns, shape, item_bytes, target) for access in accesses]
    rows, across = shape[::-1] if columns else shape
    row_bytes, bound = across * item_bytes, sum(map(_least_lost, patterns))
    found: list[tuple[_Score, Swizzle]] = []
    for block in _blocks(row_bytes):
        solved = bool(found) and min(found)[0][0] <= bound
        if solved and (block < COALESCED or min(found)[0][2] == len(patterns)):
            break
        found.append(_search(patterns, block, rows, row_bytes, bound, most=1 if solved else 2))
    swizzle = replace(min(found)[1], columns=columns)
    return Solution(swizzle, tuple(degree(a, swizzle, shape, item_bytes, target) for a in accesses))


def _blocks(row_bytes: int) -> list[int]:
    """Widths of blocks, most promising first: powers of two that divide a row; a row that is no whole chunks stays as
    it is."""
    widest = row_bytes & -row_bytes
    widths = [width for width in (WIDEST_BLOCK >> bit for bit in range(4)) if CHUNK <= width <= widest]
    return widths or [row_bytes]


# What is minimised, in this order: cycles lost, copies in too narrow pieces, address registers, turns; then the widest.
_Score = tuple[float, bool, int, int, int]


def _search(
    patterns: list[_Pattern], block: int, rows: int, row_bytes: int, bound: float, most: int
) -> tuple[_Score, Swizzle]:
    """The best turns for one width of blocks: descent over the row bits, one at a time up to ``most`` at a time, until
    no more cycles are lost than ``bound``."""
    chunk_bits = max(0, (block // CHUNK).bit_length() - 1)
    bits = _turning_bits(patterns, rows) if block % CHUNK == 0 else []
    window = max((p.phases.banks * BANK_BYTES // CHUNK for p in patterns), default=1)
    best = Swizzle(block)
    score = _score(patterns, best, row_bytes)
    for size in range(1, most + 1):
        improved = score[0] > bound
        while improved:
            improved = False
            for chosen in combinations(bits, size):
                for masks in product(range(window), repeat=size):
                    candidate = _with(best, dict(zip(chosen, masks, strict=True)))
                    if not _valid(candidate, chunk_bits):
                        continue
                    new = _score(patterns, candidate, row_bytes)
                    if new < score:
                        best, score, improved = candidate, new, True
            improved = improved and score[0] > bound
    return score, best


def _with(swizzle: Swizzle, masks: dict[int, int]) -> Swizzle:
    turns = {**dict(swizzle.turns), **masks}
    return replace(swizzle, turns=tuple((bit, mask) for bit, mask in sorted(turns.items()) if mask))


def _valid(swizzle: Swizzle, chunk_bits: int) -> bool:
    """Whether each turn stays below its own row bit and off the row bits that have turns: see ``swizzle.py``."""
    sources = sum(1 << bit + chunk_bits for bit, _ in swizzle.turns)
    return all(mask < 1 << bit + chunk_bits and not mask & sources for bit, mask in swizzle.turns)


def _turning_bits(patterns: list[_Pattern], rows: int) -> list[int]:
    """The row bits that lanes differ in, as far as whole multiples of them fit into the tile."""
    seen = 0
    for pattern in patterns:
        for row, _ in pattern.lanes:
            seen |= row
    return [bit for bit in range(seen.bit_length()) if seen >> bit & 1 and rows % (2 << bit) == 0]


def _score(patterns: list[_Pattern], swizzle: Swizzle, row_bytes: int) -> _Score:
    lost = sum(_lost(pattern, swizzle) for pattern in patterns)
    registers = sum(_registers(pattern, swizzle) for pattern in patterns)
    narrow = swizzle.block < min(COALESCED, row_bytes)
    return lost, narrow, registers, len(swizzle.turns), -swizzle.block


def _registers(pattern: _Pattern, swizzle: Swizzle) -> int:
    """Addresses that differ between a lane's accesses by more than a constant, at most."""
    rows, chunks = swizzle.touched()
    met = met_rows = 0
    for row, byte in pattern.moves:
        met_rows |= row & rows
        met |= byte % swizzle.block & chunks << CHUNK_BITS
    return 1 << met.bit_count() + met_rows.bit_count()


def _lost(pattern: _Pattern, swizzle: Swizzle) -> float:
    """Cycles beyond the least of one access, from the ranks (see the module's text)."""
    reached = _reached(pattern, [_address(swizzle, row, byte) for row, byte in pattern.lanes])
    banks, dwords = pattern.phases.banks, 1 << _rank(reached)
    cycles = dwords >> _rank([vector % banks for vector in reached])
    return (cycles - max(1, dwords // banks)) * len(pattern.phases.phases)


def _reached(pattern: _Pattern, steps: list[int]) -> list[int]:
    """What spans the dwords that a phase reaches, from the address bits that each lane bit flips."""
    reached = [1 << bit for bit in range((pattern.width // BANK_BYTES).bit_length() - 1)]
    for lane in _directions(pattern.phases):
        vector = 0
        for bit, step in enumerate(steps):
            if lane >> bit & 1:
                vector ^= step
        reached.append(vector // BANK_BYTES)
    return reached


def _least_lost(pattern: _Pattern) -> float:
    """Cycles that any layout loses: what lies inside a chunk stays there, so that lanes which never differ in it leave
    banks idle."""
    steps = [row << _BLOCK_BIT | byte for row, byte in pattern.lanes]
    reached = _reached(pattern, steps)
    banks, chunk = pattern.phases.banks, CHUNK // BANK_BYTES
    most = _rank([vector % chunk for vector in reached]) + (banks // chunk).bit_length() - 1
    dwords = _rank(reached)
    return ((1 << dwords - min(dwords, most)) - max(1, (1 << dwords) // banks)) * len(pattern.phases.phases)


@cache
def unavoidable(
    accesses: tuple[Access, ...], shape: tuple[int, ...], item_bytes: int, target: Target, columns: bool = False
) -> float:
    """Cycles beyond the least that the accesses lose in any layout: a lower bound of ``Solution.extra``."""
    return sum(_least_lost(_pattern(access, columns, shape, item_bytes, target)) for access in accesses)


# Where the index of a block stands in the vectors of `_address`: above every offset in a tile.
_BLOCK_BIT = 32


def _address(swizzle: Swizzle, row: int, byte: int) -> int:
    """The bits of an LDS address that a step flips. Blocks are multiples of all banks high, so that their index only
    tells dwords apart; where they are not, the count that follows the search says what it costs."""
    block, inside = divmod(byte, swizzle.block)
    return block << _BLOCK_BIT ^ row * swizzle.block + inside ^ swizzle.turn(row) * CHUNK


@cache
def _directions(phases: LdsPhases) -> tuple[int, ...]:
    """A basis of the lane numbers by which lanes of one phase differ."""
    first = phases.phases[0]
    basis: list[int] = []
    for lane in first:
        if _rank([*basis, lane ^ first[0]]) > len(basis):
            basis.append(lane ^ first[0])
    return tuple(basis)


def _rank(vectors: Iterable[int]) -> int:
    """The rank over GF(2)."""
    basis: list[int] = []
    for vector in vectors:
        for base in basis:
            vector = min(vector, vector ^ base)
        if vector:
            basis.append(vector)
    return len(basis)
