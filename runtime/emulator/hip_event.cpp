// Events: points in time between pieces of work.
#include "hip_event.h"

#include <algorithm>

using namespace hkc::emu;

namespace hkc::emu {

namespace {

std::mutex& event_times() {
    static std::mutex mutex;
    return mutex;
}

}  // namespace

void record_now(ihipEvent_t& event) {
    static std::chrono::steady_clock::time_point last;
    const std::lock_guard lock(event_times());
    // Later records have later times, whatever the clock's resolution.
    last = std::max(std::chrono::steady_clock::now(), last + std::chrono::steady_clock::duration(1));
    event.recorded = last;
}

}  // namespace hkc::emu

namespace {

constexpr unsigned known_event_flags =
    0xe0000007;  // blocking, no timing, interprocess, release scopes, no fence

hipError_t create_event(hipEvent_t* event, unsigned flags) {
    return guarded([&] {
        if (event == nullptr || (flags & ~known_event_flags) != 0) return finish(hipErrorInvalidValue);
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

}  // namespace

HIP_API hipError_t hipEventCreate(hipEvent_t* event) {
    return create_event(event, 0);
}

HIP_API hipError_t hipEventCreateWithFlags(hipEvent_t* event, unsigned flags) {
    return create_event(event, flags);
}

HIP_API hipError_t hipEventRecord(hipEvent_t event, hipStream_t stream) {
    return guarded([&] {
        if (!valid_stream(stream)) return finish(hipErrorInvalidHandle, "no such stream");
        const std::shared_ptr<ihipEvent_t> live = Runtime::get().events.get(event);
        if (!live) return finish(hipErrorInvalidHandle, "no such event");
        record_now(*live);
        return hipSuccess;
    });
}

HIP_API hipError_t hipEventRecordWithFlags(hipEvent_t event, hipStream_t stream, unsigned /*flags*/) {
    return hipEventRecord(event, stream);
}

HIP_API hipError_t hipEventSynchronize(hipEvent_t event) {
    return need_event(event);
}

HIP_API hipError_t hipEventQuery(hipEvent_t event) {
    return need_event(event);
}

HIP_API hipError_t hipStreamWaitEvent(hipStream_t stream, hipEvent_t event, unsigned /*flags*/) {
    if (!valid_stream(stream)) {
        return guarded([] { return finish(hipErrorInvalidHandle, "no such stream"); });
    }
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
