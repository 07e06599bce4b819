// Checked mode: life of shadow state, and the counters with their waits.
#include "checker.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "shadow.h"

namespace hkc::emu::checker {

WaveShadow& shadow_of(Wave& w) {
    return *w.shadow;
}
WorkgroupShadow& group_shadow(Wave& w) {
    return *w.group->shadow;
}

std::string hex(uint64_t value) {
    char text[32];
    std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
    return text;
}

bool wanted(const Wave& w, const Instruction& in, const char* kind) {
    return w.group->run->wants(kind, in.address);
}

void report(const Wave& w, const Instruction& in, const char* kind, int lane, uint64_t address,
            std::string message, std::optional<Party> other) {
    Report r = make_report(w, in, kind);
    r.lane = lane;
    r.address = address;
    r.other = std::move(other);
    r.message = r.instruction + " in wave " + std::to_string(w.index) + " " + std::move(message);
    w.group->run->report(std::move(r));
}

void attach(Workgroup& group) {
    auto shadow = std::make_unique<WorkgroupShadow>();
    shadow->unit_bytes = group.run->program->lds_granule;
    shadow->units.resize(group.run->lds_bytes / shadow->unit_bytes);
    for (unsigned i = 0; i < group.wave_count; ++i) {
        shadow->waves.push_back(std::make_unique<WaveShadow>());
        group.waves[i].shadow = shadow->waves.back().get();
        shadow->waves.back()->scratch_defined.resize(group.waves[i].private_segment);
    }
    group.shadow = shadow.release();
}

void detach(Workgroup& group) {
    for (const auto& wave : group.shadow->waves)
        for (const auto& [in, use] : wave->waits) group.run->add(use);
    delete group.shadow;
    group.shadow = nullptr;
}

void begin_workgroup(Workgroup& group) {
    WorkgroupShadow& shadow = *group.shadow;
    uint32_t epoch = shadow.first_epoch;
    for (auto& wave : shadow.waves) epoch = std::max(epoch, wave->epoch + 2);
    shadow.first_epoch = epoch;
    for (LdsUnit& unit : shadow.units) unit.direct_count = 0;
    for (unsigned i = 0; i < group.wave_count; ++i) {
        WaveShadow& s = *shadow.waves[i];
        s.undefined.fill({~0ull, ~0ull, ~0ull, ~0ull});
        s.undefined[0] = {};
        s.in_flight.fill(0);
        s.sgpr_undefined.fill(~0u);
        s.sgpr_in_flight.fill(false);
        s.scc_undefined = true;
        s.overlapping = false;
        s.epoch = epoch;
        s.vector_queue.clear();
        s.lds_queue.clear();
        s.scalar_queue.clear();
        s.last = nullptr;
        s.scratch_defined.assign(group.waves[i].private_segment, 0);
        s.missed = nullptr;
        s.missed_barrier = 0;
        s.history = {};
    }
}

void define_sgprs(Wave& w, unsigned count) {
    WaveShadow& s = shadow_of(w);
    std::fill_n(s.sgpr_undefined.begin(), std::min(count, sgpr::count), 0u);
    s.sgpr_undefined[sgpr::exec] = s.sgpr_undefined[sgpr::exec + 1] = 0;
}

void before(Wave& w, const Instruction& in) {
    WaveShadow& s = shadow_of(w);
    s.last = nullptr;
    check_registers(w, in);
    hazard::step(w, in);
    if (!(in.flags & flag_memory)) flow_undefined(w, in);
}

void relocated(Wave& w, const Instruction& copy) {
    check_registers(w, copy);
    flow_undefined(w, copy);
}

/// The registers of a load begun now hold nonsense until it arrives.
void after(Wave& w, const Instruction&) {
    constexpr uint32_t poison = 0x7fbadbad;  // A NaN as a float, far out of bounds as an address.
    WaveShadow& s = shadow_of(w);
    if (!s.last || s.last->part != Part::dword || s.last->counter == Counter::scalar_memory) return;
    for (unsigned i = 0; i < s.last->dwords; ++i) {
        uint32_t* row = w.vgpr[s.last->first + i];
        for (unsigned lane = 0; lane < lanes; ++lane)
            if (s.last->mask >> lane & 1) row[lane] = poison;
    }
}

std::unique_ptr<Pending> take(WaveShadow& s, const Instruction& in, Counter counter) {
    std::unique_ptr<Pending> p;
    if (s.spare.empty()) {
        p = std::make_unique<Pending>();
    } else {
        p = std::move(s.spare.back());
        s.spare.pop_back();
    }
    p->in = &in;
    p->counter = counter;
    p->counts_only = false;
    p->units = 1;
    p->dwords = 0;
    p->part = Part::dword;
    p->mask = 0;
    p->accesses.clear();
    p->direct.clear();
    return p;
}

namespace {

using Queue = std::deque<std::unique_ptr<Pending>>;

void complete_front(Wave& w, Queue& queue) {
    WaveShadow& s = shadow_of(w);
    std::unique_ptr<Pending> p = std::move(queue.front());
    queue.pop_front();
    if (p->dwords) commit_load(s, w, *p);
    if (!p->direct.empty()) commit_direct(w, *p);
    s.spare.push_back(std::move(p));
}

void complete_until(Wave& w, Queue& queue, size_t left) {
    while (queue.size() > left) complete_front(w, queue);
}

/// The record of a wait or barrier, for one more passage.
WaitUse& use_of(WaveShadow& s, const Instruction& in) {
    WaitUse& use = s.waits[&in];
    use.pc = in.address;
    ++use.passed;
    return use;
}

}  // namespace

/// A full counter stalls the issue: vmcnt holds 63, lgkmcnt 15. The stall guarantees the oldest operations.
void enqueue(Wave& w, std::unique_ptr<Pending> p) {
    constexpr size_t vm_limit = 63, lgkm_limit = 15;
    WaveShadow& s = shadow_of(w);
    switch (p->counter) {
        case Counter::vector_memory:
        case Counter::flat:
            if (p->counter == Counter::flat) {
                auto counted = take(s, *p->in, Counter::lds);
                counted->counts_only = true;
                s.lds_queue.push_back(std::move(counted));
            }
            s.vector_queue.push_back(std::move(p));
            complete_until(w, s.vector_queue, vm_limit);
            break;
        case Counter::lds:
            s.lds_queue.push_back(std::move(p));
            complete_until(w, s.lds_queue, lgkm_limit);
            break;
        case Counter::scalar_memory:
            s.scalar_queue.push_back(std::move(p));
            break;
    }
}

void count_only(Wave& w, const Instruction& in, Counter counter) {
    auto p = take(shadow_of(w), in, counter);
    p->counts_only = true;
    Pending* raw = p.get();
    enqueue(w, std::move(p));
    shadow_of(w).last = raw;
}

/// Vector memory completes in order, LDS too. Scalar loads complete in any order, so nothing short of lgkmcnt(0)
/// guarantees one. LDS operations stay ordered among themselves whatever the scalar loads do.
void wait(Wave& w, const Instruction& in, unsigned vmcnt, unsigned lgkmcnt) {
    WaveShadow& s = shadow_of(w);
    WaitUse& use = use_of(s, in);
    for (size_t i = 0; i + vmcnt < s.vector_queue.size(); ++i) {
        const Pending& p = *s.vector_queue[i];
        ++(p.dwords || !p.direct.empty() ? use.vector_loads : use.vector_stores);
    }
    complete_until(w, s.vector_queue, vmcnt);
    if (lgkmcnt < s.lds_queue.size()) use.lds += s.lds_queue.size() - lgkmcnt;
    complete_until(w, s.lds_queue, lgkmcnt);
    if (lgkmcnt) return;
    use.scalar += s.scalar_queue.size();
    complete_until(w, s.scalar_queue, 0);
}

/// A barrier counts waves, whatever lanes are active. But when lanes that were inactive at one barrier reach another, the
/// work-items of the wave have not all passed the same barriers: it was in divergent control flow.
static void check_divergence(Wave& w, const Instruction& in) {
    WaveShadow& s = shadow_of(w);
    uint64_t late = w.exec() & s.missed_barrier;
    if (late && wanted(w, in, "barrier-mismatch")) {
        Party other = make_party(w, *s.missed, w.index);
        int lane = std::countr_zero(late);
        report(w, in, "barrier-mismatch", lane, 0,
               "is reached by lane " + std::to_string(lane) +
                   ", which was inactive at the earlier barrier at " + hex(other.pc) +
                   " that other lanes of the wave passed",
               other);
    }
    const auto& block = w.group->run->dispatch.block;
    unsigned items = block[0] * block[1] * block[2] - unsigned(w.index) * lanes;
    uint64_t launched = items >= lanes ? ~0ull : (1ull << items) - 1;
    uint64_t inactive = launched & ~w.exec();
    if (!inactive) return;
    s.missed_barrier |= inactive;
    s.missed = &in;
}

void arrive_at_barrier(Wave& w, const Instruction& in) {
    WaveShadow& s = shadow_of(w);
    use_of(s, in);
    check_divergence(w, in);
    carry_over_barrier(w);
}

void end_wave(Wave& w, const Instruction&) {
    WaveShadow& s = shadow_of(w);
    carry_over_barrier(w);
    complete_until(w, s.vector_queue, 0);
    complete_until(w, s.lds_queue, 0);
    complete_until(w, s.scalar_queue, 0);
}

/// Ended waves do not count: the barrier of the others opens without them.
void open_barrier(Workgroup& group) {
    for (unsigned i = 0; i < group.wave_count; ++i)
        if (group.waves[i].state == WaveState::at_barrier) ++shadow_of(group.waves[i]).epoch;
}

}  // namespace hkc::emu::checker
