// Data formats of buffers: what components an element has, and conversions from and to registers.
#pragma once

#include <array>
#include <cstdint>

namespace hkc::emu {

/// Numbers of the NFMT field (CDNA3 ISA guide, "MTBUF").
enum class NumberFormat : uint8_t { unorm, snorm, uscaled, sscaled, uint, sint, reserved, floating };

/// A data format: bits of each component from the lowest bits up.
struct DataFormat {
    uint8_t components = 0;
    std::array<uint8_t, 4> bits{};

    unsigned bytes() const { return (bits[0] + bits[1] + bits[2] + bits[3]) / 8u; }
    /// The unit of its alignment in memory.
    unsigned unit() const { return bits[0] == bits[1] || components == 1 ? bits[0] / 8u : bytes(); }
};

/// The format with DFMT number `code`; no components if there is none.
DataFormat data_format(unsigned code);

/// Whether components of `bits` bits can have that number format.
bool format_exists(const DataFormat& format, NumberFormat number);

/// A component as a register holds it: a float for normalised, scaled and floating formats, else an integer.
uint32_t component_to_register(uint32_t component, unsigned bits, NumberFormat number);
uint32_t register_to_component(uint32_t value, unsigned bits, NumberFormat number);

bool is_integer(NumberFormat number);

}  // namespace hkc::emu
