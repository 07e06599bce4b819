// Allocation, copies and fills. Everything is done when the function returns, on every stream.
#include <algorithm>
#include <cstring>

#include "hip_state.h"

using namespace hkc::emu;

namespace {

MemoryMap& memory() {
    return Runtime::get().memory;
}

uint64_t address_of(const void* p) {
    return reinterpret_cast<uint64_t>(p);
}

bool in_arena(const void* p) {
    return memory().in_arena(address_of(p), 1);
}

/// A live allocation by value; a copy, so that no lock is held while it is used.
std::optional<Allocation> live_allocation(const void* p) {
    const MemoryMap::Pin pin(memory());
    const Allocation* found = memory().find(address_of(p));
    if (found == nullptr || found->freed || !found->contains(address_of(p), 1)) return std::nullopt;
    return *found;
}

/// Checks one side of a transfer: bytes of the arena must lie in one live allocation.
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

hipError_t copy(void* to, const void* from, size_t bytes, hipMemcpyKind kind, hipStream_t stream) {
    return guarded([&] {
        if (!valid_stream(stream)) return finish(hipErrorInvalidHandle, "no such stream");
        if (kind < hipMemcpyHostToHost || kind > hipMemcpyDefault)
            return finish(hipErrorInvalidMemcpyDirection);
        if (bytes == 0) return hipSuccess;
        const bool to_device = kind == hipMemcpyHostToDevice || kind == hipMemcpyDeviceToDevice;
        const bool from_device = kind == hipMemcpyDeviceToHost || kind == hipMemcpyDeviceToDevice;
        if (const hipError_t bad = check_range(to, bytes, to_device, "the destination")) return bad;
        if (const hipError_t bad = check_range(from, bytes, from_device, "the source")) return bad;
        std::memmove(to, from, bytes);
        return hipSuccess;
    });
}

template <typename T>
hipError_t fill(void* to, T value, size_t count, hipStream_t stream) {
    return guarded([&] {
        if (!valid_stream(stream)) return finish(hipErrorInvalidHandle, "no such stream");
        if (count == 0) return hipSuccess;
        if (count > SIZE_MAX / sizeof(T) || address_of(to) % sizeof(T) != 0)
            return finish(hipErrorInvalidValue);
        if (const hipError_t bad = check_range(to, count * sizeof(T), true, "the destination")) return bad;
        std::fill_n(static_cast<T*>(to), count, value);
        return hipSuccess;
    });
}

hipError_t allocate(void** p, size_t bytes, int owner) {
    return guarded([&] {
        if (p == nullptr) return finish(hipErrorInvalidValue);
        *p = nullptr;
        if (bytes == 0) return hipSuccess;
        *p = memory().allocate(bytes, owner);
        if (*p == nullptr) {
            const MemoryStatistics now = memory().statistics();
            return finish(hipErrorOutOfMemory, std::to_string(bytes) + " bytes asked for, " +
                                                   std::to_string(now.capacity - now.live_bytes) + " of " +
                                                   std::to_string(now.capacity) + " free");
        }
        return hipSuccess;
    });
}

hipError_t free_memory(void* p, bool host) {
    return guarded([&] {
        if (p == nullptr) return hipSuccess;
        const std::optional<Allocation> allocation = live_allocation(p);
        const bool matches = allocation && allocation->begin == address_of(p) &&
                             (allocation->owner == MemoryMap::host_owner) == host;
        if (!matches || !memory().release(p)) {
            return finish(hipErrorInvalidValue, "not the begin of a live allocation");
        }
        return hipSuccess;
    });
}

}  // namespace

HIP_API hipError_t hipMalloc(void** p, size_t bytes) {
    return allocate(p, bytes, current_device());
}

HIP_API hipError_t hipMallocAsync(void** p, size_t bytes, hipStream_t stream) {
    if (!valid_stream(stream)) return finish(hipErrorInvalidHandle, "no such stream");
    return allocate(p, bytes, current_device());
}

HIP_API hipError_t hipFree(void* p) {
    return free_memory(p, false);
}

HIP_API hipError_t hipFreeAsync(void* p, hipStream_t stream) {
    if (!valid_stream(stream)) return finish(hipErrorInvalidHandle, "no such stream");
    return free_memory(p, false);
}

HIP_API hipError_t hipHostMalloc(void** p, size_t bytes, unsigned /*flags*/) {
    return allocate(p, bytes, MemoryMap::host_owner);
}

HIP_API hipError_t hipHostFree(void* p) {
    return free_memory(p, true);
}

HIP_API hipError_t hipHostGetDevicePointer(void** device, void* host, unsigned flags) {
    return guarded([&] {
        if (device == nullptr || host == nullptr || flags != 0) return finish(hipErrorInvalidValue);
        const std::optional<Allocation> allocation = live_allocation(host);
        if (!allocation || allocation->owner != MemoryMap::host_owner) return finish(hipErrorInvalidValue);
        *device = host;
        return hipSuccess;
    });
}

HIP_API hipError_t hipMemGetInfo(size_t* free, size_t* total) {
    return guarded([&] {
        if (free == nullptr || total == nullptr) return finish(hipErrorInvalidValue);
        const MemoryStatistics now = memory().statistics();
        *free = now.capacity - now.live_bytes;
        *total = now.capacity;
        return hipSuccess;
    });
}

HIP_API hipError_t hipMemGetAddressRange(hipDeviceptr_t* base, size_t* size, hipDeviceptr_t p) {
    return guarded([&] {
        const std::optional<Allocation> allocation = live_allocation(p);
        if (!allocation) return finish(hipErrorNotFound);
        if (base != nullptr) *base = reinterpret_cast<void*>(allocation->begin);
        if (size != nullptr) *size = allocation->size;
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
            attributes->device = -2;  // hipInvalidDeviceId
            return hipSuccess;
        }
        const bool host = allocation->owner == MemoryMap::host_owner;
        attributes->type = host ? hipMemoryTypeHost : hipMemoryTypeDevice;
        attributes->device = host ? current_device() : allocation->owner;
        attributes->devicePointer = const_cast<void*>(p);
        attributes->hostPointer = host ? const_cast<void*>(p) : nullptr;
        return hipSuccess;
    });
}

HIP_API hipError_t hipMemcpy(void* to, const void* from, size_t bytes, hipMemcpyKind kind) {
    return copy(to, from, bytes, kind, nullptr);
}

HIP_API hipError_t hipMemcpyAsync(void* to, const void* from, size_t bytes, hipMemcpyKind kind,
                                  hipStream_t stream) {
    return copy(to, from, bytes, kind, stream);
}

HIP_API hipError_t hipMemcpyWithStream(void* to, const void* from, size_t bytes, hipMemcpyKind kind,
                                       hipStream_t stream) {
    return copy(to, from, bytes, kind, stream);
}

HIP_API hipError_t hipMemcpyHtoD(hipDeviceptr_t to, const void* from, size_t bytes) {
    return copy(to, from, bytes, hipMemcpyHostToDevice, nullptr);
}

HIP_API hipError_t hipMemcpyDtoH(void* to, hipDeviceptr_t from, size_t bytes) {
    return copy(to, from, bytes, hipMemcpyDeviceToHost, nullptr);
}

HIP_API hipError_t hipMemcpyDtoD(hipDeviceptr_t to, hipDeviceptr_t from, size_t bytes) {
    return copy(to, from, bytes, hipMemcpyDeviceToDevice, nullptr);
}

HIP_API hipError_t hipMemcpyHtoDAsync(hipDeviceptr_t to, const void* from, size_t bytes, hipStream_t stream) {
    return copy(to, from, bytes, hipMemcpyHostToDevice, stream);
}

HIP_API hipError_t hipMemcpyDtoHAsync(void* to, hipDeviceptr_t from, size_t bytes, hipStream_t stream) {
    return copy(to, from, bytes, hipMemcpyDeviceToHost, stream);
}

HIP_API hipError_t hipMemcpyDtoDAsync(hipDeviceptr_t to, hipDeviceptr_t from, size_t bytes,
                                      hipStream_t stream) {
    return copy(to, from, bytes, hipMemcpyDeviceToDevice, stream);
}

HIP_API hipError_t hipMemset(void* to, int value, size_t bytes) {
    return fill(to, static_cast<uint8_t>(value), bytes, nullptr);
}

HIP_API hipError_t hipMemsetAsync(void* to, int value, size_t bytes, hipStream_t stream) {
    return fill(to, static_cast<uint8_t>(value), bytes, stream);
}

HIP_API hipError_t hipMemsetD8(hipDeviceptr_t to, unsigned char value, size_t count) {
    return fill(to, value, count, nullptr);
}

HIP_API hipError_t hipMemsetD8Async(hipDeviceptr_t to, unsigned char value, size_t count,
                                    hipStream_t stream) {
    return fill(to, value, count, stream);
}

HIP_API hipError_t hipMemsetD16(hipDeviceptr_t to, unsigned short value, size_t count) {
    return fill(to, value, count, nullptr);
}

HIP_API hipError_t hipMemsetD16Async(hipDeviceptr_t to, unsigned short value, size_t count,
                                     hipStream_t stream) {
    return fill(to, value, count, stream);
}

HIP_API hipError_t hipMemsetD32(hipDeviceptr_t to, int value, size_t count) {
    return fill(to, value, count, nullptr);
}

HIP_API hipError_t hipMemsetD32Async(hipDeviceptr_t to, int value, size_t count, hipStream_t stream) {
    return fill(to, value, count, stream);
}
