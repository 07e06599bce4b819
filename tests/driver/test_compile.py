"""The compile flow: texts, dumps, resuming from every step, the cache, limits."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import hkc as hk
from hkc.driver.compile import CompiledKernel, compile_kernel, compile_llvm, compile_module
from hkc.driver.dump import Dumper
from hkc.errors import HkcError
from hkc.lang.text import parse_text

from .conftest import LLVM_IR, TILE

GEMM = """\
kernel gemm(A: view[M, K, bf16], B: view[N, K, bf16], C: view[M, N, f32]; BM = 64, BN = 64, BK = 64)
    grid (cdiv(M, BM), cdiv(N, BN))
{
    m = block(0) * BM
    n = block(1) * BN
    acc = zeros(BM, BN, f32)
    for k in range(0, K, BK) {
        a = A[m : m + BM, k : k + BK]
        b = B[n : n + BN, k : k + BK].T
        acc += a @ b
    }
    C[m : m + BM, n : n + BN] = acc
}
"""


def compile_text(text: str, arch: str, dump: Path | None = None, **constants: object) -> CompiledKernel:
    from hkc.lang.constants import complete

    (kernel,) = parse_text(text, "program.tile")
    dumper = Dumper(dump) if dump is not None else None
    return compile_kernel(kernel, arch, complete(kernel, constants), {}, dumper=dumper)


@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
def test_texts_and_metadata(arch: str) -> None:
    compiled = compile_text(GEMM, arch)
    assert compiled.name == "gemm"
    assert compiled.tile is not None
    assert "acc += a @ b" in compiled.tile
    assert compiled.mlir is not None
    assert "tile.mma" in compiled.mlir
    assert f'"target-cpu"="{arch}"' in compiled.llvm
    assert "v_mfma_f32" in compiled.asm
    assert compiled.obj.startswith(b"\x7fELF")
    assert compiled.hsaco.startswith(b"\x7fELF")
    meta = compiled.meta
    assert meta is not None
    assert (meta.name, meta.arch, meta.block) == ("gemm", arch, compiled.report.resources.workgroup)
    assert [(p.name, p.dims, p.loaded, p.stored) for p in meta.parameters] == [
        ("A", ("M", "K"), True, False),
        ("B", ("N", "K"), True, False),
        ("C", ("M", "N"), False, True),
    ]
    assert meta.grid == ("cdiv(M, 64)", "cdiv(N, 64)")
    assert meta.constants == {"BM": "64", "BN": "64", "BK": "64"}


def test_the_report_knows_the_main_loop_and_its_floor() -> None:
    report = compile_text(GEMM, "gfx950").report
    assert report.loop is not None
    assert report.floor is not None
    # 64x64x64 a workgroup is 32 MFMA of 16x16x32 over its waves.
    assert report.loop["MFMA"] * report.resources.workgroup / 64 % 32 == 0
    assert report.floor["MFMA"] == report.loop["MFMA"]
    assert report.floor["LDS reads"] <= report.loop["LDS reads"]
    assert next(iter(report.seconds)) == "front end"
    assert {"map-mfma", "optimize", "emit", "link"} <= set(report.seconds)


def test_lines_of_the_program_reach_the_code() -> None:
    asm = compile_text(GEMM, "gfx950").asm
    assert '"program.tile"' in asm
    mfma_lines = set(re.findall(r"\.loc\s+\d+ (\d+) .*\n(?:;.*\n|\s*;.*\n)*\s+v_mfma", asm))
    assert mfma_lines == {"10"}


def test_a_second_compile_comes_from_the_cache_with_all_texts() -> None:
    first = compile_text(GEMM, "gfx950")
    second = compile_text(GEMM, "gfx950")
    assert (first.cached, second.cached) == (False, True)
    for name in ("hsaco", "obj", "asm", "llvm", "mlir", "tile", "meta", "report", "arch"):
        assert getattr(first, name) == getattr(second, name)
    assert not compile_text(GEMM, "gfx950", BM=32).cached
    assert not compile_text(GEMM, "gfx942").cached


def test_assembly_is_made_when_asked_for_and_then_kept() -> None:
    first = compile_text(GEMM, "gfx950")
    assert first.assembly is None
    assert "v_mfma" in first.asm
    second = compile_text(GEMM, "gfx950")
    assert second.assembly == first.asm


def test_compiling_twice_gives_the_same_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HKC_CACHE", "0")
    first, second = compile_text(GEMM, "gfx942"), compile_text(GEMM, "gfx942")
    assert not second.cached
    assert first.hsaco == second.hsaco


def test_a_damaged_entry_is_rebuilt(cache_folder: Path) -> None:
    first = compile_text(GEMM, "gfx950")
    (entry,) = cache_folder.glob("*.hkc")
    entry.write_bytes(entry.read_bytes()[:-100])
    again = compile_text(GEMM, "gfx950")
    assert not again.cached
    assert again.hsaco == first.hsaco
    assert compile_text(GEMM, "gfx950").cached


def test_a_cache_hit_imports_neither_mlir_nor_llvm(tile_file: Path) -> None:
    program = (
        "import sys, hkc as hk\n"
        f"compiled = hk.compile({str(tile_file)!r}, arch='gfx950')\n"
        "heavy = [m for m in ('mlir', 'llvmlite', 'numpy', 'torch') if m in sys.modules]\n"
        "print(compiled.cached, heavy)"
    )
    outputs = [
        subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.strip()
        for _ in range(2)
    ]
    assert outputs[0].startswith("False")
    assert "llvmlite" not in outputs[0]
    assert "torch" not in outputs[0]
    assert outputs[1] == "True []"


@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
def test_every_dump_compiles_to_the_same_bytes(arch: str, tmp_path: Path) -> None:
    from hkc.dialect.context import parse_module
    from hkc.passes.pipelines import PASSES

    whole = compile_text(GEMM, arch, dump=tmp_path)
    steps = ["tile", *(p.name for p in PASSES)]
    names = [f"{number:02d}_{step}.mlir" for number, step in enumerate(steps)]
    last = [f"{len(steps):02d}_llvm.ll", f"{len(steps) + 1:02d}_final.s"]
    written = sorted(path.name for path in tmp_path.iterdir())
    assert [name for name in written if not name.endswith(".tile")] == [*names, *last]
    assert "00_tile.tile" in written
    assert (tmp_path / last[1]).read_text() == whole.asm
    for name in names:
        text = (tmp_path / name).read_text()
        assert "program.tile" in text, "locations are written"
        again = compile_module(lambda text=text, name=name: parse_module(text, name), arch)
        assert again.hsaco == whole.hsaco, name
    from_llvm = compile_llvm((tmp_path / last[0]).read_text(), arch, last[0])
    assert from_llvm.hsaco == whole.hsaco


def test_resuming_writes_the_remaining_dumps_alike(tmp_path: Path) -> None:
    from hkc.dialect.context import parse_module

    compile_text(GEMM, "gfx950", dump=tmp_path / "all")
    [start] = (tmp_path / "all").glob("*_insert-buffer-loads.mlir")
    text = start.read_text()
    compile_module(lambda: parse_module(text, "03.mlir"), "gfx950", dumper=Dumper(tmp_path / "rest"))
    # Names of loop variables are not in MLIR's text, so .tile files and location lists may differ.
    rest = sorted(path for path in (tmp_path / "rest").iterdir() if path.suffix != ".tile")
    number, last = (int(path.name[:2]) for path in (start, rest[-1]))
    assert [int(path.name[:2]) for path in rest] == list(range(number + 1, last + 1))
    assert rest[-1].name in [path.name for path in (tmp_path / "all").iterdir()]
    for path in rest[-2:]:
        assert path.read_text() == (tmp_path / "all" / path.name).read_text(), path.name


def test_llvm_ir_alone() -> None:
    compiled = compile_llvm(LLVM_IR, "gfx950", "add.ll")
    assert (compiled.name, compiled.meta, compiled.mlir, compiled.tile) == ("add_one", None, None, None)


def test_an_unknown_arch_lists_the_known() -> None:
    with pytest.raises(HkcError, match="unknown arch 'gfx1'") as caught:
        compile_text(TILE, "gfx1")
    assert caught.value.expected == "gfx942 or gfx950"


def test_lds_over_the_limit_is_an_error_before_any_code() -> None:
    with pytest.raises(HkcError, match="LDS") as caught:
        compile_text(GEMM, "gfx942", BM=512, BN=512, BK=128)
    assert caught.value.exit_code == 2


def test_hk_compile_takes_files_and_says_what_else(tile_file: Path) -> None:
    compiled = hk.compile(str(tile_file), arch="gfx942", BM=32)
    assert compiled.meta is not None
    assert compiled.meta.constants["BM"] == "32"
    with pytest.raises(HkcError, match=r"hk\.compile takes a kernel"):
        hk.compile(3)  # type: ignore[arg-type]
    with pytest.raises(HkcError, match="nothing named BQ"):
        hk.compile(str(tile_file), BQ=1)
