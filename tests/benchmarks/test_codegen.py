"""The comparison of generated code: what is read from objects, what the emulated device counts, and the table."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks.codegen.__main__ import main
from benchmarks.codegen.cases import GemmCase, Problem, TritonJob, all_cases, gemm_cases, numbered
from benchmarks.codegen.compilers import HkcMade, TritonMade
from benchmarks.codegen.emulate import Dynamics, emulate
from benchmarks.codegen.measure import Statics, measure
from benchmarks.codegen.search import rank
from benchmarks.codegen.table import Line, ratios, text, to_json
from benchmarks.codegen.timing import Compiler, Times, time_compilers
from hkc.runtime import Device

DATA = Path(__file__).parent.parent / "foreign" / "data" / "triton"
CASE = GemmCase("gemm-64", "gfx950", (64, 64, 64), "bf16", "nt", None, 4)


def triton_object(name: str, arch: str) -> TritonMade:
    info = json.loads((DATA / f"{name}.{arch}.json").read_text())
    code = (DATA / f"{name}.{arch}.hsaco").read_bytes()
    return TritonMade(code, info["kernel"], info["num_warps"], info["shared"], "3.9.0")


@pytest.mark.parametrize(
    ("arch", "core", "others", "code"),
    [
        ("gfx942", (64, 24, 8, 0, 8), {"VALU": 25, "SALU": 8, "waits": 22, "barriers": 2, "memory": 0}, 10112),
        ("gfx950", (32, 24, 0, 8, 0), {"VALU": 84, "SALU": 30, "waits": 23, "barriers": 1, "memory": 32}, 8728),
    ],
)
def test_a_triton_object(arch: str, core: tuple[int, ...], others: dict[str, int], code: int) -> None:
    """256x256x64 by 8 wavefronts: 24 reads and 8 loads of 16 bytes a lane. ``code`` is the symbol's size."""
    made = triton_object("gemm_bf16_pp", arch)
    statics = measure(made.code, 256 * 256 * 64, made.dynamic_lds)
    assert statics.steps == 1
    assert tuple(statics.core.values()) == core
    assert statics.others == others
    assert statics.instructions == sum(core) + sum(others.values())
    assert statics.code == code
    assert statics.lds == made.dynamic_lds > 0
    assert statics.waves == 8


def test_counts_are_of_one_step() -> None:
    """Half the work a step, twice the steps an iteration."""
    made = triton_object("gemm_bf16_pp", "gfx950")
    whole, half = (measure(made.code, 256 * 256 * k) for k in (64, 32))
    assert half.steps == 2
    assert half.instructions == whole.instructions / 2
    assert half.agpr_moves == 39 / 2
    assert half.mfma_before_wait == whole.mfma_before_wait


def test_without_mfma_an_iteration_is_a_step() -> None:
    statics = measure(triton_object("softmax_fp32", "gfx942").code, 0)
    assert (statics.steps, statics.core["MFMA"], statics.mfma_shape) == (1, 0, None)


def test_hkc_object_and_what_it_executes() -> None:
    """The emulated device executes just the instructions that were read from the object."""
    made = HkcMade(CASE)
    statics = measure(made.code, CASE.work)
    dynamics = emulate(CASE, made, statics.waves)
    assert dynamics.instructions == statics.instructions
    assert dynamics.lds_instructions == statics.core["LDS reads"] + statics.core["LDS writes"]
    assert dynamics.conflict_cycles == 0


@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
def test_triton_object_and_what_it_executes(arch: str) -> None:
    case = GemmCase("gemm", arch, (256, 256, 64), "bf16", "nt", None, 8)
    made = triton_object("gemm_bf16_pp", arch)
    statics = measure(made.code, case.work, made.dynamic_lds)
    dynamics = emulate(case, made, statics.waves)
    assert dynamics.instructions == statics.instructions
    assert dynamics.lds_instructions == statics.core["LDS reads"] + statics.core["LDS writes"]


def test_a_wrong_result_is_no_measurement() -> None:
    @dataclass(frozen=True)
    class Idle:
        code: bytes = b""
        dynamic_lds: int = 0

        def launch(self, device: Device, problem: Problem) -> None:
            pass

    with pytest.raises(ValueError, match="elements of C are wrong"):
        emulate(CASE, Idle(), 4)


def test_counters_are_shared_out_over_the_waves() -> None:
    made = triton_object("gemm_bf16_pp", "gfx942")
    case = GemmCase("gemm", "gfx942", (256, 256, 64), "bf16", "nt", None, 8)
    once, half = (emulate(case, made, waves) for waves in (8, 16))
    assert half == replace(
        once,
        instructions=once.instructions / 2,
        lds_instructions=once.lds_instructions / 2,
        conflict_cycles=once.conflict_cycles / 2,
    )


def statics(**changes: object) -> Statics:
    made = measure(triton_object("gemm_bf16_pp", "gfx942").code, 256 * 256 * 64, 65536)
    return replace(made, **changes)


def test_the_search_prefers_what_fits_and_does_not_wait_at_once() -> None:
    plain = rank(statics(), "gfx942")
    assert plain == (False, 0, False, 57)
    assert plain < rank(statics(lds=65537), "gfx942")
    assert plain < rank(statics(mfma_before_wait=31), "gfx942")
    spilled = replace(statics().resources, vgpr_spills=1, sgpr_spills=2)
    assert rank(statics(resources=spilled), "gfx942").spills == 3


def lines() -> list[Line]:
    times = Times(0.5, 0.75, 0.1, 0.125)
    slow = Times(1.0, 1.0, 0.5, 0.5)
    first = statics(others=dict(statics().others, VALU=0), agpr_moves=0.0)
    return [
        Line(CASE, "hkc", "BM=64", first, Dynamics(120, 32, 0), times),
        Line(CASE, "Triton", "3.9.0", statics(), Dynamics(161, 32, 8), slow),
    ]


def test_ratios() -> None:
    ours, theirs = lines()
    found = ratios(ours, theirs)
    assert found["MFMA"] == 1
    assert found["VALU"] == 0
    assert found["AGPR moves"] == 1, "none on either side"
    assert found["cold s"] == 0.5
    assert found["warm CPU s"] == 0.25
    assert ratios(theirs, ours)["VALU"] is None, "no ratio to none"


def test_table_and_json() -> None:
    shown = text(lines())
    rows = [row.split() for row in shown.splitlines()]
    hkc, triton, ratio = (next(row for row in rows if row[:1] == [name]) for name in ("hkc", "Triton", "ratio"))
    assert len(hkc) == len(triton) == len(ratio)
    assert hkc[1:7] == ["64", "24", "8", "0", "8", "0"]
    assert ratio[6] == "0.00"
    assert "gemm-64 gfx950 Triton: 3.9.0" in shown
    data = json.loads(json.dumps(to_json(lines())))
    assert [line["compiler"] for line in data["lines"]] == ["hkc", "Triton"]
    assert data["lines"][0]["columns"]["MFMA"] == 64
    assert data["ratios"][0]["columns"]["cold s"] == 0.5


def test_one_compiler_alone_and_no_times() -> None:
    (line, _) = lines()
    shown = text([replace(line, times=None)])
    assert not any(row.split()[:1] == ["ratio"] for row in shown.splitlines())
    assert "cold" not in shown.split("Counts are")[0]
    assert to_json([line])["ratios"] == []


def test_cases_are_told_apart_and_compute_the_right_thing() -> None:
    cases = all_cases()
    assert len({(case.name, case.arch) for case in cases}) == len(cases)
    for case in cases:
        assert case.source.exists()
        assert case.triton().arch == case.arch
    nn, nt = (replace(CASE, trans=trans).problem(1) for trans in ("nn", "nt"))
    assert np.array_equal(nn.b.T, nt.b)  # type: ignore[attr-defined]
    assert np.array_equal(nn.expected, nt.expected)  # type: ignore[attr-defined]


def test_cases_take_the_schedules_that_are_there() -> None:
    with_one, with_two = (list(gemm_cases(names)) for names in (["pingpong"], ["pingpong", "interleave"]))
    more = [case for case in with_two if case not in with_one]
    assert {case.schedule for case in with_one} == {"pingpong", None}
    assert {(case.schedule, case.waves, case.triton().options["num_warps"]) for case in more} == {("interleave", 4, 4)}


def test_candidates_and_the_job_that_triton_gets() -> None:
    case = next(case for case in all_cases() if case.arch == "gfx942")
    jobs = numbered(list(case.candidates()))
    assert len({job.name for job in jobs}) == len(jobs)
    assert len({job.chosen() for job in jobs}) == len(jobs)
    job = case.triton()
    assert TritonJob(**json.loads(json.dumps(job.to_json()))) == job


def test_times_are_medians_of_a_cold_and_a_warm_process(tmp_path: Path) -> None:
    """The second process of each pair finds what the first one left in the cache; every pair has its own."""
    log = tmp_path / "log"
    script = f"""
import os, pathlib
seen = pathlib.Path(os.environ["BENCH_CACHE"], "seen")
with open({str(log)!r}, "a") as log:
    log.write("warm " if seen.exists() else "cold ")
seen.touch()
sum(range(2_000_000))
"""

    compiler = Compiler(lambda folder: [sys.executable, "-S", "-c", script], "BENCH_CACHE", {})
    times = time_compilers({"one": compiler}, 2)["one"]
    assert log.read_text().split() == ["cold", "cold", "warm", "cold", "warm"]
    assert times.cold_cpu > 0
    assert 0 < times.warm <= times.cold + times.warm


def test_command_line_without_triton(capsys: pytest.CaptureFixture[str]) -> None:
    """The default case at 128x128x64 on one target: hkc's line alone."""
    chosen = ["--case", "gemm-128x128x64-nt-bf16", "--arch", "gfx950", "--runs", "0"]
    assert main([*chosen, "--json"]) == 0
    (line,) = json.loads(capsys.readouterr().out)["lines"]
    assert (line["compiler"], line["columns"]["MFMA"], line["columns"]["spills"]) == ("hkc", 32, 0)
    assert line["columns"]["executed"] == sum(
        line["columns"][name] for name in ("MFMA", "LDS reads", "LDS writes", "loads to LDS", "global loads", "others")
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--case", "attention"], "no case is named attention; there are gemm-256x256x64-nt-bf16-pingpong"),
        (["--runs", "-1"], "--runs is not negative"),
        (["--search"], "--search needs --triton PYTHON"),
    ],
)
def test_bad_options(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    assert message in capsys.readouterr().err


def test_a_compiler_that_fails_or_is_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    chosen = ["--case", "gemm-128x128x64-nt-bf16", "--arch", "gfx950", "--runs", "0", "--triton"]
    assert main([*chosen, str(tmp_path / "python")]) == 2
    assert "No such file" in capsys.readouterr().err
    broken = tmp_path / "broken"
    broken.write_text("#!/bin/sh\necho no memory >&2\nexit 3\n")
    broken.chmod(0o755)
    assert main([*chosen, str(broken)]) == 2
    shown = capsys.readouterr()
    assert shown.err.startswith("error: gemm-128x128x64-nt-bf16 on gfx950: ")
    assert shown.err.endswith("failed (3):\nno memory\n")
    assert shown.out == ""


def test_triton_refuses(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What stands for Triton leaves its reason instead of an object."""
    refusing = tmp_path / "refusing"
    refusing.write_text('#!/bin/sh\necho "ValueError: too many stages" > "$2/gemm-128x128x64-nt-bf16.gfx950.error"\n')
    refusing.chmod(0o755)
    chosen = ["--case", "gemm-128x128x64-nt-bf16", "--arch", "gfx950", "--runs", "0", "--triton"]
    assert main([*chosen, str(refusing)]) == 2
    assert "Triton does not compile gemm-128x128x64-nt-bf16 for gfx950: ValueError: too many" in capsys.readouterr().err
