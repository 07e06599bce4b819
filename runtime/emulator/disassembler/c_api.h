// The disassembler's C ABI.
#pragma once

#include "hkc_api.h"

/// Disassembles the instruction at `words`, of which `count` may be read. `arch` is "gfx942" or "gfx950". Gives its
/// length in dwords and writes its text with a final zero; gives 0 if the words are no valid instruction, -1 for
/// another arch or if the text does not fit in `size` bytes.
HIP_API long hkcDisassemble(const char* arch, const uint32_t* words, size_t count, char* text, size_t size);
