// Operations for media and graphics: sums of byte differences, cube maps, normalised integers, trigonometric reduction
// (CDNA3 ISA guide, chapter "Instructions").
#include <cmath>

#include "vector/rows.inl.h"

namespace hkc::emu::HKC_VARIANT {
namespace {

HKC_INLINE uint32_t byte_of(uint32_t v, unsigned n) {
    return v >> (8 * n) & 0xff;
}
HKC_INLINE uint32_t difference(uint32_t a, uint32_t b) {
    return a > b ? a - b : b - a;
}
HKC_INLINE uint32_t sad_u8(uint32_t a, uint32_t b, uint32_t c) {
    for (unsigned n = 0; n < 4; ++n) c += difference(byte_of(a, n), byte_of(b, n));
    return c;
}
/// Bytes where the reference `b` is zero do not count.
HKC_INLINE uint32_t masked_sad_u8(uint32_t a, uint32_t b, uint32_t c) {
    for (unsigned n = 0; n < 4; ++n) c += byte_of(b, n) ? difference(byte_of(a, n), byte_of(b, n)) : 0;
    return c;
}

/// Four sums of four bytes of `a`, each a byte further on, against `b`; each is added to 16 bits of `c`.
template <class F>
HKC_INLINE uint64_t four_sums(uint64_t a, uint32_t b, uint64_t c, F sum) {
    uint64_t r = 0;
    for (unsigned n = 0; n < 4; ++n) {
        uint32_t v = sum(uint32_t(a >> (8 * n)), b, uint32_t(c >> (16 * n)) & 0xffff);
        r |= uint64_t(v & 0xffff) << (16 * n);
    }
    return r;
}

/// Four 32-bit sums; the addend's third and fourth dword are 0 if it is a constant.
HKC_INLINE void four_wide_sums(RowArgs& x) {
    bool wide = x.in->src[2].vgpr();
    for (unsigned i = 0; i < lanes; ++i) {
        uint64_t a = U64::get(x.s[0], i);
        uint32_t b = x.s[1][i], r[4];
        for (unsigned n = 0; n < 4; ++n) {
            uint32_t c = n < 2 || wide ? x.s[2][n * lanes + i] : 0;
            r[n] = masked_sad_u8(uint32_t(a >> (8 * n)), b, c);
        }
        for (unsigned n = 0; n < 4; ++n) write(x.d + n * lanes, i, x.m[i], r[n]);
    }
}

HKC_INLINE uint32_t lerp_u8(uint32_t a, uint32_t b, uint32_t c) {
    uint32_t r = 0;
    for (unsigned n = 0; n < 4; ++n)
        r |= (byte_of(a, n) + byte_of(b, n) + (byte_of(c, n) & 1)) >> 1 << (8 * n);
    return r;
}

HKC_INLINE uint32_t saturate_byte(int32_t v) {
    return uint32_t(v < 0 ? 0 : v > 255 ? 255 : v);
}
/// Both signed halves as bytes.
HKC_INLINE uint32_t saturate_halves(uint32_t v) {
    return saturate_byte(int16_t(v)) | saturate_byte(int16_t(v >> 16)) << 8;
}

/// Truncates and saturates; NaN gives 0.
HKC_INLINE uint32_t to_byte(float v) {
    return !(v > 0.0f) ? 0 : v > 255.0f ? 255 : uint32_t(int32_t(v));
}
HKC_INLINE uint32_t insert_byte(uint32_t into, uint32_t byte, uint32_t place) {
    unsigned shift = 8 * (place & 3);
    return (into & ~(0xffu << shift)) | byte << shift;
}

/// Fractions of 32767 or 65535, to nearest; NaN gives 0.
HKC_INLINE uint32_t to_snorm(float v) {
    float limited = v > 1.0f ? 1.0f : v > -1.0f ? v : -1.0f;
    return v != v ? 0 : uint32_t(int32_t(std::nearbyint(limited * 32767.0f))) & 0xffff;
}
HKC_INLINE uint32_t to_unorm(float v) {
    float limited = v > 1.0f ? 1.0f : v > 0.0f ? v : 0.0f;
    return uint32_t(int32_t(std::nearbyint(limited * 65535.0f)));
}

/// The axis of a cube map's face: 2 (z) before 1 (y) before 0 (x) where they are equally far out.
HKC_INLINE unsigned major_axis(float x, float y, float z) {
    float ax = std::fabs(x), ay = std::fabs(y), az = std::fabs(z);
    return az >= ax && az >= ay ? 2 : ay >= ax ? 1 : 0;
}
HKC_INLINE float cube_face(float x, float y, float z) {
    unsigned axis = major_axis(x, y, z);
    float v = axis == 2 ? z : axis == 1 ? y : x;
    return float(2 * axis + (v < 0.0f));
}
HKC_INLINE float cube_s(float x, float y, float z) {
    unsigned axis = major_axis(x, y, z);
    return axis == 2 ? (z < 0.0f ? -x : x) : axis == 1 ? x : x < 0.0f ? z : -z;
}
HKC_INLINE float cube_t(float x, float y, float z) {
    return major_axis(x, y, z) != 1 ? -y : y < 0.0f ? -z : z;
}
HKC_INLINE float cube_axis(float x, float y, float z) {
    unsigned axis = major_axis(x, y, z);
    return 2.0f * (axis == 2 ? z : axis == 1 ? y : x);
}

/// The first 1216 bits of 2 / pi behind the binary point, from the most significant one on.
constexpr uint32_t two_over_pi[] = {
    0xa2f9836e, 0x4e441529, 0xfc2757d1, 0xf534ddc0, 0xdb629599, 0x3c439041, 0xfe5163ab, 0xdebbc561,
    0xb7246e3a, 0x424dd2e0, 0x06492eea, 0x09d1921c, 0xfe1deb1c, 0xb129a73e, 0xe88235f5, 0x2ebb4484,
    0xe99c7026, 0xb45f7e41, 0x3991d639, 0x835339f4, 0x9c845f8b, 0xbdf9283b, 0x1ff897ff, 0xde05980f,
    0xef2f118b, 0x5a0a6d1f, 0x6d367ecf, 0x27cb09b7, 0x4f463f66, 0x9e5fea2d, 0x7527bac7, 0xebe5f17b,
    0x3d0739f7, 0x8a5292ea, 0x6bfb5fb1, 0x1f8d5d08, 0x56033046, 0xfc7b6bab,
};

/// 53 bits of 2 / pi, in their place: segment `n`, further down for large numbers (V_TRIG_PREOP_F64).
HKC_INLINE double reduction_segment(uint64_t number, uint32_t n) {
    constexpr int last_unshifted = 1077, scaled_from = 1968, table_bits = 1201;
    int exponent = int(number >> 52 & 0x7ff), shift = int(n & 31) * 53;
    if (exponent > last_unshifted) shift += exponent - last_unshifted;
    uint64_t segment = 0;
    for (int bit = shift; bit < shift + 53; ++bit) {
        bool one = bit < table_bits && (two_over_pi[bit / 32] >> (31 - bit % 32) & 1);
        segment = segment << 1 | one;
    }
    int scale = -53 - shift + (exponent >= scaled_from ? 128 : 0);
    return std::ldexp(double(segment), scale);
}

const Binding bindings[] = {
    HKC_MAP3("v_lerp_u8", U32, U32, U32, U32, lerp_u8(a, b, c)),
    HKC_MAP3("v_msad_u8", U32, U32, U32, U32, masked_sad_u8(a, b, c)),
    HKC_MAP3("v_qsad_pk_u16_u8", U64, U64, U32, U64, four_sums(a, b, c, sad_u8)),
    HKC_MAP3("v_mqsad_pk_u16_u8", U64, U64, U32, U64, four_sums(a, b, c, masked_sad_u8)),
    HKC_ROWS("v_mqsad_u32_u8", four_wide_sums(x)),
    HKC_MAP1("v_sat_pk_u8_i16", U32, U32, saturate_halves(a)),
    HKC_MAP3("v_cvt_pk_u8_f32", U32, F32, U32, U32, insert_byte(c, to_byte(a), b)),
    HKC_ACCUMULATE("v_cvt_pkaccum_u8_f32", U32, F32, U32, insert_byte(c, to_byte(a), b)),
    HKC_MAP1("v_cvt_norm_i16_f16", U16, F16, to_snorm(a)),
    HKC_MAP1("v_cvt_norm_u16_f16", U16, F16, to_unorm(a)),
    HKC_MAP2("v_cvt_pknorm_i16_f32", U32, F32, F32, to_snorm(a) | to_snorm(b) << 16),
    HKC_MAP2("v_cvt_pknorm_u16_f32", U32, F32, F32, to_unorm(a) | to_unorm(b) << 16),
    HKC_MAP2("v_cvt_pknorm_i16_f16", U32, F16, F16, to_snorm(a) | to_snorm(b) << 16),
    HKC_MAP2("v_cvt_pknorm_u16_f16", U32, F16, F16, to_unorm(a) | to_unorm(b) << 16),
    HKC_MAP3("v_cubeid_f32", F32, F32, F32, F32, cube_face(a, b, c)),
    HKC_MAP3("v_cubesc_f32", F32, F32, F32, F32, cube_s(a, b, c)),
    HKC_MAP3("v_cubetc_f32", F32, F32, F32, F32, cube_t(a, b, c)),
    HKC_MAP3("v_cubema_f32", F32, F32, F32, F32, cube_axis(a, b, c)),
    HKC_MAP2("v_trig_preop_f64", F64, U64, U32, reduction_segment(a, b)),
};

}  // namespace

std::span<const Binding> media_bindings() {
    return bindings;
}

}  // namespace hkc::emu::HKC_VARIANT
