#include "hip_state.h"

#include <utility>

namespace hkc::emu {

Runtime& Runtime::get() {
    static Runtime* const runtime = new Runtime;
    return *runtime;
}

int& current_device() {
    thread_local int device = 0;
    return device;
}

LastError& last_error() {
    thread_local LastError error;
    return error;
}

hipError_t finish(hipError_t error, std::string detail) {
    if (error != hipSuccess) last_error() = {error, std::move(detail)};
    return error;
}

bool valid_stream(hipStream_t stream) {
    const auto value = reinterpret_cast<uintptr_t>(stream);
    if (value == 0 || value == hip_stream_legacy || value == hip_stream_per_thread) return true;
    return Runtime::get().streams.get(stream) != nullptr;
}

}  // namespace hkc::emu
