// Buffer resources: addresses and range checks.
#pragma once

#include "vector_memory.h"

namespace hkc::emu {

/// Fields of a buffer resource (CDNA3 ISA guide, "Buffer resource descriptor").
struct BufferResource {
    uint64_t base;
    uint32_t stride, records;
    bool swizzle, add_thread_id;
    unsigned index_stride, element_size;
    unsigned data_format, number_format;
    uint8_t select[4];  ///< Of each destination component: 0, 1, or 4 + a component of the data.

    BufferResource(const Wave& w, unsigned r)
        : base(w.sgpr64(r) & 0xffffffffffff),
          stride(w.sgpr[r + 1] >> 16 & 0x3fff),
          records(w.sgpr[r + 2]),
          swizzle(w.sgpr[r + 1] >> 31),
          add_thread_id(w.sgpr[r + 3] >> 23 & 1),
          index_stride(8u << (w.sgpr[r + 3] >> 21 & 3)),
          element_size(2u << (w.sgpr[r + 3] >> 19 & 3)),
          data_format(w.sgpr[r + 3] >> 15 & 15),
          number_format(w.sgpr[r + 3] >> 12 & 7) {
        for (unsigned i = 0; i < 4; ++i) select[i] = uint8_t(w.sgpr[r + 3] >> (3 * i) & 7);
    }
};

/// Per-lane result of the address calculation.
struct BufferAddresses : LaneAddresses {
    uint64_t offset[lanes];  ///< Raw buffers: the offset that the range check sees.
    bool raw;
    uint32_t records;
};

/// `bytes` of each lane; a formatted access takes its place in the resource as a whole.
void buffer_addresses(const Wave& wave, const Instruction& in, BufferAddresses& a, unsigned bytes,
                      bool formatted = false);

/// Accesses of dwords ignore the two lowest bits (CDNA3 ISA guide, 9.1.7).
template <Mode mode>
void align_addresses(Wave& w, const Instruction& in, BufferAddresses& a, unsigned unit) {
    if (unit < 4) return;
    if constexpr (mode == Mode::checked) {
        for (uint64_t left = a.mask; left; left &= left - 1) {
            int lane = std::countr_zero(left);
            if (a.at[lane] % 4 == 0) continue;
            checker::misaligned(w, in, lane, "", a.at[lane], 4);
            break;
        }
    }
    for (uint64_t& address : a.at) address &= ~3ull;
}

}  // namespace hkc::emu
