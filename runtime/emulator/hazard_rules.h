// The wait states that the hardware does not insert by itself: what counts as which kind of instruction, and how many
// wait states each pair needs. Data; hazard.cpp applies it.
#pragma once

#include <cstdint>

#include "instruction.h"

namespace hkc::emu::hazard {

/// SGEMM: f32 inputs. XDL: all narrower inputs, xf32 included. DGEMM: f64.
enum class Matrix : uint8_t { none, xdl, sgemm, dgemm };

/// What an instruction is, as far as wait states go.
struct Traits {
    bool valu = false;  ///< Vector ALU, matrix instructions included.
    bool salu = false;
    bool vector_memory = false;  ///< Buffer, flat, global and scratch.
    bool lds = false;
    bool transcendental = false;
    bool dot = false;
    bool read_lane = false;  ///< v_readlane, v_readfirstlane.
    bool selects_lane = false;  ///< v_readlane, v_writelane.
    bool permute_lanes = false;  ///< v_permlane*_swap.
    bool div_fmas = false;
    bool reads_m0 = false;  ///< Loads to LDS, LDS accesses by lane number, relative moves, messages.
    bool get_mode = false, set_mode = false;  ///< s_getreg, s_setreg.
    Matrix matrix = Matrix::none;
    bool formats = false;  ///< A and B have the formats that cbsz and blgp name.
    uint8_t passes[2] = {0, 0};  ///< By target: gfx942, gfx950.

    bool memory() const { return vector_memory || lds; }
};

const Traits& traits_of(const Instruction& in);

/// Passes (of 4 cycles) of a matrix instruction.
unsigned passes(const Instruction& in, Arch arch);

/// How a matrix instruction reads a register that the one before it wrote.
enum class MatrixUse : uint8_t { c_exact, c_overlapped, a_or_b };

unsigned matrix_to_matrix(const Instruction& producer, const Instruction& consumer, MatrixUse use, Arch arch);
/// A matrix result that a vector ALU or memory instruction reads, or overwrites.
unsigned matrix_to_other(const Instruction& producer, bool consumer_is_memory, Arch arch);
/// A vector ALU instruction, or (LLVM) a load, overwrites what a matrix instruction reads as C.
unsigned overwrite_c(const Instruction& reader, Arch arch);

// CDNA3 ISA guide, 4.5 and table 37; CDNA4 ISA guide, 4.5 and table 38. The same on both targets.
inline constexpr unsigned valu_to_matrix = 2;
inline constexpr unsigned dot_to_other = 3;
inline constexpr unsigned valu_to_dpp = 2;
inline constexpr unsigned valu_to_read_lane = 1;
inline constexpr unsigned valu_to_permute_lanes = 2;
inline constexpr unsigned transcendental_to_other = 1;
inline constexpr unsigned shifted_result_to_valu = 1;  ///< op_sel on the destination, SDWA.
inline constexpr unsigned scalar_to_vector_memory = 5;
inline constexpr unsigned scalar_to_lane_select = 4;
inline constexpr unsigned scalar_to_valu = 2;  ///< As a constant; none as a mask.
inline constexpr unsigned vcc_to_div_fmas = 4;
inline constexpr unsigned exec_to_dpp = 5;
inline constexpr unsigned exec_to_lane_access =
    4;  ///< v_readlane and the like, v_permlane*; LLVM for the former.
inline constexpr unsigned exec_to_matrix = 4;
inline constexpr unsigned m0_to_reader = 1;
inline constexpr unsigned wide_store_to_overwrite =
    2;  ///< By a vector ALU instruction, of three or more dwords.
inline constexpr unsigned mode_to_mode = 2;
inline constexpr unsigned longest = 19;  ///< No rule needs more.

}  // namespace hkc::emu::hazard
