#include "relocation.h"

#include "bindings.h"
#include "checker.h"
#include "register_uses.h"
#include "workgroup.h"

namespace hkc::emu {
namespace {

/// Fields of M0 (CDNA3 ISA guide, 6.6.1): the index [7:0], and which operands it moves [15:12].
constexpr uint32_t index_mask = 0xff, operands_mask = 0xf000;
constexpr unsigned operands_at = 12, destination_bit = 15, vgpr_count = 256;

bool is_vector(const Instruction& in) {
    if (!in.info) return false;
    Family f = in.info->family;
    return (f >= Family::VOP1 && f <= Family::MAI) || f == Family::VOP1_E32 || f == Family::VOP2_E32;
}

/// Vector and accumulation registers each end at 255.
bool move_vgpr(Operand& o, unsigned by) {
    if (!o.vgpr()) return true;
    if (o.index % vgpr_count + by + o.dwords > vgpr_count) return false;
    o.index = uint16_t(o.index + by);
    return true;
}

void renew_uses(Instruction& in, Arch arch) {
    in.use_count = 0;
    find_register_uses(in, arch);
}

/// S_MOVRELS: the source moves, S_MOVRELD: the destination.
template <bool destination>
void move_relative(Wave& w, const Instruction& in) {
    uint32_t by = w.sgpr[sgpr::m0];
    const Instruction* copy = w.group->run->relocated.find(in, by, [&](Instruction& made) {
        Operand& o = destination ? made.dst : made.src[0];
        constexpr uint64_t allocatable = 102;  // Above are VCC and registers that no allocation has.
        if (!o.sgpr() || uint64_t(o.index) + by + o.dwords > allocatable) return false;
        if (o.dwords == 2 && (o.index + by) % 2) return false;
        o.index = uint16_t(o.index + by);
        renew_uses(made, w.arch);
        return true;
    });
    if (!copy) return trap(w, in, "M0 moves the register number out of range");
    if (w.shadow) checker::relocated(w, *copy);
    uint64_t value = read_scalar(w, copy->src[0]);
    if (copy->dst.dwords > 1)
        w.set_sgpr64(copy->dst.index, value);
    else
        w.sgpr[copy->dst.index] = uint32_t(value);
}

void begin_indexing(Wave& w) {
    w.mode |= mode_bits::gpr_idx_en;
    w.state = WaveState::indexed;
}

void set_index(Wave& w, uint32_t index) {
    w.sgpr[sgpr::m0] = (w.sgpr[sgpr::m0] & ~index_mask) | (index & index_mask);
}
void set_operands(Wave& w, int32_t bits) {
    w.sgpr[sgpr::m0] = (w.sgpr[sgpr::m0] & ~operands_mask) | (uint32_t(bits) << operands_at & operands_mask);
}

void index_on(Wave& w, const Instruction& in) {
    set_index(w, uint32_t(read_scalar(w, in.src[0])));
    set_operands(w, in.imm);
    begin_indexing(w);
}
void index_off(Wave& w, const Instruction&) {
    w.mode &= ~mode_bits::gpr_idx_en;
    w.state = WaveState::running;
}
void index_index(Wave& w, const Instruction& in) {
    set_index(w, uint32_t(read_scalar(w, in.src[0])));
}
void index_mode(Wave& w, const Instruction& in) {
    set_operands(w, in.imm);
}

const Binding bindings[] = {
    {.mnemonic = "s_movrels_b32", .fast = move_relative<false>},
    {.mnemonic = "s_movrels_b64", .fast = move_relative<false>},
    {.mnemonic = "s_movreld_b32", .fast = move_relative<true>},
    {.mnemonic = "s_movreld_b64", .fast = move_relative<true>},
    {.mnemonic = "s_set_gpr_idx_on", .fast = index_on},
    {.mnemonic = "s_set_gpr_idx_off", .fast = index_off},
    {.mnemonic = "s_set_gpr_idx_idx", .fast = index_index},
    {.mnemonic = "s_set_gpr_idx_mode", .fast = index_mode},
};

}  // namespace

const Instruction* indexed_form(Wave& w, const Instruction& in) {
    if (!is_vector(in)) return &in;
    uint32_t m0 = w.sgpr[sgpr::m0], by = m0 & index_mask;
    if (by == 0 || !(m0 & operands_mask)) return &in;
    const Instruction* copy =
        w.group->run->relocated.find(in, m0 & (index_mask | operands_mask), [&](Instruction& made) {
            bool good = true;
            for (unsigned i = 0; i < 3; ++i)
                if (m0 >> (operands_at + i) & 1) good &= move_vgpr(made.src[i], by);
            if (m0 >> destination_bit & 1) good &= move_vgpr(made.dst, by);
            renew_uses(made, w.arch);
            return good;
        });
    if (!copy) trap(w, in, "M0 moves a VGPR number out of range");
    return copy;
}

std::span<const Binding> relocation_bindings() {
    return bindings;
}

}  // namespace hkc::emu
