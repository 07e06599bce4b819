// Conversions between number formats, one value at a time, without branches so that loops over lanes vectorise.
//
// Everything is forced inline: see wave.h.
#pragma once

#include <cstdint>

#include "wave.h"

namespace hkc::emu {

HKC_INLINE float as_f32(uint32_t v) {
    return __builtin_bit_cast(float, v);
}
HKC_INLINE uint32_t as_u32(float v) {
    return __builtin_bit_cast(uint32_t, v);
}
HKC_INLINE double as_f64(uint64_t v) {
    return __builtin_bit_cast(double, v);
}
HKC_INLINE uint64_t as_u64(double v) {
    return __builtin_bit_cast(uint64_t, v);
}

HKC_INLINE float f16_to_f32(uint32_t half) {
    uint32_t magnitude = half & 0x7fff, sign = (half & 0x8000) << 16;
    uint32_t shifted = magnitude << 13;
    uint32_t finite = as_u32(as_f32(shifted) * 0x1p112f);  // The exponent bias goes from 15 to 127.
    return as_f32((magnitude >= 0x7c00 ? shifted | 0x7f800000 : finite) | sign);
}

/// Round to nearest, ties to even; NaNs become quiet.
HKC_INLINE uint32_t f32_to_f16(float value) {
    uint32_t f = as_u32(value), sign = f >> 16 & 0x8000;
    f &= 0x7fffffff;
    uint32_t special = f > 0x7f800000 ? 0x7e00 | (f >> 13 & 0x3ff) : 0x7c00;
    constexpr uint32_t magic = (127 - 15 + 23 - 10 + 1) << 23;  // Adding it rounds to a multiple of 2^-24.
    uint32_t denormal = as_u32(as_f32(f) + as_f32(magic)) - magic;
    uint32_t normal = (f + (f >> 13 & 1) + 0xfff - (112u << 23)) >> 13;
    uint32_t finite = f < (113u << 23) ? denormal : normal;
    return (f >= (143u << 23) ? special : finite) | sign;
}

/// Round towards zero; finite values stay finite.
HKC_INLINE uint32_t f32_to_f16_toward_zero(float value) {
    uint32_t f = as_u32(value), sign = f >> 16 & 0x8000;
    f &= 0x7fffffff;
    if (f >= 0x7f800000) return sign | (f > 0x7f800000 ? 0x7e00 | (f >> 13 & 0x3ff) : 0x7c00);
    if (f >= (143u << 23)) return sign | 0x7bff;
    if (f >= (113u << 23)) return sign | (f - (112u << 23)) >> 13;
    uint32_t shift = 126 - (f >> 23);  // The result counts 2^-24.
    return sign | (shift > 31 ? 0 : ((f & 0x7fffff) | 0x800000) >> shift);
}

HKC_INLINE float bf16_to_f32(uint32_t v) {
    return as_f32(v << 16);
}

/// Round to nearest, ties to even; NaNs become quiet.
HKC_INLINE uint32_t f32_to_bf16(float value) {
    uint32_t f = as_u32(value);
    uint32_t rounded = (f + 0x7fff + (f >> 16 & 1)) >> 16;
    return (f & 0x7fffffff) > 0x7f800000 ? f >> 16 | 0x40 : rounded;
}

}  // namespace hkc::emu
