"""Starts a child that runs cases, and says how it ended."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

_ROOT = Path(__file__).parent.parent.parent
_HANG_SECONDS = 120.0  # beyond the child's own time
_TEXT = 6000  # characters of a sanitizer's report that are shown


@dataclass
class Outcome:
    """``ran``: cases started; ``problem``: empty, or why the child did not end by itself, and its last words."""

    ran: int
    problem: str = ""
    text: str = ""
    results: dict[str, int] = field(default_factory=dict)


def run_child(
    library: Path, seed: int, first: int, seconds: float, count: int, environment: dict[str, str] | None = None
) -> Outcome:
    """Runs cases ``first`` ... until time or count are up, or one of them ends the child."""
    command = [sys.executable, "-m", "tests.fuzz.child", str(library), str(seed), str(first), str(seconds), str(count)]
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+", errors="replace") as errors:
        child = subprocess.Popen(
            command, cwd=_ROOT, env=os.environ | (environment or {}), stdout=out, stderr=errors, text=True
        )
        try:
            code: int | None = child.wait(seconds + _HANG_SECONDS)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
            code = None
        out.seek(0)
        errors.seek(0)
        lines, text = out.read().splitlines(), errors.read()
    ran = sum(line.startswith("case ") for line in lines)
    results = {m[2]: int(m[1]) for line in lines if (m := re.fullmatch(r" *(\d+) (.*: .*)", line))}
    if code == 0 and lines and lines[-1].startswith("done "):
        return Outcome(ran, results=results)
    problem = f"no end within {_HANG_SECONDS:g} s" if code is None else f"the process ended with {code}"
    return Outcome(ran, problem, text[:_TEXT])
