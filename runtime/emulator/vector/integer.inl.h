// Integer and bit vector operations.
#include "vector/rows.inl.h"

namespace hkc::emu::HKC_VARIANT {
namespace {

HKC_INLINE uint32_t min_of(uint32_t a, uint32_t b) {
    return a < b ? a : b;
}
HKC_INLINE uint32_t max_of(uint32_t a, uint32_t b) {
    return a > b ? a : b;
}
HKC_INLINE int32_t min_of(int32_t a, int32_t b) {
    return a < b ? a : b;
}
HKC_INLINE int32_t max_of(int32_t a, int32_t b) {
    return a > b ? a : b;
}
template <class T>
HKC_INLINE T median(T a, T b, T c) {
    return max_of(min_of(a, b), min_of(max_of(a, b), c));
}
HKC_INLINE int32_t i24(int32_t v) {
    return int32_t(uint32_t(v) << 8) >> 8;
}
HKC_INLINE uint32_t u24(uint32_t v) {
    return v & 0xffffff;
}

HKC_INLINE uint32_t reverse_bits(uint32_t v) {
    v = (v >> 1 & 0x55555555) | (v & 0x55555555) << 1;
    v = (v >> 2 & 0x33333333) | (v & 0x33333333) << 2;
    v = (v >> 4 & 0x0f0f0f0f) | (v & 0x0f0f0f0f) << 4;
    v = (v >> 8 & 0x00ff00ff) | (v & 0x00ff00ff) << 8;
    return v >> 16 | v << 16;
}
HKC_INLINE uint32_t count_bits(uint32_t v) {
    v = v - (v >> 1 & 0x55555555);
    v = (v & 0x33333333) + (v >> 2 & 0x33333333);
    return ((v + (v >> 4)) & 0x0f0f0f0f) * 0x01010101 >> 24;
}
HKC_INLINE uint32_t first_high_bit(uint32_t v) {
    return v ? uint32_t(__builtin_clz(v)) : ~0u;
}
HKC_INLINE uint32_t first_low_bit(uint32_t v) {
    return v ? uint32_t(__builtin_ctz(v)) : ~0u;
}
HKC_INLINE uint32_t first_sign_change(int32_t v) {
    return first_high_bit(uint32_t(v < 0 ? ~v : v));
}

HKC_INLINE uint32_t extract_unsigned(uint32_t v, uint32_t offset, uint32_t width) {
    offset &= 31;
    width &= 31;
    return v >> offset & ((1u << width) - 1);
}
HKC_INLINE uint32_t extract_signed(uint32_t v, uint32_t offset, uint32_t width) {
    offset &= 31;
    width &= 31;
    // Fields that reach beyond bit 31 take copies of the sign.
    int32_t shifted = int32_t(v) >> offset;
    uint32_t up = (32 - width) & 31;
    return width ? uint32_t(int32_t(uint32_t(shifted) << up) >> up) : 0;
}

/// One byte of v_perm_b32: selectors 0-3 from b, 4-7 from a, 8-11 sign bits, 12 zero, above 0xff.
HKC_INLINE uint32_t permute_byte(uint64_t both, uint32_t selector) {
    uint32_t byte = uint32_t(both >> (8 * (selector & 7))) & 0xff;
    uint32_t sign = 0u - (uint32_t(both >> (16 * (selector & 3) + 15)) & 1);
    uint32_t special = selector >= 13 ? 0xff : selector == 12 ? 0 : sign & 0xff;
    return selector >= 8 ? special : byte;
}
HKC_INLINE uint32_t permute_bytes(uint32_t a, uint32_t b, uint32_t selectors) {
    uint64_t both = b | uint64_t(a) << 32;
    uint32_t r = 0;
    for (unsigned i = 0; i < 4; ++i) r |= permute_byte(both, selectors >> (8 * i) & 0xff) << (8 * i);
    return r;
}

HKC_INLINE uint32_t byte_difference(uint32_t a, uint32_t b, unsigned shift) {
    uint32_t p = a >> shift & 0xff, q = b >> shift & 0xff;
    return p > q ? p - q : q - p;
}
HKC_INLINE uint32_t sum_of_differences(uint32_t a, uint32_t b) {
    return byte_difference(a, b, 0) + byte_difference(a, b, 8) + byte_difference(a, b, 16) +
           byte_difference(a, b, 24);
}
HKC_INLINE uint32_t half_differences(uint32_t a, uint32_t b) {
    uint32_t p = a & 0xffff, q = b & 0xffff, r = a >> 16, s = b >> 16;
    return (p > q ? p - q : q - p) + (r > s ? r - s : s - r);
}

HKC_INLINE int32_t saturate_i32(int64_t v) {
    return v > 0x7fffffff ? 0x7fffffff : v < -0x80000000ll ? int32_t(-0x80000000ll) : int32_t(v);
}
HKC_INLINE uint32_t saturate_u32(uint64_t v) {
    return v > 0xffffffff ? 0xffffffffu : uint32_t(v);
}
HKC_INLINE int32_t saturate_i16(int32_t v) {
    return max_of(min_of(v, 0x7fff), -0x8000);
}
HKC_INLINE uint32_t saturate_u16(uint32_t v) {
    return min_of(v, 0xffffu);
}

/// Any boolean function of three bits: bit (a << 2 | b << 1 | c) of the table.
HKC_INLINE void bitop3(RowArgs& x, uint32_t keep) {
    const uint32_t *a = x.s[0], *b = x.s[1], *c = x.s[2], *m = x.m;
    uint32_t* d = x.d;
    uint32_t t[8];
    for (unsigned i = 0; i < 8; ++i) t[i] = 0u - (uint32_t(x.in->imm) >> i & 1);
    HKC_LANES {
        uint32_t p = a[i], q = b[i], r = c[i];
        uint32_t v = (~p & ~q & ~r & t[0]) | (~p & ~q & r & t[1]) | (~p & q & ~r & t[2]) |
                     (~p & q & r & t[3]) | (p & ~q & ~r & t[4]) | (p & ~q & r & t[5]) | (p & q & ~r & t[6]) |
                     (p & q & r & t[7]);
        write(d, i, m[i], v & keep);
    }
}

/// Additions and subtractions with carry: f gives the 33-bit result, borrow and carry alike in bit 32.
template <class F>
HKC_INLINE void carry_op(RowArgs& x, F f) {
    alignas(64) uint32_t carry_in[lanes], carry_out[lanes];
    expand_mask(x.mask_in, carry_in);
    const uint32_t *a = x.s[0], *b = x.s[1], *m = x.m;
    uint32_t* d = x.d;
    HKC_LANES {
        uint64_t r = f(uint64_t(a[i]), uint64_t(b[i]), uint64_t(carry_in[i] & 1));
        carry_out[i] = uint32_t(r >> 32) << 31;
        write(d, i, m[i], uint32_t(r));
    }
    x.mask_out = collect_mask(carry_out);
}

HKC_INLINE void select_lanes(RowArgs& x) {
    alignas(64) uint32_t select[lanes];
    expand_mask(x.mask_in, select);
    const uint32_t *a = x.s[0], *b = x.s[1], *m = x.m;
    uint32_t* d = x.d;
    HKC_LANES write(d, i, m[i], (b[i] & select[i]) | (a[i] & ~select[i]));
}

/// 32 x 32 + 64 bits, with the carry out of bit 63.
template <class T>
HKC_INLINE void multiply_add_64(RowArgs& x) {
    alignas(64) uint32_t overflow[lanes];
    const uint32_t *a = x.s[0], *b = x.s[1], *c = x.s[2], *m = x.m;
    uint32_t* d = x.d;
    HKC_LANES {
        uint64_t product = uint64_t(int64_t(T::get(a, i))) * uint64_t(int64_t(T::get(b, i)));
        uint64_t addend = U64::get(c, i), sum = product + addend;
        uint32_t carry = sum < addend;
        // Signed: the 65-bit sum of sign-extended operands, whose bit 64 is the carry out.
        if constexpr (typename T::value(-1) < 0) carry ^= uint32_t(product >> 63) ^ uint32_t(addend >> 63);
        overflow[i] = carry << 31;
        write(d, i, m[i], sum);
    }
    x.mask_out = collect_mask(overflow);
}

HKC_INLINE void count_lanes_below(RowArgs& x, unsigned base) {
    const uint32_t *a = x.s[0], *b = x.s[1], *m = x.m;
    uint32_t* d = x.d;
    HKC_LANES {
        unsigned below = i < base ? 0 : i - base;
        uint32_t mask = below >= 32 ? ~0u : (1u << below) - 1;
        write(d, i, m[i], count_bits(a[i] & mask) + b[i]);
    }
}

#define MIN_MAX_MED(suffix, T)                                                                          \
    HKC_MAP2("v_min_" suffix, T, T, T, min_of(a, b)), HKC_MAP2("v_max_" suffix, T, T, T, max_of(a, b)), \
        HKC_MAP3("v_min3_" suffix, T, T, T, T, min_of(min_of(a, b), c)),                                \
        HKC_MAP3("v_max3_" suffix, T, T, T, T, max_of(max_of(a, b), c)),                                \
        HKC_MAP3("v_med3_" suffix, T, T, T, T, median(a, b, c))

const Binding bindings[] = {
    HKC_MAP1("v_mov_b32", U32, U32, a),
    HKC_MAP1("v_accvgpr_read_b32", U32, U32, a),
    HKC_MAP1("v_accvgpr_write_b32", U32, U32, a),
    HKC_MAP1("v_accvgpr_mov_b32", U32, U32, a),
    HKC_MAP1("v_mov_b64", U64, U64, a),
    HKC_MAP1("v_not_b32", U32, U32, ~a),
    HKC_MAP1("v_bfrev_b32", U32, U32, reverse_bits(a)),
    HKC_MAP1("v_ffbh_u32", U32, U32, first_high_bit(a)),
    HKC_MAP1("v_ffbl_b32", U32, U32, first_low_bit(a)),
    HKC_MAP1("v_ffbh_i32", U32, I32, first_sign_change(a)),
    HKC_ROWS("v_cndmask_b32", select_lanes(x)),
    HKC_MAP2("v_and_b32", U32, U32, U32, a& b),
    HKC_MAP2("v_or_b32", U32, U32, U32, a | b),
    HKC_MAP2("v_xor_b32", U32, U32, U32, a ^ b),
    HKC_MAP2("v_xnor_b32", U32, U32, U32, ~(a ^ b)),
    HKC_MAP2("v_lshlrev_b32", U32, U32, U32, b << (a & 31)),
    HKC_MAP2("v_lshrrev_b32", U32, U32, U32, b >> (a & 31)),
    HKC_MAP2("v_ashrrev_i32", I32, U32, I32, b >> (a & 31)),
    HKC_MAP2("v_lshlrev_b16", U16, U16, U16, b << (a & 15)),
    HKC_MAP2("v_lshrrev_b16", U16, U16, U16, b >> (a & 15)),
    HKC_MAP2("v_ashrrev_i16", I16, U16, I16, b >> (a & 15)),
    HKC_MAP2("v_lshlrev_b64", U64, U32, U64, b << (a & 63)),
    HKC_MAP2("v_lshrrev_b64", U64, U32, U64, b >> (a & 63)),
    HKC_MAP2("v_ashrrev_i64", I64, U32, I64, b >> (a & 63)),
    HKC_MAP2("v_add_u32", U32, U32, U32, a + b),
    HKC_MAP2("v_sub_u32", U32, U32, U32, a - b),
    HKC_MAP2("v_subrev_u32", U32, U32, U32, b - a),
    HKC_MAP2("v_add_u32.clamp", U32, U32, U32, saturate_u32(uint64_t(a) + b)),
    HKC_MAP2("v_sub_u32.clamp", U32, U32, U32, a > b ? a - b : 0),
    HKC_MAP2("v_subrev_u32.clamp", U32, U32, U32, b > a ? b - a : 0),
    HKC_MAP2("v_add_i32", U32, U32, U32, a + b),
    HKC_MAP2("v_sub_i32", U32, U32, U32, a - b),
    HKC_MAP2("v_add_i32.clamp", I32, I32, I32, saturate_i32(int64_t(a) + b)),
    HKC_MAP2("v_sub_i32.clamp", I32, I32, I32, saturate_i32(int64_t(a) - b)),
    HKC_MAP2("v_add_u16", U16, U16, U16, a + b),
    HKC_MAP2("v_sub_u16", U16, U16, U16, a - b),
    HKC_MAP2("v_subrev_u16", U16, U16, U16, b - a),
    HKC_MAP2("v_add_u16.clamp", U16, U16, U16, saturate_u16(a + b)),
    HKC_MAP2("v_sub_u16.clamp", U16, U16, U16, a > b ? a - b : 0),
    HKC_MAP2("v_add_i16", I16, I16, I16, a + b),
    HKC_MAP2("v_sub_i16", I16, I16, I16, a - b),
    HKC_MAP2("v_add_i16.clamp", I16, I16, I16, saturate_i16(a + b)),
    HKC_MAP2("v_sub_i16.clamp", I16, I16, I16, saturate_i16(a - b)),
    HKC_MAP2("v_mul_lo_u16", U16, U16, U16, a* b),
    HKC_MAP2("v_mul_lo_u32", U32, U32, U32, a* b),
    HKC_MAP2("v_mul_hi_u32", U32, U32, U32, uint32_t(uint64_t(a) * b >> 32)),
    HKC_MAP2("v_mul_hi_i32", I32, I32, I32, int32_t(int64_t(a) * b >> 32)),
    HKC_MAP2("v_mul_u32_u24", U32, U32, U32, u24(a) * u24(b)),
    HKC_MAP2("v_mul_hi_u32_u24", U32, U32, U32, uint32_t(uint64_t(u24(a)) * u24(b) >> 32)),
    HKC_MAP2("v_mul_i32_i24", U32, I32, I32, uint32_t(i24(a)) * uint32_t(i24(b))),
    HKC_MAP2("v_mul_hi_i32_i24", I32, I32, I32, int32_t(int64_t(i24(a)) * i24(b) >> 32)),
    HKC_MAP3("v_mad_u32_u24", U32, U32, U32, U32, u24(a) * u24(b) + c),
    HKC_MAP3("v_mad_i32_i24", U32, I32, I32, U32, uint32_t(i24(a)) * uint32_t(i24(b)) + c),
    HKC_MAP3("v_mad_u16", U16, U16, U16, U16, a* b + c),
    HKC_MAP3("v_mad_i16", U16, U16, U16, U16, a* b + c),
    HKC_MAP3("v_mad_legacy_u16", U16, U16, U16, U16, a* b + c),
    HKC_MAP3("v_mad_legacy_i16", U16, U16, U16, U16, a* b + c),
    HKC_MAP3("v_mad_u32_u16", U32, U16, U16, U32, a* b + c),
    HKC_MAP3("v_mad_i32_i16", U32, I16, I16, U32, uint32_t(a* b) + c),
    HKC_ROWS("v_mad_u64_u32", multiply_add_64<U32>(x)),
    HKC_ROWS("v_mad_i64_i32", multiply_add_64<I32>(x)),
    MIN_MAX_MED("u32", U32),
    MIN_MAX_MED("i32", I32),
    MIN_MAX_MED("u16", U16),
    MIN_MAX_MED("i16", I16),
    HKC_ROWS("v_add_co_u32", x.mask_in = 0; carry_op(x, [](auto a, auto b, auto) { return a + b; })),
    HKC_ROWS("v_sub_co_u32", x.mask_in = 0; carry_op(x, [](auto a, auto b, auto) { return a - b; })),
    HKC_ROWS("v_subrev_co_u32", x.mask_in = 0; carry_op(x, [](auto a, auto b, auto) { return b - a; })),
    HKC_ROWS("v_addc_co_u32", carry_op(x, [](auto a, auto b, auto carry) { return a + b + carry; })),
    HKC_ROWS("v_subb_co_u32", carry_op(x, [](auto a, auto b, auto carry) { return a - b - carry; })),
    HKC_ROWS("v_subbrev_co_u32", carry_op(x, [](auto a, auto b, auto carry) { return b - a - carry; })),
    HKC_MAP3("v_bfe_u32", U32, U32, U32, U32, extract_unsigned(a, b, c)),
    HKC_MAP3("v_bfe_i32", U32, U32, U32, U32, extract_signed(a, b, c)),
    HKC_MAP3("v_bfi_b32", U32, U32, U32, U32, (a & b) | (~a & c)),
    HKC_MAP2("v_bfm_b32", U32, U32, U32, ((1u << (a & 31)) - 1) << (b & 31)),
    HKC_MAP3("v_alignbit_b32", U32, U32, U32, U32, uint32_t((uint64_t(a) << 32 | b) >> (c & 31))),
    HKC_MAP3("v_alignbyte_b32", U32, U32, U32, U32, uint32_t((uint64_t(a) << 32 | b) >> (8 * (c & 3)))),
    HKC_MAP3("v_perm_b32", U32, U32, U32, U32, permute_bytes(a, b, c)),
    HKC_MAP3("v_lshl_add_u32", U32, U32, U32, U32, (a << (b & 31)) + c),
    HKC_MAP3("v_add_lshl_u32", U32, U32, U32, U32, (a + b) << (c & 31)),
    HKC_MAP3("v_add3_u32", U32, U32, U32, U32, a + b + c),
    HKC_MAP3("v_lshl_or_b32", U32, U32, U32, U32, (a << (b & 31)) | c),
    HKC_MAP3("v_and_or_b32", U32, U32, U32, U32, (a & b) | c),
    HKC_MAP3("v_or3_b32", U32, U32, U32, U32, a | b | c),
    HKC_MAP3("v_xad_u32", U32, U32, U32, U32, (a ^ b) + c),
    HKC_MAP3("v_lshl_add_u64", U64, U64, U32, U64, (a << ((b & 7) > 4 ? 4 : b & 7)) + c),
    HKC_MAP3("v_sad_u8", U32, U32, U32, U32, sum_of_differences(a, b) + c),
    HKC_MAP3("v_sad_hi_u8", U32, U32, U32, U32, (sum_of_differences(a, b) << 16) + c),
    HKC_MAP3("v_sad_u16", U32, U32, U32, U32, half_differences(a, b) + c),
    HKC_MAP3("v_sad_u32", U32, U32, U32, U32, (a > b ? a - b : b - a) + c),
    HKC_MAP2("v_bcnt_u32_b32", U32, U32, U32, count_bits(a) + b),
    HKC_ROWS("v_mbcnt_lo_u32_b32", count_lanes_below(x, 0)),
    HKC_ROWS("v_mbcnt_hi_u32_b32", count_lanes_below(x, 32)),
    HKC_ROWS("v_bitop3_b32", bitop3(x, ~0u)),
    HKC_ROWS("v_bitop3_b16", bitop3(x, 0xffff)),
    HKC_MAP2("v_pack_b32_f16", U32, U16, U16, a | b << 16),
    HKC_MAP2("v_cvt_pk_u16_u32", U32, U32, U32, saturate_u16(a) | saturate_u16(b) << 16),
    HKC_MAP2("v_cvt_pk_i16_i32", U32, I32, I32,
             (uint32_t(saturate_i16(a)) & 0xffff) | uint32_t(saturate_i16(b)) << 16),
    HKC_MAP3("v_ashr_pk_i8_i32", U32, I32, I32, U32,
             (uint32_t(max_of(min_of(a >> (c & 31), 127), -128)) & 0xff) |
                 (uint32_t(max_of(min_of(b >> (c & 31), 127), -128)) & 0xff) << 8),
    HKC_MAP3("v_ashr_pk_u8_i32", U32, I32, I32, U32,
             uint32_t(max_of(min_of(a >> (c & 31), 255), 0)) | uint32_t(max_of(min_of(b >> (c & 31), 255), 0))
                                                                   << 8),
};

}  // namespace

std::span<const Binding> integer_bindings() {
    return bindings;
}

}  // namespace hkc::emu::HKC_VARIANT
