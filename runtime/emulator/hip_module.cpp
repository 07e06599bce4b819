// Modules, functions, globals and what they need of the device.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "elf_file.h"
#include "hip_image.h"
#include "hip_state.h"
#include "offload_bundle.h"

using namespace hkc::emu;

namespace {

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

}  // namespace

HIP_API hipError_t hipModuleLoad(hipModule_t* module, const char* path) {
    return guarded([&] {
        if (module == nullptr || path == nullptr) return finish(hipErrorInvalidValue);
        std::error_code ignored;  // a device or a pipe may have no end
        std::ifstream file;
        if (std::filesystem::is_regular_file(path, ignored)) file.open(path, std::ios::binary);
        if (!file.is_open()) return finish(hipErrorFileNotFound, std::string("cannot read ") + path);
        const std::vector<char> bytes((std::istreambuf_iterator<char>(file)),
                                      std::istreambuf_iterator<char>());
        return load(module, bytes.data(), bytes.size());
    });
}

HIP_API hipError_t hipModuleLoadData(hipModule_t* module, const void* image) {
    return guarded([&] {
        if (module == nullptr || image == nullptr) return finish(hipErrorInvalidValue);
        const std::vector<uint8_t> bytes = copy_image(image);
        return load(module, bytes.data(), bytes.size());
    });
}

HIP_API hipError_t hipModuleLoadDataEx(hipModule_t* module, const void* image, unsigned /*count*/,
                                       int* /*options*/, void** /*values*/) {
    return hipModuleLoadData(module, image);
}

HIP_API hipError_t hipModuleLoadFatBinary(hipModule_t* module, const void* image) {
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

HIP_API hipError_t hipModuleGetFunctionCount(unsigned* count, hipModule_t module) {
    return guarded([&] {
        if (count == nullptr) return finish(hipErrorInvalidValue);
        const auto live = Runtime::get().modules.get(module);
        if (!live) return finish(hipErrorInvalidHandle, "no such module");
        *count = static_cast<unsigned>(live->functions.size());
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
