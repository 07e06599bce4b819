// MFMA: D = A * B + C for one to sixteen small matrices; layouts and element types are in matrix_elements.inl.h.
#include "vector/matrix_elements.inl.h"

namespace hkc::emu::HKC_VARIANT {
namespace {

/// cbsz and abid: A of block `b` comes from another block (7.1.5). blgp: the lanes of B are permuted (7.1.6).
HKC_INLINE unsigned broadcast_block(const Instruction& in, unsigned b) {
    unsigned size = 1u << in.cbsz;
    return (b & ~(size - 1)) + (in.abid & (size - 1));
}
static void permute_b(const Instruction& in, WideRows& b, unsigned items) {
    for (unsigned n = 0; n < items; ++n) {
        float old[lanes];
        for (unsigned i = 0; i < lanes; ++i) old[i] = b.item[n][i];
        for (unsigned i = 0; i < lanes; ++i) {
            unsigned from = i;
            switch (in.blgp) {
                case 1:
                    from = i & 31;
                    break;
                case 2:
                    from = (i & 31) + 32;
                    break;
                case 3:
                    from = (i + 16) & 63;
                    break;
                default:
                    from = (i & 15) + 16 * (in.blgp - 4u);
            }
            b.item[n][i] = old[from];
        }
    }
}

/// The products, added in order of k to what `c` holds.
template <class S>
HKC_INLINE void multiply(float* d, const float* c, const WideRows& a, const WideRows& b,
                         const Instruction& in) {
    constexpr unsigned width = S::N < native_floats ? S::N : native_floats, vectors = S::N / width;
    constexpr unsigned wanted = accumulators / vectors, tall = wanted < S::M ? wanted : S::M;
    using V = Floats<width>;
    for (unsigned block = 0; block < S::B; ++block) {
        unsigned a_block = S::B > 1 ? broadcast_block(in, block) : block;
        for (unsigned row = 0; row < S::M; row += tall) {
            V sum[tall][vectors];
            for (unsigned r = 0; r < tall; ++r)
                for (unsigned v = 0; v < vectors; ++v)
                    sum[r][v] = *reinterpret_cast<const V*>(c + S::place(row + r, block) + v * width);
            for (unsigned g = 0; g < S::groups; ++g)
                for (unsigned n = 0; n < S::items; ++n) {
                    const float* a_row = a.item[n] + S::M * (a_block + S::B * g) + row;
                    const float* b_row = b.item[n] + S::N * (block + S::B * g);
                    V right[vectors];
                    for (unsigned v = 0; v < vectors; ++v)
                        right[v] = *reinterpret_cast<const V*>(b_row + v * width);
                    for (unsigned r = 0; r < tall; ++r) {
                        V left = a_row[r] - V{};  // A broadcast.
                        for (unsigned v = 0; v < vectors; ++v)
                            sum[r][v] = multiply_add(left, right[v], sum[r][v]);
                    }
                }
            for (unsigned r = 0; r < tall; ++r)
                for (unsigned v = 0; v < vectors; ++v)
                    *reinterpret_cast<V*>(d + S::place(row + r, block) + v * width) = sum[r][v];
        }
    }
}

/// MODE.FP16_OVFL: a finite sum too large becomes the largest finite number (7.1, "Clamp"); infinite and NaN terms
/// stay what they are.
template <class S>
static __attribute__((noinline)) void saturate(MatrixArgs& x, const uint32_t* c, const WideRows& a,
                                               const WideRows& b) {
    auto infinite = [](float v) { return (as_u32(v) & 0x7f800000) == 0x7f800000; };
    for (unsigned block = 0; block < S::B; ++block)
        for (unsigned i = 0; i < S::M; ++i)
            for (unsigned j = 0; j < S::N; ++j) {
                unsigned at = S::place(i, block) + j;
                if (!infinite(as_f32(x.d[at])) || infinite(as_f32(c[at]))) continue;
                bool special = false;
                double sum = 0;
                unsigned a_block = S::B > 1 ? broadcast_block(*x.in, block) : block;
                for (unsigned g = 0; g < S::groups; ++g)
                    for (unsigned n = 0; n < S::items; ++n) {
                        float left = a.item[n][S::M * (a_block + S::B * g) + i];
                        float right = b.item[n][S::N * (block + S::B * g) + j];
                        special |= infinite(left) || infinite(right);
                        sum += double(left) * right;
                    }
                if (!special) x.d[at] = (sum + double(as_f32(c[at])) < 0 ? 0x80000000 : 0) | 0x7f7fffff;
            }
}

template <class S>
HKC_INLINE void multiply_saturating(MatrixArgs& x, const WideRows& a, const WideRows& b) {
    constexpr unsigned values = S::M * S::N * S::B;
    alignas(64) uint32_t c[values];
    for (unsigned i = 0; i < values; ++i) c[i] = x.c[i];
    multiply<S>(reinterpret_cast<float*>(x.d), reinterpret_cast<const float*>(c), a, b, *x.in);
    saturate<S>(x, c, a, b);
}

template <class S, class A, class B>
void matrix_float(MatrixArgs& x) {
    WideRows a, b;
    A::widen(x.a, S::items, x, a);
    B::widen(x.b, S::items, x, b);
    if (x.in->blgp) permute_b(*x.in, b, S::items);
    if (x.mode & mode_bits::fp16_ovfl) return multiply_saturating<S>(x, a, b);
    multiply<S>(reinterpret_cast<float*>(x.d), reinterpret_cast<const float*>(x.c), a, b, *x.in);
}

/// Integer products are exact in single precision: |sum| <= K * 2^14 < 2^24.
template <class S>
void matrix_integer(MatrixArgs& x) {
    constexpr unsigned values = S::M * S::N * S::B;
    WideRows a, b;
    alignas(64) float zero[values] = {}, sum[values];
    ElementI8::widen(x.a, S::items, x, a);
    ElementI8::widen(x.b, S::items, x, b);
    if (x.in->blgp) permute_b(*x.in, b, S::items);
    multiply<S>(sum, zero, a, b, *x.in);
    for (unsigned i = 0; i < values; ++i) {
        int32_t product = int32_t(sum[i]), old = int32_t(x.c[i]);
        int64_t exact = int64_t(product) + old;
        int64_t limited = exact > 0x7fffffff ? 0x7fffffff : exact < -0x80000000ll ? -0x80000000ll : exact;
        x.d[i] = uint32_t(x.mode & mode_bits::fp16_ovfl ? limited : exact);
    }
}

/// Double precision; the blgp bits negate A, B and C.
template <class S>
void matrix_double(MatrixArgs& x) {
    double a[lanes], b[lanes], sum[S::M * S::N * S::B];
    for (unsigned i = 0; i < lanes; ++i) {
        a[i] = x.in->blgp & 1 ? -F64::get(x.a, i) : F64::get(x.a, i);
        b[i] = x.in->blgp & 2 ? -F64::get(x.b, i) : F64::get(x.b, i);
    }
    auto place = [](unsigned i, unsigned j, unsigned block) {
        unsigned at = S::place(i, block) + j;
        return at / lanes * 2 * lanes + at % lanes;
    };
    for (unsigned block = 0; block < S::B; ++block)
        for (unsigned i = 0; i < S::M; ++i)
            for (unsigned j = 0; j < S::N; ++j) {
                double r = F64::get(x.c + place(i, j, block), 0);
                if (x.in->blgp & 4) r = -r;
                for (unsigned g = 0; g < S::groups; ++g)
                    r = __builtin_fma(a[S::M * (block + S::B * g) + i], b[S::N * (block + S::B * g) + j], r);
                sum[(block * S::M + i) * S::N + j] = r;
            }
    for (unsigned block = 0; block < S::B; ++block)
        for (unsigned i = 0; i < S::M; ++i)
            for (unsigned j = 0; j < S::N; ++j) {
                uint64_t bits = as_u64(sum[(block * S::M + i) * S::N + j]);
                x.d[place(i, j, block)] = uint32_t(bits);
                x.d[place(i, j, block) + lanes] = uint32_t(bits >> 32);
            }
}

/// Formats of the F8F6F4 instructions, by cbsz (A) and blgp (B).
enum MixedFormat : unsigned { fp8, bf8, fp6, bf6, fp4 };

HKC_INLINE float small_float(uint32_t v, unsigned bits, unsigned mantissa, int bias) {
    uint32_t magnitude = v & ((1u << (bits - 1)) - 1), sign = v >> (bits - 1) << 31;
    float scale = as_f32(uint32_t(254 - bias) << 23);
    return as_f32(as_u32(as_f32(magnitude << (23 - mantissa)) * scale) | sign);
}

HKC_INLINE float decode_mixed(uint32_t v, unsigned format) {
    switch (format) {
        case fp8:
            return fp8_to_f32(v & 0xff, e4m3_ocp);
        case bf8:
            return fp8_to_f32(v & 0xff, e5m2_ocp);
        case fp6:
            return small_float(v & 0x3f, 6, 3, 1);
        case bf6:
            return small_float(v & 0x3f, 6, 2, 3);
        default:
            return small_float(v & 0xf, 4, 1, 1);
    }
}

/// 32 values a lane. Six- and four-bit values are 32 consecutive k;
/// eight-bit values are two runs of 16, the second of which is `groups` runs further on. `out` has them all by k, 32 to
/// a lane, so that operands of different widths meet.
template <class S>
static void widen_mixed(const uint32_t* rows, unsigned format, WideRows& out) {
    unsigned bits = format <= bf8 ? 8 : format <= bf6 ? 6 : 4;
    for (unsigned i = 0; i < lanes; ++i) {
        unsigned row = i % S::M, group = i / S::M;
        for (unsigned n = 0; n < 32; ++n) {
            unsigned k = bits == 8 ? n / 16 * 16 * S::groups + group * 16 + n % 16 : group * 32 + n;
            unsigned place = row + S::M * (k / 32);
            unsigned at = n * bits, shift = at % 32;
            uint32_t v = rows[at / 32 * lanes + i] >> shift;
            if (shift + bits > 32) v |= rows[(at / 32 + 1) * lanes + i] << (32 - shift);
            out.item[k % 32][place] = decode_mixed(v, format);
        }
    }
}

/// 2^(s - 127) of each lane's scale; 0xff is NaN.
static void scale_factors(const uint32_t* scale, unsigned byte, double* factor) {
    for (unsigned i = 0; i < lanes; ++i) {
        uint64_t e = scale[i] >> (8 * byte) & 0xff;
        factor[i] = e == 0xff ? as_f64(0x7ff8000000000000) : as_f64((e + 1023 - 127) << 52);
    }
}

/// The sum over each block of 32 k is scaled by both factors and added to the accumulator (7.2). The product of two
/// factors exceeds single precision.
template <class S>
static void multiply_scaled(MatrixArgs& x, const WideRows& a, const WideRows& b, const double* scale_a,
                            const double* scale_b) {
    bool limit = x.mode & mode_bits::fp16_ovfl;
    for (unsigned i = 0; i < S::M; ++i) {
        double sum[S::N];
        for (unsigned j = 0; j < S::N; ++j) sum[j] = as_f32(x.c[S::place(i, 0) + j]);
        for (unsigned g = 0; g < S::groups; ++g) {
            float products[S::N] = {};
            for (unsigned n = 0; n < 32; ++n) {
                float left = a.item[n][S::M * g + i];
                for (unsigned j = 0; j < S::N; ++j) products[j] += left * b.item[n][S::N * g + j];
            }
            double left = scale_a[S::M * g + i];
            for (unsigned j = 0; j < S::N; ++j)
                sum[j] += double(products[j]) * (left * scale_b[S::N * g + j]);
        }
        for (unsigned j = 0; j < S::N; ++j) {
            uint32_t bits = as_u32(float(sum[j]));
            bool overflow =
                (bits & 0x7fffffff) == 0x7f800000 && __builtin_fabs(sum[j]) <= 0x1.fffffffffffffp1023;
            x.d[S::place(i, 0) + j] = limit && overflow ? bits - 1 : bits;
        }
    }
}

template <class S>
void matrix_mixed(MatrixArgs& x) {
    const Instruction& in = *x.in;
    WideRows a, b;
    widen_mixed<S>(x.a, in.cbsz, a);
    widen_mixed<S>(x.b, in.blgp, b);
    if (!x.scale_a) {
        if (x.mode & mode_bits::fp16_ovfl) return multiply_saturating<S>(x, a, b);
        return multiply<S>(reinterpret_cast<float*>(x.d), reinterpret_cast<const float*>(x.c), a, b, in);
    }
    double factor_a[lanes], factor_b[lanes];
    scale_factors(x.scale_a, in.scale_sel[0], factor_a);
    scale_factors(x.scale_b, in.scale_sel[1], factor_b);
    multiply_scaled<S>(x, a, b, factor_a, factor_b);
}

#define FLOAT_MFMA(name, M, N, K, B, A_type, B_type) \
    {.mnemonic = "v_mfma_f32_" name, .matrix = matrix_float<Shape<M, N, K, B>, A_type, B_type>}
#define SAME_MFMA(name, M, N, K, B, type) FLOAT_MFMA(name, M, N, K, B, type, type)
#define HALF_MFMA(name, M, N, K, B) \
    SAME_MFMA(name "_f16", M, N, K, B, ElementF16), SAME_MFMA(name "_bf16", M, N, K, B, ElementBf16)
#define FP8_MFMA(name, M, N, K)                                                       \
    FLOAT_MFMA(name "_fp8_fp8", M, N, K, 1, ElementFp8<false>, ElementFp8<false>),    \
        FLOAT_MFMA(name "_fp8_bf8", M, N, K, 1, ElementFp8<false>, ElementFp8<true>), \
        FLOAT_MFMA(name "_bf8_fp8", M, N, K, 1, ElementFp8<true>, ElementFp8<false>), \
        FLOAT_MFMA(name "_bf8_bf8", M, N, K, 1, ElementFp8<true>, ElementFp8<true>)
#define INTEGER_MFMA(name, M, N, K, B) \
    {.mnemonic = "v_mfma_i32_" name "_i8", .matrix = matrix_integer<Shape<M, N, K, B>>}

const Binding bindings[] = {
    SAME_MFMA("32x32x2_f32", 32, 32, 2, 1, ElementF32),
    SAME_MFMA("16x16x4_f32", 16, 16, 4, 1, ElementF32),
    SAME_MFMA("32x32x1_2b_f32", 32, 32, 1, 2, ElementF32),
    SAME_MFMA("16x16x1_4b_f32", 16, 16, 1, 4, ElementF32),
    SAME_MFMA("4x4x1_16b_f32", 4, 4, 1, 16, ElementF32),
    SAME_MFMA("32x32x4_xf32", 32, 32, 4, 1, ElementXf32),
    SAME_MFMA("16x16x8_xf32", 16, 16, 8, 1, ElementXf32),
    HALF_MFMA("32x32x8", 32, 32, 8, 1),
    HALF_MFMA("16x16x16", 16, 16, 16, 1),
    HALF_MFMA("32x32x16", 32, 32, 16, 1),
    HALF_MFMA("16x16x32", 16, 16, 32, 1),
    HALF_MFMA("32x32x4_2b", 32, 32, 4, 2),
    HALF_MFMA("16x16x4_4b", 16, 16, 4, 4),
    HALF_MFMA("4x4x4_16b", 4, 4, 4, 16),
    FP8_MFMA("16x16x32", 16, 16, 32),
    FP8_MFMA("32x32x16", 32, 32, 16),
    INTEGER_MFMA("32x32x4_2b", 32, 32, 4, 2),
    INTEGER_MFMA("16x16x4_4b", 16, 16, 4, 4),
    INTEGER_MFMA("4x4x4_16b", 4, 4, 4, 16),
    INTEGER_MFMA("32x32x16", 32, 32, 16, 1),
    INTEGER_MFMA("16x16x32", 16, 16, 32, 1),
    INTEGER_MFMA("32x32x32", 32, 32, 32, 1),
    INTEGER_MFMA("16x16x64", 16, 16, 64, 1),
    {.mnemonic = "v_mfma_f64_16x16x4_f64", .matrix = matrix_double<Shape<16, 16, 4, 1, 1>>},
    {.mnemonic = "v_mfma_f64_4x4x4_4b_f64", .matrix = matrix_double<Shape<4, 4, 4, 4, 1>>},
    {.mnemonic = "v_mfma_f32_16x16x128_f8f6f4", .matrix = matrix_mixed<Shape<16, 16, 128, 1>>},
    {.mnemonic = "v_mfma_f32_32x32x64_f8f6f4", .matrix = matrix_mixed<Shape<32, 32, 64, 1>>},
};

}  // namespace

std::span<const Binding> matrix_bindings() {
    return bindings;
}

}  // namespace hkc::emu::HKC_VARIANT
