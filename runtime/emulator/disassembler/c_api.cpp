#include "disassembler/c_api.h"

#include <cstring>
#include <string_view>

#include "disassembler/disassemble.h"

long hkcDisassemble(const char* arch, const uint32_t* words, size_t count, char* text, size_t size) {
    using namespace hkc::emu;
    std::string_view name = arch ? arch : "";
    if ((name != "gfx942" && name != "gfx950") || !words || !text) return -1;
    std::string line;
    size_t length = disassemble(words, count, name == "gfx942" ? Arch::gfx942 : Arch::gfx950, line);
    if (!length) line.clear();
    if (line.size() >= size) return -1;
    std::memcpy(text, line.c_str(), line.size() + 1);
    return long(length);
}
