// Copies between memory and register rows, for many lanes at once. `at(lane)` is a lane's address in host memory.
#pragma once

#include <bit>
#include <cstring>

#include "memory_op.h"

namespace hkc::emu {

using Quad = uint32_t __attribute__((vector_size(16)));

/// Four lanes' 16 bytes each become four rows' 4 lanes each.
inline void transpose(Quad& a, Quad& b, Quad& c, Quad& d) {
    Quad ab_low = __builtin_shuffle(a, b, Quad{0, 4, 1, 5}),
         ab_high = __builtin_shuffle(a, b, Quad{2, 6, 3, 7});
    Quad cd_low = __builtin_shuffle(c, d, Quad{0, 4, 1, 5}),
         cd_high = __builtin_shuffle(c, d, Quad{2, 6, 3, 7});
    a = __builtin_shuffle(ab_low, cd_low, Quad{0, 1, 4, 5});
    b = __builtin_shuffle(ab_low, cd_low, Quad{2, 3, 6, 7});
    c = __builtin_shuffle(ab_high, cd_high, Quad{0, 1, 4, 5});
    d = __builtin_shuffle(ab_high, cd_high, Quad{2, 3, 6, 7});
}

template <class At>
void load_quads(At at, uint32_t* rows) {
    for (unsigned lane = 0; lane < lanes; lane += 4) {
        Quad q[4];
        for (unsigned i = 0; i < 4; ++i) std::memcpy(&q[i], at(lane + i), 16);
        transpose(q[0], q[1], q[2], q[3]);
        for (unsigned i = 0; i < 4; ++i) std::memcpy(rows + i * lanes + lane, &q[i], 16);
    }
}

template <class At>
void store_quads(At at, const uint32_t* rows) {
    for (unsigned lane = 0; lane < lanes; lane += 4) {
        Quad q[4];
        for (unsigned i = 0; i < 4; ++i) std::memcpy(&q[i], rows + i * lanes + lane, 16);
        transpose(q[0], q[1], q[2], q[3]);
        for (unsigned i = 0; i < 4; ++i) std::memcpy(at(lane + i), &q[i], 16);
    }
}

template <unsigned dwords, class At>
void load_dwords(At at, uint64_t mask, uint32_t* rows) {
    if (dwords == 4 && mask == ~0ull) return load_quads(at, rows);
    for (; mask; mask &= mask - 1) {
        unsigned lane = unsigned(std::countr_zero(mask));
        uint32_t v[dwords];
        std::memcpy(v, at(lane), sizeof v);
        for (unsigned i = 0; i < dwords; ++i) rows[i * lanes + lane] = v[i];
    }
}

template <unsigned dwords, class At>
void store_dwords(At at, uint64_t mask, const uint32_t* rows) {
    if (dwords == 4 && mask == ~0ull) return store_quads(at, rows);
    for (; mask; mask &= mask - 1) {
        unsigned lane = unsigned(std::countr_zero(mask));
        uint32_t v[dwords];
        for (unsigned i = 0; i < dwords; ++i) v[i] = rows[i * lanes + lane];
        std::memcpy(at(lane), v, sizeof v);
    }
}

/// Puts a byte or half into a destination dword.
inline uint32_t merge_part(uint32_t old, uint32_t value, checker::Part part) {
    switch (part) {
        case checker::Part::low_half:
            return (old & 0xffff0000) | (value & 0xffff);
        case checker::Part::high_half:
            return (old & 0xffff) | value << 16;
        default:
            return value;
    }
}

template <class At>
void load_small(At at, uint64_t mask, uint32_t* row, const MemoryOp& op) {
    for (; mask; mask &= mask - 1) {
        unsigned lane = unsigned(std::countr_zero(mask));
        uint32_t v = 0;
        if (op.bytes == 1) {
            uint8_t byte;
            std::memcpy(&byte, at(lane), 1);
            v = op.sign ? uint32_t(int32_t(int8_t(byte))) : byte;
        } else {
            uint16_t half;
            std::memcpy(&half, at(lane), 2);
            v = op.sign ? uint32_t(int32_t(int16_t(half))) : half;
        }
        row[lane] = merge_part(row[lane], v, op.part);
    }
}

template <class At>
void load_lanes(At at, uint64_t mask, uint32_t* rows, const MemoryOp& op) {
    switch (op.bytes) {
        case 4:
            return load_dwords<1>(at, mask, rows);
        case 8:
            return load_dwords<2>(at, mask, rows);
        case 12:
            return load_dwords<3>(at, mask, rows);
        case 16:
            return load_dwords<4>(at, mask, rows);
        default:
            return load_small(at, mask, rows, op);
    }
}

template <class At>
void store_lanes(At at, uint64_t mask, const uint32_t* rows, const MemoryOp& op) {
    switch (op.bytes) {
        case 4:
            return store_dwords<1>(at, mask, rows);
        case 8:
            return store_dwords<2>(at, mask, rows);
        case 12:
            return store_dwords<3>(at, mask, rows);
        case 16:
            return store_dwords<4>(at, mask, rows);
        default:
            break;
    }
    unsigned shift = op.part == checker::Part::high_half ? 16 : 0;
    for (; mask; mask &= mask - 1) {
        unsigned lane = unsigned(std::countr_zero(mask));
        uint32_t v = rows[lane] >> shift;
        std::memcpy(at(lane), &v, op.bytes);
    }
}

}  // namespace hkc::emu
