// Instruction text in LLVM's syntax.
#include <cstdio>
#include <string>
#include <string_view>

#include "decoder.h"

namespace hkc::emu {
namespace {

std::string number(const char* format, long long value) {
    char text[48];
    std::snprintf(text, sizeof text, format, value);
    return text;
}

std::string register_name(const Operand& o) {
    if (o.vgpr()) {
        std::string prefix = o.index < 256 ? "v" : "a";
        unsigned first = o.index & 255u;
        if (o.dwords == 1) return prefix + std::to_string(first);
        return prefix + "[" + std::to_string(first) + ":" + std::to_string(first + o.dwords - 1) + "]";
    }
    struct Special {
        unsigned index;
        const char* pair;
        const char* low;
        const char* high;
    };
    static constexpr Special specials[] = {{102, "flat_scratch", "flat_scratch_lo", "flat_scratch_hi"},
                                           {104, "xnack_mask", "xnack_mask_lo", "xnack_mask_hi"},
                                           {106, "vcc", "vcc_lo", "vcc_hi"},
                                           {126, "exec", "exec_lo", "exec_hi"}};
    for (const Special& s : specials) {
        if (o.index == s.index) return o.dwords == 2 ? s.pair : s.low;
        if (o.index == s.index + 1) return s.high;
    }
    if (o.index == sgpr::m0) return "m0";
    bool trap = o.index >= sgpr::ttmp0;
    std::string prefix = trap ? "ttmp" : "s";
    unsigned first = trap ? o.index - sgpr::ttmp0 : o.index;
    if (o.dwords == 1) return prefix + std::to_string(first);
    return prefix + "[" + std::to_string(first) + ":" + std::to_string(first + o.dwords - 1) + "]";
}

/// Inline constants by what they mean, literals in hexadecimal.
std::string constant_name(const Operand& o, const OperandShape& shape) {
    if (o.literal) {
        bool upper = shape.bits == 64 && shape.kind == OperandClass::floating;
        return number("0x%llx", (long long)(upper ? o.value >> 32 : o.value & 0xffffffff));
    }
    int64_t value =
        o.dwords > 1 && shape.kind != OperandClass::packed32 ? int64_t(o.value) : int32_t(o.value);
    if (value >= -16 && value <= 64) return std::to_string(value);
    static constexpr const char* names[] = {"0.5",  "-0.5", "1.0",  "-1.0",      "2.0",
                                            "-2.0", "4.0",  "-4.0", "0.15915494"};
    static constexpr uint32_t f32[] = {0x3f000000, 0xbf000000, 0x3f800000, 0xbf800000, 0x40000000,
                                       0xc0000000, 0x40800000, 0xc0800000, 0x3e22f983};
    static constexpr uint16_t f16[] = {0x3800, 0xb800, 0x3c00, 0xbc00, 0x4000,
                                       0xc000, 0x4400, 0xc400, 0x3118};
    static constexpr uint16_t f64[] = {0x3fe0, 0xbfe0, 0x3ff0, 0xbff0, 0x4000,
                                       0xc000, 0x4010, 0xc010, 0x3fc4};
    for (unsigned i = 0; i < 9; ++i) {
        if (uint32_t(o.value) == f32[i] || (o.value >> 16 == 0 && o.value == f16[i])) return names[i];
        if (o.dwords == 2 && o.value >> 48 == f64[i]) return names[i];
    }
    if (o.value == 1ull << 48) return "src_shared_base";
    if (o.value == 2ull << 48) return "src_private_base";
    return number("0x%llx", (long long)o.value);
}

std::string operand_name(const Operand& o, const OperandShape& shape) {
    switch (o.kind) {
        case OperandKind::vgpr:
        case OperandKind::sgpr:
            return register_name(o);
        case OperandKind::constant:
            return constant_name(o, shape);
        case OperandKind::vccz:
            return "src_vccz";
        case OperandKind::execz:
            return "src_execz";
        case OperandKind::scc:
            return "src_scc";
        default:
            return "off";
    }
}

class Text {
 public:
    explicit Text(std::string mnemonic) : text_(std::move(mnemonic)) {}
    void operand(const std::string& s) {
        text_ += first_ ? " " : ", ";
        text_ += s;
        first_ = false;
    }
    void modifier(const std::string& s) { text_ += " " + s; }
    std::string take() { return std::move(text_); }

 private:
    std::string text_;
    bool first_ = true;
};

std::string bit_list(const char* name, unsigned bits, unsigned count) {
    std::string s = std::string(name) + ":[";
    for (unsigned i = 0; i < count; ++i) s += std::string(i ? "," : "") + (bits >> i & 1 ? "1" : "0");
    return s + "]";
}

std::string waitcnt(int32_t imm) {
    unsigned v = uint16_t(imm), vm = (v & 15) | (v >> 14 & 3) << 4, exp = v >> 4 & 7, lgkm = v >> 8 & 15;
    std::string s;
    auto add = [&](const char* name, unsigned n) {
        s += (s.empty() ? "" : " ") + std::string(name) + "(" + std::to_string(n) + ")";
    };
    if (vm != 63) add("vmcnt", vm);
    if (exp != 7) add("expcnt", exp);
    if (lgkm != 15) add("lgkmcnt", lgkm);
    return s.empty() ? number("0x%llx", v) : s;
}

void scalar_text(const Instruction& in, Text& t) {
    const OpcodeInfo& info = *in.info;
    std::string_view name = info.mnemonic;
    if (name == "s_waitcnt") return t.operand(waitcnt(in.imm));
    if (in.dst.kind != OperandKind::none) t.operand(register_name(in.dst));
    for (unsigned i = 0; i < info.sources; ++i) {
        switch (info.src[i].kind) {
            case OperandClass::simm16:
                if (name == "s_trap" || name == "s_sleep" || name == "s_nop" || name == "s_setprio")
                    t.operand(std::to_string(uint16_t(in.imm)));
                else
                    t.operand(number("0x%llx", uint16_t(in.imm)));
                break;
            case OperandClass::label:
                t.operand(std::to_string(uint16_t(in.imm)));
                break;
            case OperandClass::hwreg: {
                unsigned id = in.imm & 63, offset = in.imm >> 6 & 31, size = (in.imm >> 11 & 31) + 1;
                std::string reg = id == 1 ? "HW_REG_MODE" : std::to_string(id);
                t.operand("hwreg(" + reg + ", " + std::to_string(offset) + ", " + std::to_string(size) + ")");
                break;
            }
            default:
                t.operand(operand_name(in.src[i], info.src[i]));
        }
    }
}

void scalar_memory_text(const Instruction& in, Text& t) {
    if (in.dst.kind != OperandKind::none) t.operand(register_name(in.dst));
    if (in.src[2].kind != OperandKind::none) t.operand(register_name(in.src[2]));
    if (in.src[0].kind == OperandKind::none) return;
    t.operand(register_name(in.src[0]));
    if (in.flags & flag_soffset) {
        t.operand(register_name(in.src[1]));
        if (in.flags & flag_imm) t.modifier("offset:" + number("0x%llx", in.imm));
    } else {
        t.operand(in.imm < 0 ? number("-0x%llx", -(long long)in.imm) : number("0x%llx", in.imm));
    }
    if (in.flags & flag_glc) t.modifier("glc");
}

bool is_mix(const Instruction& in) {
    return std::string_view(in.info->mnemonic).starts_with("v_fma_mix");
}

std::string vector_source(const Instruction& in, unsigned i) {
    std::string s = operand_name(in.src[i], in.info->src[i]);
    if (is_mix(in)) {
        if (in.neg_hi >> i & 1) s = '|' + s + '|';
        return in.neg >> i & 1 ? "-" + s : s;
    }
    if (in.encoding == Family::VOP3P) return s;  // neg is printed as a list there.
    if (in.flags & flag_sdwa && i < 2 && in.sdwa.sext[i]) s = "sext(" + s + ")";
    if (in.abs >> i & 1) s = '|' + s + '|';
    if (in.neg >> i & 1) s = "-" + s;
    return s;
}

void dpp_text(const Instruction& in, Text& t) {
    unsigned c = in.dpp.control;
    auto amount = [&](const char* name) { t.modifier(std::string(name) + ":" + std::to_string(c & 15)); };
    if (c <= 0xff) {
        std::string s = "quad_perm:[";
        for (unsigned i = 0; i < 4; ++i) s += std::string(i ? "," : "") + std::to_string(c >> (2 * i) & 3);
        t.modifier(s + "]");
    } else if (c >= 0x101 && c <= 0x10f) {
        amount("row_shl");
    } else if (c >= 0x111 && c <= 0x11f) {
        amount("row_shr");
    } else if (c >= 0x121 && c <= 0x12f) {
        amount("row_ror");
    } else if (c >= 0x150 && c <= 0x15f) {
        amount("row_newbcast");
    } else {
        t.modifier(c == 0x130   ? "wave_shl:1"
                   : c == 0x134 ? "wave_rol:1"
                   : c == 0x138 ? "wave_shr:1"
                   : c == 0x13c ? "wave_ror:1"
                   : c == 0x140 ? "row_mirror"
                   : c == 0x141 ? "row_half_mirror"
                   : c == 0x142 ? "row_bcast:15"
                   : c == 0x143 ? "row_bcast:31"
                                : "dpp_ctrl:" + std::to_string(c));
    }
    t.modifier("row_mask:" + number("0x%llx", in.dpp.row_mask));
    t.modifier("bank_mask:" + number("0x%llx", in.dpp.bank_mask));
    if (in.dpp.bound_ctrl) t.modifier("bound_ctrl:1");
}

void sdwa_text(const Instruction& in, Text& t) {
    static constexpr const char* parts[] = {"BYTE_0", "BYTE_1", "BYTE_2", "BYTE_3",
                                            "WORD_0", "WORD_1", "DWORD",  "?"};
    static constexpr const char* unused[] = {"UNUSED_PAD", "UNUSED_SEXT", "UNUSED_PRESERVE", "?"};
    bool unpacks = std::string_view(in.info->mnemonic).starts_with("v_cvt_") &&
                   std::string_view(in.info->mnemonic).find("8", 12) != std::string_view::npos &&
                   in.info->src[0].kind == OperandClass::bits;
    if (in.info->family != Family::VOPC && !unpacks) {
        t.modifier(std::string("dst_sel:") + parts[in.sdwa.dst_sel & 7]);
        t.modifier(std::string("dst_unused:") + unused[in.sdwa.dst_unused & 3]);
    }
    t.modifier(std::string("src0_sel:") + parts[in.sdwa.src_sel[0] & 7]);
    if (in.info->sources > 1) t.modifier(std::string("src1_sel:") + parts[in.sdwa.src_sel[1] & 7]);
}

void vector_modifiers(const Instruction& in, Text& t) {
    const OpcodeInfo& info = *in.info;
    unsigned n = info.sources, all = (1u << n) - 1;
    if (info.family == Family::MAI) {
        if (info.sources < 3) return;
        if (in.dwords == 4) {
            unsigned low = (in.scale_sel[0] & 1u) | (in.scale_sel[1] & 1u) << 1;
            unsigned high = (in.scale_sel[0] >> 1) | (in.scale_sel[1] >> 1) << 1;
            if (low) t.modifier(bit_list("op_sel", low, 3));
            t.modifier(bit_list("op_sel_hi", high, 3));
        }
        if (in.cbsz) t.modifier("cbsz:" + std::to_string(in.cbsz));
        if (in.abid && in.dwords != 4) t.modifier("abid:" + std::to_string(in.abid));
        if (in.blgp) t.modifier("blgp:" + std::to_string(in.blgp));
        return;
    }
    if (in.encoding == Family::VOP3P) {
        if (in.op_sel) t.modifier(bit_list("op_sel", in.op_sel, n));
        bool mix = is_mix(in);
        if (mix ? in.op_sel_hi != 0 : (in.op_sel_hi & all) != all)
            t.modifier(bit_list("op_sel_hi", in.op_sel_hi, n));
        if (in.neg && !mix) t.modifier(bit_list("neg_lo", in.neg, n));
        if (in.neg_hi && !mix) t.modifier(bit_list("neg_hi", in.neg_hi, n));
    } else {
        std::string_view name = info.mnemonic;
        if (name.starts_with("v_bitop3")) t.modifier("bitop3:" + number("0x%llx", in.imm));
        if (in.op_sel && name.starts_with("v_cvt_sr_"))
            t.modifier(bit_list("op_sel", in.op_sel, 4));
        else if (in.op_sel)
            t.modifier(bit_list("op_sel", (in.op_sel & all) | (in.op_sel >> 3) << n, n + 1));
    }
    if (in.clamp) t.modifier("clamp");
    if (in.omod) t.modifier(in.omod == 1 ? "mul:2" : in.omod == 2 ? "mul:4" : "div:2");
}

void vector_text(const Instruction& in, Text& t) {
    const OpcodeInfo& info = *in.info;
    bool e64 = in.flags & flag_e64;
    if (in.dst.kind != OperandKind::none) t.operand(register_name(in.dst));
    if (in.sdst.kind != OperandKind::none) t.operand(register_name(in.sdst));
    for (unsigned i = 0; i < info.sources; ++i) {
        bool implicit = info.src[i].kind == OperandClass::lane_mask && !e64;
        t.operand(implicit ? "vcc" : vector_source(in, i));
    }
    if (in.dwords == 4) {
        t.operand(operand_name(in.src[3], {OperandClass::bits, 32}));
        t.operand(operand_name(in.src[4], {OperandClass::bits, 32}));
    }
    if (in.flags & flag_dpp) dpp_text(in, t);
    if (in.flags & flag_sdwa) sdwa_text(in, t);
    vector_modifiers(in, t);
}

void cache_modifiers(const Instruction& in, Text& t) {
    if (in.flags & flag_glc) t.modifier("sc0");
    if (in.flags & flag_slc) t.modifier("nt");
    if (in.flags & flag_sc1) t.modifier("sc1");
}

/// The offset of ds_swizzle_b32: the named patterns, else the number.
std::string swizzle_pattern(unsigned offset) {
    if (offset >= 0xc000) return std::to_string(offset);
    if (offset & 0x8000) {
        std::string s = "swizzle(QUAD_PERM";
        for (unsigned i = 0; i < 4; ++i) s += "," + std::to_string(offset >> (2 * i) & 3);
        return s + ")";
    }
    unsigned and_mask = offset & 31, or_mask = offset >> 5 & 31, xor_mask = offset >> 10 & 31;
    bool keeps = and_mask == 31 && or_mask == 0 && xor_mask != 0;
    if (keeps && (xor_mask & (xor_mask - 1)) == 0) return "swizzle(SWAP," + std::to_string(xor_mask) + ")";
    if (keeps && (xor_mask & (xor_mask + 1)) == 0)
        return "swizzle(REVERSE," + std::to_string(xor_mask + 1) + ")";
    return std::to_string(offset);
}

void lds_text(const Instruction& in, Text& t) {
    if (in.dst.kind != OperandKind::none) t.operand(register_name(in.dst));
    for (const Operand& o : {in.src[0], in.src[1], in.src[2]})
        if (o.kind != OperandKind::none) t.operand(register_name(o));
    std::string_view name = in.info->mnemonic;
    bool two = name.find("read2") != name.npos || name.find("write2") != name.npos ||
               name.find("xchg2") != name.npos;
    if (two) {
        if (in.imm) t.modifier("offset0:" + std::to_string(in.imm));
        if (in.imm2) t.modifier("offset1:" + std::to_string(in.imm2));
    } else if (in.imm | in.imm2) {
        unsigned offset = unsigned(in.imm | in.imm2 << 8);
        t.modifier("offset:" + (name == "ds_swizzle_b32" ? swizzle_pattern(offset) : std::to_string(offset)));
    }
    if (in.flags & flag_gds) t.modifier("gds");
}

void flat_text(const Instruction& in, Text& t) {
    bool store = in.src[1].kind != OperandKind::none;
    if (in.dst.kind != OperandKind::none) t.operand(register_name(in.dst));
    t.operand(in.src[0].kind == OperandKind::none ? "off" : register_name(in.src[0]));
    if (store) t.operand(register_name(in.src[1]));
    if (in.info->family != Family::FLAT) t.operand(in.flags & flag_saddr ? register_name(in.src[2]) : "off");
    if (in.imm) t.modifier("offset:" + std::to_string(in.imm));
    cache_modifiers(in, t);
}

void buffer_text(const Instruction& in, Text& t) {
    if (in.src[2].kind == OperandKind::none) return cache_modifiers(in, t);
    if (in.dst.kind != OperandKind::none)
        t.operand(register_name(in.dst));
    else if (in.src[1].kind != OperandKind::none)
        t.operand(register_name(in.src[1]));
    t.operand(in.src[0].kind == OperandKind::none ? "off" : register_name(in.src[0]));
    t.operand(register_name(in.src[2]));
    t.operand(operand_name(in.src[3], {OperandClass::bits, 32}));
    if (in.flags & flag_idxen) t.modifier("idxen");
    if (in.flags & flag_offen) t.modifier("offen");
    if (in.imm) t.modifier("offset:" + std::to_string(in.imm));
    cache_modifiers(in, t);
    if (in.flags & flag_lds) t.modifier("lds");
}

std::string mnemonic_of(const Instruction& in) {
    std::string name = in.info->mnemonic;
    Family f = in.info->family;
    bool both_forms = f == Family::VOP1 || f == Family::VOP2 || f == Family::VOPC;
    if (!both_forms || in.info->dst.kind == OperandClass::scalar_dst) {
        if (in.dwords == 4) name.replace(0, 7, "v_mfma_scale_");
        return name;
    }
    return name + (in.flags & flag_dpp    ? "_dpp"
                   : in.flags & flag_sdwa ? "_sdwa"
                   : in.flags & flag_e64  ? "_e64"
                                          : "_e32");
}

}  // namespace

std::string disassemble(const Instruction& in) {
    if (!in.info) return "(not an instruction)";
    Text t(mnemonic_of(in));
    switch (in.info->family) {
        case Family::SOP1:
        case Family::SOP2:
        case Family::SOPC:
        case Family::SOPK:
        case Family::SOPP:
            scalar_text(in, t);
            break;
        case Family::SMEM:
            scalar_memory_text(in, t);
            break;
        case Family::DS:
            lds_text(in, t);
            break;
        case Family::FLAT:
        case Family::GLOBAL:
        case Family::SCRATCH:
            flat_text(in, t);
            break;
        case Family::MUBUF:
        case Family::MTBUF:
            buffer_text(in, t);
            break;
        default:
            vector_text(in, t);
    }
    return t.take();
}

}  // namespace hkc::emu
