// SCRATCH instructions.
#include <algorithm>
#include <cstdio>

#include "bindings.h"
#include "vector_memory.h"

namespace hkc::emu {
namespace {

using checker::Counter;
using checker::Part;

/// Scratch offset of each lane (CDNA3 ISA guide, "Scratch"): SGPR + VGPR (if SVE) + immediate.
void scratch_offsets(const Wave& w, const Instruction& in, LaneAddresses& a) {
    uint32_t base = uint32_t(in.imm) + (in.flags & flag_saddr ? w.sgpr[in.src[2].index] : 0);
    for (unsigned lane = 0; lane < lanes; ++lane)
        a.at[lane] = uint32_t(base + (in.flags & flag_sve ? w.vgpr[in.src[0].index][lane] : 0));
    a.mask = w.exec();
    a.zero = 0;
}

/// Scratch is interleaved by dwords over the lanes.
uint8_t* scratch_byte(const Wave& w, uint64_t offset, unsigned lane) {
    return w.scratch + offset / 4 * (4 * lanes) + lane * 4 + offset % 4;
}

/// Bytes of an access that lie within one scratch dword.
unsigned piece(uint64_t offset, unsigned left) {
    return std::min(left, unsigned(4 - offset % 4));
}

}  // namespace

bool scratch_in_bounds(Wave& w, const Instruction& in, const LaneAddresses& a, unsigned bytes) {
    for (uint64_t left = a.mask; left; left &= left - 1) {
        int lane = std::countr_zero(left);
        if (a.at[lane] + bytes <= w.private_segment) continue;
        char text[128];
        std::snprintf(text, sizeof text,
                      "scratch offset %llu of lane %d is outside of the %u bytes a lane has",
                      static_cast<unsigned long long>(a.at[lane]), lane, w.private_segment);
        trap(w, in, text);
        return false;
    }
    return true;
}

void read_scratch(const Wave& w, uint64_t offset, unsigned lane, uint8_t* to, unsigned bytes) {
    for (unsigned at = 0, n; at < bytes; at += n) {
        n = piece(offset + at, bytes - at);
        std::memcpy(to + at, scratch_byte(w, offset + at, lane), n);
    }
}

void write_scratch(Wave& w, uint64_t offset, unsigned lane, const uint8_t* from, unsigned bytes) {
    for (unsigned at = 0, n; at < bytes; at += n) {
        n = piece(offset + at, bytes - at);
        std::memcpy(scratch_byte(w, offset + at, lane), from + at, n);
    }
}

namespace {

template <Mode mode>
void scratch_load(Wave& w, const Instruction& in) {
    const MemoryOp& op = *in.kernel.memory;
    LaneAddresses a;
    scratch_offsets(w, in, a);
    if (!scratch_in_bounds(w, in, a, op.bytes)) return;
    uint32_t* d = w.vgpr[in.dst.index];
    checker::Pending* pending = nullptr;
    if constexpr (mode == Mode::checked) {
        pending = checker::begin_load(w, in, Counter::vector_memory, a.mask, op.part);
        d = checker::rows(pending);
    }
    for (uint64_t left = a.mask; left; left &= left - 1) {
        unsigned lane = unsigned(std::countr_zero(left));
        uint8_t bytes[16] = {};
        read_scratch(w, a.at[lane], lane, bytes, op.bytes);
        if constexpr (mode == Mode::checked)
            checker::scratch_load(w, in, int(lane), a.at[lane], op.bytes, pending, 0);
        load_lanes([&](unsigned) { return bytes; }, 1ull << lane, d, op);
    }
}

template <Mode mode>
void scratch_store(Wave& w, const Instruction& in) {
    const MemoryOp& op = *in.kernel.memory;
    LaneAddresses a;
    scratch_offsets(w, in, a);
    if (!scratch_in_bounds(w, in, a, op.bytes)) return;
    if constexpr (mode == Mode::checked) checker::count_only(w, in, Counter::vector_memory);
    for (uint64_t left = a.mask; left; left &= left - 1) {
        unsigned lane = unsigned(std::countr_zero(left));
        uint8_t bytes[16];
        store_lanes([&](unsigned) { return bytes; }, 1ull << lane, w.vgpr[in.src[1].index], op);
        if constexpr (mode == Mode::checked)
            checker::scratch_store(w, in, int(lane), a.at[lane], op.bytes, 0);
        write_scratch(w, a.at[lane], lane, bytes, op.bytes);
    }
}

/// The offset of the instruction counts for both addresses.
template <Mode mode>
void scratch_to_lds(Wave& w, const Instruction& in) {
    const MemoryOp& op = *in.kernel.memory;
    LaneAddresses a;
    scratch_offsets(w, in, a);
    if (!scratch_in_bounds(w, in, a, op.bytes)) return;
    uint8_t bytes[lanes][4];
    for (uint64_t left = a.mask; left; left &= left - 1) {
        unsigned lane = unsigned(std::countr_zero(left));
        read_scratch(w, a.at[lane], lane, bytes[lane], op.bytes);
    }
    uint32_t base = (lds_base(w) & ~3u) + uint32_t(in.imm);
    place_in_lds<mode>(w, in, [&](unsigned lane) { return bytes[lane]; }, a.mask, 0, base);
}

#define SCRATCH(name, action, ...)                      \
    {.mnemonic = "scratch_" name,                       \
     .memory =                                          \
         [] {                                           \
             static constexpr MemoryOp op{__VA_ARGS__}; \
             return &op;                                \
         }(),                                           \
     .fast = action<Mode::fast>,                        \
     .checked = action<Mode::checked>}
#define LOAD(name, ...) SCRATCH("load_" name, scratch_load, __VA_ARGS__)
#define STORE(name, ...) SCRATCH("store_" name, scratch_store, __VA_ARGS__)
#define TO_LDS(name, ...) SCRATCH("load_lds_" name, scratch_to_lds, __VA_ARGS__)

const Binding bindings[] = {
    LOAD("ubyte", .bytes = 1),
    LOAD("sbyte", .bytes = 1, .sign = true),
    LOAD("ushort", .bytes = 2),
    LOAD("sshort", .bytes = 2, .sign = true),
    LOAD("dword", .bytes = 4),
    LOAD("dwordx2", .bytes = 8),
    LOAD("dwordx3", .bytes = 12),
    LOAD("dwordx4", .bytes = 16),
    LOAD("ubyte_d16", .bytes = 1, .part = Part::low_half),
    LOAD("ubyte_d16_hi", .bytes = 1, .part = Part::high_half),
    LOAD("sbyte_d16", .bytes = 1, .sign = true, .part = Part::low_half),
    LOAD("sbyte_d16_hi", .bytes = 1, .sign = true, .part = Part::high_half),
    LOAD("short_d16", .bytes = 2, .part = Part::low_half),
    LOAD("short_d16_hi", .bytes = 2, .part = Part::high_half),
    STORE("byte", .bytes = 1),
    STORE("byte_d16_hi", .bytes = 1, .part = Part::high_half),
    STORE("short", .bytes = 2),
    STORE("short_d16_hi", .bytes = 2, .part = Part::high_half),
    STORE("dword", .bytes = 4),
    STORE("dwordx2", .bytes = 8),
    STORE("dwordx3", .bytes = 12),
    STORE("dwordx4", .bytes = 16),
    TO_LDS("ubyte", .bytes = 1),
    TO_LDS("sbyte", .bytes = 1, .sign = true),
    TO_LDS("ushort", .bytes = 2),
    TO_LDS("sshort", .bytes = 2, .sign = true),
    TO_LDS("dword", .bytes = 4),
};

}  // namespace

std::span<const Binding> scratch_bindings() {
    return bindings;
}

}  // namespace hkc::emu
