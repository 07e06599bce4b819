// Finding the library's own functions by name.
#include <dlfcn.h>

#include <string>
#include <string_view>

#include "hip_state.h"

using namespace hkc::emu;

namespace {

constexpr int version_of_new_properties = 600;  // HIP 6.0 changed the layout: hip_version / 100000
constexpr int version_unit = 100000;

/// This library's own handle, so that no other HIP library in the process answers.
void* own_library() {
    static void* const handle = [] {
        Dl_info self{};
        const auto anchor = reinterpret_cast<const void*>(&own_library);
        return dladdr(anchor, &self) != 0 ? dlopen(self.dli_fname, RTLD_LAZY | RTLD_NOLOAD) : nullptr;
    }();
    return handle;
}

/// A function by its HIP name; of one that has changed, the form that programs of this version mean.
void* find_function(std::string_view name, int version) {
    if (!name.starts_with("hip")) return nullptr;
    std::string symbol(name);
    const bool renamed = name == "hipGetDeviceProperties" || name == "hipChooseDevice";
    if (renamed && version / version_unit >= version_of_new_properties) symbol += "R0600";
    return own_library() != nullptr ? dlsym(own_library(), symbol.c_str()) : nullptr;
}

hipError_t lookup(const char* name, void** function, int version, hipSymbolQuery* status) {
    return guarded([&] {
        if (name == nullptr || function == nullptr) return finish(hipErrorInvalidValue);
        *function = find_function(name, version);
        const bool found = *function != nullptr;
        if (status != nullptr) *status = found ? hipSymbolFound : hipSymbolNotFound;
        return found
                   ? hipSuccess
                   : finish(hipErrorInvalidValue, std::string("the library has no function '") + name + "'");
    });
}

}  // namespace

HIP_API hipError_t hipGetProcAddress(const char* name, void** function, int version, uint64_t /*flags*/,
                                     hipSymbolQuery* status) {
    return lookup(name, function, version, status);
}

HIP_API hipError_t hipGetDriverEntryPoint(const char* name, void** function, unsigned long long /*flags*/,
                                          hipSymbolQuery* status) {
    return lookup(name, function, version_of_new_properties * version_unit, status);
}
