// Recording events.
#pragma once

#include "hip_state.h"

namespace hkc::emu {

/// Records the event at this moment, later than every event recorded before.
void record_now(ihipEvent_t& event);

}  // namespace hkc::emu
