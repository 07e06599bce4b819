// Streams and events. Work runs in order of submission, when it is submitted.
#include "hip_state.h"

using namespace hkc::emu;

namespace {

hipError_t create_stream(hipStream_t* stream, unsigned flags, int priority) {
    return guarded([&] {
        if (stream == nullptr || flags > 1) return finish(hipErrorInvalidValue);
        *stream = Runtime::get().streams.add(
            std::make_shared<ihipStream_t>(ihipStream_t{current_device(), flags, priority}));
        return hipSuccess;
    });
}

hipError_t need_stream(hipStream_t stream) {
    return guarded(
        [&] { return valid_stream(stream) ? hipSuccess : finish(hipErrorInvalidHandle, "no such stream"); });
}

hipError_t create_event(hipEvent_t* event, unsigned flags) {
    return guarded([&] {
        if (event == nullptr) return finish(hipErrorInvalidValue);
        *event = Runtime::get().events.add(std::make_shared<ihipEvent_t>(ihipEvent_t{flags, std::nullopt}));
        return hipSuccess;
    });
}

hipError_t need_event(hipEvent_t event) {
    return guarded([&] {
        if (event == nullptr) return finish(hipErrorInvalidHandle, "a null event");
        return Runtime::get().events.get(event) ? hipSuccess : finish(hipErrorInvalidHandle, "no such event");
    });
}

std::mutex& event_times() {
    static std::mutex mutex;
    return mutex;
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

HIP_API hipError_t hipStreamWaitEvent(hipStream_t stream, hipEvent_t event, unsigned /*flags*/) {
    const hipError_t error = need_stream(stream);
    return error != hipSuccess ? error : need_event(event);
}

HIP_API hipError_t hipEventCreate(hipEvent_t* event) {
    return create_event(event, 0);
}

HIP_API hipError_t hipEventCreateWithFlags(hipEvent_t* event, unsigned flags) {
    return create_event(event, flags);
}

HIP_API hipError_t hipEventRecord(hipEvent_t event, hipStream_t stream) {
    return guarded([&] {
        if (const hipError_t bad = need_stream(stream)) return bad;
        const std::shared_ptr<ihipEvent_t> live = Runtime::get().events.get(event);
        if (!live) return finish(hipErrorInvalidHandle, "no such event");
        const std::lock_guard lock(event_times());
        live->recorded = std::chrono::steady_clock::now();
        return hipSuccess;
    });
}

HIP_API hipError_t hipEventSynchronize(hipEvent_t event) {
    return need_event(event);
}

HIP_API hipError_t hipEventQuery(hipEvent_t event) {
    return need_event(event);
}

HIP_API hipError_t hipEventElapsedTime(float* milliseconds, hipEvent_t start, hipEvent_t stop) {
    return guarded([&] {
        if (milliseconds == nullptr) return finish(hipErrorInvalidValue);
        const std::shared_ptr<ihipEvent_t> first = Runtime::get().events.get(start);
        const std::shared_ptr<ihipEvent_t> second = Runtime::get().events.get(stop);
        if (!first || !second) return finish(hipErrorInvalidHandle, "no such event");
        if (((first->flags | second->flags) & hipEventDisableTiming) != 0) {
            return finish(hipErrorInvalidHandle, "an event was made without timing");
        }
        const std::lock_guard lock(event_times());
        if (!first->recorded || !second->recorded) {
            return finish(hipErrorInvalidHandle, "an event was never recorded");
        }
        *milliseconds =
            std::chrono::duration<float, std::milli>(*second->recorded - *first->recorded).count();
        return hipSuccess;
    });
}

HIP_API hipError_t hipEventDestroy(hipEvent_t event) {
    return guarded([&] {
        return Runtime::get().events.remove(event) ? hipSuccess
                                                   : finish(hipErrorInvalidHandle, "no such event");
    });
}
