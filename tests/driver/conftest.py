"""What the driver's tests share: a small kernel in LLVM IR and in the language, and a cache of their own."""

from __future__ import annotations

from pathlib import Path

import pytest

LLVM_IR = """\
target triple = "amdgcn-amd-amdhsa"
declare i32 @llvm.amdgcn.workitem.id.x()
define amdgpu_kernel void @add_one(ptr addrspace(1) %p, float %x) #0 !dbg !3 {
  %t = call i32 @llvm.amdgcn.workitem.id.x(), !dbg !5
  %q = getelementptr float, ptr addrspace(1) %p, i32 %t, !dbg !5
  %v = load float, ptr addrspace(1) %q, !dbg !5
  %s = fadd float %v, %x, !dbg !6
  store float %s, ptr addrspace(1) %q, !dbg !6
  ret void, !dbg !6
}
attributes #0 = { "target-cpu"="gfx950" "amdgpu-flat-work-group-size"="64,64" }
!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!2}
!0 = distinct !DICompileUnit(language: DW_LANG_C, file: !1, isOptimized: true, emissionKind: LineTablesOnly)
!1 = !DIFile(filename: "add.tile", directory: "")
!2 = !{i32 2, !"Debug Info Version", i32 3}
!3 = distinct !DISubprogram(name: "add_one", file: !1, line: 1, type: !4, spFlags: DISPFlagDefinition, unit:
!0) !4 = !DISubroutineType(types: !{}) !5 = !DILocation(line: 3, column: 9, scope: !3) !6 =
!DILocation(line: 4, column: 9, scope: !3)
"""

TILE = """\
kernel scale(X: view[M, N, f32], Y: view[M, N, f32], alpha: f32; BM = 16, BN = 64)
    grid (cdiv(M, BM), cdiv(N, BN))
{
    m = block(0) * BM
    n = block(1) * BN
    x = X[m : m + BM, n : n + BN]
    Y[m : m + BM, n : n + BN] = x * alpha
}
"""


@pytest.fixture(autouse=True)
def cache_folder(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache of the test's own, and no settings of the user's."""
    folder = tmp_path_factory.mktemp("cache")
    for name in ("HKC_ARCH", "HKC_CACHE", "HKC_DEVICE", "HKC_LLD"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HKC_CACHE_DIR", str(folder))
    return folder


@pytest.fixture
def llvm_file(tmp_path: Path) -> Path:
    path = tmp_path / "add.ll"
    path.write_text(LLVM_IR)
    return path


@pytest.fixture
def tile_file(tmp_path: Path) -> Path:
    path = tmp_path / "scale.tile"
    path.write_text(TILE)
    return path
