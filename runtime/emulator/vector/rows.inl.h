// Loops over the 64 lanes of register rows. Included by files that define HKC_VARIANT, the namespace of one set of
// vector instructions; everything here has internal linkage, so nothing of it is shared between the sets.
#pragma once

#ifdef __x86_64__
#include <immintrin.h>
#endif

#include "bindings.h"
#include "numeric.h"
#include "wave.h"

namespace hkc::emu::HKC_VARIANT {
namespace {

// Element types of rows. get() reads lane `i`, put() makes the dword(s) of a result; 16-bit results zero the upper half.
struct U32 {
    using value = uint32_t;
    static HKC_INLINE value get(const uint32_t* r, unsigned i) { return r[i]; }
    static HKC_INLINE uint32_t put(value v) { return v; }
};
struct I32 {
    using value = int32_t;
    static HKC_INLINE value get(const uint32_t* r, unsigned i) { return int32_t(r[i]); }
    static HKC_INLINE uint32_t put(value v) { return uint32_t(v); }
};
struct F32 {
    using value = float;
    static HKC_INLINE value get(const uint32_t* r, unsigned i) { return as_f32(r[i]); }
    static HKC_INLINE uint32_t put(value v) { return as_u32(v); }
};
struct U16 {
    using value = uint32_t;
    static HKC_INLINE value get(const uint32_t* r, unsigned i) { return r[i] & 0xffff; }
    static HKC_INLINE uint32_t put(value v) { return v & 0xffff; }
};
struct I16 {
    using value = int32_t;
    static HKC_INLINE value get(const uint32_t* r, unsigned i) { return int32_t(r[i] << 16) >> 16; }
    static HKC_INLINE uint32_t put(value v) { return uint32_t(v) & 0xffff; }
};
struct F16 {
    using value = float;
    static HKC_INLINE value get(const uint32_t* r, unsigned i) { return f16_to_f32(r[i] & 0xffff); }
    static HKC_INLINE uint32_t put(value v) { return f32_to_f16(v); }
};
struct U64 {
    using value = uint64_t;
    static HKC_INLINE value get(const uint32_t* r, unsigned i) { return r[i] | uint64_t(r[lanes + i]) << 32; }
    static HKC_INLINE uint64_t put(value v) { return v; }
};
struct I64 {
    using value = int64_t;
    static HKC_INLINE value get(const uint32_t* r, unsigned i) { return int64_t(U64::get(r, i)); }
    static HKC_INLINE uint64_t put(value v) { return uint64_t(v); }
};
struct F64 {
    using value = double;
    static HKC_INLINE value get(const uint32_t* r, unsigned i) { return as_f64(U64::get(r, i)); }
    static HKC_INLINE uint64_t put(value v) { return as_u64(v); }
};

HKC_INLINE void write(uint32_t* d, unsigned i, uint32_t m, uint32_t v) {
    d[i] = (v & m) | (d[i] & ~m);
}
HKC_INLINE void write(uint32_t* d, unsigned i, uint32_t m, uint64_t v) {
    write(d, i, m, uint32_t(v));
    write(d + lanes, i, m, uint32_t(v >> 32));
}

// A destination row may be one of the source rows: each lane reads before it writes, and lanes are independent.
#define HKC_LANES _Pragma("GCC ivdep") for (unsigned i = 0; i < lanes; ++i)

template <class D, class A, class F>
HKC_INLINE void map(RowArgs& x, F f) {
    uint32_t* d = x.d;
    const uint32_t *a = x.s[0], *m = x.m;
    HKC_LANES write(d, i, m[i], D::put(f(A::get(a, i))));
}
template <class D, class A, class B, class F>
HKC_INLINE void map(RowArgs& x, F f) {
    uint32_t* d = x.d;
    const uint32_t *a = x.s[0], *b = x.s[1], *m = x.m;
    HKC_LANES write(d, i, m[i], D::put(f(A::get(a, i), B::get(b, i))));
}
template <class D, class A, class B, class C, class F>
HKC_INLINE void map(RowArgs& x, F f) {
    uint32_t* d = x.d;
    const uint32_t *a = x.s[0], *b = x.s[1], *c = x.s[2], *m = x.m;
    HKC_LANES write(d, i, m[i], D::put(f(A::get(a, i), B::get(b, i), C::get(c, i))));
}
/// The destination's old value is the last operand.
template <class D, class A, class B, class F>
HKC_INLINE void accumulate(RowArgs& x, F f) {
    uint32_t* d = x.d;
    const uint32_t *a = x.s[0], *b = x.s[1], *m = x.m;
    HKC_LANES write(d, i, m[i], D::put(f(A::get(a, i), B::get(b, i), D::get(d, i))));
}

/// Bit `i` of `mask` as all bits of row[i].
HKC_INLINE void expand_mask(uint64_t mask, uint32_t* row) {
    uint32_t low = uint32_t(mask), high = uint32_t(mask >> 32);
    for (unsigned i = 0; i < 32; ++i) {
        row[i] = 0u - (low >> i & 1);
        row[32 + i] = 0u - (high >> i & 1);
    }
}

/// Bit `i` of the result: the top bit of row[i].
HKC_INLINE uint64_t collect_mask(const uint32_t* row) {
    uint64_t mask = 0;
#if defined(__AVX512DQ__)
    for (unsigned i = 0; i < lanes; i += 16)
        mask |= uint64_t(_mm512_movepi32_mask(_mm512_load_si512(row + i))) << i;
#elif defined(__AVX2__)
    for (unsigned i = 0; i < lanes; i += 8)
        mask |=
            uint64_t(unsigned(_mm256_movemask_ps(_mm256_load_ps(reinterpret_cast<const float*>(row + i)))))
            << i;
#elif defined(__SSE2__)
    for (unsigned i = 0; i < lanes; i += 4)
        mask |= uint64_t(unsigned(_mm_movemask_ps(_mm_load_ps(reinterpret_cast<const float*>(row + i)))))
                << i;
#else
    for (unsigned i = 0; i < lanes; ++i) mask |= uint64_t(row[i] >> 31) << i;
#endif
    return mask;
}

template <class A, class B, class F>
HKC_INLINE void compare(RowArgs& x, F f) {
    alignas(64) uint32_t r[lanes];
    const uint32_t *a = x.s[0], *b = x.s[1];
    for (unsigned i = 0; i < lanes; ++i) r[i] = f(A::get(a, i), B::get(b, i)) ? ~0u : 0u;
    x.mask_out = collect_mask(r);
}

// One table row: mnemonic, element types, and the result in terms of a, b, c.
#define HKC_MAP1(name, D, A, expression) \
    {.mnemonic = name, .row = [](RowArgs& x) { map<D, A>(x, [](A::value a) { return expression; }); }}
#define HKC_MAP2(name, D, A, B, expression) \
    {.mnemonic = name,                      \
     .row = [](RowArgs& x) { map<D, A, B>(x, [](A::value a, B::value b) { return expression; }); }}
#define HKC_MAP3(name, D, A, B, C, expression)                                              \
    {.mnemonic = name, .row = [](RowArgs& x) {                                              \
         map<D, A, B, C>(x, [](A::value a, B::value b, C::value c) { return expression; }); \
     }}
#define HKC_ACCUMULATE(name, D, A, B, expression)                                               \
    {.mnemonic = name, .row = [](RowArgs& x) {                                                  \
         accumulate<D, A, B>(x, [](A::value a, B::value b, D::value c) { return expression; }); \
     }}
#define HKC_ROWS(name, ...) {.mnemonic = name, .row = [](RowArgs& x) { __VA_ARGS__; }}

}  // namespace
}  // namespace hkc::emu::HKC_VARIANT
