"""Checked mode: plain accesses of one dispatch's workgroups to the same bytes of global memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest

from hkc.runtime import Device, Report

from .conftest import launch

Compile = Callable[[str], bytes]
Reports = Callable[[], list[Report]]
GROUPS = 24

HEAD = """
declare i32 @llvm.amdgcn.workgroup.id.x()
declare i32 @llvm.amdgcn.workitem.id.x()
define amdgpu_kernel void @k(ptr addrspace(1) %p, ptr addrspace(1) %q) #0 {
entry:
  %g = call i32 @llvm.amdgcn.workgroup.id.x()
  %t = call i32 @llvm.amdgcn.workitem.id.x()
"""
TAIL = """
  ret void
}
attributes #0 = { "amdgpu-flat-work-group-size"="64,64" }
"""
ITEM = """
  %row = mul i32 %g, 64
  %i = add i32 %row, %t
  %own = getelementptr i32, ptr addrspace(1) %p, i32 %i
"""

RACES = {
    "two values at one place": "store i32 %g, ptr addrspace(1) %p",
    "bytes of two values": "%b = trunc i32 %g to i8\n store i8 %b, ptr addrspace(1) %p",
    "the neighbour's result": ITEM
    + """
  store i32 %i, ptr addrspace(1) %own
  %j = add i32 %i, 64
  %next = getelementptr i32, ptr addrspace(1) %p, i32 %j
  %v = load i32, ptr addrspace(1) %next
  %out = getelementptr i32, ptr addrspace(1) %q, i32 %i
  store i32 %v, ptr addrspace(1) %out""",
    "rows that overlap by one element": """
  %row = mul i32 %g, 63
  %i = add i32 %row, %t
  %v = add i32 %i, %g
  %o = getelementptr i32, ptr addrspace(1) %p, i32 %i
  store i32 %v, ptr addrspace(1) %o""",
    "a flag that is read first": """
  %v = load i32, ptr addrspace(1) %p
  %o = getelementptr i32, ptr addrspace(1) %q, i32 %g
  store i32 %v, ptr addrspace(1) %o
  %last = icmp eq i32 %g, 23
  br i1 %last, label %write, label %done
write:
  store i32 77, ptr addrspace(1) %p
  br label %done
done:""",
}
FINE = {
    "rows of their own": ITEM + "store i32 %i, ptr addrspace(1) %own",
    "one value": "store i32 7, ptr addrspace(1) %p",
    "bytes of one dword": """
  %b = trunc i32 %g to i8
  %o = getelementptr i8, ptr addrspace(1) %p, i32 %g
  store i8 %b, ptr addrspace(1) %o""",
    "halves of one dword": """
  %b = trunc i32 %g to i16
  %o = getelementptr i16, ptr addrspace(1) %p, i32 %g
  store i16 %b, ptr addrspace(1) %o""",
    "common inputs": ITEM
    + """
  %a = getelementptr i32, ptr addrspace(1) %q, i32 %t
  %v = load i32, ptr addrspace(1) %a
  store i32 %v, ptr addrspace(1) %own""",
    "in place": ITEM
    + """
  %v = load i32, ptr addrspace(1) %own
  %w = add i32 %v, 1
  store i32 %w, ptr addrspace(1) %own""",
    "atomics": '%v = atomicrmw add ptr addrspace(1) %p, i32 %g syncscope("agent") monotonic',
    "the last workgroup reads all": ITEM
    + """
  store i32 %i, ptr addrspace(1) %own
  %n = atomicrmw add ptr addrspace(1) %q, i32 1 syncscope("agent") acq_rel
  %last = icmp eq i32 %n, 1535
  br i1 %last, label %sum, label %done
sum:
  %k = phi i32 [ 0, %entry ], [ %k1, %sum ]
  %s = phi i32 [ 0, %entry ], [ %s1, %sum ]
  %a = getelementptr i32, ptr addrspace(1) %p, i32 %k
  %v = load i32, ptr addrspace(1) %a
  %s1 = add i32 %s, %v
  %k1 = add i32 %k, 1
  %more = icmp slt i32 %k1, 1536
  br i1 %more, label %sum, label %put
put:
  %o = getelementptr i32, ptr addrspace(1) %q, i32 1
  store i32 %s1, ptr addrspace(1) %o
  br label %done
done:""",
}


@pytest.fixture(params=[1, 2], ids=["one thread", "two threads"])
def threads(request: pytest.FixtureRequest, device: Device) -> Iterator[int]:
    device.set_threads(request.param)
    yield request.param
    device.set_threads(0)


def run(device: Device, code: bytes, grid: int = GROUPS) -> list[np.ndarray]:
    arrays = [np.full(64 * (GROUPS + 1), 0x55, np.int32), np.zeros(64 * GROUPS, np.int32)]
    launch(device, code, "k", arrays, grid=grid)
    return arrays


@pytest.mark.parametrize("name", RACES)
def test_reported(device: Device, llvm: Compile, checked: Reports, threads: int, name: str) -> None:
    code = llvm(HEAD + RACES[name] + TAIL)
    run(device, code)
    reports = checked()
    assert reports and {report.kind for report in reports} == {"global-race"}
    for report in reports:
        assert report.other is not None
        assert report.other.workgroup != report.workgroup
        assert report.other.instruction in report.message
        assert report.instruction.startswith(("global_", "s_load_"))
        assert report.other.instruction.startswith(("global_", "s_load_"))
        assert 0 <= report.lane < 64 and f"{report.address:#x}" in report.message
    run(device, code, grid=1)
    assert checked() == []


@pytest.mark.parametrize("name", FINE)
def test_not_reported(device: Device, llvm: Compile, checked: Reports, threads: int, name: str) -> None:
    p, q = run(device, llvm(HEAD + FINE[name] + TAIL))
    assert checked() == []
    if name.startswith("the last"):
        assert q[0] == 64 * GROUPS and q[1] == sum(range(64 * GROUPS)) == p[: 64 * GROUPS].sum()


def test_each_dispatch_is_of_its_own(device: Device, llvm: Compile, checked: Reports) -> None:
    """What one dispatch wrote, the workgroups of the next may read."""
    write, read = llvm(HEAD + FINE["rows of their own"] + TAIL), llvm(HEAD + FINE["common inputs"] + TAIL)
    with device.alloc(64 * 4 * GROUPS) as a, device.alloc(64 * 4 * GROUPS) as b:
        for code, args in ((write, [a, b]), (read, [b, a]), (write, [a, b])):
            with device.load(code) as module:
                module.function("k").launch(GROUPS, 64, args)
    assert checked() == []


def test_memory_is_bounded(device: Device, llvm: Compile, checked: Reports) -> None:
    """130 MB are written: their shadow would need 1.3 GB."""
    text = """
  %row = mul i32 %g, 4096
  %i = add i32 %row, %t
  br label %loop
loop:
  %k = phi i32 [ 0, %entry ], [ %k1, %loop ]
  %at = add i32 %i, %k
  %o = getelementptr i32, ptr addrspace(1) %p, i32 %at
  store i32 %at, ptr addrspace(1) %o
  %k1 = add i32 %k, 64
  %more = icmp slt i32 %k1, 4096
  br i1 %more, label %loop, label %done
done:"""
    groups = 8_000
    code = llvm(HEAD + text + TAIL)
    with device.alloc(groups * 4096 * 4) as buffer, device.load(code) as module:
        before = resident()
        module.function("k").launch(groups, 64, [buffer, None])
        grown = resident() - before
    assert checked() == []
    assert grown < groups * 4096 * 4 + (320 << 20)


def resident() -> int:
    """Bytes of memory that this process has."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096
