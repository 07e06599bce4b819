// GLOBAL and FLAT instructions.
#include <atomic>

#include "bindings.h"
#include "flat_apertures.h"
#include "vector_memory.h"

namespace hkc::emu {

/// One lane's read-modify-write, atomic against the other threads of the dispatch.
template <class T>
static T atomic_update(uint64_t address, Atomic op, T source, T compare) {
    std::atomic_ref<T> memory(*reinterpret_cast<T*>(address));
    T old = memory.load(std::memory_order_relaxed);
    while (!memory.compare_exchange_weak(old, apply(op, old, source, compare))) {
    }
    return old;
}

void atomic_lanes(Wave& w, const Instruction& in, const LaneAddresses& a, uint32_t* d) {
    const MemoryOp& op = *in.kernel.memory;
    const uint32_t* s = w.vgpr[in.src[1].index];
    for (uint64_t left = a.mask; left; left &= left - 1) {
        unsigned lane = unsigned(std::countr_zero(left));
        if (op.bytes == 4) {
            uint32_t compare = op.atomic == Atomic::cmpswap ? s[lanes + lane] : 0;
            uint32_t old = atomic_update<uint32_t>(a.at[lane], op.atomic, s[lane], compare);
            if (d) d[lane] = old;
            continue;
        }
        uint64_t source = s[lane] | uint64_t(s[lanes + lane]) << 32, compare = 0;
        if (op.atomic == Atomic::cmpswap) compare = s[2 * lanes + lane] | uint64_t(s[3 * lanes + lane]) << 32;
        uint64_t old = atomic_update<uint64_t>(a.at[lane], op.atomic, source, compare);
        if (!d) continue;
        d[lane] = uint32_t(old);
        d[lanes + lane] = uint32_t(old >> 32);
    }
    for (uint64_t left = d ? a.zero : 0; left; left &= left - 1)
        for (unsigned i = 0; i < in.dst.dwords; ++i) d[i * lanes + unsigned(std::countr_zero(left))] = 0;
}

namespace {

using checker::Counter;
using checker::Part;

void global_addresses(const Wave& w, const Instruction& in, LaneAddresses& a) {
    const uint32_t* v = w.vgpr[in.src[0].index];
    uint64_t offset = uint64_t(int64_t(in.imm));
    a.mask = w.exec();
    a.zero = 0;
    if (in.flags & flag_saddr) {
        uint64_t base = w.sgpr64(in.src[2].index) + offset;
        for (unsigned lane = 0; lane < lanes; ++lane) a.at[lane] = base + v[lane];
    } else {
        for (unsigned lane = 0; lane < lanes; ++lane)
            a.at[lane] = (v[lane] | uint64_t(v[lanes + lane]) << 32) + offset;
    }
}

template <Mode mode, auto action>
void global(Wave& w, const Instruction& in) {
    LaneAddresses a;
    global_addresses(w, in, a);
    action(w, in, a, Counter::vector_memory);
}

template <Mode mode>
void global_to_lds(Wave& w, const Instruction& in) {
    LaneAddresses a;
    global_addresses(w, in, a);
    load_to_lds<mode>(w, in, a, (lds_base(w) & ~3u) + uint32_t(in.imm));
}

/// Flat addresses whose upper 16 bits name an aperture are LDS or scratch addresses (see the decoder's constants).
template <Mode mode, auto action, auto mixed>
void flat(Wave& w, const Instruction& in) {
    LaneAddresses a;
    global_addresses(w, in, a);
    if (in_apertures(a)) return mixed(w, in, a);
    action(w, in, a, Counter::flat);
}

#define MEMORY(name, fast_handler, checked_handler, ...) \
    {.mnemonic = name,                                   \
     .memory =                                           \
         [] {                                            \
             static constexpr MemoryOp op{__VA_ARGS__};  \
             return &op;                                 \
         }(),                                            \
     .fast = fast_handler,                               \
     .checked = checked_handler}
#define SPACES(name, action, mixed, ...)                                                \
    MEMORY("global_" name, (global<Mode::fast, action<Mode::fast>>),                    \
           (global<Mode::checked, action<Mode::checked>>), __VA_ARGS__),                \
        MEMORY("flat_" name, (flat<Mode::fast, action<Mode::fast>, mixed<Mode::fast>>), \
               (flat<Mode::checked, action<Mode::checked>, mixed<Mode::checked>>), __VA_ARGS__)
#define LOAD(name, ...) SPACES("load_" name, load_global, load_mixed, __VA_ARGS__)
#define STORE(name, ...) SPACES("store_" name, store_global, store_mixed, __VA_ARGS__)
#define ATOMIC_BYTES(name, size, op) \
    SPACES("atomic_" name, atomic_global, atomic_mixed, .bytes = size, .atomic = op)
#define ATOMIC(name, op) ATOMIC_BYTES(name, 4, op), ATOMIC_BYTES(name "_x2", 8, op)
#define TO_LDS(name, ...) \
    MEMORY("global_load_lds_" name, global_to_lds<Mode::fast>, global_to_lds<Mode::checked>, __VA_ARGS__)

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
    ATOMIC("swap", Atomic::swap),
    ATOMIC("cmpswap", Atomic::cmpswap),
    ATOMIC("add", Atomic::add),
    ATOMIC("sub", Atomic::sub),
    ATOMIC("smin", Atomic::smin),
    ATOMIC("umin", Atomic::umin),
    ATOMIC("smax", Atomic::smax),
    ATOMIC("umax", Atomic::umax),
    ATOMIC("and", Atomic::bit_and),
    ATOMIC("or", Atomic::bit_or),
    ATOMIC("xor", Atomic::bit_xor),
    ATOMIC("inc", Atomic::inc),
    ATOMIC("dec", Atomic::dec),
    ATOMIC_BYTES("add_f32", 4, Atomic::f_add),
    ATOMIC_BYTES("pk_add_f16", 4, Atomic::pk_add_f16),
    ATOMIC_BYTES("pk_add_bf16", 4, Atomic::pk_add_bf16),
    ATOMIC_BYTES("add_f64", 8, Atomic::f_add),
    ATOMIC_BYTES("min_f64", 8, Atomic::f_min),
    ATOMIC_BYTES("max_f64", 8, Atomic::f_max),
    TO_LDS("ubyte", .bytes = 1),
    TO_LDS("sbyte", .bytes = 1, .sign = true),
    TO_LDS("ushort", .bytes = 2),
    TO_LDS("sshort", .bytes = 2, .sign = true),
    TO_LDS("dword", .bytes = 4),
    TO_LDS("dwordx3", .bytes = 12),
    TO_LDS("dwordx4", .bytes = 16),
};

}  // namespace

std::span<const Binding> vector_memory_bindings() {
    return bindings;
}

}  // namespace hkc::emu
