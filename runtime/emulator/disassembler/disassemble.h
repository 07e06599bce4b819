// Instruction text from machine code, in LLVM's syntax.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "code_object.h"

namespace hkc::emu {

/// Length in dwords of the instruction at `words` (of which `available` may be read), and its text; 0 if the words are
/// no valid instruction of the target.
size_t disassemble(const uint32_t* words, size_t available, Arch arch, std::string& text);

/// The length alone, without making the text.
size_t instruction_length(const uint32_t* words, size_t available, Arch arch);

}  // namespace hkc::emu
