// Packed operations (two values a lane), mixed precision, dot products and 8-bit floats. The common handler has applied
// op_sel, op_sel_hi, neg and neg_hi, so that the low results come from the low halves.
#include "fp8.h"
#include "vector/rows.inl.h"

namespace hkc::emu::HKC_VARIANT {
namespace {

/// Both halves of each dword.
template <class T, class F>
HKC_INLINE void halves2(RowArgs& x, F f) {
    map<U32, U32, U32>(x, [f](uint32_t a, uint32_t b) {
        uint32_t ah = a >> 16, bh = b >> 16;
        return T::put(f(T::get(&a, 0), T::get(&b, 0))) | T::put(f(T::get(&ah, 0), T::get(&bh, 0))) << 16;
    });
}
template <class T, class F>
HKC_INLINE void halves3(RowArgs& x, F f) {
    map<U32, U32, U32, U32>(x, [f](uint32_t a, uint32_t b, uint32_t c) {
        uint32_t ah = a >> 16, bh = b >> 16, ch = c >> 16;
        return T::put(f(T::get(&a, 0), T::get(&b, 0), T::get(&c, 0))) |
               T::put(f(T::get(&ah, 0), T::get(&bh, 0), T::get(&ch, 0))) << 16;
    });
}
/// Both dwords of a pair of rows.
template <class F>
HKC_INLINE void pair(RowArgs& x, F f) {
    const uint32_t *a = x.s[0], *b = x.s[1], *c = x.s[2], *m = x.m;
    uint32_t* d = x.d;
    HKC_LANES {
        uint32_t low = as_u32(f(as_f32(a[i]), as_f32(b[i]), as_f32(c[i])));
        uint32_t high = as_u32(f(as_f32(a[lanes + i]), as_f32(b[lanes + i]), as_f32(c[lanes + i])));
        write(d, i, m[i], low);
        write(d + lanes, i, m[i], high);
    }
}

HKC_INLINE float fma16(float a, float b, float c) {
    uint64_t sum = as_u64(__builtin_fma(double(a), double(b), double(c)));
    uint64_t jammed = (sum & ~((1ull << 29) - 1)) | uint64_t((sum & ((1ull << 29) - 1)) != 0) << 29;
    return float(as_f64(jammed));
}
HKC_INLINE float max16(float a, float b) {
    float equal = as_f32(as_u32(a) & as_u32(b)), r = a > b ? a : b > a ? b : equal;
    return a != a ? b : b != b ? a : r;
}
HKC_INLINE float min16(float a, float b) {
    float equal = as_f32(as_u32(a) | as_u32(b)), r = a < b ? a : b < a ? b : equal;
    return a != a ? b : b != b ? a : r;
}
/// Minimum and maximum of three that propagate NaNs.
HKC_INLINE float minimum16(float a, float b, float c) {
    return a != a ? a : b != b ? b : c != c ? c : min16(min16(a, b), c);
}
HKC_INLINE float maximum16(float a, float b, float c) {
    return a != a ? a : b != b ? b : c != c ? c : max16(max16(a, b), c);
}
template <class T>
HKC_INLINE T greater(T a, T b) {
    return a > b ? a : b;
}
template <class T>
HKC_INLINE T lesser(T a, T b) {
    return a < b ? a : b;
}

/// Source `n` of v_fma_mix: a single, or the half that op_sel names; neg_hi is its absolute value.
HKC_INLINE float mixed(const Instruction& in, uint32_t v, unsigned n) {
    float f = in.op_sel_hi >> n & 1 ? f16_to_f32((in.op_sel >> n & 1 ? v >> 16 : v) & 0xffff) : as_f32(v);
    uint32_t bits = as_u32(f);
    if (in.neg_hi >> n & 1) bits &= 0x7fffffff;
    if (in.neg >> n & 1) bits ^= 0x80000000;
    return as_f32(bits);
}
HKC_INLINE float mix(const Instruction& in, uint32_t a, uint32_t b, uint32_t c) {
    float r = __builtin_fmaf(mixed(in, a, 0), mixed(in, b, 1), mixed(in, c, 2));
    return in.clamp ? (r > 0.0f ? r < 1.0f ? r : 1.0f : 0.0f) : r;
}
template <bool high>
HKC_INLINE void mix_half(RowArgs& x) {
    const Instruction& in = *x.in;
    const uint32_t *a = x.s[0], *b = x.s[1], *c = x.s[2], *m = x.m;
    uint32_t* d = x.d;
    for (unsigned i = 0; i < lanes; ++i) {
        uint32_t r = f32_to_f16(mix(in, a[i], b[i], c[i]));
        write(d, i, m[i], high ? (d[i] & 0xffff) | r << 16 : (d[i] & 0xffff0000) | r);
    }
}

HKC_INLINE float dot2_f16(uint32_t a, uint32_t b, float c) {
    float high = __builtin_fmaf(f16_to_f32(a >> 16), f16_to_f32(b >> 16), c);
    return __builtin_fmaf(f16_to_f32(a & 0xffff), f16_to_f32(b & 0xffff), high);
}
HKC_INLINE float dot2_bf16(uint32_t a, uint32_t b, float c) {
    float high = __builtin_fmaf(as_f32(a & 0xffff0000), as_f32(b & 0xffff0000), c);
    return __builtin_fmaf(bf16_to_f32(a), bf16_to_f32(b), high);
}
/// Sum of products of `bits`-wide fields, plus c.
template <unsigned bits, bool is_signed>
HKC_INLINE int64_t dot(uint32_t a, uint32_t b, int64_t c) {
    for (unsigned i = 0; i < 32; i += bits) {
        uint32_t up_a = a << (32 - bits - i), up_b = b << (32 - bits - i);
        if (is_signed)
            c += int64_t(int32_t(up_a) >> (32 - bits)) * (int32_t(up_b) >> (32 - bits));
        else
            c += int64_t(up_a >> (32 - bits)) * (up_b >> (32 - bits));
    }
    return c;
}
HKC_INLINE uint32_t clamp_i32(int64_t v) {
    return uint32_t(v > 0x7fffffff ? 0x7fffffff : v < -0x80000000ll ? -0x80000000ll : v);
}
HKC_INLINE uint32_t clamp_u32(int64_t v) {
    return v > 0xffffffffll ? ~0u : uint32_t(v);
}

/// Two values to the half of the destination that op_sel[3] names.
template <bool e5m2>
HKC_INLINE void pack_fp8(RowArgs& x) {
    const Fp8Format format = fp8_format(x.arch, e5m2);
    bool saturate = x.mode & mode_bits::fp16_ovfl;
    unsigned shift = x.in->op_sel & 8 ? 16 : 0;
    const uint32_t *a = x.s[0], *b = x.s[1], *m = x.m;
    uint32_t* d = x.d;
    HKC_LANES {
        uint32_t r = f32_to_fp8(as_f32(a[i]), format, saturate) | f32_to_fp8(as_f32(b[i]), format, saturate)
                                                                      << 8;
        write(d, i, m[i], (d[i] & ~(0xffffu << shift)) | r << shift);
    }
}
/// One value to the byte of the destination that op_sel[3:2] names.
template <bool e5m2>
HKC_INLINE void round_fp8(RowArgs& x) {
    const Fp8Format format = fp8_format(x.arch, e5m2);
    bool saturate = x.mode & mode_bits::fp16_ovfl;
    unsigned shift = (x.in->op_sel >> 2 & 3) * 8;
    const uint32_t *a = x.s[0], *b = x.s[1], *m = x.m;
    uint32_t* d = x.d;
    for (unsigned i = 0; i < lanes; ++i) {
        uint32_t r = f32_to_fp8_stochastic(as_f32(a[i]), b[i], format, saturate);
        write(d, i, m[i], (d[i] & ~(0xffu << shift)) | r << shift);
    }
}
template <bool e5m2>
HKC_INLINE void unpack_fp8(RowArgs& x) {
    const Fp8Format format = fp8_format(x.arch, e5m2);
    const uint32_t *a = x.s[0], *m = x.m;
    uint32_t* d = x.d;
    HKC_LANES write(d, i, m[i], as_u32(fp8_to_f32(a[i] & 0xff, format)));
}
template <bool e5m2>
HKC_INLINE void unpack_fp8_pair(RowArgs& x) {
    const Fp8Format format = fp8_format(x.arch, e5m2);
    const uint32_t *a = x.s[0], *m = x.m;
    uint32_t* d = x.d;
    HKC_LANES {
        uint32_t low = as_u32(fp8_to_f32(a[i] & 0xff, format));
        uint32_t high = as_u32(fp8_to_f32(a[i] >> 8 & 0xff, format));
        write(d, i, m[i], low);
        write(d + lanes, i, m[i], high);
    }
}

/// op_sel chooses the dword of each source.
HKC_INLINE void move_pair(RowArgs& x) {
    const uint32_t* a = x.s[0] + (x.in->op_sel & 1 ? lanes : 0);
    const uint32_t *b = x.s[1] + (x.in->op_sel & 2 ? lanes : 0), *m = x.m;
    uint32_t* d = x.d;
    HKC_LANES {
        uint32_t low = a[i], high = b[i];
        write(d, i, m[i], low);
        write(d + lanes, i, m[i], high);
    }
}

#define HALVES2(name, T, expression) \
    HKC_ROWS("v_pk_" name, halves2<T>(x, [](T::value a, T::value b) { return expression; }))
#define HALVES3(name, T, expression) \
    HKC_ROWS("v_pk_" name, halves3<T>(x, [](T::value a, T::value b, T::value c) { return expression; }))
#define DOT(name, bits, is_signed)                                                        \
    HKC_MAP3("v_dot" name, U32, U32, U32, I32,                                            \
             uint32_t(dot<bits, is_signed>(a, b, is_signed ? c : int64_t(uint32_t(c))))), \
        HKC_MAP3("v_dot" name ".clamp", U32, U32, U32, I32,                               \
                 is_signed ? clamp_i32(dot<bits, is_signed>(a, b, c))                     \
                           : clamp_u32(dot<bits, is_signed>(a, b, int64_t(uint32_t(c)))))

const Binding bindings[] = {
    HALVES2("add_u16", U16, a + b),
    HALVES2("sub_u16", U16, a - b),
    HALVES2("add_i16", U16, a + b),
    HALVES2("sub_i16", U16, a - b),
    HALVES2("mul_lo_u16", U16, a* b),
    HALVES2("lshlrev_b16", U16, b << (a & 15)),
    HALVES2("lshrrev_b16", U16, b >> (a & 15)),
    HALVES2("ashrrev_i16", I16, b >> (a & 15)),
    HALVES2("max_i16", I16, greater(a, b)),
    HALVES2("min_i16", I16, lesser(a, b)),
    HALVES2("max_u16", U16, greater(a, b)),
    HALVES2("min_u16", U16, lesser(a, b)),
    HALVES3("mad_u16", U16, a* b + c),
    HALVES3("mad_i16", U16, a* b + c),
    HALVES2("add_f16", F16, a + b),
    HALVES2("mul_f16", F16, a* b),
    HALVES2("max_f16", F16, max16(a, b)),
    HALVES2("min_f16", F16, min16(a, b)),
    HALVES3("fma_f16", F16, fma16(a, b, c)),
    HALVES3("minimum3_f16", F16, minimum16(a, b, c)),
    HALVES3("maximum3_f16", F16, maximum16(a, b, c)),
    HKC_ROWS("v_pk_fmac_f16", x.s[2] = x.d;
             halves3<F16>(x, [](float a, float b, float c) { return fma16(a, b, c); })),
    HKC_ROWS("v_pk_add_f32", x.s[2] = x.s[0]; pair(x, [](float a, float b, float) { return a + b; })),
    HKC_ROWS("v_pk_mul_f32", x.s[2] = x.s[0]; pair(x, [](float a, float b, float) { return a * b; })),
    HKC_ROWS("v_pk_fma_f32", pair(x, [](float a, float b, float c) { return __builtin_fmaf(a, b, c); })),
    HKC_ROWS("v_pk_mov_b32", move_pair(x)),
    HKC_ROWS("v_fma_mix_f32", const Instruction& in = *x.in; map<F32, U32, U32, U32>(
                 x, [&](uint32_t a, uint32_t b, uint32_t c) { return mix(in, a, b, c); })),
    HKC_ROWS("v_fma_mixlo_f16", mix_half<false>(x)),
    HKC_ROWS("v_fma_mixhi_f16", mix_half<true>(x)),
    HKC_MAP3("v_dot2_f32_f16", F32, U32, U32, F32, dot2_f16(a, b, c)),
    HKC_MAP3("v_dot2_f32_bf16", F32, U32, U32, F32, dot2_bf16(a, b, c)),
    HKC_ACCUMULATE("v_dot2c_f32_f16", F32, U32, U32, dot2_f16(a, b, c)),
    HKC_ACCUMULATE("v_dot2c_f32_bf16", F32, U32, U32, dot2_bf16(a, b, c)),
    HKC_ACCUMULATE("v_dot2c_i32_i16", U32, U32, U32, uint32_t(dot<16, true>(a, b, int32_t(c)))),
    HKC_ACCUMULATE("v_dot4c_i32_i8", U32, U32, U32, uint32_t(dot<8, true>(a, b, int32_t(c)))),
    HKC_ACCUMULATE("v_dot8c_i32_i4", U32, U32, U32, uint32_t(dot<4, true>(a, b, int32_t(c)))),
    DOT("2_i32_i16", 16, true),
    DOT("2_u32_u16", 16, false),
    DOT("4_i32_i8", 8, true),
    DOT("4_u32_u8", 8, false),
    DOT("8_i32_i4", 4, true),
    DOT("8_u32_u4", 4, false),
    HKC_ROWS("v_cvt_pk_fp8_f32", pack_fp8<false>(x)),
    HKC_ROWS("v_cvt_pk_bf8_f32", pack_fp8<true>(x)),
    HKC_ROWS("v_cvt_sr_fp8_f32", round_fp8<false>(x)),
    HKC_ROWS("v_cvt_sr_bf8_f32", round_fp8<true>(x)),
    HKC_ROWS("v_cvt_f32_fp8", unpack_fp8<false>(x)),
    HKC_ROWS("v_cvt_f32_bf8", unpack_fp8<true>(x)),
    HKC_ROWS("v_cvt_pk_f32_fp8", unpack_fp8_pair<false>(x)),
    HKC_ROWS("v_cvt_pk_f32_bf8", unpack_fp8_pair<true>(x)),
};

}  // namespace

std::span<const Binding> packed_bindings() {
    return bindings;
}

}  // namespace hkc::emu::HKC_VARIANT
