"""What is compared: a registry of cases, each a kernel of both compilers with its sizes and its input data."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

import hkc as hk
from benchmarks import GEMM
from hkc.numerics import encode

ARCHES = ("gfx942", "gfx950")
_POINTER_RANGE = 32  # bits: tensors below 2 GiB, which lets Triton use buffer addressing without checks
Array = npt.NDArray[Any]


@dataclass(frozen=True)
class TritonJob:
    """One compile by Triton: see triton_compile.py, which takes it as JSON."""

    name: str
    arch: str
    kernel: str
    types: dict[str, str]
    constants: dict[str, Any]
    options: dict[str, Any]
    pointer_range: int

    def to_json(self) -> dict[str, Any]:
        """Plain data for ``json.dumps``."""
        return asdict(self)

    def chosen(self) -> str:
        """The options as text, for the table's legend."""
        options = [f"{name}={value}" for name, value in self.options.items()]
        return ", ".join([*options, f"pointer_range={self.pointer_range}"] if self.pointer_range else options)


class Problem(Protocol):
    """Input data and the exact result of one launch."""

    @property
    def grid(self) -> tuple[int, ...]: ...

    def hkc_arguments(self) -> Sequence[Any]:
        """What hkc's kernel is called with."""

    def triton_arguments(self) -> Sequence[Any]:
        """What Triton's kernel is launched with: arrays and ints."""

    def check(self) -> None:
        """Raise ValueError if the result in the output array is wrong."""


class Case(Protocol):
    """A kernel and its sizes on one target.

    ``source`` and ``constants`` are hkc's program and its ``-D`` bindings. ``work`` is the number of multiply-adds by
    MFMA that one workgroup has in one step, by which loops of different unrolling compare; 0 if there are none: then
    an iteration counts as a step.
    """

    @property
    def name(self) -> str: ...

    @property
    def arch(self) -> str: ...

    @property
    def source(self) -> Path: ...

    @property
    def constants(self) -> dict[str, Any]: ...

    @property
    def work(self) -> int: ...

    def triton(self) -> TritonJob:
        """The job with the options that serve Triton best."""

    def candidates(self) -> Iterator[TritonJob]:
        """Jobs with all options worth a try."""

    def problem(self, steps: int) -> Problem:
        """Data for one workgroup that takes so many steps."""


@dataclass(frozen=True)
class GemmCase:
    """C = A.B (nn) or A.B^T (nt): ``tile`` is BM x BN x BK."""

    name: str
    arch: str
    tile: tuple[int, int, int]
    dtype: str
    trans: str
    schedule: str | None
    waves: int

    @property
    def source(self) -> Path:
        return GEMM

    @property
    def constants(self) -> dict[str, Any]:
        bound = dict(zip(("BM", "BN", "BK"), self.tile, strict=True)) | {"DTYPE": self.dtype, "TRANS": self.trans}
        return bound | ({"SCHEDULE": self.schedule} if self.schedule else {})

    @property
    def work(self) -> int:
        m, n, k = self.tile
        return m * n * k

    def triton(self) -> TritonJob:
        options, pointer_range = TRITON_GEMM[self.arch, self.tile, self.waves, self.trans]
        return self._job({"num_warps": self.waves, **options}, pointer_range)

    def candidates(self) -> Iterator[TritonJob]:
        kpacks = (1, 2) if self.arch == "gfx942" else (1,)  # Triton ignores it on gfx950
        for stages, shape, kpack, waves, bits in product((2, 3), (16, 32), kpacks, (0, 2), (0, _POINTER_RANGE)):
            options = {"num_stages": stages, "matrix_instr_nonkdim": shape, "kpack": kpack, "waves_per_eu": waves}
            yield self._job({"num_warps": self.waves, **options}, bits)

    def _job(self, options: dict[str, Any], pointer_range: int) -> TritonJob:
        m, n, k = self.tile
        numbers = ("M", "N", "K", "a_pitch", "b_pitch", "c_pitch")
        return TritonJob(
            f"{self.name}.{self.arch}",
            self.arch,
            "gemm",
            {name: {"bf16": "*bf16", "f16": "*fp16"}[self.dtype] for name in "ABC"} | dict.fromkeys(numbers, "i32"),
            {"BM": m, "BN": n, "BK": k, "B_TRANSPOSED": self.trans == "nt", "EVEN_K": True},
            options,
            pointer_range,
        )

    def problem(self, steps: int) -> GemmProblem:
        m, n, k = self.tile
        return GemmProblem(m, n, k * steps, self.dtype, self.trans == "nt")


class GemmProblem:
    """Small whole numbers, so that every sum is exact and each C is one rounding away from it."""

    grid = (1, 1)

    def __init__(self, m: int, n: int, k: int, dtype: str, transposed: bool) -> None:
        rng = np.random.default_rng([m, n, k])
        a, b = (rng.integers(-2, 3, shape).astype(np.float64) for shape in ((m, k), (k, n)))
        self.dtype = getattr(hk, dtype)
        self.size = m, n, k
        self.a = encode(a, self.dtype)
        self.b = encode(np.ascontiguousarray(b.T) if transposed else b, self.dtype)
        self.c = np.zeros((m, n), np.uint16)
        self.expected = encode(a @ b, self.dtype)

    def hkc_arguments(self) -> list[Any]:
        return [hk.array(x, self.dtype) for x in (self.a, self.b, self.c)]

    def triton_arguments(self) -> list[Any]:
        return [self.a, self.b, self.c, *self.size, *(x.shape[1] for x in (self.a, self.b, self.c))]

    def check(self) -> None:
        if not np.array_equal(self.c.view(np.uint16), self.expected.view(np.uint16)):
            wrong = int(np.count_nonzero(self.c.view(np.uint16) != self.expected.view(np.uint16)))
            raise ValueError(f"{wrong} of {self.c.size} elements of C are wrong")


_SHAPE16 = {"num_stages": 2, "matrix_instr_nonkdim": 16}
# The best of GemmCase.candidates() by search.py's order, which `--search` prints: what fits the target's LDS, spills
# least and keeps loads in flight longest, then has the fewest other instructions.
TRITON_GEMM: dict[tuple[str, tuple[int, int, int], int, str], tuple[dict[str, int], int]] = {
    ("gfx942", (256, 256, 64), 8, "nt"): (_SHAPE16, 0),
    ("gfx942", (256, 256, 64), 8, "nn"): (_SHAPE16, 0),
    ("gfx942", (128, 128, 64), 4, "nt"): (_SHAPE16, 0),
    ("gfx942", (128, 128, 64), 4, "nn"): (_SHAPE16 | {"kpack": 2}, 0),
    ("gfx950", (256, 256, 64), 8, "nt"): (_SHAPE16, _POINTER_RANGE),
    ("gfx950", (256, 256, 64), 8, "nn"): (_SHAPE16 | {"waves_per_eu": 2}, _POINTER_RANGE),
    ("gfx950", (256, 256, 64), 4, "nt"): (_SHAPE16, 0),
    ("gfx950", (128, 128, 64), 4, "nt"): ({"num_stages": 3, "matrix_instr_nonkdim": 32}, _POINTER_RANGE),
    ("gfx950", (128, 128, 64), 4, "nn"): ({"num_stages": 2, "matrix_instr_nonkdim": 32, "waves_per_eu": 2}, 0),
}

# Tile, schedule (None: the default) and its wavefronts, transpositions, targets.
_GEMMS: tuple[tuple[tuple[int, int, int], str | None, int, tuple[str, ...], tuple[str, ...]], ...] = (
    ((256, 256, 64), "pingpong", 8, ("nt", "nn"), ARCHES),
    ((256, 256, 64), "interleave", 4, ("nt",), ("gfx950",)),
    ((128, 128, 64), None, 4, ("nt", "nn"), ARCHES),
)


def gemm_cases(schedules: Collection[str]) -> Iterator[GemmCase]:
    """256x256x64 and 128x128x64 in both types, as far as hkc has the schedule among ``schedules``."""
    for tile, schedule, waves, transpositions, arches in _GEMMS:
        if schedule is not None and schedule not in schedules:
            continue
        for trans, dtype, arch in product(transpositions, ("bf16", "f16"), arches):
            name = "-".join(["gemm", "x".join(map(str, tile)), trans, dtype, *([schedule] if schedule else [])])
            yield GemmCase(name, arch, tile, dtype, trans, schedule, waves)


def all_cases() -> list[Case]:
    """The registry: a new kernel adds its cases here."""
    from hkc.passes.schedules import SCHEDULES

    return [*gemm_cases(SCHEDULES)]


def numbered(jobs: Sequence[TritonJob]) -> list[TritonJob]:
    """The jobs under names that tell them apart."""
    return [replace(job, name=f"{job.name}.{number}") for number, job in enumerate(jobs)]
