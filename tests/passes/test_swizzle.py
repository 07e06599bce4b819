"""LDS layouts: bijective, and what of an address is the same for every lane really is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hkc.errors import InternalError
from hkc.passes.layouts import distribute
from hkc.passes.swizzle import Swizzle, is_chosen, parse_swizzle

BLOCKS = st.sampled_from([16, 32, 64, 128])
ROWS, BLOCKS_A_ROW = 64, 2


@st.composite
def swizzles(draw: st.DrawFn) -> Swizzle:
    """Any layout that keeps the rules: a turn changes bits below its own, and no row bit that has a turn."""
    block = draw(BLOCKS)
    chunk_bits = (block // 16).bit_length() - 1
    turning = draw(st.sets(st.integers(0, 5)))
    sources = sum(1 << bit + chunk_bits for bit in turning)
    turns = [(bit, draw(st.integers(0, 15)) & (1 << bit + chunk_bits) - 1 & ~sources) for bit in sorted(turning)]
    return Swizzle(block, tuple(turn for turn in turns if turn[1]), draw(st.booleans()))


@given(swizzles())
def test_offsets_are_a_permutation_with_an_inverse(swizzle: Swizzle) -> None:
    row_bytes = swizzle.block * BLOCKS_A_ROW
    seen = set()
    for row in range(ROWS):
        for byte in range(0, row_bytes, 8):
            offset = swizzle.offset(row, byte, row_bytes, ROWS)
            assert swizzle.place(offset, row_bytes, ROWS) == (row, byte)
            seen.add(offset)
    assert seen == set(range(0, ROWS * row_bytes, 8))


@given(swizzles(), st.sampled_from(["a(16x16x16*2)", "b(16x16x32*1)", "b(32x32x8*2)", "ds(16x16)", "rows(4,4)"]))
def test_the_constant_part_of_a_step_is_the_same_for_every_lane(swizzle: Swizzle, layout: str) -> None:
    item = 2
    columns = swizzle.block * BLOCKS_A_ROW // item
    if columns % 32:
        columns = 32
    row_bytes = columns * item
    dist = distribute(f"{layout} by 2/1,1/1" if layout[0] != "b" else f"{layout} by 1/1,1/1", (ROWS, columns))
    for row, column in dist.fragments:
        for down, right in dist.layout.item_steps():
            step = (row + down, column + right)
            kept, immediate = swizzle.kept(dist, step, item, row_bytes, ROWS)
            for wave in range(dist.layout.split[0].count):
                for lane in range(64):
                    first, second = dist.layout.lane_step(lane)
                    first += wave * dist.part[0]
                    whole = swizzle.offset(first + step[0], (second + step[1]) * item, row_bytes, ROWS)
                    base = swizzle.offset(first + kept[0], (second + kept[1]) * item, row_bytes, ROWS)
                    assert whole == base + immediate


@given(swizzles())
def test_text_round_trips(swizzle: Swizzle) -> None:
    assert parse_swizzle(swizzle.text()) == swizzle
    assert is_chosen(swizzle.text())


def test_texts_without_a_choice() -> None:
    assert parse_swizzle("columns") == Swizzle(columns=True)
    assert parse_swizzle(None) == Swizzle()
    assert not is_chosen("columns")
    with pytest.raises(InternalError, match="not an LDS layout"):
        parse_swizzle("spiral")
