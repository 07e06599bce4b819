// The reviewed table of instruction syntax (isa/syntax.inc): which words are valid and what their operands are.
//
// Every slot of the opcode tables has one or more shapes, one for each form of its encoding (e32, SDWA, DPP, address
// modes). A shape has fixed bits, bits that the hardware ignores, operands in printing order and modifiers. An operand is
//   FIELD:CLASS   a field's code, looked up in an operand class
//   FIELD:CLASS/DECODED  the same; with a code outside of the second class the word is of another shape
//   =TEXT         a text that is always the same ("vcc", "off")
//   #KIND         an immediate, see immediates.h
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "isa/opcodes.h"

namespace hkc::emu::syntax {

/// Up to four dwords of an instruction, as one bit string.
struct Word {
    std::array<uint64_t, 2> half{};

    unsigned bits(unsigned low, unsigned width) const {
        return unsigned(half[low >> 6] >> (low & 63) & ((1ull << width) - 1));
    }
    bool bit(unsigned at) const { return bits(at, 1); }
};

/// Where a field's code is: a width of 0 is a zero bit.
struct Field {
    struct Part {
        uint8_t low, width;
    };
    std::string_view name;
    std::vector<Part> parts;
    unsigned added = 0, scale = 1, flipped = 0;

    /// 0-255 as in a scalar source, 256 + n is VGPR n, 768 + n accumulation VGPR n.
    unsigned code(const Word& word) const;
};

/// How a literal dword prints, by what the operand is.
enum class Literal : uint8_t { none, i32, i64, f64, f16, bf16, i16, v2f16, v2bf16, hex };

struct CodeClass {
    unsigned dwords = 1;
    std::bitset<1024> valid;
    char constants =
        'f';  ///< How codes 240-248 print: float, double, or 16-bit (h), bfloat16 (b), 32-bit (w) numbers.
    Literal literal = Literal::none;
};

struct OperandItem {
    const Field* field = nullptr;
    const CodeClass* codes = nullptr;
    const CodeClass* decoded = nullptr;
    std::string_view text;  ///< Without a field: "=vcc" or "#label".
};

struct Modifier {
    std::string_view name;
    unsigned count = 0;  ///< Elements of a list.
};

struct Shape {
    unsigned dwords = 1;  ///< Without a literal behind the encoding.
    std::array<uint64_t, 2> mask{}, value{}, ignored{};
    std::string_view suffix;
    std::vector<OperandItem> operands;
    std::vector<Modifier> modifiers;

    bool has(std::string_view modifier) const;
    bool matches(const Word& word) const {
        return (word.half[0] & mask[0]) == value[0] && (word.half[1] & mask[1]) == value[1];
    }
};

/// The shapes of a slot, in the order in which to try them; empty if the target has no such slot.
const std::vector<const Shape*>& shapes_of(Family family, unsigned opcode, Arch arch);

}  // namespace hkc::emu::syntax
