"""MI350X / MI355X (CDNA4)."""

from __future__ import annotations

from hkc.targets.target import MfmaShape, Target, consecutive, grouped

TARGET = Target(
    arch="gfx950",
    product="MI355X",
    wavefront=64,  # CDNA4 ISA 1.1
    xcds=8,  # CDNA4 whitepaper: eight accelerator complex dies in an MI355X
    simds=4,  # CDNA4 whitepaper: a compute unit has four SIMDs
    max_workgroup=1024,  # LLVM AMDGPUUsage: the largest flat workgroup
    lds_bytes=163840,  # CDNA4 ISA 3.7: 160 KB a compute unit
    lds_granule=1280,  # CDNA4 ISA 3.7: allocation granularity of 320 dwords
    vgprs_per_lane=512,  # CDNA4 ISA 3.6.4: VGPRs and AGPRs share a file of 512
    vgpr_granule=8,  # LLVM AMDGPUUsage: granulated_workitem_vgpr_count, gfx90a and later
    max_waves_per_simd=8,  # CDNA4 whitepaper
    widest_access=16,  # CDNA4 ISA 9.1: buffer_load_dwordx4
    widest_lds_access=16,  # CDNA4 ISA 11.3: ds_read_b128
    lds_direct_bytes=16,  # CDNA4 ISA 9.1.9: LDS-direct buffer loads of up to 16 bytes a lane
    lds_transpose_bytes=2,  # CDNA4 ISA 11.4: ds_read_b64_tr_b16
    lane_swaps=(
        1,
        2,
        3,
        7,
        8,
        15,
        16,
        32,
    ),  # CDNA4 ISA 12.12.1: DPP quad_perm, row_half_mirror, row_ror:8, row_mirror; permlane16/32 swaps
    converts_bf16=True,  # CDNA4 ISA 12: V_CVT_PK_BF16_F32
    buffer_resource_word3=0x27000,  # CDNA4 ISA 9.1.8: 32-bit data format, raw; what LLVM's own lowering uses
    # Shapes: CDNA4 ISA 7.1; cycles: CDNA4 ISA table 28 (4 cycles a pass).
    mfma=(
        MfmaShape(16, 16, 32, "bf16", "rocdl.mfma.f32.16x16x32.bf16", "bf16", 16),
        MfmaShape(32, 32, 16, "bf16", "rocdl.mfma.f32.32x32x16.bf16", "bf16", 32),
        MfmaShape(16, 16, 16, "bf16", "rocdl.mfma.f32.16x16x16bf16.1k", "i16", 16),
        MfmaShape(32, 32, 8, "bf16", "rocdl.mfma.f32.32x32x8bf16.1k", "i16", 32),
        MfmaShape(16, 16, 32, "f16", "rocdl.mfma.f32.16x16x32.f16", "f16", 16),
        MfmaShape(32, 32, 16, "f16", "rocdl.mfma.f32.32x32x16.f16", "f16", 32),
        MfmaShape(16, 16, 16, "f16", "rocdl.mfma.f32.16x16x16f16", "f16", 16),
        MfmaShape(32, 32, 8, "f16", "rocdl.mfma.f32.32x32x8f16", "f16", 32),
    ),
    # Reads: 256 bytes a clock from 64 banks (CDNA4 whitepaper), 8 and 16 bytes a lane as HipKittens measured them
    # (analysis/paper_experiments/phases). Writes: the same, write_b64, 32 banks.
    read_phases={
        2: consecutive(64, 64),
        4: consecutive(64, 64),
        8: consecutive(32, 64),
        16: grouped(64, ((0, 3), (12, 15), (20, 27)), ((4, 11), (16, 19), (28, 31)), repeat=2),
    },
    write_phases={
        2: consecutive(32, 32),
        4: consecutive(32, 32),
        8: consecutive(16, 32),
        16: consecutive(8, 32),
    },
)
