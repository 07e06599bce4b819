// FLAT accesses some of whose lanes go to LDS or scratch: slower than those that all go to global memory.
#pragma once

#include "vector_memory.h"

namespace hkc::emu {

/// Upper 16 bits of flat addresses in LDS and in scratch, as s_mov_b64 of src_shared_base and src_private_base gives them.
inline constexpr uint64_t lds_aperture = 1, scratch_aperture = 2;
inline constexpr unsigned aperture_at = 48;

bool in_apertures(const LaneAddresses& a);

template <Mode mode>
void load_mixed(Wave& wave, const Instruction& in, const LaneAddresses& a);
template <Mode mode>
void store_mixed(Wave& wave, const Instruction& in, const LaneAddresses& a);
template <Mode mode>
void atomic_mixed(Wave& wave, const Instruction& in, const LaneAddresses& a);

}  // namespace hkc::emu
