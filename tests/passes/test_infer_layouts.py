"""Layouts follow the matmuls; what can't be is an error that names both uses."""

from __future__ import annotations

import pytest
from mlir import ir

from hkc.dialect.types import TileType, try_parse_type
from hkc.dialect.verify import walk
from hkc.errors import HkcError
from hkc.passes.rebuild import kernel_of

from .conftest import Make


def layouts(module: ir.Module, op_name: str) -> list[str | None]:
    found = []
    for op in walk(kernel_of(module)):
        if op.name == op_name:
            type_ = try_parse_type(op.results[0].type)
            assert isinstance(type_, TileType)
            found.append(type_.layout)
    return found


@pytest.mark.parametrize(("arch", "mfma"), [("gfx942", "16x16x16*2"), ("gfx950", "16x16x32*1")])
def test_matmul_fixes_operands_and_accumulator(make: Make, gemm: str, arch: str, mfma: str) -> None:
    module = make(gemm, arch, "infer-layouts", SCHEDULE="uniform")
    assert layouts(module, "tile.load") == [f"a({mfma})", f"b({mfma}).t"]
    assert layouts(module, "tile.mma") == ["ds(16x16)"]
    assert layouts(module, "tile.cast") == ["ds(16x16)"]


@pytest.mark.parametrize(("block", "mfma"), [(32, "32x32x16*1"), (16, "16x16x16*1")])
def test_narrow_k_takes_a_smaller_mfma(make: Make, gemm: str, block: int, mfma: str) -> None:
    module = make(gemm, "gfx950", "infer-layouts", BM=block, BN=block, BK=16)
    assert layouts(module, "tile.load")[0] == f"a({mfma})"


def test_transposed_store_turns_the_accumulator(make: Make, gemm: str) -> None:
    turned = gemm.replace("C: view[M, N, DTYPE]", "C: view[N, M, DTYPE]").replace(
        "C[m : m + BM, n : n + BN] = acc.to(DTYPE)", "C[n : n + BN, m : m + BM] = acc.to(DTYPE).T"
    )
    assert layouts(make(turned, "gfx950", "infer-layouts"), "tile.mma") == ["d(16x16)"]


def test_tiles_without_matmul_are_plain(make: Make) -> None:
    source = """
kernel turn(A: view[M, N, f32], B: view[N, M, f32]) grid (cdiv(M, 64), cdiv(N, 64)) {
    m = block(0) * 64
    n = block(1) * 64
    B[n : n + 64, m : m + 64] = A[m : m + 64, n : n + 64].T
}
"""
    module = make(source, "gfx950", "infer-layouts")
    assert layouts(module, "tile.load") == ["rows"]
    assert layouts(module, "tile.transpose") == ["rows.t"]


CONFLICT = """kernel square(A: view[64, 64, bf16], C: view[64, 64, f32]) grid (1) {
    x = A[0 : 64, 0 : 64]
    C[0 : 64, 0 : 64] = x @ x
}
"""


def test_one_tile_in_two_layouts_is_an_error_that_names_both_uses(make: Make) -> None:
    with pytest.raises(HkcError) as caught:
        make(CONFLICT, "gfx950", "infer-layouts")
    error = caught.value
    assert error.span is not None
    assert (error.span.line, error.span.file) == (3, "test.tile")
    assert "left operand" in error.message
    assert "right operand" in error.message
    assert error.notes[0][1] is not None
    assert error.hint


def test_a_tile_no_mfma_divides_is_an_error(make: Make, gemm: str) -> None:
    with pytest.raises(HkcError, match="no MFMA shape divides a 24x64 @ 64x24 matmul") as caught:
        make(gemm, "gfx950", "infer-layouts", BM=24)
    assert caught.value.span is not None
    assert "16x16x32" in (caught.value.expected or "")


def test_an_element_type_without_mfma_is_an_error(make: Make, gemm: str) -> None:
    with pytest.raises(HkcError, match="no MFMA for f32"):
        make(gemm, "gfx950", "infer-layouts", DTYPE="f32")
