"""Which options serve Triton best: all candidates of a case, best first."""

from __future__ import annotations

from typing import NamedTuple

from benchmarks.codegen.cases import Case, TritonJob, numbered
from benchmarks.codegen.compilers import compile_triton
from benchmarks.codegen.measure import Statics, measure
from hkc.targets import get_target


class Rank(NamedTuple):
    """Less is better, field by field: over the LDS limit, spilled registers, loads waited for at once (before half a
    step's MFMAs), and other instructions a step."""

    over_lds: bool
    spills: int
    waits_at_once: bool
    others: float


def rank(statics: Statics, arch: str) -> Rank:
    """How good an object is for its case."""
    used = statics.resources
    covered = statics.mfma_before_wait is None or 2 * statics.mfma_before_wait >= statics.core["MFMA"]
    return Rank(
        statics.lds > get_target(arch).lds_bytes,
        used.vgpr_spills + used.sgpr_spills,
        not covered,
        sum(statics.others.values()),
    )


def search(python: str, case: Case) -> list[tuple[Rank, TritonJob]]:
    """The candidates that compile, best first; of equals the first candidate."""
    jobs = numbered(list(case.candidates()))
    found = []
    for job, made in zip(jobs, compile_triton(python, jobs), strict=True):
        if not isinstance(made, str):
            found.append((rank(measure(made.code, case.work, made.dynamic_lds), case.arch), job))
    return sorted(found, key=lambda item: item[0])
