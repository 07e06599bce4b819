#include <cmath>

#include "memory_op.h"
#include "numeric.h"

namespace hkc::emu {
namespace {

float to_float(uint32_t v) {
    return as_f32(v);
}
double to_float(uint64_t v) {
    return as_f64(v);
}
uint32_t to_bits(float v) {
    return as_u32(v);
}
uint64_t to_bits(double v) {
    return as_u64(v);
}

template <class T>
T packed_add(T old, T source, float (*widen)(uint32_t), uint32_t (*narrow)(float)) {
    T r = 0;
    for (unsigned shift = 0; shift < 32; shift += 16) {
        float sum = widen(uint32_t(old >> shift & 0xffff)) + widen(uint32_t(source >> shift & 0xffff));
        r |= T(narrow(sum) & 0xffff) << shift;
    }
    return r;
}

template <class T>
T apply_as(Atomic op, T old, T source, T compare) {
    using S = std::make_signed_t<T>;
    switch (op) {
        case Atomic::swap:
            return source;
        case Atomic::cmpswap:
            return old == compare ? source : old;
        case Atomic::add:
            return old + source;
        case Atomic::sub:
            return old - source;
        case Atomic::rsub:
            return source - old;
        case Atomic::smin:
            return S(old) < S(source) ? old : source;
        case Atomic::umin:
            return old < source ? old : source;
        case Atomic::smax:
            return S(old) > S(source) ? old : source;
        case Atomic::umax:
            return old > source ? old : source;
        case Atomic::bit_and:
            return old & source;
        case Atomic::bit_or:
            return old | source;
        case Atomic::bit_xor:
            return old ^ source;
        case Atomic::inc:
            return old >= source ? 0 : old + 1;
        case Atomic::dec:
            return old == 0 || old > source ? source : old - 1;
        case Atomic::mskor:
            return (old & ~source) | compare;
        case Atomic::wrap:
            return old >= source ? old - source : old + compare;
        case Atomic::f_add:
            return to_bits(to_float(old) + to_float(source));
        case Atomic::f_min:
            return to_bits(std::fmin(to_float(old), to_float(source)));
        case Atomic::f_max:
            return to_bits(std::fmax(to_float(old), to_float(source)));
        case Atomic::f_cmpswap:
            return to_float(old) == to_float(compare) ? source : old;
        case Atomic::pk_add_f16:
            return packed_add<T>(
                old, source, [](uint32_t v) { return f16_to_f32(v); }, [](float v) { return f32_to_f16(v); });
        case Atomic::pk_add_bf16:
            return packed_add<T>(
                old, source, [](uint32_t v) { return bf16_to_f32(v); },
                [](float v) { return f32_to_bf16(v); });
        case Atomic::none:
            break;
    }
    return old;
}

}  // namespace

uint32_t apply(Atomic op, uint32_t old, uint32_t source, uint32_t compare) {
    return apply_as<uint32_t>(op, old, source, compare);
}
uint64_t apply(Atomic op, uint64_t old, uint64_t source, uint64_t compare) {
    return apply_as<uint64_t>(op, old, source, compare);
}

}  // namespace hkc::emu
