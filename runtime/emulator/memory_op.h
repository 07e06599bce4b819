// What a memory instruction does to each lane, and the arithmetic of atomics.
#pragma once

#include <cstdint>

#include "checker.h"

namespace hkc::emu {

enum class Atomic : uint8_t {
    none,
    swap,
    cmpswap,
    add,
    sub,
    rsub,
    smin,
    umin,
    smax,
    umax,
    bit_and,
    bit_or,
    bit_xor,
    inc,
    dec,
    mskor,
    wrap,
    f_add,
    f_min,
    f_max,
    f_cmpswap,
    pk_add_f16,
    pk_add_bf16
};

struct MemoryOp {
    uint8_t bytes = 4;  ///< In memory, for each element.
    bool sign = false;  ///< Sign-extend a loaded byte or half.
    checker::Part part = checker::Part::dword;  ///< Of the destination, or of a store's source.
    Atomic atomic = Atomic::none;
    uint8_t elements = 1;  ///< 2 for read2 and write2.
    uint16_t stride = 1;  ///< Unit of the offsets, in bytes.

    constexpr unsigned dwords() const { return (bytes + 3u) / 4; }
};

/// The new memory value. For cmpswap `compare` is the value compared with; for mskor the mask is `source`.
uint32_t apply(Atomic op, uint32_t old, uint32_t source, uint32_t compare);
uint64_t apply(Atomic op, uint64_t old, uint64_t source, uint64_t compare);

}  // namespace hkc::emu
