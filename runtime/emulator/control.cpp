// Program flow: branches, waits, barriers, and access to the hardware registers.
#include <string>

#include "bindings.h"
#include "checker.h"
#include "vector_memory.h"
#include "workgroup.h"

namespace hkc::emu {
namespace {

using checker::Counter;

void jump(Wave& w, const Instruction& in) {
    if (in.target)
        w.pc = in.target;
    else
        trap(w, in, "the branch target is outside the code");
}

void jump_to_address(Wave& w, const Instruction& in, uint64_t address) {
    const Instruction* target = w.group->run->program->at(address);
    if (target)
        w.pc = target;
    else
        trap(w, in, "the branch target is outside the code");
}

template <class Condition>
void branch_if(Wave& w, const Instruction& in, Condition condition) {
    if (condition) jump(w, in);
}

void nothing(Wave&, const Instruction&) {}

void end_program(Wave& w, const Instruction&) {
    w.state = WaveState::ended;
}
void end_program_checked(Wave& w, const Instruction& in) {
    checker::end_wave(w, in);
    w.state = WaveState::ended;
}

void barrier(Wave& w, const Instruction&) {
    ++w.counters.barriers;
    w.state = WaveState::at_barrier;
}
void barrier_checked(Wave& w, const Instruction& in) {
    checker::arrive_at_barrier(w, in);
    barrier(w, in);
}

/// simm16 of s_waitcnt: vmcnt [15:14]:[3:0], expcnt [6:4], lgkmcnt [11:8] (CDNA3 ISA guide, "S_WAITCNT").
void wait_checked(Wave& w, const Instruction& in) {
    unsigned simm = uint16_t(in.imm);
    checker::wait(w, in, (simm & 15) | (simm >> 14 & 3) << 4, simm >> 8 & 15);
}

void yield(Wave& w, const Instruction&) {
    w.state = WaveState::yielded;
}

void user_trap(Wave& w, const Instruction& in) {
    trap(w, in, "the kernel trapped");
}

void get_pc(Wave& w, const Instruction& in) {
    w.set_sgpr64(in.dst.index, in.address + 4);
}
void set_pc(Wave& w, const Instruction& in) {
    jump_to_address(w, in, read_scalar(w, in.src[0]));
}
void swap_pc(Wave& w, const Instruction& in) {
    uint64_t target = read_scalar(w, in.src[0]);
    w.set_sgpr64(in.dst.index, in.address + 4);
    jump_to_address(w, in, target);
}
void call(Wave& w, const Instruction& in) {
    w.set_sgpr64(in.dst.index, in.address + 4);
    jump(w, in);
}

/// Hardware registers by number (CDNA3 ISA guide, "S_GETREG_B32"); those that have no meaning here read as 0.
constexpr unsigned hwreg_mode = 1;

uint32_t read_hwreg(const Wave& w, unsigned id) {
    constexpr unsigned hwreg_hw_id = 4, hwreg_lds_alloc = 6;
    switch (id) {
        case hwreg_mode:
            return w.mode;
        case hwreg_hw_id:
            return uint32_t(w.index);
        case hwreg_lds_alloc:
            return w.lds_size / 512 << 12;
        default:
            return 0;
    }
}

struct HwregField {
    unsigned id, offset, size;
    explicit HwregField(int32_t simm) : id(simm & 63), offset(simm >> 6 & 31), size((simm >> 11 & 31) + 1) {}
    uint32_t mask() const { return uint32_t(((1ull << size) - 1) << offset); }
};

void get_reg(Wave& w, const Instruction& in) {
    HwregField f(in.imm);
    w.sgpr[in.dst.index] = (read_hwreg(w, f.id) & f.mask()) >> f.offset;
}
void set_reg(Wave& w, const Instruction& in) {
    HwregField f(in.imm);
    const Operand& value = in.src[1];
    if (f.id == hwreg_mode)
        w.mode = (w.mode & ~f.mask()) | (uint32_t(read_scalar(w, value)) << f.offset & f.mask());
    w.state = vgpr_indexing(w) ? WaveState::indexed : WaveState::running;
}

/// Ends the wave if bit 0 of the immediate says so.
template <Handler end>
void set_kill(Wave& w, const Instruction& in) {
    if (in.imm & 1) end(w, in);
}

#define FLOW(name, handler) {.mnemonic = name, .fast = handler}
#define BRANCH(name, condition) \
    {.mnemonic = name, .fast = [](Wave& w, const Instruction& in) { branch_if(w, in, condition); }}

const Binding bindings[] = {
    FLOW("s_nop", nothing),
    {.mnemonic = "s_endpgm", .fast = end_program, .checked = end_program_checked},
    {.mnemonic = "s_endpgm_saved", .fast = end_program, .checked = end_program_checked},
    FLOW("s_branch", jump),
    BRANCH("s_cbranch_scc0", !w.scc),
    BRANCH("s_cbranch_scc1", w.scc),
    BRANCH("s_cbranch_vccz", w.vcc() == 0),
    BRANCH("s_cbranch_vccnz", w.vcc() != 0),
    BRANCH("s_cbranch_execz", w.exec() == 0),
    BRANCH("s_cbranch_execnz", w.exec() != 0),
    BRANCH("s_cbranch_cdbgsys", false),
    BRANCH("s_cbranch_cdbguser", false),
    BRANCH("s_cbranch_cdbgsys_or_user", false),
    BRANCH("s_cbranch_cdbgsys_and_user", false),
    {.mnemonic = "s_barrier", .fast = barrier, .checked = barrier_checked},
    {.mnemonic = "s_waitcnt", .fast = nothing, .checked = wait_checked},
    {.mnemonic = "s_setkill", .fast = set_kill<end_program>, .checked = set_kill<end_program_checked>},
    FLOW("s_sleep", yield),
    FLOW("s_wakeup", nothing),
    FLOW("s_setprio", nothing),
    FLOW("s_sendmsg", nothing),
    FLOW("s_sethalt", nothing),
    FLOW("s_icache_inv", nothing),
    FLOW("s_incperflevel", nothing),
    FLOW("s_decperflevel", nothing),
    FLOW("s_ttracedata", nothing),
    FLOW("s_trap", user_trap),
    FLOW("s_getpc_b64", get_pc),
    FLOW("s_setpc_b64", set_pc),
    FLOW("s_swappc_b64", swap_pc),
    FLOW("s_call_b64", call),
    FLOW("s_getreg_b32", get_reg),
    FLOW("s_setreg_b32", set_reg),
    FLOW("s_setreg_imm32_b32", set_reg),
};

#undef FLOW
#undef BRANCH

/// "v_foo (word 0x7e..., address 0x...)" for messages.
std::string describe(const Instruction& in) {
    char text[64];
    std::string s = in.info ? disassemble(in) : "unknown opcode";
    uint32_t word = *reinterpret_cast<const uint32_t*>(in.address);
    std::snprintf(text, sizeof text, " (0x%08x) at 0x%llx", word,
                  static_cast<unsigned long long>(in.address));
    return s + text;
}

}  // namespace

std::span<const Binding> control_bindings() {
    return bindings;
}

void trap(Wave& w, const Instruction& in, const char* reason) {
    w.state = WaveState::trapped;
    RunContext& run = *w.group->run;
    const Program& program = *run.program;
    bool in_text = in.address - program.base < (program.code.size() - 4) * 4;
    std::string where = in_text ? describe(in) : "end of the code";
    run.trap(std::string(reason) + ": " + where);
}

static void fault(Wave& w, const Instruction& in, int lane, uint64_t address, const char* kind,
                  const char* why) {
    char text[160];
    std::snprintf(text, sizeof text, "memory fault: lane %d of wave %d accesses 0x%llx, %s", lane, w.index,
                  static_cast<unsigned long long>(address), why);
    Report report = make_report(w, in, kind);
    report.message = std::string(text) + ", in " + report.instruction;
    report.lane = lane;
    report.address = address;
    w.group->run->report(std::move(report));
    trap(w, in, text);
}

void memory_fault(Wave& w, const Instruction& in, int lane, uint64_t address) {
    fault(w, in, lane, address, "memory-fault", "outside of device memory");
}

void alignment_fault(Wave& w, const Instruction& in, int lane, uint64_t address) {
    fault(w, in, lane, address, "misaligned", "which is not a multiple of the atomic's size");
}

void unknown_opcode(Wave& w, const Instruction& in) {
    trap(w, in, in.info ? "instruction is not emulated" : "not an instruction");
}
void invalid_operand(Wave& w, const Instruction& in) {
    w.state = WaveState::trapped;
    char text[96];
    std::snprintf(text, sizeof text, ": invalid operand at 0x%llx",
                  static_cast<unsigned long long>(in.address));
    w.group->run->trap(std::string(in.info->mnemonic) + text);
}

}  // namespace hkc::emu
