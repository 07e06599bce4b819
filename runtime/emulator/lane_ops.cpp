// Vector instructions that move single lanes, or whole registers both ways.
#include <bit>
#include <utility>

#include "bindings.h"
#include "wave.h"

namespace hkc::emu {
namespace {

uint32_t lane_of(const Wave& w, const Operand& o, unsigned lane) {
    return o.vgpr() ? w.vgpr[o.index][lane] : uint32_t(read_scalar(w, o));
}

void read_lane(Wave& w, const Instruction& in) {
    unsigned lane = lane_of(w, in.src[1], 0) & 63;
    w.sgpr[in.dst.index] = lane_of(w, in.src[0], lane);
}

/// With EXEC = 0 lane 0 is read.
void read_first_lane(Wave& w, const Instruction& in) {
    unsigned lane = w.exec() ? unsigned(std::countr_zero(w.exec())) : 0;
    w.sgpr[in.dst.index] = lane_of(w, in.src[0], lane);
}

void write_lane(Wave& w, const Instruction& in) {
    unsigned lane = lane_of(w, in.src[1], 0) & 63;
    w.vgpr[in.dst.index][lane] = lane_of(w, in.src[0], 0);
}

void swap(Wave& w, const Instruction& in) {
    uint64_t exec = w.exec();
    for (unsigned lane = 0; lane < lanes; ++lane)
        if (exec >> lane & 1) std::swap(w.vgpr[in.dst.index][lane], w.vgpr[in.src[0].index][lane]);
}

/// Exchanges the odd groups of `group` lanes of the destination with the even ones of the source.
template <unsigned group>
void swap_groups(Wave& w, const Instruction& in) {
    uint64_t exec = w.exec();
    uint32_t* d = w.vgpr[in.dst.index];
    uint32_t* s = w.vgpr[in.src[0].index];
    for (unsigned lane = 0; lane < lanes; ++lane) {
        if (lane / group % 2) continue;
        uint32_t high = d[lane + group], low = s[lane];
        if (exec >> (lane + group) & 1) d[lane + group] = low;
        if (exec >> lane & 1) s[lane] = high;
    }
}

/// No exceptions are raised that v_clrexcp could clear.
void nothing(Wave&, const Instruction&) {}

const Binding bindings[] = {
    {.mnemonic = "v_nop", .fast = nothing},
    {.mnemonic = "v_clrexcp", .fast = nothing},
    {.mnemonic = "v_readlane_b32", .fast = read_lane},
    {.mnemonic = "v_readfirstlane_b32", .fast = read_first_lane},
    {.mnemonic = "v_writelane_b32", .fast = write_lane},
    {.mnemonic = "v_swap_b32", .fast = swap},
    {.mnemonic = "v_permlane16_swap_b32", .fast = swap_groups<16>},
    {.mnemonic = "v_permlane32_swap_b32", .fast = swap_groups<32>},
};

}  // namespace

std::span<const Binding> lane_bindings() {
    return bindings;
}

}  // namespace hkc::emu
