// What a pointer points to.
#include <cstring>

#include "hip_range.h"

using namespace hkc::emu;

namespace {

hipMemoryType memory_type(const Allocation& allocation) {
    if (allocation.managed) return hipMemoryTypeManaged;
    return allocation.owner == MemoryMap::host_owner ? hipMemoryTypeHost : hipMemoryTypeDevice;
}

int device_of(const Allocation& allocation) {
    return allocation.owner == MemoryMap::host_owner ? current_device() : allocation.owner;
}

bool host_reaches(const Allocation& allocation) {
    return allocation.managed || allocation.owner == MemoryMap::host_owner;
}

template <typename T>
hipError_t give(void* data, T value) {
    std::memcpy(data, &value, sizeof value);
    return hipSuccess;
}

hipError_t get_attribute(void* data, hipPointer_attribute attribute, const void* p,
                         const Allocation& allocation) {
    switch (attribute) {
        case HIP_POINTER_ATTRIBUTE_CONTEXT:
            return give(data, context_of(device_of(allocation)));
        case HIP_POINTER_ATTRIBUTE_MEMORY_TYPE:
            return give(data, static_cast<unsigned>(memory_type(allocation)));
        case HIP_POINTER_ATTRIBUTE_DEVICE_POINTER:
            return give(data, p);
        case HIP_POINTER_ATTRIBUTE_HOST_POINTER:
            if (!host_reaches(allocation))
                return finish(hipErrorInvalidValue, "the host has no pointer to it");
            return give(data, p);
        case HIP_POINTER_ATTRIBUTE_SYNC_MEMOPS:
        case HIP_POINTER_ATTRIBUTE_MAPPED:
            return give(data, true);
        case HIP_POINTER_ATTRIBUTE_BUFFER_ID:
            return give(data, allocation.id);
        case HIP_POINTER_ATTRIBUTE_IS_MANAGED:
            return give(data, allocation.managed);
        case HIP_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
            return give(data, device_of(allocation));
        case HIP_POINTER_ATTRIBUTE_IS_LEGACY_HIP_IPC_CAPABLE:
            return give(data, false);
        case HIP_POINTER_ATTRIBUTE_RANGE_START_ADDR:
            return give(data, allocation.begin);
        case HIP_POINTER_ATTRIBUTE_RANGE_SIZE:
            return give(data, allocation.size);
        case HIP_POINTER_ATTRIBUTE_ACCESS_FLAGS:
            return give(data, 3u);  // reading and writing
    }
    return finish(hipErrorInvalidValue, "the emulated device does not have this pointer attribute");
}

/// hipDrvPointerGetAttributes answers for any pointer: what is not known of one is zero.
hipError_t zero_attribute(void* data, hipPointer_attribute attribute) {
    switch (attribute) {
        case HIP_POINTER_ATTRIBUTE_MEMORY_TYPE:
        case HIP_POINTER_ATTRIBUTE_ACCESS_FLAGS:
            return give(data, 0u);
        case HIP_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
            return give(data, hip_invalid_device);
        case HIP_POINTER_ATTRIBUTE_SYNC_MEMOPS:
        case HIP_POINTER_ATTRIBUTE_MAPPED:
        case HIP_POINTER_ATTRIBUTE_IS_MANAGED:
        case HIP_POINTER_ATTRIBUTE_IS_LEGACY_HIP_IPC_CAPABLE:
            return give(data, false);
        case HIP_POINTER_ATTRIBUTE_CONTEXT:
        case HIP_POINTER_ATTRIBUTE_DEVICE_POINTER:
        case HIP_POINTER_ATTRIBUTE_HOST_POINTER:
        case HIP_POINTER_ATTRIBUTE_BUFFER_ID:
        case HIP_POINTER_ATTRIBUTE_RANGE_START_ADDR:
        case HIP_POINTER_ATTRIBUTE_RANGE_SIZE:
            return give(data, uint64_t{0});
    }
    return finish(hipErrorInvalidValue, "the emulated device does not have this pointer attribute");
}

}  // namespace

HIP_API hipError_t hipMemGetAddressRange(hipDeviceptr_t* base, size_t* size, hipDeviceptr_t p) {
    return guarded([&] {
        const std::optional<Allocation> allocation = live_allocation(p);
        if (!allocation) return finish(hipErrorNotFound);
        if (base != nullptr) *base = reinterpret_cast<void*>(allocation->begin);
        if (size != nullptr) *size = allocation->size;
        return hipSuccess;
    });
}

HIP_API hipError_t hipMemPtrGetInfo(void* p, size_t* size) {
    return guarded([&] {
        const std::optional<Allocation> allocation = live_allocation(p);
        if (size == nullptr || !allocation) return finish(hipErrorInvalidValue);
        *size = allocation->size;
        return hipSuccess;
    });
}

HIP_API hipError_t hipPointerGetAttributes(hipPointerAttribute_t* attributes, const void* p) {
    return guarded([&] {
        if (attributes == nullptr || p == nullptr) return finish(hipErrorInvalidValue);
        *attributes = hipPointerAttribute_t{};
        const std::optional<Allocation> allocation = live_allocation(p);
        if (!allocation) {  // an ordinary host pointer, as HIP 6 answers
            attributes->type = hipMemoryTypeUnregistered;
            attributes->device = hip_invalid_device;
            return hipSuccess;
        }
        attributes->type = memory_type(*allocation);
        attributes->device = device_of(*allocation);
        attributes->devicePointer = const_cast<void*>(p);
        attributes->hostPointer = host_reaches(*allocation) ? const_cast<void*>(p) : nullptr;
        attributes->isManaged = allocation->managed;
        attributes->allocationFlags = allocation->flags;
        return hipSuccess;
    });
}

HIP_API hipError_t hipPointerGetAttribute(void* data, hipPointer_attribute attribute, hipDeviceptr_t p) {
    return guarded([&] {
        if (data == nullptr || p == nullptr) return finish(hipErrorInvalidValue);
        const std::optional<Allocation> allocation = live_allocation(p);
        if (!allocation) return finish(hipErrorInvalidValue, "not in a live allocation");
        return get_attribute(data, attribute, p, *allocation);
    });
}

HIP_API hipError_t hipDrvPointerGetAttributes(unsigned count, hipPointer_attribute* attributes, void** data,
                                              hipDeviceptr_t p) {
    return guarded([&] {
        if (count == 0 || attributes == nullptr || data == nullptr || p == nullptr)
            return finish(hipErrorInvalidValue);
        const std::optional<Allocation> allocation = live_allocation(p);
        for (unsigned i = 0; i < count; ++i) {
            if (data[i] == nullptr) return finish(hipErrorInvalidValue);
            const bool host_pointer = attributes[i] == HIP_POINTER_ATTRIBUTE_HOST_POINTER;
            const bool known = allocation && (!host_pointer || host_reaches(*allocation));
            const hipError_t bad = known ? get_attribute(data[i], attributes[i], p, *allocation)
                                         : zero_attribute(data[i], attributes[i]);
            if (bad != hipSuccess) return bad;
        }
        return hipSuccess;
    });
}
