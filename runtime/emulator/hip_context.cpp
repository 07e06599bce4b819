// Contexts, which are devices by another name, and settings that change nothing on the emulated device.
#include <vector>

#include "hip_state.h"

using namespace hkc::emu;

namespace hkc::emu {

hipCtx_t context_of(int device) {
    static std::array<ihipCtx_t, device_count> contexts = [] {
        std::array<ihipCtx_t, device_count> all;
        for (int i = 0; i < device_count; ++i) all[static_cast<size_t>(i)].device = i;
        return all;
    }();
    return &contexts[static_cast<size_t>(device)];
}

}  // namespace hkc::emu

namespace {

constexpr unsigned context_api_version = 4;  // what ROCm's hipCtxGetApiVersion says
constexpr unsigned known_device_flags =
    0x1f;  // hipDeviceScheduleMask, hipDeviceMapHost, hipDeviceLmemResizeToMax
constexpr size_t stack_bytes = 16384;  // the default of a kernel with a dynamic stack, as the loader takes it
constexpr int cache_config_count = 4;  // hipFuncCachePreferNone to hipFuncCachePreferEqual

/// The calling thread's pushed contexts, the current one last.
std::vector<hipCtx_t>& pushed() {
    thread_local std::vector<hipCtx_t> contexts;
    return contexts;
}

bool valid_context(hipCtx_t context) {
    for (int device = 0; device < device_count; ++device) {
        if (context == context_of(device)) return true;
    }
    return false;
}

hipError_t no_context() {
    return finish(hipErrorInvalidContext, "no such context");
}

template <typename T>
hipError_t give(T* to, T value) {
    return guarded([&] {
        if (to == nullptr) return finish(hipErrorInvalidValue);
        *to = value;
        return hipSuccess;
    });
}

hipError_t need_device(int device) {
    return guarded([&] { return valid_device(device) ? hipSuccess : finish(hipErrorInvalidDevice); });
}

hipError_t set_cache_config(int config) {
    return guarded([&] {
        return config >= 0 && config < cache_config_count ? hipSuccess : finish(hipErrorInvalidValue);
    });
}

/// Peers: the two devices share one memory, so access between them needs no enabling.
hipError_t check_peer(int peer) {
    if (!valid_device(peer) || peer == current_device()) return finish(hipErrorInvalidDevice);
    return hipSuccess;
}

}  // namespace

HIP_API hipError_t hipCtxCreate(hipCtx_t* context, unsigned /*flags*/, hipDevice_t device) {
    return guarded([&] {
        if (context == nullptr) return finish(hipErrorInvalidValue);
        if (!valid_device(device)) return finish(hipErrorInvalidDevice);
        *context = context_of(device);
        pushed().push_back(*context);
        current_device() = device;
        return hipSuccess;
    });
}

HIP_API hipError_t hipCtxDestroy(hipCtx_t context) {
    return guarded([&] {
        if (!valid_context(context)) return no_context();
        if (!pushed().empty() && pushed().back() == context) pushed().pop_back();
        return hipSuccess;
    });
}

HIP_API hipError_t hipCtxGetCurrent(hipCtx_t* context) {
    return give(context, context_of(current_device()));
}

HIP_API hipError_t hipCtxSetCurrent(hipCtx_t context) {
    return guarded([&] {
        if (context != nullptr && !valid_context(context)) return no_context();
        if (!pushed().empty()) pushed().pop_back();
        if (context == nullptr) return hipSuccess;
        pushed().push_back(context);
        current_device() = context->device;
        return hipSuccess;
    });
}

HIP_API hipError_t hipCtxPushCurrent(hipCtx_t context) {
    return guarded([&] {
        if (!valid_context(context)) return no_context();
        pushed().push_back(context);
        current_device() = context->device;
        return hipSuccess;
    });
}

HIP_API hipError_t hipCtxPopCurrent(hipCtx_t* context) {
    return guarded([&] {
        if (pushed().empty()) return finish(hipErrorInvalidContext, "no context was pushed");
        if (context != nullptr) *context = pushed().back();
        pushed().pop_back();
        if (!pushed().empty()) current_device() = pushed().back()->device;
        return hipSuccess;
    });
}

HIP_API hipError_t hipCtxGetDevice(hipDevice_t* device) {
    return give(device, current_device());
}

HIP_API hipError_t hipCtxGetApiVersion(hipCtx_t context, unsigned* version) {
    if (context != nullptr && !valid_context(context)) return guarded(no_context);
    return give(version, context_api_version);
}

HIP_API hipError_t hipCtxGetFlags(unsigned* flags) {
    return give(flags, 0u);
}

HIP_API hipError_t hipCtxSynchronize() {
    return nothing_to_do();
}

HIP_API hipError_t hipDevicePrimaryCtxRetain(hipCtx_t* context, hipDevice_t device) {
    if (const hipError_t bad = need_device(device)) return bad;
    return give(context, context_of(device));
}

HIP_API hipError_t hipDevicePrimaryCtxRelease(hipDevice_t device) {
    return need_device(device);
}

HIP_API hipError_t hipDevicePrimaryCtxGetState(hipDevice_t device, unsigned* flags, int* active) {
    if (const hipError_t bad = need_device(device)) return bad;
    if (const hipError_t bad = give(flags, 0u)) return bad;
    return give(active, device == current_device() ? 1 : 0);
}

HIP_API hipError_t hipSetDeviceFlags(unsigned flags) {
    return guarded(
        [&] { return (flags & ~known_device_flags) == 0 ? hipSuccess : finish(hipErrorInvalidValue); });
}

HIP_API hipError_t hipGetDeviceFlags(unsigned* flags) {
    return give(flags, 0u);
}

HIP_API hipError_t hipDeviceGetLimit(size_t* value, hipLimit_t limit) {
    return guarded([&] {
        if (value == nullptr) return finish(hipErrorInvalidValue);
        if (limit == hipLimitStackSize) *value = stack_bytes;
        // Kernels of the emulated device have neither printf nor malloc.
        else if (limit == hipLimitPrintfFifoSize || limit == hipLimitMallocHeapSize)
            *value = 0;
        else
            return finish(hipErrorUnsupportedLimit);
        return hipSuccess;
    });
}

HIP_API hipError_t hipDeviceSetLimit(hipLimit_t /*limit*/, size_t /*value*/) {
    return guarded([] { return finish(hipErrorUnsupportedLimit); });
}

HIP_API hipError_t hipDeviceSetCacheConfig(int config) {
    return set_cache_config(config);
}

HIP_API hipError_t hipDeviceGetCacheConfig(int* config) {
    return give(config, 0);
}

HIP_API hipError_t hipCtxSetCacheConfig(int config) {
    return set_cache_config(config);
}

HIP_API hipError_t hipCtxGetCacheConfig(int* config) {
    return give(config, 0);
}

HIP_API hipError_t hipDeviceSetSharedMemConfig(int /*config*/) {
    return nothing_to_do();
}

HIP_API hipError_t hipDeviceGetSharedMemConfig(int* config) {
    return give(config, 1);  // hipSharedMemBankSizeFourByte
}

HIP_API hipError_t hipDeviceCanAccessPeer(int* can, int device, int peer) {
    if (const hipError_t bad = need_device(device)) return bad;
    if (const hipError_t bad = need_device(peer)) return bad;
    return give(can, device != peer ? 1 : 0);
}

HIP_API hipError_t hipDeviceEnablePeerAccess(int peer, unsigned flags) {
    return guarded([&] {
        if (flags != 0) return finish(hipErrorInvalidValue);
        return check_peer(peer);
    });
}

HIP_API hipError_t hipDeviceDisablePeerAccess(int peer) {
    return guarded([&] { return check_peer(peer); });
}

HIP_API hipError_t hipDeviceGetP2PAttribute(int* value, hipDeviceP2PAttr attribute, int from, int to) {
    if (const hipError_t bad = need_device(from)) return bad;
    if (const hipError_t bad = need_device(to)) return bad;
    return guarded([&] {
        if (value == nullptr || from == to) return finish(hipErrorInvalidValue);
        if (attribute < hipDevP2PAttrPerformanceRank || attribute > hipDevP2PAttrHipArrayAccessSupported)
            return finish(hipErrorInvalidValue);
        const bool yes =
            attribute == hipDevP2PAttrAccessSupported || attribute == hipDevP2PAttrNativeAtomicSupported;
        *value = yes ? 1 : 0;
        return hipSuccess;
    });
}

HIP_API hipError_t hipProfilerStart() {
    return nothing_to_do();
}

HIP_API hipError_t hipProfilerStop() {
    return nothing_to_do();
}
