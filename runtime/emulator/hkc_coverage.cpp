// Which opcodes of each target's tables have an executor.
#include <cstring>
#include <iterator>
#include <string>

#include "bindings.h"
#include "hip_state.h"
#include "hkc_api.h"
#include "isa/opcodes.h"

using namespace hkc::emu;

namespace {

constexpr const char* family_names[] = {"SOP1",   "SOP2",    "SOPC",  "SOPK",  "SOPP", "SMEM", "VOP1",
                                        "VOP2",   "VOPC",    "VOP3",  "VOP3P", "MAI",  "DS",   "FLAT",
                                        "GLOBAL", "SCRATCH", "MUBUF", "MTBUF", "VOP1", "VOP2"};
static_assert(std::size(family_names) == size_t(Family::invalid));

std::string rows_of(Arch arch) {
    std::string result;
    for (unsigned i = 0; i < opcode_count(); ++i) {
        const OpcodeInfo& row = opcode_at(i);
        if (!(row.archs >> unsigned(arch) & 1)) continue;
        result += result.empty() ? "" : ", ";
        result += std::string("{\"family\": \"") + family_names[size_t(row.family)] +
                  "\", \"opcode\": " + std::to_string(row.opcode) + ", \"mnemonic\": \"" + row.mnemonic +
                  "\", \"executed\": " + (find_binding(row.mnemonic) ? "true" : "false") + "}";
    }
    return result;
}

}  // namespace

HIP_API long hkcCoverage(char* text, size_t size) {
    try {
        static const std::string result =
            "{\"gfx942\": [" + rows_of(Arch::gfx942) + "], \"gfx950\": [" + rows_of(Arch::gfx950) + "]}";
        if (text != nullptr && result.size() < size) std::memcpy(text, result.c_str(), result.size() + 1);
        return static_cast<long>(result.size());
    } catch (const std::exception&) {
        return -1;
    }
}
