#include "flat_apertures.h"

#include "bindings.h"
#include "checker.h"

namespace hkc::emu {

void atomic_lanes(Wave& w, const Instruction& in, const LaneAddresses& a, uint32_t* d);

namespace {

using checker::Counter;
using checker::Part;
using checker::Pending;

/// The lanes of an access, by where they go.
struct Places {
    LaneAddresses global, scratch;
    alignas(64) uint32_t lds[lanes] = {};
    uint64_t lds_mask = 0, lds_outside = 0;
};

template <Mode mode>
void sort_lanes(Wave& w, const Instruction& in, const LaneAddresses& a, unsigned bytes, Places& p) {
    p.global = p.scratch = a;
    p.global.mask = p.scratch.mask = 0;
    for (uint64_t left = a.mask; left; left &= left - 1) {
        int lane = std::countr_zero(left);
        uint64_t bit = 1ull << lane, aperture = a.at[lane] >> aperture_at;
        p.lds[lane] = uint32_t(a.at[lane]);
        p.scratch.at[lane] = uint32_t(a.at[lane]);
        if (aperture == scratch_aperture) {
            p.scratch.mask |= bit;
        } else if (aperture != lds_aperture) {
            p.global.mask |= bit;
        } else if (uint64_t(p.lds[lane]) + bytes <= w.lds_size) {
            p.lds_mask |= bit;
        } else {
            p.lds_outside |= bit;
            if constexpr (mode == Mode::checked) checker::lds_out_of_bounds(w, in, lane, p.lds[lane], bytes);
        }
    }
}

/// Lanes that access nothing read 0.
void clear(uint32_t* d, const MemoryOp& op, uint64_t mask) {
    for (; mask; mask &= mask - 1) {
        unsigned lane = unsigned(std::countr_zero(mask));
        for (unsigned i = 0; i < op.dwords(); ++i)
            d[i * lanes + lane] = merge_part(d[i * lanes + lane], 0, op.part);
    }
}

}  // namespace

bool in_apertures(const LaneAddresses& a) {
    for (uint64_t left = a.mask; left; left &= left - 1) {
        uint64_t aperture = a.at[std::countr_zero(left)] >> aperture_at;
        if (aperture == lds_aperture || aperture == scratch_aperture) return true;
    }
    return false;
}

template <Mode mode>
void load_mixed(Wave& w, const Instruction& in, const LaneAddresses& a) {
    const MemoryOp& op = *in.kernel.memory;
    ++w.counters.global_loads;
    Places p;
    sort_lanes<mode>(w, in, a, op.bytes, p);
    if (!admit<mode>(w, in, p.global, op.bytes, false)) return;
    if (!scratch_in_bounds(w, in, p.scratch, op.bytes)) return;
    uint32_t* d = w.vgpr[in.dst.index];
    Pending* pending = nullptr;
    if constexpr (mode == Mode::checked) {
        pending = checker::begin_load(w, in, Counter::flat, a.mask, op.part);
        d = checker::rows(pending);
        checker::global_read(w, in, p.global.at, p.global.mask, op.bytes);
        checker::lds_read(w, in, p.lds, p.lds_mask, op.bytes, pending, 0);
    }
    load_lanes([&](unsigned lane) { return host(p.global.at[lane]); }, p.global.mask, d, op);
    load_lanes([&](unsigned lane) { return w.lds + p.lds[lane]; }, p.lds_mask, d, op);
    for (uint64_t left = p.scratch.mask; left; left &= left - 1) {
        unsigned lane = unsigned(std::countr_zero(left));
        uint8_t bytes[16];
        read_scratch(w, p.scratch.at[lane], lane, bytes, op.bytes);
        if constexpr (mode == Mode::checked)
            checker::scratch_load(w, in, int(lane), p.scratch.at[lane], op.bytes, pending, 0);
        load_lanes([&](unsigned) { return bytes; }, 1ull << lane, d, op);
    }
    clear(d, op, p.global.zero | p.lds_outside);
}

template <Mode mode>
void store_mixed(Wave& w, const Instruction& in, const LaneAddresses& a) {
    const MemoryOp& op = *in.kernel.memory;
    ++w.counters.global_stores;
    Places p;
    sort_lanes<mode>(w, in, a, op.bytes, p);
    if (!admit<mode>(w, in, p.global, op.bytes, true)) return;
    if (!scratch_in_bounds(w, in, p.scratch, op.bytes)) return;
    const uint32_t* data = w.vgpr[in.src[1].index];
    if constexpr (mode == Mode::checked) {
        checker::count_only(w, in, Counter::flat);
        checker::global_write(w, in, p.global.at, p.global.mask, op.bytes, data);
        checker::lds_write(w, in, p.lds, p.lds_mask, op.bytes, &in.src[1], 0);
    }
    store_lanes([&](unsigned lane) { return host(p.global.at[lane]); }, p.global.mask, data, op);
    store_lanes([&](unsigned lane) { return w.lds + p.lds[lane]; }, p.lds_mask, data, op);
    for (uint64_t left = p.scratch.mask; left; left &= left - 1) {
        unsigned lane = unsigned(std::countr_zero(left));
        uint8_t bytes[16];
        store_lanes([&](unsigned) { return bytes; }, 1ull << lane, data, op);
        if constexpr (mode == Mode::checked)
            checker::scratch_store(w, in, int(lane), p.scratch.at[lane], op.bytes, 0);
        write_scratch(w, p.scratch.at[lane], lane, bytes, op.bytes);
    }
}

/// LDS belongs to the workgroup, whose waves one thread runs in turn: its atomics need no more than to be done.
template <class T>
static void update_lds(Wave& w, const Instruction& in, const Places& p, uint32_t* d) {
    const MemoryOp& op = *in.kernel.memory;
    const uint32_t* s = w.vgpr[in.src[1].index];
    constexpr unsigned dwords = sizeof(T) / 4;
    auto value = [&](unsigned row, unsigned lane) {
        T v = s[row * lanes + lane];
        if constexpr (dwords == 2) v |= T(s[(row + 1) * lanes + lane]) << 32;
        return v;
    };
    for (uint64_t left = p.lds_mask; left; left &= left - 1) {
        unsigned lane = unsigned(std::countr_zero(left));
        T old, compare = op.atomic == Atomic::cmpswap ? value(dwords, lane) : 0;
        std::memcpy(&old, w.lds + p.lds[lane], sizeof old);
        T updated = apply(op.atomic, old, value(0, lane), compare);
        std::memcpy(w.lds + p.lds[lane], &updated, sizeof updated);
        for (unsigned i = 0; d && i < dwords; ++i) d[i * lanes + lane] = uint32_t(uint64_t(old) >> (32 * i));
    }
}

template <Mode mode>
void atomic_mixed(Wave& w, const Instruction& in, const LaneAddresses& a) {
    const MemoryOp& op = *in.kernel.memory;
    ++w.counters.global_stores;
    Places p;
    sort_lanes<mode>(w, in, a, op.bytes, p);
    if (p.scratch.mask) return trap(w, in, "flat atomic on scratch, which has no atomics");
    for (uint64_t left = p.global.mask | p.lds_mask; left; left &= left - 1) {
        int lane = std::countr_zero(left);
        if (a.at[lane] % op.bytes) return alignment_fault(w, in, lane, a.at[lane]);
    }
    if (!admit<mode>(w, in, p.global, op.bytes, true)) return;
    uint32_t* d = in.dst.vgpr() ? w.vgpr[in.dst.index] : nullptr;
    if constexpr (mode == Mode::checked) {
        checker::global_atomic(w);
        if (d)
            d = checker::rows(checker::begin_load(w, in, Counter::flat, a.mask, Part::dword));
        else
            checker::count_only(w, in, Counter::flat);
        checker::lds_write(w, in, p.lds, p.lds_mask, op.bytes, nullptr, 0);
    }
    atomic_lanes(w, in, p.global, d);
    if (op.bytes == 8)
        update_lds<uint64_t>(w, in, p, d);
    else
        update_lds<uint32_t>(w, in, p, d);
    if (d) clear(d, op, p.lds_outside);
}

template void load_mixed<Mode::fast>(Wave&, const Instruction&, const LaneAddresses&);
template void load_mixed<Mode::checked>(Wave&, const Instruction&, const LaneAddresses&);
template void store_mixed<Mode::fast>(Wave&, const Instruction&, const LaneAddresses&);
template void store_mixed<Mode::checked>(Wave&, const Instruction&, const LaneAddresses&);
template void atomic_mixed<Mode::fast>(Wave&, const Instruction&, const LaneAddresses&);
template void atomic_mixed<Mode::checked>(Wave&, const Instruction&, const LaneAddresses&);

}  // namespace hkc::emu
