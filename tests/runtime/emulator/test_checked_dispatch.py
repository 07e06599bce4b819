"""Dispatches: declared limits, the deterministic mode, large grids, reports as JSON."""

from __future__ import annotations

import ctypes
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from hkc.cli import main
from hkc.errors import HkcError
from hkc.runtime import Device, HipError, Report
from hkc.runtime.device import Module

from .conftest import launch

Compile = Callable[[str], bytes]
Words = Callable[..., npt.NDArray[np.uint32]]
Reports = Callable[[], list[Report]]

KERNEL = """
@lds = external addrspace(3) global [0 x i32], align 16
@fixed = internal addrspace(3) global [4096 x i32] poison, align 16
declare i32 @llvm.amdgcn.workgroup.id.x()
declare i64 @llvm.amdgcn.s.memtime()
define amdgpu_kernel void @limits(ptr addrspace(1) %p) #0 {
  %a = load volatile i32, ptr addrspace(3) @fixed
  %b = load volatile i32, ptr addrspace(3) @lds
  ret void
}
define amdgpu_kernel void @race(ptr addrspace(1) %p, ptr addrspace(1) %q) #0 {
  %g = call i32 @llvm.amdgcn.workgroup.id.x()
  store i32 %g, ptr addrspace(1) %p
  %time = call i64 @llvm.amdgcn.s.memtime()
  %o = getelementptr i64, ptr addrspace(1) %q, i32 %g
  store i64 %time, ptr addrspace(1) %o
  ret void
}
define amdgpu_kernel void @empty() #0 {
  ret void
}
attributes #0 = { "amdgpu-flat-work-group-size"="1,128" }
"""


def raw_launch(device: Device, module: Module, block: tuple[int, int, int], dynamic_lds: int = 0) -> None:
    """hipModuleLaunchKernel itself, without what the Python layer checks first."""
    handle = ctypes.c_void_p()
    device.call("hipModuleGetFunction", ctypes.byref(handle), module._handle, b"limits")
    pointer = ctypes.c_void_p()
    values = (ctypes.c_void_p * 1)(ctypes.addressof(pointer))
    device.call("hipModuleLaunchKernel", handle, 1, 1, 1, *block, dynamic_lds, None, values, None)


@pytest.mark.parametrize("sanitize", [False, True])
def test_declared_limits(device: Device, llvm: Compile, sanitize: bool) -> None:
    room = device.lds_bytes - 4 * 4096
    with device.sanitize(sanitize), device.load(llvm(KERNEL)) as module:
        raw_launch(device, module, (128, 1, 1), room)
        raw_launch(device, module, (4, 4, 8), 16)
        for block in ((129, 1, 1), (16, 3, 3), (1, 1, 1024), (2**31, 2**31, 4)):
            with pytest.raises(HipError, match="compiled for at most 128") as error:
                raw_launch(device, module, block)
            assert error.value.name == "hipErrorInvalidConfiguration"
        for dynamic in (room + 1, 2**32 - 1):
            with pytest.raises(HipError, match="bytes of LDS") as error:
                raw_launch(device, module, (64, 1, 1), dynamic)
            assert error.value.name == "hipErrorLaunchOutOfResources"
        for block, dynamic in ((129, 0), (64, room + 1)):
            with pytest.raises(HkcError):
                module.function("limits").launch(1, block, [None], dynamic)
    assert device.reports() == []


def test_one_thread_is_deterministic(device: Device, llvm: Compile, checked: Reports) -> None:
    """Same results, reports and times; only the place of memory may differ."""

    def run() -> tuple[Any, ...]:
        last, times = np.zeros(4, np.int32), np.zeros(256, np.int64)
        launch(device, llvm(KERNEL), "race", [last, times], grid=256)
        (report,) = checked()
        assert report.other is not None
        return last[0], tuple(times), report.workgroup, report.wave, report.lane, report.other.workgroup

    device.set_threads(1)
    try:
        runs = {run() for _ in range(5)}
    finally:
        device.set_threads(0)
    ((last, times, first, *_, other),) = runs
    assert last == 255 and len(set(times)) == 1
    assert (first, other) == ((1, 0, 0), (0, 0, 0))


@pytest.mark.parametrize("sanitize", [False, True])
def test_large_grids_take_no_memory(device: Device, llvm: Compile, sanitize: bool) -> None:
    with device.sanitize(sanitize), device.load(llvm(KERNEL)) as module:
        module.function("empty").launch(1000, 64)
        device.counters()
        before = resident()
        module.function("empty").launch((500, 20, 20), 64)
        assert device.counters()["instructions"] == 200_000
        assert resident() - before < 16 << 20


def resident() -> int:
    """Bytes of memory that this process has."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096


def test_reports_of_a_kind_are_capped(run_words: Words, checked: Reports) -> None:
    # v_lshlrev_b32_e32 v20, 8, v0; ds_write_b32 v20, v4 (30 times); s_waitcnt lgkmcnt(0)
    run_words([0x24280088, *([0xD81A0000, 0x00000414] * 30), 0xBF8CC07F], np.zeros((64, 8), np.uint32))
    reports = checked()
    assert [r.kind for r in reports] == ["lds-out-of-bounds"] * 10
    assert len({r.pc for r in reports}) == 10


def test_json_of_reports(arch: str, llvm: Compile, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "race.hsaco"
    path.write_bytes(llvm(KERNEL))
    command = ["emulate", str(path), "--kernel", "race", "--grid", "8", "--block", "64", "--threads", "1"]
    command += ["--arg", "zeros:16", "--arg", "zeros:64"]
    assert main([*command, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"kernel": "race", "arch": arch, "sanitizer": None}
    assert main([*command, "--json", "--sanitize"]) == 1
    found = json.loads(capsys.readouterr().out)
    (report,) = found["sanitizer"]
    assert report["kind"] == "global-race" and report["workgroup"] == [1, 0, 0]
    assert set(report) == {
        *("kind", "message", "instruction", "pc", "workgroup", "wave", "lane", "address", "file", "line", "column"),
        "other",
    }
    assert set(report["other"]) == {"instruction", "pc", "workgroup", "wave", "file", "line", "column"}
    assert report["other"]["workgroup"] == [0, 0, 0] and report["other"]["pc"] == report["pc"]
    assert main([*command, "--sanitize"]) == 1
    assert "global-race: global_store_dword" in capsys.readouterr().out


# Two waves write one place of LDS, from two lines of the source.
LINES = """
@lds = internal addrspace(3) global [64 x i32] poison, align 16
declare i32 @llvm.amdgcn.workitem.id.x()
define amdgpu_kernel void @lines() #0 !dbg !4 {
  %t = call i32 @llvm.amdgcn.workitem.id.x()
  %low = icmp ult i32 %t, 64
  br i1 %low, label %a, label %b, !dbg !6
a:
  store volatile i32 1, ptr addrspace(3) @lds, !dbg !7
  br label %end, !dbg !7
b:
  store volatile i16 2, ptr addrspace(3) @lds, !dbg !8
  br label %end, !dbg !8
end:
  ret void, !dbg !8
}
attributes #0 = { "amdgpu-flat-work-group-size"="128,128" }
!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!2, !3}
!0 = distinct !DICompileUnit(language: DW_LANG_C, file: !1, emissionKind: LineTablesOnly)
!1 = !DIFile(filename: "lines.tile", directory: ".")
!2 = !{i32 2, !"Debug Info Version", i32 3}
!3 = !{i32 2, !"Dwarf Version", i32 5}
!4 = distinct !DISubprogram(name: "lines", file: !1, line: 1, type: !5, unit: !0, spFlags: DISPFlagDefinition)
!5 = !DISubroutineType(types: !9)
!6 = !DILocation(line: 2, column: 1, scope: !4)
!7 = !DILocation(line: 10, column: 3, scope: !4)
!8 = !DILocation(line: 20, column: 5, scope: !4)
!9 = !{}
"""


def test_source_lines_of_both_sides(device: Device, llvm: Compile, checked: Reports) -> None:
    launch(device, llvm(LINES), "lines", [], block=128)
    (report,) = checked()
    assert report.kind == "lds-race" and report.other is not None
    assert {report.line, report.other.line} == {10, 20}
    assert report.file.endswith("lines.tile") and report.other.file.endswith("lines.tile")
    assert {report.wave, report.other.wave} == {0, 1}
    assert report.span is not None and report.other.span is not None


@pytest.mark.parametrize("sanitize", [False, True])
def test_kernels_of_an_unloaded_module(device: Device, llvm: Compile, sanitize: bool) -> None:
    """A function's handle ends with its module, as an error and not as a run of freed code."""
    module = device.load(llvm(KERNEL))
    function = module.function("empty")
    with device.sanitize(sanitize):
        function.launch(1, 64)
        module.unload()
        with pytest.raises(HipError) as error:
            function.launch(1, 64)
    assert error.value.name == "hipErrorInvalidHandle"
    assert device.reports() == []


def test_device_code_of_an_unloaded_module_is_freed(device: Device, llvm: Compile, checked: Reports) -> None:
    """A pointer to a variable of a module that is gone is a use after free."""
    text = """
@table = addrspace(1) global [16 x i32] zeroinitializer, align 16
define amdgpu_kernel void @put(ptr addrspace(1) %p) #0 {
  store i32 7, ptr addrspace(1) %p
  ret void
}
attributes #0 = { "amdgpu-flat-work-group-size"="64,64" }
"""
    code = llvm(text)
    first = device.load(code)
    address, size = ctypes.c_void_p(), ctypes.c_size_t()
    library = ctypes.CDLL(device._library.path)
    found = library.hipModuleGetGlobal(ctypes.byref(address), ctypes.byref(size), first._handle, b"table")
    assert found == 0 and size.value == 64
    with device.load(code) as second:
        second.function("put").launch(1, 64, [address])
        assert checked() == []
        first.unload()
        second.function("put").launch(1, 64, [address])
    (report,) = checked()
    assert report.kind == "use-after-free" and report.address == address.value
