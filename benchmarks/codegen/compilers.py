"""Code objects of both compilers, and how each is launched on the emulated device."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import numpy as np

import hkc as hk
from benchmarks.codegen.cases import Case, Problem, TritonJob
from hkc.driver.compiled import CompiledKernel
from hkc.runtime import Device

TRITON_SCRIPT = Path(__file__).with_name("triton_compile.py")
# Triton 3.9 warns unless it is told; this is its default. What pip installs is compiled, so a checkout is too.
TRITON_ENVIRONMENT = {"TRITON_DEFAULT_FP_FUSION": "1"}
_WAVEFRONT = 64


class Made(Protocol):
    """A compiled kernel."""

    @property
    def code(self) -> bytes: ...

    @property
    def dynamic_lds(self) -> int: ...

    def launch(self, device: Device, problem: Problem) -> None:
        """Run it once; the problem's output array holds the result."""


@dataclass(frozen=True)
class HkcMade:
    """Compiled by hkc, through its Python interface."""

    case: Case
    dynamic_lds: int = 0

    @cached_property
    def _compiled(self) -> CompiledKernel:
        return hk.compile(self.case.source, arch=self.case.arch, **self.case.constants)

    @property
    def code(self) -> bytes:
        return self._compiled.hsaco

    def launch(self, device: Device, problem: Problem) -> None:
        kernel = hk.load(self.case.source)
        kernel(*problem.hkc_arguments(), device=f"emulator:{device.arch}", **self.case.constants)


@dataclass(frozen=True)
class TritonMade:
    """Compiled by Triton; ``waves`` and ``dynamic_lds`` (bytes) are what a launch must pass."""

    code: bytes
    kernel: str
    waves: int
    dynamic_lds: int
    version: str

    def launch(self, device: Device, problem: Problem) -> None:
        with ExitStack() as stack:
            module = stack.enter_context(device.load(self.code))
            arguments = list(problem.triton_arguments())
            buffers = []
            for number, value in enumerate(arguments):
                if isinstance(value, np.ndarray):
                    arguments[number] = stack.enter_context(device.alloc(value.nbytes)).write(value)
                    buffers.append((value, arguments[number]))
            # Triton appends two pointers to scratch memory, which these kernels do not use.
            function = module.function(self.kernel)
            function.launch(problem.grid, _WAVEFRONT * self.waves, [*arguments, None, None], self.dynamic_lds)
            device.synchronize()
            for array, buffer in buffers:
                buffer.read_into(array)


def triton_command(python: str, folder: Path, jobs: Sequence[TritonJob]) -> list[str]:
    """The command that compiles the jobs into ``folder``."""
    return [python, str(TRITON_SCRIPT), str(folder), json.dumps([job.to_json() for job in jobs])]


def compile_triton(python: str, jobs: Sequence[TritonJob]) -> Iterator[TritonMade | str]:
    """What Triton makes of each job: an object, or its reason why not."""
    with tempfile.TemporaryDirectory(prefix="hkc-bench-") as folder:
        environment = os.environ | TRITON_ENVIRONMENT | {"TRITON_CACHE_DIR": f"{folder}/cache"}
        subprocess.run(
            triton_command(python, Path(folder), jobs), env=environment, check=True, capture_output=True, text=True
        )
        for job in jobs:
            error = Path(folder, f"{job.name}.error")
            if error.exists():
                yield error.read_text()
                continue
            info: dict[str, Any] = json.loads(Path(folder, f"{job.name}.json").read_text())
            code = Path(folder, f"{job.name}.hsaco").read_bytes()
            yield TritonMade(code, info["kernel"], info["waves"], info["lds"], info["version"])
