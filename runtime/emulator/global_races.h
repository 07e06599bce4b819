// Checked mode: order of global memory accesses by different workgroups.
//
// Nothing orders two workgroups of a dispatch but atomics. A plain store races with the other workgroups' plain loads and
// stores of the same bytes, unless it stores what is there already.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "wave.h"

namespace hkc::emu {

class RunContext;

/// Who touched which bytes of device memory in one dispatch. Thread safe. Its memory is bounded: what is touched after
/// the bound is reached, in pages not seen before, is not followed.
class GlobalShadow {
 public:
    static constexpr size_t most_bytes = 256u << 20;

    /// `unit_bytes`: 1, 2 or 4, the program's smallest access to global memory.
    explicit GlobalShadow(unsigned unit_bytes) : unit_bytes_(unit_bytes) {}

    void read(Wave& wave, const Instruction& in, int lane, uint64_t address, unsigned bytes);
    void write(Wave& wave, const Instruction& in, int lane, uint64_t address, unsigned bytes,
               const uint8_t* data);
    /// The workgroup has made an atomic access, which may order it against others that do.
    void atomic(const Wave& wave);

 private:
    /// A workgroup's access to a unit. `group` is 0 if there was none.
    struct Mark {
        uint32_t group = 0;
        uint32_t place = 0;  ///< Instruction's index in the program * 16 + wave.
        uint32_t time = 0;
    };
    struct Unit {
        Mark write;
        Mark reads[2];  ///< By the first workgroup that read, and the last other one.
        uint32_t value = 0;  ///< Written last.
        bool changed = false;  ///< By writes.
        bool agreed = false;  ///< Several workgroups wrote the same value.
    };
    struct Access {
        Wave& wave;
        const Instruction& in;
        int lane;
        uint64_t address;
        unsigned bytes;
        Mark mark;
    };
    static constexpr uint64_t page_bytes = 4096;
    static constexpr size_t shard_count = 64, group_slots = 4096;
    struct Shard {
        std::mutex mutex;
        std::unordered_map<uint64_t, std::unique_ptr<Unit[]>> pages;
    };

    template <class F>
    void for_units(uint64_t address, unsigned bytes, F f);
    Unit* page(Shard& shard, uint64_t number);
    Access access(Wave& wave, const Instruction& in, int lane, uint64_t address, unsigned bytes) const;
    bool unordered(const Mark& before, const Mark& now) const;
    void report(const Access& a, const char* verb, const Mark& before, const char* other_verb) const;
    static bool set_value(Unit& unit, uint64_t address, unsigned bytes, uint32_t value);

    const unsigned unit_bytes_;
    std::array<Shard, shard_count> shards_;
    std::atomic<size_t> allocated_{0};
    // A clock that atomics advance, and each workgroup's last atomic (several may share a slot).
    std::atomic<uint32_t> clock_{1};
    std::array<std::atomic<uint32_t>, group_slots> last_atomic_{};
};

}  // namespace hkc::emu
