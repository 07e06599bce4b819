// Code objects that a client passes as a pointer without a size.
#pragma once

#include <cstdint>
#include <vector>

namespace hkc::emu {

/// The bytes of the ELF file or offload bundle at `image`: as many as its headers describe and the process may read.
/// Of anything else, a few bytes, enough to say that it is no code object.
std::vector<uint8_t> copy_image(const void* image);

}  // namespace hkc::emu
