#include "disassembler/modifiers.h"

#include "disassembler/immediates.h"
#include "disassembler/operands.h"

namespace hkc::emu::syntax {
namespace {

constexpr unsigned vop3_encoding = 0b110100;  // Bits 31:26, VOP3P and MAI included.

bool is_vop3(const Word& word) {
    return word.bits(26, 6) == vop3_encoding;
}

std::string list(std::string_view name, unsigned bits, unsigned count) {
    std::string text = " " + std::string(name) + ":[";
    for (unsigned i = 0; i < count; ++i) text += std::string(i ? "," : "") + (bits >> i & 1 ? "1" : "0");
    return text + "]";
}

std::string valued(std::string_view name, int value, bool shown) {
    return shown ? " " + std::string(name) + ":" + std::to_string(value) : "";
}

std::string output_modifier(unsigned omod) {
    static constexpr const char* texts[] = {"", " mul:2", " mul:4", " div:2"};
    return texts[omod];
}

/// Selections 7 and unused 3 are reserved.
std::optional<std::string> sdwa_selection(std::string_view name, const Word& word) {
    static constexpr const char* parts[] = {"BYTE_0", "BYTE_1", "BYTE_2", "BYTE_3",
                                            "WORD_0", "WORD_1", "DWORD"};
    static constexpr const char* unused[] = {"UNUSED_PAD", "UNUSED_SEXT", "UNUSED_PRESERVE"};
    std::string text = " " + std::string(name) + ":";
    if (name == "dst_unused") {
        unsigned value = word.bits(43, 2);
        if (value == 3) return std::nullopt;
        return text + unused[value];
    }
    unsigned value = word.bits(name == "dst_sel" ? 40 : name == "src0_sel" ? 48 : 56, 3);
    if (value == 7) return std::nullopt;
    return text + parts[value];
}

std::optional<std::string> dpp_text(const Word& word, bool only_newbcast) {
    std::string control = dpp_control(word.bits(40, 9), only_newbcast);
    if (control.empty()) return std::nullopt;
    return " " + control + " row_mask:" + hexadecimal(word.bits(60, 4)) +
           " bank_mask:" + hexadecimal(word.bits(56, 4)) + (word.bit(51) ? " bound_ctrl:1" : "");
}

/// The bit of a cache or address flag, by encoding family.
bool flag(std::string_view name, const Word& word) {
    unsigned family = word.bits(26, 6);
    bool flat = family == 0b110111, typed = family == 0b111010;
    if (name == "glc" || name == "gds") return word.bit(16);
    if (name == "sc0") return word.bit(flat ? 16 : 14);
    if (name == "nt") return word.bit(typed ? 54 : 17);
    if (name == "sc1") return word.bit(flat ? 25 : typed ? 53 : 15);
    if (name == "lds") return word.bit(16);
    if (name == "idxen") return word.bit(13);
    return word.bit(12);  // offen
}

std::string offset_text(std::string_view name, const Word& word, std::string_view mnemonic) {
    if (name == "offset21") return " offset:" + immediate_operand("#offset21", word);
    if (name == "offset0") return valued("offset0", int(word.bits(0, 8)), word.bits(0, 8));
    if (name == "offset1") return valued("offset1", int(word.bits(8, 8)), word.bits(8, 8));
    int offset = int(word.bits(0, name == "offset16" ? 16 : name == "offset12" ? 12 : 13));
    if (name == "offset13" && offset >= 4096) offset -= 8192;
    if (offset && mnemonic == "ds_swizzle_b32") return " offset:" + swizzle_pattern(unsigned(offset));
    return valued("offset", offset, offset);
}

/// op_sel, op_sel_hi, neg_lo, neg_hi, neg of VOP3, VOP3P and matrix instructions.
std::string list_text(const Modifier& m, const Shape& shape, const Word& word) {
    bool wide = shape.dwords == 4;
    unsigned all = (1u << m.count) - 1, value = 0;
    if (m.name == "op_sel") {
        value = word.bits(11, 4) & (shape.has("op_sel_hi") ? 7 : 15);
        if (wide) value &= 3;
    } else if (m.name == "op_sel_hi") {
        value = word.bits(59, 2) | (wide ? 0 : word.bits(14, 1) << 2);
        value &= all;
        bool shown = shape.has("mix") ? value : value != all;
        return shown || wide ? list(m.name, value, m.count) : "";
    } else if (m.name == "neg_hi") {
        value = word.bits(8, 3);
    } else {
        value = word.bits(61, 3);
    }
    // VOP3's bit 14 is the destination, whatever the number of sources.
    if (m.name == "op_sel" && !shape.has("op_sel_hi") && m.count < 4)
        value = (value & ((1u << (m.count - 1)) - 1)) | (value >> 3) << (m.count - 1);
    value &= all;
    return value ? list(m.name, value, m.count) : "";
}

std::optional<std::string> one_modifier(const Modifier& m, const Shape& shape, const Word& word,
                                        std::string_view mnemonic) {
    std::string_view name = m.name;
    bool vop3 = is_vop3(word), wide = shape.dwords == 4;
    if (name == "mix") return "";
    if (name == "dpp" || name == "dpp64") return dpp_text(word, name == "dpp64");
    if (name.ends_with("_sel") && name != "op_sel" && name != "byte_sel") return sdwa_selection(name, word);
    if (name == "dst_unused") return sdwa_selection(name, word);
    if (name == "clamp") return word.bit(vop3 ? 15 : 45) ? " clamp" : "";
    if (name == "omod") return output_modifier(word.bits(vop3 ? 59 : 46, 2));
    if (name == "bitop3") {
        unsigned table = word.bits(59, 2) << 6 | word.bits(8, 3) << 3 | word.bits(61, 3);
        if (!table) return "";
        return " bitop3:" + (table <= 10 ? std::to_string(table) : hexadecimal(table));
    }
    if (name == "format") {
        std::string text = buffer_format(word);
        return text.empty() ? text : " " + text;
    }
    if (name.starts_with("offset") || name == "uoffset13") return offset_text(name, word, mnemonic);
    unsigned matrix = wide ? 64 : 0;
    if (name == "cbsz") return valued(name, int(word.bits(matrix + 8, 3)), word.bits(matrix + 8, 3));
    if (name == "abid") return valued(name, int(word.bits(11, 4)), word.bits(11, 4));
    if (name == "blgp") return valued(name, int(word.bits(matrix + 61, 3)), word.bits(matrix + 61, 3));
    if (m.count) return list_text(m, shape, word);
    if (name == "bound_ctrl") return word.bit(12) ? " bound_ctrl:1" : "";
    if (name == "fi") return word.bit(11) ? " fi:1" : "";
    return flag(name, word) ? " " + std::string(name) : "";
}

/// Places of the input modifiers of an operand; 0 where there is none.
struct InputBits {
    unsigned neg = 0, abs = 0, sext = 0;
};

InputBits input_bits(std::string_view field, const Shape& shape) {
    if (field == "sdwa_src0") return {52, 53, 51};
    if (field == "sdwa_src1") return {60, 61, 59};
    if (field == "dpp_src0") return {52, 53, 0};
    if (shape.suffix == "_dpp" && field == "vsrc1") return {54, 55, 0};
    if (!field.starts_with("src") || !field.ends_with("_3")) return {};
    unsigned source = unsigned(field[3] - '0');
    bool packed = shape.has("op_sel_hi") || shape.has("neg_lo") || shape.has("cbsz");
    if (shape.has("bitop3") || (packed && !shape.has("mix")) || shape.dwords == 4) return {};
    bool scalar_dst = false;
    for (const OperandItem& item : shape.operands) scalar_dst |= item.field && item.field->name == "sdst3b";
    return {61 + source, scalar_dst ? 0 : 8 + source, 0};
}

}  // namespace

std::optional<std::string> modifier_text(const Shape& shape, const Word& word, std::string_view mnemonic) {
    std::string text;
    for (const Modifier& m : shape.modifiers) {
        auto one = one_modifier(m, shape, word, mnemonic);
        if (!one) return std::nullopt;
        text += *one;
    }
    return text;
}

std::string with_input_modifiers(std::string text, const OperandItem& item, unsigned code, const Shape& shape,
                                 const Word& word) {
    InputBits bits = input_bits(item.field->name, shape);
    if (bits.sext && word.bit(bits.sext)) return "sext(" + text + ")";
    bool neg = bits.neg && word.bit(bits.neg), abs = bits.abs && word.bit(bits.abs);
    if (abs) text = "|" + text + "|";
    if (!neg) return text;
    return !abs && is_constant(code) ? "neg(" + text + ")" : "-" + text;
}

}  // namespace hkc::emu::syntax
