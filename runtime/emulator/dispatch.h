// Running a kernel on the emulated device.
//
// Fast mode computes; checked mode computes what the machine code's waits and barriers guarantee, and reports
// what they do not. Both execute the same instructions from the same decoded program.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "code_object.h"
#include "counters.h"
#include "memory_map.h"

namespace hkc::emu {

enum class Mode : uint8_t { fast, checked };

/// One launch. `grid` counts workgroups, `block` counts work-items; `kernarg` is the whole kernarg segment,
/// hidden arguments included.
struct Dispatch {
    const Kernel* kernel = nullptr;
    std::array<uint32_t, 3> grid{1, 1, 1};
    std::array<uint32_t, 3> block{1, 1, 1};
    const void* kernarg = nullptr;
    size_t kernarg_size = 0;
    uint32_t dynamic_lds = 0;
};

struct RunOptions {
    Mode mode = Mode::fast;
    unsigned threads = 0;  ///< 0: as many as the host has. 1: deterministic.
    unsigned max_reports_per_kind = 10;
    uint64_t instruction_budget =
        0;  ///< Of each wave; one that needs more is stopped and reported. 0: no limit.
};

/// The instruction on the other side of a finding: what wrote, read or is still loading.
struct Party {
    uint64_t pc = 0;
    std::string instruction;
    std::array<uint32_t, 3> workgroup{};
    int wave = 0;
    std::string file;
    uint32_t line = 0, column = 0;
};

/// One finding of checked mode, or the memory fault that ended a dispatch.
///
/// Kinds: "uninitialized-register", "register-before-wait", "lds-race", "lds-before-wait", "out-of-bounds",
/// "use-after-free", "lds-out-of-bounds", "barrier-mismatch", "memory-fault", "runaway",
/// "hazard", "misaligned", "global-race".
struct Report {
    std::string kind;
    std::string message;  ///< One sentence.
    uint64_t pc = 0;
    std::string instruction;
    std::array<uint32_t, 3> workgroup{};
    int wave = 0;
    int lane = -1;  ///< -1 if the finding is the whole wave's.
    uint64_t address = 0;
    std::string file;
    uint32_t line = 0, column = 0;
    std::optional<Party> other;
};

inline Counters operator+(const Counters& a, const Counters& b) {
    return {a.instructions + b.instructions, a.mfma + b.mfma,
            a.lds_reads + b.lds_reads,       a.lds_writes + b.lds_writes,
            a.global_loads + b.global_loads, a.global_stores + b.global_stores,
            a.barriers + b.barriers,         a.lds_conflict_cycles + b.lds_conflict_cycles};
}

/// What one wait or barrier of the program did in checked mode, over all waves: how often it was passed, and how many
/// operations it completed that nothing had completed before.
struct WaitUse {
    uint64_t pc = 0;
    uint64_t passed = 0;
    uint64_t vector_loads = 0;  ///< Of vector memory, with a result in VGPRs or LDS.
    uint64_t vector_stores = 0;  ///< Of vector memory, without one.
    uint64_t lds = 0;  ///< LDS reads and writes.
    uint64_t scalar = 0;  ///< Scalar loads.
};

struct RunResult {
    bool trapped = false;
    std::string trap;  ///< Why: one sentence with mnemonic and address.
    std::vector<Report> reports;
    Counters counters{};
    std::vector<WaitUse> waits;  ///< Checked mode only, by pc.
};

/// Runs the dispatch to its end (or to its first trap) and returns what happened. Never throws on account of what
/// a kernel does, and never touches host memory outside the arena of `memory`.
RunResult run(const Dispatch& dispatch, const RunOptions& options, MemoryMap& memory);

}  // namespace hkc::emu
