// Streams. Work runs in order of submission, when it is submitted: nothing is ever left to wait for.
#include <atomic>

#include "hip_state.h"

using namespace hkc::emu;

namespace {

hipError_t create_stream(hipStream_t* stream, unsigned flags, int priority) {
    return guarded([&] {
        static std::atomic<uint64_t> next_id{1};
        if (stream == nullptr || flags > hip_stream_non_blocking) return finish(hipErrorInvalidValue);
        *stream = Runtime::get().streams.add(std::make_shared<ihipStream_t>(
            ihipStream_t{current_device(), flags, priority, next_id.fetch_add(1)}));
        return hipSuccess;
    });
}

hipError_t need_stream(hipStream_t stream) {
    return guarded(
        [&] { return valid_stream(stream) ? hipSuccess : finish(hipErrorInvalidHandle, "no such stream"); });
}

/// What a stream that exists is; the default streams are of the thread's device.
hipError_t describe(hipStream_t stream, ihipStream_t& description) {
    if (!valid_stream(stream)) return finish(hipErrorInvalidHandle, "no such stream");
    const auto made = Runtime::get().streams.get(stream);
    description = made ? *made : ihipStream_t{current_device(), 0, 0, 0};
    return hipSuccess;
}

template <typename T, typename Member>
hipError_t give(hipStream_t stream, T* to, Member member) {
    return guarded([&] {
        if (to == nullptr) return finish(hipErrorInvalidValue);
        ihipStream_t description;
        const hipError_t bad = describe(stream, description);
        if (bad == hipSuccess) *to = description.*member;
        return bad;
    });
}

hipError_t no_capture(hipStream_t stream, hipStreamCaptureStatus* status, unsigned long long* id) {
    if (const hipError_t bad = need_stream(stream)) return bad;
    return guarded([&] {
        if (status == nullptr) return finish(hipErrorInvalidValue);
        *status = hipStreamCaptureStatusNone;
        if (id != nullptr) *id = 0;
        return hipSuccess;
    });
}

}  // namespace

HIP_API hipError_t hipStreamCreate(hipStream_t* stream) {
    return create_stream(stream, 0, 0);
}

HIP_API hipError_t hipStreamCreateWithFlags(hipStream_t* stream, unsigned flags) {
    return create_stream(stream, flags, 0);
}

HIP_API hipError_t hipStreamCreateWithPriority(hipStream_t* stream, unsigned flags, int priority) {
    return create_stream(stream, flags, priority);
}

HIP_API hipError_t hipStreamDestroy(hipStream_t stream) {
    return guarded([&] {
        return Runtime::get().streams.remove(stream) ? hipSuccess
                                                     : finish(hipErrorInvalidHandle, "no such stream");
    });
}

HIP_API hipError_t hipStreamSynchronize(hipStream_t stream) {
    return need_stream(stream);
}

HIP_API hipError_t hipStreamQuery(hipStream_t stream) {
    return need_stream(stream);
}

HIP_API hipError_t hipStreamGetFlags(hipStream_t stream, unsigned* flags) {
    return give(stream, flags, &ihipStream_t::flags);
}

HIP_API hipError_t hipStreamGetPriority(hipStream_t stream, int* priority) {
    return give(stream, priority, &ihipStream_t::priority);
}

HIP_API hipError_t hipStreamGetDevice(hipStream_t stream, hipDevice_t* device) {
    return give(stream, device, &ihipStream_t::device);
}

HIP_API hipError_t hipStreamGetId(hipStream_t stream, unsigned long long* id) {
    return give(stream, id, &ihipStream_t::id);
}

HIP_API hipError_t hipDeviceGetStreamPriorityRange(int* least, int* greatest) {
    return guarded([&] {
        if (least != nullptr) *least = 0;
        if (greatest != nullptr) *greatest = 0;
        return hipSuccess;
    });
}

HIP_API hipError_t hipStreamIsCapturing(hipStream_t stream, hipStreamCaptureStatus* status) {
    return no_capture(stream, status, nullptr);
}

HIP_API hipError_t hipStreamGetCaptureInfo(hipStream_t stream, hipStreamCaptureStatus* status,
                                           unsigned long long* id) {
    return no_capture(stream, status, id);
}

HIP_API hipError_t hipStreamGetCaptureInfo_v2(hipStream_t stream, hipStreamCaptureStatus* status,
                                              unsigned long long* id, void** graph, const void** dependencies,
                                              size_t* dependency_count) {
    const hipError_t bad = no_capture(stream, status, id);
    if (bad != hipSuccess) return bad;
    if (graph != nullptr) *graph = nullptr;
    if (dependencies != nullptr) *dependencies = nullptr;
    if (dependency_count != nullptr) *dependency_count = 0;
    return hipSuccess;
}

/// Swaps the thread's mode; without capture, the mode is only remembered.
HIP_API hipError_t hipThreadExchangeStreamCaptureMode(hipStreamCaptureMode* mode) {
    return guarded([&] {
        thread_local hipStreamCaptureMode current = hipStreamCaptureModeGlobal;
        if (mode == nullptr || *mode < hipStreamCaptureModeGlobal || *mode > hipStreamCaptureModeRelaxed)
            return finish(hipErrorInvalidValue);
        std::swap(*mode, current);
        return hipSuccess;
    });
}

/// The work before it is done, so the callback runs at once, on the calling thread.
HIP_API hipError_t hipStreamAddCallback(hipStream_t stream, void (*callback)(hipStream_t, hipError_t, void*),
                                        void* data, unsigned flags) {
    if (const hipError_t bad = need_stream(stream)) return bad;
    return guarded([&] {
        if (callback == nullptr || flags != 0) return finish(hipErrorInvalidValue);
        callback(stream, hipSuccess, data);
        return hipSuccess;
    });
}

HIP_API hipError_t hipLaunchHostFunc(hipStream_t stream, void (*function)(void*), void* data) {
    if (const hipError_t bad = need_stream(stream)) return bad;
    return guarded([&] {
        if (function == nullptr) return finish(hipErrorInvalidValue);
        function(data);
        return hipSuccess;
    });
}
