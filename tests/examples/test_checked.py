"""The examples, run as programs, give checked mode nothing to report."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

from hkc.runtime import open_device

from .conftest import EXAMPLES


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.py")), ids=lambda path: path.stem)
def test_example_in_checked_mode(path: Path, arch: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HKC_DEVICE", f"emulator:{arch}")
    device = open_device()
    device.reports()
    device.counters()
    with device.sanitize():
        runpy.run_path(str(path), run_name="__main__")
    assert device.counters()["launches"] > 0
    assert [str(report) for report in device.reports()] == []
