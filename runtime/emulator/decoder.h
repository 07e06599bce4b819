// From machine code to an array of decoded instructions.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "code_object.h"
#include "instruction.h"

namespace hkc::emu {

/// Constants as rows of 64 lanes, each held once.
class ConstantPool {
 public:
    /// 128 dwords: 64 times the low dword, then 64 times the high dword.
    const uint32_t* row(uint64_t value);

 private:
    struct alignas(64) Row {
        uint32_t dwords[128];
    };
    std::map<uint64_t, std::unique_ptr<Row>> rows_;
};

/// Decodes the instruction at `words` (at most `available` dwords). What is not an instruction decodes to one dword
/// that traps.
Instruction decode(const uint32_t* words, size_t available, Arch arch, ConstantPool& constants);

/// The decoded text of a code object, one entry for every dword address: code may be entered anywhere.
struct Program {
    uint64_t base = 0;
    std::vector<Instruction> code;  ///< With entries behind the end that trap.
    ConstantPool constants;
    unsigned lds_granule = 4;  ///< Bytes of the smallest LDS access in the program, at most 4.
    unsigned global_granule = 4;  ///< The same for global memory.

    /// The instruction at `pc`; nullptr if that is outside the text or unaligned.
    const Instruction* at(uint64_t pc) const {
        uint64_t index = (pc - base) / 4;
        return pc >= base && (pc - base) % 4 == 0 && index < code.size() ? &code[index] : nullptr;
    }
};

/// The program of `object`, decoded at its first use.
std::shared_ptr<const Program> program_of(const CodeObject& object);

/// Mnemonic and operands in LLVM's syntax, from the words at the instruction's address.
std::string disassemble(const Instruction& in);

}  // namespace hkc::emu
