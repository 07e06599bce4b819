// SOP1, SOP2, SOPC and SOPK arithmetic.
#include <bit>
#include <cstdlib>

#include "bindings.h"
#include "wave.h"

namespace hkc::emu {
namespace {

using Args = ScalarArgs;

uint32_t lo(uint64_t v) {
    return uint32_t(v);
}
int32_t s32(uint64_t v) {
    return int32_t(uint32_t(v));
}

/// Logic operations set SCC to "result is not zero".
template <class T, class F>
void logic(Args& x, F f) {
    T r = f(T(x.a), T(x.b));
    x.d = r;
    x.scc = r != 0;
}

template <class F>
void save_exec(Args& x, F f) {
    uint64_t exec = x.wave->exec(), r = f(x.a, exec);
    x.d = exec;
    x.scc = r != 0;
    x.wave->set_sgpr64(sgpr::exec, r);
}

template <class F>
void write_exec(Args& x, F f) {
    uint64_t r = f(x.a, x.wave->exec());
    x.d = r;
    x.scc = r != 0;
    x.wave->set_sgpr64(sgpr::exec, r);
}

void add_u32(Args& x, uint64_t carry) {
    uint64_t r = uint64_t(lo(x.a)) + lo(x.b) + carry;
    x.d = lo(r);
    x.scc = uint32_t(r >> 32);
}
void sub_u32(Args& x, uint64_t borrow) {
    uint64_t take = uint64_t(lo(x.b)) + borrow;
    x.d = lo(lo(x.a) - take);
    x.scc = take > lo(x.a);
}
void add_i32(Args& x, int32_t a, int32_t b) {
    int32_t r;
    x.scc = __builtin_add_overflow(a, b, &r);
    x.d = uint32_t(r);
}
void sub_i32(Args& x) {
    int32_t r;
    x.scc = __builtin_sub_overflow(s32(x.a), s32(x.b), &r);
    x.d = uint32_t(r);
}
void shift_add(Args& x, unsigned n) {
    uint64_t r = (uint64_t(lo(x.a)) << n) + lo(x.b);
    x.d = lo(r);
    x.scc = r >> 32 != 0;
}

template <class T>
void bitfield(Args& x) {
    constexpr unsigned width_bits = sizeof(T) * 8;
    unsigned offset = lo(x.b) & (width_bits - 1), width = lo(x.b) >> 16 & 0x7f;
    T r = 0;
    if (width) {
        if (width > width_bits - offset) width = width_bits - offset;
        using U = std::make_unsigned_t<T>;
        U up = U(x.a) << (width_bits - offset - width);
        r = T(up) >> (width_bits - width);
    }
    x.d = std::make_unsigned_t<T>(r);
    x.scc = r != 0;
}

uint64_t bit_mask(uint64_t a, uint64_t b, unsigned bits) {
    return ((1ull << (a & (bits - 1))) - 1) << (b & (bits - 1));
}

template <class T>
uint32_t find_first_sign_change(T v) {
    using U = std::make_unsigned_t<T>;
    U u = v < 0 ? U(~v) : U(v);
    return u == 0 ? ~0u : uint32_t(std::countl_zero(u));
}

uint32_t reverse(uint32_t v) {
    v = (v >> 1 & 0x55555555) | (v & 0x55555555) << 1;
    v = (v >> 2 & 0x33333333) | (v & 0x33333333) << 2;
    v = (v >> 4 & 0x0f0f0f0f) | (v & 0x0f0f0f0f) << 4;
    return __builtin_bswap32(v);
}

/// Each group of four bits (any set) as all four, or as one bit.
uint64_t whole_quads(uint64_t v) {
    uint64_t r = 0;
    for (unsigned i = 0; i < 64; i += 4)
        if (v >> i & 15) r |= 15ull << i;
    return r;
}
uint64_t quad_mask(uint64_t v) {
    uint64_t r = 0;
    for (unsigned i = 0; i < 16; ++i)
        if (v >> (4 * i) & 15) r |= 1ull << i;
    return r;
}
uint64_t replicate_bits(uint32_t v) {
    uint64_t r = 0;
    for (unsigned i = 0; i < 32; ++i)
        if (v >> i & 1) r |= 3ull << (2 * i);
    return r;
}

#define OP(name, body) {.mnemonic = name, .scalar = [](Args& x) { body; }}
#define LOGIC(name, expression)                                                                            \
    OP("s_" name "_b32", logic<uint32_t>(x, [](uint32_t a, uint32_t b) { return uint32_t(expression); })), \
        OP("s_" name "_b64",                                                                               \
           logic<uint64_t>(x, [](uint64_t a, uint64_t b) { return uint64_t(expression); }))
#define SAVE_EXEC(name, expression) \
    OP("s_" name "_saveexec_b64", save_exec(x, [](uint64_t s, uint64_t e) { return expression; }))
#define COMPARE(name, op)                                     \
    OP("s_cmp_" name "_i32", x.scc = s32(x.a) op s32(x.b)),   \
        OP("s_cmp_" name "_u32", x.scc = lo(x.a) op lo(x.b)), \
        OP("s_cmpk_" name "_i32", x.scc = s32(x.a) op x.imm), \
        OP("s_cmpk_" name "_u32", x.scc = lo(x.a) op uint16_t(x.imm))

const Binding bindings[] = {
    // SOP2
    OP("s_add_u32", add_u32(x, 0)),
    OP("s_sub_u32", sub_u32(x, 0)),
    OP("s_addc_u32", add_u32(x, x.scc)),
    OP("s_subb_u32", sub_u32(x, x.scc)),
    OP("s_add_i32", add_i32(x, s32(x.a), s32(x.b))),
    OP("s_sub_i32", sub_i32(x)),
    OP("s_min_i32", x.scc = s32(x.a) < s32(x.b); x.d = x.scc ? lo(x.a) : lo(x.b)),
    OP("s_min_u32", x.scc = lo(x.a) < lo(x.b); x.d = x.scc ? lo(x.a) : lo(x.b)),
    OP("s_max_i32", x.scc = s32(x.a) > s32(x.b); x.d = x.scc ? lo(x.a) : lo(x.b)),
    OP("s_max_u32", x.scc = lo(x.a) > lo(x.b); x.d = x.scc ? lo(x.a) : lo(x.b)),
    OP("s_cselect_b32", x.d = x.scc ? x.a : x.b),
    OP("s_cselect_b64", x.d = x.scc ? x.a : x.b),
    LOGIC("and", a& b),
    LOGIC("or", a | b),
    LOGIC("xor", a ^ b),
    LOGIC("andn2", a & ~b),
    LOGIC("orn2", a | ~b),
    LOGIC("nand", ~(a& b)),
    LOGIC("nor", ~(a | b)),
    LOGIC("xnor", ~(a ^ b)),
    OP("s_lshl_b32", x.d = lo(x.a) << (x.b & 31); x.scc = x.d != 0),
    OP("s_lshl_b64", x.d = x.a << (x.b & 63); x.scc = x.d != 0),
    OP("s_lshr_b32", x.d = lo(x.a) >> (x.b & 31); x.scc = x.d != 0),
    OP("s_lshr_b64", x.d = x.a >> (x.b & 63); x.scc = x.d != 0),
    OP("s_ashr_i32", x.d = uint32_t(s32(x.a) >> (x.b & 31)); x.scc = x.d != 0),
    OP("s_ashr_i64", x.d = uint64_t(int64_t(x.a) >> (x.b & 63)); x.scc = x.d != 0),
    OP("s_bfm_b32", x.d = lo(bit_mask(x.a, x.b, 32))),
    OP("s_bfm_b64", x.d = bit_mask(x.a, x.b, 64)),
    OP("s_mul_i32", x.d = lo(lo(x.a) * lo(x.b))),
    OP("s_mul_hi_u32", x.d = uint64_t(lo(x.a)) * lo(x.b) >> 32),
    OP("s_mul_hi_i32", x.d = uint32_t(int64_t(s32(x.a)) * s32(x.b) >> 32)),
    OP("s_bfe_u32", bitfield<uint32_t>(x)),
    OP("s_bfe_i32", bitfield<int32_t>(x)),
    OP("s_bfe_u64", bitfield<uint64_t>(x)),
    OP("s_bfe_i64", bitfield<int64_t>(x)),
    OP("s_absdiff_i32", x.d = uint32_t(std::llabs(int64_t(s32(x.a)) - s32(x.b))); x.scc = x.d != 0),
    OP("s_lshl1_add_u32", shift_add(x, 1)),
    OP("s_lshl2_add_u32", shift_add(x, 2)),
    OP("s_lshl3_add_u32", shift_add(x, 3)),
    OP("s_lshl4_add_u32", shift_add(x, 4)),
    OP("s_pack_ll_b32_b16", x.d = (x.a & 0xffff) | lo(x.b) << 16),
    OP("s_pack_lh_b32_b16", x.d = (x.a & 0xffff) | (x.b & 0xffff0000)),
    OP("s_pack_hh_b32_b16", x.d = lo(x.a) >> 16 | (x.b & 0xffff0000)),
    // SOPC and SOPK
    COMPARE("eq", ==),
    COMPARE("lg", !=),
    COMPARE("gt", >),
    COMPARE("ge", >=),
    COMPARE("lt", <),
    COMPARE("le", <=),
    OP("s_cmp_eq_u64", x.scc = x.a == x.b),
    OP("s_cmp_lg_u64", x.scc = x.a != x.b),
    OP("s_bitcmp0_b32", x.scc = !(lo(x.a) >> (x.b & 31) & 1)),
    OP("s_bitcmp1_b32", x.scc = lo(x.a) >> (x.b & 31) & 1),
    OP("s_bitcmp0_b64", x.scc = !(x.a >> (x.b & 63) & 1)),
    OP("s_bitcmp1_b64", x.scc = x.a >> (x.b & 63) & 1),
    OP("s_movk_i32", x.d = uint32_t(x.imm)),
    OP("s_cmovk_i32", if (x.scc) x.d = uint32_t(x.imm)),
    OP("s_addk_i32", add_i32(x, s32(x.d), x.imm)),
    OP("s_mulk_i32", x.d = lo(x.d) * uint32_t(x.imm)),
    // SOP1
    OP("s_mov_b32", x.d = x.a),
    OP("s_mov_b64", x.d = x.a),
    OP("s_cmov_b32", if (x.scc) x.d = x.a),
    OP("s_cmov_b64", if (x.scc) x.d = x.a),
    OP("s_not_b32", x.d = lo(~x.a); x.scc = x.d != 0),
    OP("s_not_b64", x.d = ~x.a; x.scc = x.d != 0),
    OP("s_wqm_b32", x.d = lo(whole_quads(lo(x.a))); x.scc = x.d != 0),
    OP("s_wqm_b64", x.d = whole_quads(x.a); x.scc = x.d != 0),
    OP("s_brev_b32", x.d = reverse(lo(x.a))),
    OP("s_brev_b64", x.d = uint64_t(reverse(lo(x.a))) << 32 | reverse(lo(x.a >> 32))),
    OP("s_bcnt0_i32_b32", x.d = unsigned(std::popcount(lo(~x.a))); x.scc = x.d != 0),
    OP("s_bcnt0_i32_b64", x.d = unsigned(std::popcount(~x.a)); x.scc = x.d != 0),
    OP("s_bcnt1_i32_b32", x.d = unsigned(std::popcount(lo(x.a))); x.scc = x.d != 0),
    OP("s_bcnt1_i32_b64", x.d = unsigned(std::popcount(x.a)); x.scc = x.d != 0),
    OP("s_ff0_i32_b32", x.d = lo(~x.a) ? unsigned(std::countr_zero(lo(~x.a))) : ~0u),
    OP("s_ff0_i32_b64", x.d = ~x.a ? unsigned(std::countr_zero(~x.a)) : ~0u),
    OP("s_ff1_i32_b32", x.d = lo(x.a) ? unsigned(std::countr_zero(lo(x.a))) : ~0u),
    OP("s_ff1_i32_b64", x.d = x.a ? unsigned(std::countr_zero(x.a)) : ~0u),
    OP("s_flbit_i32_b32", x.d = lo(x.a) ? unsigned(std::countl_zero(lo(x.a))) : ~0u),
    OP("s_flbit_i32_b64", x.d = x.a ? unsigned(std::countl_zero(x.a)) : ~0u),
    OP("s_flbit_i32", x.d = find_first_sign_change(s32(x.a))),
    OP("s_flbit_i32_i64", x.d = find_first_sign_change(int64_t(x.a))),
    OP("s_sext_i32_i8", x.d = uint32_t(int32_t(int8_t(x.a)))),
    OP("s_sext_i32_i16", x.d = uint32_t(int32_t(int16_t(x.a)))),
    OP("s_bitset0_b32", x.d &= ~(1u << (x.a & 31))),
    OP("s_bitset0_b64", x.d &= ~(1ull << (x.a & 63))),
    OP("s_bitset1_b32", x.d |= 1u << (x.a & 31)),
    OP("s_bitset1_b64", x.d |= 1ull << (x.a & 63)),
    OP("s_abs_i32", x.d = s32(x.a) < 0 ? 0u - lo(x.a) : lo(x.a); x.scc = x.d != 0),
    OP("s_quadmask_b32", x.d = quad_mask(lo(x.a)); x.scc = x.d != 0),
    OP("s_quadmask_b64", x.d = quad_mask(x.a); x.scc = x.d != 0),
    OP("s_bitreplicate_b64_b32", x.d = replicate_bits(lo(x.a))),
    SAVE_EXEC("and", s& e),
    SAVE_EXEC("or", s | e),
    SAVE_EXEC("xor", s ^ e),
    SAVE_EXEC("andn2", s & ~e),
    SAVE_EXEC("orn2", s | ~e),
    SAVE_EXEC("nand", ~(s& e)),
    SAVE_EXEC("nor", ~(s | e)),
    SAVE_EXEC("xnor", ~(s ^ e)),
    SAVE_EXEC("andn1", ~s& e),
    SAVE_EXEC("orn1", ~s | e),
    OP("s_andn1_wrexec_b64", write_exec(x, [](uint64_t s, uint64_t e) { return ~s & e; })),
    OP("s_andn2_wrexec_b64", write_exec(x, [](uint64_t s, uint64_t e) { return s & ~e; })),
};

#undef OP
#undef LOGIC
#undef SAVE_EXEC
#undef COMPARE

}  // namespace

std::span<const Binding> scalar_bindings() {
    return bindings;
}

void scalar_alu(Wave& w, const Instruction& in) {
    ScalarArgs x;
    x.a = read_scalar(w, in.src[0]);
    x.b = read_scalar(w, in.src[1]);
    bool wide = in.dst.dwords > 1;
    x.d = wide ? w.sgpr64(in.dst.index) : w.sgpr[in.dst.index];
    x.scc = w.scc;
    x.imm = in.imm;
    x.wave = &w;
    in.kernel.scalar(x);
    w.scc = x.scc;
    if (wide)
        w.set_sgpr64(in.dst.index, x.d);
    else if (in.dst.dwords)
        w.sgpr[in.dst.index] = uint32_t(x.d);
}

}  // namespace hkc::emu
