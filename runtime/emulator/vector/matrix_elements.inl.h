// Register layout and element types of the matrix instructions, dense and sparse.
//
// Register layout (CDNA3 ISA guide, 7.1.4). Each lane holds K_L = K / (64 / (M * B)) consecutive k of one row of A (one
// column of B): item k mod K_L of lane i + M * (b + B * (k div K_L)). D holds groups of 4 rows (1 for f64); see Shape.
// A and B are widened to rows of floats first; then the columns of D are the vector axis.
#pragma once

#include "fp8.h"
#include "vector/rows.inl.h"

namespace hkc::emu::HKC_VARIANT {
namespace {

#if defined(__AVX512F__)
constexpr unsigned native_floats = 16, accumulators = 16;
#elif defined(__AVX2__)
constexpr unsigned native_floats = 8, accumulators = 8;
#else
constexpr unsigned native_floats = 4, accumulators = 8;
#endif

template <unsigned n>
struct FloatsOf {
    typedef float type __attribute__((vector_size(4 * n), aligned(4), may_alias));
};
template <unsigned n>
using Floats = typename FloatsOf<n>::type;

/// a * b + c rounded once, without an instruction for it. The product of two floats is exact as a double; the sum is
/// rounded to odd (its last bit says whether something was lost), so that narrowing it rounds the exact value.
HKC_INLINE float fused(float a, float b, float c) {
    if (a != a || b != b)
        return a != a ? a + a : b + b;  // which of several NaN stays is as in the variants with FMA
    double product = double(a) * double(b), addend = c, sum = product + addend;
    double part = sum - product, lost = (product - (sum - part)) + (addend - part);
    uint64_t bits = as_u64(sum);
    bool inexact = sum - sum == 0 && lost != 0 && !(bits & 1);
    bits += inexact ? ((lost > 0) == (sum > 0) ? 1 : ~uint64_t{0}) : 0;
    return float(as_f64(bits));
}

template <class V>
HKC_INLINE V multiply_add(V a, V b, V c) {
#ifdef __AVX512F__
    if constexpr (sizeof(V) == 64) return V(_mm512_fmadd_ps(__m512(a), __m512(b), __m512(c)));
#endif
#ifdef __FMA__
    if constexpr (sizeof(V) == 32) return V(_mm256_fmadd_ps(__m256(a), __m256(b), __m256(c)));
    if constexpr (sizeof(V) == 16) return V(_mm_fmadd_ps(__m128(a), __m128(b), __m128(c)));
#endif
    V d;
    for (unsigned i = 0; i < sizeof(V) / 4; ++i) d[i] = fused(a[i], b[i], c[i]);
    return d;
}

template <unsigned m, unsigned n, unsigned k, unsigned blocks, unsigned height = 4>
struct Shape {
    static constexpr unsigned M = m, N = n, K = k, B = blocks;
    static constexpr unsigned groups = 64 / (M * B);  // Lane groups that share a row of A.
    static constexpr unsigned items = K / groups;  // Values of A (of B) a lane holds.
    static constexpr unsigned H = height;
    static constexpr unsigned B_I = (64 + N * M / H - 1) / (N * M / H), M_I = (64 / B_I) / N,
                              G = M / (H * M_I);
    /// Where row `i` of block `b` of D begins, in values of the register rows. The guide's formula counts the blocks of
    /// the 4x4x4 of doubles after the rows; that its lanes run as those of B do, blocks first, is what AMD's matrix
    /// instruction calculator and Composable Kernel's layout tests say (L{M1BN}).
    static constexpr HKC_INLINE unsigned place(unsigned i, unsigned b) {
        unsigned item = i % H + H * (i / (H * M_I) + G * (b / B_I));
        unsigned lane = N * (b % B_I + B_I * ((i / H) % M_I));
        return item * lanes + lane;
    }
};

struct alignas(64) WideRows {
    float item[32][lanes];
};

// Widening of each element type: `items` values a lane, packed into consecutive rows from the low bits up.
/// Of all types only this one obeys MODE's denormal control (7.4).
struct ElementF32 {
    static HKC_INLINE void widen(const uint32_t* rows, unsigned items, const MatrixArgs& x, WideRows& out) {
        bool flush = !(x.mode & mode_bits::f32_denormal_inputs);
        for (unsigned n = 0; n < items; ++n)
            for (unsigned i = 0; i < lanes; ++i) {
                uint32_t v = rows[n * lanes + i];
                out.item[n][i] = as_f32(flush && !(v & 0x7f800000) ? v & 0x80000000 : v);
            }
    }
};
/// The mantissa is rounded to 10 bits.
struct ElementXf32 {
    static HKC_INLINE void widen(const uint32_t* rows, unsigned items, const MatrixArgs&, WideRows& out) {
        for (unsigned n = 0; n < items; ++n)
            for (unsigned i = 0; i < lanes; ++i) {
                uint32_t v = rows[n * lanes + i];
                uint32_t rounded = (v + 0xfff + (v >> 13 & 1)) & ~0x1fffu;
                out.item[n][i] = as_f32((v & 0x7f800000) == 0x7f800000 ? v : rounded);
            }
    }
};
struct ElementBf16 {
    static HKC_INLINE void widen(const uint32_t* rows, unsigned items, const MatrixArgs&, WideRows& out) {
        for (unsigned n = 0; n < items; n += 2)
            for (unsigned i = 0; i < lanes; ++i) {
                uint32_t v = rows[n / 2 * lanes + i];
                out.item[n][i] = as_f32(v << 16);
                out.item[n + 1][i] = as_f32(v & 0xffff0000);
            }
    }
};
struct ElementF16 {
    static HKC_INLINE void widen(const uint32_t* rows, unsigned items, const MatrixArgs&, WideRows& out) {
        for (unsigned n = 0; n < items; n += 2) {
            const uint32_t* row = rows + n / 2 * lanes;
#ifdef __F16C__
            for (unsigned i = 0; i < lanes; i += 8) {
                // Packing with saturation keeps halves as they are: each dword holds 16 bits.
                __m256i v = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(row + i));
                __m256i low = _mm256_and_si256(v, _mm256_set1_epi32(0xffff)), high = _mm256_srli_epi32(v, 16);
                __m256i both = _mm256_permute4x64_epi64(_mm256_packus_epi32(low, high), 0xd8);
                _mm256_storeu_ps(out.item[n] + i, _mm256_cvtph_ps(_mm256_castsi256_si128(both)));
                _mm256_storeu_ps(out.item[n + 1] + i, _mm256_cvtph_ps(_mm256_extracti128_si256(both, 1)));
            }
#else
            for (unsigned i = 0; i < lanes; ++i) {
                out.item[n][i] = f16_to_f32(row[i] & 0xffff);
                out.item[n + 1][i] = f16_to_f32(row[i] >> 16);
            }
#endif
        }
    }
};
struct ElementI8 {
    static HKC_INLINE void widen(const uint32_t* rows, unsigned items, const MatrixArgs&, WideRows& out) {
        for (unsigned n = 0; n < items; ++n)
            for (unsigned i = 0; i < lanes; ++i)
                out.item[n][i] = float(int32_t(rows[n / 4 * lanes + i] << (24 - n % 4 * 8)) >> 24);
    }
};
template <bool e5m2>
struct ElementFp8 {
    static HKC_INLINE void widen(const uint32_t* rows, unsigned items, const MatrixArgs& x, WideRows& out) {
        const Fp8Format format = fp8_format(x.arch, e5m2);
        for (unsigned n = 0; n < items; ++n)
            for (unsigned i = 0; i < lanes; ++i)
                out.item[n][i] = fp8_to_f32(rows[n / 4 * lanes + i] >> (n % 4 * 8) & 0xff, format);
    }
};

}  // namespace
}  // namespace hkc::emu::HKC_VARIANT
