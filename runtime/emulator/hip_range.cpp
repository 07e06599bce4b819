#include "hip_range.h"

#include <string>

namespace hkc::emu {

std::optional<Allocation> live_allocation(const void* p) {
    const std::optional<Allocation> found = Runtime::get().memory.find(address_of(p));
    return found && !found->freed && found->contains(address_of(p), 1) ? found : std::nullopt;
}

hipError_t check_range(const void* p, size_t bytes, bool must_be_device, const char* what) {
    if (p == nullptr) return finish(hipErrorInvalidValue, std::string(what) + " is a null pointer");
    if (!in_arena(p)) {
        if (!must_be_device) return hipSuccess;
        return finish(hipErrorInvalidValue, std::string(what) + " is not device memory");
    }
    const std::optional<Allocation> allocation = live_allocation(p);
    if (!allocation) return finish(hipErrorInvalidValue, std::string(what) + " is not in a live allocation");
    if (!allocation->contains(address_of(p), bytes)) {
        return finish(hipErrorInvalidValue, std::string(what) + " leaves its allocation of " +
                                                std::to_string(allocation->size) + " bytes: offset " +
                                                std::to_string(address_of(p) - allocation->begin) + ", " +
                                                std::to_string(bytes) + " bytes");
    }
    return hipSuccess;
}

}  // namespace hkc::emu
