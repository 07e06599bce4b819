// 8-bit floating-point formats: FNUZ on gfx942, OCP on gfx950 (CDNA3 ISA guide, 7.3; CDNA4 ISA guide, 7.3).
//
//            E4M3 bias  largest  NaN         E5M2 bias  largest  infinity  NaN
//   gfx942   8          240      0x80        16         57344    none      0x80
//   gfx950   7          448      0x7f, 0xff  15         57344    0x7c      above 0x7c
#pragma once

#include "numeric.h"

namespace hkc::emu {

struct Fp8Format {
    unsigned mantissa;
    int bias;
    uint32_t largest;  ///< Code of the largest finite magnitude.
    uint32_t overflow;  ///< Code of a magnitude that is too large, where nothing saturates.
    bool fnuz;
};

constexpr Fp8Format e4m3_fnuz{3, 8, 0x7f, 0x80, true}, e5m2_fnuz{2, 16, 0x7f, 0x80, true};
constexpr Fp8Format e4m3_ocp{3, 7, 0x7e, 0x7f, false}, e5m2_ocp{2, 15, 0x7b, 0x7c, false};

HKC_INLINE Fp8Format fp8_format(Arch arch, bool e5m2) {
    if (arch == Arch::gfx942) return e5m2 ? e5m2_fnuz : e4m3_fnuz;
    return e5m2 ? e5m2_ocp : e4m3_ocp;
}

HKC_INLINE float fp8_to_f32(uint32_t v, const Fp8Format& f) {
    uint32_t magnitude = v & 0x7f, sign = (v & 0x80) << 24;
    float scale = as_f32(uint32_t(254 - f.bias) << 23);  // 2^(127 - bias)
    float finite = as_f32(as_u32(as_f32(magnitude << (23 - f.mantissa)) * scale) | sign);
    bool nan = f.fnuz ? v == 0x80 : magnitude > f.overflow || (f.overflow == 0x7f && magnitude == 0x7f);
    bool infinite = !f.fnuz && f.overflow == 0x7c && magnitude == 0x7c;
    return nan ? as_f32(0x7fc00000) : infinite ? as_f32(0x7f800000 | sign) : finite;
}

/// The code after adding `round` below the last kept bit: rounding to nearest even, or with random bits.
HKC_INLINE uint32_t fp8_finish(uint32_t code, uint32_t sign, bool nan, const Fp8Format& f, bool saturate) {
    uint32_t nan_code = f.fnuz ? 0x80 : 0x7f;
    uint32_t big = saturate ? f.largest | sign : f.fnuz ? 0x80 : f.overflow | sign;
    uint32_t r = code > f.largest ? big : code | sign;
    r = f.fnuz && code == 0 ? 0 : r;
    return nan ? nan_code | (f.fnuz ? 0 : sign) : r;
}

/// Round to nearest, ties to even.
HKC_INLINE uint32_t f32_to_fp8(float value, const Fp8Format& f, bool saturate) {
    uint32_t bits = as_u32(value), sign = bits >> 24 & 0x80;
    bits &= 0x7fffffff;
    unsigned shift = 23 - f.mantissa;
    uint32_t magic = uint32_t(24 - f.bias - int(f.mantissa) + 127) << 23;
    uint32_t denormal = as_u32(as_f32(bits) + as_f32(magic)) - magic;
    uint32_t normal =
        (bits + (bits >> shift & 1) + (1u << (shift - 1)) - 1 - (uint32_t(127 - f.bias) << 23)) >> shift;
    uint32_t code = bits < (uint32_t(128 - f.bias) << 23) ? denormal : normal;
    code = bits >= 0x7f800000 ? 0xff : code;
    return fp8_finish(code, sign, bits > 0x7f800000, f, saturate);
}

/// Stochastic rounding: the top bits of `random` are added to the bits that are dropped.
HKC_INLINE uint32_t f32_to_fp8_stochastic(float value, uint32_t random, const Fp8Format& f, bool saturate) {
    uint32_t bits = as_u32(value), sign = bits >> 24 & 0x80;
    bits &= 0x7fffffff;
    int exponent = int(bits >> 23) - 127, smallest = 1 - f.bias;
    uint64_t significand = ((bits & 0x7fffff) | (bits >= 0x800000 ? 0x800000u : 0u));
    unsigned shift = 23 - f.mantissa;
    if (exponent < smallest) shift += unsigned(smallest - exponent) > 30 ? 30 : unsigned(smallest - exponent);
    uint64_t rounded = (significand + (random >> (shift > 31 ? 0 : 32 - shift))) >> shift;
    uint32_t base = exponent < smallest ? 0 : uint32_t(exponent - smallest) << f.mantissa;
    uint32_t code = bits >= 0x7f800000 ? 0xff : base + uint32_t(rounded);
    return fp8_finish(code > 0xff ? 0xff : code, sign, bits > 0x7f800000, f, saturate);
}

}  // namespace hkc::emu
