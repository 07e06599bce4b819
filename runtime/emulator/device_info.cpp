#include "device_info.h"

namespace hkc::emu {

// Sources: AMD data sheets of MI300X and MI355X (units, clocks, bus), CDNA3 and CDNA4 whitepapers (L2),
// CDNA3 ISA 3.7 and CDNA4 ISA 3.7 (LDS).
const DeviceInfo device_table[device_count] = {
    {
        .arch = Arch::gfx942,
        .name = "AMD Instinct MI300X (emulated by hkc)",
        .gcn_arch_name = "gfx942:sramecc+:xnack-",
        .major = 9,
        .minor = 4,
        .compute_units = 304,
        .clock_khz = 2100000,
        .memory_clock_khz = 1300000,
        .memory_bus_bits = 8192,
        .l2_bytes = 4 << 20,
        .lds_bytes = 65536,
        .lds_granule = 512,
    },
    {
        .arch = Arch::gfx950,
        .name = "AMD Instinct MI355X (emulated by hkc)",
        .gcn_arch_name = "gfx950:sramecc+:xnack-",
        .major = 9,
        .minor = 5,
        .compute_units = 256,
        .clock_khz = 2400000,
        .memory_clock_khz = 2000000,
        .memory_bus_bits = 8192,
        .l2_bytes = 4 << 20,
        .lds_bytes = 163840,
        .lds_granule = 1280,
    },
};

}  // namespace hkc::emu
