// One decoded instruction: what the executors read at run time.
#pragma once

#include <cstdint>

#include "isa/opcodes.h"

namespace hkc::emu {

struct Wave;
struct Instruction;
struct RowArgs;
struct ScalarArgs;
struct MatrixArgs;
struct MemoryOp;

using Handler = void (*)(Wave&, const Instruction&);
using RowKernel = void (*)(RowArgs&);  ///< All lanes of a vector ALU operation.
using ScalarKernel = void (*)(ScalarArgs&);  ///< A scalar ALU operation.
using MatrixKernel = void (*)(MatrixArgs&);  ///< An MFMA.

/// Where an operand lives. VGPR index 0-255 is v0-v255, 256-511 is a0-a255.
enum class OperandKind : uint8_t { none, vgpr, sgpr, constant, vccz, execz, scc };

struct Operand {
    OperandKind kind = OperandKind::none;
    uint8_t dwords = 0;
    uint16_t index = 0;
    bool literal = false;
    uint64_t value = 0;  ///< A constant's bits.
    const uint32_t* row = nullptr;  ///< A constant, 64 times each dword.

    bool vgpr() const { return kind == OperandKind::vgpr; }
    bool sgpr() const { return kind == OperandKind::sgpr; }
};

/// Numbers of the special scalar registers (CDNA3 ISA guide, "Scalar operands").
namespace sgpr {
inline constexpr unsigned vcc = 106, ttmp0 = 108, m0 = 124, exec = 126, count = 128;
}

/// SDWA selections: 0-3 a byte, 4-5 a half, 6 the dword.
struct SdwaModifiers {
    uint8_t dst_sel = 6, dst_unused = 0;
    uint8_t src_sel[2] = {6, 6};
    bool sext[2] = {false, false};
};

struct DppModifiers {
    uint16_t control = 0;
    uint8_t row_mask = 15, bank_mask = 15;
    bool bound_ctrl = false;
};

enum InstructionFlags : uint32_t {
    flag_e64 = 1u << 0,  ///< Any 64-bit vector encoding.
    flag_dpp = 1u << 1,
    flag_sdwa = 1u << 2,
    flag_source_modifiers = 1u << 3,  ///< abs, neg or op_sel change a source row.
    flag_result_modifiers = 1u << 4,  ///< clamp, omod, op_sel, SDWA or half-preserving destination.
    flag_compare = 1u << 5,
    flag_cmpx = 1u << 6,
    flag_carry_in = 1u << 7,
    flag_mask_out = 1u << 8,  ///< Writes sdst.
    flag_memory = 1u << 9,
    flag_glc = 1u << 10,
    flag_slc = 1u << 11,
    flag_sc1 = 1u << 12,
    flag_lds = 1u << 13,  ///< The load's data goes to LDS.
    flag_offen = 1u << 14,
    flag_idxen = 1u << 15,
    flag_gds = 1u << 16,
    flag_sve = 1u << 17,  ///< Scratch: the vector address is used.
    flag_saddr = 1u << 18,
    flag_soffset = 1u << 19,
    flag_imm = 1u << 20,
    flag_ends_block = 1u << 21,
    flag_relocated = 1u << 22,  ///< A copy whose register numbers M0 has changed.
    flag_complex = flag_dpp | flag_sdwa | flag_source_modifiers | flag_result_modifiers,
};

/// Registers that an instruction reads or writes, for checked mode.
struct RegisterUse {
    enum Role : uint8_t { source, address, data, branch, matrix, destination };
    uint16_t first = 0;
    uint8_t count = 0;
    bool vector = false;
    Role role = source;
};

/// How undefined bytes of the sources reach the result, for checked mode; see undefined.cpp.
enum class Flow : uint8_t {
    any,  ///< Any undefined byte makes the whole result undefined.
    bytes,  ///< Byte by byte: moves and bitwise operations.
    bit_and,
    bit_or,  ///< Byte by byte, but known zeros (ones) decide.
    upward,  ///< A byte depends on the bytes at and below it: additions, low products.
    shift_left,
    shift_right,
    shift_or,
    shift_add,
    align,  ///< By a constant amount, else any.
    extract,
    insert,
    permute,
    halves,  ///< Two independent 16-bit operations.
    pairs,  ///< Two independent 32-bit operations.
    select,
    pack,  ///< The low halves of two sources.
    byte0,
    byte1,
    byte2,
    byte3,  ///< Depends on one byte.
    half_result,  ///< Writes the half that op_sel[3] names.
    byte_result,  ///< Writes the byte that op_sel[3:2] names.
    named_byte,  ///< Replaces the byte that source 1 names.
    two_halves,  ///< Each half depends on all of one source.
    low_result,
    high_result,  ///< Writes one half.
    low_first,  ///< 64 bits: the low result depends on low dwords only.
    high_first,  ///< 64 bits: the high result depends on high dwords only.
};

struct Instruction {
    Handler run[2] = {nullptr, nullptr};  ///< By Mode.
    union {
        RowKernel row;
        ScalarKernel scalar;
        MatrixKernel matrix;
        const MemoryOp* memory;
    } kernel{nullptr};
    const OpcodeInfo* info = nullptr;
    uint64_t address = 0;
    uint32_t flags = 0;
    uint8_t dwords = 1;  ///< Length.
    Family encoding = Family::invalid;

    // Vector modifiers; bit i of abs, neg, op_sel ... belongs to source i, bit 3 of op_sel to the destination.
    uint8_t abs = 0, neg = 0, neg_hi = 0, op_sel = 0, op_sel_hi = 0, omod = 0;
    bool clamp = false;
    uint8_t cbsz = 0, abid = 0, blgp = 0;
    uint8_t scale_sel[2] = {0, 0};  ///< Byte of each scale operand of a scaled MFMA.
    SdwaModifiers sdwa;
    DppModifiers dpp;

    int32_t imm = 0;  ///< simm16, memory offset, ds offset0; of v_bitop3 the truth table.
    int32_t imm2 = 0;  ///< ds offset1; of MTBUF data format + 16 * number format.
    const Instruction* target = nullptr;  ///< Of a direct branch; nullptr if outside the code.

    Operand dst, sdst, src[5];
    RegisterUse uses[10];
    uint8_t use_count = 0;
    Flow flow = Flow::any;

    const Instruction* next() const { return this + dwords; }
};

}  // namespace hkc::emu
