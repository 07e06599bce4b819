// MUBUF instructions of untyped data.
#include "bindings.h"
#include "buffer_addresses.h"

namespace hkc::emu {
namespace {

using checker::Counter;
using checker::Part;

/// Lanes of a raw buffer whose first dwords are in range: the check is made for each component.
uint64_t partial_lanes(const BufferAddresses& a, unsigned bytes) {
    uint64_t partial = 0;
    if (!a.raw || bytes <= 4) return 0;
    for (uint64_t left = a.zero; left; left &= left - 1) {
        unsigned lane = unsigned(std::countr_zero(left));
        if (a.offset[lane] + 4 <= a.records) partial |= 1ull << lane;
    }
    return partial;
}

constexpr MemoryOp one_dword{.bytes = 4};

/// The in-range dwords of lanes at the end of a raw buffer.
template <Mode mode>
bool partial_components(Wave& w, const Instruction& in, const BufferAddresses& a, uint64_t partial,
                        uint32_t* rows, bool store) {
    unsigned dwords = in.kernel.memory->dwords();
    for (unsigned i = 0; i < dwords && partial; ++i) {
        LaneAddresses one;
        one.mask = 0;
        one.zero = 0;
        for (unsigned lane = 0; lane < lanes; ++lane) one.at[lane] = a.at[lane] + 4 * i;
        for (uint64_t left = partial; left; left &= left - 1) {
            unsigned lane = unsigned(std::countr_zero(left));
            if (a.offset[lane] + 4 * i + 4 <= a.records) one.mask |= 1ull << lane;
        }
        if (!admit<mode>(w, in, one, 4, store)) return false;
        if constexpr (mode == Mode::checked) {
            if (store)
                checker::global_write(w, in, one.at, one.mask, 4, rows + i * lanes);
            else
                checker::global_read(w, in, one.at, one.mask, 4);
        }
        auto at = [&](unsigned lane) { return host(one.at[lane]); };
        if (store)
            store_lanes(at, one.mask, rows + i * lanes, one_dword);
        else
            load_lanes(at, one.mask, rows + i * lanes, one_dword);
    }
    return true;
}

template <Mode mode>
void load(Wave& w, const Instruction& in) {
    const MemoryOp& op = *in.kernel.memory;
    BufferAddresses a;
    buffer_addresses(w, in, a, op.bytes);
    align_addresses<mode>(w, in, a, in.kernel.memory->bytes);
    if (in.flags & flag_lds) return load_to_lds<mode>(w, in, a, lds_base(w) + uint32_t(in.imm));
    uint64_t partial = partial_lanes(a, op.bytes);
    if (!partial) return load_global<mode>(w, in, a, Counter::vector_memory);
    uint32_t rows[4 * lanes] = {};
    if (!partial_components<mode>(w, in, a, partial, rows, false)) return;
    load_global<mode>(w, in, a, Counter::vector_memory);
    uint32_t* d = w.vgpr[in.dst.index];
    if constexpr (mode == Mode::checked) d = checker::rows(checker::last_load(w));
    for (uint64_t left = partial; left; left &= left - 1)
        for (unsigned i = 0; i < op.dwords(); ++i) {
            unsigned at = i * lanes + unsigned(std::countr_zero(left));
            d[at] = rows[at];
        }
}

template <Mode mode>
void store(Wave& w, const Instruction& in) {
    const MemoryOp& op = *in.kernel.memory;
    BufferAddresses a;
    buffer_addresses(w, in, a, op.bytes);
    align_addresses<mode>(w, in, a, in.kernel.memory->bytes);
    uint64_t partial = partial_lanes(a, op.bytes);
    if (partial && !partial_components<mode>(w, in, a, partial, w.vgpr[in.src[1].index], true)) return;
    store_global<mode>(w, in, a, Counter::vector_memory);
}

template <Mode mode>
void atomic(Wave& w, const Instruction& in) {
    BufferAddresses a;
    buffer_addresses(w, in, a, in.kernel.memory->bytes);
    align_addresses<mode>(w, in, a, in.kernel.memory->bytes);
    atomic_global<mode>(w, in, a, Counter::vector_memory);
}

void nothing(Wave&, const Instruction&) {}
/// Cache write-back counts as an outstanding vector memory operation.
void write_back_checked(Wave& w, const Instruction& in) {
    checker::count_only(w, in, Counter::vector_memory);
}

#define MEMORY(name, handler, ...)                      \
    {.mnemonic = "buffer_" name,                        \
     .memory =                                          \
         [] {                                           \
             static constexpr MemoryOp op{__VA_ARGS__}; \
             return &op;                                \
         }(),                                           \
     .fast = handler<Mode::fast>,                       \
     .checked = handler<Mode::checked>}
#define ATOMIC(name, op)                                      \
    MEMORY("atomic_" name, atomic, .bytes = 4, .atomic = op), \
        MEMORY("atomic_" name "_x2", atomic, .bytes = 8, .atomic = op)

const Binding bindings[] = {
    MEMORY("load_ubyte", load, .bytes = 1),
    MEMORY("load_sbyte", load, .bytes = 1, .sign = true),
    MEMORY("load_ushort", load, .bytes = 2),
    MEMORY("load_sshort", load, .bytes = 2, .sign = true),
    MEMORY("load_dword", load, .bytes = 4),
    MEMORY("load_dwordx2", load, .bytes = 8),
    MEMORY("load_dwordx3", load, .bytes = 12),
    MEMORY("load_dwordx4", load, .bytes = 16),
    MEMORY("load_ubyte_d16", load, .bytes = 1, .part = Part::low_half),
    MEMORY("load_ubyte_d16_hi", load, .bytes = 1, .part = Part::high_half),
    MEMORY("load_sbyte_d16", load, .bytes = 1, .sign = true, .part = Part::low_half),
    MEMORY("load_sbyte_d16_hi", load, .bytes = 1, .sign = true, .part = Part::high_half),
    MEMORY("load_short_d16", load, .bytes = 2, .part = Part::low_half),
    MEMORY("load_short_d16_hi", load, .bytes = 2, .part = Part::high_half),
    MEMORY("store_byte", store, .bytes = 1),
    MEMORY("store_byte_d16_hi", store, .bytes = 1, .part = Part::high_half),
    MEMORY("store_short", store, .bytes = 2),
    MEMORY("store_short_d16_hi", store, .bytes = 2, .part = Part::high_half),
    MEMORY("store_dword", store, .bytes = 4),
    MEMORY("store_dwordx2", store, .bytes = 8),
    MEMORY("store_dwordx3", store, .bytes = 12),
    MEMORY("store_dwordx4", store, .bytes = 16),
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
    MEMORY("atomic_add_f32", atomic, .bytes = 4, .atomic = Atomic::f_add),
    MEMORY("atomic_pk_add_f16", atomic, .bytes = 4, .atomic = Atomic::pk_add_f16),
    MEMORY("atomic_pk_add_bf16", atomic, .bytes = 4, .atomic = Atomic::pk_add_bf16),
    MEMORY("atomic_add_f64", atomic, .bytes = 8, .atomic = Atomic::f_add),
    MEMORY("atomic_min_f64", atomic, .bytes = 8, .atomic = Atomic::f_min),
    MEMORY("atomic_max_f64", atomic, .bytes = 8, .atomic = Atomic::f_max),
    {.mnemonic = "buffer_wbl2", .fast = nothing, .checked = write_back_checked},
    {.mnemonic = "buffer_inv", .fast = nothing},
};

}  // namespace

std::span<const Binding> buffer_bindings() {
    return bindings;
}

}  // namespace hkc::emu
