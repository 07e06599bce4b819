"""Compiles kernels with Triton, in an environment that has Triton and not hkc: ``triton_compile.py FOLDER JOBS``.

JOBS is a JSON list; a job has ``name``, ``arch``, ``kernel`` (of triton_kernels.py), ``types`` (of the run-time
arguments, in order), ``constants``, ``options`` (Triton's own) and ``pointer_range`` (bits that byte offsets fit in,
0: unknown). Each gives FOLDER/NAME.hsaco and .json, or .error with Triton's reason.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import triton
import triton_kernels
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

_WAVEFRONT = 64
_ALIGNMENT = 16  # pointers and sizes are multiples of it, as Triton's own launcher would find


def _compile(job: dict[str, Any]) -> Any:
    kernel = getattr(triton_kernels, job["kernel"])
    names = [*job["types"], *job["constants"]]
    attributes: dict[tuple[int], list[list[Any]]] = {}
    for name, kind in job["types"].items():
        known = attributes[names.index(name),] = [["tt.divisibility", _ALIGNMENT]]
        if kind.startswith("*") and job["pointer_range"]:
            known.append(["tt.pointer_range", job["pointer_range"]])
    source = ASTSource(
        kernel,
        job["types"] | dict.fromkeys(job["constants"], "constexpr"),
        constexprs={(names.index(name),): value for name, value in job["constants"].items()},
        attrs=attributes,
    )
    return triton.compile(source, target=GPUTarget("hip", job["arch"], _WAVEFRONT), options=job["options"])


def main(folder: Path, jobs: list[dict[str, Any]]) -> None:
    """Compile all jobs into ``folder``."""
    for job in jobs:
        try:
            made = _compile(job)
        except Exception as problem:  # Triton's errors have no common type; each is shown with its job
            (folder / f"{job['name']}.error").write_text(f"{type(problem).__name__}: {problem}")
            continue
        (folder / f"{job['name']}.hsaco").write_bytes(made.asm["hsaco"])
        info = {"kernel": made.metadata.name, "waves": made.metadata.num_warps, "lds": made.metadata.shared}
        (folder / f"{job['name']}.json").write_text(json.dumps(info | {"version": triton.__version__}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), json.loads(sys.argv[2]))
