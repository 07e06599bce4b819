// What the HIP functions know of a client's pointers.
#pragma once

#include <optional>

#include "hip_state.h"

namespace hkc::emu {

inline uint64_t address_of(const void* p) {
    return reinterpret_cast<uint64_t>(p);
}

inline bool in_arena(const void* p) {
    return Runtime::get().memory.in_arena(address_of(p), 1);
}

/// The live allocation that `p` points into, by value, so that no lock is held while it is used.
std::optional<Allocation> live_allocation(const void* p);

/// Checks one side of a transfer: bytes of the arena must lie in one live allocation; other memory is the host's,
/// which `must_be_device` forbids. `what` is the range's name in the error's detail.
hipError_t check_range(const void* p, size_t bytes, bool must_be_device, const char* what);

}  // namespace hkc::emu
