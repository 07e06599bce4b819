#include "hkc_api.h"

#include <cstdio>
#include <cstring>

#include "bindings.h"
#include "hip_state.h"

using namespace hkc::emu;

namespace {

Device* device_at(int ordinal) {
    if (ordinal < 0 || ordinal >= device_count) return nullptr;
    return &Runtime::get().devices[ordinal];
}

/// Text as a JSON string. Bytes of 0x80 and above pass as they are: names and paths are UTF-8.
std::string quoted(std::string_view text) {
    std::string result = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') {
            result += '\\';
            result += c;
        } else if (static_cast<unsigned char>(c) < 0x20) {
            char escape[8];
            std::snprintf(escape, sizeof escape, "\\u%04x", c);
            result += escape;
        } else {
            result += c;
        }
    }
    return result + '"';
}

std::string to_json(const std::array<uint32_t, 3>& id) {
    return "[" + std::to_string(id[0]) + ", " + std::to_string(id[1]) + ", " + std::to_string(id[2]) + "]";
}

std::string to_json(const Party& party) {
    const auto number = [](auto value) { return std::to_string(value); };
    return "{\"instruction\": " + quoted(party.instruction) + ", \"pc\": " + number(party.pc) +
           ", \"workgroup\": " + to_json(party.workgroup) + ", \"wave\": " + number(party.wave) +
           ", \"file\": " + quoted(party.file) + ", \"line\": " + number(party.line) +
           ", \"column\": " + number(party.column) + "}";
}

std::string to_json(const Report& report) {
    const auto number = [](auto value) { return std::to_string(value); };
    return "{\"kind\": " + quoted(report.kind) + ", \"message\": " + quoted(report.message) +
           ", \"instruction\": " + quoted(report.instruction) + ", \"pc\": " + number(report.pc) +
           ", \"workgroup\": " + to_json(report.workgroup) + ", \"wave\": " + number(report.wave) +
           ", \"lane\": " + number(report.lane) + ", \"address\": " + number(report.address) +
           ", \"file\": " + quoted(report.file) + ", \"line\": " + number(report.line) +
           ", \"column\": " + number(report.column) +
           ", \"other\": " + (report.other ? to_json(*report.other) : "null") + "}";
}

std::string to_json(const Counters& counters, uint64_t launches) {
    std::string result = "{\"launches\": " + std::to_string(launches);
    const auto add = [&](const char* name, uint64_t value) {
        result += ", \"" + std::string(name) + "\": " + std::to_string(value);
    };
    add("instructions", counters.instructions);
    add("mfma", counters.mfma);
    add("lds_reads", counters.lds_reads);
    add("lds_writes", counters.lds_writes);
    add("global_loads", counters.global_loads);
    add("global_stores", counters.global_stores);
    add("barriers", counters.barriers);
    add("lds_conflict_cycles", counters.lds_conflict_cycles);
    return result + "}";
}

std::string to_json(const WaitUse& use) {
    const auto number = [](auto value) { return std::to_string(value); };
    return "{\"offset\": " + number(int64_t(use.pc)) + ", \"passed\": " + number(use.passed) +
           ", \"vector_loads\": " + number(use.vector_loads) +
           ", \"vector_stores\": " + number(use.vector_stores) + ", \"lds\": " + number(use.lds) +
           ", \"scalar\": " + number(use.scalar) + "}";
}

bool fits(const std::string& result, const char* text, size_t size) {
    return text != nullptr && result.size() < size;
}

long give(const std::string& result, char* text, size_t size) {
    if (fits(result, text, size)) std::memcpy(text, result.c_str(), result.size() + 1);
    return static_cast<long>(result.size());
}

/// Runs a body that gives a length; no exception leaves the library.
template <typename Body>
long guarded_text(Body body) noexcept {
    try {
        return body();
    } catch (const std::exception&) {
        return -1;
    }
}

}  // namespace

HIP_API const char* hkcVersion() {
    return HKC_VERSION;
}

HIP_API const char* hkcVectorVariant() {
    return vector_variant().name;
}

HIP_API hipError_t hkcSetMode(int ordinal, int mode) {
    return guarded([&] {
        Device* device = device_at(ordinal);
        if (device == nullptr) return finish(hipErrorInvalidDevice);
        if (mode != 0 && mode != 1) return finish(hipErrorInvalidValue, "mode 0 is fast, 1 is checked");
        const std::lock_guard lock(device->mutex);
        device->mode = mode == 1 ? Mode::checked : Mode::fast;
        return hipSuccess;
    });
}

HIP_API int hkcGetMode(int ordinal) {
    return static_cast<int>(guarded_text([&]() -> long {
        Device* device = device_at(ordinal);
        if (device == nullptr) return -1;
        const std::lock_guard lock(device->mutex);
        return device->mode == Mode::checked ? 1 : 0;
    }));
}

HIP_API hipError_t hkcSetThreads(int ordinal, unsigned threads) {
    return guarded([&] {
        Device* device = device_at(ordinal);
        if (device == nullptr) return finish(hipErrorInvalidDevice);
        const std::lock_guard lock(device->mutex);
        device->threads = threads;
        return hipSuccess;
    });
}

HIP_API hipError_t hkcSetInstructionBudget(int ordinal, unsigned long long instructions) {
    return guarded([&] {
        Device* device = device_at(ordinal);
        if (device == nullptr) return finish(hipErrorInvalidDevice);
        const std::lock_guard lock(device->mutex);
        device->instruction_budget = instructions;
        return hipSuccess;
    });
}

HIP_API long hkcReports(int ordinal, char* text, size_t size, int clear) {
    return guarded_text([&]() -> long {
        Device* device = device_at(ordinal);
        if (device == nullptr) return -1;
        const std::lock_guard lock(device->mutex);
        std::string result = "[";
        for (const Report& report : device->reports) {
            if (result.size() > 1) result += ", ";
            result += to_json(report);
        }
        result += "]";
        if (clear != 0 && fits(result, text, size)) device->reports.clear();
        return give(result, text, size);
    });
}

HIP_API long hkcWaits(int ordinal, char* text, size_t size) {
    return guarded_text([&]() -> long {
        Device* device = device_at(ordinal);
        if (device == nullptr) return -1;
        const std::lock_guard lock(device->mutex);
        std::string result = "[";
        for (const WaitUse& use : device->waits) {
            if (result.size() > 1) result += ", ";
            result += to_json(use);
        }
        return give(result + "]", text, size);
    });
}

HIP_API long hkcLastTrap(int ordinal, char* text, size_t size) {
    return guarded_text([&]() -> long {
        Device* device = device_at(ordinal);
        if (device == nullptr) return -1;
        const std::lock_guard lock(device->mutex);
        return give(device->trap, text, size);
    });
}

HIP_API long hkcCounters(int ordinal, char* text, size_t size, int clear) {
    return guarded_text([&]() -> long {
        Device* device = device_at(ordinal);
        if (device == nullptr) return -1;
        const std::lock_guard lock(device->mutex);
        const std::string result = to_json(device->counters, device->launches);
        if (clear != 0 && fits(result, text, size)) {
            device->counters = Counters{};
            device->launches = 0;
        }
        return give(result, text, size);
    });
}

HIP_API long hkcErrorDetail(char* text, size_t size) {
    return guarded_text([&]() -> long { return give(last_error().detail, text, size); });
}
