// Checked mode: software wait states. The hardware does not wait for some results; the program must, with other
// instructions or s_nop.
#pragma once

#include <array>
#include <cstdint>

#include "hazard_rules.h"
#include "wave.h"

namespace hkc::emu::hazard {

/// An instruction that touched a register, and the wave's wait states when it had issued.
struct Mark {
    const Instruction* in = nullptr;
    uint64_t at = 0;
};

/// What one wave's latest instructions did to its registers. Wait states are counted along the path that the wave takes;
/// a barrier or a wait counts as one, for it may not wait at all.
struct History {
    uint64_t now = longest + 1;
    std::array<Mark, 512> vgpr_written{};
    std::array<Mark, 512> read_as_c{};  ///< By XDL instructions.
    std::array<Mark, 512> stored{};  ///< By stores of three dwords or more.
    std::array<Mark, sgpr::count> sgpr_written{};  ///< By the vector ALU; M0 by the scalar one.
    Mark mode_written{};
};

/// Checks `in` against what came before it, and remembers it. To be called once for each instruction, in order.
void step(Wave& wave, const Instruction& in);

}  // namespace hkc::emu::hazard
