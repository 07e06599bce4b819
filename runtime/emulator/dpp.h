// Lane selection of DPP instructions.
#pragma once

#include "wave.h"

namespace hkc::emu {

/// The lane that DPP reads for `lane`; -1 if there is none (CDNA3 ISA guide, "DPP").
HKC_INLINE int dpp_source(unsigned control, int lane) {
    int row = lane & ~15, in_row = lane & 15;
    unsigned amount = control & 15;
    if (control <= 0xff) return (lane & ~3) | int(control >> (2 * (lane & 3)) & 3);  // quad_perm
    switch (control & 0x1f0) {
        case 0x100: {  // row_shl
            int from = in_row + int(amount);
            return from < 16 ? row | from : -1;
        }
        case 0x110: {  // row_shr
            int from = in_row - int(amount);
            return from >= 0 ? row | from : -1;
        }
        case 0x120:  // row_ror
            return row | ((in_row - int(amount)) & 15);
        case 0x130:
            if (control == 0x130) return lane < 63 ? lane + 1 : -1;  // wave_shl
            if (control == 0x134) return (lane + 1) & 63;  // wave_rol
            if (control == 0x138) return lane - 1;  // wave_shr
            return control == 0x13c ? (lane - 1) & 63 : -1;  // wave_ror
        case 0x140:
            if (control == 0x140) return row | (15 - in_row);  // row_mirror
            if (control == 0x141) return (lane & ~7) | (7 - (lane & 7));  // row_half_mirror
            if (control == 0x142) return row - 1;  // row_bcast15: lane 15 of the row before
            return control == 0x143 && lane >= 32 ? 31 : -1;  // row_bcast31
        case 0x150:  // row_newbcast
            return row | int(amount);
        default:
            return -1;
    }
}

/// Whether DPP may write `lane`, given whether its source lane exists and is active.
HKC_INLINE bool dpp_writes(const DppModifiers& dpp, int lane, bool valid) {
    bool enabled = (dpp.row_mask >> (lane / 16) & 1) && (dpp.bank_mask >> (lane % 16 / 4) & 1);
    return enabled && (valid || dpp.bound_ctrl);
}

}  // namespace hkc::emu
