#pragma once

#include <cstdint>

namespace hkc::emu {

/// What was executed, in wave-instructions; of a wave, a dispatch or a device.
struct Counters {
    uint64_t instructions = 0, mfma = 0;
    uint64_t lds_reads = 0, lds_writes = 0;
    uint64_t global_loads = 0, global_stores = 0;
    uint64_t barriers = 0;
    uint64_t lds_conflict_cycles =
        0;  ///< Cycles beyond the conflict-free ones; counted in checked mode only.
};

}  // namespace hkc::emu
