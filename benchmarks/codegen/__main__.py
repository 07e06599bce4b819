"""``python -m benchmarks.codegen``: see ``--help``."""

from __future__ import annotations

import argparse
import json
import shlex
import subprocess
import sys
from collections.abc import Iterator, Sequence
from fnmatch import fnmatch

from benchmarks.codegen.cases import ARCHES, Case, all_cases
from benchmarks.codegen.compilers import HkcMade, Made, TritonMade, compile_triton
from benchmarks.codegen.emulate import emulate
from benchmarks.codegen.measure import measure
from benchmarks.codegen.search import search
from benchmarks.codegen.table import Line, text, to_json
from benchmarks.codegen.timing import Compiler, hkc_compiler, time_compilers, triton_compiler
from hkc.cli.progress import progress
from hkc.errors import HkcError


class _Failure(Exception):
    """Why there are no results for a case."""


def _arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.codegen",
        description="Generated code of hkc, and of Triton where it is installed, in one table.",
        allow_abbrev=False,
    )
    parser.add_argument("--triton", metavar="PYTHON", help="an interpreter that has Triton (default: hkc alone)")
    parser.add_argument("--case", metavar="PATTERN", default="*", help="cases to take, for example '*-nt-bf16'")
    parser.add_argument("--arch", choices=ARCHES, help="one target (default: both)")
    parser.add_argument("--runs", type=int, default=3, help="runs of each compiler for its times; 0: no times")
    parser.add_argument("--json", action="store_true", help="print JSON, and nothing else")
    parser.add_argument("--search", action="store_true", help="print the options of Triton, best first, and stop")
    options = parser.parse_args(arguments)
    cases = all_cases()
    options.cases = [c for c in cases if fnmatch(c.name, options.case) and options.arch in (None, c.arch)]
    if not options.cases:
        parser.error(f"no case is named {options.case}; there are {', '.join(dict.fromkeys(c.name for c in cases))}")
    if options.runs < 0:
        parser.error("--runs is not negative")
    if options.search and not options.triton:
        parser.error("--search needs --triton PYTHON")
    return options


def _lines(case: Case, triton: str | None, runs: int) -> Iterator[Line]:
    made: dict[str, tuple[str, Made]] = {"hkc": (_bindings(case), HkcMade(case))}
    compilers: dict[str, Compiler] = {"hkc": hkc_compiler(case)}
    if triton is not None:
        (result,) = compile_triton(triton, [case.triton()])
        if not isinstance(result, TritonMade):
            raise ValueError(f"Triton does not compile {case.name} for {case.arch}: {result}")
        made["Triton"] = f"{result.version}, {case.triton().chosen()}", result
        compilers["Triton"] = triton_compiler(case, triton)
    times = time_compilers(compilers, runs) if runs else {}
    for name, (options, compiled) in made.items():
        statics = measure(compiled.code, case.work, compiled.dynamic_lds)
        yield Line(case, name, options, statics, emulate(case, compiled, statics.waves), times.get(name))


def _bindings(case: Case) -> str:
    return ", ".join(f"{name}={value}" for name, value in case.constants.items())


def _measure(case: Case, options: argparse.Namespace) -> list[Line]:
    """One case's lines; none with ``--search``, which prints as it goes.

    :raises _Failure: if a compiler or a run fails.
    """
    try:
        if not options.search:
            return list(_lines(case, options.triton, options.runs))
        print(f"{case.name} {case.arch}")
        for rank, job in search(options.triton, case):
            print(f"  {rank}: {job.chosen()}")
        return []
    except subprocess.CalledProcessError as problem:
        said = f":\n{problem.stderr.rstrip()}" if problem.stderr else ""
        raise _Failure(f"{shlex.join(problem.cmd)} failed ({problem.returncode}){said}") from None
    except (HkcError, ValueError, OSError) as problem:
        raise _Failure(str(problem)) from None


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure the chosen cases and print them; exit code 2 if a compiler or a run of any case fails."""
    options = _arguments(arguments)
    lines: list[Line] = []
    code = 0
    with progress("measuring") as state:
        for number, case in enumerate(options.cases):
            state.text = f"measuring {case.name} on {case.arch}"
            state.update(number, len(options.cases))
            try:
                lines += _measure(case, options)
            except _Failure as failure:
                print(f"error: {case.name} on {case.arch}: {failure}", file=sys.stderr)
                code = 2
    if options.json and not options.search:
        print(json.dumps(to_json(lines), indent=2))
    elif lines:
        print(text(lines))
    return code


if __name__ == "__main__":
    sys.exit(main())
