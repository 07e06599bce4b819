// Which registers an instruction reads and writes, and as what.
#pragma once

#include "instruction.h"

namespace hkc::emu {

/// Fills Instruction::uses from the decoded operands.
void find_register_uses(Instruction& in, Arch arch);

}  // namespace hkc::emu
