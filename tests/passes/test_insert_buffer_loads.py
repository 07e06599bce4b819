"""Staging through LDS, register staging, and the LDS budget."""

from __future__ import annotations

import pytest
from mlir import ir

from hkc.dialect.ops import LdsAlloc
from hkc.dialect.types import lds_type, tile_type
from hkc.dialect.verify import walk
from hkc.errors import HkcError
from hkc.passes.lds_report import lds_tiles_of
from hkc.passes.rebuild import kernel_of

from .conftest import Make


def names(module: ir.Module) -> list[str]:
    return [op.name for op in walk(kernel_of(module))]


def test_gfx950_copies_straight_to_lds(make: Make, gemm: str) -> None:
    found = names(make(gemm, "gfx950", "insert-buffer-loads"))
    assert found.count("tile.copy") == 4, "two in the prologue, two in the loop"
    assert "tile.buffer_load" not in found


def test_gfx942_goes_through_registers(make: Make, gemm: str) -> None:
    found = names(make(gemm, "gfx942", "insert-buffer-loads"))
    assert "tile.copy" not in found
    assert found.count("tile.buffer_load") == 4


@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
def test_tail_and_store_have_masked_paths(make: Make, gemm: str, arch: str) -> None:
    found = names(make(gemm, arch, "insert-buffer-loads"))
    assert found.count("tile.masked_load") == 2
    assert found.count("tile.masked_store") == found.count("tile.buffer_store") == 1
    assert "tile.load" not in found
    assert "tile.store" not in found


@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
@pytest.mark.parametrize("stages", [1, 2])
def test_lds_holds_one_tile_a_stage_without_conflicts(make: Make, gemm: str, arch: str, stages: int) -> None:
    module = make(gemm, arch, "insert-buffer-loads", STAGES=stages, SCHEDULE="uniform")
    allocations = [op for op in walk(kernel_of(module)) if op.name == LdsAlloc.name]
    assert [lds_type(op.results[0]).shape for op in allocations] == [(stages, 128, 64)] * 2
    tiles = lds_tiles_of(module)
    assert {tile.name for tile in tiles} == {"a", "b"}
    assert [tile.type for tile in tiles] == [f"{stages} x 128x64 bf16"] * 2
    assert all(tile.accesses and tile.ways == 1 for tile in tiles)


def test_conflicts_that_are_left_are_noted_by_tile(make: Make, gemm: str) -> None:
    """8-byte reads of chunks that 16-byte writes keep together, on gfx942: see test_swizzle_solver."""
    tiles = lds_tiles_of(make(gemm, "gfx942", "lower-to-rocdl", BM=64, BN=64, BK=16, STAGES=2))
    assert {str(tile) for tile in tiles if tile.name == "a"} == {
        "a: 2 x 64x16 bf16, blocks(32) turns(2:1): bank conflicts 2-way in reads of 8 bytes a lane"
    }


def test_gfx942_keeps_transposed_operands_column_by_column(make: Make, gemm: str) -> None:
    """B is [k, n]: it is loaded in blocks of 8 x 8, written by runs of 8 along k, and read as A is."""
    module = make(gemm, "gfx942", "insert-buffer-loads", TRANS="nn", STAGES=1)
    a, b = [lds_type(op.results[0]).layout or "" for op in walk(kernel_of(module)) if op.name == LdsAlloc.name][::-1]
    assert a.startswith("blocks(128)")
    assert b.startswith("columns blocks(64)")
    loads = [tile_type(op.results[0]) for op in walk(kernel_of(module)) if op.name.endswith("_load")]
    assert {t.layout.partition("(")[0] for t in loads if t.layout and t.shape == (64, 128)} == {"block"}
    assert {t.layout.partition("(")[0] for t in loads if t.layout and t.shape == (128, 64)} == {"rows"}


def test_gfx950_keeps_transposed_operands_row_by_row(make: Make, gemm: str) -> None:
    module = make(gemm, "gfx950", "insert-buffer-loads", TRANS="tn")
    layouts = [lds_type(op.results[0]).layout or "" for op in walk(kernel_of(module)) if op.name == LdsAlloc.name]
    assert all(layout.startswith("blocks(") for layout in layouts)
    assert "tile.buffer_load" not in names(module)


def test_a_tile_too_small_for_direct_copies_goes_through_registers(make: Make, gemm: str) -> None:
    found = names(make(gemm, "gfx950", "insert-buffer-loads", BM=16, BN=64, BK=16))
    assert "tile.buffer_load" in found


def test_loads_at_computed_offsets_are_staged_in_place(make: Make, gemm: str) -> None:
    shifted = gemm.replace("a = A[m : m + BM, k : k + BK]", "j = k + 0 * m\n a = A[m : m + BM, j : j + BK]")
    found = names(make(shifted, "gfx950", "insert-buffer-loads"))
    assert "tile.masked_load" in found
    assert found.count("tile.lds_alloc") == 2


BY_HAND = """
kernel k(A: view[M, K, bf16], C: view[M, K, bf16]) grid (1) {
    a = lds(3, 128, 64, bf16)
    b = lds(3, 128, 64, bf16)
    wait(write(A[0 : 128, 0 : 64], a[0]))
    barrier()
    wait(write(read(a[0]), b[0]))
    barrier()
    C[0 : 128, 0 : 64] = read(b[0])
}
"""


def test_over_the_lds_limit_names_the_tiles(make: Make) -> None:
    with pytest.raises(HkcError, match="need 98304 bytes of LDS, gfx942 has 65536") as caught:
        make(BY_HAND, "gfx942", "insert-buffer-loads")
    notes = [message for message, _ in caught.value.notes]
    assert any(n.startswith("a: 3 x 128x64 bf16 = 49152 bytes") for n in notes)
    assert any(n.startswith("b: 3 x 128x64 bf16 = 49152 bytes") for n in notes)
    assert all(span is not None for _, span in caught.value.notes)


def test_too_many_stages_is_an_error(make: Make, gemm: str) -> None:
    with pytest.raises(HkcError, match="stages") as caught:
        make(gemm, "gfx950", "insert-buffer-loads", STAGES=9, BM=32, BN=32)
    assert caught.value.expected == "1 to 4"


TWICE = """
kernel k(A: view[64, 64, bf16], C: view[64, 64, bf16]) grid (1) {
    s = lds(1, 64, 64, bf16)
    t = copy(A[0 : 64, 0 : 64], s[0])
    wait(t)
    wait(t)
    C[0 : 64, 0 : 64] = read(s[0])
}
"""


def test_waiting_twice_on_a_register_staged_copy_is_an_error(make: Make) -> None:
    with pytest.raises(HkcError, match="token is used twice"):
        make(TWICE, "gfx942", "insert-buffer-loads")


INVARIANT = """
kernel f(A: view[M, K, bf16], B: view[64, K, bf16], C: view[M, 64, f32], p: i32) grid (cdiv(M, 64)) {
    acc = zeros(64, 64, f32)
    for k in range(0, K, 64) {
        m = ROW
        acc += A[m : m + 64, k : k + 64] @ B[0 : 64, k : k + 64].T
    }
    C[block(0) * 64 : (block(0) + 1) * 64, 0 : 64] = acc
}
"""


@pytest.mark.parametrize(
    ("row", "pipelined"),
    [("block(0) * 64", True), ("(block(0) + p // 3) * 64", True), ("block(0) * 64 // p", False), ("k", True)],
)
def test_what_a_loop_computes_anew_is_moved_before_it(make: Make, row: str, pipelined: bool) -> None:
    # A division by what may be 0 stays where it stood.
    module = make(INVARIANT.replace("ROW", row), "gfx950", "insert-buffer-loads")
    copies = [op for op in walk(kernel_of(module)) if op.name == "tile.copy" and op.parent.name == "scf.for"]
    assert len(copies) == 1 + pipelined
