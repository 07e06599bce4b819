// Initialization, versions, devices and their properties.
#include <algorithm>
#include <cstdio>
#include <cstring>

#include "hip_state.h"

using namespace hkc::emu;

namespace {

// The HIP version whose ABI this library follows: major * 10^7 + minor * 10^5 + patch.
constexpr int hip_version = 60200000;

bool valid_device(int device) {
    return device >= 0 && device < device_count;
}

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

int attribute_value(hipDeviceAttribute_t attribute, const DeviceInfo& info, int device, bool& known) {
    switch (attribute) {
        case hipDeviceAttributeEccEnabled:
        case hipDeviceAttributeAsyncEngineCount:
        case hipDeviceAttributeCanMapHostMemory:
        case hipDeviceAttributeConcurrentKernels:
        case hipDeviceAttributeUnifiedAddressing:
        case hipDeviceAttributeIsLargeBar:
        case hipDeviceAttributeFineGrainSupport:
            return 1;
        case hipDeviceAttributeCooperativeLaunch:
        case hipDeviceAttributeIntegrated:
        case hipDeviceAttributeManagedMemory:
        case hipDeviceAttributePciDeviceId:
        case hipDeviceAttributePciDomainID:
        case hipDeviceAttributeReservedSharedMemPerBlock:
        case hipDeviceAttributeMemoryPoolsSupported:
        case hipDeviceAttributeAsicRevision:
            return 0;
        case hipDeviceAttributeClockRate:
            return info.clock_khz;
        case hipDeviceAttributeL2CacheSize:
            return info.l2_bytes;
        case hipDeviceAttributeComputeCapabilityMajor:
            return info.major;
        case hipDeviceAttributeComputeCapabilityMinor:
            return info.minor;
        case hipDeviceAttributeMaxBlocksPerMultiProcessor:
            return max_workgroups_per_cu;
        case hipDeviceAttributeMaxBlockDimX:
        case hipDeviceAttributeMaxBlockDimY:
        case hipDeviceAttributeMaxBlockDimZ:
        case hipDeviceAttributeMaxThreadsPerBlock:
            return max_workgroup;
        case hipDeviceAttributeMaxGridDimX:
            return max_grid[0];
        case hipDeviceAttributeMaxGridDimY:
            return max_grid[1];
        case hipDeviceAttributeMaxGridDimZ:
            return max_grid[2];
        case hipDeviceAttributeMaxThreadsPerMultiProcessor:
            return max_waves_per_simd * simds_per_cu * wavefront_size;
        case hipDeviceAttributeMemoryBusWidth:
            return info.memory_bus_bits;
        case hipDeviceAttributeMemoryClockRate:
            return info.memory_clock_khz;
        case hipDeviceAttributeMultiprocessorCount:
        case hipDeviceAttributePhysicalMultiProcessorCount:
            return info.compute_units;
        case hipDeviceAttributePciBusId:
            return pci_bus_base + device;
        case hipDeviceAttributeMaxRegistersPerBlock:
            return registers_per_block;
        case hipDeviceAttributeMaxRegistersPerMultiprocessor:
            return registers_per_cu;
        case hipDeviceAttributeMaxSharedMemoryPerBlock:
        case hipDeviceAttributeSharedMemPerBlockOptin:
        case hipDeviceAttributeSharedMemPerMultiprocessor:
        case hipDeviceAttributeMaxSharedMemoryPerMultiprocessor:
            return static_cast<int>(info.lds_bytes);
        case hipDeviceAttributeTotalConstantMemory:
            return static_cast<int>(max_pitch);
        case hipDeviceAttributeWarpSize:
            return wavefront_size;
        case hipDeviceAttributeWallClockRate:
            return wall_clock_khz;
    }
    known = false;
    return 0;
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
    if (version == nullptr) return finish(hipErrorInvalidValue);
    *version = hip_version;
    return hipSuccess;
}

HIP_API hipError_t hipRuntimeGetVersion(int* version) {
    return hipDriverGetVersion(version);
}

HIP_API hipError_t hipGetDeviceCount(int* count) {
    if (count == nullptr) return finish(hipErrorInvalidValue);
    *count = device_count;
    return hipSuccess;
}

HIP_API hipError_t hipSetDevice(int device) {
    if (!valid_device(device)) return finish(hipErrorInvalidDevice);
    current_device() = device;
    return hipSuccess;
}

HIP_API hipError_t hipGetDevice(int* device) {
    if (device == nullptr) return finish(hipErrorInvalidValue);
    *device = current_device();
    return hipSuccess;
}

HIP_API hipError_t hipDeviceGet(hipDevice_t* device, int ordinal) {
    if (device == nullptr) return finish(hipErrorInvalidValue);
    if (!valid_device(ordinal)) return finish(hipErrorInvalidDevice);
    *device = ordinal;
    return hipSuccess;
}

HIP_API hipError_t hipDeviceGetName(char* name, int size, hipDevice_t device) {
    if (!valid_device(device)) return finish(hipErrorInvalidDevice);
    if (name == nullptr || size <= 0) return finish(hipErrorInvalidValue);
    copy_text(name, static_cast<size_t>(size), device_table[device].name);
    return hipSuccess;
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
    if (!valid_device(device)) return finish(hipErrorInvalidDevice);
    if (major == nullptr || minor == nullptr) return finish(hipErrorInvalidValue);
    *major = device_table[device].major;
    *minor = device_table[device].minor;
    return hipSuccess;
}

HIP_API hipError_t hipGetDevicePropertiesR0600(hipDeviceProp_tR0600* properties, int device) {
    return guarded([&] {
        if (properties == nullptr) return finish(hipErrorInvalidValue);
        if (!valid_device(device)) return finish(hipErrorInvalidDevice);
        const DeviceInfo& info = device_table[device];
        hipDeviceProp_tR0600& p = *properties;
        fill_common(p, device);
        std::snprintf(p.uuid.bytes, sizeof p.uuid.bytes, "hkc-%s-%d", arch_name(info.arch), device);
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
    return hipGetDevicePropertiesR0000(properties, device);
}

HIP_API hipError_t hipDeviceGetAttribute(int* value, hipDeviceAttribute_t attribute, int device) {
    if (value == nullptr) return finish(hipErrorInvalidValue);
    if (!valid_device(device)) return finish(hipErrorInvalidDevice);
    bool known = true;
    const int result = attribute_value(attribute, device_table[device], device, known);
    if (!known) return finish(hipErrorInvalidValue, "the emulated device does not have this attribute");
    *value = result;
    return hipSuccess;
}

// Work runs when it is submitted, so nothing is ever left to wait for.
HIP_API hipError_t hipDeviceSynchronize() {
    return hipSuccess;
}
