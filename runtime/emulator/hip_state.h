// State of the emulated HIP runtime: devices, handles, the calling thread's device and last error.
#pragma once

#include <array>
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "code_object.h"
#include "device_info.h"
#include "dispatch.h"
#include "hip_types.h"
#include "memory_map.h"

/// A stream. Work runs when it is submitted, so an existing stream is always idle.
struct ihipStream_t {
    int device = 0;
    unsigned flags = 0;
    int priority = 0;
    uint64_t id = 0;  ///< Of no other stream of the process.
};

/// A context is a device; its ordinal is all there is to it.
struct ihipCtx_t {
    int device = 0;
};

struct ihipEvent_t {
    unsigned flags = 0;
    std::optional<std::chrono::steady_clock::time_point> recorded;
};

/// A kernel of a module; keeps the module's code loaded while a launch uses it.
struct ihipModuleSymbol_t {
    std::shared_ptr<const hkc::emu::CodeObject> object;
    const hkc::emu::Kernel* kernel = nullptr;
    int device = 0;
};

struct ihipModule_t {
    std::shared_ptr<const hkc::emu::CodeObject> object;
    int device = 0;
    std::unordered_map<std::string, std::shared_ptr<ihipModuleSymbol_t>> functions;
};

namespace hkc::emu {

/// Live handles of one kind: what a client passes is looked up here before it is ever dereferenced.
template <typename T>
class Handles {
 public:
    T* add(std::shared_ptr<T> object) {
        std::lock_guard lock(mutex_);
        T* handle = object.get();
        live_.emplace(handle, std::move(object));
        return handle;
    }
    /// The object behind a handle; nullptr if the handle is not live.
    std::shared_ptr<T> get(T* handle) const {
        std::lock_guard lock(mutex_);
        const auto found = live_.find(handle);
        return found == live_.end() ? nullptr : found->second;
    }
    /// Ends all handles for which `ends` is true.
    template <typename Predicate>
    void remove_if(Predicate ends) {
        std::lock_guard lock(mutex_);
        std::erase_if(live_, [&](const auto& entry) { return ends(*entry.second); });
    }
    /// Ends a handle; false if it is not live. The object lives on while someone still holds it.
    bool remove(T* handle) {
        std::lock_guard lock(mutex_);
        return live_.erase(handle) != 0;
    }

 private:
    mutable std::mutex mutex_;
    std::unordered_map<T*, std::shared_ptr<T>> live_;
};

/// One emulated device. Its members are guarded by `mutex`; a launch holds it, so launches run one by one.
struct Device {
    static constexpr size_t max_reports = 1000;  ///< Kept until a client reads them; later ones are dropped.

    std::mutex mutex;
    Mode mode = Mode::fast;
    unsigned threads = 0;  ///< 0: all cores.
    uint64_t instruction_budget = 0;  ///< Of each wave; 0: no limit.
    std::vector<Report> reports;
    Counters counters{};
    uint64_t launches = 0;
    std::vector<WaitUse> waits;  ///< Of the last launch, pc relative to the kernel's first instruction.
    std::string trap;  ///< Text of the last launch's trap; empty if it ran to its end.
};

class Runtime {
 public:
    /// The process's runtime, made on first use and never destroyed: clients may call from exit handlers.
    static Runtime& get();

    MemoryMap memory;
    std::array<Device, device_count> devices;
    Handles<ihipStream_t> streams;
    Handles<ihipEvent_t> events;
    Handles<ihipModule_t> modules;
    Handles<ihipModuleSymbol_t> functions;
};

/// The calling thread's device ordinal.
int& current_device();

constexpr int hip_invalid_device = -2;  ///< hipInvalidDeviceId

/// The context of a device; there is one of each.
hipCtx_t context_of(int device);

/// Ends an API call: keeps a failure as the thread's last error, with `detail` for hkcErrorDetail, and returns it.
hipError_t finish(hipError_t error, std::string detail = {});

/// The calling thread's last error, and the text that says more about it.
struct LastError {
    hipError_t code = hipSuccess;  ///< Of the last call that failed since hipGetLastError.
    std::string detail;
    hipError_t last_call = hipSuccess;  ///< Of the last call, failed or not.
};
LastError& last_error();

constexpr bool valid_device(int device) {
    return device >= 0 && device < device_count;
}

/// Whether a client may submit work to this stream: the default streams and every live one.
bool valid_stream(hipStream_t stream);

/// Runs the body of an API function: no exception leaves the library.
template <typename Body>
hipError_t guarded(Body body) noexcept {
    hipError_t error = hipErrorUnknown;
    try {
        error = body();
    } catch (const std::bad_alloc&) {
        error = finish(hipErrorOutOfMemory);
    } catch (const std::exception& problem) {
        error = finish(hipErrorUnknown, problem.what());
    }
    last_error().last_call = error;
    return error;
}

/// An API function without an effect here: work is done when it is submitted, caches and clocks are not modelled.
inline hipError_t nothing_to_do() noexcept {
    return guarded([] { return hipSuccess; });
}

}  // namespace hkc::emu
