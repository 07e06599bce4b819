// Checked mode: order of LDS accesses.
//
// Barriers divide a workgroup's run into epochs. Two waves that touch the same bytes in one epoch, at least one of them
// writing, race. An access that its wave has not waited for when it arrives at a barrier is carried into the next epoch:
// there it still races with the other waves. None of this depends on the order in which waves are run.
#include <algorithm>
#include <bit>
#include <cstring>

#include "shadow.h"

namespace hkc::emu::checker {

namespace {

struct Access {
    Wave& wave;
    const Instruction& in;
    int lane;
    uint32_t address;
    unsigned bytes;
};

uint32_t index_of(const Wave& w, const Instruction& in) {
    return uint32_t((in.address - w.group->run->program->base) / 4);
}

Party other_party(const Wave& w, unsigned wave, uint32_t index) {
    return make_party(w, w.group->run->program->code[index], int(wave));
}

std::string describe(const Party& other) {
    return other.instruction + " at " + hex(other.pc) + " in wave " + std::to_string(other.wave);
}

unsigned first_wave(uint16_t waves) {
    return unsigned(std::countr_zero(waves));
}

void report_lds(const Access& a, const char* kind, const char* verb, const std::string& why,
                const Party& other) {
    report(
        a.wave, a.in, kind, a.lane, a.address,
        std::string(verb) + " LDS byte " + hex(a.address) + " in lane " + std::to_string(a.lane) + ", " + why,
        other);
}

void report_race(const Access& a, const char* verb, const char* other_verb, unsigned wave, uint32_t index) {
    if (!wanted(a.wave, a.in, "lds-race")) return;
    Party other = other_party(a.wave, wave, index);
    report_lds(a, "lds-race", verb,
               "which " + describe(other) + " " + other_verb + " with no barrier in between", other);
}

void report_carried(const Access& a, const char* kind, const char* verb, const char* what, unsigned wave,
                    uint32_t index) {
    if (!wanted(a.wave, a.in, kind)) return;
    Party other = other_party(a.wave, wave, index);
    report_lds(a, kind, verb,
               std::string(what) + " by " + describe(other) +
                   ", which that wave did not wait for before the barrier",
               other);
}

bool check_own_direct(const Access& a, const LdsUnit& u, const char* verb) {
    if (!u.direct_count || u.direct_wave != a.wave.index) return false;
    if (!wanted(a.wave, a.in, "lds-before-wait")) return true;
    Party other = other_party(a.wave, u.direct_wave, u.write_by);
    report_lds(a, "lds-before-wait", verb,
               "which " + describe(other) + " is still loading; no wait for vmcnt guarantees it", other);
    return true;
}

void check_read(const Access& a, LdsUnit& u, uint32_t epoch, uint32_t index) {
    unsigned wave = unsigned(a.wave.index);
    uint16_t others = uint16_t(~(1u << wave));
    if (u.write_epoch == epoch && u.writer != wave)
        report_race(a, "reads", "writes", u.writer, u.write_by);
    else if (u.carried_write_epoch == epoch && u.carried_writers & others)
        report_carried(a, "lds-before-wait", "reads", "written", first_wave(u.carried_writers & others),
                       u.carried_write_by);
    else
        check_own_direct(a, u, "reads");
    if (u.read_epoch != epoch) {
        u.read_epoch = epoch;
        u.readers = 0;
    }
    u.readers |= uint16_t(1u << wave);
    u.read_by = index;
}

void check_write(const Access& a, LdsUnit& u, uint32_t epoch, uint32_t index, bool atomic, bool undefined) {
    unsigned wave = unsigned(a.wave.index);
    uint16_t others = uint16_t(~(1u << wave));
    if (u.write_epoch == epoch && u.writer != wave && !(atomic && u.atomic))
        report_race(a, "writes", "writes", u.writer, u.write_by);
    else if (u.read_epoch == epoch && u.readers & others)
        report_race(a, "writes", "reads", first_wave(u.readers & others), u.read_by);
    else if (u.carried_write_epoch == epoch && u.carried_writers & others)
        report_carried(a, "lds-race", "writes", "written", first_wave(u.carried_writers & others),
                       u.carried_write_by);
    else if (u.carried_read_epoch == epoch && u.carried_readers & others)
        report_carried(a, "lds-race", "writes", "read", first_wave(u.carried_readers & others),
                       u.carried_read_by);
    else
        check_own_direct(a, u, "writes");
    u.write_epoch = epoch;
    u.writer = uint8_t(wave);
    u.write_by = index;
    u.atomic = atomic;
    u.undefined = undefined;
}

void remember(Pending* p, const uint32_t* address, uint64_t mask, unsigned bytes, bool write) {
    LdsAccess& access = p->accesses.emplace_back();
    std::copy_n(address, lanes, access.at);
    access.mask = mask;
    access.bytes = bytes;
    access.write = write;
}

/// Calls f(lane, unit, offset of the unit within the access) for each unit of each lane.
template <class F>
void for_units(WorkgroupShadow& g, const uint32_t* address, uint64_t mask, unsigned bytes, F f) {
    for (; mask; mask &= mask - 1) {
        unsigned lane = unsigned(std::countr_zero(mask)), begin = address[lane] / g.unit_bytes;
        unsigned end = (address[lane] + bytes + g.unit_bytes - 1) / g.unit_bytes;
        for (unsigned u = begin; u < end; ++u) f(lane, g.units[u], u * g.unit_bytes - address[lane]);
    }
}

/// Bytes of the dwords of `data` that a write stores undefined in `lane` at byte `offset`.
bool stores_undefined(const WaveShadow& s, const Instruction& in, const Operand* data, unsigned first_dword,
                      unsigned lane, unsigned offset, unsigned unit_bytes) {
    if (!data) return false;
    bool high = std::string_view(in.info->mnemonic).ends_with("_d16_hi");
    for (unsigned i = 0; i < unit_bytes; ++i) {
        unsigned byte = offset + i + (high ? 2 : 0);
        if (s.undefined[data->index + first_dword + byte / 4][byte % 4] >> lane & 1) return true;
    }
    return false;
}

}  // namespace

void lds_read(Wave& w, const Instruction& in, const uint32_t* address, uint64_t mask, unsigned bytes,
              Pending* pending, unsigned first_dword) {
    WaveShadow& s = shadow_of(w);
    WorkgroupShadow& g = group_shadow(w);
    uint32_t index = index_of(w, in);
    bool extends = bytes < 4;
    for_units(g, address, mask, bytes, [&](unsigned lane, LdsUnit& u, unsigned offset) {
        check_read({w, in, int(lane), address[lane], bytes}, u, s.epoch, index);
        bool undefined = u.write_epoch < g.first_epoch || u.undefined;
        if (!undefined) return;
        unsigned low = extends ? 0 : offset, high = extends ? 4 : std::min(offset + g.unit_bytes, bytes);
        for (unsigned b = low; b < high; ++b) pending->undefined[first_dword + b / 4][b % 4] |= 1ull << lane;
    });
    remember(pending, address, mask, bytes, false);
    add_conflict_cycles(w, in, address, mask, bytes);
}

void lds_write(Wave& w, const Instruction& in, const uint32_t* address, uint64_t mask, unsigned bytes,
               const Operand* data, unsigned first_dword) {
    WaveShadow& s = shadow_of(w);
    WorkgroupShadow& g = group_shadow(w);
    uint32_t index = index_of(w, in);
    bool atomic = data == nullptr;
    for_units(g, address, mask, bytes, [&](unsigned lane, LdsUnit& u, unsigned offset) {
        unsigned n = std::min(g.unit_bytes, bytes - std::min(bytes, offset));
        bool undefined = stores_undefined(s, in, data, first_dword, lane, offset, n);
        check_write({w, in, int(lane), address[lane], bytes}, u, s.epoch, index, atomic, undefined);
    });
    remember(s.last, address, mask, bytes, true);
    add_conflict_cycles(w, in, address, mask, bytes);
}

void lds_direct(Wave& w, const Instruction& in, const uint32_t* address, uint64_t mask, unsigned bytes,
                const uint8_t* data) {
    WaveShadow& s = shadow_of(w);
    WorkgroupShadow& g = group_shadow(w);
    uint32_t index = index_of(w, in);
    for_units(g, address, mask, bytes, [&](unsigned lane, LdsUnit& u, unsigned) {
        // Two loads of one wave into the same bytes land in order.
        bool own = u.direct_count && u.direct_wave == w.index;
        uint8_t count = own ? u.direct_count : 0;
        u.direct_count = 0;
        check_write({w, in, int(lane), address[lane], bytes}, u, s.epoch, index, false, false);
        u.direct_wave = uint8_t(w.index);
        u.direct_count = uint8_t(count + 1);
    });
    auto p = take(s, in, Counter::vector_memory);
    remember(p.get(), address, mask, bytes, true);
    p->direct.assign(data, data + size_t(lanes) * bytes);
    enqueue(w, std::move(p));
}

void commit_direct(Wave& w, Pending& p) {
    const LdsAccess& a = p.accesses.front();
    for (uint64_t left = a.mask; left; left &= left - 1) {
        unsigned lane = unsigned(std::countr_zero(left));
        std::memcpy(w.lds + a.at[lane], p.direct.data() + size_t(lane) * a.bytes, a.bytes);
    }
    for_units(group_shadow(w), a.at, a.mask, a.bytes, [&](unsigned, LdsUnit& u, unsigned) {
        if (u.direct_count && u.direct_wave == w.index) --u.direct_count;
    });
}

/// Marks what the wave has in flight as it arrives at a barrier.
void carry_over_barrier(Wave& w) {
    WaveShadow& s = shadow_of(w);
    uint32_t next = s.epoch + 1;
    uint16_t bit = uint16_t(1u << w.index);
    for (const auto* queue : {&s.vector_queue, &s.lds_queue})
        for (const auto& p : *queue)
            for (const LdsAccess& a : p->accesses)
                for_units(group_shadow(w), a.at, a.mask, a.bytes, [&](unsigned, LdsUnit& u, unsigned) {
                    uint32_t& epoch = a.write ? u.carried_write_epoch : u.carried_read_epoch;
                    uint16_t& waves = a.write ? u.carried_writers : u.carried_readers;
                    if (epoch != next) waves = 0;
                    epoch = next;
                    waves |= bit;
                    (a.write ? u.carried_write_by : u.carried_read_by) = index_of(w, *p->in);
                });
}

void lanes_moved(Wave& w, Pending* pending, const Operand& data, const int* from) {
    const Planes& source = shadow_of(w).undefined[data.index];
    for (unsigned lane = 0; lane < lanes; ++lane)
        for (unsigned b = 0; b < 4 && from[lane] >= 0; ++b)
            pending->undefined[0][b] |= (source[b] >> from[lane] & 1) << lane;
}

void lds_out_of_bounds(Wave& w, const Instruction& in, int lane, uint32_t address, unsigned bytes) {
    if (!wanted(w, in, "lds-out-of-bounds")) return;
    report(w, in, "lds-out-of-bounds", lane, address,
           "accesses " + std::to_string(bytes) + " bytes at LDS address " + hex(address) + " in lane " +
               std::to_string(lane) + ", but the workgroup has " + std::to_string(w.lds_size));
}

}  // namespace hkc::emu::checker
