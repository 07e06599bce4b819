// Running a dispatch: launch state, the waves of a workgroup, and workgroups over threads.
#include <algorithm>
#include <bit>
#include <cstring>
#include <new>
#include <system_error>
#include <thread>

#include "bindings.h"
#include "checker.h"
#include "launch.h"
#include "work_queue.h"
#include "workgroup.h"

namespace hkc::emu {

RunContext::RunContext(const Dispatch& d, const RunOptions& o, MemoryMap& m)
    : dispatch(d), options(o), memory(m) {}

void RunContext::trap(const std::string& message) {
    std::lock_guard lock(mutex_);
    stopped_.store(true, std::memory_order_relaxed);
    if (result_.trapped) return;
    result_.trapped = true;
    result_.trap = message;
}

bool RunContext::wants(const char* kind, uint64_t pc) {
    std::lock_guard lock(mutex_);
    auto it = seen_.find(std::string_view(kind));
    if (it == seen_.end()) return true;
    return it->second.size() < options.max_reports_per_kind && !it->second.contains(pc);
}

void RunContext::report(Report report) {
    std::lock_guard lock(mutex_);
    auto& pcs = seen_[report.kind];
    if (pcs.size() >= options.max_reports_per_kind || !pcs.emplace(report.pc, true).second) return;
    result_.reports.push_back(std::move(report));
}

void RunContext::add(const Counters& counters) {
    std::lock_guard lock(mutex_);
    result_.counters = result_.counters + counters;
}

void RunContext::add(const WaitUse& use) {
    std::lock_guard lock(mutex_);
    WaitUse& t = waits_[use.pc];
    t.pc = use.pc;
    t.passed += use.passed;
    t.vector_loads += use.vector_loads;
    t.vector_stores += use.vector_stores;
    t.lds += use.lds;
    t.scalar += use.scalar;
}

RunResult RunContext::take_result() {
    for (const auto& [pc, use] : waits_) result_.waits.push_back(use);
    std::sort(result_.reports.begin(), result_.reports.end(), [](const Report& a, const Report& b) {
        return std::tie(a.kind, a.pc) < std::tie(b.kind, b.pc);
    });
    return std::move(result_);
}

Party make_party(const Wave& wave, const Instruction& in, int index) {
    Party party;
    party.pc = in.address;
    party.instruction = in.info ? disassemble(in) : "unknown opcode";
    party.workgroup = wave.group->id;
    party.wave = index;
    if (auto line = wave.group->run->dispatch.kernel->object->line(in.address)) {
        party.file = std::string(line->file);
        party.line = line->line;
        party.column = line->column;
    }
    return party;
}

Report make_report(const Wave& wave, const Instruction& in, const char* kind) {
    Party self = make_party(wave, in, wave.index);
    Report report;
    report.kind = kind;
    report.pc = self.pc;
    report.instruction = std::move(self.instruction);
    report.workgroup = self.workgroup;
    report.wave = self.wave;
    report.file = std::move(self.file);
    report.line = self.line;
    report.column = self.column;
    return report;
}

namespace {

constexpr uint64_t time_slice = 1u << 22;  ///< Instructions before another wave gets its turn.

void end_runaway(Wave& w) {
    RunContext& run = *w.group->run;
    const Instruction& in = *w.pc;
    std::string text = "wave " + std::to_string(w.index) + " has not ended after " +
                       std::to_string(w.counters.instructions) + " instructions";
    Report report = make_report(w, in, "runaway");
    report.lane = -1;
    report.message = text + ", at " + report.instruction;
    for (unsigned i = 0; i < w.group->wave_count; ++i) {
        const Wave& other = w.group->waves[i];
        if (other.state != WaveState::at_barrier || report.other) continue;
        report.other = make_party(other, *(other.pc - 1), other.index);
        report.message += ", while wave " + std::to_string(other.index) + " waits at a barrier";
    }
    run.report(std::move(report));
    trap(w, in, text.c_str());
}

template <Mode mode>
void execute(Wave& w, const Instruction& in) {
    if constexpr (mode == Mode::checked) checker::before(w, in);
    in.run[size_t(mode)](w, in);
    if constexpr (mode == Mode::checked) checker::after(w, in);
}

/// With VGPR indexing the registers of vector instructions are others.
template <Mode mode>
void execute_indexed(Wave& w) {
    const Instruction& in = *w.pc;
    w.pc = in.next();
    ++w.counters.instructions;
    if (const Instruction* form = indexed_form(w, in)) execute<mode>(w, *form);
}

/// Ends a wave's turn.
void yield(Wave& w) {
    if (w.state == WaveState::running || w.state == WaveState::indexed) w.state = WaveState::yielded;
    if (w.group->run->stopped()) w.state = WaveState::trapped;
}

void resume(Wave& w) {
    w.state = vgpr_indexing(w) ? WaveState::indexed : WaveState::running;
}

template <Mode mode>
void run_wave(Wave& w) {
    uint64_t budget = w.group->run->options.instruction_budget;
    uint64_t left = budget ? std::min(time_slice, budget) : time_slice;
    while (true) {
        while (w.state == WaveState::running) {
            const Instruction& in = *w.pc;
            w.pc = in.next();
            ++w.counters.instructions;
            execute<mode>(w, in);
            if (--left == 0) return yield(w);
        }
        if (w.state != WaveState::indexed) return;
        execute_indexed<mode>(w);
        if (--left == 0) return yield(w);
    }
}

/// Runs waves in turn until all have ended; a barrier opens when every living wave is there.
template <Mode mode>
void run_workgroup(Workgroup& group) {
    unsigned living = group.wave_count;
    while (living) {
        unsigned waiting = 0;
        living = 0;
        for (unsigned i = 0; i < group.wave_count; ++i) {
            Wave& w = group.waves[i];
            if (w.state == WaveState::yielded) resume(w);
            if (w.state == WaveState::running || w.state == WaveState::indexed) run_wave<mode>(w);
            bool living_on = w.state == WaveState::yielded || w.state == WaveState::at_barrier;
            uint64_t budget = group.run->options.instruction_budget;
            if (budget && living_on && w.counters.instructions >= budget) end_runaway(w);
            if (w.state == WaveState::trapped || group.run->stopped()) return;
            if (w.state == WaveState::ended) continue;
            ++living;
            if (w.state == WaveState::at_barrier) ++waiting;
        }
        if (waiting == living) {
            if constexpr (mode == Mode::checked)
                if (living) checker::open_barrier(group);
            for (unsigned i = 0; i < group.wave_count; ++i)
                if (group.waves[i].state == WaveState::at_barrier) resume(group.waves[i]);
        }
    }
}

void work(RunContext& run, const LaunchState& launch, WorkQueue& queue, unsigned thread) {
    try {
        WorkgroupStorage storage(run, launch);
        while (!run.stopped()) {
            const std::optional<uint64_t> index = queue.next(thread);
            if (!index) break;
            storage.begin(*index);
            if (run.options.mode == Mode::checked)
                run_workgroup<Mode::checked>(storage.group());
            else
                run_workgroup<Mode::fast>(storage.group());
            storage.end();
        }
    } catch (const std::bad_alloc&) {
        run.trap("the host has no memory left to run the kernel");
    }
}

/// Runs all workgroups on this thread and up to `threads` - 1 others; as many as the host can start.
void run_all(RunContext& run, const LaunchState& launch, uint64_t total, unsigned threads) {
    WorkQueue queue(total, threads);
    std::vector<std::thread> pool;
    try {
        for (unsigned i = 1; i < threads; ++i)
            pool.emplace_back([&run, &launch, &queue, i] { work(run, launch, queue, i); });
    } catch (const std::system_error&) {
        // Those that started, and this one, do all the work.
    }
    work(run, launch, queue, 0);
    for (std::thread& t : pool) t.join();
}

}  // namespace

RunResult run(const Dispatch& dispatch, const RunOptions& options, MemoryMap& memory) {
    RunContext context(dispatch, options, memory);
    MemoryMap::Pin pin(memory);
    LaunchState launch;
    std::string error = launch.prepare(context);
    if (!error.empty()) {
        context.trap(error);
        return context.take_result();
    }
    uint64_t total = uint64_t(dispatch.grid[0]) * dispatch.grid[1] * dispatch.grid[2];
    if (options.mode == Mode::checked && total > 1)
        context.global = std::make_unique<GlobalShadow>(context.program->global_granule);
    unsigned threads = options.threads ? options.threads : std::max(1u, std::thread::hardware_concurrency());
    threads = unsigned(std::min<uint64_t>(threads, total));
    if (total) run_all(context, launch, total, threads);
    return context.take_result();
}

}  // namespace hkc::emu
