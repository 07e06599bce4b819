// Registers in flight, and undefined values where they matter.
#include <bit>
#include <string_view>

#include "memory_op.h"
#include "shadow.h"

namespace hkc::emu::checker {

namespace {

using Role = RegisterUse::Role;

std::string register_name(const RegisterUse& use, unsigned index) {
    if (use.vector) return (index < 256 ? "v" : "a") + std::to_string(index & 255);
    return index == sgpr::vcc || index == sgpr::vcc + 1     ? "vcc"
           : index == sgpr::exec || index == sgpr::exec + 1 ? "exec"
           : index == sgpr::m0                              ? "m0"
                                                            : "s" + std::to_string(index);
}

bool ignores_exec(const Instruction& in) {
    return in.info->family == Family::MAI || in.info->dst.kind == OperandClass::scalar_dst ||
           in.info->mnemonic == std::string_view("v_writelane_b32");
}

/// The load that is to write a register, for messages.
const Instruction* loader(const WaveShadow& s, const RegisterUse& use, unsigned index) {
    const auto find = [&](const auto& queue) -> const Instruction* {
        for (const auto& p : queue)
            if (p->dwords && index >= p->first && index < unsigned(p->first + p->dwords)) return p->in;
        return nullptr;
    };
    if (!use.vector) return find(s.scalar_queue);
    const Instruction* in = find(s.vector_queue);
    return in ? in : find(s.lds_queue);
}

void report_in_flight(Wave& w, const Instruction& in, const RegisterUse& use, unsigned index, uint64_t mask) {
    if (!wanted(w, in, "register-before-wait")) return;
    const Instruction* load = loader(shadow_of(w), use, index);
    const char* verb = use.role == Role::destination ? "overwrites " : "uses ";
    std::string by = load ? disassemble(*load) + " at " + hex(load->address) : "a load";
    report(w, in, "register-before-wait", use.vector ? std::countr_zero(mask) : -1, 0,
           verb + register_name(use, index) + " before a wait guarantees that " + by + " has written it",
           load ? std::optional(make_party(w, *load, w.index)) : std::nullopt);
}

/// Loads of the same kind return in order, so one may follow another into the same register.
bool follows_in_order(const WaveShadow& s, const Instruction& in, const RegisterUse& use, unsigned index) {
    if (use.role != Role::destination || !(in.flags & flag_memory) || in.info->family == Family::SMEM)
        return false;
    const Instruction* load = loader(s, use, index);
    bool lds = in.info->family == Family::DS;
    return load && (load->info->family == Family::DS) == lds && load->info->family != Family::SMEM;
}

void check_in_flight(Wave& w, const Instruction& in, const RegisterUse& use) {
    WaveShadow& s = shadow_of(w);
    uint64_t active = ignores_exec(in) ? ~0ull : w.exec();
    for (unsigned i = use.first; i < unsigned(use.first + use.count); ++i) {
        uint64_t mask = use.vector ? s.in_flight[i] & active : s.sgpr_in_flight[i];
        if (!mask) continue;
        // The old half of a destination that a load merges into counts as part of that load's order.
        bool merged =
            use.role == Role::source && in.flags & flag_memory && use.first == in.dst.index && use.vector;
        RegisterUse as_destination = use;
        as_destination.role = Role::destination;
        if (follows_in_order(s, in, merged ? as_destination : use, i)) continue;
        report_in_flight(w, in, use, i, mask);
        return;
    }
}

const char* sink_name(Role role) {
    switch (role) {
        case Role::address:
            return "computes an address with ";
        case Role::data:
            return "stores ";
        case Role::branch:
            return "branches on ";
        default:
            return "multiplies ";
    }
}

/// Which bytes of a stored register reach memory.
unsigned stored_bytes(const Instruction& in) {
    const MemoryOp* op = in.kernel.memory;
    if (!op || op->bytes >= 4 || in.info->family == Family::SMEM) return 0xf;
    unsigned bytes = op->bytes == 1 ? 1 : 3;
    return op->part == Part::high_half ? bytes << 2 : bytes;
}

void check_defined(Wave& w, const Instruction& in, const RegisterUse& use) {
    WaveShadow& s = shadow_of(w);
    uint64_t active = ignores_exec(in) ? ~0ull : w.exec();
    unsigned bytes = use.role == Role::data ? stored_bytes(in) : 0xf;
    for (unsigned i = use.first; i < unsigned(use.first + use.count); ++i) {
        uint64_t mask = 0;
        if (use.vector) {
            for (unsigned b = 0; b < 4; ++b)
                if (bytes >> b & 1) mask |= s.undefined[i][b];
            mask &= active;
        } else {
            mask = s.sgpr_undefined[i];
        }
        if (!mask) continue;
        if (!wanted(w, in, "uninitialized-register")) return;
        report(
            w, in, "uninitialized-register", use.vector ? std::countr_zero(mask) : -1, 0,
            sink_name(use.role) + register_name(use, i) +
                (use.vector ? ", which lane " + std::to_string(std::countr_zero(mask)) + " never initialised"
                            : ", which was never initialised"));
        return;
    }
}

void check_scc_branch(Wave& w, const Instruction& in) {
    if (in.info->family != Family::SOPP || !shadow_of(w).scc_undefined) return;
    if (std::string_view(in.info->mnemonic).find("_scc") == std::string_view::npos) return;
    if (wanted(w, in, "uninitialized-register"))
        report(w, in, "uninitialized-register", -1, 0,
               "branches on scc, which was computed from uninitialised registers");
}

}  // namespace

void check_registers(Wave& w, const Instruction& in) {
    if (!in.info) return;
    WaveShadow& s = shadow_of(w);
    bool in_flight = s.anything_in_flight();
    for (unsigned i = 0; i < in.use_count; ++i) {
        const RegisterUse& use = in.uses[i];
        if (in_flight) check_in_flight(w, in, use);
        if (use.role != Role::source && use.role != Role::destination) check_defined(w, in, use);
    }
    check_scc_branch(w, in);
}

Pending* begin_load(Wave& w, const Instruction& in, Counter counter, uint64_t mask, Part part) {
    WaveShadow& s = shadow_of(w);
    auto p = take(s, in, counter);
    p->first = in.dst.index;
    p->dwords = in.dst.dwords;
    p->part = part;
    p->mask = mask;
    p->data.assign(size_t(in.dst.dwords) * lanes, 0);
    p->undefined.assign(in.dst.dwords, Planes{});
    Pending* raw = p.get();
    enqueue(w, std::move(p));
    for (unsigned i = 0; i < in.dst.dwords; ++i) {
        s.overlapping |= (s.in_flight[in.dst.index + i] & mask) != 0;
        s.in_flight[in.dst.index + i] |= mask;
        // What arrives decides; an early use is reported as that and nothing else.
        for (uint64_t& plane : s.undefined[in.dst.index + i]) plane &= part == Part::dword ? ~mask : ~0ull;
    }
    s.last = raw;
    return raw;
}

Pending* last_load(Wave& w) {
    return shadow_of(w).last;
}

uint32_t* rows(Pending* pending) {
    return pending->data.data();
}

uint32_t* begin_scalar_load(Wave& w, const Instruction& in, unsigned dwords) {
    WaveShadow& s = shadow_of(w);
    auto p = take(s, in, Counter::scalar_memory);
    p->first = in.dst.index;
    p->dwords = uint8_t(dwords);
    p->units = dwords > 1 ? 2 : 1;
    p->data.assign(dwords, 0);
    uint32_t* data = p->data.data();
    for (unsigned i = 0; i < dwords; ++i) {
        s.sgpr_in_flight[in.dst.index + i] = true;
        s.sgpr_undefined[in.dst.index + i] = 0;
    }
    enqueue(w, std::move(p));
    return data;
}

static void commit_lanes(uint32_t* row, const uint32_t* data, uint64_t mask, Part part) {
    uint32_t keep = part == Part::low_half ? 0xffff0000u : part == Part::high_half ? 0xffffu : 0u;
    for (unsigned lane = 0; lane < lanes; ++lane)
        if (mask >> lane & 1) row[lane] = (row[lane] & keep) | (data[lane] & ~keep);
}

void commit_load(WaveShadow& s, Wave& w, Pending& p) {
    if (p.counter == Counter::scalar_memory) {
        for (unsigned i = 0; i < p.dwords; ++i) {
            w.sgpr[p.first + i] = p.data[i];
            s.sgpr_undefined[p.first + i] = 0;
            s.sgpr_in_flight[p.first + i] = false;
        }
        return;
    }
    unsigned first_plane = p.part == Part::high_half ? 2 : 0, end_plane = p.part == Part::low_half ? 2 : 4;
    for (unsigned i = 0; i < p.dwords; ++i) {
        commit_lanes(w.vgpr[p.first + i], p.data.data() + i * lanes, p.mask, p.part);
        for (unsigned b = first_plane; b < end_plane; ++b) {
            uint64_t& plane = s.undefined[p.first + i][b];
            plane = (plane & ~p.mask) | (p.undefined[i][b] & p.mask);
        }
        s.in_flight[p.first + i] &= ~p.mask;
    }
    if (!s.overlapping) return;
    for (const auto* queue : {&s.vector_queue, &s.lds_queue})  // Others may still be to come.
        for (const auto& other : *queue)
            for (unsigned i = 0; i < other->dwords; ++i) s.in_flight[other->first + i] |= other->mask;
}

}  // namespace hkc::emu::checker
