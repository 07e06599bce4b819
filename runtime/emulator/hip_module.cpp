// Modules, functions, globals and what they need of the device.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>

#include "elf_file.h"
#include "hip_state.h"
#include "offload_bundle.h"

using namespace hkc::emu;

namespace {

/// How many bytes from `p` on are mapped and readable, by the process's own memory map.
size_t readable_bytes(const void* p) {
    const auto address = reinterpret_cast<uint64_t>(p);
    std::ifstream maps("/proc/self/maps");
    uint64_t end = address;
    for (std::string line; std::getline(maps, line);) {
        uint64_t low = 0, high = 0;
        char readable = '-';
        if (std::sscanf(line.c_str(), "%lx-%lx %c", &low, &high, &readable) != 3) continue;
        if (low > end) break;
        if (end >= low && end < high && readable == 'r') end = high;
    }
    return end - address;
}

hipError_t load_failure(LoadFailure failure) {
    switch (failure) {
        case LoadFailure::wrong_target:
            return hipErrorNoBinaryForGpu;
        case LoadFailure::undefined_symbol:
            return hipErrorSharedObjectSymbolNotFound;
        case LoadFailure::out_of_memory:
            return hipErrorOutOfMemory;
        case LoadFailure::invalid:
            break;
    }
    return hipErrorInvalidImage;
}

hipError_t load(hipModule_t* module, const void* bytes, size_t size) {
    Runtime& runtime = Runtime::get();
    const int device = current_device();
    const Arch arch = device_table[device].arch;
    std::string error;
    SectionBytes code{static_cast<const uint8_t*>(bytes), size};
    if (is_offload_bundle(code)) {
        code = find_in_bundle(code, arch, error);
        if (code.size == 0) return finish(hipErrorNoBinaryForGpu, error);
    }
    LoadFailure failure = LoadFailure::invalid;
    std::shared_ptr<const CodeObject> object =
        CodeObject::load(code.data, code.size, arch, runtime.memory, error, &failure);
    if (!object) return finish(load_failure(failure), error);
    auto loaded = std::make_shared<ihipModule_t>();
    loaded->device = device;
    for (const Kernel& kernel : object->kernels()) {
        auto function = std::make_shared<ihipModuleSymbol_t>(ihipModuleSymbol_t{object, &kernel, device});
        if (loaded->functions.emplace(kernel.name, function).second) runtime.functions.add(function);
    }
    loaded->object = std::move(object);
    *module = runtime.modules.add(std::move(loaded));
    return hipSuccess;
}

uint32_t round_up(uint32_t value, uint32_t to) {
    return (value + to - 1) / to * to;
}

/// Workgroups of `block_size` lanes that fit on one compute unit.
int resident_workgroups(const Kernel& kernel, const DeviceInfo& info, int block_size, size_t dynamic_lds) {
    const int waves = (block_size + wavefront_size - 1) / wavefront_size;
    const uint32_t registers = std::max(round_up(kernel.vgpr_count, vgpr_granule), uint32_t{vgpr_granule});
    const int waves_per_simd = std::min<int>(max_waves_per_simd, vgprs_per_lane / registers);
    int workgroups = std::min(max_workgroups_per_cu, simds_per_cu * waves_per_simd / waves);
    const uint64_t lds = kernel.group_segment + static_cast<uint64_t>(dynamic_lds);
    if (lds > info.lds_bytes) return 0;
    if (lds > 0) {
        const uint32_t granted = round_up(static_cast<uint32_t>(lds), info.lds_granule);
        workgroups = std::min(workgroups, static_cast<int>(info.lds_bytes / granted));
    }
    return workgroups;
}

hipError_t occupancy(int* workgroups, hipFunction_t handle, int block_size, size_t dynamic_lds) {
    return guarded([&] {
        if (workgroups == nullptr || block_size <= 0 || block_size > max_workgroup) {
            return finish(hipErrorInvalidValue);
        }
        const auto function = Runtime::get().functions.get(handle);
        if (!function) return finish(hipErrorInvalidDeviceFunction, "no such function");
        *workgroups =
            resident_workgroups(*function->kernel, device_table[function->device], block_size, dynamic_lds);
        return hipSuccess;
    });
}

}  // namespace

HIP_API hipError_t hipModuleLoad(hipModule_t* module, const char* path) {
    return guarded([&] {
        if (module == nullptr || path == nullptr) return finish(hipErrorInvalidValue);
        std::ifstream file(path, std::ios::binary);
        if (!file) return finish(hipErrorFileNotFound, std::string("cannot read ") + path);
        const std::vector<char> bytes((std::istreambuf_iterator<char>(file)),
                                      std::istreambuf_iterator<char>());
        return load(module, bytes.data(), bytes.size());
    });
}

HIP_API hipError_t hipModuleLoadData(hipModule_t* module, const void* image) {
    return guarded([&] {
        if (module == nullptr || image == nullptr) return finish(hipErrorInvalidValue);
        // HIP passes no size: the headers tell it, and nothing beyond readable memory is touched.
        const size_t readable = readable_bytes(image);
        const SectionBytes bytes{static_cast<const uint8_t*>(image), readable};
        const size_t size = is_offload_bundle(bytes) ? readable : ElfFile::extent(bytes.data, readable);
        return load(module, image, size);
    });
}

HIP_API hipError_t hipModuleLoadDataEx(hipModule_t* module, const void* image, unsigned /*count*/,
                                       int* /*options*/, void** /*values*/) {
    return hipModuleLoadData(module, image);
}

HIP_API hipError_t hipModuleUnload(hipModule_t module) {
    return guarded([&] {
        Runtime& runtime = Runtime::get();
        const auto live = runtime.modules.get(module);
        if (!live || !runtime.modules.remove(module)) return finish(hipErrorInvalidHandle, "no such module");
        for (const auto& [name, function] : live->functions) runtime.functions.remove(function.get());
        return hipSuccess;
    });
}

HIP_API hipError_t hipModuleGetFunction(hipFunction_t* function, hipModule_t module, const char* name) {
    return guarded([&] {
        if (function == nullptr || name == nullptr) return finish(hipErrorInvalidValue);
        const auto live = Runtime::get().modules.get(module);
        if (!live) return finish(hipErrorInvalidHandle, "no such module");
        const auto found = live->functions.find(name);
        if (found == live->functions.end()) {
            return finish(hipErrorNotFound, std::string("the module has no kernel '") + name + "'");
        }
        *function = found->second.get();
        return hipSuccess;
    });
}

HIP_API hipError_t hipModuleGetGlobal(hipDeviceptr_t* address, size_t* bytes, hipModule_t module,
                                      const char* name) {
    return guarded([&] {
        if (name == nullptr || (address == nullptr && bytes == nullptr)) return finish(hipErrorInvalidValue);
        const auto live = Runtime::get().modules.get(module);
        if (!live) return finish(hipErrorInvalidHandle, "no such module");
        for (const GlobalVariable& global : live->object->globals()) {
            if (global.name != name) continue;
            if (address != nullptr) *address = reinterpret_cast<void*>(global.address);
            if (bytes != nullptr) *bytes = global.size;
            return hipSuccess;
        }
        return finish(hipErrorNotFound, std::string("the module has no global variable '") + name + "'");
    });
}

HIP_API hipError_t hipFuncGetAttribute(int* value, hipFunction_attribute attribute, hipFunction_t handle) {
    return guarded([&] {
        if (value == nullptr) return finish(hipErrorInvalidValue);
        const auto function = Runtime::get().functions.get(handle);
        if (!function) return finish(hipErrorInvalidHandle, "no such function");
        const Kernel& kernel = *function->kernel;
        const DeviceInfo& info = device_table[function->device];
        switch (attribute) {
            case HIP_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
                *value = static_cast<int>(kernel.max_flat_workgroup_size);
                return hipSuccess;
            case HIP_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
                *value = static_cast<int>(kernel.group_segment);
                return hipSuccess;
            case HIP_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
                *value = static_cast<int>(kernel.private_segment);
                return hipSuccess;
            case HIP_FUNC_ATTRIBUTE_NUM_REGS:
                *value = static_cast<int>(kernel.vgpr_count);
                return hipSuccess;
            case HIP_FUNC_ATTRIBUTE_PTX_VERSION:
            case HIP_FUNC_ATTRIBUTE_BINARY_VERSION:
                *value = info.major * 10 + info.minor;
                return hipSuccess;
            case HIP_FUNC_ATTRIBUTE_CONST_SIZE_BYTES:
            case HIP_FUNC_ATTRIBUTE_CACHE_MODE_CA:
            case HIP_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
                *value = 0;
                return hipSuccess;
            case HIP_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
                *value = static_cast<int>(info.lds_bytes - std::min(info.lds_bytes, kernel.group_segment));
                return hipSuccess;
        }
        return finish(hipErrorInvalidValue);
    });
}

HIP_API hipError_t hipFuncSetAttribute(const void* handle, int attribute, int value) {
    return guarded([&] {
        auto* function = static_cast<hipFunction_t>(const_cast<void*>(handle));
        const auto live = Runtime::get().functions.get(function);
        if (!live) return finish(hipErrorInvalidDeviceFunction, "no such function");
        // All LDS that a workgroup may have is available without asking; only the request's size is checked.
        const bool lds = attribute == HIP_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
        if (!lds && attribute != HIP_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT) {
            return finish(hipErrorInvalidValue);
        }
        const uint32_t limit = device_table[live->device].lds_bytes;
        if (lds && (value < 0 || static_cast<uint32_t>(value) > limit)) return finish(hipErrorInvalidValue);
        return hipSuccess;
    });
}

HIP_API hipError_t hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(int* workgroups, hipFunction_t function,
                                                                      int block_size, size_t dynamic_lds) {
    return occupancy(workgroups, function, block_size, dynamic_lds);
}

HIP_API hipError_t hipModuleOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    int* workgroups, hipFunction_t function, int block_size, size_t dynamic_lds, unsigned /*flags*/) {
    return occupancy(workgroups, function, block_size, dynamic_lds);
}
