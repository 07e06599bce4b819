// State of a wavefront and of its workgroup.
//
// This header is also read by the files that are compiled for AVX2 and AVX-512: its functions are all forced
// inline, so that no code with those instructions can be shared with the baseline files by the linker.
#pragma once

#include <cstdint>

#include "counters.h"
#include "instruction.h"

#define HKC_INLINE inline __attribute__((always_inline))

namespace hkc::emu {

inline constexpr unsigned lanes = 64;

/// indexed: running, with M0 added to numbers of VGPRs (see relocation.h).
enum class WaveState : uint8_t { running, indexed, at_barrier, yielded, ended, trapped };

struct Workgroup;
struct WaveShadow;

/// The device memory that a kernel may touch without harm to the host.
struct MemoryWindow {
    uint64_t begin = 0, end = 0;  ///< The arena.
    uint64_t launch_begin = 0, launch_end = 0;  ///< Kernarg segment, dispatch packet, queue.

    HKC_INLINE bool contains(uint64_t address, uint64_t bytes) const {
        return (address >= begin && address <= end - bytes) ||
               (address >= launch_begin && address <= launch_end - bytes);
    }
};

/// Fields of the MODE register (CDNA3 ISA guide, "MODE register").
namespace mode_bits {
inline constexpr uint32_t f32_denormal_inputs = 1u << 4, dx10_clamp = 1u << 8, ieee = 1u << 9,
                          fp16_ovfl = 1u << 23, gpr_idx_en = 1u << 27;
}

struct alignas(64) Wave {
    uint32_t vgpr[512][lanes];  ///< v0-v255, then a0-a255.
    uint32_t exec_row[lanes];  ///< EXEC as a row of 0 and ~0, valid for exec_row_value.
    uint64_t exec_row_value;
    uint32_t sgpr[sgpr::count];
    uint32_t scc;
    uint32_t mode;
    const Instruction* pc;
    WaveState state;
    Arch arch;
    int index;  ///< Within the workgroup.
    uint32_t private_segment;  ///< Bytes a lane.
    uint8_t* scratch;  ///< private_segment * 64 bytes, lane-interleaved by dwords.
    uint8_t* lds;
    uint32_t lds_size;
    const MemoryWindow* window;
    Workgroup* group;
    WaveShadow* shadow;  ///< nullptr in fast mode.
    Counters counters;

    HKC_INLINE uint64_t sgpr64(unsigned i) const { return sgpr[i] | uint64_t(sgpr[i + 1]) << 32; }
    HKC_INLINE void set_sgpr64(unsigned i, uint64_t v) {
        sgpr[i] = uint32_t(v);
        sgpr[i + 1] = uint32_t(v >> 32);
    }
    HKC_INLINE uint64_t exec() const { return sgpr64(sgpr::exec); }
    HKC_INLINE uint64_t vcc() const { return sgpr64(sgpr::vcc); }
};

/// Operands of one vector ALU operation: rows of 64 lanes. A 64-bit value has its low dwords at row[lane] and its
/// high dwords at row[64 + lane].
struct RowArgs {
    uint32_t* d;
    const uint32_t* s[3];
    const uint32_t* m;  ///< Write mask: 0 or ~0 a lane.
    uint64_t exec;
    uint64_t mask_in;  ///< Carry in, or the selecting mask.
    uint64_t mask_out;  ///< Compare result or carry out; the caller clears the bits of inactive lanes.
    const Instruction* in;
    uint32_t mode;
    Arch arch;
};

struct ScalarArgs {
    uint64_t a, b;
    uint64_t d;  ///< In: the destination's old value; out: the result.
    uint32_t scc;
    int32_t imm;
    Wave* wave;
};

/// Operands of an MFMA. `d` may equal `c`. Rows as in the register file.
struct MatrixArgs {
    uint32_t* d;
    const uint32_t* a;
    const uint32_t* b;
    const uint32_t* c;
    const uint32_t* scale_a;  ///< Rows of E8M0 bytes, or nullptr.
    const uint32_t* scale_b;
    const Instruction* in;
    uint32_t mode;
    Arch arch;
};

/// The value of a scalar source operand.
HKC_INLINE uint64_t read_scalar(const Wave& w, const Operand& o) {
    switch (o.kind) {
        case OperandKind::sgpr:
            return o.dwords > 1 ? w.sgpr64(o.index) : w.sgpr[o.index];
        case OperandKind::constant:
            return o.value;
        case OperandKind::vccz:
            return w.vcc() == 0;
        case OperandKind::execz:
            return w.exec() == 0;
        case OperandKind::scc:
            return w.scc;
        default:
            return 0;
    }
}

/// Ends the wave (and with it the dispatch) with a message made of `reason`, the mnemonic and the address.
void trap(Wave& wave, const Instruction& in, const char* reason);
/// The same for lane `lane`'s access to `address`.
void memory_fault(Wave& wave, const Instruction& in, int lane, uint64_t address);

}  // namespace hkc::emu
