// What the emulated devices tell about themselves.
#pragma once

#include <cstdint>

#include "code_object.h"

namespace hkc::emu {

struct DeviceInfo {
    Arch arch;
    const char* name;  ///< Marketing name, marked as emulated.
    const char* gcn_arch_name;  ///< With the target features that code objects are matched against.
    int major, minor;
    int compute_units;
    int clock_khz, memory_clock_khz;
    int memory_bus_bits;
    int l2_bytes;  ///< Of one accelerator die, as HIP reports it.
    uint32_t lds_bytes;  ///< Of a compute unit, and the most one workgroup may have.
    uint32_t lds_granule;  ///< LDS is allocated in multiples of this.
};

constexpr int device_count = 2;
extern const DeviceInfo device_table[device_count];

// The same on both targets.
constexpr int wavefront_size = 64;
constexpr int simds_per_cu = 4;  // CDNA3 whitepaper: a compute unit has four SIMDs
constexpr int max_waves_per_simd = 8;  // CDNA3 whitepaper
constexpr int vgprs_per_lane = 512;  // CDNA3 ISA 3.6.4: VGPRs and AGPRs together
constexpr int vgpr_granule = 8;  // LLVM AMDGPUUsage: granulated_workitem_vgpr_count, gfx90a and later
constexpr int sgprs_per_simd = 800;  // CDNA3 ISA 3.6.2, LLVM AMDGPUBaseInfo: GFX8 and later
constexpr int sgpr_granule = 16;  // CDNA3 ISA 3.6.2
constexpr int max_workgroup = 1024;  // LLVM AMDGPUUsage: the largest flat workgroup
constexpr int max_workgroups_per_cu = 32;  // ROCm documentation, hardware specifications: MI300 series
// LLVM AMDGPU, GCNSubtarget::getMaxWaveScratchSize: 8191 units of 1 KB a wave, a 64th of it for each work-item.
constexpr uint32_t max_private_bytes = 8191 * 1024 / wavefront_size;
constexpr int wall_clock_khz = 100000;  // CDNA3 ISA 4.4: S_MEMREALTIME counts at 100 MHz
constexpr int pci_bus_base = 1;

}  // namespace hkc::emu
