// Bank conflicts of LDS accesses: which lanes are served together, and how long that takes.
#include <algorithm>
#include <bit>
#include <string_view>

#include "shadow.h"

namespace hkc::emu::checker {

namespace {

/// A phase: ranges of lanes served together, out of the first half of the wave; the second half goes likewise.
struct Phase {
    uint8_t begin[3], end[3];
};
// gfx942 ds_read_b128: 8 x 8 lanes (Composable Kernel documentation, "LDS bank conflicts").
constexpr Phase read_b128_gfx942[] = {{{0, 20, 0}, {4, 24, 0}},
                                      {{4, 16, 0}, {8, 20, 0}},
                                      {{8, 28, 0}, {12, 32, 0}},
                                      {{12, 24, 0}, {16, 28, 0}}};
// gfx950 ds_read_b128: 4 x 16 lanes over 64 banks (HipKittens, analysis of phases).
constexpr Phase read_b128_gfx950[] = {{{0, 12, 20}, {4, 16, 28}}, {{4, 16, 28}, {12, 20, 32}}};

struct Schedule {
    const Phase* phases = nullptr;  ///< Or, if null, consecutive groups of `lanes_at_once`.
    unsigned count = 0, lanes_at_once = 32, banks = 32;
};

Schedule schedule_of(Arch arch, unsigned bytes, bool write) {
    bool wide_banks = arch == Arch::gfx950 && !write;  // CDNA4 whitepaper: reads go over 64 banks.
    if (bytes == 16 && !write)
        return wide_banks ? Schedule{read_b128_gfx950, 2, 0, 64} : Schedule{read_b128_gfx942, 4, 0, 32};
    if (bytes == 16 || bytes == 12) return {nullptr, 0, 8, 32};
    if (bytes == 8) return wide_banks ? Schedule{nullptr, 0, 32, 64} : Schedule{nullptr, 0, 16, 32};
    return {nullptr, 0, wide_banks ? 64u : 32u, wide_banks ? 64u : 32u};
}

/// Cycles of one phase: the most distinct dwords that one bank has to deliver.
unsigned phase_cycles(const uint32_t* address, uint64_t mask, unsigned bytes, unsigned banks) {
    uint32_t held[64][64];
    uint8_t count[64] = {};
    unsigned worst = 0;
    for (; mask; mask &= mask - 1) {
        uint32_t first = address[std::countr_zero(mask)] / 4;
        for (unsigned i = 0; i < (bytes + 3) / 4; ++i) {
            unsigned bank = (first + i) % banks;
            uint32_t* end = held[bank] + count[bank];
            if (std::find(held[bank], end, first + i) != end) continue;
            held[bank][count[bank]++] = first + i;
            worst = std::max<unsigned>(worst, count[bank]);
        }
    }
    return worst;
}

}  // namespace

void add_conflict_cycles(Wave& w, const Instruction& in, const uint32_t* address, uint64_t mask,
                         unsigned bytes) {
    bool write = std::string_view(in.info->mnemonic).find("read") == std::string_view::npos;
    Schedule s = schedule_of(w.arch, bytes, write);
    unsigned cycles = 0, phases = 0;
    auto add = [&](uint64_t group) {
        ++phases;
        cycles += std::max(1u, phase_cycles(address, mask & group, bytes, s.banks));
    };
    if (s.phases) {
        for (unsigned half = 0; half < 2; ++half)
            for (unsigned i = 0; i < s.count; ++i) {
                uint64_t group = 0;
                for (unsigned r = 0; r < 3; ++r)
                    for (unsigned lane = s.phases[i].begin[r]; lane < s.phases[i].end[r]; ++lane)
                        group |= 1ull << (lane + 32 * half);
                add(group);
            }
    } else {
        for (unsigned lane = 0; lane < lanes; lane += s.lanes_at_once)
            add((s.lanes_at_once == 64 ? ~0ull : (1ull << s.lanes_at_once) - 1) << lane);
    }
    w.counters.lds_conflict_cycles += cycles - phases;
}

}  // namespace hkc::emu::checker
