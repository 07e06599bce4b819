"""What an object does on the emulated device: the right result, and LDS bank conflicts by its counters."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.codegen.cases import Case
from benchmarks.codegen.compilers import Made
from hkc.runtime import open_device

# The difference of two launches leaves the main loop: its start and end are in both. Even, for loops unrolled by two.
_STEPS = (8, 16)


@dataclass(frozen=True)
class Dynamics:
    """By the emulated device's counters, of the main loop, a wave and step.

    ``conflict_cycles`` are LDS cycles beyond the conflict-free ones, ``lds_instructions`` reads and writes.
    """

    instructions: float
    lds_instructions: float
    conflict_cycles: float


def emulate(case: Case, made: Made, waves: int) -> Dynamics:
    """Run a workgroup in checked mode, twice, with different numbers of steps.

    :raises ValueError: if a result is wrong, or checked mode has something to report.
    """
    device = open_device(f"emulator:{case.arch}")
    counters = []
    with device.sanitize():
        for steps in _STEPS:
            problem = case.problem(steps)
            device.counters()
            device.reports()
            made.launch(device, problem)
            counters.append(device.counters())
            if reports := device.reports():
                raise ValueError(f"{case.name} on {case.arch}: {reports[0]}")
            problem.check()
    few, many = counters
    shares = (_STEPS[1] - _STEPS[0]) * waves
    difference = {name: (many[name] - few[name]) / shares for name in many}
    return Dynamics(
        difference["instructions"],
        difference["lds_reads"] + difference["lds_writes"],
        difference["lds_conflict_cycles"],
    )
