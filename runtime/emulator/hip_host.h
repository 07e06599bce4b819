// Reading and writing the client's memory: a bad address is an error code, not the end of the process.
#pragma once

#include <cstddef>

namespace hkc::emu {

/// Copies `bytes` from memory of the client, or to it; false if some of it is not mapped (what is before may be copied).
bool read_client(void* to, const void* from, size_t bytes);
bool write_client(void* to, const void* from, size_t bytes);

}  // namespace hkc::emu
