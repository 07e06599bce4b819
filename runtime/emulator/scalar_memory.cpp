// SMEM: scalar loads, time, and cache control.
#include <chrono>
#include <cstring>

#include "bindings.h"
#include "checker.h"
#include "dispatch.h"
#include "workgroup.h"

namespace hkc::emu {
namespace {

uint64_t scalar_offset(const Wave& w, const Instruction& in) {
    uint64_t offset = in.flags & flag_imm ? uint64_t(int64_t(in.imm)) : 0;
    if (in.flags & flag_soffset) offset += w.sgpr[in.src[1].index];
    return offset;
}

template <Mode mode>
uint32_t* destination(Wave& w, const Instruction& in, unsigned dwords) {
    if constexpr (mode == Mode::checked) return checker::begin_scalar_load(w, in, dwords);
    return &w.sgpr[in.dst.index];
}

/// The two lowest bits of an address do not count (CDNA3 ISA guide, 8.2.1), so what is read is not what was meant.
void check_alignment(Wave& w, const Instruction& in, uint64_t address) {
    if (address % 4) checker::misaligned(w, in, -1, "", address, 4);
}

template <Mode mode>
void load(Wave& w, const Instruction& in) {
    unsigned bytes = in.dst.dwords * 4u;
    uint64_t address = w.sgpr64(in.src[0].index) + scalar_offset(w, in);
    if constexpr (mode == Mode::checked) check_alignment(w, in, address);
    address &= ~3ull;
    if (!w.window->contains(address, bytes)) return memory_fault(w, in, 0, address);
    bool good = true;
    if constexpr (mode == Mode::checked) good = checker::scalar_access(w, in, address, bytes);
    uint32_t* d = destination<mode>(w, in, in.dst.dwords);
    if (good)
        std::memcpy(d, reinterpret_cast<const void*>(address), bytes);
    else
        std::memset(d, 0, bytes);
}

/// Reads beyond num_records give 0 (CDNA3 ISA guide, "Scalar memory").
template <Mode mode>
void buffer_load(Wave& w, const Instruction& in) {
    unsigned r = in.src[0].index;
    uint64_t base = w.sgpr64(r) & 0xffffffffffff;
    uint64_t stride = w.sgpr[r + 1] >> 16 & 0x3fff;
    uint64_t size = stride ? stride * w.sgpr[r + 2] : w.sgpr[r + 2];
    uint64_t offset = scalar_offset(w, in);
    if constexpr (mode == Mode::checked) check_alignment(w, in, base + offset);
    base &= ~3ull;
    offset &= ~3ull;
    uint32_t* d = destination<mode>(w, in, in.dst.dwords);
    for (unsigned i = 0; i < in.dst.dwords; ++i) {
        uint64_t at = offset + 4 * i;
        d[i] = 0;
        if (at + 4 > size) continue;
        if (!w.window->contains(base + at, 4)) return memory_fault(w, in, 0, base + at);
        bool good = true;
        if constexpr (mode == Mode::checked) good = checker::scalar_access(w, in, base + at, 4);
        if (good) std::memcpy(&d[i], reinterpret_cast<const void*>(base + at), 4);
    }
}

/// s_memtime counts core clocks, s_memrealtime 100 MHz (CDNA3 ISA guide, "S_MEMREALTIME"); here both follow the
/// host's steady clock, or with one thread, which is the deterministic mode, 2 ns for each instruction of the wave.
template <Mode mode, unsigned period_ns_times_10>
void read_time(Wave& w, const Instruction& in) {
    auto now = std::chrono::steady_clock::now().time_since_epoch();
    uint64_t ns = uint64_t(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
    if (w.group->run->options.threads == 1) ns = 2 * w.counters.instructions;
    uint64_t ticks = ns * 10 / period_ns_times_10;
    std::memcpy(destination<mode>(w, in, 2), &ticks, 8);
}

void nothing(Wave&, const Instruction&) {}

#define LOAD(name, handler) {.mnemonic = name, .fast = handler<Mode::fast>, .checked = handler<Mode::checked>}

const Binding bindings[] = {
    LOAD("s_load_dword", load),
    LOAD("s_load_dwordx2", load),
    LOAD("s_load_dwordx4", load),
    LOAD("s_load_dwordx8", load),
    LOAD("s_load_dwordx16", load),
    LOAD("s_buffer_load_dword", buffer_load),
    LOAD("s_buffer_load_dwordx2", buffer_load),
    LOAD("s_buffer_load_dwordx4", buffer_load),
    LOAD("s_buffer_load_dwordx8", buffer_load),
    LOAD("s_buffer_load_dwordx16", buffer_load),
    {.mnemonic = "s_memtime", .fast = read_time<Mode::fast, 5>, .checked = read_time<Mode::checked, 5>},
    {.mnemonic = "s_memrealtime",
     .fast = read_time<Mode::fast, 100>,
     .checked = read_time<Mode::checked, 100>},
    {.mnemonic = "s_dcache_inv", .fast = nothing},
    {.mnemonic = "s_dcache_inv_vol", .fast = nothing},
    {.mnemonic = "s_dcache_wb", .fast = nothing},
    {.mnemonic = "s_dcache_wb_vol", .fast = nothing},
};

#undef LOAD

}  // namespace

std::span<const Binding> scalar_memory_bindings() {
    return bindings;
}

}  // namespace hkc::emu
