#include "register_uses.h"

#include <string_view>

namespace hkc::emu {
namespace {

using Role = RegisterUse::Role;

void add(Instruction& in, const Operand& o, Role role) {
    if (!o.vgpr() && !o.sgpr()) return;
    if (in.use_count == std::size(in.uses)) return;
    in.uses[in.use_count++] = {o.index, o.dwords, o.vgpr(), role};
}

void add_sgpr(Instruction& in, unsigned first, unsigned count, Role role) {
    Operand o;
    o.kind = OperandKind::sgpr;
    o.index = uint16_t(first);
    o.dwords = uint8_t(count);
    add(in, o, role);
}

bool is_memory(const Instruction& in) {
    return in.flags & flag_memory;
}

/// The role of source `i`. Memory instructions keep the address in source 0 and data in source 1; further sources are
/// data for DS, else scalar parts of the address.
Role source_role(const Instruction& in, unsigned i) {
    Family f = in.info->family;
    if (f == Family::MAI && in.kernel.matrix && in.info->sources == 3) return Role::matrix;
    if (!is_memory(in)) return Role::source;
    if (f == Family::SMEM) return i == 2 ? Role::data : Role::address;
    std::string_view name = in.info->mnemonic;
    if (f == Family::DS) {
        // Lane permutations move data; nothing but LDS and scratch remembers undefined bytes.
        if (name.find("permute") != name.npos) return i == 0 ? Role::address : Role::source;
        return i == 0 && name != "ds_swizzle_b32" ? Role::address : Role::source;
    }
    if (i == 1) return f == Family::SCRATCH ? Role::source : Role::data;
    return Role::address;
}

void add_branch_condition(Instruction& in) {
    std::string_view name = in.info->mnemonic;
    if (name.find("_vcc") != name.npos) add_sgpr(in, sgpr::vcc, 2, Role::branch);
    if (name.find("_exec") != name.npos) add_sgpr(in, sgpr::exec, 2, Role::branch);
    if (name == "s_setpc_b64" || name == "s_swappc_b64")
        for (unsigned i = 0; i < in.use_count; ++i)
            if (in.uses[i].role == Role::source) in.uses[i].role = Role::branch;
}

}  // namespace

void find_register_uses(Instruction& in, Arch) {
    const OpcodeInfo& info = *in.info;
    for (unsigned i = 0; i < std::size(in.src); ++i) add(in, in.src[i], source_role(in, i));
    std::string_view name = info.mnemonic;
    bool to_lds = in.flags & flag_lds || name.find("_load_lds_") != name.npos;
    if (to_lds) add_sgpr(in, sgpr::m0, 1, Role::address);
    if (info.dst.read_write || info.dst.keeps_half) add(in, in.dst, Role::source);
    if (name.find("saveexec") != name.npos || name.find("wrexec") != name.npos) {
        add_sgpr(in, sgpr::exec, 2, Role::source);
        add_sgpr(in, sgpr::exec, 2, Role::destination);
    }
    if (in.flags & flag_cmpx) add_sgpr(in, sgpr::exec, 2, Role::destination);
    add_branch_condition(in);
    add(in, in.dst, Role::destination);
    add(in, in.sdst, Role::destination);
    // A lane swap writes its source too.
    if (name == "v_swap_b32" || name.find("_swap_b32") != name.npos) add(in, in.src[0], Role::destination);
}

}  // namespace hkc::emu
