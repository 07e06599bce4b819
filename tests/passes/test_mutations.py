"""Each wait and barrier that `insert-fences` put into the GEMM matters: without it the sanitizer speaks, and names
the source line.

Not among them: waits that LLVM derives again from the registers they cover (see ``derived``).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from mlir import ir

from hkc.dialect.context import parse_module
from hkc.dialect.irdl import get_int
from hkc.dialect.verify import walk
from hkc.driver.compile import compile_module
from hkc.passes.rebuild import kernel_of
from hkc.runtime import open_device
from hkc.runtime.device import Report

from .conftest import Make

BLOCK = 64
# A misaligned pitch sends all of K through the masked loop, a ragged K both loops: every fence is passed repeatedly.
PROBLEMS = [(BLOCK, BLOCK, 5 * 32 + 6, 0), (BLOCK, BLOCK, 5 * 32, 1)]


def fences(module: ir.Module) -> list[ir.Operation]:
    return [op for op in walk(kernel_of(module)) if op.name in ("tile.waitcnt", "tile.barrier")]


def derived(module: ir.Module, op: ir.Operation) -> bool:
    """Whether LLVM waits for the same by itself: LDS reads before the MFMA that takes them, loads into registers before
    they are written to LDS, and what is outstanding behind the main loop before the masked loads' data is used."""
    if op.name != "tile.waitcnt":
        return False
    ops = list(walk(kernel_of(module)))
    before = [o.name for o in ops[: ops.index(op)] if o.name in ("tile.lds_write", "tile.lds_read", "tile.waitcnt")]
    writes_pending = before[-1:] == ["tile.lds_write"]
    covers_copies = get_int(op, "vmcnt") is not None and any(o.name == "tile.copy" for o in ops)
    behind_loop = op.parent.operation.name == "func.func"
    orders_writes = get_int(op, "lgkmcnt") is not None and writes_pending
    return behind_loop or not (orders_writes or covers_copies)


def launch(arch: str, code_object: bytes, problem: tuple[int, int, int, int]) -> list[Report]:
    m, n, k, pad = problem
    random = np.random.default_rng(0)
    a, b = (random.integers(0, 1 << 14, (rows, k + pad)).astype(np.uint16) for rows in (m, n))
    device = open_device(f"emulator:{arch}")
    with (
        device.sanitize(),
        device.load(code_object) as loaded,
        device.alloc(a.nbytes) as left,
        device.alloc(b.nbytes) as right,
        device.alloc(m * n * 2) as out,
    ):
        left.write(a)
        right.write(b)
        arguments = [left, m, k, k + pad, 1, right, n, k, k + pad, 1, out, m, n, n, 1]
        loaded.function("gemm").launch(grid=(1, 1, 1), block=(256, 1, 1), args=arguments)
        device.synchronize()
        return device.reports()


def mutants(make: Make, gemm: str, arch: str, stages: int) -> Iterator[tuple[str, ir.Module]]:
    """The GEMM's module after `insert-fences`, each time with one fence deleted."""

    def fresh() -> ir.Module:
        return make(gemm, arch, "insert-fences", BM=BLOCK, BN=BLOCK, BK=32, STAGES=stages)

    for index in range(len(fences(fresh()))):
        module = fresh()
        op = fences(module)[index]
        if not derived(module, op):
            name = f"{index}: {op}"
            op.erase()
            # Through text, as a person would who edits the dump.
            yield name, parse_module(module.operation.get_asm(enable_debug_info=True), "dump.mlir")


@pytest.mark.parametrize("stages", [1, 2])
@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
def test_whole_gemm_is_clean(make: Make, gemm: str, arch: str, stages: int) -> None:
    compiled = compile_module(lambda: make(gemm, arch, None, BM=BLOCK, BN=BLOCK, BK=32, STAGES=stages), arch)
    for problem in PROBLEMS:
        assert launch(arch, compiled.hsaco, problem) == []


@pytest.mark.parametrize("stages", [1, 2])
@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
def test_every_fence_matters(make: Make, gemm: str, arch: str, stages: int) -> None:
    tried = 0
    for name, module in mutants(make, gemm, arch, stages):
        compiled = compile_module(lambda module=module: module, arch)
        reports = [r for problem in PROBLEMS for r in launch(arch, compiled.hsaco, problem)]
        assert reports, f"nobody missed {name}"
        assert all(r.file.endswith("test.tile") and r.line > 0 for r in reports), reports
        tried += 1
    assert tried >= 3
