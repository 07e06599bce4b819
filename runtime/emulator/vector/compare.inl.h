// v_cmp and v_cmpx: one kernel gives the lane mask, the common handler writes SGPRs and EXEC.
#include "vector/rows.inl.h"

namespace hkc::emu::HKC_VARIANT {
namespace {

template <class T, class F>
HKC_INLINE void with(RowArgs& x, F f) {
    compare<T, T>(x, f);
}

HKC_INLINE bool unordered(float a, float b) {
    return a != a || b != b;
}
HKC_INLINE bool unordered(double a, double b) {
    return a != a || b != b;
}

/// Classes of v_cmp_class: 0 signalling NaN, 1 quiet NaN, 2 -inf, 3 -normal, 4 -denormal, 5 -0, then +0 ... +inf.
HKC_INLINE uint32_t class_bit(bool negative, bool exponent_zero, bool exponent_max, bool mantissa_zero,
                              bool quiet) {
    uint32_t magnitude = exponent_max ? 0 : !exponent_zero ? 1 : mantissa_zero ? 3 : 2;
    uint32_t number = negative ? 4u << magnitude : 0x200u >> magnitude;
    return exponent_max && !mantissa_zero ? (quiet ? 2u : 1u) : number;
}
HKC_INLINE bool in_class(uint32_t v, uint32_t mask, unsigned mantissa, uint32_t exponent_max) {
    uint32_t exponent = v >> mantissa & exponent_max, fraction = v & ((1u << mantissa) - 1);
    bool negative = v >> mantissa & (exponent_max + 1);
    return class_bit(negative, exponent == 0, exponent == exponent_max, fraction == 0,
                     v >> (mantissa - 1) & 1) &
           mask;
}
HKC_INLINE bool in_class_f64(uint64_t v, uint32_t mask) {
    uint64_t exponent = v >> 52 & 0x7ff, fraction = v & ((1ull << 52) - 1);
    return class_bit(v >> 63, exponent == 0, exponent == 0x7ff, fraction == 0, v >> 51 & 1) & mask;
}

#define BOTH_CMP(condition, type, T, expression)                                                  \
    HKC_ROWS("v_cmp_" condition "_" type, with<T>(x, [](auto a, auto b) { return expression; })), \
        HKC_ROWS("v_cmpx_" condition "_" type, with<T>(x, [](auto a, auto b) { return expression; }))
#define CONSTANT_CMP(condition, type, bits)                   \
    HKC_ROWS("v_cmp_" condition "_" type, x.mask_out = bits), \
        HKC_ROWS("v_cmpx_" condition "_" type, x.mask_out = bits)
#define ORDERED(type, T)                                                                              \
    BOTH_CMP("lt", type, T, a < b), BOTH_CMP("eq", type, T, a == b), BOTH_CMP("le", type, T, a <= b), \
        BOTH_CMP("gt", type, T, a > b), BOTH_CMP("ge", type, T, a >= b), CONSTANT_CMP("f", type, 0)
#define INTEGER(type, T) ORDERED(type, T), BOTH_CMP("ne", type, T, a != b), CONSTANT_CMP("t", type, ~0ull)
#define FLOATING(type, T)                                                                             \
    ORDERED(type, T), BOTH_CMP("lg", type, T, a<b || a> b), BOTH_CMP("o", type, T, !unordered(a, b)), \
        BOTH_CMP("u", type, T, unordered(a, b)), BOTH_CMP("nge", type, T, !(a >= b)),                 \
        BOTH_CMP("nlg", type, T, !(a < b || a > b)), BOTH_CMP("ngt", type, T, !(a > b)),              \
        BOTH_CMP("nle", type, T, !(a <= b)), BOTH_CMP("neq", type, T, !(a == b)),                     \
        BOTH_CMP("nlt", type, T, !(a < b)), CONSTANT_CMP("tru", type, ~0ull)
#define CLASS(type, A, expression)                                                                \
    HKC_ROWS("v_cmp_class_" type, compare<A, U32>(x, [](auto a, auto b) { return expression; })), \
        HKC_ROWS("v_cmpx_class_" type, compare<A, U32>(x, [](auto a, auto b) { return expression; }))

const Binding bindings[] = {
    FLOATING("f16", F16),
    FLOATING("f32", F32),
    FLOATING("f64", F64),
    INTEGER("i16", I16),
    INTEGER("u16", U16),
    INTEGER("i32", I32),
    INTEGER("u32", U32),
    INTEGER("i64", I64),
    INTEGER("u64", U64),
    CLASS("f16", U16, in_class(a, b, 10, 0x1f)),
    CLASS("f32", U32, in_class(a, b, 23, 0xff)),
    CLASS("f64", U64, in_class_f64(a, b)),
};

}  // namespace

std::span<const Binding> compare_bindings() {
    return bindings;
}

}  // namespace hkc::emu::HKC_VARIANT
