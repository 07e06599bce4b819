// Conversions of CDNA4 between wide floats and FP8, BF8, FP6, BF6 and FP4 with a scale, and with stochastic rounding
// (CDNA4 ISA guide, 7.3 and chapter "Instructions").
//
// The scale is the exponent of a single: 2^(e - 127), NaN for e = 255. Wide values are divided by it, narrow ones
// multiplied. FP6, BF6 and FP4 have no infinity and no NaN: all that is too large, and NaN, becomes the largest number.
#include "fp8.h"
#include "vector/rows.inl.h"

namespace hkc::emu::HKC_VARIANT {
namespace {

HKC_INLINE double scale_of(uint32_t scale, int sign) {
    int e = int(scale >> 23 & 0xff);
    return e == 0xff ? as_f64(0x7ff8000000000000) : as_f64(uint64_t(1023 + sign * (e - 127)) << 52);
}
HKC_INLINE float scale_down(float v, uint32_t scale) {
    return float(double(v) * scale_of(scale, -1));
}
HKC_INLINE float scale_up(float v, uint32_t scale) {
    return float(double(v) * scale_of(scale, 1));
}

/// The pseudo-random sequence of v_prng_b32.
HKC_INLINE uint32_t next_random(uint32_t v) {
    return v << 1 ^ (v >> 31 ? 197u : 0u);
}

/// Magnitude code of finite |value| in a format of `mantissa` bits: to nearest even, or with the top bits of `random` added
/// to the bits that are dropped. Too large values give codes beyond the format's.
HKC_INLINE uint32_t round_nearest(uint32_t magnitude, unsigned mantissa, int bias) {
    unsigned shift = 23 - mantissa;
    uint32_t magic = uint32_t(24 - bias - int(mantissa) + 127) << 23;
    uint32_t denormal = as_u32(as_f32(magnitude) + as_f32(magic)) - magic;
    uint32_t normal =
        (magnitude + (magnitude >> shift & 1) + (1u << (shift - 1)) - 1 - (uint32_t(127 - bias) << 23)) >>
        shift;
    return magnitude < (uint32_t(128 - bias) << 23) ? denormal : normal;
}
HKC_INLINE uint32_t round_stochastic(uint32_t magnitude, uint32_t random, unsigned mantissa, int bias) {
    int exponent = int(magnitude >> 23) - 127, smallest = 1 - bias;
    uint64_t significand = (magnitude & 0x7fffff) | (magnitude >= 0x800000 ? 0x800000u : 0u);
    unsigned below = exponent < smallest ? unsigned(smallest - exponent) : 0;
    unsigned shift = 23 - mantissa + (below > 30 ? 30 : below);
    uint64_t added = shift > 32 ? uint64_t(random) << (shift - 32) : random >> (32 - shift);
    uint32_t base = exponent < smallest ? 0 : uint32_t(exponent - smallest) << mantissa;
    return base + uint32_t((significand + added) >> shift);
}

template <bool e5m2>
struct EightBits {
    static constexpr unsigned bits = 8;
    static constexpr Fp8Format format = e5m2 ? e5m2_ocp : e4m3_ocp;
    static HKC_INLINE float decode(uint32_t v) { return fp8_to_f32(v & 0xff, format); }
    static HKC_INLINE uint32_t nearest(float v, bool saturate) { return f32_to_fp8(v, format, saturate); }
    static HKC_INLINE uint32_t stochastic(float v, uint32_t random, bool saturate) {
        return f32_to_fp8_stochastic(v, random, format, saturate);
    }
};
template <unsigned width, unsigned mantissa, int bias>
struct FewBits {
    static constexpr unsigned bits = width;
    static constexpr uint32_t largest = (1u << (bits - 1)) - 1;
    static HKC_INLINE float decode(uint32_t v) {
        float scale = as_f32(uint32_t(254 - bias) << 23);
        float magnitude = as_f32((v & largest) << (23 - mantissa)) * scale;
        return as_f32(as_u32(magnitude) | (v >> (bits - 1) & 1) << 31);
    }
    static HKC_INLINE uint32_t finish(uint32_t code, uint32_t v) {
        bool big = (v & 0x7fffffff) >= 0x7f800000 || code > largest;
        return (big ? largest : code) | v >> 31 << (bits - 1);
    }
    static HKC_INLINE uint32_t nearest(float v, bool) {
        return finish(round_nearest(as_u32(v) & 0x7fffffff, mantissa, bias), as_u32(v));
    }
    static HKC_INLINE uint32_t stochastic(float v, uint32_t random, bool) {
        return finish(round_stochastic(as_u32(v) & 0x7fffffff, random, mantissa, bias), as_u32(v));
    }
};
using Fp8 = EightBits<false>;
using Bf8 = EightBits<true>;
using Fp6 = FewBits<6, 3, 1>;
using Bf6 = FewBits<6, 2, 3>;
using Fp4 = FewBits<4, 1, 1>;

// Wide types: element `n` of lane `i` of an operand's rows, and a result's.
struct Wide32 {
    static constexpr unsigned bits = 32;
    static HKC_INLINE float get(const uint32_t* rows, unsigned i, unsigned n) {
        return as_f32(rows[n * lanes + i]);
    }
    static HKC_INLINE uint32_t put(float v) { return as_u32(v); }
};
struct WideF16 {
    static constexpr unsigned bits = 16;
    static HKC_INLINE float get(const uint32_t* rows, unsigned i, unsigned n) {
        return f16_to_f32(rows[n / 2 * lanes + i] >> (n % 2 * 16) & 0xffff);
    }
    static HKC_INLINE uint32_t put(float v) { return f32_to_f16(v); }
};
struct WideBf16 {
    static constexpr unsigned bits = 16;
    static HKC_INLINE float get(const uint32_t* rows, unsigned i, unsigned n) {
        return as_f32(rows[n / 2 * lanes + i] >> (n % 2 * 16) << 16);
    }
    static HKC_INLINE uint32_t put(float v) { return f32_to_bf16(v); }
};

/// Bits of a dword that op_sel[3] (a half) or op_sel[3:2] (a byte) names.
HKC_INLINE void write_part(RowArgs& x, unsigned i, unsigned bits, uint32_t v) {
    unsigned shift = bits == 16 ? (x.in->op_sel & 8 ? 16 : 0) : (x.in->op_sel >> 2 & 3) * 8;
    uint32_t field = ((1u << bits) - 1) << shift;
    write(x.d, i, x.m[i], (x.d[i] & ~field) | v << shift);
}

/// Two values, to nearest. Singles are two operands, halves are one.
template <class To, class From>
HKC_INLINE void pack_pair(RowArgs& x) {
    constexpr bool apart = From::bits == 32;
    bool saturate = x.mode & mode_bits::fp16_ovfl;
    const uint32_t* scale = x.s[apart ? 2 : 1];
    for (unsigned i = 0; i < lanes; ++i) {
        float a = From::get(x.s[0], i, 0), b = apart ? From::get(x.s[1], i, 0) : From::get(x.s[0], i, 1);
        uint32_t low = To::nearest(scale_down(a, scale[i]), saturate);
        write_part(x, i, 2 * To::bits, low | To::nearest(scale_down(b, scale[i]), saturate) << To::bits);
    }
}
/// Two values of one operand, with random bits.
template <class To, class From>
HKC_INLINE void pack_pair_stochastic(RowArgs& x) {
    for (unsigned i = 0; i < lanes; ++i) {
        uint32_t random = x.s[1][i], scale = x.s[2][i];
        uint32_t low = To::stochastic(scale_down(From::get(x.s[0], i, 0), scale), random, false);
        uint32_t high =
            To::stochastic(scale_down(From::get(x.s[0], i, 1), scale), next_random(random), false);
        write_part(x, i, 2 * To::bits, low | high << To::bits);
    }
}
/// One value to a byte, with random bits. op_sel[0] names the half of a 16-bit source.
template <class To, class From>
HKC_INLINE void pack_byte_stochastic(RowArgs& x) {
    bool saturate = x.mode & mode_bits::fp16_ovfl;
    unsigned half = From::bits == 16 ? x.in->op_sel & 1 : 0;
    for (unsigned i = 0; i < lanes; ++i) {
        float v = scale_down(From::get(x.s[0], i, half), x.s[2][i]);
        write_part(x, i, 8, To::stochastic(v, x.s[1][i], saturate));
    }
}

/// Two values from the half (op_sel[0]) or byte (op_sel[1:0]) of the source.
template <class To, class From>
HKC_INLINE void unpack_pair(RowArgs& x) {
    unsigned shift = From::bits == 8 ? (x.in->op_sel & 1) * 16 : (x.in->op_sel & 3) * 8;
    for (unsigned i = 0; i < lanes; ++i) {
        uint32_t v = x.s[0][i] >> shift, scale = x.s[1][i];
        uint32_t low = To::put(scale_up(From::decode(v), scale));
        uint32_t high = To::put(scale_up(From::decode(v >> From::bits), scale));
        write(x.d, i, x.m[i], To::bits == 16 ? low | high << 16 : low);
        if (To::bits == 32) write(x.d + lanes, i, x.m[i], high);
    }
}
/// One value from the byte that op_sel[1:0] names; a 16-bit result to the half that op_sel[3] names.
template <class To, class From>
HKC_INLINE void unpack_byte(RowArgs& x) {
    unsigned shift = (x.in->op_sel & 3) * 8;
    for (unsigned i = 0; i < lanes; ++i) {
        uint32_t r = To::put(scale_up(From::decode(x.s[0][i] >> shift), x.s[1][i]));
        if (To::bits == 16)
            write_part(x, i, 16, r);
        else
            write(x.d, i, x.m[i], r);
    }
}

/// 32 codes of 6 bits as 6 dwords.
HKC_INLINE void write_codes(RowArgs& x, unsigned i, const uint32_t* codes) {
    uint32_t packed[7] = {};
    for (unsigned n = 0; n < 32; ++n) {
        uint64_t v = uint64_t(codes[n]) << (n * 6 % 32);
        packed[n * 6 / 32] |= uint32_t(v);
        packed[n * 6 / 32 + 1] |= uint32_t(v >> 32);
    }
    for (unsigned k = 0; k < 6; ++k) write(x.d + k * lanes, i, x.m[i], packed[k]);
}
/// 32 values of one operand; with random bits those are the second operand.
template <class To, class From, bool random_bits>
HKC_INLINE void pack_32(RowArgs& x) {
    for (unsigned i = 0; i < lanes; ++i) {
        uint32_t codes[32], random = x.s[1][i], scale = x.s[random_bits ? 2 : 1][i];
        for (unsigned n = 0; n < 32; ++n) {
            float v = scale_down(From::get(x.s[0], i, n), scale);
            codes[n] = random_bits ? To::stochastic(v, random, false) : To::nearest(v, false);
            random = next_random(random);
        }
        write_codes(x, i, codes);
    }
}
/// 16 singles of each of two operands, interleaved.
template <class To>
HKC_INLINE void pack_2x16(RowArgs& x) {
    for (unsigned i = 0; i < lanes; ++i) {
        uint32_t codes[32];
        for (unsigned n = 0; n < 32; ++n)
            codes[n] = To::nearest(scale_down(Wide32::get(x.s[n % 2], i, n / 2), x.s[2][i]), false);
        write_codes(x, i, codes);
    }
}
template <class To, class From>
HKC_INLINE void unpack_32(RowArgs& x) {
    for (unsigned i = 0; i < lanes; ++i) {
        uint32_t packed[7] = {}, scale = x.s[1][i], results[32] = {};
        for (unsigned k = 0; k < 6; ++k) packed[k] = x.s[0][k * lanes + i];
        for (unsigned n = 0; n < 32; ++n) {
            uint64_t two = packed[n * 6 / 32] | uint64_t(packed[n * 6 / 32 + 1]) << 32;
            uint32_t r = To::put(scale_up(From::decode(uint32_t(two >> (n * 6 % 32)) & 0x3f), scale));
            results[n * To::bits / 32] |= r << (n * To::bits % 32);
        }
        for (unsigned k = 0; k < To::bits; ++k) write(x.d + k * lanes, i, x.m[i], results[k]);
    }
}

/// v_cvt_sr_*: a single to 16 bits with random bits, to the half that op_sel[3] names.
HKC_INLINE uint32_t stochastic_f16(float v, uint32_t random) {
    uint32_t magnitude = as_u32(v) & 0x7fffffff, sign = as_u32(v) >> 16 & 0x8000;
    if (magnitude >= 0x7f800000) return f32_to_f16(v);
    uint32_t code = round_stochastic(magnitude, random, 10, 15);
    return sign | (code > 0x7c00 ? 0x7c00 : code);
}
HKC_INLINE uint32_t stochastic_bf16(float v, uint32_t random) {
    uint32_t magnitude = as_u32(v) & 0x7fffffff;
    return magnitude >= 0x7f800000 ? f32_to_bf16(v) : (as_u32(v) + (random >> 16)) >> 16;
}

#define SCALED(name, ...) HKC_ROWS("v_cvt_scalef32_" name, __VA_ARGS__(x))
#define SCALED_8(fp8, Narrow)                                              \
    SCALED("pk_" fp8 "_f32", pack_pair<Narrow, Wide32>),                   \
        SCALED("pk_" fp8 "_f16", pack_pair<Narrow, WideF16>),              \
        SCALED("pk_" fp8 "_bf16", pack_pair<Narrow, WideBf16>),            \
        SCALED("sr_" fp8 "_f32", pack_byte_stochastic<Narrow, Wide32>),    \
        SCALED("sr_" fp8 "_f16", pack_byte_stochastic<Narrow, WideF16>),   \
        SCALED("sr_" fp8 "_bf16", pack_byte_stochastic<Narrow, WideBf16>), \
        SCALED("pk_f32_" fp8, unpack_pair<Wide32, Narrow>),                \
        SCALED("pk_f16_" fp8, unpack_pair<WideF16, Narrow>),               \
        SCALED("pk_bf16_" fp8, unpack_pair<WideBf16, Narrow>),             \
        SCALED("f32_" fp8, unpack_byte<Wide32, Narrow>), SCALED("f16_" fp8, unpack_byte<WideF16, Narrow>)
#define SCALED_6(fp6, Narrow)                                            \
    SCALED("2xpk16_" fp6 "_f32", pack_2x16<Narrow>),                     \
        SCALED("pk32_" fp6 "_f16", pack_32<Narrow, WideF16, false>),     \
        SCALED("pk32_" fp6 "_bf16", pack_32<Narrow, WideBf16, false>),   \
        SCALED("sr_pk32_" fp6 "_f32", pack_32<Narrow, Wide32, true>),    \
        SCALED("sr_pk32_" fp6 "_f16", pack_32<Narrow, WideF16, true>),   \
        SCALED("sr_pk32_" fp6 "_bf16", pack_32<Narrow, WideBf16, true>), \
        SCALED("pk32_f32_" fp6, unpack_32<Wide32, Narrow>),              \
        SCALED("pk32_f16_" fp6, unpack_32<WideF16, Narrow>),             \
        SCALED("pk32_bf16_" fp6, unpack_32<WideBf16, Narrow>)

const Binding bindings[] = {
    SCALED_8("fp8", Fp8),
    SCALED_8("bf8", Bf8),
    SCALED_6("fp6", Fp6),
    SCALED_6("bf6", Bf6),
    SCALED("pk_fp4_f32", pack_pair<Fp4, Wide32>),
    SCALED("pk_fp4_f16", pack_pair<Fp4, WideF16>),
    SCALED("pk_fp4_bf16", pack_pair<Fp4, WideBf16>),
    SCALED("sr_pk_fp4_f32", pack_pair_stochastic<Fp4, Wide32>),
    SCALED("sr_pk_fp4_f16", pack_pair_stochastic<Fp4, WideF16>),
    SCALED("sr_pk_fp4_bf16", pack_pair_stochastic<Fp4, WideBf16>),
    SCALED("pk_f32_fp4", unpack_pair<Wide32, Fp4>),
    SCALED("pk_f16_fp4", unpack_pair<WideF16, Fp4>),
    SCALED("pk_bf16_fp4", unpack_pair<WideBf16, Fp4>),
    HKC_ROWS("v_cvt_sr_f16_f32", for (unsigned i = 0; i < lanes; ++i)
                                     write_part(x, i, 16, stochastic_f16(as_f32(x.s[0][i]), x.s[1][i]))),
    HKC_ROWS("v_cvt_sr_bf16_f32", for (unsigned i = 0; i < lanes; ++i)
                                      write_part(x, i, 16, stochastic_bf16(as_f32(x.s[0][i]), x.s[1][i]))),
    HKC_MAP1("v_prng_b32", U32, U32, next_random(a)),
};

}  // namespace

std::span<const Binding> conversion_bindings() {
    return bindings;
}

}  // namespace hkc::emu::HKC_VARIANT
