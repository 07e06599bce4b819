// What executes an opcode. Each executor file offers a list of bindings keyed by mnemonic; the decoder looks them up.
#pragma once

#include <initializer_list>
#include <span>

#include "instruction.h"

namespace hkc::emu {

/// A mnemonic and its executor. Vector and scalar ALU bindings have only a kernel, which a common handler calls;
/// others have a handler for each mode. "mnemonic.clamp" is the saturating form of an integer operation.
struct Binding {
    const char* mnemonic = nullptr;
    RowKernel row = nullptr;
    ScalarKernel scalar = nullptr;
    MatrixKernel matrix = nullptr;
    const MemoryOp* memory = nullptr;
    Handler fast = nullptr, checked = nullptr;
};

/// The common handlers and the kernels of one set of vector instructions.
struct VectorVariant {
    const char* name;
    Handler valu;  ///< Prepares rows and calls Instruction::kernel.row.
    Handler matrix;  ///< Prepares rows and calls Instruction::kernel.matrix.
    std::span<const Binding> lists[8];
};

const VectorVariant& vector_variant();  ///< The best one that this processor runs.

std::span<const Binding> scalar_bindings();
std::span<const Binding> control_bindings();
std::span<const Binding> lane_bindings();
std::span<const Binding> relocation_bindings();
std::span<const Binding> scalar_memory_bindings();
std::span<const Binding> lds_bindings();
std::span<const Binding> vector_memory_bindings();
std::span<const Binding> buffer_bindings();
std::span<const Binding> formatted_bindings();
std::span<const Binding> scratch_bindings();

/// The binding of `mnemonic`, with the handlers of the common paths filled in; nullptr if nothing executes it.
const Binding* find_binding(const char* mnemonic);

void scalar_alu(Wave& wave, const Instruction& in);  ///< The common handler of scalar kernels.
void unknown_opcode(Wave& wave, const Instruction& in);  ///< Traps.
void invalid_operand(Wave& wave, const Instruction& in);  ///< Traps.

}  // namespace hkc::emu
