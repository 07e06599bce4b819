// Operand text: registers, constants, literals.
#pragma once

#include <cstdint>
#include <string>

#include "disassembler/syntax.h"

namespace hkc::emu::syntax {

/// "0x1f".
std::string hexadecimal(uint64_t value);

/// The name of a valid code (not of a literal) of a class.
std::string code_name(unsigned code, const CodeClass& codes);

/// True for integers, floats and literals, false for registers.
bool is_constant(unsigned code);

std::string literal_text(uint32_t value, Literal style);

/// A 32-bit immediate: small integers and the inline floats by value, others in hexadecimal.
std::string immediate_text(uint32_t value);

}  // namespace hkc::emu::syntax
