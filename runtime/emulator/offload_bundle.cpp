#include "offload_bundle.h"

#include <cstring>
#include <string_view>

namespace hkc::emu {

namespace {

constexpr std::string_view magic = "__CLANG_OFFLOAD_BUNDLE__";
constexpr std::string_view compressed_magic = "CCOB";

bool starts_with(SectionBytes bytes, std::string_view text) {
    return bytes.size >= text.size() && std::memcmp(bytes.data, text.data(), text.size()) == 0;
}

bool read_u64(SectionBytes bytes, uint64_t& at, uint64_t& value) {
    if (at > bytes.size || bytes.size - at < sizeof value) return false;
    std::memcpy(&value, bytes.data + at, sizeof value);
    at += sizeof value;
    return true;
}

// "hipv4-amdgcn-amd-amdhsa--gfx942:sramecc+:xnack-" names gfx942; features the device lacks do not match.
bool matches(std::string_view id, Arch arch) {
    const size_t dash = id.rfind("-gfx");
    if (dash == std::string_view::npos || (!id.starts_with("hip") && !id.starts_with("openmp"))) return false;
    std::string_view target = id.substr(dash + 1);
    const bool fits =
        target.find("xnack+") == std::string_view::npos && target.find("sramecc-") == std::string_view::npos;
    target = target.substr(0, target.find(':'));
    return fits && target == arch_name(arch);
}

}  // namespace

bool is_offload_bundle(SectionBytes bytes) {
    return starts_with(bytes, magic) || starts_with(bytes, compressed_magic);
}

SectionBytes find_in_bundle(SectionBytes bundle, Arch arch, std::string& error) {
    if (starts_with(bundle, compressed_magic)) {
        error = "the offload bundle is compressed; build it with --no-offload-compress";
        return {};
    }
    uint64_t at = magic.size(), count = 0;
    std::string targets;
    bool intact = read_u64(bundle, at, count);
    for (uint64_t i = 0; i < count && intact; ++i) {
        uint64_t offset = 0, size = 0, length = 0;
        intact = read_u64(bundle, at, offset) && read_u64(bundle, at, size) && read_u64(bundle, at, length) &&
                 length <= bundle.size - at;
        if (!intact) break;
        const std::string_view id(reinterpret_cast<const char*>(bundle.data + at), length);
        at += length;
        if (matches(id, arch)) {
            intact = size != 0 && offset <= bundle.size && size <= bundle.size - offset;
            if (intact) return {bundle.data + offset, size};
        }
        targets += (targets.empty() ? "" : ", ") + std::string(id);
    }
    error = intact ? "the offload bundle has no code object for " + std::string(arch_name(arch)) +
                         "; it has: " + (targets.empty() ? "none" : targets)
                   : "the offload bundle is truncated or damaged";
    return {};
}

}  // namespace hkc::emu
