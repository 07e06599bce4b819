// Immediates with a syntax of their own: s_waitcnt, messages, hardware registers, ds_swizzle patterns, buffer formats.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "disassembler/syntax.h"

namespace hkc::emu::syntax {

/// An operand "#KIND" of syntax.inc; empty if it is not printed.
std::string immediate_operand(std::string_view kind, const Word& word);

/// The offset of ds_swizzle_b32.
std::string swizzle_pattern(unsigned offset);

/// "format:[...]" of a typed buffer access; empty for the default format.
std::string buffer_format(const Word& word);

/// A DPP control, empty if it is reserved. Operations on 64-bit operands have row_newbcast only.
std::string dpp_control(unsigned control, bool only_newbcast);

}  // namespace hkc::emu::syntax
