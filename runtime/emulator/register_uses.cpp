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

/// M0 is part of the address.
bool reads_m0(std::string_view name) {
    return name.find("_load_lds_") != name.npos || name.find("_addtid_") != name.npos ||
           name == "ds_append" || name == "ds_consume";
}

struct FlowOf {
    std::string_view mnemonic;
    Flow flow;
};
constexpr FlowOf flows[] = {
    {"v_mov_b32", Flow::bytes},
    {"v_mov_b64", Flow::bytes},
    {"v_accvgpr_read_b32", Flow::bytes},
    {"v_accvgpr_write_b32", Flow::bytes},
    {"v_accvgpr_mov_b32", Flow::bytes},
    {"v_not_b32", Flow::bytes},
    {"v_xor_b32", Flow::bytes},
    {"v_xnor_b32", Flow::bytes},
    {"v_bitop3_b32", Flow::bytes},
    {"v_bitop3_b16", Flow::bytes},
    {"v_and_b32", Flow::bit_and},
    {"v_or_b32", Flow::bit_or},
    {"v_or3_b32", Flow::bytes},
    {"v_and_or_b32", Flow::bit_and},
    {"v_add_u32", Flow::upward},
    {"v_sub_u32", Flow::upward},
    {"v_subrev_u32", Flow::upward},
    {"v_add3_u32", Flow::upward},
    {"v_mul_lo_u32", Flow::upward},
    {"v_xad_u32", Flow::upward},
    {"v_lshlrev_b32", Flow::shift_left},
    {"v_lshrrev_b32", Flow::shift_right},
    {"v_ashrrev_i32", Flow::shift_right},
    {"v_lshl_or_b32", Flow::shift_or},
    {"v_lshl_add_u32", Flow::shift_add},
    {"v_alignbit_b32", Flow::align},
    {"v_bfe_u32", Flow::extract},
    {"v_bfe_i32", Flow::extract},
    {"v_bfi_b32", Flow::insert},
    {"v_perm_b32", Flow::permute},
    {"v_cndmask_b32", Flow::select},
    {"v_pack_b32_f16", Flow::pack},
    {"v_cvt_f32_ubyte0", Flow::byte0},
    {"v_cvt_f32_ubyte1", Flow::byte1},
    {"v_cvt_f32_ubyte2", Flow::byte2},
    {"v_cvt_f32_ubyte3", Flow::byte3},
    {"v_cvt_f32_fp8", Flow::byte0},
    {"v_cvt_f32_bf8", Flow::byte0},
    {"v_cvt_pk_fp8_f32", Flow::half_result},
    {"v_cvt_pk_bf8_f32", Flow::half_result},
    {"v_cvt_scalef32_pk_fp8_f32", Flow::half_result},
    {"v_cvt_scalef32_pk_bf8_f32", Flow::half_result},
    {"v_cvt_scalef32_pk_fp8_f16", Flow::half_result},
    {"v_cvt_scalef32_pk_bf8_f16", Flow::half_result},
    {"v_cvt_scalef32_pk_fp8_bf16", Flow::half_result},
    {"v_cvt_scalef32_pk_bf8_bf16", Flow::half_result},
    {"v_cvt_scalef32_f16_fp8", Flow::half_result},
    {"v_cvt_scalef32_f16_bf8", Flow::half_result},
    {"v_cvt_sr_f16_f32", Flow::half_result},
    {"v_cvt_sr_bf16_f32", Flow::half_result},
    {"v_cvt_sr_fp8_f32", Flow::byte_result},
    {"v_cvt_sr_bf8_f32", Flow::byte_result},
    {"v_cvt_scalef32_sr_fp8_f32", Flow::byte_result},
    {"v_cvt_scalef32_sr_bf8_f32", Flow::byte_result},
    {"v_cvt_scalef32_sr_fp8_f16", Flow::byte_result},
    {"v_cvt_scalef32_sr_bf8_f16", Flow::byte_result},
    {"v_cvt_scalef32_sr_fp8_bf16", Flow::byte_result},
    {"v_cvt_scalef32_sr_bf8_bf16", Flow::byte_result},
    {"v_cvt_scalef32_pk_fp4_f32", Flow::byte_result},
    {"v_cvt_scalef32_pk_fp4_f16", Flow::byte_result},
    {"v_cvt_scalef32_pk_fp4_bf16", Flow::byte_result},
    {"v_cvt_scalef32_sr_pk_fp4_f32", Flow::byte_result},
    {"v_cvt_scalef32_sr_pk_fp4_f16", Flow::byte_result},
    {"v_cvt_scalef32_sr_pk_fp4_bf16", Flow::byte_result},
    {"v_cvt_pk_u8_f32", Flow::named_byte},
    {"v_cvt_pkaccum_u8_f32", Flow::named_byte},
    {"v_cvt_pkrtz_f16_f32", Flow::two_halves},
    {"v_cvt_pk_f16_f32", Flow::two_halves},
    {"v_cvt_pk_bf16_f32", Flow::two_halves},
    {"v_cvt_pk_u16_u32", Flow::two_halves},
    {"v_cvt_pk_i16_i32", Flow::two_halves},
    {"v_cvt_pknorm_i16_f32", Flow::two_halves},
    {"v_cvt_pknorm_u16_f32", Flow::two_halves},
    {"v_cvt_pknorm_i16_f16", Flow::two_halves},
    {"v_cvt_pknorm_u16_f16", Flow::two_halves},
    {"v_fma_mixlo_f16", Flow::low_result},
    {"v_fma_mixhi_f16", Flow::high_result},
    {"v_mad_u64_u32", Flow::low_first},
    {"v_mad_i64_i32", Flow::low_first},
    {"v_lshl_add_u64", Flow::low_first},
    {"v_lshlrev_b64", Flow::low_first},
    {"v_lshrrev_b64", Flow::high_first},
    {"v_ashrrev_i64", Flow::high_first},
};

Flow flow_of(const OpcodeInfo& info) {
    std::string_view name = info.mnemonic;
    for (const FlowOf& f : flows)
        if (f.mnemonic == name) return f.flow;
    if (info.family == Family::VOP3P) {
        if (info.src[0].kind == OperandClass::packed32) return Flow::pairs;
        if (name.starts_with("v_pk_")) return Flow::halves;
    }
    return Flow::any;
}

}  // namespace

void find_register_uses(Instruction& in, Arch) {
    const OpcodeInfo& info = *in.info;
    std::string_view name = info.mnemonic;
    if (name.starts_with("s_movrel") && !(in.flags & flag_relocated))
        return add_sgpr(in, sgpr::m0, 1, Role::address);  // Which registers they are, M0 decides.
    for (unsigned i = 0; i < std::size(in.src); ++i) add(in, in.src[i], source_role(in, i));
    if (in.flags & flag_lds || reads_m0(name)) add_sgpr(in, sgpr::m0, 1, Role::address);
    if (name.starts_with("s_set_gpr_idx") && name != "s_set_gpr_idx_off")
        add_sgpr(in, sgpr::m0, 1, Role::destination);
    bool accumulates =
        info.family == Family::MAI && info.sources == 3;  // A sparse MFMA: C is the destination.
    if (info.dst.read_write || info.dst.keeps_half)
        add(in, in.dst, accumulates ? Role::matrix : Role::source);
    if (name.find("saveexec") != name.npos || name.find("wrexec") != name.npos) {
        add_sgpr(in, sgpr::exec, 2, Role::source);
        add_sgpr(in, sgpr::exec, 2, Role::destination);
    }
    if (in.flags & flag_cmpx) add_sgpr(in, sgpr::exec, 2, Role::destination);
    add_branch_condition(in);
    in.flow = flow_of(info);
    add(in, in.dst, Role::destination);
    add(in, in.sdst, Role::destination);
    // A lane swap writes its source too.
    if (name == "v_swap_b32" || name.find("_swap_b32") != name.npos) add(in, in.src[0], Role::destination);
}

}  // namespace hkc::emu
