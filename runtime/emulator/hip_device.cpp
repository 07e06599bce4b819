// Initialization, versions, devices and their properties.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <vector>

#include "hip_state.h"

using namespace hkc::emu;

namespace {

// The HIP version whose ABI this library follows: major * 10^7 + minor * 10^5 + patch.
constexpr int hip_version = 60200000;

size_t total_memory() {
    return Runtime::get().memory.statistics().capacity;
}

constexpr int max_grid[3] = {2147483647, 65536, 65536};  // what ROCm reports for MI300X
constexpr int registers_per_cu = vgprs_per_lane * wavefront_size * simds_per_cu;
constexpr int registers_per_block = 65536;
constexpr size_t max_pitch = 2147483647;
constexpr size_t texture_alignment = 256;
// hipDeviceArch_t: all but funnel shift, synchronization extensions, surfaces and dynamic parallelism.
constexpr unsigned arch_flags = 0x97ff;

void copy_text(char* to, size_t size, const char* text) {
    std::snprintf(to, size, "%s", text);
}

/// The fields that both layouts of the properties have.
template <typename Properties>
void fill_common(Properties& p, int device) {
    const DeviceInfo& info = device_table[device];
    std::memset(static_cast<void*>(&p), 0, sizeof p);
    copy_text(p.name, sizeof p.name, info.name);
    copy_text(p.gcnArchName, sizeof p.gcnArchName, info.gcn_arch_name);
    p.totalGlobalMem = total_memory();
    p.sharedMemPerBlock = info.lds_bytes;
    p.maxSharedMemoryPerMultiProcessor = info.lds_bytes;
    p.regsPerBlock = registers_per_block;
    p.warpSize = wavefront_size;
    p.memPitch = max_pitch;
    p.maxThreadsPerBlock = max_workgroup;
    std::fill_n(p.maxThreadsDim, 3, max_workgroup);
    std::copy_n(max_grid, 3, p.maxGridSize);
    p.clockRate = info.clock_khz;
    p.memoryClockRate = info.memory_clock_khz;
    p.memoryBusWidth = info.memory_bus_bits;
    p.totalConstMem = max_pitch;
    p.major = info.major;
    p.minor = info.minor;
    p.textureAlignment = texture_alignment;
    p.texturePitchAlignment = texture_alignment;
    p.multiProcessorCount = info.compute_units;
    p.l2CacheSize = info.l2_bytes;
    p.maxThreadsPerMultiProcessor = max_waves_per_simd * simds_per_cu * wavefront_size;
    p.clockInstructionRate = wall_clock_khz;
    p.arch = arch_flags;
    p.concurrentKernels = 1;
    p.pciBusID = pci_bus_base + device;
    p.canMapHostMemory = 1;
    p.ECCEnabled = 1;
    p.isLargeBar = 1;
}

}  // namespace

HIP_API hipError_t hipInit(unsigned flags) {
    return guarded([&] {
        if (flags != 0) return finish(hipErrorInvalidValue);
        Runtime::get();
        return hipSuccess;
    });
}

HIP_API hipError_t hipDriverGetVersion(int* version) {
    return guarded([&] {
        if (version == nullptr) return finish(hipErrorInvalidValue);
        *version = hip_version;
        return hipSuccess;
    });
}

HIP_API hipError_t hipRuntimeGetVersion(int* version) {
    return hipDriverGetVersion(version);
}

HIP_API hipError_t hipGetDeviceCount(int* count) {
    return guarded([&] {
        if (count == nullptr) return finish(hipErrorInvalidValue);
        *count = device_count;
        return hipSuccess;
    });
}

HIP_API hipError_t hipSetDevice(int device) {
    return guarded([&] {
        if (!valid_device(device)) return finish(hipErrorInvalidDevice);
        current_device() = device;
        return hipSuccess;
    });
}

HIP_API hipError_t hipGetDevice(int* device) {
    return guarded([&] {
        if (device == nullptr) return finish(hipErrorInvalidValue);
        *device = current_device();
        return hipSuccess;
    });
}

HIP_API hipError_t hipDeviceGet(hipDevice_t* device, int ordinal) {
    return guarded([&] {
        if (device == nullptr) return finish(hipErrorInvalidValue);
        if (!valid_device(ordinal)) return finish(hipErrorInvalidDevice);
        *device = ordinal;
        return hipSuccess;
    });
}

HIP_API hipError_t hipDeviceGetName(char* name, int size, hipDevice_t device) {
    return guarded([&] {
        if (!valid_device(device)) return finish(hipErrorInvalidDevice);
        if (name == nullptr || size <= 0) return finish(hipErrorInvalidValue);
        copy_text(name, static_cast<size_t>(size), device_table[device].name);
        return hipSuccess;
    });
}

HIP_API hipError_t hipDeviceTotalMem(size_t* bytes, hipDevice_t device) {
    return guarded([&] {
        if (!valid_device(device)) return finish(hipErrorInvalidDevice);
        if (bytes == nullptr) return finish(hipErrorInvalidValue);
        *bytes = total_memory();
        return hipSuccess;
    });
}

HIP_API hipError_t hipDeviceComputeCapability(int* major, int* minor, hipDevice_t device) {
    return guarded([&] {
        if (!valid_device(device)) return finish(hipErrorInvalidDevice);
        if (major == nullptr || minor == nullptr) return finish(hipErrorInvalidValue);
        *major = device_table[device].major;
        *minor = device_table[device].minor;
        return hipSuccess;
    });
}

HIP_API hipError_t hipGetDevicePropertiesR0600(hipDeviceProp_tR0600* properties, int device) {
    return guarded([&] {
        if (properties == nullptr) return finish(hipErrorInvalidValue);
        if (!valid_device(device)) return finish(hipErrorInvalidDevice);
        const DeviceInfo& info = device_table[device];
        hipDeviceProp_tR0600& p = *properties;
        fill_common(p, device);
        std::snprintf(p.uuid.bytes, sizeof p.uuid.bytes, "hkc-%s-%d", arch_name(info.arch), device);
        p.managedMemory = 1;
        p.concurrentManagedAccess = 1;
        p.directManagedMemAccessFromHost = 1;
        p.hostNativeAtomicSupported = 1;
        p.deviceOverlap = 1;
        p.asyncEngineCount = 1;
        p.unifiedAddressing = 1;
        p.sharedMemPerMultiprocessor = info.lds_bytes;
        p.sharedMemPerBlockOptin = info.lds_bytes;
        p.regsPerMultiprocessor = registers_per_cu;
        p.maxBlocksPerMultiProcessor = max_workgroups_per_cu;
        return hipSuccess;
    });
}

HIP_API hipError_t hipGetDevicePropertiesR0000(hipDeviceProp_tR0000* properties, int device) {
    return guarded([&] {
        if (properties == nullptr) return finish(hipErrorInvalidValue);
        if (!valid_device(device)) return finish(hipErrorInvalidDevice);
        fill_common(*properties, device);
        properties->gcnArch = device_table[device].arch == Arch::gfx942 ? 942 : 950;
        return hipSuccess;
    });
}

HIP_API hipError_t hipGetDeviceProperties(hipDeviceProp_tR0000* properties, int device) {
    return guarded([&] { return hipGetDevicePropertiesR0000(properties, device); });
}

/// The device that has the most of what `wanted` asks for; fields of 0 ask for nothing.
HIP_API hipError_t hipChooseDeviceR0600(int* device, const hipDeviceProp_tR0600* wanted) {
    return guarded([&] {
        if (device == nullptr || wanted == nullptr) return finish(hipErrorInvalidValue);
        int best = -1;
        for (int candidate = 0; candidate < device_count; ++candidate) {
            hipDeviceProp_tR0600 has;
            if (const hipError_t bad = hipGetDevicePropertiesR0600(&has, candidate)) return bad;
            const int score =
                (wanted->major != 0 && has.major >= wanted->major) +
                (wanted->minor != 0 && has.minor >= wanted->minor) +
                (wanted->totalGlobalMem != 0 && has.totalGlobalMem >= wanted->totalGlobalMem) +
                (wanted->sharedMemPerBlock != 0 && has.sharedMemPerBlock >= wanted->sharedMemPerBlock) +
                (wanted->multiProcessorCount != 0 && has.multiProcessorCount >= wanted->multiProcessorCount);
            if (score <= best) continue;
            best = score;
            *device = candidate;
        }
        return hipSuccess;
    });
}

HIP_API hipError_t hipDeviceGetUuid(hipUUID* uuid, hipDevice_t device) {
    return guarded([&] {
        if (uuid == nullptr) return finish(hipErrorInvalidValue);
        hipDeviceProp_tR0600 properties;
        const hipError_t bad = hipGetDevicePropertiesR0600(&properties, device);
        if (bad == hipSuccess) *uuid = properties.uuid;
        return bad;
    });
}

HIP_API hipError_t hipDeviceGetPCIBusId(char* text, int size, int device) {
    return guarded([&] {
        if (!valid_device(device)) return finish(hipErrorInvalidDevice);
        char id[16];
        const int length = std::snprintf(id, sizeof id, "%04x:%02x:%02x.0", 0, pci_bus_base + device, 0);
        if (text == nullptr || size <= length) return finish(hipErrorInvalidValue);
        std::memcpy(text, id, static_cast<size_t>(length) + 1);
        return hipSuccess;
    });
}

HIP_API hipError_t hipDeviceGetByPCIBusId(int* device, const char* text) {
    return guarded([&] {
        if (device == nullptr || text == nullptr) return finish(hipErrorInvalidValue);
        unsigned domain = 0, bus = 0, slot = 0, function = 0;
        const bool full = std::sscanf(text, "%x:%x:%x.%x", &domain, &bus, &slot, &function) == 4;
        if (!full) {  // the domain may be left out
            domain = function = 0;
            if (std::sscanf(text, "%x:%x.%x", &bus, &slot, &function) < 2)
                return finish(hipErrorInvalidValue);
        }
        const int ordinal = static_cast<int>(bus) - pci_bus_base;
        if (domain != 0 || slot != 0 || function != 0 || !valid_device(ordinal))
            return finish(hipErrorInvalidDevice);
        *device = ordinal;
        return hipSuccess;
    });
}

// Work runs when it is submitted, so nothing is ever left to wait for.
HIP_API hipError_t hipDeviceSynchronize() {
    return nothing_to_do();
}

/// Ends all memory, streams and modules of the thread's device; waits for launches that other threads run there.
HIP_API hipError_t hipDeviceReset() {
    return guarded([] {
        Runtime& runtime = Runtime::get();
        const int device = current_device();
        const std::lock_guard idle(runtime.devices[device].mutex);
        const auto of_device = [&](const auto& object) { return object.device == device; };
        runtime.streams.remove_if(of_device);
        runtime.functions.remove_if(of_device);
        runtime.modules.remove_if(of_device);
        runtime.memory.release_all(device);
        return hipSuccess;
    });
}
