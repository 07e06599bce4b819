// Libraries and their kernels (HIP 7): modules and functions under other names.
#include "hip_state.h"

using namespace hkc::emu;

using hipLibrary_t = hipModule_t;
using hipKernel_t = hipFunction_t;

HIP_API hipError_t hipModuleLoad(hipModule_t* module, const char* path);
HIP_API hipError_t hipModuleLoadData(hipModule_t* module, const void* image);
HIP_API hipError_t hipModuleUnload(hipModule_t module);
HIP_API hipError_t hipModuleGetFunction(hipFunction_t* function, hipModule_t module, const char* name);
HIP_API hipError_t hipModuleGetFunctionCount(unsigned* count, hipModule_t module);
HIP_API hipError_t hipModuleGetGlobal(hipDeviceptr_t* address, size_t* bytes, hipModule_t module,
                                      const char* name);
HIP_API hipError_t hipFuncGetAttribute(int* value, int attribute, hipFunction_t handle);

HIP_API hipError_t hipLibraryLoadData(hipLibrary_t* library, const void* image, void* /*jit_options*/,
                                      void** /*jit_values*/, unsigned /*jit_count*/, void* /*options*/,
                                      void** /*values*/, unsigned /*count*/) {
    return hipModuleLoadData(library, image);
}

HIP_API hipError_t hipLibraryLoadFromFile(hipLibrary_t* library, const char* path, void* /*jit_options*/,
                                          void** /*jit_values*/, unsigned /*jit_count*/, void* /*options*/,
                                          void** /*values*/, unsigned /*count*/) {
    return hipModuleLoad(library, path);
}

HIP_API hipError_t hipLibraryUnload(hipLibrary_t library) {
    return hipModuleUnload(library);
}

HIP_API hipError_t hipLibraryGetKernel(hipKernel_t* kernel, hipLibrary_t library, const char* name) {
    return hipModuleGetFunction(kernel, library, name);
}

HIP_API hipError_t hipLibraryGetKernelCount(unsigned* count, hipLibrary_t library) {
    return hipModuleGetFunctionCount(count, library);
}

HIP_API hipError_t hipLibraryEnumerateKernels(hipKernel_t* kernels, unsigned count, hipLibrary_t library) {
    return guarded([&] {
        if (kernels == nullptr) return finish(hipErrorInvalidValue);
        const auto live = Runtime::get().modules.get(library);
        if (!live) return finish(hipErrorInvalidHandle, "no such library");
        unsigned given = 0;
        for (const Kernel& kernel : live->object->kernels()) {
            if (given == count) break;
            kernels[given++] = live->functions.at(kernel.name).get();
        }
        return hipSuccess;
    });
}

HIP_API hipError_t hipLibraryGetGlobal(hipDeviceptr_t* address, size_t* bytes, hipLibrary_t library,
                                       const char* name) {
    return hipModuleGetGlobal(address, bytes, library, name);
}

HIP_API hipError_t hipKernelGetFunction(hipFunction_t* function, hipKernel_t kernel) {
    return guarded([&] {
        if (function == nullptr) return finish(hipErrorInvalidValue);
        if (!Runtime::get().functions.get(kernel)) return finish(hipErrorInvalidHandle, "no such kernel");
        *function = kernel;
        return hipSuccess;
    });
}

HIP_API hipError_t hipKernelGetName(const char** name, hipKernel_t kernel) {
    return guarded([&] {
        const auto live = Runtime::get().functions.get(kernel);
        if (name == nullptr) return finish(hipErrorInvalidValue);
        if (!live) return finish(hipErrorInvalidHandle, "no such kernel");
        *name = live->kernel->name.c_str();
        return hipSuccess;
    });
}

HIP_API hipError_t hipKernelGetAttribute(int* value, int attribute, hipKernel_t kernel, hipDevice_t device) {
    if (!valid_device(device)) {
        return guarded([] { return finish(hipErrorInvalidDevice); });
    }
    return hipFuncGetAttribute(value, attribute, kernel);
}

HIP_API hipError_t hipKernelGetParamInfo(hipKernel_t kernel, size_t index, size_t* offset, size_t* size) {
    return guarded([&] {
        const auto live = Runtime::get().functions.get(kernel);
        if (offset == nullptr) return finish(hipErrorInvalidValue);
        if (!live) return finish(hipErrorInvalidHandle, "no such kernel");
        for (const KernelArgument& argument : live->kernel->arguments) {
            if (argument.hidden() || index-- != 0) continue;
            *offset = argument.offset;
            if (size != nullptr) *size = argument.size;
            return hipSuccess;
        }
        return finish(hipErrorInvalidValue, "the kernel has no such argument");
    });
}
