"""LDS layouts: where the bytes of a tile lie, as linear functions of row and column bits.

An LDS tile is cut into blocks, each ``block`` bytes wide and as high as the tile; block follows block, and in a block
row follows row. Inside a block the index of a 16-byte chunk (row by row) is XORed with the tile's *turns*: row bit i,
if set, with ``turns[i]``. A turn only changes bits below its own row bit, and no row bit that has a turn itself, so
swizzling twice gives the identity. Tiles may lie column by column: then rows and columns change places. Which layout
is free of bank conflicts is found by ``swizzle_solver.py``. Texts:

    blocks(64) turns(3:2)        64 bytes of a row, then the next row's; rows with bit 3 set have chunks c ^ 2
    columns blocks(64) turns()   the same of the transposed tile, without turns
    columns                      column by column; the rest is not chosen yet
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cache

from hkc.errors import InternalError
from hkc.passes.layouts import Distribution, Layout, Step
from hkc.targets import Target

CHUNK = 16  # bytes that stay together: the widest LDS access and the unit of LDS-direct loads
CHUNK_BITS = 4
COLUMNS = "columns"


@dataclass(frozen=True, order=True)
class Swizzle:
    """See the module's text. ``block`` 0: as wide as the tile; ``turns`` holds (row bit, mask of chunk index bits)."""

    block: int = 0
    turns: tuple[tuple[int, int], ...] = ()
    columns: bool = False

    def text(self) -> str:
        turns = ",".join(f"{bit}:{mask}" for bit, mask in self.turns)
        return f"{COLUMNS + ' ' if self.columns else ''}blocks({self.block}) turns({turns})"

    def width(self, row_bytes: int) -> int:
        """Bytes of a row that a block holds."""
        return self.block or row_bytes

    def turn(self, row: int) -> int:
        """What the chunk indices of a row are XORed with."""
        turned = 0
        for bit, mask in self.turns:
            if row >> bit & 1:
                turned ^= mask
        return turned

    def offset(self, row: int, byte: int, row_bytes: int, rows: int) -> int:
        """Byte offset in the tile of a byte of a row (of a column, if it lies column by column)."""
        width = self.width(row_bytes)
        block, inside = divmod(byte, width)
        return block * rows * width + (row * width + inside ^ self.turn(row) * CHUNK)

    def place(self, offset: int, row_bytes: int, rows: int) -> tuple[int, int]:
        """The row and byte that lie at an offset: the inverse of :meth:`offset`."""
        width = self.width(row_bytes)
        block, inside = divmod(offset, rows * width)
        row, byte = divmod(inside ^ self.turn(inside // width) * CHUNK, width)
        return row, block * width + byte

    def kept(self, dist: Distribution, step: Step, item_bytes: int, row_bytes: int, rows: int) -> tuple[Step, int]:
        """What of a step from a lane's origin must go into the lane's address, as (row, column), and the rest as bytes
        that are the same for every lane: bits that no turn reads or changes and that carry nowhere."""
        width = self.width(row_bytes)
        touched_rows, touched_chunks = self.touched(width)
        row, column = step
        period = 1 << touched_rows.bit_length()
        plain_row = row // period * period + _untouched(row % period, touched_rows, dist.free_bits(0))
        block, inside = divmod(column * item_bytes, width)
        plain_byte = _untouched(inside, touched_chunks << CHUNK_BITS, dist.free_bits(1) * item_bytes)
        immediate = block * rows * width + plain_row * width + plain_byte
        return (row - plain_row, (inside - plain_byte) // item_bytes), immediate

    def touched(self, width: int = 0) -> tuple[int, int]:
        """The row bits and the chunk bits of a row that a turn reads or changes."""
        chunk_bits = max(0, ((width or self.block) // CHUNK).bit_length() - 1)
        rows = chunks = 0
        for bit, mask in self.turns:
            rows |= 1 << bit | mask >> chunk_bits
            chunks |= mask & ((1 << chunk_bits) - 1)
        return rows, chunks


def _untouched(step: int, touched: int, free: int) -> int:
    """The bits of a step that neither meet a turn nor, because all of its bits are free, carry."""
    return step & ~touched if step & ~free == 0 else 0


_TEXT = re.compile(r"(columns )?blocks\((\d+)\) turns\(([\d:,]*)\)")


@cache
def parse_swizzle(text: str | None) -> Swizzle:
    """The swizzle of an LDS type's layout text; none is row-major, without turns.

    Raises InternalError for a text that is no layout."""
    if text is None or text == COLUMNS:
        return Swizzle(columns=text == COLUMNS)
    match = _TEXT.fullmatch(text)
    if match is None:
        raise InternalError(f"not an LDS layout: {text!r}")
    pairs = [turn.split(":") for turn in match[3].split(",") if turn]
    return Swizzle(int(match[2]), tuple((int(bit), int(mask)) for bit, mask in pairs), match[1] is not None)


def is_chosen(text: str | None) -> bool:
    """Whether an LDS type's layout text says all; else the solver has a choice."""
    return text not in (None, COLUMNS)


def in_lds(dist: Distribution, swizzle: Swizzle) -> Distribution:
    """A register distribution as seen from the tile's LDS: transposed where that lies column by column."""
    return dist.transposed() if swizzle.columns else dist


def lane_width(layout: Layout, item_bytes: int) -> int:
    """Bytes that a lane moves at once: its contiguous items, at most the widest access."""
    return min(CHUNK, layout.side_by_side() * item_bytes)


def reads_transposed(layout: Layout, item_bytes: int, target: Target) -> bool:
    """Whether the target's transposing LDS reads serve a layout whose lanes hold runs along a column: 16 lanes side
    by side in a row, four rows or a multiple in a run."""
    run = layout.items_per_fragment
    down = layout.items[:2] == ((1, 0), (2, 0)) and not any(column for _, column in layout.items)
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
