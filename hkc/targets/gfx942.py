"""MI300X / MI300A (CDNA3)."""

from __future__ import annotations

from hkc.targets.target import MfmaShape, Target, consecutive, grouped

TARGET = Target(
    arch="gfx942",
    product="MI300X",
    wavefront=64,  # CDNA3 ISA 1.1
    xcds=8,  # CDNA3 whitepaper: eight accelerator complex dies in an MI300X
    simds=4,  # CDNA3 whitepaper: a compute unit has four SIMDs
    max_workgroup=1024,  # LLVM AMDGPUUsage: the largest flat workgroup
    lds_bytes=65536,  # CDNA3 ISA 3.7: 64 KB a compute unit
    lds_granule=512,  # CDNA3 ISA 3.7: allocation granularity of 128 dwords
    vgprs_per_lane=512,  # CDNA3 ISA 3.6.4: VGPRs and AGPRs share a file of 512
    vgpr_granule=8,  # LLVM AMDGPUUsage: granulated_workitem_vgpr_count, gfx90a and later
    max_waves_per_simd=8,  # CDNA3 whitepaper
    widest_access=16,  # CDNA3 ISA 9.1: buffer_load_dwordx4
    widest_lds_access=16,  # CDNA3 ISA 11.3: ds_read_b128
    lds_direct_bytes=4,  # CDNA3 ISA 9.1.9: LDS-direct buffer loads move one dword a lane
    lds_transpose_bytes=0,  # CDNA3 ISA 11: no transposing LDS reads
    lane_swaps=(1, 2, 3, 7, 8, 15),  # CDNA3 ISA 12.12.1: DPP quad_perm, row_half_mirror, row_ror:8, row_mirror
    converts_bf16=False,  # CDNA3 ISA 12: no conversion to bf16
    buffer_resource_word3=0x27000,  # CDNA3 ISA 9.1.8: 32-bit data format, raw; what LLVM's own lowering uses
    # Shapes: CDNA3 ISA 7.1; cycles: CDNA3 ISA table 28 (4 cycles a pass).
    mfma=(
        MfmaShape(16, 16, 16, "bf16", "rocdl.mfma.f32.16x16x16bf16.1k", "i16", 16),
        MfmaShape(32, 32, 8, "bf16", "rocdl.mfma.f32.32x32x8bf16.1k", "i16", 32),
        MfmaShape(16, 16, 16, "f16", "rocdl.mfma.f32.16x16x16f16", "f16", 16),
        MfmaShape(32, 32, 8, "f16", "rocdl.mfma.f32.32x32x8f16", "f16", 32),
    ),
    # Lanes served together by width of the access: ROCm composable_kernel docs, lds_bank_conflicts; 32 banks.
    read_phases={
        2: consecutive(32, 32),
        4: consecutive(32, 32),
        8: consecutive(16, 32),
        16: grouped(32, ((0, 3), (20, 23)), ((4, 7), (16, 19)), ((8, 11), (28, 31)), ((12, 15), (24, 27)), repeat=2),
    },
    write_phases={
        2: consecutive(32, 32),
        4: consecutive(32, 32),
        8: consecutive(16, 32),
        16: consecutive(8, 32),
    },
)
