#include "hip_image.h"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <string_view>

#include "hip_host.h"

namespace hkc::emu {

namespace {

constexpr uint64_t max_image_bytes = uint64_t{1} << 30;  // headers that describe more are damaged
constexpr uint64_t max_bundle_entries = 4096;
constexpr uint64_t chunk_bytes = uint64_t{1} << 20;
constexpr std::string_view bundle_magic = "__CLANG_OFFLOAD_BUNDLE__";

/// Reads by offset from the client's pointer.
class Image {
 public:
    explicit Image(const void* begin) : begin_(reinterpret_cast<uint64_t>(begin)) {}

    bool read(void* to, uint64_t offset, uint64_t bytes) const {
        uint64_t address = 0;
        if (__builtin_add_overflow(begin_, offset, &address)) return false;
        return read_client(to, reinterpret_cast<const void*>(address), bytes);
    }

 private:
    uint64_t begin_;
};

/// How far the ranges reach that headers name; those beyond every limit are left out.
class Extent {
 public:
    explicit Extent(uint64_t first) : end_(first) {}
    void include(uint64_t offset, uint64_t size) {
        uint64_t end = 0;
        if (!__builtin_add_overflow(offset, size, &end) && end <= max_image_bytes) end_ = std::max(end_, end);
    }
    uint64_t end() const { return end_; }

 private:
    uint64_t end_;
};

uint64_t elf_extent(const Image& image) {
    Elf64_Ehdr header;
    if (!image.read(&header, 0, sizeof header)) return sizeof header;
    Extent extent(sizeof header);
    extent.include(header.e_phoff, uint64_t{header.e_phnum} * sizeof(Elf64_Phdr));
    extent.include(header.e_shoff, uint64_t{header.e_shnum} * sizeof(Elf64_Shdr));
    for (uint64_t i = 0; i < header.e_shnum; ++i) {
        Elf64_Shdr section;
        if (!image.read(&section, header.e_shoff + i * sizeof section, sizeof section)) break;
        if (section.sh_type != SHT_NOBITS) extent.include(section.sh_offset, section.sh_size);
    }
    return extent.end();
}

uint64_t bundle_extent(const Image& image) {
    uint64_t at = bundle_magic.size(), count = 0;
    if (!image.read(&count, at, sizeof count)) return at;
    at += sizeof count;
    Extent extent(at);
    for (uint64_t i = 0; i < std::min(count, max_bundle_entries); ++i) {
        uint64_t entry[3];  // offset, size, length of the identifier that follows
        if (!image.read(entry, at, sizeof entry) || entry[2] > max_image_bytes) break;
        at += sizeof entry + entry[2];
        extent.include(0, at);
        extent.include(entry[0], entry[1]);
    }
    return extent.end();
}

}  // namespace

std::vector<uint8_t> copy_image(const void* pointer) {
    const Image image(pointer);
    char magic[bundle_magic.size()] = {};
    uint64_t extent = sizeof(Elf64_Ehdr);
    if (image.read(magic, 0, sizeof magic)) {
        if (std::memcmp(magic, ELFMAG, SELFMAG) == 0) extent = elf_extent(image);
        if (std::string_view(magic, sizeof magic) == bundle_magic) extent = bundle_extent(image);
    }
    std::vector<uint8_t> bytes;
    while (bytes.size() < extent) {
        const uint64_t have = bytes.size(), part = std::min(chunk_bytes, extent - have);
        bytes.resize(have + part);
        if (image.read(bytes.data() + have, have, part)) continue;
        bytes.resize(have);
        // The last bytes that can be read, one page after the other.
        constexpr uint64_t page = 4096;
        for (uint64_t step = page; step > 0 && bytes.size() < extent;) {
            const uint64_t begin = bytes.size();
            const uint64_t next = std::min(step, extent - begin);
            bytes.resize(begin + next);
            if (image.read(bytes.data() + begin, begin, next)) continue;
            bytes.resize(begin);
            step /= 2;
        }
        break;
    }
    return bytes;
}

}  // namespace hkc::emu
