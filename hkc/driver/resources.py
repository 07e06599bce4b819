"""A kernel's resources, from the metadata that LLVM wrote."""

from __future__ import annotations

import re

from hkc.driver.report import Resources


def read_resources(hsaco: bytes, assembly: str) -> Resources:
    """The resources of the first kernel."""

    def field(name: str) -> int:
        match = re.search(rf"^\s*(?:- )?\.{name}:\s*(\d+)", assembly, re.M)
        return int(match[1]) if match else 0

    kernel = re.search(r"^\s*\.name:\s*(\S+)\n(?:.*\n)*?\s*\.private_segment", assembly, re.M)
    return Resources(
        kernel[1] if kernel else "kernel",
        field("vgpr_count"),
        field("agpr_count"),
        field("sgpr_count"),
        field("vgpr_spill_count"),
        field("sgpr_spill_count"),
        field("private_segment_fixed_size"),
        field("group_segment_fixed_size"),
        field("max_flat_workgroup_size"),
    )
