"""Compile times as a user meets them: a process each, with an empty cache and with a full one."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

from benchmarks.codegen.cases import Case
from benchmarks.codegen.compilers import TRITON_ENVIRONMENT, triton_command


@dataclass(frozen=True)
class Times:
    """Medians in seconds: wall time, and user and system CPU time with that of child processes."""

    cold: float
    cold_cpu: float
    warm: float
    warm_cpu: float


@dataclass(frozen=True)
class Compiler:
    """``command`` gives, for a folder to write to, the process to run; ``cache`` is the variable that names its
    cache folder."""

    command: Callable[[Path], list[str]]
    cache: str
    environment: Mapping[str, str]


def hkc_compiler(case: Case) -> Compiler:
    """``hkc compile``, by the interpreter that runs this."""
    bindings = [part for name, value in case.constants.items() for part in ("-D", f"{name}={value}")]
    start = [sys.executable, "-m", "hkc.cli", "compile", str(case.source), "--arch", case.arch, *bindings]
    return Compiler(lambda folder: [*start, "-o", str(folder / "out.hsaco")], "HKC_CACHE_DIR", {})


def triton_compiler(case: Case, python: str) -> Compiler:
    """Triton, by the interpreter of its environment."""
    return Compiler(
        lambda folder: triton_command(python, folder, [case.triton()]), "TRITON_CACHE_DIR", TRITON_ENVIRONMENT
    )


def time_compilers(compilers: Mapping[str, Compiler], runs: int) -> dict[str, Times]:
    """Times of all compilers by name; their runs alternate, so that what else the machine does hits all alike.

    :raises subprocess.CalledProcessError: if a compile fails.
    """
    for compiler in compilers.values():  # once for the file system's cache and Python's own
        with tempfile.TemporaryDirectory(prefix="hkc-bench-") as cache:
            _run(compiler, cache)
    seconds: dict[str, list[tuple[float, float, float, float]]] = {name: [] for name in compilers}
    for _ in range(runs):
        for name, compiler in compilers.items():
            with tempfile.TemporaryDirectory(prefix="hkc-bench-") as cache:
                cold = _run(compiler, cache)
                seconds[name].append((*cold, *_run(compiler, cache)))
    return {name: Times(*map(statistics.median, zip(*rows, strict=True))) for name, rows in seconds.items()}


def _run(compiler: Compiler, cache: str) -> tuple[float, float]:
    """Wall and CPU seconds of one process."""
    with tempfile.TemporaryDirectory(prefix="hkc-bench-") as folder:
        environment = os.environ | dict(compiler.environment) | {compiler.cache: cache}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)  # pip compiles what it installs; a checkout must do so too
        before, start = os.times(), perf_counter()
        # Warnings are not shown with every run: the table has what they are about.
        subprocess.run(compiler.command(Path(folder)), env=environment, check=True, capture_output=True, text=True)
        wall, after = perf_counter() - start, os.times()
        used = after.children_user + after.children_system - before.children_user - before.children_system
        return wall, used
