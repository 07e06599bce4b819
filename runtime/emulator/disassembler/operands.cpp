#include "disassembler/operands.h"

#include <algorithm>
#include <cstdio>
#include <iterator>

namespace hkc::emu::syntax {
namespace {

// The inline floats (codes 240-248) in each format: CDNA3 ISA guide, "Scalar ALU operands".
constexpr const char* float_names[] = {"0.5",  "-0.5", "1.0",  "-1.0",      "2.0",
                                       "-2.0", "4.0",  "-4.0", "0.15915494"};
constexpr uint32_t f32[] = {0x3f000000, 0xbf000000, 0x3f800000, 0xbf800000, 0x40000000,
                            0xc0000000, 0x40800000, 0xc0800000, 0x3e22f983};
constexpr uint32_t f16[] = {0x3800, 0xb800, 0x3c00, 0xbc00, 0x4000, 0xc000, 0x4400, 0xc400, 0x3118};
constexpr uint32_t bf16[] = {0x3f00, 0xbf00, 0x3f80, 0xbf80, 0x4000, 0xc000, 0x4080, 0xc080, 0x3e22};
// High dwords; 1/(2 pi) has low bits too, so no literal equals it.
constexpr uint32_t f64[] = {0x3fe00000, 0xbfe00000, 0x3ff00000, 0xbff00000,
                            0x40000000, 0xc0000000, 0x40100000, 0xc0100000};

template <size_t n>
bool contains(const uint32_t (&list)[n], uint32_t value) {
    return std::find(std::begin(list), std::end(list), value) != std::end(list);
}

/// -16 to 64, as a number of `bits` bits.
bool small_integer(uint32_t value, unsigned bits) {
    return value <= 64 || value >= uint32_t((1ull << bits) - 16);
}

std::string marked(uint32_t value, bool inlinable, uint32_t shown) {
    return inlinable ? "lit(" + hexadecimal(value) + ")" : hexadecimal(shown);
}

std::string registers(const char* prefix, unsigned first, unsigned dwords) {
    std::string name = prefix;
    if (dwords == 1) return name + std::to_string(first);
    return name + "[" + std::to_string(first) + ":" + std::to_string(first + dwords - 1) + "]";
}

std::string float_name(unsigned index, char style) {
    switch (style) {
        case 'h':
            return hexadecimal(f16[index]);
        case 'b':
            return hexadecimal(bf16[index]);
        case 'w':
            return hexadecimal(f32[index]);
        default:
            return index == 8 && style == 'd' ? "0.15915494309189532" : float_names[index];
    }
}

struct Special {
    unsigned code;
    const char* name;
};
constexpr Special pairs[] = {{102, "flat_scratch"}, {104, "xnack_mask"}, {106, "vcc"}, {126, "exec"}};
constexpr Special singles[] = {{124, "m0"},
                               {125, "null"},
                               {230, "src_flat_scratch_base_lo"},
                               {231, "src_flat_scratch_base_hi"},
                               {235, "src_shared_base"},
                               {236, "src_shared_limit"},
                               {237, "src_private_base"},
                               {238, "src_private_limit"},
                               {239, "src_pops_exiting_wave_id"},
                               {251, "src_vccz"},
                               {252, "src_execz"},
                               {253, "src_scc"},
                               {254, "src_lds_direct"}};

std::string scalar_register(unsigned code, unsigned dwords) {
    for (const Special& s : pairs) {
        if (dwords == 2 && code == s.code) return s.name;
        if (dwords == 1 && (code & ~1u) == s.code) return std::string(s.name) + (code & 1 ? "_hi" : "_lo");
    }
    bool trap = code >= 108;
    unsigned first = trap ? code - 108 : code;
    // Ranges are named from the aligned register at or below the code.
    unsigned alignment = dwords == 1 ? 1 : dwords == 2 ? 2 : 4;
    return registers(trap ? "ttmp" : "s", first & ~(alignment - 1), dwords);
}

}  // namespace

std::string hexadecimal(uint64_t value) {
    char text[24];
    std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
    return text;
}

bool is_constant(unsigned code) {
    if (code & 256) return false;
    code &= 255;
    return (code >= 128 && code <= 208) || (code >= 240 && code <= 248) || code == 255;
}

std::string code_name(unsigned code, const CodeClass& codes) {
    if (code & 256) return registers(code >= 512 ? "a" : "v", code & 255, codes.dwords);
    code &= 255;  // Scalar codes are the same with the accumulation bit.
    if (code >= 128 && code <= 192) return std::to_string(code - 128);
    if (code > 192 && code <= 208) return std::to_string(192 - int(code));
    if (code >= 240 && code <= 248) return float_name(code - 240, codes.constants);
    for (const Special& s : singles)
        if (code == s.code) return s.name;
    return scalar_register(code, codes.dwords);
}

std::string literal_text(uint32_t value, Literal style) {
    uint32_t low = value & 0xffff;
    switch (style) {
        case Literal::i32:
            return marked(value, small_integer(value, 32) || contains(f32, value), value);
        case Literal::i64:
            return marked(value, value <= 64, value);
        case Literal::f64: {  // The high dword of the number.
            if (value == 0) return "0";
            auto found = std::find(std::begin(f64), std::end(f64), value);
            return found == std::end(f64) ? hexadecimal(value) : float_names[found - std::begin(f64)];
        }
        case Literal::f16:
            return marked(value, small_integer(low, 16) || contains(f16, low), low);
        case Literal::bf16:
            return marked(value, small_integer(low, 16) || contains(bf16, low), value);
        case Literal::i16:
            return marked(value, small_integer(value, 32) || contains(f32, value), low);
        case Literal::v2f16:
            return marked(value, small_integer(value, 32) || contains(f16, value), value);
        case Literal::v2bf16:
            return marked(value, small_integer(value, 32) || contains(bf16, value), value);
        default:
            return hexadecimal(value);
    }
}

std::string immediate_text(uint32_t value) {
    if (small_integer(value, 32)) return std::to_string(int32_t(value));
    auto found = std::find(std::begin(f32), std::end(f32), value);
    return found == std::end(f32) ? hexadecimal(value) : float_names[found - std::begin(f32)];
}

}  // namespace hkc::emu::syntax
