"""The wave grid, and that operands and accumulators of one matmul are split alike."""

from __future__ import annotations

import pytest
from mlir import ir

from hkc.dialect.irdl import get_ints
from hkc.dialect.types import TileType, tile_type, try_parse_type
from hkc.dialect.verify import walk
from hkc.errors import HkcError
from hkc.passes.layouts import distribute
from hkc.passes.rebuild import kernel_of

from .conftest import Make


def waves(module: ir.Module) -> tuple[int, ...] | None:
    return get_ints(kernel_of(module), "tile.waves")


@pytest.mark.parametrize(
    ("block", "grid"),
    [
        ((128, 128), (2, 2)),
        ((256, 256), (2, 4)),
        ((64, 64), (2, 2)),
        ((16, 16), (1, 1)),
        ((16, 64), (1, 4)),
        ((64, 16), (4, 1)),
        ((48, 48), (1, 3)),
    ],
)
def test_default_grid(make: Make, gemm: str, block: tuple[int, int], grid: tuple[int, int]) -> None:
    assert waves(make(gemm, "gfx950", "assign-wave-roles", BM=block[0], BN=block[1], STAGES=1)) == grid


@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
@pytest.mark.parametrize("block", [(128, 128), (256, 128), (64, 32), (16, 16), (48, 80)])
@pytest.mark.parametrize("trans", ["nt", "nn"])
@pytest.mark.parametrize("turned", [False, True])
def test_each_wavefront_holds_the_operands_of_its_accumulators(
    make: Make, gemm: str, arch: str, block: tuple[int, int], trans: str, turned: bool
) -> None:
    if turned:
        gemm = gemm.replace("C: view[M, N, DTYPE]", "C: view[N, M, DTYPE]").replace(
            "C[m : m + BM, n : n + BN] = acc.to(DTYPE)", "C[n : n + BN, m : m + BM] = acc.to(DTYPE).T"
        )
    module = make(gemm, arch, "assign-wave-roles", BM=block[0], BN=block[1], BK=32, TRANS=trans)
    [matmul] = [op for op in walk(kernel_of(module)) if op.name == "tile.mma"]
    a, b, acc = (distribute(tile_type(v).layout or "", tile_type(v).shape) for v in matmul.operands)
    assert (a.layout.split[0], b.layout.split[1]) == acc.layout.split
    assert (a.part[0], b.part[1]) == acc.part
    assert a.layout.split[1].count == b.layout.split[0].count == 1


ASKED = """
kernel twice(A: view[M, N, f32], B: view[M, N, f32]) grid (cdiv(M, 64), cdiv(N, 64)) waves (2, 1) {
    m = block(0) * 64
    n = block(1) * 64
    x = A[m : m + 64, n : n + 64]
    B[m : m + 64, n : n + 64] = x + x
}
"""


def test_grid_asked_for_is_used(make: Make) -> None:
    assert waves(make(ASKED, "gfx950", "assign-wave-roles")) == (2, 1)


def test_grid_that_does_not_fit_is_an_error(make: Make) -> None:
    with pytest.raises(HkcError, match="can't have these wavefronts"):
        make(ASKED.replace("(2, 1) {", "(8, 4) {"), "gfx950", "assign-wave-roles")
    with pytest.raises(HkcError, match="can't be spread over 3x1 wavefronts"):
        make(ASKED.replace("(2, 1) {", "(3, 1) {"), "gfx950", "assign-wave-roles")


def test_tile_smaller_than_a_wavefront_is_an_error(make: Make) -> None:
    with pytest.raises(HkcError, match="can't be spread over the 64 lanes") as caught:
        make(ASKED.replace("64", "6").replace(" waves (2, 1)", ""), "gfx950", "assign-wave-roles")
    assert caught.value.span is not None
    assert caught.value.hint


def test_unknown_schedule_is_an_error_that_lists_the_known(make: Make, gemm: str) -> None:
    with pytest.raises(HkcError, match="unknown schedule 'zigzag'") as caught:
        make(gemm, "gfx950", "assign-wave-roles", SCHEDULE="zigzag")
    assert caught.value.expected == "auto or pingpong or interleave or uniform or producer_consumer"
    assert caught.value.span is not None


MIXED = """
kernel mixed(A: view[M, N, i8], B: view[M, N, f64], C: view[M, N, f16]) grid (1) {
    x = A[0 : 32, 0 : 64].to(f64) + B[0 : 32, 0 : 64]
    C[0 : 32, 0 : 64] = where(x < 0.0, -x, x).to(f16)
}
"""


def test_tiles_that_conversions_join_have_one_layout(make: Make) -> None:
    # Runs of two: what the widest access moves of the widest type.
    module = make(MIXED, "gfx950", "assign-wave-roles")
    tiles = [try_parse_type(value.type) for op in walk(kernel_of(module)) for value in op.results]
    layouts = {t.layout for t in tiles if isinstance(t, TileType)}
    assert layouts == {"rows(2,32) by 4/1,1/1"}
