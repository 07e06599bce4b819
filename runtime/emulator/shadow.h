// The state of checked mode: what is undefined, what is in flight, who touched which LDS bytes.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "checker.h"
#include "hazard.h"
#include "workgroup.h"

namespace hkc::emu {

/// Undefined bytes of one VGPR: plane b has a bit for each lane whose byte b is undefined.
using Planes = std::array<uint64_t, 4>;

namespace checker {

/// The LDS bytes that one instruction touches: `bytes` at `at[lane]` for each lane of `mask`.
struct LdsAccess {
    uint32_t at[lanes];
    uint64_t mask = 0;
    unsigned bytes = 0;
    bool write = false;
};

/// An operation that a counter counts, from its issue to the wait that guarantees it.
struct Pending {
    const Instruction* in = nullptr;
    Counter counter = Counter::vector_memory;
    bool counts_only = false;
    unsigned units = 1;  ///< Of lgkmcnt; scalar loads of more than a dword count 2.
    // A load's result.
    uint16_t first = 0;
    uint8_t dwords = 0;
    Part part = Part::dword;
    uint64_t mask = 0;
    std::vector<uint32_t> data;
    std::vector<Planes> undefined;
    // LDS bytes read or written, and data on its way to LDS.
    std::vector<LdsAccess> accesses;
    std::vector<uint8_t> direct;
};

}  // namespace checker

struct WaveShadow {
    std::array<Planes, 512> undefined{};
    std::array<uint64_t, 512> in_flight{};  ///< Lanes of each VGPR that a load has yet to write.
    std::array<uint32_t, sgpr::count> sgpr_undefined{};  ///< Bits.
    std::array<bool, sgpr::count> sgpr_in_flight{};
    bool scc_undefined = false;
    bool overlapping = false;  ///< Several loads in flight write the same VGPR.
    uint32_t epoch = 0;  ///< Barriers passed; continues from workgroup to workgroup.
    std::deque<std::unique_ptr<checker::Pending>> vector_queue, lds_queue, scalar_queue;
    std::vector<std::unique_ptr<checker::Pending>> spare;
    checker::Pending* last = nullptr;  ///< Begun by the current instruction.
    std::vector<uint64_t> scratch_defined;  ///< Lanes, for each scratch byte.
    uint64_t missed_barrier = 0;  ///< Lanes that were inactive at one.
    const Instruction* missed = nullptr;  ///< The last such barrier.
    std::unordered_map<const Instruction*, WaitUse> waits;
    hazard::History history;

    bool anything_in_flight() const {
        return !vector_queue.empty() || !lds_queue.empty() || !scalar_queue.empty();
    }
};

/// What is known of the smallest LDS unit (4 bytes, or less if the program has smaller accesses). Epochs count
/// barriers, so accesses of different waves in the same epoch are not ordered.
struct LdsUnit {
    uint32_t write_epoch = 0, read_epoch = 0;
    uint32_t carried_write_epoch = 0,
             carried_read_epoch = 0;  ///< Not waited for before that epoch's barrier.
    uint32_t write_by = 0, read_by = 0, carried_write_by = 0,
             carried_read_by = 0;  ///< Index of the instruction.
    uint16_t readers = 0, carried_readers = 0, carried_writers = 0;  ///< Waves.
    uint8_t writer = 0;
    bool atomic = false;  ///< The last write.
    bool undefined = false;  ///< The last write stored undefined bytes.
    uint8_t direct_wave = 0, direct_count = 0;  ///< Loads to LDS in flight.
};

struct WorkgroupShadow {
    std::vector<std::unique_ptr<WaveShadow>> waves;
    std::vector<LdsUnit> units;
    unsigned unit_bytes = 4;
    uint32_t first_epoch = 1;  ///< Of this workgroup: older marks are another's.
    Allocation recent{};  ///< The allocation found last.
};

namespace checker {

WaveShadow& shadow_of(Wave& wave);
WorkgroupShadow& group_shadow(Wave& wave);

/// Whether a report of `kind` at `in` would be new.
bool wanted(const Wave& wave, const Instruction& in, const char* kind);
void report(const Wave& wave, const Instruction& in, const char* kind, int lane, uint64_t address,
            std::string message, std::optional<Party> other = {});
std::string hex(uint64_t value);

std::unique_ptr<Pending> take(WaveShadow& shadow, const Instruction& in, Counter counter);
void enqueue(Wave& wave, std::unique_ptr<Pending> pending);

// Registers (checker_registers.cpp).
void check_registers(Wave& wave, const Instruction& in);
void commit_load(WaveShadow& shadow, Wave& wave, Pending& pending);

// Undefined values (undefined.cpp, undefined_scalar.cpp).
void flow_undefined(Wave& wave, const Instruction& in);
void flow_undefined_scalar(Wave& wave, const Instruction& in);
uint64_t undefined_lanes(const Planes& planes);

// LDS (checker_lds.cpp).
void commit_direct(Wave& wave, Pending& pending);
void carry_over_barrier(Wave& wave);
void add_conflict_cycles(Wave& wave, const Instruction& in, const uint32_t* address, uint64_t mask,
                         unsigned bytes);

}  // namespace checker
}  // namespace hkc::emu
