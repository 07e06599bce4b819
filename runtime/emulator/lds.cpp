// DS instructions: local data share and lane permutations.
//
// LDS accesses outside of the workgroup's allocation read 0 and write nothing. M0 does not limit them on gfx9 and
// later (LLVM does not initialise it).
#include <algorithm>
#include <cstring>

#include "bindings.h"
#include "checker.h"
#include "dispatch.h"
#include "lane_copy.h"
#include "wave.h"

namespace hkc::emu {
namespace {

using checker::Counter;
using checker::Part;
using checker::Pending;

struct LdsAddresses {
    alignas(64) uint32_t at[lanes];
    uint64_t mask;  ///< Active lanes whose access is within the allocation.
};

template <Mode mode>
void find_addresses(Wave& w, const Instruction& in, uint32_t offset, unsigned bytes, LdsAddresses& a) {
    const uint32_t* base = w.vgpr[in.src[0].index];
    uint32_t highest = 0;
    for (unsigned lane = 0; lane < lanes; ++lane) {
        a.at[lane] = base[lane] + offset;
        highest = std::max(highest, a.at[lane]);
    }
    a.mask = w.exec();
    if (uint64_t(highest) + bytes <= w.lds_size) return;
    for (uint64_t left = a.mask; left; left &= left - 1) {
        int lane = std::countr_zero(left);
        if (uint64_t(a.at[lane]) + bytes <= w.lds_size) continue;
        a.mask &= ~(1ull << lane);
        if constexpr (mode == Mode::checked) checker::lds_out_of_bounds(w, in, lane, a.at[lane], bytes);
    }
}

/// Byte offset of element `i`: one 16-bit offset, or two 8-bit offsets in units of the stride.
uint32_t element_offset(const Instruction& in, const MemoryOp& op, unsigned i) {
    if (op.elements == 1) return uint32_t(in.imm | in.imm2 << 8);
    return uint32_t(i ? in.imm2 : in.imm) * op.stride;
}

void clear_lanes(uint32_t* rows, unsigned dwords, uint64_t mask) {
    for (; mask; mask &= mask - 1)
        for (unsigned i = 0; i < dwords; ++i) rows[i * lanes + unsigned(std::countr_zero(mask))] = 0;
}

/// Plain accesses may be unaligned: HSA runs with SH_MEM_CONFIG.alignment_mode = unaligned. Atomics and transposed reads
/// may not (CDNA4 ISA guide, 11.4, for the latter).
template <Mode mode>
void need_alignment(Wave& w, const Instruction& in, const LdsAddresses& a, unsigned unit) {
    if constexpr (mode == Mode::checked) {
        for (uint64_t left = a.mask; left; left &= left - 1) {
            int lane = std::countr_zero(left);
            if (a.at[lane] % unit == 0) continue;
            checker::misaligned(w, in, lane, "LDS ", a.at[lane], unit);
            return;
        }
    }
}

template <Mode mode>
void read(Wave& w, const Instruction& in) {
    const MemoryOp& op = *in.kernel.memory;
    ++w.counters.lds_reads;
    // All addresses are read before the first result is written: the destination may hold the address.
    LdsAddresses a[2];
    for (unsigned e = 0; e < op.elements; ++e)
        find_addresses<mode>(w, in, element_offset(in, op, e), op.bytes, a[e]);
    uint32_t* d = w.vgpr[in.dst.index];
    Pending* pending = nullptr;
    if constexpr (mode == Mode::checked) {
        pending = checker::begin_load(w, in, Counter::lds, w.exec(), op.part);
        d = checker::rows(pending);
    }
    for (unsigned e = 0; e < op.elements; ++e) {
        if constexpr (mode == Mode::checked)
            checker::lds_read(w, in, a[e].at, a[e].mask, op.bytes, pending, e * op.dwords());
        uint32_t* rows = d + e * op.dwords() * lanes;
        load_lanes([&](unsigned lane) { return w.lds + a[e].at[lane]; }, a[e].mask, rows, op);
        clear_lanes(rows, op.dwords(), w.exec() & ~a[e].mask);
    }
}

template <Mode mode>
void write(Wave& w, const Instruction& in) {
    const MemoryOp& op = *in.kernel.memory;
    ++w.counters.lds_writes;
    LdsAddresses a;
    if constexpr (mode == Mode::checked) checker::count_only(w, in, Counter::lds);
    for (unsigned e = 0; e < op.elements; ++e) {
        find_addresses<mode>(w, in, element_offset(in, op, e), op.bytes, a);
        const Operand& data = in.src[1 + e];
        if constexpr (mode == Mode::checked) checker::lds_write(w, in, a.at, a.mask, op.bytes, &data, 0);
        store_lanes([&](unsigned lane) { return w.lds + a.at[lane]; }, a.mask, w.vgpr[data.index], op);
    }
}

/// Lane n's dword n from M0 and the offset on.
template <Mode mode>
void thread_addresses(Wave& w, const Instruction& in, LdsAddresses& a) {
    uint32_t base = (w.sgpr[sgpr::m0] & 0xffff) + uint32_t(in.imm | in.imm2 << 8);
    a.mask = w.exec();
    for (unsigned lane = 0; lane < lanes; ++lane) {
        a.at[lane] = base + 4 * lane;
        if (a.at[lane] + 4 <= w.lds_size || !(a.mask >> lane & 1)) continue;
        a.mask &= ~(1ull << lane);
        if constexpr (mode == Mode::checked) checker::lds_out_of_bounds(w, in, int(lane), a.at[lane], 4);
    }
    need_alignment<mode>(w, in, a, 4);
}

template <Mode mode>
void read_by_thread(Wave& w, const Instruction& in) {
    const MemoryOp& op = *in.kernel.memory;
    ++w.counters.lds_reads;
    LdsAddresses a;
    thread_addresses<mode>(w, in, a);
    uint32_t* d = w.vgpr[in.dst.index];
    if constexpr (mode == Mode::checked) {
        Pending* pending = checker::begin_load(w, in, Counter::lds, w.exec(), op.part);
        d = checker::rows(pending);
        checker::lds_read(w, in, a.at, a.mask, op.bytes, pending, 0);
    }
    load_lanes([&](unsigned lane) { return w.lds + a.at[lane]; }, a.mask, d, op);
    clear_lanes(d, 1, w.exec() & ~a.mask);
}

template <Mode mode>
void write_by_thread(Wave& w, const Instruction& in) {
    const MemoryOp& op = *in.kernel.memory;
    ++w.counters.lds_writes;
    LdsAddresses a;
    thread_addresses<mode>(w, in, a);
    if constexpr (mode == Mode::checked) {
        checker::count_only(w, in, Counter::lds);
        checker::lds_write(w, in, a.at, a.mask, op.bytes, &in.src[1], 0);
    }
    store_lanes([&](unsigned lane) { return w.lds + a.at[lane]; }, a.mask, w.vgpr[in.src[1].index], op);
}

/// Adds (subtracts) the number of active lanes to the dword at M0 + offset, once; each lane gets the old value. The guide
/// leaves M0 out for LDS, LLVM puts the address there.
template <Mode mode, int sign>
void count_lanes(Wave& w, const Instruction& in) {
    ++w.counters.lds_writes;
    LdsAddresses a;
    std::fill_n(a.at, lanes, (w.sgpr[sgpr::m0] & 0xffff) + uint32_t(in.imm | in.imm2 << 8));
    uint64_t exec = w.exec();
    bool inside = uint64_t(a.at[0]) + 4 <= w.lds_size;
    a.mask = inside ? exec & -exec : 0;
    need_alignment<mode>(w, in, a, 4);
    uint32_t* d = w.vgpr[in.dst.index];
    if constexpr (mode == Mode::checked) {
        if (!inside) checker::lds_out_of_bounds(w, in, -1, a.at[0], 4);
        d = checker::rows(checker::begin_load(w, in, Counter::lds, exec, Part::dword));
        checker::lds_write(w, in, a.at, a.mask, 4, nullptr, 0);
    }
    uint32_t old = 0;
    if (inside) {
        std::memcpy(&old, w.lds + a.at[0], 4);
        uint32_t updated = old + uint32_t(sign * std::popcount(exec));
        std::memcpy(w.lds + a.at[0], &updated, 4);
    }
    for (unsigned lane = 0; lane < lanes; ++lane)
        if (exec >> lane & 1) d[lane] = old;
}

template <class T>
T lane_value(const Wave& w, const Operand& o, unsigned lane) {
    T v = w.vgpr[o.index][lane];
    if constexpr (sizeof(T) == 8) v |= T(w.vgpr[o.index + 1][lane]) << 32;
    return v;
}

template <class T>
void atomic_lanes(Wave& w, const Instruction& in, const MemoryOp& op, const LdsAddresses& a, uint32_t* d) {
    bool compares = op.atomic == Atomic::cmpswap || op.atomic == Atomic::f_cmpswap;
    for (uint64_t left = a.mask; left; left &= left - 1) {
        unsigned lane = unsigned(std::countr_zero(left));
        T old, first = lane_value<T>(w, in.src[1], lane), second = 0;
        if (in.src[2].vgpr()) second = lane_value<T>(w, in.src[2], lane);
        std::memcpy(&old, w.lds + a.at[lane], sizeof old);
        // ds_cmpst: the first operand is compared with, the second stored.
        T updated = compares ? apply(op.atomic, old, second, first) : apply(op.atomic, old, first, second);
        std::memcpy(w.lds + a.at[lane], &updated, sizeof updated);
        if (!d) continue;
        d[lane] = uint32_t(old);
        if constexpr (sizeof(T) == 8) d[lanes + lane] = uint32_t(old >> 32);
    }
}

template <Mode mode>
void atomic(Wave& w, const Instruction& in) {
    const MemoryOp& op = *in.kernel.memory;
    ++w.counters.lds_writes;
    LdsAddresses a;
    find_addresses<mode>(w, in, element_offset(in, op, 0), op.bytes, a);
    need_alignment<mode>(w, in, a, op.bytes);
    uint32_t* d = in.dst.vgpr() ? w.vgpr[in.dst.index] : nullptr;
    Pending* pending = nullptr;
    if constexpr (mode == Mode::checked) {
        if (in.dst.vgpr()) {
            pending = checker::begin_load(w, in, Counter::lds, w.exec(), Part::dword);
            d = checker::rows(pending);
        } else {
            checker::count_only(w, in, Counter::lds);
        }
        checker::lds_write(w, in, a.at, a.mask, op.bytes, nullptr, 0);
    }
    if (op.bytes == 8)
        atomic_lanes<uint64_t>(w, in, op, a, d);
    else
        atomic_lanes<uint32_t>(w, in, op, a, d);
    if (d) clear_lanes(d, op.dwords(), w.exec() & ~a.mask);
}

/// What an exchange leaves in memory: the data, or (conditional) the data's lower 31 bits if its top bit is set.
template <bool conditional>
uint32_t exchanged(uint32_t old, uint32_t data) {
    if (!conditional) return data;
    return data >> 31 ? data & 0x7fffffff : old;
}

/// Two exchanges of `op.bytes` for each lane: data operand `e` (conditional: dword `e` of the only one) and place `e`.
template <Mode mode, bool conditional>
void exchange_two(Wave& w, const Instruction& in) {
    const MemoryOp& op = *in.kernel.memory;
    ++w.counters.lds_writes;
    LdsAddresses a[2];
    for (unsigned e = 0; e < 2; ++e) {
        uint32_t offset = conditional ? uint32_t(in.imm | in.imm2 << 8) : element_offset(in, op, e);
        find_addresses<mode>(w, in, offset, op.bytes, a[e]);
        if (conditional)
            for (uint32_t& at : a[e].at) at = (at & ~7u) + 4 * e;
        need_alignment<mode>(w, in, a[e], op.bytes);
    }
    if (conditional) a[0].mask = a[1].mask &= a[0].mask;
    uint32_t* d = w.vgpr[in.dst.index];
    unsigned dwords = op.dwords();
    if constexpr (mode == Mode::checked) {
        d = checker::rows(checker::begin_load(w, in, Counter::lds, w.exec(), Part::dword));
        for (unsigned e = 0; e < 2; ++e) checker::lds_write(w, in, a[e].at, a[e].mask, op.bytes, nullptr, 0);
    }
    for (unsigned lane = 0; lane < lanes; ++lane) {
        uint32_t data[2][2], old[2][2];
        for (unsigned e = 0; e < 2; ++e)
            for (unsigned i = 0; i < dwords; ++i)
                data[e][i] = w.vgpr[conditional ? in.src[1].index + e : in.src[1 + e].index + i][lane];
        for (unsigned e = 0; e < 2; ++e)
            if (a[e].mask >> lane & 1) std::memcpy(old[e], w.lds + a[e].at[lane], op.bytes);
        for (unsigned e = 0; e < 2; ++e) {
            if (!(a[e].mask >> lane & 1)) continue;
            for (unsigned i = 0; i < dwords; ++i) {
                uint32_t stored = exchanged<conditional>(old[e][i], data[e][i]);
                std::memcpy(w.lds + a[e].at[lane] + 4 * i, &stored, 4);
                d[(e * dwords + i) * lanes + lane] = old[e][i];
            }
        }
    }
    for (unsigned e = 0; e < 2; ++e) clear_lanes(d + e * dwords * lanes, dwords, w.exec() & ~a[e].mask);
}

/// Gives each active lane the value of lane from[lane] of `data`, or 0 if that is negative.
template <Mode mode>
void move_lanes(Wave& w, const Instruction& in, const Operand& data, const int* from) {
    alignas(64) uint32_t result[lanes];
    const uint32_t* row = w.vgpr[data.index];
    for (unsigned lane = 0; lane < lanes; ++lane) result[lane] = from[lane] < 0 ? 0 : row[from[lane]];
    uint64_t exec = w.exec();
    uint32_t* d = w.vgpr[in.dst.index];
    if constexpr (mode == Mode::checked) {
        Pending* pending = checker::begin_load(w, in, Counter::lds, exec, Part::dword);
        checker::lanes_moved(w, pending, data, from);
        d = checker::rows(pending);
    }
    for (unsigned lane = 0; lane < lanes; ++lane)
        if (exec >> lane & 1) d[lane] = result[lane];
}

/// Each lane reads the lane that its address names; inactive lanes give 0.
template <Mode mode>
void bpermute(Wave& w, const Instruction& in) {
    uint32_t offset = uint32_t(in.imm | in.imm2 << 8);
    const uint32_t* address = w.vgpr[in.src[0].index];
    int from[lanes];
    for (unsigned lane = 0; lane < lanes; ++lane) {
        unsigned source = (address[lane] + offset) / 4 % lanes;
        from[lane] = w.exec() >> source & 1 ? int(source) : -1;
    }
    move_lanes<mode>(w, in, in.src[1], from);
}

/// Each lane writes to the lane that its address names; the highest writing lane wins, unwritten lanes get 0.
template <Mode mode>
void permute(Wave& w, const Instruction& in) {
    uint32_t offset = uint32_t(in.imm | in.imm2 << 8);
    const uint32_t* address = w.vgpr[in.src[0].index];
    int from[lanes];
    std::fill_n(from, lanes, -1);
    for (unsigned lane = 0; lane < lanes; ++lane)
        if (w.exec() >> lane & 1) from[(address[lane] + offset) / 4 % lanes] = int(lane);
    move_lanes<mode>(w, in, in.src[1], from);
}

/// The lane that ds_swizzle_b32 reads for `lane` (CDNA3 ISA guide, "DS_SWIZZLE_B32").
unsigned swizzle_source(unsigned lane, unsigned offset) {
    unsigned group = lane & ~31u, in_group = lane & 31;
    if (offset >= 0xe000) {  // Bit reversal within groups, for FFTs.
        unsigned mask = offset & 31, reversed = 0;
        for (unsigned bit = 0; bit < 5; ++bit) reversed |= (in_group >> bit & 1) << (4 - bit);
        unsigned count = unsigned(std::popcount(mask));
        unsigned low = count == 5 ? 0 : reversed >> count;
        return group | (((in_group & mask) | low) & 31);
    }
    if (offset >= 0xc000) {  // Rotation within groups.
        unsigned keep = offset & 31, amount = offset >> 5 & 31;
        unsigned rotated = offset >> 10 & 1 ? in_group - amount : in_group + amount;
        return group | (in_group & keep) | (rotated & ~keep & 31);
    }
    if (offset & 0x8000) return (lane & ~3u) | (offset >> (2 * (lane & 3)) & 3);
    unsigned and_mask = offset & 31, or_mask = offset >> 5 & 31, xor_mask = offset >> 10 & 31;
    return group | (((in_group & and_mask) | or_mask) ^ xor_mask);
}

template <Mode mode>
void swizzle(Wave& w, const Instruction& in) {
    int from[lanes];
    for (unsigned lane = 0; lane < lanes; ++lane) {
        unsigned source = swizzle_source(lane, unsigned(in.imm | in.imm2 << 8));
        from[lane] = w.exec() >> source & 1 ? int(source) : -1;
    }
    move_lanes<mode>(w, in, in.src[0], from);
}

void nothing(Wave&, const Instruction&) {}

/// Transposed reads: 16 lanes read a block of 64-bit (96-bit for 6-bit elements) rows, and lane n gets element n mod
/// (elements of a row) of the rows that its part of the block names. `element_bits` is 4, 6, 8 or 16. The layout for
/// 16 bits is documented; those for 8, 6 and 4 bits follow the same rule.
template <Mode mode, unsigned element_bits>
void read_transposed(Wave& w, const Instruction& in) {
    constexpr unsigned row_bits = element_bits == 6 ? 96 : 64, row_bytes = row_bits / 8;
    constexpr unsigned per_row = row_bits / element_bits;  // 4, 8, 16 or 16
    constexpr unsigned step = 16 / per_row;  // Lanes of a group whose rows interleave.
    if (w.exec() != ~0ull) return trap(w, in, "transposed LDS reads need all lanes active");
    ++w.counters.lds_reads;
    LdsAddresses a;
    find_addresses<mode>(w, in, uint32_t(in.imm | in.imm2 << 8), row_bytes, a);
    need_alignment<mode>(w, in, a, row_bytes % 8 ? 4 : 8);
    uint32_t* d = w.vgpr[in.dst.index];
    Pending* pending = nullptr;
    if constexpr (mode == Mode::checked) {
        pending = checker::begin_load(w, in, Counter::lds, ~0ull, Part::dword);
        d = checker::rows(pending);
        checker::lds_read(w, in, a.at, a.mask, row_bytes, pending, 0);
    }
    uint8_t rows[lanes][16] = {};
    for (uint64_t left = a.mask; left; left &= left - 1) {
        int lane = std::countr_zero(left);
        std::memcpy(rows[lane], w.lds + a.at[lane], row_bytes);
    }
    for (unsigned lane = 0; lane < lanes; ++lane) {
        uint32_t result[3] = {};
        for (unsigned n = 0; n < per_row; ++n) {
            unsigned from = (lane & ~15u) | ((lane & 15) / per_row + step * n);
            unsigned bit = (lane % per_row) * element_bits;
            uint16_t two;  // An element lies within the 16 bits from its first byte on.
            std::memcpy(&two, &rows[from][bit / 8], 2);
            uint32_t value = uint32_t(two >> bit % 8) & ((1u << element_bits) - 1);
            unsigned to = n * element_bits;
            result[to / 32] |= value << (to % 32);
            if (to % 32 + element_bits > 32) result[to / 32 + 1] |= value >> (32 - to % 32);
        }
        for (unsigned i = 0; i < row_bits / 32; ++i) d[i * lanes + lane] = result[i];
    }
}

constexpr MemoryOp one_dword{.bytes = 4};

#define BOTH(handler) .fast = handler<Mode::fast>, .checked = handler<Mode::checked>
#define MEMORY(name, handler, ...)                      \
    {.mnemonic = name,                                  \
     .memory =                                          \
         [] {                                           \
             static constexpr MemoryOp op{__VA_ARGS__}; \
             return &op;                                \
         }(),                                           \
     BOTH(handler)}
#define EXCHANGE2(name, size, unit)                                                      \
    {.mnemonic = "ds_wrxchg2" name,                                                      \
     .memory =                                                                           \
         [] {                                                                            \
             static constexpr MemoryOp op{.bytes = size, .elements = 2, .stride = unit}; \
             return &op;                                                                 \
         }(),                                                                            \
     .fast = exchange_two<Mode::fast, false>,                                            \
     .checked = exchange_two<Mode::checked, false>}
#define READ2(name, size, unit)                                                 \
    MEMORY("ds_read" name, read, .bytes = size, .elements = 2, .stride = unit), \
        MEMORY("ds_write" name, write, .bytes = size, .elements = 2, .stride = unit)
#define ATOMIC(name, type32, type64, op)                                     \
    MEMORY("ds_" name "_" type32, atomic, .bytes = 4, .atomic = op),         \
        MEMORY("ds_" name "_rtn_" type32, atomic, .bytes = 4, .atomic = op), \
        MEMORY("ds_" name "_" type64, atomic, .bytes = 8, .atomic = op),     \
        MEMORY("ds_" name "_rtn_" type64, atomic, .bytes = 8, .atomic = op)

const Binding bindings[] = {
    MEMORY("ds_read_b32", read, .bytes = 4),
    MEMORY("ds_read_b64", read, .bytes = 8),
    MEMORY("ds_read_b96", read, .bytes = 12),
    MEMORY("ds_read_b128", read, .bytes = 16),
    MEMORY("ds_read_u8", read, .bytes = 1),
    MEMORY("ds_read_i8", read, .bytes = 1, .sign = true),
    MEMORY("ds_read_u16", read, .bytes = 2),
    MEMORY("ds_read_i16", read, .bytes = 2, .sign = true),
    MEMORY("ds_read_u8_d16", read, .bytes = 1, .part = Part::low_half),
    MEMORY("ds_read_u8_d16_hi", read, .bytes = 1, .part = Part::high_half),
    MEMORY("ds_read_i8_d16", read, .bytes = 1, .sign = true, .part = Part::low_half),
    MEMORY("ds_read_i8_d16_hi", read, .bytes = 1, .sign = true, .part = Part::high_half),
    MEMORY("ds_read_u16_d16", read, .bytes = 2, .part = Part::low_half),
    MEMORY("ds_read_u16_d16_hi", read, .bytes = 2, .part = Part::high_half),
    READ2("2_b32", 4, 4),
    READ2("2_b64", 8, 8),
    READ2("2st64_b32", 4, 256),
    READ2("2st64_b64", 8, 512),
    MEMORY("ds_write_b8", write, .bytes = 1),
    MEMORY("ds_write_b16", write, .bytes = 2),
    MEMORY("ds_write_b8_d16_hi", write, .bytes = 1, .part = Part::high_half),
    MEMORY("ds_write_b16_d16_hi", write, .bytes = 2, .part = Part::high_half),
    MEMORY("ds_write_b32", write, .bytes = 4),
    MEMORY("ds_write_b64", write, .bytes = 8),
    MEMORY("ds_write_b96", write, .bytes = 12),
    MEMORY("ds_write_b128", write, .bytes = 16),
    ATOMIC("add", "u32", "u64", Atomic::add),
    ATOMIC("sub", "u32", "u64", Atomic::sub),
    ATOMIC("rsub", "u32", "u64", Atomic::rsub),
    ATOMIC("inc", "u32", "u64", Atomic::inc),
    ATOMIC("dec", "u32", "u64", Atomic::dec),
    ATOMIC("min", "i32", "i64", Atomic::smin),
    ATOMIC("max", "i32", "i64", Atomic::smax),
    ATOMIC("min", "u32", "u64", Atomic::umin),
    ATOMIC("max", "u32", "u64", Atomic::umax),
    ATOMIC("and", "b32", "b64", Atomic::bit_and),
    ATOMIC("or", "b32", "b64", Atomic::bit_or),
    ATOMIC("xor", "b32", "b64", Atomic::bit_xor),
    ATOMIC("mskor", "b32", "b64", Atomic::mskor),
    ATOMIC("cmpst", "b32", "b64", Atomic::cmpswap),
    ATOMIC("cmpst", "f32", "f64", Atomic::f_cmpswap),
    ATOMIC("min", "f32", "f64", Atomic::f_min),
    ATOMIC("max", "f32", "f64", Atomic::f_max),
    ATOMIC("add", "f32", "f64", Atomic::f_add),
    MEMORY("ds_wrxchg_rtn_b32", atomic, .bytes = 4, .atomic = Atomic::swap),
    MEMORY("ds_wrxchg_rtn_b64", atomic, .bytes = 8, .atomic = Atomic::swap),
    MEMORY("ds_wrap_rtn_b32", atomic, .bytes = 4, .atomic = Atomic::wrap),
    MEMORY("ds_pk_add_f16", atomic, .bytes = 4, .atomic = Atomic::pk_add_f16),
    MEMORY("ds_pk_add_rtn_f16", atomic, .bytes = 4, .atomic = Atomic::pk_add_f16),
    MEMORY("ds_pk_add_bf16", atomic, .bytes = 4, .atomic = Atomic::pk_add_bf16),
    MEMORY("ds_pk_add_rtn_bf16", atomic, .bytes = 4, .atomic = Atomic::pk_add_bf16),
    EXCHANGE2("_rtn_b32", 4, 4),
    EXCHANGE2("st64_rtn_b32", 4, 256),
    EXCHANGE2("_rtn_b64", 8, 8),
    EXCHANGE2("st64_rtn_b64", 8, 512),
    {.mnemonic = "ds_condxchg32_rtn_b64",
     .memory = &one_dword,
     .fast = exchange_two<Mode::fast, true>,
     .checked = exchange_two<Mode::checked, true>},
    {.mnemonic = "ds_read_addtid_b32", .memory = &one_dword, BOTH(read_by_thread)},
    {.mnemonic = "ds_write_addtid_b32", .memory = &one_dword, BOTH(write_by_thread)},
    {.mnemonic = "ds_append", .fast = count_lanes<Mode::fast, 1>, .checked = count_lanes<Mode::checked, 1>},
    {.mnemonic = "ds_consume",
     .fast = count_lanes<Mode::fast, -1>,
     .checked = count_lanes<Mode::checked, -1>},
    {.mnemonic = "ds_bpermute_b32", BOTH(bpermute)},
    {.mnemonic = "ds_permute_b32", BOTH(permute)},
    {.mnemonic = "ds_swizzle_b32", BOTH(swizzle)},
    {.mnemonic = "ds_nop", .fast = nothing},
    {.mnemonic = "ds_read_b64_tr_b4",
     .fast = read_transposed<Mode::fast, 4>,
     .checked = read_transposed<Mode::checked, 4>},
    {.mnemonic = "ds_read_b96_tr_b6",
     .fast = read_transposed<Mode::fast, 6>,
     .checked = read_transposed<Mode::checked, 6>},
    {.mnemonic = "ds_read_b64_tr_b8",
     .fast = read_transposed<Mode::fast, 8>,
     .checked = read_transposed<Mode::checked, 8>},
    {.mnemonic = "ds_read_b64_tr_b16",
     .fast = read_transposed<Mode::fast, 16>,
     .checked = read_transposed<Mode::checked, 16>},
};

}  // namespace

std::span<const Binding> lds_bindings() {
    return bindings;
}

}  // namespace hkc::emu
