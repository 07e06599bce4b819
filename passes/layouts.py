"""Register layouts: which lane of which wavefront holds which element of a tile.

A layout cuts a tile into fragments. Inside a fragment each bit of the lane number and each bit of a lane's item
number moves the element by a fixed step along rows and columns; the steps never overlap, so positions are sums.
Wavefronts split an axis into equal contiguous parts. Texts:

    d(16x16)         accumulator of a 16x16 MFMA: a lane holds runs of four rows of one column
    ds(16x16)        accumulator with the MFMA's operands swapped: runs of four columns of one row
    a(16x16x16*2)    left operand, rows x k; a lane holds k's of two MFMAs side by side
    b(16x16x16*2)    right operand, k x columns
    b(16x16x16*2).t  the transpose of a tile in that layout
    ad(32x32x16*1), bd(32x32x16*1)   operands whose k's lie in the order of an accumulator's rows
    rows             plain: runs along a row; `rows(8,16)` once the run (8) and the lanes a row (16) are chosen
    block(8,4,8)     blocks of 8 rows x 4 columns a lane, 8 lanes side by side
    d(16x16).down    a vector with an element for each row of such a tile: each lane holds those of its rows
    d(16x16).across  the same with an element for each column
    ... by 2/2,1/1   after `assign-wave-roles`: an axis is split by COUNT wavefronts; index = wave / DIVISOR % COUNT

Source of the MFMA layouts: AMD CDNA3 and CDNA4 ISA manuals, 7.1.4.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache

from hkc.errors import InternalError

Step = tuple[int, int]

# Suffixes of the layouts of vectors along axis 0 and axis 1 of a tile.
SLICES = ("down", "across")

LANE_BITS = 6  # 64 lanes
_FREE_BITS = 16  # no tile is larger along an axis
ACCUMULATOR_RUN = 4  # consecutive rows of D in one lane: CDNA3 ISA 7.1.4, H = 4 for all but f64


@dataclass(frozen=True)
class WaveSplit:
    """How wavefronts share an axis: wave w takes part ``w // divisor % count`` of ``count`` equal ones."""

    count: int = 1
    divisor: int = 1

    def text(self) -> str:
        return f"{self.count}/{self.divisor}"


@dataclass(frozen=True)
class Layout:
    """A parsed layout; ``lanes`` and ``items`` give the (row, column) step of each bit, lowest first."""

    kind: str
    fragment: tuple[int, int]
    lanes: tuple[Step, ...]
    items: tuple[Step, ...]
    split: tuple[WaveSplit, WaveSplit] = (WaveSplit(), WaveSplit())

    @property
    def items_per_fragment(self) -> int:
        return 1 << len(self.items)

    def item_steps(self) -> list[Step]:
        """Position of each item of a lane relative to its first."""
        return [_combine(self.items, index) for index in range(self.items_per_fragment)]

    def lane_step(self, lane: int) -> Step:
        """Position of a lane's first item inside the fragment."""
        return _combine(self.lanes, lane)

    def transposed(self) -> Layout:
        return Layout(
            flip(self.kind),
            self.fragment[::-1],
            tuple(s[::-1] for s in self.lanes),
            tuple(s[::-1] for s in self.items),
            self.split[::-1],
        )

    def text(self) -> str:
        return f"{self.kind} by {','.join(s.text() for s in self.split)}"

    def side_by_side(self) -> int:
        """How many of a lane's items, a power of two, lie side by side in a row, in whatever order."""
        run = 1
        while (0, run) in self.items:
            run *= 2
        return run

    def sliced(self, axis: int) -> Layout:
        """The layout of vectors along ``axis`` of a tile in this one. Lanes and wavefronts that hold the same places
        of that axis hold the same elements. Of a 2-D tile each row is such a vector."""
        return Layout(
            slice_kind(self.kind, axis),
            (1, self.fragment[axis]),
            tuple((0, step[axis]) for step in self.lanes),
            tuple((0, step[axis]) for step in self.items if step[axis]),
            (WaveSplit(), self.split[axis]),
        )

    def places(self) -> tuple[object, ...]:
        """Which lane of which wavefront holds what: equal for layouts that differ in name only."""
        return self.fragment, self.lanes, self.items, self.spread()

    def spread(self) -> tuple[WaveSplit, ...]:
        """How wavefronts share the axes; an axis that they don't share has one spelling."""
        return tuple(split if split.count > 1 else WaveSplit() for split in self.split)

    def idle_lanes(self) -> int:
        """The lane bits that tell apart lanes with the same elements."""
        return sum(1 << bit for bit, step in enumerate(self.lanes) if step == (0, 0))


def _combine(steps: tuple[Step, ...], index: int) -> Step:
    row = column = 0
    for bit, (down, right) in enumerate(steps):
        if index >> bit & 1:
            row, column = row + down, column + right
    return row, column


def flip(kind: str) -> str:
    """The layout text of the transposed tile (without wave split)."""
    return kind.removesuffix(".t") if kind.endswith(".t") else f"{kind}.t"


def slice_kind(kind: str, axis: int) -> str:
    """The layout text of a vector along ``axis`` of a tile in layout ``kind`` (both without wave split)."""
    if kind.endswith(".t"):
        kind, axis = flip(kind), 1 - axis
    return f"{kind}.{SLICES[axis]}"


def _bits(count: int) -> int:
    if count < 1 or count & (count - 1):
        raise InternalError(f"{count} is not a power of two")
    return count.bit_length() - 1


def _along(axis: int, first: int, count: int) -> tuple[Step, ...]:
    """Steps first, 2*first, ... along an axis, enough for ``count`` positions."""
    sizes = [first << bit for bit in range(_bits(count))]
    return tuple((size, 0) if axis == 0 else (0, size) for size in sizes)


def _accumulator(m: int, n: int) -> Layout:
    run = ACCUMULATOR_RUN
    groups = (1 << LANE_BITS) // n  # lane groups that hold different rows
    lanes = _along(1, 1, n) + _along(0, run, groups)
    items = _along(0, 1, run) + _along(0, run * groups, m // (run * groups))
    return Layout(f"d({m}x{n})", (m, n), lanes, items)


def _swapped(m: int, n: int) -> Layout:
    return replace(_accumulator(n, m).transposed(), kind=f"ds({m}x{n})")


def _left(m: int, n: int, k: int, pack: int) -> Layout:
    groups = (1 << LANE_BITS) // m
    held = k // groups * pack
    lanes = _along(0, 1, m) + _along(1, held, groups)
    return Layout(f"a({m}x{n}x{k}*{pack})", (m, k * pack), lanes, _along(1, 1, held))


def _right(m: int, n: int, k: int, pack: int) -> Layout:
    mirrored = _left(n, m, k, pack).transposed()
    return replace(mirrored, kind=f"b({m}x{n}x{k}*{pack})")


def _accumulator_order(plain: Layout, kind: str, axis: int) -> Layout:
    """An operand that takes its k's, along ``axis``, in the order in which an accumulator holds its rows: runs of four,
    dealt to the lane groups in turn. A matmul may sum over k in any order, if both operands have the same."""
    groups = sum(1 for step in plain.lanes if step[axis])
    lanes = tuple(step for step in plain.lanes if not step[axis])
    items = 1 << len(plain.items)
    run = ACCUMULATOR_RUN
    return replace(
        plain,
        kind=kind,
        lanes=lanes + _along(axis, run, 1 << groups),
        items=_along(axis, 1, run) + _along(axis, run << groups, items // run),
    )


def _left_accumulator(m: int, n: int, k: int, pack: int) -> Layout:
    return _accumulator_order(_left(m, n, k, pack), f"ad({m}x{n}x{k}*{pack})", 1)


def _right_accumulator(m: int, n: int, k: int, pack: int) -> Layout:
    return _accumulator_order(_right(m, n, k, pack), f"bd({m}x{n}x{k}*{pack})", 0)


def _rows(run: int, across: int) -> Layout:
    down = (1 << LANE_BITS) // across
    lanes = _along(1, run, across) + _along(0, 1, down)
    return Layout(f"rows({run},{across})", (down, across * run), lanes, _along(1, 1, run))


def _block(down: int, run: int, across: int) -> Layout:
    lanes = _along(1, run, across) + _along(0, down, (1 << LANE_BITS) // across)
    fragment = (down * ((1 << LANE_BITS) // across), across * run)
    return Layout(f"block({down},{run},{across})", fragment, lanes, _along(1, 1, run) + _along(0, 1, down))


_TEXT = re.compile(
    r"(?P<name>ds|d|ad|bd|a|b|rows|block)\((?P<numbers>[\dx*,]+)\)(?P<t>\.t)?"
    r"(?:\.(?P<slice>down|across))?(?: by (?P<split>[\d/,]+))?"
)
_MAKERS: dict[str, Callable[..., Layout]] = {
    "d": _accumulator,
    "ds": _swapped,
    "a": _left,
    "b": _right,
    "ad": _left_accumulator,
    "bd": _right_accumulator,
    "rows": _rows,
    "block": _block,
}


@cache
def parse_layout(text: str) -> Layout:
    """The layout that ``text`` spells. Raises InternalError for a text that is none (or is not yet chosen)."""
    match = _TEXT.fullmatch(text)
    if match is None:
        raise InternalError(f"not a layout: {text!r}")
    numbers = [int(n) for n in re.split(r"[x*,]", match["numbers"])]
    layout = _MAKERS[match["name"]](*numbers)
    if match["t"]:
        layout = layout.transposed()
    if match["slice"]:
        layout = layout.sliced(SLICES.index(match["slice"]))
    if match["split"]:
        first, second = (WaveSplit(*map(int, s.split("/"))) for s in match["split"].split(","))
        layout = replace(layout, split=(first, second))
    return layout


@dataclass(frozen=True)
class Distribution:
    """A layout applied to a tile's shape (a 1-D tile counts as one row).

    ``fragments`` are the (row, column) offsets of a wavefront's fragments from its part's origin; ``part`` is the
    shape that one wavefront holds.
    """

    layout: Layout
    shape: tuple[int, int]
    part: tuple[int, int]
    fragments: tuple[Step, ...]

    def grid(self) -> tuple[int, int]:
        """Fragments along rows and columns of a wavefront's part."""
        return self.part[0] // self.layout.fragment[0], self.part[1] // self.layout.fragment[1]

    def transposed(self) -> Distribution:
        """The transposed tile: the same lanes hold the same elements."""
        flipped = tuple(fragment[::-1] for fragment in self.fragments)
        return Distribution(self.layout.transposed(), self.shape[::-1], self.part[::-1], flipped)

    def free_bits(self, axis: int) -> int:
        """The bits along an axis in which every lane's origin is zero, whatever its wavefront."""
        taken = 0
        for step in self.layout.lanes:
            taken |= step[axis]
        if self.layout.split[axis].count > 1:
            part = self.part[axis]
            taken |= -(part & -part)  # its lowest bit and all above
        return ~taken & ((1 << _FREE_BITS) - 1)

    def piece(self, pieces: tuple[int, int], piece: tuple[int, int]) -> tuple[Step, ...]:
        """The fragments of one piece of a wavefront's part that is cut into rows x columns equal ones."""
        size = tuple(extent // count for extent, count in zip(self.part, pieces, strict=True))
        return tuple(f for f in self.fragments if (f[0] // size[0], f[1] // size[1]) == piece)


def as_matrix(shape: tuple[int, ...]) -> tuple[int, int]:
    """A 1-D shape as one row."""
    return (1, shape[0]) if len(shape) == 1 else (shape[0], shape[1])


@cache
def distribute(text: str, shape: tuple[int, ...]) -> Distribution:
    """How a tile of ``shape`` lies in the layout ``text``. Raises InternalError if it does not divide."""
    layout = parse_layout(text)
    matrix = as_matrix(shape)
    part = tuple(extent // split.count for extent, split in zip(matrix, layout.split, strict=True))
    if not divides(layout, matrix):
        raise InternalError(f"a tile of {matrix[0]}x{matrix[1]} does not divide into {text}")
    down, across = layout.fragment
    fragments = tuple((row, column) for row in range(0, part[0], down) for column in range(0, part[1], across))
    return Distribution(layout, matrix, (part[0], part[1]), fragments)


def divides(layout: Layout, matrix: tuple[int, int]) -> bool:
    """Whether a tile splits into whole fragments for every wavefront."""
    return all(
        extent % (split.count * size) == 0
        for extent, split, size in zip(matrix, layout.split, layout.fragment, strict=True)
    )


def plain_layout(shape: tuple[int, ...], waves: int, longest_run: int) -> Layout | None:
    """The `rows` layout with the longest runs (at most ``longest_run`` items) that spreads a tile evenly over
    ``waves`` wavefronts; None if there is none (fewer elements than lanes, or odd extents)."""
    rows, columns = as_matrix(shape)
    run = longest_run
    while run >= 1:
        across = 1 << LANE_BITS
        while across >= 1:
            base = _rows(run, across)
            for first in _divisors(waves):
                second = waves // first
                layout = replace(base, split=(WaveSplit(first, second), WaveSplit(second, 1)))
                if divides(layout, (rows, columns)):
                    return layout
            across //= 2
        run //= 2
    return None


def block_layouts(shape: tuple[int, ...], waves: int, longest_run: int, side_by_side: int) -> Iterator[Layout]:
    """The `block` layouts that spread a tile evenly over ``waves`` wavefronts: first those that move it by the fewest
    accesses when runs along rows are loaded and runs down columns written, each of at most ``longest_run`` items; of
    equals those with about ``side_by_side`` items of a row in neighbouring lanes."""
    matrix = as_matrix(shape)
    sizes = [1 << bit for bit in range(_bits(longest_run) + 1)]
    blocks = sorted(((down, run) for down in sizes for run in sizes), key=lambda b: (1 / b[0] + 1 / b[1], -b[0]))
    for down, run in blocks:
        widths = sorted(range(LANE_BITS + 1), key=lambda bit, run=run: abs((run << bit) - side_by_side))  # type: ignore[misc]
        for across in widths:
            base = _block(down, run, 1 << across)
            for first in _divisors(waves):
                layout = replace(base, split=(WaveSplit(first, waves // first), WaveSplit(waves // first, 1)))
                if divides(layout, matrix):
                    yield layout
                    break


def _divisors(count: int) -> list[int]:
    return [d for d in range(count, 0, -1) if count % d == 0]
