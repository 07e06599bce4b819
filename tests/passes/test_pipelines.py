"""Passes run in any cut of the list, and give the same code."""

from __future__ import annotations

import pytest
from mlir import ir
from mlir.dialects import llvm

from hkc.dialect.context import parse_module
from hkc.dialect.verify import walk
from hkc.errors import HkcError
from hkc.passes.lane_lowering import waitcnt_bits
from hkc.passes.pipelines import PASSES, arch_of, done, find_pass, remaining, run_pipeline, set_arch

from .conftest import Make

NAMES = [p.name for p in PASSES]


def text(module: ir.Module) -> str:
    return module.operation.get_asm(enable_debug_info=True)


def llvm_ir(module: ir.Module) -> str:
    with module.context:
        return llvm.translate_module_to_llvmir(module.operation)


def op_names(module: ir.Module) -> set[str]:
    return {op.name for op in walk(module.operation)}


@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
def test_resuming_from_any_step_gives_the_same_llvm_ir(make: Make, gemm: str, arch: str) -> None:
    whole = llvm_ir(make(gemm, arch, NAMES[-1]))
    for name in [None, *NAMES]:
        module = parse_module(text(make(gemm, arch, name)), "dump.mlir")
        run_pipeline(module, arch)
        assert llvm_ir(module) == whole


@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
def test_what_each_pass_adds_first_appears_there(make: Make, gemm: str, arch: str) -> None:
    seen: dict[str, set[str]] = {name: op_names(make(gemm, arch, name, SCHEDULE="uniform")) for name in NAMES}
    first_mfma = next(n for n in NAMES if any(op.startswith("rocdl.mfma") for op in seen[n]))
    first_wait = next(n for n in NAMES if "tile.waitcnt" in seen[n])
    assert first_mfma == "map-mfma"
    assert first_wait == "insert-fences"
    assert all(op.partition(".")[0] in ("llvm", "rocdl", "builtin") for op in seen["lower-to-rocdl"])


def test_module_remembers_its_passes(make: Make, gemm: str) -> None:
    module = make(gemm, "gfx950", "insert-fences")
    ran = NAMES.index("insert-fences") + 1
    assert done(module) == tuple(NAMES[:ran])
    assert [p.name for p in remaining(module)] == NAMES[ran:]
    assert arch_of(module) == "gfx950"


def test_another_arch_than_the_modules_is_an_error(make: Make, gemm: str) -> None:
    with pytest.raises(HkcError, match="another arch"):
        set_arch(make(gemm, "gfx950", None), "gfx942")


def test_unknown_names_are_errors_that_list_the_known() -> None:
    with pytest.raises(HkcError) as caught:
        find_pass("no-such-pass")
    assert caught.value.expected == ", ".join(NAMES)


def test_source_lines_reach_the_end(make: Make, gemm: str) -> None:
    line = 1 + next(i for i, row in enumerate(gemm.splitlines()) if "acc += a @ b" in row)
    assert f'"test.tile":{line}:' in text(make(gemm, "gfx950", NAMES[-1]))


@pytest.mark.parametrize(
    ("vmcnt", "lgkmcnt", "bits"), [(0, None, 0x0F70), (None, 0, 0xC07F), (16, None, 0x4F70), (0, 0, 0x0070)]
)
def test_waitcnt_encoding(vmcnt: int | None, lgkmcnt: int | None, bits: int) -> None:
    """Operands as LLVM's assembler encodes them."""
    assert waitcnt_bits(vmcnt, lgkmcnt) == bits
