"""A kernel's resources, from its code object's metadata."""

from __future__ import annotations

from hkc.driver.report import Resources
from hkc.errors import HkcError
from hkc.runtime.metadata import read_code_object


def read_resources(hsaco: bytes) -> Resources:
    """The resources of the (first) kernel. Raises HkcError if the code object holds none."""
    kernels = list(read_code_object(hsaco).kernels.values())
    if not kernels:
        raise HkcError("the program defines no kernel", hint="a kernel in LLVM IR is an amdgpu_kernel function")
    kernel = kernels[0]
    return Resources(
        name=kernel.name,
        vgprs=kernel.vgpr_count,
        agprs=kernel.agpr_count,
        sgprs=kernel.sgpr_count,
        vgpr_spills=kernel.vgpr_spills,
        sgpr_spills=kernel.sgpr_spills,
        scratch=kernel.private_segment,
        lds=kernel.group_segment,
        workgroup=kernel.max_flat_workgroup_size,
    )
