#include "decoder.h"

#include <bit>

#include "bindings.h"
#include "disassembler/disassemble.h"
#include "register_uses.h"

namespace hkc::emu {

namespace {

unsigned bits(uint32_t word, unsigned low, unsigned count) {
    return word >> low & ((1u << count) - 1);
}

int32_t sign_extend(uint32_t value, unsigned width) {
    return int32_t(value << (32 - width)) >> (32 - width);
}

/// The inline floating constants 240-248 (CDNA3 ISA guide, table "SGPR, inline constant codes").
uint64_t inline_float(unsigned code, const OperandShape& shape) {
    static constexpr float values[] = {0.5f, -0.5f, 1.0f, -1.0f, 2.0f, -2.0f, 4.0f, -4.0f, 0.15915494f};
    static constexpr uint16_t halves[] = {0x3800, 0xb800, 0x3c00, 0xbc00, 0x4000,
                                          0xc000, 0x4400, 0xc400, 0x3118};
    unsigned i = code - 240;
    if (shape.kind == OperandClass::packed32) {
        uint64_t v = std::bit_cast<uint32_t>(values[i]);
        return v | v << 32;
    }
    if (shape.kind == OperandClass::packed16 || shape.bits == 16) return halves[i];
    if (shape.bits == 64) return i == 8 ? 0x3fc45f306dc9c882u : std::bit_cast<uint64_t>(double(values[i]));
    return std::bit_cast<uint32_t>(values[i]);
}

class Decoder {
 public:
    Decoder(const uint32_t* words, size_t available, Arch arch, ConstantPool& constants)
        : words_(words), available_(available), arch_(arch), constants_(constants) {}

    Instruction decode() {
        in_.address = reinterpret_cast<uint64_t>(words_);
        // The syntax table has the rules for what is valid, the reserved bits among them.
        size_t length = instruction_length(words_, available_, arch_);
        if (!decode_family() || failed_ || in_.dwords != length) {
            uint64_t address = in_.address;
            const OpcodeInfo* info = in_.info;
            in_ = Instruction{};
            in_.address = address;
            in_.info = info;
            in_.run[0] = in_.run[1] = info ? invalid_operand : unknown_opcode;
            return in_;
        }
        bind();
        find_register_uses(in_, arch_);
        return in_;
    }

 private:
    uint32_t word(size_t i) {
        if (i < available_) return words_[i];
        failed_ = true;
        return 0;
    }

    /// The literal behind the encoding, which all operands with code 255 share.
    uint32_t literal_dword() {
        if (!literal_at_) literal_at_ = in_.dwords++;
        return word(literal_at_);
    }

    bool decode_family();
    bool select(Family family, unsigned opcode, unsigned dwords) {
        in_.encoding = family;
        in_.dwords = uint8_t(dwords);
        in_.info = find_opcode(family, opcode, arch_);
        return in_.info != nullptr;
    }

    void decode_scalar(uint32_t w);
    void decode_smem();
    void decode_vop12c(uint32_t w);
    void decode_vop3();
    void decode_vop3p();
    bool decode_scaled_mfma();
    void decode_ds();
    void decode_flat();
    void decode_buffer();
    void sdwa(uint32_t control);
    void dpp(uint32_t control);
    void literals();
    void implicit_operands();
    void bind();

    Operand constant(uint64_t value, unsigned dwords) {
        Operand o;
        o.kind = OperandKind::constant;
        o.dwords = uint8_t(dwords);
        o.value = value;
        o.row = constants_.row(value);
        return o;
    }
    Operand vgpr(unsigned index, unsigned dwords, bool agpr = false) {
        Operand o;
        if (dwords == 0) return o;
        if (index + dwords > 256) failed_ = true;
        o.kind = OperandKind::vgpr;
        o.dwords = uint8_t(dwords);
        o.index = uint16_t(index + (agpr ? 256 : 0));
        return o;
    }
    Operand sgpr(unsigned index, unsigned dwords) {
        Operand o;
        if (index + dwords > sgpr::count) failed_ = true;
        o.kind = OperandKind::sgpr;
        o.dwords = uint8_t(dwords);
        o.index = uint16_t(index);
        return o;
    }
    Operand source(unsigned code, const OperandShape& shape, bool agpr = false);

    const uint32_t* words_;
    size_t available_;
    Arch arch_;
    ConstantPool& constants_;
    Instruction in_;
    size_t literal_at_ = 0;
    bool failed_ = false;
};

Operand Decoder::source(unsigned code, const OperandShape& shape, bool agpr) {
    unsigned dwords = shape.dwords();
    if (code >= 256) return vgpr(code - 256, dwords, agpr || shape.kind == OperandClass::agpr);
    if (code < 128) return sgpr(code, dwords);
    if (code <= 192) return constant(code - 128, dwords);
    if (code <= 208) {
        int64_t value = 192 - int64_t(code);
        return constant(
            shape.bits == 64 && shape.kind != OperandClass::packed32 ? uint64_t(value) : uint32_t(value),
            dwords);
    }
    if (code >= 240 && code <= 248) return constant(inline_float(code, shape), dwords);
    // The apertures of LDS and scratch in the flat address space; only their upper halves matter.
    if (code == 235 || code == 237) return constant(uint64_t(code == 235 ? 1 : 2) << 48, dwords);
    Operand o;
    o.dwords = 1;
    o.kind = code == 251   ? OperandKind::vccz
             : code == 252 ? OperandKind::execz
             : code == 253 ? OperandKind::scc
                           : OperandKind::none;
    if (code == 255) {
        uint32_t literal = literal_dword();
        if (failed_) return o;
        uint64_t value = literal;
        if (shape.bits == 64 && shape.kind == OperandClass::floating)
            value = uint64_t(literal) << 32;
        else if (shape.bits == 64 && shape.kind == OperandClass::signed_int)
            value = uint64_t(int64_t(int32_t(literal)));
        o = constant(value, dwords);
        o.literal = true;
        return o;
    }
    if (o.kind == OperandKind::none) failed_ = true;
    return o;
}

bool Decoder::decode_family() {
    uint32_t w = word(0);
    switch (w >> 26) {
        case 0b110000:
            if (!select(Family::SMEM, bits(w, 18, 8), 2)) return false;
            return decode_smem(), true;
        case 0b110100: {
            unsigned opcode = bits(w, 16, 10);
            if (opcode < 0x380) {
                if (!select(Family::VOP3, opcode, 2)) return false;
                return decode_vop3(), true;
            }
            if (opcode == 0x3ac) return decode_scaled_mfma();
            if (opcode >= 0x400 || !select(Family::VOP3P, opcode - 0x380, 2)) return false;
            return decode_vop3p(), true;
        }
        case 0b110110:
            if (!select(Family::DS, bits(w, 17, 8), 2)) return false;
            return decode_ds(), true;
        case 0b110111: {
            static constexpr Family segments[] = {Family::FLAT, Family::SCRATCH, Family::GLOBAL,
                                                  Family::invalid};
            Family family = segments[bits(w, 14, 2)];
            if (family == Family::invalid || !select(family, bits(w, 18, 7), 2)) return false;
            return decode_flat(), true;
        }
        case 0b111000:
            if (!select(Family::MUBUF, bits(w, 18, 7), 2)) return false;
            return decode_buffer(), true;
        case 0b111010:
            if (!select(Family::MTBUF, bits(w, 15, 4), 2)) return false;
            return decode_buffer(), true;
        default:
            break;
    }
    if (w >> 31 == 0) {
        bool ok = w >> 25 == 0b0111111   ? select(Family::VOP1, bits(w, 9, 8), 1)
                  : w >> 25 == 0b0111110 ? select(Family::VOPC, bits(w, 17, 8), 1)
                                         : select(Family::VOP2, bits(w, 25, 6), 1);
        if (ok) decode_vop12c(w);
        return ok;
    }
    if (w >> 30 != 0b10) return false;
    bool ok = w >> 23 == 0b101111101   ? select(Family::SOP1, bits(w, 8, 8), 1)
              : w >> 23 == 0b101111110 ? select(Family::SOPC, bits(w, 16, 7), 1)
              : w >> 23 == 0b101111111 ? select(Family::SOPP, bits(w, 16, 7), 1)
              : w >> 28 == 0b1011      ? select(Family::SOPK, bits(w, 23, 5), 1)
                                       : select(Family::SOP2, bits(w, 23, 7), 1);
    if (ok) decode_scalar(w);
    return ok;
}

void Decoder::decode_scalar(uint32_t w) {
    const OpcodeInfo& info = *in_.info;
    Family f = info.family;
    if (f == Family::SOPP || f == Family::SOPK) in_.imm = sign_extend(w, 16);
    if (info.dst.kind != OperandClass::none && f != Family::SOPC && f != Family::SOPP)
        in_.dst = sgpr(bits(w, 16, 7), info.dst.dwords());
    unsigned codes[2] = {bits(w, 0, 8), bits(w, 8, 8)};
    for (unsigned i = 0; i < info.sources; ++i) {
        const OperandShape& shape = info.src[i];
        switch (shape.kind) {
            case OperandClass::simm16:
            case OperandClass::hwreg:
                if (f == Family::SOPC) in_.imm = int32_t(codes[1]);
                break;
            case OperandClass::label:
                in_.imm = sign_extend(w, 16);
                break;
            case OperandClass::scalar_of_dst:
                in_.src[i] = sgpr(bits(w, 16, 7), 1);
                break;
            case OperandClass::literal:
                in_.src[i] = constant(word(1), 1);
                in_.dwords = 2;
                break;
            default:
                if (f == Family::SOPK)
                    in_.src[i] = sgpr(bits(w, 16, 7), shape.dwords());
                else
                    in_.src[i] = source(codes[i], shape);
        }
    }
}

void Decoder::decode_smem() {
    uint32_t w = word(0), w1 = word(1);
    const OpcodeInfo& info = *in_.info;
    in_.flags |= flag_memory;
    if (bits(w, 16, 1)) in_.flags |= flag_glc;
    std::string_view name = info.mnemonic;
    bool buffer = name.find("buffer") != name.npos;
    if (name.starts_with("s_dcache") || name.starts_with("s_memtime") || name.starts_with("s_memrealtime")) {
        if (info.dst.kind != OperandClass::none) in_.dst = sgpr(bits(w, 6, 7), info.dst.dwords());
        return;
    }
    in_.src[0] = sgpr(bits(w, 0, 6) * 2, buffer ? 4 : 2);
    if (info.dst.kind != OperandClass::none) in_.dst = sgpr(bits(w, 6, 7), info.dst.dwords());
    if (info.sources) in_.src[2] = sgpr(bits(w, 6, 7), info.src[0].dwords());
    // Offset: immediate, SGPR, or both (CDNA3 ISA guide, "SMEM").
    bool soffset_en = bits(w, 14, 1), imm = bits(w, 17, 1);
    if (imm) {
        in_.flags |= flag_imm;
        in_.imm = sign_extend(w1, 21);
    }
    if (soffset_en) {
        in_.flags |= flag_soffset;
        in_.src[1] = sgpr(bits(w1, 25, 7), 1);
    } else if (!imm) {
        in_.flags |= flag_soffset;
        in_.src[1] = sgpr(bits(w1, 0, 7), 1);
    }
}

void Decoder::sdwa(uint32_t control) {
    in_.flags |= flag_sdwa;
    bool compare = in_.info->family == Family::VOPC;
    if (compare) {
        in_.sdst = bits(control, 15, 1) ? sgpr(bits(control, 8, 7), 2) : sgpr(sgpr::vcc, 2);
    } else {
        in_.sdwa.dst_sel = uint8_t(bits(control, 8, 3));
        in_.sdwa.dst_unused = uint8_t(bits(control, 11, 2));
        in_.clamp = bits(control, 13, 1);
        in_.omod = uint8_t(bits(control, 14, 2));
        in_.flags |= flag_result_modifiers;
    }
    for (unsigned i = 0; i < 2; ++i) {
        unsigned at = i ? 24 : 16;
        in_.sdwa.src_sel[i] = uint8_t(bits(control, at, 3));
        in_.sdwa.sext[i] = bits(control, at + 3, 1);
        in_.neg |= uint8_t(bits(control, at + 4, 1) << i);
        in_.abs |= uint8_t(bits(control, at + 5, 1) << i);
    }
    in_.flags |= flag_source_modifiers;
}

void Decoder::dpp(uint32_t control) {
    in_.flags |= flag_dpp;
    in_.dpp.control = uint16_t(bits(control, 8, 9));
    in_.dpp.bound_ctrl = bits(control, 19, 1);
    in_.neg = uint8_t(bits(control, 20, 1) | bits(control, 22, 1) << 1);
    in_.abs = uint8_t(bits(control, 21, 1) | bits(control, 23, 1) << 1);
    in_.dpp.bank_mask = uint8_t(bits(control, 24, 4));
    in_.dpp.row_mask = uint8_t(bits(control, 28, 4));
    if (in_.neg | in_.abs) in_.flags |= flag_source_modifiers;
}

void Decoder::decode_vop12c(uint32_t w) {
    const OpcodeInfo& info = *in_.info;
    bool vop1 = in_.encoding == Family::VOP1;
    unsigned src0 = bits(w, 0, 9), vsrc1 = bits(w, 9, 8);
    unsigned vdst = vop1 ? bits(w, 17, 8) : bits(w, 17, 8);
    if (info.dst.kind == OperandClass::scalar_dst)
        in_.dst = sgpr(vdst, 1);
    else if (info.dst.kind != OperandClass::lane_mask && info.dst.kind != OperandClass::none)
        in_.dst = vgpr(vdst, info.dst.dwords(), info.dst.kind == OperandClass::agpr);
    if (info.dst.kind == OperandClass::lane_mask || info.sdst.kind == OperandClass::lane_mask)
        in_.sdst = sgpr(sgpr::vcc, 2);
    if (info.sources == 0) return;
    bool modified = src0 == 249 || src0 == 250;
    uint32_t control = 0;
    if (modified) {
        control = word(1);
        in_.dwords = 2;
        if (src0 == 249)
            sdwa(control);
        else
            dpp(control);
        bool scalar0 = src0 == 249 && bits(control, 23, 1);
        src0 = scalar0 ? bits(control, 0, 8) : 256 + bits(control, 0, 8);
    }
    in_.src[0] = source(src0, info.src[0]);
    bool scalar1 = (in_.flags & flag_sdwa) && bits(control, 31, 1);
    unsigned register_source = scalar1 ? vsrc1 : 256 + vsrc1;
    for (unsigned i = 1; i < info.sources; ++i) {
        if (info.src[i].kind == OperandClass::literal) {
            in_.src[i] = constant(literal_dword(), 1);
            in_.src[i].literal = true;
        } else if (info.src[i].kind == OperandClass::lane_mask) {
            in_.src[i] = sgpr(sgpr::vcc, 2);
        } else {
            in_.src[i] = source(register_source, info.src[i]);
        }
    }
}

void Decoder::decode_vop3() {
    uint32_t w = word(0), w1 = word(1);
    const OpcodeInfo& info = *in_.info;
    in_.flags |= flag_e64;
    unsigned vdst = bits(w, 0, 8);
    bool has_sdst = info.sdst.kind == OperandClass::lane_mask;
    if (info.dst.kind == OperandClass::lane_mask)
        in_.sdst = sgpr(vdst, 2);
    else if (info.dst.kind == OperandClass::scalar_dst)
        in_.dst = sgpr(vdst, 1);
    else if (info.dst.kind != OperandClass::none)
        in_.dst = vgpr(vdst, info.dst.dwords());
    if (has_sdst) {
        in_.sdst = sgpr(bits(w, 8, 7), 2);
    } else {
        in_.abs = uint8_t(bits(w, 8, 3));
        in_.op_sel = uint8_t(bits(w, 11, 4));
    }
    in_.clamp = bits(w, 15, 1);
    in_.omod = uint8_t(bits(w1, 27, 2));
    in_.neg = uint8_t(bits(w1, 29, 3));
    unsigned codes[3] = {bits(w1, 0, 9), bits(w1, 9, 9), bits(w1, 18, 9)};
    for (unsigned i = 0; i < info.sources; ++i) in_.src[i] = source(codes[i], info.src[i]);
    std::string_view name = info.mnemonic;
    if (name.starts_with("v_bitop3")) {  // The truth table lives in the modifier bits.
        in_.imm = int32_t(in_.abs << 3 | in_.neg | in_.omod << 6);
        in_.abs = in_.neg = in_.omod = 0;
    }
    bool halves = false;
    for (unsigned i = 0; i < info.sources; ++i) halves |= info.src[i].bits == 16 && (in_.op_sel >> i & 1);
    if (in_.abs || in_.neg || halves) in_.flags |= flag_source_modifiers;
    if (info.dst.bits == 16 && in_.op_sel & 8) in_.flags |= flag_result_modifiers;
}

void Decoder::decode_vop3p() {
    uint32_t w = word(0), w1 = word(1);
    const OpcodeInfo& info = *in_.info;
    in_.flags |= flag_e64;
    unsigned codes[3] = {bits(w1, 0, 9), bits(w1, 9, 9), bits(w1, 18, 9)};
    if (info.family == Family::MAI) {
        bool acc_cd = bits(w, 15, 1);
        bool acc[3] = {bool(bits(w1, 27, 1)), bool(bits(w1, 28, 1)), acc_cd};
        in_.cbsz = uint8_t(bits(w, 8, 3));
        in_.abid = uint8_t(bits(w, 11, 4));
        in_.blgp = uint8_t(bits(w1, 29, 3));
        in_.dst = vgpr(bits(w, 0, 8), info.dst.dwords(),
                       info.dst.kind == OperandClass::agpr || (info.sources == 3 && acc_cd));
        std::string_view name = info.mnemonic;
        bool sparse = name.starts_with("v_smfmac");
        bool mixed = name.find("f8f6f4") != name.npos;
        // Registers of a matrix of format cbsz/blgp: fp8 and bf8 8, fp6 and bf6 6, fp4 4 (CDNA4 ISA guide, 7.1).
        static constexpr unsigned format_dwords[] = {8, 8, 6, 6, 4, 8, 8, 8};
        for (unsigned i = 0; i < info.sources; ++i) {
            OperandShape shape = info.src[i];
            if (mixed && i < 2) shape.bits = uint16_t(32 * format_dwords[i ? in_.blgp : in_.cbsz]);
            if (i == 2 && codes[i] < 256 && name.ends_with("_f64")) shape.bits = 64;
            bool agpr = acc[i] && info.sources == 3 && !(i == 2 && sparse);  // v_accvgpr_* say so by opcode.
            in_.src[i] = source(codes[i], shape, agpr);
        }
        return;
    }
    in_.dst = vgpr(bits(w, 0, 8), info.dst.dwords());
    in_.neg_hi = uint8_t(bits(w, 8, 3));
    in_.op_sel = uint8_t(bits(w, 11, 3));
    in_.op_sel_hi = uint8_t(bits(w1, 27, 2) | bits(w, 14, 1) << 2);
    in_.clamp = bits(w, 15, 1);
    in_.neg = uint8_t(bits(w1, 29, 3));
    unsigned all = (1u << info.sources) - 1;
    for (unsigned i = 0; i < info.sources; ++i) in_.src[i] = source(codes[i], info.src[i]);
    std::string_view name = info.mnemonic;  // These two select for themselves.
    bool own = name.starts_with("v_fma_mix") || name == "v_pk_mov_b32";
    if (!own && (in_.neg || in_.neg_hi || in_.op_sel || (in_.op_sel_hi & all) != all))
        in_.flags |= flag_source_modifiers;
}

/// v_mfma_scale_*: v_mfma_ld_scale_b32 (scale operands), then the MFMA, as one instruction of four dwords.
bool Decoder::decode_scaled_mfma() {
    uint32_t w = word(0), w1 = word(1), w2 = word(2), w3 = word(3);
    if (failed_ || w2 >> 23 != 0b110100111) return false;
    if (!select(Family::VOP3P, bits(w2, 16, 7), 4)) return false;
    if (in_.info->family != Family::MAI) return false;
    const uint32_t* saved = words_;
    (void)w3;
    words_ += 2;
    available_ -= 2;
    decode_vop3p();
    words_ = saved;
    available_ += 2;
    in_.dwords = 4;
    OperandShape scale{OperandClass::bits, 32};
    in_.src[3] = source(bits(w1, 0, 9), scale);
    in_.src[4] = source(bits(w1, 9, 9), scale);
    unsigned op_sel = bits(w, 11, 2), op_sel_hi = bits(w1, 27, 2);
    for (unsigned i = 0; i < 2; ++i)
        in_.scale_sel[i] = uint8_t((op_sel >> i & 1) | (op_sel_hi >> i & 1) << 1);
    return true;
}

void Decoder::decode_ds() {
    uint32_t w = word(0), w1 = word(1);
    const OpcodeInfo& info = *in_.info;
    in_.flags |= flag_memory;
    if (bits(w, 16, 1)) in_.flags |= flag_gds;
    in_.imm = int32_t(bits(w, 0, 8));
    in_.imm2 = int32_t(bits(w, 8, 8));
    bool acc = bits(w, 25, 1);
    if (info.dst.kind != OperandClass::none) in_.dst = vgpr(bits(w1, 24, 8), info.dst.dwords(), acc);
    for (unsigned i = 0; i < info.sources; ++i)
        if (info.src[i].kind != OperandClass::none)
            in_.src[i] = vgpr(bits(w1, 8 * i, 8), info.src[i].dwords(), i > 0 && acc);
}

void Decoder::decode_flat() {
    uint32_t w = word(0), w1 = word(1);
    const OpcodeInfo& info = *in_.info;
    Family family = info.family;
    in_.flags |= flag_memory;
    if (bits(w, 16, 1)) in_.flags |= flag_glc;
    if (bits(w, 17, 1)) in_.flags |= flag_slc;
    if (bits(w, 25, 1)) in_.flags |= flag_sc1;
    in_.imm = family == Family::FLAT ? int32_t(bits(w, 0, 12)) : sign_extend(w, 13);
    bool acc = bits(w1, 23, 1);
    unsigned saddr = bits(w1, 16, 7);
    bool scalar_base = family != Family::FLAT && saddr != 0x7f;
    bool atomic = std::string_view(info.mnemonic).find("atomic") != std::string_view::npos;
    if (scalar_base) {
        in_.flags |= flag_saddr;
        in_.src[2] = sgpr(saddr, family == Family::SCRATCH ? 1 : 2);
    }
    if (family == Family::SCRATCH) {
        if (bits(w, 13, 1)) {
            in_.flags |= flag_sve;
            in_.src[0] = vgpr(bits(w1, 0, 8), 1);
        }
    } else {
        in_.src[0] = vgpr(bits(w1, 0, 8), scalar_base ? 1 : 2);
    }
    if (info.sources) in_.src[1] = vgpr(bits(w1, 8, 8), info.src[0].dwords(), acc);
    if (info.dst.kind != OperandClass::none && (!atomic || in_.flags & flag_glc))
        in_.dst = vgpr(bits(w1, 24, 8), info.dst.dwords(), acc);
}

void Decoder::decode_buffer() {
    uint32_t w = word(0), w1 = word(1);
    const OpcodeInfo& info = *in_.info;
    bool typed = info.family == Family::MTBUF;
    in_.flags |= flag_memory;
    in_.imm = int32_t(bits(w, 0, 12));
    if (bits(w, 12, 1)) in_.flags |= flag_offen;
    if (bits(w, 13, 1)) in_.flags |= flag_idxen;
    if (bits(w, 14, 1)) in_.flags |= flag_glc;
    if (typed ? bits(w1, 21, 1) : bits(w, 15, 1)) in_.flags |= flag_sc1;
    if (!typed && bits(w, 16, 1)) in_.flags |= flag_lds;
    if (typed) in_.imm2 = int32_t(bits(w, 19, 7));
    if (typed ? bits(w1, 22, 1) : bits(w, 17, 1)) in_.flags |= flag_slc;
    std::string_view name = info.mnemonic;
    if (name == "buffer_wbl2" || name == "buffer_inv") return;
    bool acc = bits(w1, 23, 1);
    unsigned address_dwords = unsigned(bits(w, 12, 1)) + unsigned(bits(w, 13, 1));
    in_.src[0] = vgpr(bits(w1, 0, 8), address_dwords);
    in_.src[2] = sgpr(bits(w1, 16, 5) * 4, 4);
    in_.src[3] = source(bits(w1, 24, 8), OperandShape{OperandClass::bits, 32});
    unsigned vdata = bits(w1, 8, 8);
    bool atomic = name.find("atomic") != name.npos;
    if (info.sources) in_.src[1] = vgpr(vdata, info.src[0].dwords(), acc);
    if (info.dst.kind != OperandClass::none && (!atomic || in_.flags & flag_glc) && !(in_.flags & flag_lds))
        in_.dst = vgpr(vdata, info.dst.dwords(), acc);
}

void Decoder::implicit_operands() {
    const OpcodeInfo& info = *in_.info;
    std::string_view name = info.mnemonic;
    if (info.family == Family::VOPC) {
        in_.flags |= flag_compare | flag_mask_out;
        if (name.starts_with("v_cmpx")) in_.flags |= flag_cmpx;
    }
    if (info.sdst.kind == OperandClass::lane_mask) in_.flags |= flag_mask_out;
    if (info.sources == 3 && info.src[2].kind == OperandClass::lane_mask) {
        in_.flags |= flag_carry_in;
    } else if (name.starts_with("v_div_fmas")) {  // Scales by VCC.
        in_.flags |= flag_carry_in;
        in_.src[3] = sgpr(sgpr::vcc, 2);
    }
    if (info.dst.keeps_half) in_.flags |= flag_result_modifiers;
    bool floating = info.dst.kind == OperandClass::floating || info.dst.kind == OperandClass::packed32 ||
                    (info.family == Family::VOP3P && info.src[0].kind != OperandClass::bits);
    if (in_.omod || (in_.clamp && floating)) in_.flags |= flag_result_modifiers;
}

void Decoder::bind() {
    const OpcodeInfo& info = *in_.info;
    if (info.family >= Family::VOP1 && info.family <= Family::MAI) implicit_operands();
    if (info.family == Family::VOP1_E32 || info.family == Family::VOP2_E32) implicit_operands();
    const Binding* binding = find_binding(info.mnemonic);
    bool integer_clamp = in_.clamp && !(in_.flags & flag_result_modifiers) && !(in_.flags & flag_compare);
    if (integer_clamp) binding = find_binding((std::string(info.mnemonic) + ".clamp").c_str());
    if (!binding) {
        in_.run[0] = in_.run[1] = unknown_opcode;
        return;
    }
    in_.run[0] = binding->fast;
    in_.run[1] = binding->checked ? binding->checked : binding->fast;
    if (binding->row)
        in_.kernel.row = binding->row;
    else if (binding->scalar)
        in_.kernel.scalar = binding->scalar;
    else if (binding->matrix)
        in_.kernel.matrix = binding->matrix;
    else
        in_.kernel.memory = binding->memory;
}

}  // namespace

Instruction decode(const uint32_t* words, size_t available, Arch arch, ConstantPool& constants) {
    return Decoder(words, available, arch, constants).decode();
}

}  // namespace hkc::emu
