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

struct Attribute {
    hipDeviceAttribute_t attribute;
    int value;
};

std::vector<Attribute> attributes(const DeviceInfo& info, int device) {
    const int lds = static_cast<int>(info.lds_bytes);
    const int lanes_per_cu = max_waves_per_simd * simds_per_cu * wavefront_size;
    return {
        {hipDeviceAttributeEccEnabled, 1},
        {hipDeviceAttributeAsyncEngineCount, 1},
        {hipDeviceAttributeCanMapHostMemory, 1},
        {hipDeviceAttributeClockRate, info.clock_khz},
        {hipDeviceAttributeConcurrentKernels, 1},
        {hipDeviceAttributeCooperativeLaunch, 0},
        {hipDeviceAttributeIntegrated, 0},
        {hipDeviceAttributeL2CacheSize, info.l2_bytes},
        {hipDeviceAttributeComputeCapabilityMajor, info.major},
        {hipDeviceAttributeComputeCapabilityMinor, info.minor},
        {hipDeviceAttributeManagedMemory, 0},
        {hipDeviceAttributeMaxBlocksPerMultiProcessor, max_workgroups_per_cu},
        {hipDeviceAttributeMaxBlockDimX, max_workgroup},
        {hipDeviceAttributeMaxBlockDimY, max_workgroup},
        {hipDeviceAttributeMaxBlockDimZ, max_workgroup},
        {hipDeviceAttributeMaxThreadsPerBlock, max_workgroup},
        {hipDeviceAttributeMaxGridDimX, max_grid[0]},
        {hipDeviceAttributeMaxGridDimY, max_grid[1]},
        {hipDeviceAttributeMaxGridDimZ, max_grid[2]},
        {hipDeviceAttributeMaxThreadsPerMultiProcessor, lanes_per_cu},
        {hipDeviceAttributeMemoryBusWidth, info.memory_bus_bits},
        {hipDeviceAttributeMemoryClockRate, info.memory_clock_khz},
        {hipDeviceAttributeMultiprocessorCount, info.compute_units},
        {hipDeviceAttributePhysicalMultiProcessorCount, info.compute_units},
        {hipDeviceAttributePciBusId, pci_bus_base + device},
        {hipDeviceAttributePciDeviceId, 0},
        {hipDeviceAttributePciDomainID, 0},
        {hipDeviceAttributeMaxRegistersPerBlock, registers_per_block},
        {hipDeviceAttributeMaxRegistersPerMultiprocessor, registers_per_cu},
        {hipDeviceAttributeReservedSharedMemPerBlock, 0},
        {hipDeviceAttributeMaxSharedMemoryPerBlock, lds},
        {hipDeviceAttributeSharedMemPerBlockOptin, lds},
        {hipDeviceAttributeSharedMemPerMultiprocessor, lds},
        {hipDeviceAttributeMaxSharedMemoryPerMultiprocessor, lds},
        {hipDeviceAttributeTotalConstantMemory, static_cast<int>(max_pitch)},
        {hipDeviceAttributeUnifiedAddressing, 1},
        {hipDeviceAttributeWarpSize, wavefront_size},
        {hipDeviceAttributeMemoryPoolsSupported, 0},
        {hipDeviceAttributeIsLargeBar, 1},
        {hipDeviceAttributeAsicRevision, 0},
        {hipDeviceAttributeFineGrainSupport, 1},
        {hipDeviceAttributeWallClockRate, wall_clock_khz},
    };
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

HIP_API hipError_t hipDeviceGetAttribute(int* value, hipDeviceAttribute_t wanted, int device) {
    return guarded([&] {
        if (value == nullptr) return finish(hipErrorInvalidValue);
        if (!valid_device(device)) return finish(hipErrorInvalidDevice);
        for (const Attribute& known : attributes(device_table[device], device)) {
            if (known.attribute != wanted) continue;
            *value = known.value;
            return hipSuccess;
        }
        return finish(hipErrorInvalidValue, "the emulated device does not have this attribute");
    });
}

// Work runs when it is submitted, so nothing is ever left to wait for.
HIP_API hipError_t hipDeviceSynchronize() {
    return hipSuccess;
}
