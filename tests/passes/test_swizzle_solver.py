"""The swizzle solver: no conflicts where the hardware allows it, and what it claims is what the device counts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mlir import ir

from hkc.dialect.irdl import get_ints
from hkc.dialect.ops import LdsAlloc, LdsRead, LdsReadPart, LdsWrite
from hkc.dialect.types import lds_type, tile_type
from hkc.dialect.verify import walk
from hkc.driver.compile import CompiledKernel, compile_module
from hkc.passes.lds_orientation import set_layout
from hkc.passes.lds_report import lds_tiles_of
from hkc.passes.rebuild import kernel_of
from hkc.passes.schedules import SCHEDULES
from hkc.passes.swizzle import Swizzle, parse_swizzle
from hkc.passes.swizzle_solver import Access, addressed, conflict_cycles, degree, solve, unavoidable
from hkc.runtime import open_device
from hkc.targets import TARGETS, get_target

from .conftest import Make


@pytest.mark.parametrize("arch", TARGETS)
@pytest.mark.parametrize("columns", [32, 64, 96, 128])
def test_operand_reads_and_copies_have_no_conflicts(arch: str, columns: int) -> None:
    target = get_target(arch)
    mfma = "16x16x32*1" if arch == "gfx950" else "16x16x16*2"
    read = Access(f"a({mfma}) by 1/1,1/1")
    lanes = min(64, columns // 8 & -(columns // 8))
    write = Access(f"rows(8,{lanes}) by 1/1,1/1", write=True)
    assert solve((read, write), (64, columns), 2, target).ways == 1


def test_the_least_conflicted_layout_comes_with_its_degree() -> None:
    """16 lanes of a phase read 8 bytes each at the same half of 16-byte chunks, which stay together: half the banks."""
    target = get_target("gfx942")
    accesses = (Access("a(16x16x16*1) by 1/1,1/1"), Access("rows(8,2) by 1/1,1/1", write=True))
    found = solve(accesses, (64, 16), 2, target)
    assert [degree.ways for degree in found.degrees] == [2, 1]
    assert (found.ways, found.extra) == (2, 4)


@pytest.mark.parametrize("arch", TARGETS)
def test_row_major_conflicts_are_counted(arch: str) -> None:
    """All lanes of a phase in one bank: each phase takes one cycle a lane."""
    phases = get_target(arch).read_phases[4]
    addresses = [lane * phases.banks * 4 for lane in range(64)]
    assert conflict_cycles(addresses, 4, phases) == (64, len(phases.phases))
    assert conflict_cycles([lane * 4 for lane in range(64)], 4, phases)[0] == len(phases.phases)
    assert conflict_cycles([0] * 64, 4, phases)[0] == len(phases.phases), "the same dword is broadcast"


@pytest.mark.parametrize("arch", TARGETS)
def test_phases_cover_every_lane_once_and_are_cosets(arch: str) -> None:
    """The solver's ranks need lanes of a phase to differ by the same linear space in every phase."""
    target = get_target(arch)
    for table in (target.read_phases, target.write_phases):
        for phases in table.values():
            assert sorted(lane for phase in phases.phases for lane in phase) == list(range(64))
            space = {lane ^ phases.phases[0][0] for lane in phases.phases[0]}
            assert all(a ^ b in space for a in space for b in space)
            assert all({lane ^ phase[0] for lane in phase} == space for phase in phases.phases)


SHAPES = st.sampled_from([(16, 16), (32, 16), (16, 32), (64, 64), (32, 128), (64, 256), (96, 64), (128, 96)])


@settings(max_examples=20, deadline=None)
@given(
    arch=st.sampled_from(list(TARGETS)),
    shape=SHAPES,
    mfma=st.sampled_from(["16x16x16*1", "32x32x8*1"]),
    kind=st.sampled_from("ab"),
    columns=st.booleans(),
)
def test_no_layout_of_the_family_is_better(
    arch: str, shape: tuple[int, int], mfma: str, kind: str, columns: bool
) -> None:
    """Against a search by brute force over single turns and pairs of them, counted lane by lane."""
    target = get_target(arch)
    if any(extent % 32 for extent in shape) and mfma[0] == "3":
        mfma = "16x16x16*1"
    access = Access(f"{kind}({mfma}) by 1/1,1/1")
    found = solve((access,), shape, 2, target, columns)
    row_bytes = shape[0 if columns else 1] * 2
    dist = addressed(access, columns, shape, 2, target)
    assert dist.shape[1] * 2 == row_bytes
    for block in (16, 32, 64, 128):
        if row_bytes % block:
            continue
        chunk_bits = (block // 16).bit_length() - 1
        for bit in range(4):
            for mask in (1, 2, 4, 8):
                if mask < 1 << bit + chunk_bits:
                    other = degree(access, Swizzle(block, ((bit, mask),), columns), shape, 2, target)
                    assert found.degrees[0].cycles <= other.cycles


STRAIGHT = """
kernel k(A: view[K, M, T] if TA else view[M, K, T], B: view[N, K, T] if TB else view[K, N, T], C: view[M, N, f32];
         BM = 32, BN = 32, BK = 32, TA = 0, TB = 0, T = bf16) grid (1)
{
    if TA == 1 { p = lds(1, BK, BM, T) } else { p = lds(1, BM, BK, T) }
    if TB == 1 { q = lds(1, BN, BK, T) } else { q = lds(1, BK, BN, T) }
    if TA == 1 { s = copy(A[0 : BK, 0 : BM], p[0]) } else { s = copy(A[0 : BM, 0 : BK], p[0]) }
    if TB == 1 { t = copy(B[0 : BN, 0 : BK], q[0]) } else { t = copy(B[0 : BK, 0 : BN], q[0]) }
    wait(s, t)
    if TA == 1 { a = read(p[0]).T } else { a = read(p[0]) }
    if TB == 1 { b = read(q[0]).T } else { b = read(q[0]) }
    C[0 : BM, 0 : BN] = zeros(BM, BN, f32) + a @ b
}
"""


def relaid(module: ir.Module, drawn: dict[int, tuple[int, int, int]]) -> None:
    """Gives the kernel's LDS tiles other layouts than the solver's: blocks of 2**n chunks and one turn."""
    allocations = [op.results[0] for op in walk(kernel_of(module)) if op.name == LdsAlloc.name]
    for index, (power, bit, mask) in drawn.items():
        lds = allocations[index]
        swizzle = parse_swizzle(lds_type(lds).layout)
        across = lds_type(lds).shape[1 if swizzle.columns else 2] * lds_type(lds).dtype.bytes
        block = min(16 << power, across & -across)
        mask &= (1 << bit) * (block // 16) - 1
        set_layout(lds, Swizzle(block, ((bit, mask),) if mask else (), swizzle.columns).text())


def predicted(module: ir.Module, arch: str, waves: int) -> int:
    """Conflict cycles of one run of every LDS access of a kernel, all wavefronts, by the solver's count."""
    total, target = 0, get_target(arch)
    for op in walk(kernel_of(module)):
        if op.name not in (LdsRead.name, LdsReadPart.name, LdsWrite.name):
            continue
        write = op.name == LdsWrite.name
        tile, slot = (op.operands[0], op.operands[1]) if write else (op.results[0], op.operands[0])
        type_, access = lds_type(slot), Access(tile_type(tile).layout or "", write)
        swizzle, item = parse_swizzle(type_.layout), type_.dtype.bytes
        cost = degree(access, swizzle, type_.shape, item, target)
        dist = addressed(access, swizzle.columns, type_.shape, item, target)
        pieces = len(dist.fragments) * dist.layout.items_per_fragment * item // cost.width
        total += (cost.cycles - cost.least) * pieces * waves
    return total


def counted(compiled: CompiledKernel, arch: str, sizes: dict[str, tuple[int, int]], name: str = "k") -> int:
    """Conflict cycles that the device counts in one launch on packed operands of those sizes."""
    device = open_device(f"emulator:{arch}")
    buffers = [device.alloc(rows * columns * 4) for rows, columns in sizes.values()]
    try:
        arguments: list[object] = []
        for buffer, (rows, columns) in zip(buffers, sizes.values(), strict=True):
            buffer.write(np.zeros(rows * columns, np.float32))
            arguments += [buffer, rows, columns, columns, 1]
        with device.sanitize(), device.load(compiled.hsaco) as loaded:
            device.counters()
            assert compiled.meta is not None
            loaded.function(name).launch((1, 1, 1), (compiled.meta.block, 1, 1), arguments)
            device.synchronize()
            assert device.reports() == []
            return device.counters()["lds_conflict_cycles"]
    finally:
        for buffer in buffers:
            buffer.free()


@pytest.mark.parametrize("arch", TARGETS)
@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    shape=st.sampled_from([(16, 16, 16), (32, 16, 64), (64, 32, 32), (64, 64, 64), (128, 64, 32), (96, 32, 64)]),
    transposed=st.tuples(st.integers(0, 1), st.integers(0, 1)),
    dtype=st.sampled_from(["bf16", "f16"]),
    drawn=st.dictionaries(
        st.integers(0, 1), st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(0, 7)), max_size=2
    ),
)
def test_the_device_counts_what_the_solver_claims(
    make: Make,
    arch: str,
    shape: tuple[int, int, int],
    transposed: tuple[int, int],
    dtype: str,
    drawn: dict[int, tuple[int, int, int]],
) -> None:
    """With the solver's layouts, and with others that conflict: reads, transposing reads, writes of staged copies."""
    m, n, k = shape
    constants = {"BM": m, "BN": n, "BK": k, "TA": transposed[0], "TB": transposed[1], "T": dtype}
    module = make(STRAIGHT, arch, "insert-buffer-loads", **constants)
    if not drawn and k >= 32:
        assert predicted(module, arch, 1) == 0, "the solver finds layouts without conflicts for these"
    with module.context:
        relaid(module, drawn)
    grid = get_ints(kernel_of(module), "tile.waves") or (1, 1)
    claimed = predicted(module, arch, grid[0] * grid[1])
    compiled = compile_module(lambda: module, arch)
    sizes = {"A": (k, m) if transposed[0] else (m, k), "B": (n, k) if transposed[1] else (k, n), "C": (m, n)}
    assert counted(compiled, arch, sizes) == claimed


@pytest.mark.parametrize("arch", TARGETS)
@pytest.mark.parametrize("trans", ["nt", "nn", "tn", "tt"])
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_the_gemm_runs_without_conflicts(make: Make, gemm: str, arch: str, trans: str, schedule: str) -> None:
    constants = {"BM": 64, "BN": 64, "BK": 64, "TRANS": trans, "SCHEDULE": schedule, "STAGES": 2}
    if schedule == "pingpong":
        constants |= {"BM": 256, "BN": 256}
    compiled = compile_module(lambda: make(gemm, arch, None, **constants), arch)
    m, n, k = constants["BM"], constants["BN"], 192
    sizes = {"A": (k, m) if trans[0] == "t" else (m, k), "B": (n, k) if trans[1] == "t" else (k, n), "C": (m, n)}
    assert counted(compiled, arch, sizes, "gemm") == 0


@pytest.mark.parametrize("arch", TARGETS)
@pytest.mark.parametrize("trans", ["nt", "nn", "tn", "tt"])
@pytest.mark.parametrize("shape", [(16, 16, 32), (16, 128, 64), (128, 16, 128), (96, 96, 32), (192, 256, 64)])
def test_every_tile_of_the_gemm_is_proved_free(
    make: Make, gemm: str, arch: str, trans: str, shape: tuple[int, int, int]
) -> None:
    m, n, k = shape
    tiles = lds_tiles_of(make(gemm, arch, "insert-buffer-loads", BM=m, BN=n, BK=k, TRANS=trans))
    assert len(tiles) == 2
    assert [tile.ways for tile in tiles] == [1, 1]


def test_the_bound_stays_below_what_is_found() -> None:
    target = get_target("gfx942")
    accesses = (Access("a(16x16x16*1) by 1/1,1/1"), Access("rows(8,2) by 1/1,1/1", write=True))
    assert unavoidable(accesses, (64, 16), 2, target) == solve(accesses, (64, 16), 2, target).extra == 4
    assert unavoidable((Access("a(16x16x16*2) by 1/1,1/1"),), (64, 64), 2, target) == 0
