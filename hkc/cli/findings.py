"""Printing what checked mode reported."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hkc.runtime.device import Report


def print_findings(reports: Sequence[Report]) -> None:
    """Each report with the user's source line and the instruction, then their number."""
    for report in reports:
        where = f"workgroup {report.workgroup}, wave {report.wave}"
        lane = f", lane {report.lane}" if report.lane >= 0 else ""
        other = report.other.span if report.other else None
        print(f"{report}\n  {report.instruction} at {report.pc:#x}, {where}{lane}")
        if other and other != report.span:
            print(f"  the other side is at {other}")
    print(f"sanitizer: {len(reports) or 'no'} report{'s' * (len(reports) != 1)}")
