"""Fuzzes the emulated device under sanitizers: ``python -m tests.fuzz [--seconds 600] [--seed 0]``.

Builds the library with AddressSanitizer and UndefinedBehaviorSanitizer in ``build/fuzz`` and runs cases in child
processes until the time is up. Exit code 1 if one crashed, hung, or was caught by a sanitizer; how to run it again is
printed, and the search goes on behind it.
"""

from __future__ import annotations

import argparse
import os
import secrets
import shutil
import subprocess
import sys
import time
from pathlib import Path

from .run import Outcome, run_child

ROOT = Path(__file__).parent.parent.parent
_CHUNK = 100_000  # cases of one child at most
_CHUNK_SECONDS = 60.0


def build(folder: Path, jobs: int) -> Path:
    """The sanitized library, made with CMake and the system's compiler."""
    configure = ["cmake", "-S", str(ROOT), "-B", str(folder), "-DHKC_SANITIZE=address,undefined"]
    subprocess.run([*configure, "-DCMAKE_BUILD_TYPE=Release"], check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["cmake", "--build", str(folder), "-j", str(jobs)], check=True, stdout=subprocess.DEVNULL)
    return folder / "libhkc_emulator.so"


def sanitizer_environment() -> dict[str, str]:
    """The sanitizers' run time must be in the process before Python; what Python leaks is no finding."""
    names = ("libasan.so", "libubsan.so")
    found = [
        subprocess.run(["g++", f"-print-file-name={n}"], capture_output=True, text=True, check=True) for n in names
    ]
    return {
        "LD_PRELOAD": " ".join(done.stdout.strip() for done in found),
        "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1:handle_segv=1",
        "UBSAN_OPTIONS": "print_stacktrace=1",
    }


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.fuzz", description=__doc__.splitlines()[0] if __doc__ else ""
    )
    parser.add_argument("--seconds", type=float, default=600, help="how long (default 600)")
    parser.add_argument("--seed", type=int, default=None, help="of the cases (default: random)")
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    parser.add_argument("--count", type=int, default=sys.maxsize, help="how many cases")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="of the build")
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "fuzz", help="folder of the sanitized library")
    options = parser.parse_args()
    for program in ("cmake", "g++"):
        if shutil.which(program) is None:
            parser.error(f"{program} is not installed; the sanitized library is built with it")
    seed = secrets.randbelow(1 << 32) if options.seed is None else options.seed
    library = build(options.build, options.jobs)
    print(f"fuzzing for {options.seconds:g} s, seed {seed}", flush=True)
    end = time.monotonic() + options.seconds
    number, last, totals, findings = options.first, options.first + options.count, dict[str, int](), 0
    while number < last and (left := end - time.monotonic()) > 0:
        count = min(_CHUNK, last - number)
        outcome = run_child(library, seed, number, min(left, _CHUNK_SECONDS), count, sanitizer_environment())
        number += outcome.ran
        for what, times in outcome.results.items():
            totals[what] = totals.get(what, 0) + times
        if outcome.problem:
            findings += 1
            _print_finding(outcome, seed, number - 1)
    for what, times in sorted(totals.items()):
        print(f"{times:9} {what}")
    print(f"{number - options.first} cases, {findings} findings")
    return 1 if findings else 0


def _print_finding(outcome: Outcome, seed: int, number: int) -> None:
    print(f"\ncase {number}: {outcome.problem}\n{outcome.text}")
    print(f"again: python -m tests.fuzz --seed {seed} --first {number} --count 1\n", flush=True)


if __name__ == "__main__":
    sys.exit(main())
