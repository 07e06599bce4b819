"""How long `hkc compile` takes as a process, with an empty cache and from it, beside `import torch`."""

from __future__ import annotations

import importlib.util
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from time import perf_counter

from benchmarks import GEMM

_PAIRS = 5


def _seconds(command: list[str], environment: Mapping[str, str]) -> float:
    start = perf_counter()
    subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)
    return perf_counter() - start


def _compile(cache: str) -> float:
    with tempfile.TemporaryDirectory(prefix="hkc-bench-") as folder:
        command = [
            sys.executable,
            "-m",
            "hkc.cli",
            "compile",
            str(GEMM),
            "--arch",
            "gfx950",
            "-o",
            f"{folder}/gemm.hsaco",
        ]
        environment = os.environ | {"HKC_CACHE_DIR": cache}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)  # pip compiles what it installs; a checkout must do so too
        return _seconds(command, environment)


def _cold() -> float:
    with tempfile.TemporaryDirectory(prefix="hkc-bench-") as cache:
        return _compile(cache)


def run() -> None:
    """Print medians of interleaved runs; the first pair only warms the file system."""
    torch = [sys.executable, "-c", "import torch"] if importlib.util.find_spec("torch") else None
    cold, imports = [], []
    for _ in range(_PAIRS + 1):
        cold.append(_cold())
        if torch is not None:
            imports.append(_seconds(torch, os.environ))
    with tempfile.TemporaryDirectory(prefix="hkc-bench-") as cache:
        _compile(cache)
        cached = [_compile(cache) for _ in range(_PAIRS)]
    compiled = statistics.median(cold[1:])
    print(f"compile the 128x128x64 bf16 GEMM, a process each, median of {_PAIRS}:")
    print(f"  cold             {compiled:6.2f} s")
    print(f"  from the cache   {statistics.median(cached):6.2f} s")
    if torch is None:
        print("  import torch     not installed")
        return
    imported = statistics.median(imports[1:])
    print(f"  import torch     {imported:6.2f} s   cold compile / import torch = {compiled / imported:.2f}")
