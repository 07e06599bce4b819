// Allocation of device, pinned and managed memory.
#include "hip_range.h"

using namespace hkc::emu;

namespace {

constexpr size_t pitch_alignment = 256;  // what ROCm rounds rows of 2D allocations up to

MemoryMap& memory() {
    return Runtime::get().memory;
}

hipError_t out_of_memory(size_t bytes) {
    const MemoryStatistics now = memory().statistics();
    return finish(hipErrorOutOfMemory, std::to_string(bytes) + " bytes asked for, " +
                                           std::to_string(now.capacity - now.live_bytes) + " of " +
                                           std::to_string(now.capacity) + " free");
}

hipError_t allocate(void** p, size_t bytes, int owner, unsigned flags = 0, bool managed = false) {
    return guarded([&] {
        if (p == nullptr) return finish(hipErrorInvalidValue);
        *p = nullptr;
        if (bytes == 0) return hipSuccess;
        *p = memory().allocate(bytes, owner, MemoryMap::alignment, flags, managed);
        return *p != nullptr ? hipSuccess : out_of_memory(bytes);
    });
}

hipError_t allocate_rows(void** p, size_t* pitch, size_t width, size_t height) {
    return guarded([&] {
        if (p == nullptr || pitch == nullptr) return finish(hipErrorInvalidValue);
        *p = nullptr;
        *pitch = 0;
        if (width == 0 || height == 0) return hipSuccess;
        size_t row = 0, bytes = 0;
        if (__builtin_add_overflow(width, pitch_alignment - 1, &row)) return finish(hipErrorInvalidValue);
        row = row / pitch_alignment * pitch_alignment;
        if (__builtin_mul_overflow(row, height, &bytes)) return finish(hipErrorInvalidValue);
        *p = memory().allocate(bytes, current_device());
        if (*p == nullptr) return out_of_memory(bytes);
        *pitch = row;
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

hipError_t need_stream(hipStream_t stream) {
    return guarded(
        [&] { return valid_stream(stream) ? hipSuccess : finish(hipErrorInvalidHandle, "no such stream"); });
}

/// Hints about managed memory need a range of it; they change nothing here.
hipError_t hint(const void* p, size_t bytes) {
    return guarded([&] {
        const std::optional<Allocation> allocation = live_allocation(p);
        if (!allocation || !allocation->managed || bytes == 0 ||
            !allocation->contains(address_of(p), bytes)) {
            return finish(hipErrorInvalidValue, "not a range of managed memory");
        }
        return hipSuccess;
    });
}

}  // namespace

HIP_API hipError_t hipMalloc(void** p, size_t bytes) {
    return allocate(p, bytes, current_device());
}

HIP_API hipError_t hipExtMallocWithFlags(void** p, size_t bytes, unsigned flags) {
    return allocate(p, bytes, current_device(), flags);
}

HIP_API hipError_t hipMallocManaged(void** p, size_t bytes, unsigned flags) {
    return allocate(p, bytes, current_device(), flags, true);
}

HIP_API hipError_t hipMallocAsync(void** p, size_t bytes, hipStream_t stream) {
    const hipError_t bad = need_stream(stream);
    return bad != hipSuccess ? bad : allocate(p, bytes, current_device());
}

HIP_API hipError_t hipMallocPitch(void** p, size_t* pitch, size_t width, size_t height) {
    return allocate_rows(p, pitch, width, height);
}

HIP_API hipError_t hipMemAllocPitch(hipDeviceptr_t* p, size_t* pitch, size_t width, size_t height,
                                    unsigned /*element_bytes*/) {
    return allocate_rows(p, pitch, width, height);
}

HIP_API hipError_t hipFree(void* p) {
    return free_memory(p, false);
}

HIP_API hipError_t hipFreeAsync(void* p, hipStream_t stream) {
    const hipError_t bad = need_stream(stream);
    return bad != hipSuccess ? bad : free_memory(p, false);
}

HIP_API hipError_t hipHostMalloc(void** p, size_t bytes, unsigned flags) {
    return allocate(p, bytes, MemoryMap::host_owner, flags);
}

HIP_API hipError_t hipHostAlloc(void** p, size_t bytes, unsigned flags) {
    return allocate(p, bytes, MemoryMap::host_owner, flags);
}

HIP_API hipError_t hipMallocHost(void** p, size_t bytes) {
    return allocate(p, bytes, MemoryMap::host_owner);
}

HIP_API hipError_t hipMemAllocHost(void** p, size_t bytes) {
    return allocate(p, bytes, MemoryMap::host_owner);
}

HIP_API hipError_t hipHostFree(void* p) {
    return free_memory(p, true);
}

HIP_API hipError_t hipFreeHost(void* p) {
    return free_memory(p, true);
}

HIP_API hipError_t hipHostRegister(void* p, size_t bytes, unsigned /*flags*/) {
    return guarded([&] {
        if (p == nullptr || bytes == 0) return finish(hipErrorInvalidValue);
        if (live_allocation(p)) return finish(hipErrorHostMemoryAlreadyRegistered);
        return finish(hipErrorNotSupported,
                      "the emulated device reaches only memory of hipMalloc and hipHostMalloc");
    });
}

HIP_API hipError_t hipHostUnregister(void* p) {
    return guarded(
        [&] { return finish(p == nullptr ? hipErrorInvalidValue : hipErrorHostMemoryNotRegistered); });
}

HIP_API hipError_t hipHostGetFlags(unsigned* flags, void* host) {
    return guarded([&] {
        if (flags == nullptr || host == nullptr) return finish(hipErrorInvalidValue);
        const std::optional<Allocation> allocation = live_allocation(host);
        if (!allocation || allocation->owner != MemoryMap::host_owner) return finish(hipErrorInvalidValue);
        *flags = allocation->flags;
        return hipSuccess;
    });
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

HIP_API hipError_t hipMemPrefetchAsync(const void* p, size_t bytes, int device, hipStream_t stream) {
    constexpr int host_device = -1;  // hipCpuDeviceId
    if (const hipError_t bad = need_stream(stream)) return bad;
    if (device != host_device && !valid_device(device)) {
        return guarded([] { return finish(hipErrorInvalidDevice); });
    }
    return hint(p, bytes);
}

HIP_API hipError_t hipMemAdvise(const void* p, size_t bytes, int /*advice*/, int /*device*/) {
    return hint(p, bytes);
}
