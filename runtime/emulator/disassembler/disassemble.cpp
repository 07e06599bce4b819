#include "disassembler/disassemble.h"

#include <optional>

#include "decoder.h"
#include "disassembler/immediates.h"
#include "disassembler/modifiers.h"
#include "disassembler/operands.h"

namespace hkc::emu {
namespace {

using namespace syntax;

struct Slot {
    Family family = Family::invalid;
    unsigned opcode = 0;
};

/// The fixed leading bits of each family: CDNA3 ISA guide, "Microcode formats".
Slot slot_of(const Word& word) {
    if (!word.bit(31)) {
        unsigned op = word.bits(25, 6);
        if (op == 0x3f) return {Family::VOP1, word.bits(9, 8)};
        if (op == 0x3e) return {Family::VOPC, word.bits(17, 8)};
        return {Family::VOP2, op};
    }
    if (!word.bit(30)) {
        unsigned op = word.bits(23, 7);
        if (op == 0x7d) return {Family::SOP1, word.bits(8, 8)};
        if (op == 0x7e) return {Family::SOPC, word.bits(16, 7)};
        if (op == 0x7f) return {Family::SOPP, word.bits(16, 7)};
        return op >= 0x60 ? Slot{Family::SOPK, op - 0x60} : Slot{Family::SOP2, op};
    }
    switch (word.bits(26, 6)) {
        case 0b110000:
            return {Family::SMEM, word.bits(18, 8)};
        case 0b110100: {
            unsigned op = word.bits(16, 10);
            return op >= 0x380 ? Slot{Family::VOP3P, op - 0x380} : Slot{Family::VOP3, op};
        }
        case 0b110110:
            return {Family::DS, word.bits(17, 8)};
        case 0b110111: {
            static constexpr Family segments[] = {Family::FLAT, Family::SCRATCH, Family::GLOBAL,
                                                  Family::invalid};
            return {segments[word.bits(14, 2)], word.bits(18, 7)};
        }
        case 0b111000:
            return {Family::MUBUF, word.bits(18, 7)};
        case 0b111010:
            return {Family::MTBUF, word.bits(15, 4)};
        default:
            return {};
    }
}

/// Prints a word as one shape says.
class Printer {
 public:
    Printer(const Shape& shape, Word word, const uint32_t* words, size_t available, std::string_view mnemonic)
        : shape_(shape), word_(word), words_(words), available_(available), mnemonic_(mnemonic) {
        for (unsigned i = 0; i < 2; ++i) word_.half[i] &= ~shape.ignored[i];
    }

    /// The same answer as print gives, without text.
    bool check() {
        for (const OperandItem& item : shape_.operands)
            if (item.field && !valid(item)) return false;
        // Of the modifiers only these have reserved values.
        bool selects = shape_.has("src0_sel") || shape_.has("dpp") || shape_.has("dpp64");
        return !selects || modifier_text(shape_, word_, mnemonic_);
    }

    /// False if an operand or a modifier is not valid.
    bool print(std::string& text) {
        std::string operands;
        for (const OperandItem& item : shape_.operands) {
            auto operand = operand_text(item);
            if (!operand) return false;
            if (!operand->empty()) operands += (operands.empty() ? " " : ", ") + *operand;
        }
        auto modifiers = modifier_text(shape_, word_, mnemonic_);
        if (!modifiers) return false;
        text = name() + operands + *modifiers;
        return true;
    }

    size_t length() const { return shape_.dwords + literal_dwords_; }

 private:
    std::string name() const {
        constexpr std::string_view mfma = "v_mfma_";
        if (shape_.suffix == "scale") return "v_mfma_scale_" + std::string(mnemonic_.substr(mfma.size()));
        return std::string(mnemonic_) + std::string(shape_.suffix);
    }

    std::optional<std::string> operand_text(const OperandItem& item) {
        if (!item.field) {
            if (item.text[0] == '=') return std::string(item.text.substr(1));
            return immediate_operand(item.text, word_);
        }
        if (!valid(item)) return std::nullopt;
        unsigned code = item.field->code(word_);
        std::string text = is_literal(code, item) ? literal_text(literal_, item.codes->literal)
                                                  : code_name(code, *item.codes);
        return with_input_modifiers(text, item, code, shape_, word_);
    }

    static bool is_literal(unsigned code, const OperandItem& item) {
        return (code & 511) == 255 && item.codes->literal != Literal::none;
    }

    /// Reads the literal if the operand is one.
    bool valid(const OperandItem& item) {
        unsigned code = item.field->code(word_);
        if (is_literal(code, item)) return read_literal();
        return code < item.codes->valid.size() && item.codes->valid[code];
    }

    /// All operands with code 255 share one literal; of v_fmamk and its like it is the encoding's own constant.
    bool read_literal() {
        bool own = shape_.dwords == 2 && !(word_.bit(31));
        size_t at = own ? 1 : shape_.dwords;
        if (at >= available_) return false;
        literal_ = words_[at];
        literal_dwords_ = own ? 0 : 1;
        return true;
    }

    const Shape& shape_;
    Word word_;
    const uint32_t* words_;
    size_t available_;
    std::string_view mnemonic_;
    uint32_t literal_ = 0;
    size_t literal_dwords_ = 0;
};

bool decodable(const Shape& shape, const Word& word) {
    for (const OperandItem& item : shape.operands)
        if (item.decoded && !item.decoded->valid[item.field->code(word) & 1023]) return false;
    return true;
}

/// Tries the slot's shapes of four dwords (scaled matrix instructions), or the others; nullopt if none has the word's
/// fixed bits, 0 if its operands are not valid. Without `text` none is made.
std::optional<size_t> find_form(Slot slot, bool scaled, const Word& word, const uint32_t* words,
                                size_t available, Arch arch, std::string* text) {
    if (slot.family == Family::invalid) return std::nullopt;
    const OpcodeInfo* info = find_opcode(slot.family, slot.opcode, arch);
    if (!info) return std::nullopt;
    for (const Shape* shape : shapes_of(slot.family, slot.opcode, arch)) {
        if ((shape->dwords == 4) != scaled || shape->dwords > available || !shape->matches(word)) continue;
        if (!decodable(*shape, word)) continue;
        Printer printer(*shape, word, words, available, info->mnemonic);
        bool valid = text ? printer.print(*text) : printer.check();
        return valid ? printer.length() : 0;
    }
    return std::nullopt;
}

// v_mfma_ld_scale_b32: the first half of a scaled matrix instruction.
constexpr unsigned load_scale = 0xd3ac;

size_t decode_words(const uint32_t* words, size_t available, Arch arch, std::string* text) {
    Word word;
    for (size_t i = 0; i < 4 && i < available; ++i) word.half[i / 2] |= uint64_t(words[i]) << (i % 2 * 32);
    if (available == 0) return 0;
    if (words[0] >> 16 == load_scale && available >= 4 && words[2] >> 23 == 0b110100111) {
        Slot matrix{Family::VOP3P, (words[2] >> 16) & 127};
        if (auto length = find_form(matrix, true, word, words, available, arch, text)) return *length;
    }
    return find_form(slot_of(word), false, word, words, available, arch, text).value_or(0);
}

}  // namespace

size_t disassemble(const uint32_t* words, size_t available, Arch arch, std::string& text) {
    return decode_words(words, available, arch, &text);
}

size_t instruction_length(const uint32_t* words, size_t available, Arch arch) {
    return decode_words(words, available, arch, nullptr);
}

std::string disassemble(const Instruction& in) {
    auto words = reinterpret_cast<const uint32_t*>(in.address);
    // A valid instruction that both targets have reads the same on both.
    bool cdna4 = in.info && in.info->archs >> unsigned(Arch::gfx950) & 1;
    std::string text;
    if (!in.info || !disassemble(words, in.dwords, cdna4 ? Arch::gfx950 : Arch::gfx942, text))
        return "(not an instruction)";
    return text;
}

}  // namespace hkc::emu
