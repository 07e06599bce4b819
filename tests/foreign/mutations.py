"""Kernels with one wait or barrier weakened, and what checked mode makes of them.

A mutant that nobody reports must fall under a rule that shows why its wait cannot matter. The rules rest on what the
emulated device counted (:meth:`hkc.runtime.Device.waits`) and on late commit: a load whose wait is missing leaves
nonsense in its registers, so a mutant that computes the same bits in every launch did not need the load earlier.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from hkc.runtime import Device
from hkc.runtime.device import Report
from hkc.runtime.hip import HipError

from .conftest import Runner
from .machine_code import S_NOP, Instruction, instructions, patched

# Fields of s_waitcnt's simm16 (CDNA3 ISA guide, "S_WAITCNT").
FIELDS = {"vmcnt": 0xC00F, "expcnt": 0x0070, "lgkmcnt": 0x0F00}


# What a missing wait or barrier can be reported as; a memory fault or a runaway loop alone does not name the cause.
KINDS = {"register-before-wait", "lds-race", "lds-before-wait", "barrier-mismatch", "uninitialized-register"}
BUDGET = 100_000  # Instructions of a wave: a loop that runs to a counter still being loaded may not end.


@dataclass
class Launch:
    """A launch as a test made it, with its arrays as they were before."""

    code: bytes
    kernel: str
    dynamic_lds: int
    trailing: int
    grid: int | Sequence[int]
    block: int | Sequence[int]
    args: list[Any]

    def run(self, device: Device, code: bytes | None = None) -> Run:
        """Runs it in checked mode, with other machine code if that is given."""
        args = [arg.copy() if isinstance(arg, np.ndarray) else arg for arg in self.args]
        runner = Runner(device, code or self.code, self.kernel, self.dynamic_lds, self.trailing)
        run = Run()
        device.reports()
        device.set_instruction_budget(BUDGET)
        with device.sanitize():
            try:
                _original_call(runner, self.grid, self.block, *args)
                run.outputs = [arg for arg in args if isinstance(arg, np.ndarray)]
            except (HipError, AssertionError) as problem:
                run.failure = str(problem)
        device.set_instruction_budget(0)
        run.reports = device.reports()
        run.waits = {entry.pop("offset"): entry for entry in device.waits()}
        return run


@dataclass
class Run:
    reports: list[Report] = field(default_factory=list)
    outputs: list[npt.NDArray[Any]] = field(default_factory=list)
    failure: str = ""  #: A trap, or bytes behind an array that changed.
    waits: dict[int, dict[str, int]] = field(default_factory=dict)

    @property
    def faulty(self) -> bool:
        return bool(self.reports or self.failure)


_original_call = Runner.__call__


@contextmanager
def recorded() -> Iterator[list[Launch]]:
    """The launches that runners make meanwhile."""
    launches: list[Launch] = []

    def call(self: Runner, grid: int | Sequence[int], block: int | Sequence[int], *args: Any) -> None:
        copies = [arg.copy() if isinstance(arg, np.ndarray) else arg for arg in args]
        launches.append(Launch(self.code, self.name, self.dynamic_lds, self.trailing, grid, block, copies))
        _original_call(self, grid, block, *args)

    Runner.__call__ = call  # type: ignore[method-assign]
    try:
        yield launches
    finally:
        Runner.__call__ = _original_call  # type: ignore[method-assign]


@dataclass(frozen=True)
class Mutation:
    at: Instruction
    what: str  #: "removed", or the field that is at its maximum now.
    word: int

    def __str__(self) -> str:
        kind = "s_barrier" if self.at.is_barrier else f"s_waitcnt {self.at.word & 0xFFFF:#06x}"
        return f"{kind} at +{self.at.offset:#x}: {self.what}"


def mutations(code: bytes, kernel: str) -> Iterator[Mutation]:
    """Every wait and barrier removed, and every wait of several counters with one of them relaxed.

    A field at its maximum waits for nothing; relaxing the only other one is the same as removing the wait.
    """
    for at in instructions(code, kernel):
        if at.is_barrier:
            yield Mutation(at, "removed", S_NOP)
        if not at.is_wait:
            continue
        yield Mutation(at, "removed", S_NOP)
        waiting = [name for name, mask in FIELDS.items() if at.word & mask != mask]
        if len(waiting) > 1:
            for name in waiting:
                yield Mutation(at, name, at.word | FIELDS[name])


def smaller_mutations(code: bytes, kernel: str) -> Iterator[Mutation]:
    """Every wait with one counter a step higher: it lets one more operation be outstanding."""
    for at in instructions(code, kernel):
        if not at.is_wait:
            continue
        for name, mask in FIELDS.items():
            value = _gather(at.word, mask)
            if name != "expcnt" and value < _gather(mask, mask):
                yield Mutation(at, name, at.word & ~mask | _scatter(value + 1, mask))


def _bits(mask: int) -> list[int]:
    return [bit for bit in range(16) if mask >> bit & 1]


def _gather(word: int, mask: int) -> int:
    return sum((word >> bit & 1) << i for i, bit in enumerate(_bits(mask)))


def _scatter(value: int, mask: int) -> int:
    return sum((value >> i & 1) << bit for i, bit in enumerate(_bits(mask)))


class Experiment:
    """One kernel's launches, and verdicts over its mutants."""

    def __init__(self, device: Device, launches: list[Launch]) -> None:
        first = launches[0]
        assert all((launch.code, launch.kernel) == (first.code, first.kernel) for launch in launches)
        self.device, self.launches = device, launches
        self.code, self.kernel = first.code, first.kernel
        self.originals = [launch.run(device) for launch in launches]
        assert not any(run.faulty for run in self.originals)

    def verdict(self, mutation: Mutation) -> str:
        """Either "reported", the rule that excludes the mutant, or "MISSED" with what speaks against it."""
        offset = mutation.at.offset
        reaching = [i for i, run in enumerate(self.originals) if offset in run.waits]
        if not reaching:
            return "not reached by the launches"
        if mutation.what == "expcnt":
            return "expcnt counts nothing without exports and GDS"
        if mutation.at.is_wait and (rule := self._completes_nothing(mutation, reaching)):
            return rule
        code = patched(self.code, mutation.at, mutation.word)
        mutants = []
        for i in reaching:
            run = self.launches[i].run(self.device, code)
            if run.faulty:
                named = any(report.kind in KINDS for report in run.reports)
                return "reported" if named else f"MISSED: {run.failure or run.reports[0]}"
            mutants.append(run)
        for i, run in zip(reaching, mutants, strict=True):
            if not all(map(np.array_equal, run.outputs, self.originals[i].outputs)):
                return "MISSED: another result without a report"
        return self._unreported(mutation, reaching, mutants)

    def _completes_nothing(self, mutation: Mutation, reaching: list[int]) -> str:
        """The rule, if what the mutant waits for less is never outstanding or only stores."""
        total: Counter[str] = Counter()
        for i in reaching:
            total.update(self.originals[i].waits[mutation.at.offset])
        vector = mutation.what in ("removed", "vmcnt")
        scalar_or_lds = mutation.what in ("removed", "lgkmcnt")
        if (vector and total["vector_loads"]) or (scalar_or_lds and total["lds"] + total["scalar"]):
            return ""
        if vector and total["vector_stores"]:
            return "completes global stores only, which no register or LDS byte depends on"
        return "nothing is outstanding that nothing before completed"

    def _unreported(self, mutation: Mutation, reaching: list[int], mutants: list[Run]) -> str:
        if mutation.at.is_barrier:
            return self._needless_barrier()
        takers: set[int] = set()
        for i, mutant in zip(reaching, mutants, strict=True):
            before, after = self.originals[i].waits, mutant.waits
            takers |= {at for at, use in after.items() if _completed(use) > _completed(before.get(at, {}))}
        if takers:
            return "a later wait completes the same, before any use"
        return "the results are not used at all: only the end of the wave completes them"

    def _needless_barrier(self) -> str:
        block = self.launches[0].block
        if int(np.prod(block)) <= 64:
            return "the workgroup is one wave"
        return "waves share no LDS bytes around the barrier"


def _completed(use: dict[str, int]) -> int:
    return sum(use.get(name, 0) for name in ("vector_loads", "lds", "scalar"))


def survey(experiment: Experiment, mutants: Iterable[Mutation]) -> dict[str, list[str]]:
    """The mutants by verdict."""
    verdicts: dict[str, list[str]] = {}
    for mutation in mutants:
        verdicts.setdefault(experiment.verdict(mutation), []).append(str(mutation))
    return verdicts
