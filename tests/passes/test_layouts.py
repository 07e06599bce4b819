"""Register layouts against the ISA's own formulas, and as coverings of a tile."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hkc.passes.layouts import block_layouts, distribute, divides, flip, parse_layout, plain_layout

LANES = 64


def holders(text: str, shape: tuple[int, ...], waves: int) -> Counter[tuple[int, int]]:
    """How many (wavefront, lane, item) triples hold each element of a tile."""
    dist = distribute(text, shape)
    count: Counter[tuple[int, int]] = Counter()
    for wave in range(waves):
        origin = [wave // s.divisor % s.count * part for s, part in zip(dist.layout.split, dist.part, strict=True)]
        for lane in range(LANES):
            row, column = dist.layout.lane_step(lane)
            for down, right in dist.fragments:
                for item_down, item_right in dist.layout.item_steps():
                    count[origin[0] + row + down + item_down, origin[1] + column + right + item_right] += 1
    return count


def isa_accumulator(m: int, n: int) -> dict[tuple[int, int], tuple[int, int]]:
    """(lane, item) -> (row, column) of D for one block: CDNA3 ISA 7.1.4 with H = 4, B = 1."""
    height = 4
    column_groups = LANES // n
    places = {}
    for i in range(m):
        for j in range(n):
            item = i % height + height * (i // (height * column_groups))
            lane = j + n * (i // height % column_groups)
            places[lane, item] = (i, j)
    return places


def isa_left(m: int, k: int) -> dict[tuple[int, int], tuple[int, int]]:
    """(lane, item) -> (row, k) of A for one block: CDNA3 ISA 7.1.4."""
    held = k // (LANES // m)
    return {(i + m * (kk // held), kk % held): (i, kk) for i in range(m) for kk in range(k)}


def layout_places(text: str) -> dict[tuple[int, int], tuple[int, int]]:
    layout = parse_layout(text)
    places = {}
    for lane in range(LANES):
        row, column = layout.lane_step(lane)
        for item, (down, right) in enumerate(layout.item_steps()):
            places[lane, item] = (row + down, column + right)
    return places


@pytest.mark.parametrize(("m", "n"), [(16, 16), (32, 32)])
def test_accumulator_is_the_isa_formula(m: int, n: int) -> None:
    assert layout_places(f"d({m}x{n})") == isa_accumulator(m, n)


@pytest.mark.parametrize(("m", "n"), [(16, 16), (32, 32)])
def test_swapped_accumulator_is_its_mirror(m: int, n: int) -> None:
    mirrored = {place: (i, j) for place, (j, i) in isa_accumulator(n, m).items()}
    assert layout_places(f"ds({m}x{n})") == mirrored


@pytest.mark.parametrize(("m", "n", "k"), [(16, 16, 16), (16, 16, 32), (32, 32, 8), (32, 32, 16)])
def test_operands_are_the_isa_formula(m: int, n: int, k: int) -> None:
    left = isa_left(m, k)
    assert layout_places(f"a({m}x{n}x{k}*1)") == left
    mirrored = {place: (kk, j) for place, (j, kk) in isa_left(n, k).items()}
    assert layout_places(f"b({m}x{n}x{k}*1)") == mirrored


def test_packed_operand_gives_each_mfma_the_same_k_of_both_sides() -> None:
    """Side by side k-steps permute k; both operands must permute it alike."""
    left, right = layout_places("a(16x16x16*2)"), layout_places("b(16x16x16*2)")
    assert {place: k for place, (_, k) in left.items()} == {place: k for place, (k, _) in right.items()}
    for step in range(2):
        ks = {k for (_, item), (_, k) in left.items() if item // 4 == step}
        assert len(ks) == 16


@pytest.mark.parametrize(
    ("text", "shape", "waves", "copies"),
    [
        ("d(16x16) by 2/2,2/1", (128, 128), 4, 1),
        ("ds(16x16) by 2/2,2/1", (128, 128), 4, 1),
        ("ds(32x32).t by 2/1,2/2", (128, 128), 4, 1),
        ("d(32x32) by 1/1,2/1", (64, 128), 2, 1),
        ("a(16x16x16*2) by 2/2,1/1", (128, 64), 4, 2),
        ("b(16x16x32*1) by 1/1,2/1", (64, 128), 4, 2),
        ("b(16x16x32*1).t by 2/1,1/1", (128, 64), 4, 2),
    ],
)
def test_every_element_is_held(text: str, shape: tuple[int, int], waves: int, copies: int) -> None:
    count = holders(text, shape, waves)
    assert set(count) == {(r, c) for r in range(shape[0]) for c in range(shape[1])}
    assert set(count.values()) == {copies}


@given(
    rows=st.sampled_from([1, 2, 3, 8, 16, 48, 64, 96]),
    columns=st.sampled_from([16, 32, 48, 64, 96, 128, 160, 256]),
    waves=st.sampled_from([1, 2, 3, 4, 8]),
    run=st.sampled_from([1, 2, 4, 8, 16]),
)
def test_plain_layout_holds_every_element_once(rows: int, columns: int, waves: int, run: int) -> None:
    layout = plain_layout((rows, columns), waves, run)
    if layout is None:
        assert rows * columns % (LANES * waves) or rows * columns < LANES * waves or waves == 3
        return
    assert layout.side_by_side() == layout.items_per_fragment
    assert layout.items_per_fragment <= run
    assert set(holders(layout.text(), (rows, columns), waves).values()) == {1}


@settings(deadline=None)
@given(
    rows=st.sampled_from([16, 32, 48, 64, 128]),
    columns=st.sampled_from([16, 32, 48, 64, 96, 128, 160, 256]),
    waves=st.sampled_from([1, 2, 4, 8]),
)
def test_block_layouts_hold_every_element_once(rows: int, columns: int, waves: int) -> None:
    layouts = list(block_layouts((rows, columns), waves, 8, 32))
    assert layouts or rows * columns % (LANES * waves) or rows * columns < LANES * waves
    for layout in layouts[:1]:
        assert set(holders(layout.text(), (rows, columns), waves).values()) == {1}


def test_block_layouts_begin_with_the_fewest_accesses() -> None:
    first = next(iter(block_layouts((64, 256), 8, 8, 32)))
    assert first.kind == "block(8,4,8)", "32 items a lane: 8 loads of 8 bytes and 4 writes of 16 bytes"
    assert next(iter(block_layouts((64, 256), 4, 8, 32))).kind == "block(8,8,8)"
    assert first.side_by_side() == 4
    assert first.transposed().side_by_side() == 8


@given(st.sampled_from(["d(16x16)", "a(16x16x32*1)", "b(32x32x8*2).t", "rows(8,16)", "block(8,4,8)"]))
def test_flipping_twice_changes_nothing(text: str) -> None:
    assert flip(flip(text)) == text
    layout = parse_layout(text)
    assert layout.transposed().transposed() == layout
    assert layout.transposed() == parse_layout(flip(text))


def test_text_round_trips() -> None:
    for text in (
        "ds(16x16).t by 2/1,2/2",
        "a(16x16x16*2) by 2/2,1/1",
        "rows(8,16) by 4/1,1/1",
        "block(8,4,8) by 1/1,8/1",
    ):
        assert parse_layout(text).text() == text


def test_a_tile_that_does_not_divide_is_refused() -> None:
    assert not divides(parse_layout("d(16x16) by 2/2,2/1"), (48, 32))
