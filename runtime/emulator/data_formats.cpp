#include "data_formats.h"

#include <algorithm>
#include <cmath>

#include "numeric.h"

namespace hkc::emu {
namespace {

/// By DFMT (CDNA3 ISA guide, "MTBUF"); their names begin with the highest bits.
constexpr DataFormat formats[16] = {
    {},
    {1, {8}},
    {1, {16}},
    {2, {8, 8}},
    {1, {32}},
    {2, {16, 16}},
    {3, {11, 11, 10}},  // 10_11_11
    {3, {10, 11, 11}},  // 11_11_10
    {4, {2, 10, 10, 10}},  // 10_10_10_2
    {4, {10, 10, 10, 2}},  // 2_10_10_10
    {4, {8, 8, 8, 8}},
    {2, {32, 32}},
    {4, {16, 16, 16, 16}},
    {3, {32, 32, 32}},
    {4, {32, 32, 32, 32}},
    {},
};

int32_t sign_extend(uint32_t v, unsigned bits) {
    return int32_t(v << (32 - bits)) >> (32 - bits);
}

/// Unsigned floats of 10 and 11 bits: five bits of exponent, the rest mantissa, as of a half.
uint32_t small_to_half(uint32_t v, unsigned bits) {
    return v << (15 - bits);
}
uint32_t half_to_small(float v, unsigned bits) {
    if (v != v) return (1u << bits) - 1;
    uint32_t half = f32_to_f16(std::max(v, 0.0f)), shift = 15 - bits;
    uint32_t rounded = (half + (half >> shift & 1) + (1u << (shift - 1)) - 1) >> shift;
    return half == 0x7c00 ? half >> shift : std::min(rounded, (0x1fu << (bits - 5)));
}

float float_of(uint32_t v, unsigned bits) {
    return f16_to_f32(bits == 16 ? v : small_to_half(v, bits));
}

uint32_t round_to_integer(float v, float low, float high) {
    float limited = v != v ? 0.0f : std::clamp(v, low, high);
    return uint32_t(int32_t(limited));
}

}  // namespace

DataFormat data_format(unsigned code) {
    return formats[code & 15];
}

bool is_integer(NumberFormat number) {
    return number == NumberFormat::uint || number == NumberFormat::sint;
}

bool format_exists(const DataFormat& format, NumberFormat number) {
    if (format.components == 0 || number == NumberFormat::reserved) return false;
    if (number != NumberFormat::floating) return true;
    return std::all_of(format.bits.begin(), format.bits.begin() + format.components,
                       [](unsigned bits) { return bits >= 10; }) &&
           !(format.components == 4 && format.bits[1] == 10);
}

uint32_t component_to_register(uint32_t v, unsigned bits, NumberFormat number) {
    if (bits == 32) return v;  // Never converted.
    uint32_t largest = (1u << bits) - 1;
    int32_t extended = sign_extend(v, bits);
    switch (number) {
        case NumberFormat::unorm:
            return as_u32(float(v) / float(largest));
        case NumberFormat::snorm:
            return as_u32(std::max(float(extended) / float(largest >> 1), -1.0f));
        case NumberFormat::uscaled:
            return as_u32(float(v));
        case NumberFormat::sscaled:
            return as_u32(float(extended));
        case NumberFormat::sint:
            return uint32_t(extended);
        case NumberFormat::floating:
            return as_u32(float_of(v, bits));
        default:
            return v;
    }
}

uint32_t register_to_component(uint32_t v, unsigned bits, NumberFormat number) {
    if (bits == 32) return v;
    uint32_t largest = (1u << bits) - 1;
    float f = as_f32(v), high = float(largest), half = float(largest >> 1);
    int32_t limit = int32_t(largest >> 1);
    auto normalised = [](float value, float low, float steps) {
        float limited = value != value ? 0.0f : std::clamp(value, low, 1.0f);
        return uint32_t(int32_t(std::nearbyint(limited * steps)));
    };
    switch (number) {
        case NumberFormat::unorm:
            return normalised(f, 0.0f, high);
        case NumberFormat::snorm:
            return normalised(f, -1.0f, half) & largest;
        case NumberFormat::uscaled:
            return round_to_integer(f, 0.0f, high);
        case NumberFormat::sscaled:
            return round_to_integer(f, -half - 1, half) & largest;
        case NumberFormat::uint:
            return std::min(v, largest);
        case NumberFormat::sint:
            return uint32_t(std::clamp(int32_t(v), -limit - 1, limit)) & largest;
        default:
            return bits == 16 ? f32_to_f16(f) : half_to_small(f, bits);
    }
}

}  // namespace hkc::emu
