// Checked mode: bounds of global memory, and which scratch bytes were written.
#include <algorithm>
#include <bit>

#include "shadow.h"

namespace hkc::emu::checker {

namespace {

bool in_launch_block(const Wave& w, uint64_t address, unsigned bytes) {
    const MemoryWindow& m = *w.window;
    return address >= m.launch_begin && address + bytes <= m.launch_end;
}

/// Whether a live allocation holds the bytes; it is remembered, for the next access is likely nearby.
bool in_live_allocation(WorkgroupShadow& g, const MemoryMap& memory, uint64_t address, unsigned bytes) {
    if (g.recent.contains(address, bytes)) return true;
    const std::optional<Allocation> found = memory.find(address);
    if (!found || found->freed || !found->contains(address, bytes)) return false;
    g.recent = *found;
    return true;
}

std::string describe_place(const std::optional<Allocation>& a, uint64_t address) {
    if (!a) return "below every allocation";
    std::string allocation = "allocation " + std::to_string(a->id) + " (" + std::to_string(a->size) +
                             " bytes at " + hex(a->begin) + ")";
    if (a->freed && address < a->end()) return "in " + allocation + ", which was freed";
    if (address < a->end()) return "across the end of " + allocation;
    return std::to_string(address - a->end()) + " bytes past the end of " + allocation;
}

void report_access(Wave& w, const Instruction& in, int lane, uint64_t address, unsigned bytes,
                   const char* verb) {
    const std::optional<Allocation> nearest = w.group->run->memory.find(address);
    bool freed = nearest && nearest->freed && address < nearest->end();
    const char* kind = freed ? "use-after-free" : "out-of-bounds";
    if (!wanted(w, in, kind)) return;
    std::string who = lane < 0 ? "" : " in lane " + std::to_string(lane);
    report(w, in, kind, lane, address,
           std::string(verb) + " " + std::to_string(bytes) + " bytes at " + hex(address) + who + ", " +
               describe_place(nearest, address));
}

}  // namespace

uint64_t global_access(Wave& w, const Instruction& in, const uint64_t* address, uint64_t mask, unsigned bytes,
                       bool store) {
    if (!mask) return 0;
    WorkgroupShadow& g = group_shadow(w);
    const MemoryMap& memory = w.group->run->memory;
    uint64_t low = ~0ull, high = 0, allowed = mask;
    for (uint64_t left = mask; left; left &= left - 1) {
        uint64_t a = address[std::countr_zero(left)];
        low = std::min(low, a);
        high = std::max(high, a);
    }
    if (g.recent.contains(low, 1) && g.recent.contains(high, bytes)) return mask;
    for (uint64_t left = mask; left; left &= left - 1) {
        int lane = std::countr_zero(left);
        if (in_launch_block(w, address[lane], bytes) || in_live_allocation(g, memory, address[lane], bytes))
            continue;
        allowed &= ~(1ull << lane);
        report_access(w, in, lane, address[lane], bytes, store ? "writes" : "reads");
    }
    return allowed;
}

bool scalar_access(Wave& w, const Instruction& in, uint64_t address, unsigned bytes) {
    if (in_launch_block(w, address, bytes)) return true;
    if (in_live_allocation(group_shadow(w), w.group->run->memory, address, bytes)) {
        global_read(w, in, &address, 1, bytes);
        return true;
    }
    report_access(w, in, -1, address, bytes, "reads");
    return false;
}

void misaligned(Wave& w, const Instruction& in, int lane, const char* space, uint64_t address,
                unsigned unit) {
    if (!wanted(w, in, "misaligned")) return;
    std::string who = lane < 0 ? "" : " in lane " + std::to_string(lane);
    report(w, in, "misaligned", lane, address,
           std::string("accesses ") + space + hex(address) + who + ", which is not a multiple of " +
               std::to_string(unit));
}

void scratch_store(Wave& w, const Instruction& in, int lane, uint64_t offset, unsigned bytes,
                   unsigned dword) {
    WaveShadow& s = shadow_of(w);
    unsigned skip = std::string_view(in.info->mnemonic).ends_with("_d16_hi") ? 2 : 0;
    for (unsigned i = 0; i < bytes; ++i) {
        unsigned byte = i + skip;
        bool undefined = s.undefined[in.src[1].index + dword + byte / 4][byte % 4] >> lane & 1;
        uint64_t& defined = s.scratch_defined[offset + i];
        defined = (defined & ~(1ull << lane)) | uint64_t(!undefined) << lane;
    }
}

void scratch_load(Wave& w, const Instruction&, int lane, uint64_t offset, unsigned bytes, Pending* pending,
                  unsigned dword) {
    WaveShadow& s = shadow_of(w);
    for (unsigned i = 0; i < bytes; ++i) {
        if (s.scratch_defined[offset + i] >> lane & 1) continue;
        unsigned low = bytes < 4 ? 0 : i, high = bytes < 4 ? 4 : i + 1;
        for (unsigned b = low; b < high; ++b) pending->undefined[dword + b / 4][b % 4] |= 1ull << lane;
    }
}

}  // namespace hkc::emu::checker
