// Modifiers: what stands behind the operands, and what stands around them (abs, neg, sext).
#pragma once

#include <optional>
#include <string>

#include "disassembler/syntax.h"

namespace hkc::emu::syntax {

/// " clamp mul:2" ...; nullopt if a modifier has a reserved value.
std::optional<std::string> modifier_text(const Shape& shape, const Word& word, std::string_view mnemonic);

/// An operand's text with its input modifiers: "-|v1|", "neg(1.0)", "sext(v1)".
std::string with_input_modifiers(std::string text, const OperandItem& item, unsigned code, const Shape& shape,
                                 const Word& word);

}  // namespace hkc::emu::syntax
