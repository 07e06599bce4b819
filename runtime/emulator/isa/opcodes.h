// The opcode tables of CDNA3 (gfx942) and CDNA4 (gfx950).
//
// The tables are data: isa/*.inc, one row an opcode slot. An operand string is "destination=source source ...", a
// destination may be followed by ",m64" (a second, scalar mask destination). One operand is
//   b f i u + bits   untyped, floating point, signed, unsigned; bits below 32 live in the low part of a dword
//   p16              two packed 16-bit values;  q64: two packed f32
//   m64              a lane mask in an SGPR pair;  s32: an SGPR destination;  a32: an accumulation VGPR
//   lit simm label hwreg dst32   literal dword, 16-bit immediate, branch target, hardware register, SGPR of SDST
// A destination that starts with x is also read; one with p (pf16 ...) keeps the dword's other half.
#pragma once

#include <cstdint>

#include "code_object.h"

namespace hkc::emu {

/// Encoding families. *_E32 rows are VOP1/VOP2 opcodes that have no VOP3 form.
enum class Family : uint8_t {
    SOP1,
    SOP2,
    SOPC,
    SOPK,
    SOPP,
    SMEM,
    VOP1,
    VOP2,
    VOPC,
    VOP3,
    VOP3P,
    MAI,
    DS,
    FLAT,
    GLOBAL,
    SCRATCH,
    MUBUF,
    MTBUF,
    VOP1_E32,
    VOP2_E32,
    invalid
};

enum class OperandClass : uint8_t {
    none,
    bits,
    floating,
    signed_int,
    unsigned_int,
    packed16,
    packed32,
    lane_mask,
    scalar_dst,
    agpr,
    literal,
    simm16,
    label,
    hwreg,
    scalar_of_dst
};

struct OperandShape {
    OperandClass kind = OperandClass::none;
    uint16_t bits = 0;
    bool read_write = false;  ///< A destination that is also a source.
    bool keeps_half = false;  ///< A 16-bit destination that preserves the other half of its dword.

    unsigned dwords() const { return (bits + 31) / 32; }
};

struct OpcodeInfo {
    Family family = Family::invalid;
    uint16_t opcode = 0;
    uint8_t archs = 0;  ///< Bit 0: gfx942, bit 1: gfx950.
    uint8_t sources = 0;
    const char* mnemonic = nullptr;
    OperandShape dst, sdst, src[3];
    uint16_t index = 0;  ///< Row number over all tables.
};

/// The row of an opcode slot; nullptr if the target has none. For VOP3 this includes the promoted forms of VOPC,
/// VOP2 and VOP1, whose rows keep their own family.
const OpcodeInfo* find_opcode(Family family, unsigned opcode, Arch arch);

/// Number of rows over all tables, and row `index`.
unsigned opcode_count();
const OpcodeInfo& opcode_at(unsigned index);

}  // namespace hkc::emu
