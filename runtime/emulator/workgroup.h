// A workgroup in execution, and what all workgroups of a dispatch share.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "decoder.h"
#include "dispatch.h"
#include "global_races.h"
#include "relocation.h"
#include "wave.h"

namespace hkc::emu {

struct WorkgroupShadow;

/// What the workgroups of one dispatch share. Thread safe.
class RunContext {
 public:
    RunContext(const Dispatch& dispatch, const RunOptions& options, MemoryMap& memory);

    const Dispatch& dispatch;
    const RunOptions& options;
    MemoryMap& memory;
    std::shared_ptr<const Program> program;
    MemoryWindow window;
    uint32_t lds_bytes = 0;  ///< Allocated, a multiple of the granule.
    RelocatedCode relocated;
    std::unique_ptr<GlobalShadow> global;  ///< In checked mode, of dispatches of several workgroups.

    bool stopped() const { return stopped_.load(std::memory_order_relaxed); }
    void trap(const std::string& message);

    /// Keeps the report unless its pc and kind are known or its kind has had its share.
    void report(Report report);
    /// Whether a report of this kind at `pc` would be kept; cheap enough to ask before composing a message.
    bool wants(const char* kind, uint64_t pc);

    void add(const Counters& counters);
    void add(const WaitUse& use);
    RunResult take_result();

 private:
    std::atomic<bool> stopped_{false};
    std::mutex mutex_;
    RunResult result_;
    std::map<std::string, std::map<uint64_t, bool>, std::less<>> seen_;  ///< Kind -> program counters.
    std::map<uint64_t, WaitUse> waits_;  ///< By program counter.
};

struct Workgroup {
    RunContext* run = nullptr;
    std::array<uint32_t, 3> id{};
    Wave* waves = nullptr;
    unsigned wave_count = 0;
    WorkgroupShadow* shadow = nullptr;  ///< nullptr in fast mode.
};

/// A report about `in` with everything filled in but the message.
Report make_report(const Wave& wave, const Instruction& in, const char* kind);
/// `in` in wave `index` of the workgroup of `wave`.
Party make_party(const Wave& wave, const Instruction& in, int index);

}  // namespace hkc::emu
