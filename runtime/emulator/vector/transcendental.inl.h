// The approximate functions of the vector ALU, to within 1 or 2 ULP, with denormal operands and results flushed to
// zero (CDNA3 ISA guide, "V_EXP_F32" and following).
#pragma once

#include <cmath>

#include "vector/rows.inl.h"

namespace hkc::emu::HKC_VARIANT {
namespace {

HKC_INLINE float flush(float v) {
    uint32_t bits = as_u32(v);
    return as_f32((bits & 0x7f800000) == 0 ? bits & 0x80000000 : bits);
}

/// Rounds to the nearest integer, ties to even, for |v| < 2^22.
HKC_INLINE float round_small(float v) {
    constexpr float magic = 0x1.8p23f;
    return (v + magic) - magic;
}

/// 2^x: the integer part goes to the exponent, a Taylor polynomial of degree 7 does the rest (|f| <= 1/2, truncation
/// error below 6e-9).
HKC_INLINE float exp2_f32(float x) {
    float clamped = x > 200.0f ? 200.0f : x < -200.0f ? -200.0f : x;
    float n = round_small(clamped), f = clamped - n;
    float p = 1.525273380405984e-5f;
    p = p * f + 1.5403530393381608e-4f;
    p = p * f + 1.3333558146428443e-3f;
    p = p * f + 9.618129107628477e-3f;
    p = p * f + 5.550410866482158e-2f;
    p = p * f + 2.402265069591007e-1f;
    p = p * f + 6.931471805599453e-1f;
    p = p * f + 1.0f;
    int32_t e = int32_t(n);
    // Two steps, since 2^128 is not a number but 2^128 * 0.99 is.
    float scaled = p * as_f32(uint32_t((e >> 1) + 127) << 23) * as_f32(uint32_t(e - (e >> 1) + 127) << 23);
    return x != x ? x : flush(scaled);
}

/// log2(x) = exponent + log2(mantissa), the latter by the series of artanh((m - 1) / (m + 1)).
HKC_INLINE float log2_f32(float value) {
    float x = flush(value);
    uint32_t bits = as_u32(x);
    uint32_t offset = bits - 0x3f3504f3;  // Mantissas from sqrt(1/2) to sqrt(2).
    float e = float(int32_t(offset) >> 23);
    double m = as_f32((offset & 0x007fffff) + 0x3f3504f3);
    double s = (m - 1.0) / (m + 1.0), s2 = s * s;
    double p = 1.0 / 13;
    p = p * s2 + 1.0 / 11;
    p = p * s2 + 1.0 / 9;
    p = p * s2 + 1.0 / 7;
    p = p * s2 + 1.0 / 5;
    p = p * s2 + 1.0 / 3;
    p = p * s2 + 1.0;
    float r = float(e + p * s * 2.885390081777926814);  // 2 / ln 2
    r = x == 0.0f ? -INFINITY : r;
    r = x < 0.0f ? as_f32(0x7fc00000) : r;
    return x != x || x == INFINITY ? x : r;
}

HKC_INLINE float rcp_f32(float x) {
    return flush(1.0f / flush(x));
}
HKC_INLINE float sqrt_f32(float x) {
    return __builtin_sqrtf(flush(x));
}
HKC_INLINE float rsq_f32(float x) {
    return float(1.0 / __builtin_sqrt(double(flush(x))));
}

/// Operands count whole turns; beyond 256 turns the result is that of 0.
HKC_INLINE float sin_turns(float x) {
    double turns = double(x);
    return std::fabs(turns) > 256 ? 0.0f : float(std::sin((turns - std::floor(turns)) * 6.283185307179586));
}
HKC_INLINE float cos_turns(float x) {
    double turns = double(x);
    return std::fabs(turns) > 256 ? 1.0f : float(std::cos((turns - std::floor(turns)) * 6.283185307179586));
}

}  // namespace
}  // namespace hkc::emu::HKC_VARIANT
