// Shared parts of the vector memory executors.
#pragma once

#include "checker.h"
#include "dispatch.h"
#include "lane_copy.h"
#include "wave.h"

namespace hkc::emu {

/// Where each lane of a vector memory instruction goes.
struct LaneAddresses {
    alignas(64) uint64_t at[lanes];
    uint64_t mask;  ///< Lanes that access memory.
    uint64_t zero;  ///< Active lanes that read 0 and write nothing (buffer range checks).
};

/// Like memory_fault, for an atomic whose address is not a multiple of its size.
void alignment_fault(Wave& wave, const Instruction& in, int lane, uint64_t address);

/// Traps if a lane leaves the device memory; in checked mode drops lanes that must not go ahead. False if trapped.
template <Mode mode>
bool admit(Wave& w, const Instruction& in, LaneAddresses& a, unsigned bytes, bool store) {
    uint64_t span = w.window->end - w.window->begin - bytes, outside = 0;
    for (unsigned lane = 0; lane < lanes; ++lane) {
        uint64_t bad = a.at[lane] - w.window->begin > span;
        outside |= bad << lane;
    }
    outside &= a.mask;
    for (uint64_t left = outside; left; left &= left - 1) {
        int lane = std::countr_zero(left);
        if (w.window->contains(a.at[lane], bytes)) continue;
        memory_fault(w, in, lane, a.at[lane]);
        return false;
    }
    if constexpr (mode == Mode::checked) {
        uint64_t allowed = checker::global_access(w, in, a.at, a.mask, bytes, store);
        a.zero |= a.mask & ~allowed;
        a.mask = allowed;
    }
    return true;
}

inline uint8_t* host(uint64_t address) {
    return reinterpret_cast<uint8_t*>(address);
}

template <Mode mode>
void load_global(Wave& w, const Instruction& in, LaneAddresses& a, checker::Counter counter) {
    const MemoryOp& op = *in.kernel.memory;
    ++w.counters.global_loads;
    if (!admit<mode>(w, in, a, op.bytes, false)) return;
    uint32_t* d = w.vgpr[in.dst.index];
    if constexpr (mode == Mode::checked)
        d = checker::rows(checker::begin_load(w, in, counter, a.mask | a.zero, op.part));
    if constexpr (mode == Mode::checked) checker::global_read(w, in, a.at, a.mask, op.bytes);
    load_lanes([&](unsigned lane) { return host(a.at[lane]); }, a.mask, d, op);
    for (uint64_t left = a.zero; left; left &= left - 1) {
        unsigned lane = unsigned(std::countr_zero(left));
        for (unsigned i = 0; i < op.dwords(); ++i)
            d[i * lanes + lane] = merge_part(d[i * lanes + lane], 0, op.part);
    }
}

template <Mode mode>
void store_global(Wave& w, const Instruction& in, LaneAddresses& a, checker::Counter counter) {
    const MemoryOp& op = *in.kernel.memory;
    ++w.counters.global_stores;
    if (!admit<mode>(w, in, a, op.bytes, true)) return;
    if constexpr (mode == Mode::checked) {
        checker::count_only(w, in, counter);
        checker::global_write(w, in, a.at, a.mask, op.bytes, w.vgpr[in.src[1].index]);
    }
    store_lanes([&](unsigned lane) { return host(a.at[lane]); }, a.mask, w.vgpr[in.src[1].index], op);
}

template <Mode mode>
void atomic_global(Wave& w, const Instruction& in, LaneAddresses& a, checker::Counter counter) {
    const MemoryOp& op = *in.kernel.memory;
    ++w.counters.global_stores;
    for (uint64_t left = a.mask; left; left &= left - 1) {
        int lane = std::countr_zero(left);
        if (a.at[lane] % op.bytes) return alignment_fault(w, in, lane, a.at[lane]);
    }
    if (!admit<mode>(w, in, a, op.bytes, true)) return;
    uint32_t* d = in.dst.vgpr() ? w.vgpr[in.dst.index] : nullptr;
    if constexpr (mode == Mode::checked) {
        checker::global_atomic(w);
        if (d)
            d = checker::rows(checker::begin_load(w, in, counter, a.mask | a.zero, checker::Part::dword));
        else
            checker::count_only(w, in, counter);
    }
    void atomic_lanes(Wave&, const Instruction&, const LaneAddresses&, uint32_t* d);
    atomic_lanes(w, in, a, d);
}

/// Copies `bytes` of each lane straight into LDS, `pitch` apart; lanes of `zero` get zeros.
template <unsigned bytes, unsigned pitch>
void copy_to_lds(uint8_t* lds, const LaneAddresses& a) {
    for (uint64_t left = a.mask; left; left &= left - 1) {
        unsigned lane = unsigned(std::countr_zero(left));
        std::memcpy(lds + lane * pitch, host(a.at[lane]), bytes);
    }
    for (uint64_t left = a.zero; left; left &= left - 1)
        std::memset(lds + unsigned(std::countr_zero(left)) * pitch, 0, bytes);
}

/// Puts the bytes at `from(lane)` of the lanes of `mask`, and zeros for those of `zero`, into LDS at `base` + lane * pitch.
template <Mode mode, class From>
void place_in_lds(Wave& w, const Instruction& in, From from, uint64_t mask, uint64_t zero, uint32_t base) {
    const MemoryOp& op = *in.kernel.memory;
    if constexpr (mode == Mode::checked)
        if (base % 4 && mask) checker::misaligned(w, in, -1, "LDS ", base, 4);
    unsigned pitch = op.bytes <= 4 ? 4 : 16;  // dwordx3 leaves every fourth dword alone.
    unsigned written = op.bytes < 4 ? 4 : op.bytes;
    alignas(64) uint32_t at[lanes];
    uint8_t data[lanes * 16];
    uint64_t written_lanes = mask | zero;
    for (uint64_t left = written_lanes; left; left &= left - 1) {
        unsigned lane = unsigned(std::countr_zero(left));
        at[lane] = base + lane * pitch;
        uint32_t v[4] = {};
        if (mask >> lane & 1) std::memcpy(v, from(lane), op.bytes);
        if (op.sign)
            v[0] = op.bytes == 1 ? uint32_t(int32_t(int8_t(v[0]))) : uint32_t(int32_t(int16_t(v[0])));
        std::memcpy(data + lane * written, v, written);
        if (uint64_t(at[lane]) + written > w.lds_size) {
            written_lanes &= ~(1ull << lane);
            if constexpr (mode == Mode::checked)
                checker::lds_out_of_bounds(w, in, int(lane), at[lane], written);
        }
    }
    if constexpr (mode == Mode::checked) return checker::lds_direct(w, in, at, written_lanes, written, data);
    for (uint64_t left = written_lanes; left; left &= left - 1) {
        unsigned lane = unsigned(std::countr_zero(left));
        std::memcpy(w.lds + at[lane], data + lane * written, written);
    }
}

/// Loads each lane's bytes and puts them into LDS.
template <Mode mode>
void load_to_lds(Wave& w, const Instruction& in, LaneAddresses& a, uint32_t base) {
    const MemoryOp& op = *in.kernel.memory;
    ++w.counters.global_loads;
    if (!admit<mode>(w, in, a, op.bytes, false)) return;
    if constexpr (mode == Mode::checked) checker::global_read(w, in, a.at, a.mask, op.bytes);
    if constexpr (mode == Mode::fast) {  // the usual case: whole dwords, all of them inside
        unsigned pitch = op.bytes <= 4 ? 4 : 16;
        if (op.bytes >= 4 && uint64_t(base) + (lanes - 1) * pitch + op.bytes <= w.lds_size) {
            if (op.bytes == 16) return copy_to_lds<16, 16>(w.lds + base, a);
            if (op.bytes == 12) return copy_to_lds<12, 16>(w.lds + base, a);
            if (op.bytes == 4) return copy_to_lds<4, 4>(w.lds + base, a);
        }
    }
    place_in_lds<mode>(w, in, [&](unsigned lane) { return host(a.at[lane]); }, a.mask, a.zero, base);
}

/// M0 holds the LDS base: 16 bits on gfx942, 18 on gfx950.
inline uint32_t lds_base(const Wave& w) {
    return w.sgpr[sgpr::m0] & (w.arch == Arch::gfx942 ? 0xffffu : 0x3ffffu);
}

/// Offsets of scratch accesses, which are interleaved by dwords over the lanes. False if one was out of bounds, which has
/// trapped.
bool scratch_in_bounds(Wave& wave, const Instruction& in, const LaneAddresses& a, unsigned bytes);
/// The bytes of one lane.
void read_scratch(const Wave& wave, uint64_t offset, unsigned lane, uint8_t* to, unsigned bytes);
void write_scratch(Wave& wave, uint64_t offset, unsigned lane, const uint8_t* from, unsigned bytes);

}  // namespace hkc::emu
