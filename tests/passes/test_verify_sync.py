"""`verify-sync`: what is right passes, what is wrong is an error that names both parties and what would be enough."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mlir import ir

from hkc.errors import HkcError, render
from hkc.lang.constants import bind
from hkc.lang.elaborate import elaborate
from hkc.lang.text import parse_text
from hkc.passes.pipelines import PASSES, find_pass, run_passes, set_arch
from hkc.passes.schedules import SCHEDULES
from hkc.passes.swizzle import Swizzle
from hkc.passes.sync_regions import places

from .conftest import EXAMPLES, compile_to
from .mutants import run_unproved, verdict

ARCHS = ("gfx942", "gfx950")
TRANSPOSITIONS = ("nn", "nt", "tn", "tt")


def accepted(arch: str, example: str, **definitions: object) -> None:
    source = (EXAMPLES / f"{example}.tile").read_text(encoding="utf-8")
    try:
        module = compile_to(source, arch, "insert-buffer-loads", **definitions)
    except HkcError as error:
        pytest.skip(error.message)  # a schedule, tile or number of stages that does not apply
    find_pass("insert-fences")(module)
    assert verdict(module) is None


@pytest.mark.parametrize("trans", TRANSPOSITIONS)
@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("arch", ARCHS)
def test_shipped_schedules_pass(arch: str, schedule: str, trans: str) -> None:
    accepted(arch, "01_gemm", SCHEDULE=schedule, STAGES=2, TRANS=trans, BM=128, BN=128, BK=64)


@pytest.mark.long
@pytest.mark.parametrize("tile", [(16, 16, 64), (64, 64, 32), (128, 64, 64), (256, 256, 64)], ids=str)
@pytest.mark.parametrize("trans", TRANSPOSITIONS)
@pytest.mark.parametrize("stages", [1, 2, 3, 4])
@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("arch", ARCHS)
def test_every_shipped_schedule_passes(
    arch: str, schedule: str, stages: int, trans: str, tile: tuple[int, int, int]
) -> None:
    rows, columns, depth = tile
    accepted(arch, "01_gemm", SCHEDULE=schedule, STAGES=stages, TRANS=trans, BM=rows, BN=columns, BK=depth)


@pytest.mark.parametrize("example", sorted(p.stem for p in EXAMPLES.glob("*.tile")))
@pytest.mark.parametrize("arch", ARCHS)
def test_examples_pass(arch: str, example: str) -> None:
    names = [p.name for p in PASSES]
    for kernel in parse_text((EXAMPLES / f"{example}.tile").read_text(encoding="utf-8"), f"{example}.tile"):
        module = elaborate(kernel, bind(kernel, {})[0])
        set_arch(module, arch)
        run_passes(module, PASSES[: names.index("verify-sync") + 1])


# Two buffers, two operands; what each test is about stands in the middle. Four wavefronts share every tile.
HEAD = """kernel hand(A: view[M, K, bf16], B: view[N, K, bf16], C: view[64, 64, bf16]) grid (1) waves (2, 2) {
    s = lds(2, 64, 64, bf16)
    acc = zeros(64, 64, f32)
"""
TAIL = """    C[0 : 64, 0 : 64] = acc.to(bf16)
}
"""
COPY = "copy(A[0 : 64, 0 : 64], s[{}])"
USE = "acc += read(s[{}]) @ read(s[{}]).T"


def program(*lines: str) -> str:
    return HEAD + "".join(f"    {line}\n" for line in lines) + TAIL


def hand(*lines: str, arch: str = "gfx950") -> ir.Module:
    return compile_to(program(*lines), arch, "insert-fences")


def fault(*lines: str, arch: str = "gfx950") -> HkcError:
    """The fault of a program by hand. Lines of it count from 4."""
    error = verdict(hand(*lines, arch=arch))
    assert error is not None
    assert error.hint and error.span is not None and error.span.file == "test.tile"
    return error


def line_of(error: HkcError, note: int | None = None) -> int:
    span = error.span if note is None else error.notes[note][1]
    assert span is not None
    return span.line - 3


def test_copies_waits_and_barriers_by_hand_pass() -> None:
    lines = [COPY.format(0), COPY.format(1), "waitcnt(vmcnt=0)", "barrier()", USE.format(0, 1)]
    assert verdict(hand(*lines)) is None


def test_a_wait_that_is_too_weak() -> None:
    error = fault(COPY.format(0), COPY.format(1), "waitcnt(vmcnt=2)", "barrier()", USE.format(0, 1))
    assert error.message == "this read may see bytes that the same wavefront is still copying"
    assert (line_of(error), line_of(error, 0), line_of(error, 1)) == (5, 2, 3)
    assert error.notes[1][0] == "this wait is too weak: vmcnt=2 leaves it in flight, vmcnt=0 is enough"
    assert error.expected == "a wait that leaves at most vmcnt=0 in between"
    assert error.hint == "put waitcnt(vmcnt=0), or wait(...) on its token, before this read"


def test_the_count_that_is_enough_is_exact() -> None:
    """Each copy is two instructions a wavefront: 64x64 bf16 by four wavefronts of 64 lanes of 16 bytes."""
    lines = [COPY.format(0), COPY.format(1), "waitcnt(vmcnt={})", "barrier()", USE.format(0, 0), "waitcnt(vmcnt=0)"]
    assert verdict(hand(*(line.replace("{}", "2") for line in lines))) is None
    error = fault(*(line.replace("{}", "3") for line in lines))
    assert "vmcnt=3 leaves it in flight, vmcnt=2 is enough" in error.notes[1][0]


def test_no_wait_at_all() -> None:
    error = fault(COPY.format(0), "barrier()", USE.format(0, 0))
    assert (error.got, error.expected) == ("no wait that ends it", "a wait that leaves at most vmcnt=0 in between")


def test_a_wait_behind_the_barrier_orders_only_ones_own_copy() -> None:
    error = fault(COPY.format(0), "barrier()", "waitcnt(vmcnt=0)", USE.format(0, 0))
    assert error.message.startswith("this read may see bytes that another wavefront is still copying (wavefronts ")
    assert (line_of(error), line_of(error, 0), line_of(error, 1)) == (4, 1, 2)
    assert error.notes[1][0] == "this barrier is passed while it is in flight"
    assert error.hint == "put waitcnt(vmcnt=0), or wait(...) on its token, before the barrier"


def test_no_barrier_between_copy_and_read() -> None:
    error = fault(COPY.format(0), "waitcnt(vmcnt=0)", USE.format(0, 0), "barrier()")
    assert (error.expected, error.got) == ("a barrier in between", "none")
    assert (line_of(error), line_of(error, 0)) == (3, 1)
    assert error.hint == "put a wait for the copy and then barrier() before this read"


def test_no_barrier_between_read_and_copy() -> None:
    ready = [COPY.format(0), "waitcnt(vmcnt=0)", "barrier()"]
    error = fault(*ready, USE.format(0, 0), "waitcnt(lgkmcnt=0)", COPY.format(0), "waitcnt(vmcnt=0)")
    assert error.message.startswith("this copy may overwrite bytes that another wavefront is still reading")
    assert (line_of(error), line_of(error, 0)) == (6, 4)
    assert error.hint == "put barrier() before this copy"


def test_reads_are_ended_before_a_barrier_that_orders_them() -> None:
    """They have no token: the compiler puts the wait."""
    ready = [COPY.format(0), "waitcnt(vmcnt=0)", "barrier()"]
    module = hand(*ready, USE.format(0, 0), "barrier()", COPY.format(0), "waitcnt(vmcnt=0)")
    assert verdict(module) is None
    for op in [op.operation for op in module.body.operations[0].regions[0].blocks[0].operations]:
        if op.name == "tile.waitcnt" and "lgkmcnt" in op.attributes:
            op.erase()
    error = verdict(module)
    assert error is not None
    assert error.expected == "a wait that leaves at most lgkmcnt=0 in between"


def test_a_write_before_anothers_write_is_over() -> None:
    error = fault("x = A[0 : 64, 0 : 64]", "write(x, s[0])", "waitcnt(lgkmcnt=0)", USE.format(0, 0), "barrier()")
    assert error.hint == "put a wait for the write and then barrier() before this read"
    error = fault("x = A[0 : 64, 0 : 64]", COPY.format(0), "write(x, s[0])", "barrier()")
    assert error.message == "this write may overwrite bytes that the same wavefront is still copying"


def test_reading_what_nobody_wrote() -> None:
    error = fault("barrier()", USE.format(0, 0))
    assert error.message == "this read may come before anything was written to slot 0 of s"
    error = fault(
        "for k in range(0, K, 64) {", f"    {COPY.format(0)}", "}", "waitcnt(vmcnt=0)", "barrier()", USE.format(0, 0)
    )
    assert "a loop may run no iteration" in (error.got or "")


def test_a_copy_through_registers_is_written_where_its_token_is_waited_for() -> None:
    error = fault(COPY.format(0), "waitcnt(vmcnt=0)", "barrier()", USE.format(0, 0), arch="gfx942")
    assert "where copies go through registers, the wait is what writes them to LDS" in (error.hint or "")


def test_a_slot_out_of_range() -> None:
    lines = ["slot = 1", "for k in range(0, K, 64) {", f"    {COPY.format('slot')}", "    slot = slot + 1", "}"]
    with pytest.raises(HkcError, match="outside of its LDS allocation") as caught:
        hand(*lines)
    assert (caught.value.expected, caught.value.got) == ("0 to 1", "2")


def test_barriers_must_balance() -> None:
    error = fault("if wave() < 2 {", "    barrier()", "}")
    assert error.message == "not all wavefronts pass the same number of barriers"
    assert (line_of(error), error.expected) == (2, "wavefronts 2-3 at a barrier too")
    assert error.got == "wavefronts 0-1 here, the others at the kernel's end"
    assert verdict(hand("if wave() < 2 {", "    barrier()", "} else {", "    barrier()", "}")) is None


def test_barriers_in_a_loop_of_one_role_must_balance_too() -> None:
    lines = ["if wave() < 2 {", "    for k in range(0, K, 64) {", "        barrier()", "    }", "}"]
    assert "the same number of barriers" in fault(*lines).message
    other = ["if wave() >= 2 {", "    for k in range(0, K, 64) {", "        barrier()", "    }", "}"]
    assert verdict(hand(*lines, *other)) is None
    longer = [line.replace("range(0, K, 64)", "range(0, M, 64)") for line in other]
    assert "the same number of barriers" in fault(*lines, *longer).message


def test_roles_that_hand_over() -> None:
    """Two wavefronts copy, two read; the copy of each is waited for before the barrier, the read behind it."""
    copied = [f"    {COPY.format(0)}", "    waitcnt(vmcnt=0)", "    barrier()", "    barrier()"]
    used = ["    barrier()", f"    {USE.format(0, 0)}", "    waitcnt(lgkmcnt=0)", "    barrier()"]
    first = [COPY.format(0), "waitcnt(vmcnt=0)", "barrier()"]
    right = [
        *first,
        "if wave() < 2 {",
        *copied[2:],
        f"    {COPY.format(0)}",
        "} else {",
        *used,
        "}",
        "waitcnt(vmcnt=0)",
    ]
    assert verdict(hand(*right)) is None
    early = [*first, "if wave() < 2 {", *copied, "} else {", *used, "}"]
    assert verdict(hand(*early)) is None
    late = [*first, "if wave() < 2 {", copied[2], *copied[:2], copied[3], "} else {", *used, "}"]
    assert "still copying (wavefronts 2 and " in fault(*late).message


def test_roles_decide_alike_only_as_often_as_they_come_by() -> None:
    """Both loops run alike in one iteration, but the first role leaves out some."""
    inner = ["for j in range(0, last, 64) {", "    barrier()", "}"]
    both = [
        "for k in range(0, K, 64) {",
        "last = M - k",
        "if wave() < 2 {",
        *inner,
        "} else {",
        *inner,
        "}",
        "barrier()",
        "}",
    ]
    assert verdict(hand(*both)) is None
    some = [*both[:3], "if N > k {", *inner, "}", *both[6:]]
    assert "the same number of barriers" in fault(*some).message


def test_a_role_may_run_ahead_where_there_are_no_barriers() -> None:
    ready = [COPY.format(0), "waitcnt(vmcnt=0)", "barrier()"]
    lines = ["for k in range(0, K, 64) {", USE.format(0, 0), "}", "if wave() < 2 {", "    barrier()", "} else {"]
    assert verdict(hand(*ready, *lines, "    barrier()", "}")) is None


def test_values_that_differ_between_iterations_decide_anew() -> None:
    fill = [f"    {COPY.format(0)}", "    waitcnt(vmcnt=0)"]
    body = ["full = K - k > M", "if full {", *fill, "}", "barrier()", "if full {", USE.format(0, 0), "}", "barrier()"]
    assert verdict(hand("for k in range(0, K, 64) {", *body, "}")) is None
    late = ["full = K - k > M", "if full {", USE.format(0, 0), "}", "barrier()", "if full {", *fill, "}", "barrier()"]
    assert "before anything was written" in fault("for k in range(0, K, 64) {", *late, "}").message


ROTATING = """slot = 0
{0}
waitcnt(vmcnt=0)
for k in range(0, K, 64) {{
    barrier()
    {1}
    {2}
    waitcnt(lgkmcnt=0, vmcnt={3})
    slot = {4}
}}
barrier()"""


def rotating(wait: int, step: str, target: str = "1 - slot") -> list[str]:
    texts = COPY.format(0), COPY.format(target), USE.format("slot", "slot")
    return ROTATING.format(*texts, wait, step).splitlines()


def test_slots_are_followed_as_they_rotate() -> None:
    assert verdict(hand(*rotating(0, "1 - slot"))) is None
    assert "still copying" in fault(*rotating(1, "1 - slot")).message
    assert "still" in fault(*rotating(0, "1 - slot", target="slot")).message


def test_a_rotation_that_can_not_be_followed() -> None:
    error = fault(*rotating(0, "k % 2"))
    assert "a slot that can't be followed, so it may be any of s" in render(error)


def test_loops_with_few_known_iterations_are_followed_one_by_one() -> None:
    lines = [
        "for i in range(0, 2) {",
        f"    {COPY.format('i')}",
        "}",
        "waitcnt(vmcnt=0)",
        "barrier()",
        USE.format(0, 1),
    ]
    assert verdict(hand(*lines)) is None


def test_the_same_condition_decides_alike() -> None:
    fill = [f"    {COPY.format(0)}", "    waitcnt(vmcnt=0)"]
    lines = ["full = K > 64", "if full {", *fill, "}", "barrier()", "if full {", f"    {USE.format(0, 0)}", "}"]
    assert verdict(hand(*lines)) is None
    other = [line.replace("if full", "if M > 64") if index == 6 else line for index, line in enumerate(lines)]
    assert "before anything was written" in fault(*other).message


def test_dumps_can_be_proved_alone() -> None:
    module = hand(COPY.format(0), "waitcnt(vmcnt=1)", "barrier()", USE.format(0, 0))
    with pytest.raises(HkcError, match="too weak"):
        find_pass("verify-sync")(module)


@st.composite
def _turned(draw: st.DrawFn) -> tuple[Swizzle, int, tuple[int, int], range, range]:
    item, columns = draw(st.sampled_from([1, 2, 4])), draw(st.sampled_from([32, 64, 128]))
    rows = draw(st.sampled_from([16, 48, 64]))
    chunks = columns * item // 16
    bits = draw(st.sets(st.integers(0, 3), max_size=2))
    free = ~sum(chunks << bit for bit in bits)
    turns = [(bit, draw(st.integers(0, (chunks << bit) - 1)) & free) for bit in sorted(bits)]
    first, left = draw(st.integers(0, rows - 1)), draw(st.integers(0, columns - 1))
    last, right = draw(st.integers(first + 1, rows)), draw(st.integers(left + 1, columns))
    swizzle = Swizzle(0, tuple((bit, mask) for bit, mask in turns if mask))
    return swizzle, item, (rows, columns), range(first, last), range(left, right)


@given(_turned())
@settings(max_examples=60, deadline=None)
def test_bytes_are_where_the_layout_puts_them(case: tuple[Swizzle, int, tuple[int, int], range, range]) -> None:
    swizzle, item, (rows, columns), down, across = case
    width = columns * item
    expected = {swizzle.offset(r, c * item, width, rows) // item for r in down for c in across}
    found = places(swizzle, item, (rows, columns), down, across)
    assert {bit for bit in range(rows * columns) if found >> bit & 1} == expected


SLOTS = st.integers(0, 1)


@st.composite
def _statements(draw: st.DrawFn, arch: str, depth: int = 0) -> list[str]:
    """A few statements about LDS; waits and barriers are there more often than not."""
    found: list[str] = []
    for _ in range(draw(st.integers(2, 5))):
        kind = draw(st.sampled_from(["copy", "use", "use", "write", "loop", "roles"][: 4 if depth else 6]))
        if draw(st.integers(0, 5)):
            found += [f"waitcnt(lgkmcnt=0, vmcnt={draw(st.sampled_from([0, 0, 0, 2]))})", "barrier()"]
        if kind == "copy":
            copy = COPY.format(draw(SLOTS))
            found.append(copy if arch == "gfx950" else f"wait({copy})")
        elif kind == "use":
            found.append(USE.format(draw(SLOTS), draw(SLOTS)))
        elif kind == "write":
            found.append(f"write(x, s[{draw(SLOTS)}])")
        elif kind == "loop":
            found += ["for k in range(0, K, 64) {", *draw(_statements(arch, depth + 1)), "}"]
        else:
            arms = [draw(_statements(arch, depth + 1)) for _ in range(2)]
            short, long = sorted(arms, key=lambda arm: arm.count("barrier()"))
            short += ["barrier()"] * (long.count("barrier()") - short.count("barrier()"))
            found += [f"if wave() {draw(st.sampled_from(['<', '>=']))} 2 {{", *short, "} else {", *long, "}"]
    return found


def _agree(arch: str, body: list[str]) -> bool:
    """Whether `verify-sync` accepts a program; if so, the device must have nothing to report."""
    fill = [f"wait({COPY.format(slot)})" for slot in (0, 1)]
    module = hand("x = A[0 : 64, 0 : 64]", *fill, "barrier()", *body, arch=arch)
    if verdict(module) is not None:
        return False
    reports = run_unproved(module, [(64, 64, 192, 0)])
    assert reports == [], program(*body)
    return True


@pytest.mark.parametrize("arch", ARCHS)
def test_what_is_accepted_runs_without_reports(arch: str) -> None:
    _random_programs(arch, 12)


@pytest.mark.long
@pytest.mark.parametrize("arch", ARCHS)
def test_much_that_is_accepted_runs_without_reports(arch: str) -> None:
    _random_programs(arch, 300)


def _random_programs(arch: str, count: int) -> None:
    accepted_ones = []

    @given(_statements(arch))
    @settings(max_examples=count, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
    def run(body: list[str]) -> None:
        accepted_ones.append(_agree(arch, body))

    run()
    assert sum(accepted_ones) >= count // 10
