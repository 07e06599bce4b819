"""The choice of schedules: what is chosen, what is said about it, and what can't be had."""

from __future__ import annotations

import re

import pytest
from mlir import ir

from hkc.dialect.irdl import get_int, get_ints, get_str
from hkc.dialect.verify import walk
from hkc.driver.compile import compile_module
from hkc.errors import HkcError
from hkc.passes.choose_schedules import shrink_hint
from hkc.passes.rebuild import kernel_of
from hkc.passes.remarks import remarks_of
from hkc.passes.roles import roles_of
from hkc.targets import get_target

from .conftest import Make


def loop_of(module: ir.Module) -> ir.Operation:
    return next(op for op in walk(kernel_of(module)) if op.name == "scf.for")


def chosen(make: Make, source: str, arch: str, **definitions: object) -> tuple[str | None, int | None, tuple[int, ...]]:
    """Schedule, stages, and the wave grid of the first loop."""
    loop = loop_of(make(source, arch, "choose-schedules", **definitions))
    return get_str(loop, "tile.schedule"), get_int(loop, "tile.stages"), get_ints(loop, "tile.wave_grid") or ()


@pytest.mark.parametrize(
    ("arch", "tile", "expected"),
    [
        ("gfx950", (256, 256), ("pingpong", 2, (2, 4, 0))),
        ("gfx942", (256, 256), ("pingpong", 2, (2, 4, 0))),
        ("gfx950", (128, 256), ("interleave", 3, (1, 4, 0))),
        ("gfx942", (128, 256), ("interleave", 2, (1, 4, 0))),
        ("gfx950", (128, 128), ("uniform", 2, (2, 2, 0))),
        ("gfx942", (128, 128), ("interleave", 2, (2, 2, 0))),
        ("gfx950", (64, 64), ("uniform", 4, (2, 2, 0))),
        ("gfx950", (16, 64), ("uniform", 4, (1, 4, 0))),
        ("gfx950", (16, 16), ("uniform", 4, (1, 1, 0))),
    ],
)
def test_default_by_tile(
    make: Make, gemm: str, arch: str, tile: tuple[int, int], expected: tuple[str, int, tuple[int, ...]]
) -> None:
    assert chosen(make, gemm, arch, BM=tile[0], BN=tile[1]) == expected


def test_what_the_program_asks_for_is_kept(make: Make, gemm: str) -> None:
    assert chosen(make, gemm, "gfx950", BM=128, BN=128, STAGES=3, SCHEDULE="uniform")[:2] == ("uniform", 3)
    assert chosen(make, gemm, "gfx950", BM=128, BN=128, SCHEDULE="pingpong")[0] == "pingpong"
    assert chosen(make, gemm, "gfx950", BM=256, BN=256, STAGES=1)[:2] == ("uniform", 1)


def test_a_remark_says_what_and_why(make: Make, gemm: str) -> None:
    module = make(gemm, "gfx950", "choose-schedules", BM=64, BN=64)
    [remark] = remarks_of(module)
    assert remark.line == 1 + next(i for i, row in enumerate(gemm.splitlines()) if "for k in range" in row)
    assert remark.message.startswith("schedule uniform, 2x2 waves, 4 stages; ")
    assert "not pingpong: 4 wavefronts, one a SIMD, can hold the accumulators of 64x64" in remark.message
    assert "not interleave: 128 cycles of MFMA a K step are too few" in remark.message
    assert "not producer_consumer: load waves take registers" in remark.message


def test_remarks_survive_every_pass(make: Make, gemm: str) -> None:
    assert remarks_of(make(gemm, "gfx950", "lower-to-rocdl", BM=64, BN=64))


TWO = """
kernel f(A: view[64, K, bf16], B: view[K, 64, bf16], C: view[64, 64, f32]; SCHEDULE = "auto") grid (1) {
    x = zeros(64, 64, f32)
    for k in range(0, K, 32, schedule=SCHEDULE) { x += A[0 : 64, k : k + 32] @ B[k : k + 32, 0 : 64] }
    for k in range(0, K, 32) { x += A[0 : 64, k : k + 32] @ B[k : k + 32, 0 : 64] }
    C[0 : 64, 0 : 64] = x
}
"""
SCALED = """
kernel f(A: view[64, K, bf16], B: view[K, 64, bf16], C: view[64, 64, f32]; SCHEDULE = "auto") grid (1) {
    x = zeros(64, 64, f32)
    for k in range(0, K, 32, schedule=SCHEDULE) { x += (A[0 : 64, k : k + 32] @ B[k : k + 32, 0 : 64]) * 2.0 }
    C[0 : 64, 0 : 64] = x
}
"""
NO_MATMUL = """
kernel f(A: view[64, K, f32], C: view[64, 64, f32]; SCHEDULE = "auto") grid (1) {
    x = zeros(64, 64, f32)
    for k in range(0, K, 64, schedule=SCHEDULE) { x += A[0 : 64, k : k + 64] }
    C[0 : 64, 0 : 64] = x
}
"""


def test_loops_of_one_kernel_share_its_wavefronts(make: Make) -> None:
    module = make(TWO, "gfx950", "choose-schedules")
    grids = [get_ints(op, "tile.wave_grid") for op in walk(kernel_of(module)) if op.name == "scf.for"]
    assert len(grids) == 2
    assert grids[0] == grids[1]


@pytest.mark.parametrize("source", [SCALED, NO_MATMUL, TWO])
def test_any_loop_has_a_default(make: Make, source: str) -> None:
    make(source, "gfx942", "lower-to-rocdl")


# A program or its constants, and the message with the nearest thing that works.
BAD = [
    ("gfx942", {"STAGES": 4, "BM": 128, "BN": 128}, "4 stages need 131072 bytes of LDS", "stages=3"),
    ("gfx950", {"STAGES": 3, "BM": 256, "BN": 256}, "3 stages need 196608 bytes of LDS", "stages=2"),
    ("gfx950", {"SCHEDULE": "pingpong", "STAGES": 3, "BM": 256, "BN": 256}, "it has 2 stages", "stages=2"),
    ("gfx950", {"SCHEDULE": "pingpong", "BM": 16, "BN": 64}, "16x64 does not divide over", "a tile of 32x64"),
    (
        "gfx950",
        {"SCHEDULE": "producer_consumer", "BM": 256, "BN": 256},
        r"it needs \d+ registers a lane \(.*accumulators.*\) of 256",
        "a tile of",
    ),
    ("gfx950", {"SCHEDULE": "interleave", "BM": 16, "BN": 16}, "16x16 does not divide over", "a tile of"),
    ("gfx950", {"SCHEDULE": "interleave", "STAGES": 1, "BM": 64, "BN": 64}, "it has 2 to 4 stages", "stages=2"),
    ("gfx942", {"SCHEDULE": "interleave", "STAGES": 3, "BM": 256, "BN": 256}, "3 stages need 131072", "stages=2"),
    ("gfx942", {"SCHEDULE": "producer_consumer", "STAGES": 1, "BM": 64, "BN": 64}, "it has 2 to 4 stages", "stages=2"),
]


@pytest.mark.parametrize(("arch", "definitions", "message", "hint"), BAD)
def test_what_does_not_fit_names_what_does(
    make: Make, gemm: str, arch: str, definitions: dict[str, object], message: str, hint: str
) -> None:
    with pytest.raises(HkcError, match=message) as caught:
        make(gemm, arch, "choose-schedules", **definitions)
    error = caught.value
    assert error.span is not None
    assert error.span.line == 1 + next(i for i, row in enumerate(gemm.splitlines()) if "for k in range" in row)
    assert error.expected
    assert error.got
    assert (error.hint or "").startswith(hint)


@pytest.mark.parametrize(("arch", "definitions", "message", "hint"), BAD)
def test_the_hint_works(
    make: Make, gemm: str, arch: str, definitions: dict[str, object], message: str, hint: str
) -> None:
    with pytest.raises(HkcError, match=message) as caught:
        make(gemm, arch, "choose-schedules", **definitions)
    said = caught.value.hint or ""
    if said.startswith("stages="):
        change: dict[str, object] = {"STAGES": said.removeprefix("stages=")}
    else:
        change = dict(zip(("BM", "BN"), said.removeprefix("a tile of ").split("x"), strict=True))
    make(gemm, arch, "insert-fences", **definitions | change)


@pytest.mark.parametrize(
    ("source", "schedule", "message", "hint"),
    [
        (SCALED, "pingpong", "can't apply here: ", 'schedule="uniform"'),
        (NO_MATMUL, "pingpong", "the loop has no matmul whose operands", "leave out schedule"),
        (TWO, "producer_consumer", "the loop is not the only one", 'schedule="pingpong"'),
    ],
)
def test_loops_that_a_schedule_is_not_for(make: Make, source: str, schedule: str, message: str, hint: str) -> None:
    with pytest.raises(HkcError, match=message) as caught:
        make(source, "gfx950", "choose-schedules", SCHEDULE=schedule)
    assert caught.value.span is not None
    assert caught.value.span.line == 4
    assert (caught.value.hint or "").startswith(hint)


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ('schedule="uniform", load_waves=2', "it has no load waves"),
        ("load_waves=0", "load_waves is the number of waves that only load"),
        ('schedule="producer_consumer", load_waves=13', "17 wavefronts are too many"),
        ('schedule="producer_consumer", load_waves=3', "does not divide over 3 wavefronts that copy it"),
        ("schedule=3", "schedule is a name"),
        ('stages="many"', "stages is the number of buffers"),
    ],
)
def test_options_out_of_range(make: Make, gemm: str, option: str, message: str) -> None:
    source = gemm.replace("stages=STAGES, schedule=SCHEDULE", option)
    with pytest.raises(HkcError, match=message) as caught:
        make(source, "gfx950", "choose-schedules", BM=64, BN=64)
    assert caught.value.span is not None


def test_waves_that_the_program_fixes(make: Make, gemm: str) -> None:
    fixed = gemm.replace("cdiv(N, BN))\n{", "cdiv(N, BN)) waves (4, 2)\n{")
    assert fixed != gemm
    assert chosen(make, fixed, "gfx950", BM=256, BN=256) == ("pingpong", 2, (4, 2, 0))
    with pytest.raises(HkcError, match="64x16 does not divide over 4x2 wavefronts") as caught:
        make(fixed, "gfx950", "choose-schedules", BM=64, BN=16)
    assert caught.value.hint == "leave out waves (...)"


@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
@pytest.mark.parametrize("stages", [2, 3, 4])
@pytest.mark.parametrize("load_waves", [1, 2, 4])
def test_both_roles_pass_the_same_barriers(make: Make, gemm: str, arch: str, stages: int, load_waves: int) -> None:
    source = gemm.replace("schedule=SCHEDULE", "schedule=SCHEDULE, load_waves=" + str(load_waves))
    definitions = {"BM": 64, "BN": 64, "BK": 32, "STAGES": stages, "SCHEDULE": "producer_consumer"}
    module = make(source, arch, "insert-fences", **definitions)
    function = kernel_of(module)
    roles = roles_of(function)
    assert (roles.computing, roles.load_waves, roles.total) == (4, load_waves, 4 + load_waves)
    branch = next(op for op in walk(function) if op.name == "scf.if" and not op.results)

    def barriers(region: ir.Region) -> list[int]:
        """By loop; the last one counts those outside of loops."""
        ops = [op.operation for op in region.blocks[0].operations]
        loops = [sum(inner.name == "tile.barrier" for inner in walk(op)) for op in ops if op.name == "scf.for"]
        return [*loops, sum(op.name == "tile.barrier" for op in ops)]

    compute, load = (barriers(region) for region in branch.regions)
    assert compute == load == [1 if arch == "gfx950" else 2, 2, 0]
    names = [{op.name for op in walk_region(region)} for region in branch.regions]
    assert "tile.mma" in names[0] and "tile.mma" not in names[1]
    assert not names[0] & {"tile.copy", "tile.buffer_load", "tile.lds_write"}


def walk_region(region: ir.Region) -> list[ir.Operation]:
    return [inner for op in region.blocks[0].operations for inner in walk(op.operation)]


def test_what_to_shrink_when_registers_run_out(make: Make, gemm: str) -> None:
    """Each proposal is planned with fewer registers than what it replaces."""
    module = make(gemm, "gfx950", None, BM=256, BN=256)
    assert shrink_hint(module, get_target("gfx950")) == "a tile of 128x256, or waves (4, 4)"

    def planned(source: str, **definitions: object) -> int:
        [remark] = remarks_of(make(source, "gfx950", "choose-schedules", **definitions))
        return int(re.findall(r"(\d+) registers a lane", remark.message)[0])

    whole = planned(gemm, BM=256, BN=256)
    assert planned(gemm, BM=128, BN=256) < whole
    assert planned(gemm.replace("cdiv(N, BN))\n{", "cdiv(N, BN)) waves (4, 4)\n{"), BM=256, BN=256) < whole


SPILLING = """
kernel f(A: view[M, N, f32], B: view[M, N, f32], K: i32) grid (1) {
    x = A[0 : 256, 0 : 256]
    y = B[0 : 256, 0 : 256]
    z = exp(x) * y
    for k in range(0, K) {
        x = x * y + z
        y = y + z * x
    }
    B[0 : 256, 0 : 256] = x + y
}
"""


def test_a_kernel_that_spills_is_an_error_at_its_line(make: Make) -> None:
    with pytest.raises(HkcError, match="kernel f needs more registers") as caught:
        compile_module(lambda: make(SPILLING, "gfx942", None), "gfx942")
    assert caught.value.exit_code == 2
    assert caught.value.span is not None
    assert caught.value.span.line == 2
    assert "smaller" in (caught.value.hint or "")
    assert any("x (256x256 f32 tile" in note for note, _ in caught.value.notes)


@pytest.mark.parametrize(
    ("arch", "definitions", "waves"),
    [
        ("gfx950", {"BM": 128, "BN": 128}, 2),  # two workgroups of four wavefronts fit LDS and registers
        ("gfx942", {"BM": 128, "BN": 128, "SCHEDULE": "uniform"}, 1),  # LDS holds one
        ("gfx950", {"BM": 256, "BN": 256}, 2),  # one workgroup of eight
        ("gfx950", {"BM": 128, "BN": 128, "SCHEDULE": "producer_consumer"}, 2),
    ],
)
def test_registers_are_left_for_the_planned_occupancy(
    make: Make, gemm: str, arch: str, definitions: dict[str, object], waves: int
) -> None:
    module = make(gemm, arch, "lower-to-rocdl", **definitions)
    assert f'["amdgpu-waves-per-eu", "{waves}"]' in str(kernel_of(module).attributes["passthrough"])
