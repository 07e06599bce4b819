// Floating-point vector operations of one value a lane, and conversions.
#include <cmath>

#include "vector/division.inl.h"
#include "vector/rows.inl.h"
#include "vector/transcendental.inl.h"

namespace hkc::emu::HKC_VARIANT {
namespace {

// Minimum and maximum follow IEEE 754-2008: a number beats a NaN, -0 is below +0.
HKC_INLINE float min_of(float a, float b) {
    float equal = as_f32(as_u32(a) | as_u32(b));
    float r = a < b ? a : b < a ? b : equal;
    return a != a ? b : b != b ? a : r;
}
HKC_INLINE float max_of(float a, float b) {
    float equal = as_f32(as_u32(a) & as_u32(b));
    float r = a > b ? a : b > a ? b : equal;
    return a != a ? b : b != b ? a : r;
}
HKC_INLINE double min_of(double a, double b) {
    double equal = as_f64(as_u64(a) | as_u64(b));
    double r = a < b ? a : b < a ? b : equal;
    return a != a ? b : b != b ? a : r;
}
HKC_INLINE double max_of(double a, double b) {
    double equal = as_f64(as_u64(a) & as_u64(b));
    double r = a > b ? a : b > a ? b : equal;
    return a != a ? b : b != b ? a : r;
}
HKC_INLINE float median(float a, float b, float c) {
    float low = min_of(min_of(a, b), c), r = max_of(min_of(a, b), min_of(max_of(a, b), c));
    return a != a || b != b || c != c ? low : r;
}
/// Minimum and maximum that propagate NaNs.
HKC_INLINE float minimum(float a, float b) {
    return a != a ? a : b != b ? b : min_of(a, b);
}
HKC_INLINE float maximum(float a, float b) {
    return a != a ? a : b != b ? b : max_of(a, b);
}

HKC_INLINE float fma_of(float a, float b, float c) {
    return __builtin_fmaf(a, b, c);
}
HKC_INLINE double fma_of(double a, double b, double c) {
    return __builtin_fma(a, b, c);
}

/// a * b + c of half-precision values, rounded once: the sum is made in double and narrowed to single with the
/// discarded bits jammed into the last one, so that the rounding to half is exact.
HKC_INLINE float fma_f16(float a, float b, float c) {
    uint64_t sum = as_u64(__builtin_fma(double(a), double(b), double(c)));
    uint64_t jammed = (sum & ~((1ull << 29) - 1)) | uint64_t((sum & ((1ull << 29) - 1)) != 0) << 29;
    return float(as_f64(jammed));
}

HKC_INLINE float fract_of(float v) {
    float f = v - std::floor(v);
    return f >= 1.0f ? as_f32(0x3f7fffff) : f;
}
HKC_INLINE double fract_of(double v) {
    double f = v - std::floor(v);
    return f >= 1.0 ? as_f64(0x3fefffffffffffff) : f;
}

// Conversions to integers truncate, saturate, and give 0 for NaN.
HKC_INLINE int32_t to_i32(float v) {
    int32_t r = v < 0x1p31f ? int32_t(v < -0x1p31f ? -0x1p31f : v) : 0x7fffffff;
    return v != v ? 0 : r;
}
HKC_INLINE uint32_t to_u32(float v) {
    float clamped = v > 0.0f ? v : 0.0f;
    uint32_t low = uint32_t(int32_t(clamped < 0x1p31f ? clamped : 0.0f));
    uint32_t high =
        uint32_t(int32_t(clamped >= 0x1p31f && clamped < 0x1p32f ? clamped - 0x1p31f : 0.0f)) + 0x80000000u;
    return clamped >= 0x1p32f ? ~0u : clamped >= 0x1p31f ? high : low;
}
HKC_INLINE int32_t to_i32(double v) {
    return v != v               ? 0
           : v >= 2147483647.0  ? 0x7fffffff
           : v <= -2147483648.0 ? int32_t(-2147483648ll)
                                : int32_t(v);
}
HKC_INLINE uint32_t to_u32(double v) {
    return !(v > 0) ? 0 : v >= 4294967295.0 ? ~0u : uint32_t(int64_t(v));
}
HKC_INLINE int32_t to_i16(float v) {
    return v != v ? 0 : int32_t(v > 32767.0f ? 32767.0f : v < -32768.0f ? -32768.0f : v);
}
HKC_INLINE uint32_t to_u16(float v) {
    return !(v > 0) ? 0 : uint32_t(int32_t(v > 65535.0f ? 65535.0f : v));
}

HKC_INLINE int32_t frexp_exponent(float v) {
    uint32_t magnitude = as_u32(v) & 0x7fffffff;
    int32_t shift = magnitude && magnitude < 0x800000 ? __builtin_clz(magnitude) - 8 : 0;
    int32_t e = int32_t(magnitude >> 23) - 126 - (shift ? shift - 1 : 0);
    return magnitude == 0 || magnitude >= 0x7f800000 ? 0 : e;
}
HKC_INLINE float frexp_mantissa(float v) {
    uint32_t bits = as_u32(v), magnitude = bits & 0x7fffffff;
    uint32_t shift = magnitude && magnitude < 0x800000 ? unsigned(__builtin_clz(magnitude)) - 8 : 0;
    uint32_t fraction = magnitude << shift & 0x7fffff;
    bool keep = magnitude == 0 || magnitude >= 0x7f800000;
    return keep ? v : as_f32((bits & 0x80000000) | 0x3f000000 | fraction);
}
HKC_INLINE int32_t frexp_exponent(double v) {
    int e = 0;
    if (v - v == 0) (void)std::frexp(v, &e);
    return e;
}
HKC_INLINE double frexp_mantissa(double v) {
    int e;
    return v - v == 0 ? std::frexp(v, &e) : v;
}

HKC_INLINE float ldexp_of(float v, int32_t e) {
    int32_t n = e > 300 ? 300 : e < -300 ? -300 : e;
    // Only the last of three exact powers of two may round.
    int32_t a = n / 3, b = (n - a) / 2, c = n - a - b;
    auto power = [](int32_t p) { return as_f32(uint32_t(p + 127) << 23); };
    return n > 0 ? v * power(a) * power(b) * power(c) : std::ldexp(v, n);
}
HKC_INLINE double ldexp_of(double v, int32_t e) {
    return std::ldexp(v, e);
}

#define FLOAT3(suffix, T, fma)                                                                              \
    HKC_MAP2("v_add_" suffix, T, T, T, a + b), HKC_MAP2("v_mul_" suffix, T, T, T, a* b),                    \
        HKC_MAP2("v_min_" suffix, T, T, T, min_of(a, b)), HKC_MAP2("v_max_" suffix, T, T, T, max_of(a, b)), \
        HKC_MAP3("v_fma_" suffix, T, T, T, T, fma(a, b, c)),                                                \
        HKC_MAP1("v_trunc_" suffix, T, T, std::trunc(a)), HKC_MAP1("v_ceil_" suffix, T, T, std::ceil(a)),   \
        HKC_MAP1("v_floor_" suffix, T, T, std::floor(a)),                                                   \
        HKC_MAP1("v_rndne_" suffix, T, T, std::nearbyint(a)),                                               \
        HKC_MAP1("v_fract_" suffix, T, T, fract_of(a)),                                                     \
        HKC_MAP1("v_frexp_mant_" suffix, T, T, frexp_mantissa(a))
#define FLOAT_SUB(suffix, T) \
    HKC_MAP2("v_sub_" suffix, T, T, T, a - b), HKC_MAP2("v_subrev_" suffix, T, T, T, b - a)
#define FLOAT_MINMAX3(suffix, T)                                         \
    HKC_MAP3("v_min3_" suffix, T, T, T, T, min_of(min_of(a, b), c)),     \
        HKC_MAP3("v_max3_" suffix, T, T, T, T, max_of(max_of(a, b), c)), \
        HKC_MAP3("v_med3_" suffix, T, T, T, T, median(a, b, c))
#define TRANSCENDENTAL(suffix, T)                                                                   \
    HKC_MAP1("v_exp_" suffix, T, T, exp2_f32(a)), HKC_MAP1("v_log_" suffix, T, T, log2_f32(a)),     \
        HKC_MAP1("v_rcp_" suffix, T, T, rcp_f32(a)), HKC_MAP1("v_sqrt_" suffix, T, T, sqrt_f32(a)), \
        HKC_MAP1("v_rsq_" suffix, T, T, rsq_f32(a)), HKC_MAP1("v_sin_" suffix, T, T, sin_turns(a)), \
        HKC_MAP1("v_cos_" suffix, T, T, cos_turns(a))

const Binding bindings[] = {
    FLOAT3("f32", F32, fma_of),
    FLOAT3("f16", F16, fma_f16),
    FLOAT3("f64", F64, fma_of),
    FLOAT_SUB("f32", F32),
    FLOAT_SUB("f16", F16),
    FLOAT_MINMAX3("f32", F32),
    FLOAT_MINMAX3("f16", F16),
    TRANSCENDENTAL("f32", F32),
    TRANSCENDENTAL("f16", F16),
    HKC_MAP1("v_exp_legacy_f32", F32, F32, exp2_f32(a)),
    HKC_MAP1("v_log_legacy_f32", F32, F32, log2_f32(a)),
    HKC_MAP1("v_rcp_iflag_f32", F32, F32, rcp_f32(a)),
    HKC_MAP1("v_rcp_f64", F64, F64, 1.0 / a),
    HKC_MAP1("v_rsq_f64", F64, F64, 1.0 / __builtin_sqrt(a)),
    HKC_MAP1("v_sqrt_f64", F64, F64, __builtin_sqrt(a)),
    HKC_MAP2("v_mul_legacy_f32", F32, F32, F32, a == 0.0f || b == 0.0f ? 0.0f : a * b),
    HKC_MAP3("v_minimum3_f32", F32, F32, F32, F32, minimum(minimum(a, b), c)),
    HKC_MAP3("v_maximum3_f32", F32, F32, F32, F32, maximum(maximum(a, b), c)),
    HKC_ACCUMULATE("v_fmac_f32", F32, F32, F32, fma_of(a, b, c)),
    HKC_ACCUMULATE("v_fmac_f64", F64, F64, F64, fma_of(a, b, c)),
    HKC_ACCUMULATE("v_mac_f16", F16, F16, F16, fma_f16(a, b, c)),
    HKC_MAP3("v_fmamk_f32", F32, F32, F32, F32, fma_of(a, b, c)),
    HKC_MAP3("v_fmaak_f32", F32, F32, F32, F32, fma_of(a, b, c)),
    HKC_MAP3("v_madmk_f16", F16, F16, F16, F16, fma_f16(a, b, c)),
    HKC_MAP3("v_madak_f16", F16, F16, F16, F16, fma_f16(a, b, c)),
    HKC_MAP3("v_mad_f16", F16, F16, F16, F16, fma_f16(a, b, c)),
    HKC_MAP3("v_mad_legacy_f16", F16, F16, F16, F16, fma_f16(a, b, c)),
    HKC_MAP3("v_fma_legacy_f16", F16, F16, F16, F16, fma_f16(a, b, c)),
    HKC_ROWS("v_div_scale_f32", div_scale<DivisionF32>(x)),
    HKC_ROWS("v_div_scale_f64", div_scale<DivisionF64>(x)),
    HKC_ROWS("v_div_fmas_f32", div_fmas<DivisionF32>(x)),
    HKC_ROWS("v_div_fmas_f64", div_fmas<DivisionF64>(x)),
    HKC_MAP3("v_div_fixup_f32", F32, F32, F32, F32, fix_quotient<DivisionF32>(a, b, c)),
    HKC_MAP3("v_div_fixup_f64", F64, F64, F64, F64, fix_quotient<DivisionF64>(a, b, c)),
    HKC_MAP3("v_div_fixup_f16", U16, U16, U16, U16, fix_quotient_f16(a, b, c)),
    HKC_MAP3("v_div_fixup_legacy_f16", U16, U16, U16, U16, fix_quotient_f16(a, b, c)),
    HKC_MAP2("v_ldexp_f32", F32, F32, I32, ldexp_of(a, b)),
    HKC_MAP2("v_ldexp_f64", F64, F64, I32, ldexp_of(a, b)),
    HKC_MAP2("v_ldexp_f16", F16, F16, I16, ldexp_of(a, b)),
    HKC_MAP1("v_frexp_exp_i32_f32", I32, F32, frexp_exponent(a)),
    HKC_MAP1("v_frexp_exp_i32_f64", I32, F64, frexp_exponent(a)),
    HKC_MAP1("v_frexp_exp_i16_f16", I16, F16, frexp_exponent(a)),
    // Conversions
    HKC_MAP1("v_cvt_f32_i32", F32, I32, float(a)),
    HKC_MAP1("v_cvt_f32_u32", F32, U32, float(a)),
    HKC_MAP1("v_cvt_f64_i32", F64, I32, double(a)),
    HKC_MAP1("v_cvt_f64_u32", F64, U32, double(a)),
    HKC_MAP1("v_cvt_i32_f32", I32, F32, to_i32(a)),
    HKC_MAP1("v_cvt_u32_f32", U32, F32, to_u32(a)),
    HKC_MAP1("v_cvt_i32_f64", I32, F64, to_i32(a)),
    HKC_MAP1("v_cvt_u32_f64", U32, F64, to_u32(a)),
    HKC_MAP1("v_cvt_rpi_i32_f32", I32, F32, to_i32(std::floor(a + 0.5f))),
    HKC_MAP1("v_cvt_flr_i32_f32", I32, F32, to_i32(std::floor(a))),
    HKC_MAP1("v_cvt_f32_f64", F32, F64, float(a)),
    HKC_MAP1("v_cvt_f64_f32", F64, F32, double(a)),
    HKC_MAP1("v_cvt_f16_f32", F16, F32, a),
    HKC_MAP1("v_cvt_f32_f16", F32, F16, a),
    HKC_MAP1("v_cvt_f16_u16", F16, U16, float(a)),
    HKC_MAP1("v_cvt_f16_i16", F16, I16, float(a)),
    HKC_MAP1("v_cvt_u16_f16", U16, F16, to_u16(a)),
    HKC_MAP1("v_cvt_i16_f16", I16, F16, to_i16(a)),
    HKC_MAP1("v_cvt_f32_ubyte0", F32, U32, float(a & 0xff)),
    HKC_MAP1("v_cvt_f32_ubyte1", F32, U32, float(a >> 8 & 0xff)),
    HKC_MAP1("v_cvt_f32_ubyte2", F32, U32, float(a >> 16 & 0xff)),
    HKC_MAP1("v_cvt_f32_ubyte3", F32, U32, float(a >> 24)),
    HKC_MAP1("v_cvt_off_f32_i4", F32, U32, float(int32_t(a << 28) >> 28) * 0.0625f),
    HKC_MAP1("v_cvt_f32_bf16", F32, U32, bf16_to_f32(a & 0xffff)),
    HKC_MAP2("v_cvt_pkrtz_f16_f32", U32, F32, F32,
             f32_to_f16_toward_zero(a) | f32_to_f16_toward_zero(b) << 16),
    HKC_MAP2("v_cvt_pk_f16_f32", U32, F32, F32, f32_to_f16(a) | f32_to_f16(b) << 16),
    HKC_MAP2("v_cvt_pk_bf16_f32", U32, F32, F32, f32_to_bf16(a) | f32_to_bf16(b) << 16),
};

}  // namespace

std::span<const Binding> floating_bindings() {
    return bindings;
}

}  // namespace hkc::emu::HKC_VARIANT
