// SMFMAC: D = A * B + D, where two of each four consecutive k of A are stored and an index names them (CDNA3 ISA guide,
// 7.4; CDNA4 ISA guide, 7.5).
//
// A lane holds a quarter (16 rows) or a half (32 rows) of the k of one row of A and of one column of B, in the same order;
// values 2p and 2p + 1 of A meet two of the values 4p to 4p + 3 of B. On gfx950 the instructions with twice the k hold two
// runs of k in a lane, of A as of B, so that the numbers of the k do not matter to the sum.
#include "vector/matrix_elements.inl.h"

namespace hkc::emu::HKC_VARIANT {
namespace {

template <unsigned k, unsigned m>
struct Sparse {
    using S = Shape<m, m, k, 1>;
    static constexpr unsigned b_items = S::items, a_items = S::items / 2;
    static constexpr unsigned index_bits = 2 * a_items, sets = 32 / index_bits;
};

/// Bits of a lane's indices: cbsz = 0 lets abid choose among the sets that a dword holds, else it is the first.
template <class T>
HKC_INLINE uint32_t index_set(const Instruction& in, uint32_t indices) {
    unsigned set = in.cbsz & 3 ? 0 : in.abid % T::sets;
    return T::sets == 1 ? indices : indices >> (set * T::index_bits);
}

/// D may overlap the register of the indices.
HKC_INLINE void copy_indices(const MatrixArgs& x, uint32_t* to) {
    for (unsigned i = 0; i < lanes; ++i) to[i] = x.c[i];
}

/// MODE.FP16_OVFL limits a sum that leaves single precision while none of its terms is infinite or NaN.
HKC_INLINE uint32_t limited(uint32_t sum, uint32_t old, bool special) {
    auto infinite = [](uint32_t v) { return (v & 0x7f800000) == 0x7f800000; };
    bool overflow = (sum & 0x7fffffff) == 0x7f800000 && !infinite(old) && !special;
    return overflow ? (sum & 0x80000000) | 0x7f7fffff : sum;
}

/// Calls add(value of A, the row of B's values that it meets) for each stored value of row `i` of A, in order of k.
template <class T, class F>
HKC_INLINE void for_stored(const Instruction& in, const uint32_t* indices, const WideRows& a,
                           const WideRows& b, unsigned i, F add) {
    using S = typename T::S;
    for (unsigned g = 0; g < S::groups; ++g) {
        unsigned lane = i + S::M * g;
        uint32_t set = index_set<T>(in, indices[lane]);
        for (unsigned n = 0; n < T::a_items; ++n) {
            unsigned k = n / 2 * 4 + (set >> (2 * n) & 3);
            add(a.item[n][lane], b.item[k] + S::N * g);
        }
    }
}

template <class T, class A, class B>
void sparse_float(MatrixArgs& x) {
    using S = typename T::S;
    WideRows a, b;
    A::widen(x.a, T::a_items, x, a);
    B::widen(x.b, T::b_items, x, b);
    alignas(64) uint32_t indices[lanes];
    copy_indices(x, indices);
    bool limit = x.mode & mode_bits::fp16_ovfl;
    auto infinite = [](float v) { return (as_u32(v) & 0x7f800000) == 0x7f800000; };
    for (unsigned i = 0; i < S::M; ++i) {
        uint32_t* d = x.d + S::place(i, 0);
        alignas(64) float sum[S::N];
        bool special[S::N] = {};
        for (unsigned j = 0; j < S::N; ++j) sum[j] = as_f32(d[j]);
        for_stored<T>(*x.in, indices, a, b, i, [&](float left, const float* right) {
            for (unsigned j = 0; j < S::N; ++j) sum[j] = __builtin_fmaf(left, right[j], sum[j]);
            if (!limit) return;
            for (unsigned j = 0; j < S::N; ++j) special[j] |= infinite(left) || infinite(right[j]);
        });
        for (unsigned j = 0; j < S::N; ++j) {
            uint32_t bits = as_u32(sum[j]);
            d[j] = limit ? limited(bits, d[j], special[j]) : bits;
        }
    }
}

template <class T>
void sparse_integer(MatrixArgs& x) {
    using S = typename T::S;
    WideRows a, b;
    ElementI8::widen(x.a, T::a_items, x, a);
    ElementI8::widen(x.b, T::b_items, x, b);
    alignas(64) uint32_t indices[lanes];
    copy_indices(x, indices);
    for (unsigned i = 0; i < S::M; ++i) {
        uint32_t* d = x.d + S::place(i, 0);
        float sum[S::N] = {};  // Exact: at most K / 2 * 2^14.
        for_stored<T>(*x.in, indices, a, b, i, [&](float left, const float* right) {
            for (unsigned j = 0; j < S::N; ++j) sum[j] += left * right[j];
        });
        for (unsigned j = 0; j < S::N; ++j) {
            int64_t exact = int64_t(sum[j]) + int32_t(d[j]);
            int64_t limited = exact > 0x7fffffff ? 0x7fffffff : exact < -0x80000000ll ? -0x80000000ll : exact;
            d[j] = uint32_t(x.mode & mode_bits::fp16_ovfl ? limited : exact);
        }
    }
}

#define SMFMAC(name, M, K, A_type, B_type) \
    {.mnemonic = "v_smfmac_f32_" name, .matrix = sparse_float<Sparse<K, M>, A_type, B_type>}
#define HALF_SMFMAC(name, M, K) \
    SMFMAC(name "_f16", M, K, ElementF16, ElementF16), SMFMAC(name "_bf16", M, K, ElementBf16, ElementBf16)
#define BYTE_SMFMAC(name, M, K)                                                       \
    {.mnemonic = "v_smfmac_i32_" name "_i8", .matrix = sparse_integer<Sparse<K, M>>}, \
        SMFMAC(name "_fp8_fp8", M, K, ElementFp8<false>, ElementFp8<false>),          \
        SMFMAC(name "_fp8_bf8", M, K, ElementFp8<false>, ElementFp8<true>),           \
        SMFMAC(name "_bf8_fp8", M, K, ElementFp8<true>, ElementFp8<false>),           \
        SMFMAC(name "_bf8_bf8", M, K, ElementFp8<true>, ElementFp8<true>)

const Binding bindings[] = {
    HALF_SMFMAC("16x16x32", 16, 32),   HALF_SMFMAC("32x32x16", 32, 16), HALF_SMFMAC("16x16x64", 16, 64),
    HALF_SMFMAC("32x32x32", 32, 32),   BYTE_SMFMAC("16x16x64", 16, 64), BYTE_SMFMAC("32x32x32", 32, 32),
    BYTE_SMFMAC("16x16x128", 16, 128), BYTE_SMFMAC("32x32x64", 32, 64),
};

}  // namespace

std::span<const Binding> sparse_bindings() {
    return bindings;
}

}  // namespace hkc::emu::HKC_VARIANT
