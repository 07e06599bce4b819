"""A sample of the fuzzer's cases, without sanitizers: none ends the process. ``make fuzz`` runs them by the million."""

from __future__ import annotations

from pathlib import Path

import pytest

from hkc.runtime.hip import emulator

from .cases import case
from .run import run_child


@pytest.mark.parametrize("seed", [1, 2])
def test_a_sample_of_cases(seed: int) -> None:
    outcome = run_child(Path(emulator().path), seed, 0, 60, 400)
    assert not outcome.problem, f"case {outcome.ran - 1} of seed {seed}: {outcome.problem}\n{outcome.text}"
    assert outcome.ran == 400
    ended = {what.partition(": ")[2] for what in outcome.results}
    assert ended >= {"refused", "ran", "trapped", "faulted", "not launched"}, outcome.results


def test_a_case_can_be_run_again() -> None:
    assert case(5, 17) == case(5, 17)
    assert case(5, 17) != case(5, 18)
