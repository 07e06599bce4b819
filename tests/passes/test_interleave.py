"""Where the schedule `interleave`, or a person's `interleave()`, can't apply; and what the latter does."""

from __future__ import annotations

import pytest
from mlir import ir

from hkc.dialect.verify import walk
from hkc.errors import HkcError
from hkc.passes.rebuild import kernel_of

from .conftest import Make

BY_HAND = """
kernel f(A: view[64, K, f16], B: view[64, K, f16], C: view[64, 64, f32]) grid (1) waves (2, 2) {
    s = lds(2, 64, 64, f16)
    t = lds(2, 64, 64, f16)
    wait(write(A[0 : 64, 0 : 64], s[0]), write(B[0 : 64, 0 : 64], t[0]))
    wait(write(A[0 : 64, 64 : 128], s[1]), write(B[0 : 64, 64 : 128], t[1]))
    barrier()
    acc = zeros(64, 64, f32)
    a = read(s[0])
    b = read(t[0])
    schedule_barrier()
    c = read(s[1])
    d = read(t[1])
    acc += FIRST @ SECOND.T
    interleave()
    acc += c @ d.T
    C[0 : 64, 0 : 64] = acc
}
"""


def order(module: ir.Module) -> str:
    """The kernel's LDS reads (r), MFMA (M) and schedule barriers (|), in order."""
    letters = {"tile.lane_lds_load": "r", "tile.schedule_barrier": "|"}
    found = (letters.get(op.name, "M" if op.name.startswith("rocdl.mfma") else "") for op in walk(kernel_of(module)))
    return "".join(found)


def test_reads_are_spread_between_the_mfma_before_the_mark(make: Make) -> None:
    module = make(BY_HAND.replace("FIRST", "a").replace("SECOND", "b"), "gfx950", "map-mfma")
    # 2x2 wavefronts of 32x32x64: eight 16x16x32 MFMA and eight reads each time. The last quarter hides the last reads.
    assert order(module) == "r" * 8 + "|" + "Mr|Mr|Mrr|" * 2 + "MM||" + "M" * 8


def test_a_matmul_of_what_is_read_beside_it_is_an_error(make: Make) -> None:
    with pytest.raises(HkcError, match="a matmul takes what is read beside it") as caught:
        make(BY_HAND.replace("FIRST", "c").replace("SECOND", "b"), "gfx950", "map-mfma")
    assert caught.value.span is not None
    assert caught.value.span.line == 1 + BY_HAND.splitlines().index("    interleave()")
    assert "schedule_barrier()" in (caught.value.hint or "")


def test_other_wavefronts_than_four_are_an_error(make: Make, gemm: str) -> None:
    source = gemm.replace("grid (cdiv(M, BM), cdiv(N, BN))", "grid (cdiv(M, BM), cdiv(N, BN)) waves (2, 4)")
    with pytest.raises(HkcError, match="interleave") as caught:
        make(source, "gfx950", "insert-buffer-loads", BM=128, BN=128, SCHEDULE="interleave")
    assert caught.value.span is not None
    assert "4 wavefronts" in (caught.value.expected or "")
