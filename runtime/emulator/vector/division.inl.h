// The three steps with which compilers divide: v_div_scale, v_div_fmas, v_div_fixup (CDNA3 ISA guide, "V_DIV_SCALE_F32"
// and following). Operand 0 of div_scale is operand 1 (the denominator) or operand 2 (the numerator).
#pragma once

#include "vector/rows.inl.h"

namespace hkc::emu::HKC_VARIANT {
namespace {

struct DivisionF32 {
    using Row = F32;
    using Float = float;
    using Wide = double;  // Holds a product of two Floats exactly.
    using Bits = uint32_t;
    static constexpr int bias = 127, mantissa = 23, max_exponent = 255, scale = 64, far = 96, tiny = 23,
                         underflow = 150;
    static HKC_INLINE Bits bits(float v) { return as_u32(v); }
    static HKC_INLINE float value(Bits v) { return as_f32(v); }
};
struct DivisionF64 {
    using Row = F64;
    using Float = double;
    using Wide = __float128;
    using Bits = uint64_t;
    static constexpr int bias = 1023, mantissa = 52, max_exponent = 2047, scale = 128, far = 768, tiny = 53,
                         underflow = 1075;
    static HKC_INLINE Bits bits(double v) { return as_u64(v); }
    static HKC_INLINE double value(Bits v) { return as_f64(v); }
};

template <class T>
HKC_INLINE int exponent(typename T::Float v) {
    return int(T::bits(v) >> T::mantissa) & T::max_exponent;
}
template <class T>
HKC_INLINE bool denormal(typename T::Float v) {
    return exponent<T>(v) == 0 && v != 0;
}
template <class T>
HKC_INLINE typename T::Float power_of_two(int n) {
    return T::value(typename T::Bits(n + T::bias) << T::mantissa);
}
template <class T>
HKC_INLINE typename T::Float quiet_nan() {
    return T::value(typename T::Bits(2 * T::max_exponent + 1) << (T::mantissa - 1));  // Exponent and top bit.
}

template <class T>
HKC_INLINE void div_scale(RowArgs& x) {
    using Float = typename T::Float;
    alignas(64) uint32_t scaled[lanes];
    const Float up = power_of_two<T>(T::scale), down = power_of_two<T>(-T::scale);
    const uint32_t *s0 = x.s[0], *s1 = x.s[1], *s2 = x.s[2], *m = x.m;
    uint32_t* d = x.d;
    for (unsigned i = 0; i < lanes; ++i) {
        Float a = T::Row::get(s0, i), den = T::Row::get(s1, i), num = T::Row::get(s2, i);
        bool is_den = T::bits(a) == T::bits(den), is_num = T::bits(a) == T::bits(num);
        Float factor = 1;
        bool flag = false;
        Float inverse = Float(1) / den, quotient = num / den;
        if (num == 0 || den == 0) {
            a = quiet_nan<T>();
        } else if (exponent<T>(num) - exponent<T>(den) >= T::far) {
            flag = true;
            if (is_den) factor = up;
        } else if (denormal<T>(den)) {
            factor = up;
        } else if (denormal<T>(inverse) && denormal<T>(quotient)) {
            flag = true;
            // The guide prints up, with which the denominator overflows. This quotient is to be scaled down by div_fmas.
            if (is_den) factor = down;
        } else if (denormal<T>(inverse)) {
            factor = down;
        } else if (denormal<T>(quotient)) {
            flag = true;
            if (is_num) factor = up;
        } else if (exponent<T>(num) <= T::tiny) {
            factor = up;
        }
        scaled[i] = flag ? ~0u : 0u;
        write(d, i, m[i], T::Row::put(a * factor));
    }
    x.mask_out = collect_mask(scaled);
}

template <class T>
HKC_INLINE void div_fmas(RowArgs& x) {
    using Float = typename T::Float;
    using Wide = typename T::Wide;
    const Float up = power_of_two<T>(T::scale), down = power_of_two<T>(-T::scale);
    const uint32_t *a = x.s[0], *b = x.s[1], *c = x.s[2], *m = x.m;
    uint32_t* d = x.d;
    for (unsigned i = 0; i < lanes; ++i) {
        Float multiplier = T::Row::get(a, i), multiplicand = T::Row::get(b, i), addend = T::Row::get(c, i), r;
        if (x.mask_in >> i & 1) {  // A denormal quotient is rounded once, behind the scaling.
            Float factor = exponent<T>(addend) > T::bias ? up : down;
            r = Float((Wide(multiplier) * multiplicand + addend) * factor);
        } else if constexpr (sizeof(Float) == 4) {
            r = __builtin_fmaf(multiplier, multiplicand, addend);
        } else {
            r = __builtin_fma(multiplier, multiplicand, addend);
        }
        write(d, i, m[i], T::Row::put(r));
    }
}

template <class T>
HKC_INLINE typename T::Float fix_quotient(typename T::Float q, typename T::Float den, typename T::Float num) {
    using Bits = typename T::Bits;
    const Bits sign_bit = Bits(1) << (sizeof(Bits) * 8 - 1), quiet = Bits(1) << (T::mantissa - 1);
    const Bits infinity = Bits(T::max_exponent) << T::mantissa;
    Bits sign = (T::bits(den) ^ T::bits(num)) & sign_bit;
    Bits magnitude_den = T::bits(den) & ~sign_bit, magnitude_num = T::bits(num) & ~sign_bit;
    bool inf_den = magnitude_den == infinity, inf_num = magnitude_num == infinity;
    if (num != num) return T::value(T::bits(num) | quiet);
    if (den != den) return T::value(T::bits(den) | quiet);
    if ((den == 0 && num == 0) || (inf_den && inf_num)) return T::value(T::bits(quiet_nan<T>()) | sign_bit);
    if (den == 0 || inf_num) return T::value(infinity | sign);
    if (inf_den || num == 0) return T::value(sign);
    if (exponent<T>(num) - exponent<T>(den) < -T::underflow) return T::value(sign);
    if (exponent<T>(den) == T::max_exponent) return T::value(infinity | sign);
    // Of finite operands: the quotient was infinite and so its correction was not a number.
    if (q != q) return T::value(infinity | sign);
    return T::value((T::bits(q) & ~sign_bit) | sign);
}

HKC_INLINE uint32_t fix_quotient_f16(uint32_t q, uint32_t den, uint32_t num) {
    uint32_t sign = (den ^ num) & 0x8000, d = den & 0x7fff, n = num & 0x7fff;
    uint32_t r = (q & 0x7fff) | sign;
    r = d == 0x7c00 || n == 0 ? sign : r;
    r = d == 0 || n == 0x7c00 ? sign | 0x7c00 : r;
    r = (d == 0 && n == 0) || (d == 0x7c00 && n == 0x7c00) ? 0xfe00 : r;
    r = d > 0x7c00 ? den | 0x200 : r;
    return n > 0x7c00 ? num | 0x200 : r;
}

}  // namespace
}  // namespace hkc::emu::HKC_VARIANT
