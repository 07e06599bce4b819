// MTBUF instructions, and MUBUF instructions whose data has the format that the resource names.
//
// The format of an MTBUF instruction is in its word, its components are in their order, and those that the format does not
// have read 0. MUBUF instructions take both from the resource (CDNA3 ISA guide, 9.1.4).
#include <algorithm>

#include "bindings.h"
#include "buffer_addresses.h"
#include "data_formats.h"
#include "numeric.h"

namespace hkc::emu {
namespace {

using checker::Counter;
using checker::Part;

constexpr unsigned select_zero = 0, select_one = 1, select_first = 4;

struct Layout {
    DataFormat format;
    NumberFormat number = NumberFormat::uint;
    uint8_t select[4] = {4, 5, 6, 7};
};

/// Components that an instruction has in registers, and whether as 16 bits.
struct Registers {
    unsigned components;
    bool halves;
};

Layout layout_of(const Wave& w, const Instruction& in) {
    Layout layout;
    if (in.info->family == Family::MTBUF) {
        layout.format = data_format(unsigned(in.imm2) & 15);
        layout.number = NumberFormat(unsigned(in.imm2) >> 4 & 7);
        return layout;
    }
    BufferResource resource(w, in.src[2].index);
    layout.format = data_format(resource.data_format);
    layout.number = NumberFormat(resource.number_format);
    std::copy_n(resource.select, 4, layout.select);
    return layout;
}

/// False if it has trapped.
bool usable(Wave& w, const Instruction& in, const Layout& layout) {
    if (in.flags & flag_lds) {
        trap(w, in, "formatted loads to LDS are not emulated");
        return false;
    }
    if (format_exists(layout.format, layout.number)) return true;
    trap(w, in, "the data format does not exist");
    return false;
}

uint64_t shifted(uint32_t v, unsigned by) {
    return uint64_t(v) << by;
}

/// Component `n` of an element in memory.
uint32_t component(const uint8_t* element, const DataFormat& format, unsigned n) {
    unsigned at = 0;
    for (unsigned i = 0; i < n; ++i) at += format.bits[i];
    uint64_t v = 0;
    std::memcpy(&v, element + at / 8, std::min(format.bytes() - at / 8, 8u));
    return uint32_t(v >> at % 8 & (shifted(1, format.bits[n]) - 1));
}

uint32_t one(NumberFormat number) {
    return is_integer(number) ? 1 : as_u32(1.0f);
}

/// What a register component gets from an element, or (nullptr) from out of range.
uint32_t loaded(const uint8_t* element, const Layout& layout, unsigned n) {
    unsigned select = layout.select[n];
    if (select == select_one) return one(layout.number);
    if (select < select_first || !element || select - select_first >= layout.format.components) return 0;
    unsigned c = select - select_first;
    return component_to_register(component(element, layout.format, c), layout.format.bits[c], layout.number);
}

uint32_t to_half(uint32_t v, NumberFormat number) {
    return is_integer(number) ? v & 0xffff : f32_to_f16(as_f32(v));
}
uint32_t from_half(uint32_t v, NumberFormat number) {
    v &= 0xffff;
    if (number == NumberFormat::sint) return uint32_t(int32_t(int16_t(v)));
    return number == NumberFormat::uint ? v : as_u32(f16_to_f32(v));
}

template <Registers registers>
void load_lane(const uint8_t* element, const Layout& layout, unsigned lane, uint32_t* d, Part part) {
    for (unsigned n = 0; n < registers.components; ++n) {
        uint32_t v = loaded(element, layout, n);
        if (!registers.halves) {
            d[n * lanes + lane] = v;
            continue;
        }
        uint32_t half = to_half(v, layout.number), &row = d[n / 2 * lanes + lane];
        if (part == Part::high_half)
            row = merge_part(row, half, part);
        else
            row = n % 2 ? row | half << 16 : half;
    }
}

template <Mode mode, Registers registers>
void load(Wave& w, const Instruction& in) {
    ++w.counters.global_loads;
    Layout layout = layout_of(w, in);
    if (!usable(w, in, layout)) return;
    unsigned bytes = layout.format.bytes();
    BufferAddresses a;
    buffer_addresses(w, in, a, bytes, true);
    align_addresses<mode>(w, in, a, layout.format.unit());
    if (!admit<mode>(w, in, a, bytes, false)) return;
    Part part = in.kernel.memory->part;
    uint32_t* d = w.vgpr[in.dst.index];
    if constexpr (mode == Mode::checked) {
        d = checker::rows(checker::begin_load(w, in, Counter::vector_memory, a.mask | a.zero, part));
        checker::global_read(w, in, a.at, a.mask, bytes);
    }
    for (unsigned lane = 0; lane < lanes; ++lane) {
        if (!((a.mask | a.zero) >> lane & 1)) continue;
        const uint8_t* element = a.mask >> lane & 1 ? host(a.at[lane]) : nullptr;
        load_lane<registers>(element, layout, lane, d, part);
    }
}

/// An element in memory, made of a lane's registers; components that come from none of them are 0.
template <Registers registers>
void make_element(const uint32_t* data, const Layout& layout, unsigned lane, Part part, uint32_t* element) {
    uint64_t pair[2] = {};
    unsigned at = 0;
    for (unsigned c = 0; c < layout.format.components; at += layout.format.bits[c++]) {
        const uint8_t* found =
            std::find(layout.select, layout.select + registers.components, select_first + c);
        unsigned n = unsigned(found - layout.select), bits = layout.format.bits[c];
        if (n == registers.components) continue;
        uint32_t v = data[(registers.halves ? n / 2 : n) * lanes + lane];
        if (registers.halves) v = from_half(n % 2 || part == Part::high_half ? v >> 16 : v, layout.number);
        pair[at / 64] |= shifted(register_to_component(v, bits, layout.number), at % 64);
    }
    std::memcpy(element, pair, sizeof pair);
}

template <Mode mode, Registers registers>
void store(Wave& w, const Instruction& in) {
    ++w.counters.global_stores;
    Layout layout = layout_of(w, in);
    if (!usable(w, in, layout)) return;
    unsigned bytes = layout.format.bytes();
    BufferAddresses a;
    buffer_addresses(w, in, a, bytes, true);
    align_addresses<mode>(w, in, a, layout.format.unit());
    if (!admit<mode>(w, in, a, bytes, true)) return;
    Part part = in.kernel.memory->part;
    const uint32_t* data = w.vgpr[in.src[1].index];
    uint32_t elements[lanes][4], rows[4 * lanes];
    for (unsigned lane = 0; lane < lanes; ++lane)
        make_element<registers>(data, layout, lane, part, elements[lane]);
    if constexpr (mode == Mode::checked) {
        checker::count_only(w, in, Counter::vector_memory);
        // As registers from which the instruction would store them unchanged.
        for (unsigned lane = 0; lane < lanes; ++lane)
            for (unsigned i = 0; i < 4; ++i)
                rows[i * lanes + lane] = elements[lane][i] << (part == Part::high_half && bytes < 4 ? 16 : 0);
        checker::global_write(w, in, a.at, a.mask, bytes, rows);
    }
    for (uint64_t left = a.mask; left; left &= left - 1) {
        unsigned lane = unsigned(std::countr_zero(left));
        std::memcpy(host(a.at[lane]), elements[lane], bytes);
    }
}

#define FORMATTED(name, action, count, half, ...)        \
    {.mnemonic = name,                                   \
     .memory =                                           \
         [] {                                            \
             static constexpr MemoryOp op{__VA_ARGS__};  \
             return &op;                                 \
         }(),                                            \
     .fast = action<Mode::fast, Registers{count, half}>, \
     .checked = action<Mode::checked, Registers{count, half}>}
#define BOTH_WAYS(prefix, name, count, half, size)                            \
    FORMATTED(prefix "_load_format_" name, load, count, half, .bytes = size), \
        FORMATTED(prefix "_store_format_" name, store, count, half, .bytes = size)
#define ALL(prefix)                                                                      \
    BOTH_WAYS(prefix, "x", 1, false, 4), BOTH_WAYS(prefix, "xy", 2, false, 8),           \
        BOTH_WAYS(prefix, "xyz", 3, false, 12), BOTH_WAYS(prefix, "xyzw", 4, false, 16), \
        BOTH_WAYS(prefix, "d16_x", 1, true, 2), BOTH_WAYS(prefix, "d16_xy", 2, true, 4), \
        BOTH_WAYS(prefix, "d16_xyz", 3, true, 8), BOTH_WAYS(prefix, "d16_xyzw", 4, true, 8)

const Binding bindings[] = {
    ALL("buffer"),
    ALL("tbuffer"),
    FORMATTED("buffer_load_format_d16_hi_x", load, 1, true, .bytes = 2, .part = Part::high_half),
    FORMATTED("buffer_store_format_d16_hi_x", store, 1, true, .bytes = 2, .part = Part::high_half),
};

}  // namespace

std::span<const Binding> formatted_bindings() {
    return bindings;
}

}  // namespace hkc::emu
