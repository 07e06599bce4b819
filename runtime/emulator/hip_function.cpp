// What functions need of the device, and how many of their workgroups fit on it.
#include <algorithm>

#include "hip_state.h"

using namespace hkc::emu;

namespace {

uint32_t round_up(uint32_t value, uint32_t to) {
    return (value + to - 1) / to * to;
}

/// Waves of the kernel that fit on a SIMD, by its registers.
int resident_waves(const Kernel& kernel) {
    const uint32_t vgprs = std::max(round_up(kernel.vgpr_count, vgpr_granule), uint32_t{vgpr_granule});
    const uint32_t sgprs = std::max(round_up(kernel.sgpr_count, sgpr_granule), uint32_t{sgpr_granule});
    return std::min<int>({max_waves_per_simd, static_cast<int>(vgprs_per_lane / vgprs),
                          static_cast<int>(sgprs_per_simd / sgprs)});
}

/// Workgroups of `block_size` lanes that fit on one compute unit.
int resident_workgroups(const Kernel& kernel, const DeviceInfo& info, int block_size, size_t dynamic_lds) {
    const int waves = (block_size + wavefront_size - 1) / wavefront_size;
    int workgroups = std::min(max_workgroups_per_cu, simds_per_cu * resident_waves(kernel) / waves);
    if (dynamic_lds > info.lds_bytes) return 0;
    const uint64_t lds = kernel.group_segment + uint64_t{dynamic_lds};
    if (lds > info.lds_bytes) return 0;
    if (lds > 0) {
        const uint32_t granted = round_up(static_cast<uint32_t>(lds), info.lds_granule);
        workgroups = std::min(workgroups, static_cast<int>(info.lds_bytes / granted));
    }
    return workgroups;
}

std::shared_ptr<ihipModuleSymbol_t> live_function(const void* handle) {
    return Runtime::get().functions.get(static_cast<hipFunction_t>(const_cast<void*>(handle)));
}

hipError_t no_function() {
    return finish(hipErrorInvalidDeviceFunction, "no such function");
}

hipError_t occupancy(int* workgroups, const void* handle, int block_size, size_t dynamic_lds) {
    return guarded([&] {
        if (workgroups == nullptr || block_size <= 0 || block_size > max_workgroup) {
            return finish(hipErrorInvalidValue);
        }
        const auto function = live_function(handle);
        if (!function) return no_function();
        *workgroups =
            resident_workgroups(*function->kernel, device_table[function->device], block_size, dynamic_lds);
        return hipSuccess;
    });
}

/// The workgroup size that keeps most lanes resident (the largest of several), and the workgroups that fill the device.
hipError_t best_block(int* grid_size, int* block_size, const void* handle, size_t dynamic_lds, int limit) {
    return guarded([&] {
        if (grid_size == nullptr || block_size == nullptr || limit < 0) return finish(hipErrorInvalidValue);
        const auto function = live_function(handle);
        if (!function) return no_function();
        const Kernel& kernel = *function->kernel;
        const DeviceInfo& info = device_table[function->device];
        int largest = static_cast<int>(kernel.max_flat_workgroup_size);
        if (limit > 0) largest = std::min(largest, limit);
        int best_lanes = 0, best_size = largest, best_count = 0;
        for (int size = largest; size > 0; size = (size - 1) / wavefront_size * wavefront_size) {
            const int count = resident_workgroups(kernel, info, size, dynamic_lds);
            if (count * size <= best_lanes) continue;
            best_lanes = count * size;
            best_size = size;
            best_count = count;
        }
        if (best_count == 0) return finish(hipErrorLaunchOutOfResources, "no workgroup fits on the device");
        *block_size = best_size;
        *grid_size = best_count * info.compute_units;
        return hipSuccess;
    });
}

int largest_dynamic_lds(const Kernel& kernel, const DeviceInfo& info) {
    return static_cast<int>(info.lds_bytes - std::min(info.lds_bytes, kernel.group_segment));
}

hipError_t check_attribute_change(const void* handle, int attribute, int value) {
    const auto live = live_function(handle);
    if (!live) return no_function();
    // All LDS that a workgroup may have is available without asking; only the request's size is checked.
    const bool lds = attribute == HIP_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
    if (!lds && attribute != HIP_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT) {
        return finish(hipErrorInvalidValue);
    }
    const uint32_t limit = device_table[live->device].lds_bytes;
    if (lds && (value < 0 || static_cast<uint32_t>(value) > limit)) return finish(hipErrorInvalidValue);
    return hipSuccess;
}

}  // namespace

HIP_API hipError_t hipFuncGetAttributes(hipFuncAttributes* attributes, const void* handle) {
    return guarded([&] {
        if (attributes == nullptr) return finish(hipErrorInvalidValue);
        const auto function = live_function(handle);
        if (!function) return no_function();
        const Kernel& kernel = *function->kernel;
        const DeviceInfo& info = device_table[function->device];
        *attributes = hipFuncAttributes{};
        attributes->binaryVersion = info.major * 10 + info.minor;
        attributes->ptxVersion = attributes->binaryVersion;
        attributes->localSizeBytes = kernel.private_segment;
        attributes->sharedSizeBytes = kernel.group_segment;
        attributes->maxDynamicSharedSizeBytes = largest_dynamic_lds(kernel, info);
        attributes->maxThreadsPerBlock = static_cast<int>(kernel.max_flat_workgroup_size);
        attributes->numRegs = static_cast<int>(kernel.vgpr_count);
        return hipSuccess;
    });
}

HIP_API hipError_t hipFuncGetAttribute(int* value, int attribute, hipFunction_t handle) {
    return guarded([&] {
        if (value == nullptr) return finish(hipErrorInvalidValue);
        if (!Runtime::get().functions.get(handle)) return finish(hipErrorInvalidHandle, "no such function");
        hipFuncAttributes all;
        if (const hipError_t bad = hipFuncGetAttributes(&all, handle)) return bad;
        switch (attribute) {
            case HIP_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
                *value = all.maxThreadsPerBlock;
                return hipSuccess;
            case HIP_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
                *value = static_cast<int>(all.sharedSizeBytes);
                return hipSuccess;
            case HIP_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
                *value = static_cast<int>(all.localSizeBytes);
                return hipSuccess;
            case HIP_FUNC_ATTRIBUTE_NUM_REGS:
                *value = all.numRegs;
                return hipSuccess;
            case HIP_FUNC_ATTRIBUTE_PTX_VERSION:
            case HIP_FUNC_ATTRIBUTE_BINARY_VERSION:
                *value = all.binaryVersion;
                return hipSuccess;
            case HIP_FUNC_ATTRIBUTE_CONST_SIZE_BYTES:
            case HIP_FUNC_ATTRIBUTE_CACHE_MODE_CA:
            case HIP_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
                *value = 0;
                return hipSuccess;
            case HIP_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
                *value = all.maxDynamicSharedSizeBytes;
                return hipSuccess;
        }
        return finish(hipErrorInvalidValue);
    });
}

HIP_API hipError_t hipFuncSetAttribute(const void* handle, int attribute, int value) {
    return guarded([&] { return check_attribute_change(handle, attribute, value); });
}

HIP_API hipError_t hipFuncSetCacheConfig(const void* handle, int /*config*/) {
    return guarded([&] { return live_function(handle) ? hipSuccess : no_function(); });
}

HIP_API hipError_t hipFuncSetSharedMemConfig(const void* handle, int /*config*/) {
    return guarded([&] { return live_function(handle) ? hipSuccess : no_function(); });
}

HIP_API const char* hipKernelNameRef(hipFunction_t handle) {
    const auto live = live_function(handle);
    return live ? live->kernel->name.c_str() : nullptr;
}

HIP_API hipError_t hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(int* workgroups, hipFunction_t function,
                                                                      int block_size, size_t dynamic_lds) {
    return occupancy(workgroups, function, block_size, dynamic_lds);
}

HIP_API hipError_t hipModuleOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    int* workgroups, hipFunction_t function, int block_size, size_t dynamic_lds, unsigned /*flags*/) {
    return occupancy(workgroups, function, block_size, dynamic_lds);
}

HIP_API hipError_t hipOccupancyMaxActiveBlocksPerMultiprocessor(int* workgroups, const void* function,
                                                                int block_size, size_t dynamic_lds) {
    return occupancy(workgroups, function, block_size, dynamic_lds);
}

HIP_API hipError_t hipOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* workgroups,
                                                                         const void* function, int block_size,
                                                                         size_t dynamic_lds,
                                                                         unsigned /*flags*/) {
    return occupancy(workgroups, function, block_size, dynamic_lds);
}

HIP_API hipError_t hipModuleOccupancyMaxPotentialBlockSize(int* grid_size, int* block_size,
                                                           hipFunction_t function, size_t dynamic_lds,
                                                           int limit) {
    return best_block(grid_size, block_size, function, dynamic_lds, limit);
}

HIP_API hipError_t hipModuleOccupancyMaxPotentialBlockSizeWithFlags(int* grid_size, int* block_size,
                                                                    hipFunction_t function,
                                                                    size_t dynamic_lds, int limit,
                                                                    unsigned /*flags*/) {
    return best_block(grid_size, block_size, function, dynamic_lds, limit);
}

HIP_API hipError_t hipOccupancyMaxPotentialBlockSize(int* grid_size, int* block_size, const void* function,
                                                     size_t dynamic_lds, int limit) {
    return best_block(grid_size, block_size, function, dynamic_lds, limit);
}
