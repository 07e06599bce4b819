#include "global_races.h"

#include <cstring>

#include "memory_op.h"
#include "shadow.h"

namespace hkc::emu {

namespace {

/// The workgroup's number in the dispatch, from 1 on.
uint32_t number_of(const Workgroup& group) {
    const auto& grid = group.run->dispatch.grid;
    uint64_t linear = group.id[0] + uint64_t(grid[0]) * (group.id[1] + uint64_t(grid[1]) * group.id[2]);
    return uint32_t(linear % 0xffffffff) + 1;
}

std::array<uint32_t, 3> workgroup_at(const RunContext& run, uint32_t number) {
    const auto& grid = run.dispatch.grid;
    uint32_t linear = number - 1;
    return {linear % grid[0], linear / grid[0] % grid[1], uint32_t(linear / (uint64_t(grid[0]) * grid[1]))};
}

}  // namespace

GlobalShadow::Unit* GlobalShadow::page(Shard& shard, uint64_t number) {
    auto it = shard.pages.find(number);
    if (it != shard.pages.end()) return it->second.get();
    size_t units = page_bytes / unit_bytes_, size = units * sizeof(Unit);
    if (allocated_.fetch_add(size, std::memory_order_relaxed) + size > most_bytes) {
        allocated_.fetch_sub(size, std::memory_order_relaxed);
        return nullptr;
    }
    return (shard.pages[number] = std::make_unique<Unit[]>(units)).get();
}

/// Calls f(unit, offset of the unit in the access) for each unit that lies within the access. An access that is not
/// aligned to units leaves out the ones it covers in part.
template <class F>
void GlobalShadow::for_units(uint64_t address, unsigned bytes, F f) {
    uint64_t at = (address + unit_bytes_ - 1) / unit_bytes_ * unit_bytes_, end = address + bytes;
    while (at + unit_bytes_ <= end) {
        uint64_t number = at / page_bytes, page_end = std::min((number + 1) * page_bytes, end);
        Shard& shard = shards_[number % shard_count];
        std::lock_guard lock(shard.mutex);
        Unit* units = page(shard, number);
        for (; at + unit_bytes_ <= page_end; at += unit_bytes_)
            if (units) f(units[at % page_bytes / unit_bytes_], unsigned(at - address));
    }
}

GlobalShadow::Access GlobalShadow::access(Wave& w, const Instruction& in, int lane, uint64_t address,
                                          unsigned bytes) const {
    uint32_t index = uint32_t((in.address - w.group->run->program->base) / 4);
    uint32_t place = index << 4 | uint32_t(w.index & 15);
    return {w,       in,    lane,
            address, bytes, {number_of(*w.group), place, clock_.load(std::memory_order_relaxed)}};
}

/// Two workgroups' accesses, unless both have made an atomic access since the first one. That may have ordered them, for
/// which addresses and in which direction is not followed: no report is wrong, some are missing.
bool GlobalShadow::unordered(const Mark& before, const Mark& now) const {
    if (before.group == 0 || before.group == now.group) return false;
    const auto synchronized = [&](uint32_t group) {
        return last_atomic_[group % group_slots].load(std::memory_order_relaxed) > before.time;
    };
    return !(synchronized(before.group) && synchronized(now.group));
}

void GlobalShadow::atomic(const Wave& w) {
    uint32_t now = clock_.fetch_add(1, std::memory_order_relaxed) + 1;
    last_atomic_[number_of(*w.group) % group_slots].store(now, std::memory_order_relaxed);
}

void GlobalShadow::read(Wave& w, const Instruction& in, int lane, uint64_t address, unsigned bytes) {
    Access a = access(w, in, lane, address, bytes);
    for_units(address, bytes, [&](Unit& unit, unsigned) {
        if (unit.changed && !unit.agreed && unordered(unit.write, a.mark))
            report(a, "reads", unit.write, "wrote");
        bool first = unit.reads[0].group == 0 || unit.reads[0].group == a.mark.group;
        unit.reads[first ? 0 : 1] = a.mark;
    });
}

/// Stores a value's shadow; returns whether it differs from what the unit held.
bool GlobalShadow::set_value(Unit& unit, uint64_t address, unsigned bytes, uint32_t value) {
    uint32_t old = unit.value;
    if (unit.write.group == 0) {  // Memory itself may lag behind the shadow, but nobody has written yet.
        old = 0;
        std::memcpy(&old, reinterpret_cast<const void*>(address), bytes);
    }
    unit.value = value;
    return old != value;
}

void GlobalShadow::write(Wave& w, const Instruction& in, int lane, uint64_t address, unsigned bytes,
                         const uint8_t* data) {
    Access a = access(w, in, lane, address, bytes);
    for_units(address, bytes, [&](Unit& unit, unsigned offset) {
        uint32_t value = 0;
        std::memcpy(&value, data + offset, unit_bytes_);
        bool changes = set_value(unit, address + offset, unit_bytes_, value);
        bool others = unit.write.group != 0 && unit.write.group != a.mark.group;
        if (changes) {
            if (unordered(unit.write, a.mark)) report(a, "writes", unit.write, "wrote");
            for (const Mark& read : unit.reads)
                if (unordered(read, a.mark)) report(a, "writes", read, "read");
        }
        unit.agreed = !changes && (others || unit.agreed);
        unit.changed = changes || unit.changed;
        unit.write = a.mark;
    });
}

void GlobalShadow::report(const Access& a, const char* verb, const Mark& before,
                          const char* other_verb) const {
    if (!checker::wanted(a.wave, a.in, "global-race")) return;
    const RunContext& run = *a.wave.group->run;
    const Instruction& other = run.program->code[before.place >> 4];
    Party party = make_party(a.wave, other, int(before.place & 15));
    party.workgroup = workgroup_at(run, before.group);
    const auto& id = party.workgroup;
    checker::report(a.wave, a.in, "global-race", a.lane, a.address,
                    std::string(verb) + " " + std::to_string(a.bytes) + " bytes at " +
                        checker::hex(a.address) + " in lane " + std::to_string(a.lane) + ", which " +
                        party.instruction + " at " + checker::hex(party.pc) + " in wave " +
                        std::to_string(party.wave) + " of workgroup (" + std::to_string(id[0]) + ", " +
                        std::to_string(id[1]) + ", " + std::to_string(id[2]) + ") " + other_verb +
                        "; no atomic orders the workgroups",
                    party);
}

namespace checker {

void global_read(Wave& w, const Instruction& in, const uint64_t* address, uint64_t mask, unsigned bytes) {
    GlobalShadow* shadow = w.group->run->global.get();
    if (!shadow) return;
    if (in.flags & flag_sc1) return shadow->atomic(w);
    for (; mask; mask &= mask - 1) {
        int lane = std::countr_zero(mask);
        shadow->read(w, in, lane, address[lane], bytes);
    }
}

void global_write(Wave& w, const Instruction& in, const uint64_t* address, uint64_t mask, unsigned bytes,
                  const uint32_t* rows) {
    GlobalShadow* shadow = w.group->run->global.get();
    if (!shadow) return;
    if (in.flags & flag_sc1) return shadow->atomic(w);
    unsigned shift = in.kernel.memory->part == Part::high_half ? 16 : 0;
    for (; mask; mask &= mask - 1) {
        int lane = std::countr_zero(mask);
        uint32_t data[4] = {rows[lane] >> shift};
        for (unsigned i = 1; i < bytes / 4; ++i) data[i] = rows[i * lanes + unsigned(lane)];
        shadow->write(w, in, lane, address[lane], bytes, reinterpret_cast<const uint8_t*>(data));
    }
}

void global_atomic(Wave& w) {
    if (GlobalShadow* shadow = w.group->run->global.get()) shadow->atomic(w);
}

}  // namespace checker
}  // namespace hkc::emu
