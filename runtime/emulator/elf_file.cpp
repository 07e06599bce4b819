#include "elf_file.h"

#include <algorithm>

namespace hkc::emu {

namespace {

// LLVM AMDGPUUsage, "ELF Code Object": header values that <elf.h> does not name.
constexpr uint8_t osabi_amdgpu_hsa = 64;
constexpr uint16_t machine_amdgpu = 224;
constexpr uint8_t abi_version_v4 = 2, abi_version_v6 = 4;
constexpr uint32_t flags_machine = 0xff;
constexpr uint32_t machine_gfx942 = 0x4c, machine_gfx950 = 0x4f, machine_gfx9_4_generic = 0x5f;
constexpr uint32_t flags_xnack = 0x300, xnack_on = 0x300;
constexpr uint32_t flags_sramecc = 0xc00, sramecc_off = 0x800;

// The machines a code object is likely made for by mistake, to name them in the error.
constexpr struct {
    uint32_t machine;
    const char* name;
} machine_names[] = {
    {0x2c, "gfx900"},  {0x2f, "gfx906"},  {0x30, "gfx908"},  {0x3f, "gfx90a"},  {0x40, "gfx940"},
    {0x4b, "gfx941"},  {0x4c, "gfx942"},  {0x4f, "gfx950"},  {0x33, "gfx1010"}, {0x36, "gfx1030"},
    {0x41, "gfx1100"}, {0x46, "gfx1101"}, {0x47, "gfx1102"}, {0x48, "gfx1200"}, {0x4e, "gfx1201"},
};

std::string machine_name(uint32_t machine) {
    for (const auto& known : machine_names) {
        if (known.machine == machine) return known.name;
    }
    return "machine " + std::to_string(machine);
}

template <typename T>
std::vector<T> read_table(SectionBytes table) {
    std::vector<T> entries(table.size / sizeof(T));
    if (!entries.empty()) std::memcpy(entries.data(), table.data, entries.size() * sizeof(T));
    return entries;
}

constexpr uint64_t align4(uint64_t value) {
    return (value + 3) & ~uint64_t{3};
}

}  // namespace

ElfFile::ElfFile(const uint8_t* data, size_t size, Arch device) : data_(data), size_(size) {
    if (size < SELFMAG || std::memcmp(data, ELFMAG, SELFMAG) != 0) {
        throw LoadError("the code object is not an ELF file");
    }
    if (size < sizeof header_) {
        throw LoadError("the code object is truncated: " + std::to_string(size) +
                        " bytes, an ELF header needs 64");
    }
    std::memcpy(&header_, data, sizeof header_);
    check_identification(device);
    if (header_.e_phnum == 0 || header_.e_phentsize != sizeof(Elf64_Phdr)) {
        throw LoadError("the code object has no valid program headers");
    }
    segments_ = read_table<Elf64_Phdr>(
        bytes(header_.e_phoff, uint64_t{header_.e_phnum} * sizeof(Elf64_Phdr), "program headers"));
    if (header_.e_shnum == 0 || header_.e_shentsize != sizeof(Elf64_Shdr)) {
        throw LoadError("the code object has no valid section headers");
    }
    sections_ = read_table<Elf64_Shdr>(
        bytes(header_.e_shoff, uint64_t{header_.e_shnum} * sizeof(Elf64_Shdr), "section headers"));
}

void ElfFile::check_identification(Arch device) const {
    const unsigned char* ident = header_.e_ident;
    if (ident[EI_CLASS] != ELFCLASS64 || ident[EI_DATA] != ELFDATA2LSB) {
        throw LoadError("the code object is not a 64-bit little-endian ELF file");
    }
    if (header_.e_machine != machine_amdgpu) {
        throw LoadError(
            "the ELF file is for machine " + std::to_string(header_.e_machine) + ", not AMDGPU (224)",
            LoadFailure::wrong_target);
    }
    if (ident[EI_OSABI] != osabi_amdgpu_hsa) {
        throw LoadError(
            "the code object's OS ABI is " + std::to_string(ident[EI_OSABI]) + ", not AMDGPU_HSA (64)",
            LoadFailure::wrong_target);
    }
    if (ident[EI_ABIVERSION] < abi_version_v4 || ident[EI_ABIVERSION] > abi_version_v6) {
        throw LoadError("the code object's ABI version is " + std::to_string(ident[EI_ABIVERSION]) +
                            "; versions 2 to 4 (code object 4 to 6) are supported",
                        LoadFailure::wrong_target);
    }
    if (header_.e_type != ET_DYN) {
        throw LoadError(header_.e_type == ET_REL ? "the code object is not linked (a relocatable object)"
                                                 : "the code object is not a shared object");
    }
    const uint32_t machine = header_.e_flags & flags_machine;
    const uint32_t wanted = device == Arch::gfx942 ? machine_gfx942 : machine_gfx950;
    if (machine != wanted && machine != machine_gfx9_4_generic) {
        throw LoadError(
            "the code object is for " + machine_name(machine) + ", the device is " + arch_name(device),
            LoadFailure::wrong_target);
    }
    if ((header_.e_flags & flags_xnack) == xnack_on) {
        throw LoadError("the code object needs xnack+, the device is xnack-", LoadFailure::wrong_target);
    }
    if ((header_.e_flags & flags_sramecc) == sramecc_off) {
        throw LoadError("the code object needs sramecc-, the device is sramecc+", LoadFailure::wrong_target);
    }
}

SectionBytes ElfFile::bytes(uint64_t offset, uint64_t size, const char* what) const {
    if (offset > size_ || size > size_ - offset) {
        throw LoadError("the code object is truncated or damaged: its " + std::string(what) +
                        " reach past the end");
    }
    return {data_ + offset, static_cast<size_t>(size)};
}

SectionBytes ElfFile::section_bytes(const Elf64_Shdr& section, const char* what) const {
    if (section.sh_type == SHT_NOBITS) return {};
    return bytes(section.sh_offset, section.sh_size, what);
}

std::string_view ElfFile::section_name(const Elf64_Shdr& section) const {
    if (header_.e_shstrndx >= sections_.size()) return {};
    const SectionBytes names = section_bytes(sections_[header_.e_shstrndx], "section names");
    if (section.sh_name >= names.size) return {};
    const char* name = reinterpret_cast<const char*>(names.data) + section.sh_name;
    return {name, strnlen(name, names.size - section.sh_name)};
}

SectionBytes ElfFile::named_section(std::string_view name) const {
    for (const Elf64_Shdr& section : sections_) {
        if ((section.sh_flags & SHF_COMPRESSED) == 0 && section_name(section) == name) {
            return section_bytes(section, "sections");
        }
    }
    return {};
}

std::vector<ElfSymbol> ElfFile::symbols(const Elf64_Shdr& table) const {
    if (table.sh_entsize != sizeof(Elf64_Sym) || table.sh_link >= sections_.size()) {
        throw LoadError("the code object's symbol table is damaged");
    }
    const SectionBytes names = section_bytes(sections_[table.sh_link], "symbol names");
    std::vector<ElfSymbol> result;
    for (const Elf64_Sym& entry : read_table<Elf64_Sym>(section_bytes(table, "symbols"))) {
        if (entry.st_name >= names.size && entry.st_name != 0) {
            throw LoadError("the code object's symbol table is damaged: a name is out of range");
        }
        const char* name = reinterpret_cast<const char*>(names.data) + entry.st_name;
        const size_t left = names.size - std::min<size_t>(entry.st_name, names.size);
        result.push_back(
            {left == 0 ? std::string_view() : std::string_view(name, strnlen(name, left)), entry});
    }
    return result;
}

SectionBytes ElfFile::note(std::string_view owner, uint32_t type) const {
    for (const Elf64_Phdr& segment : segments_) {
        if (segment.p_type != PT_NOTE) continue;
        const SectionBytes found = find_note(bytes(segment.p_offset, segment.p_filesz, "notes"), owner, type);
        if (found.size != 0) return found;
    }
    for (const Elf64_Shdr& section : sections_) {
        if (section.sh_type != SHT_NOTE) continue;
        const SectionBytes found = find_note(section_bytes(section, "notes"), owner, type);
        if (found.size != 0) return found;
    }
    return {};
}

SectionBytes ElfFile::find_note(SectionBytes notes, std::string_view owner, uint32_t type) const {
    uint64_t at = 0;
    while (notes.size - at >= sizeof(Elf64_Nhdr)) {
        Elf64_Nhdr note;
        std::memcpy(&note, notes.data + at, sizeof note);
        const uint64_t name = at + sizeof note;
        const uint64_t descriptor = name + align4(note.n_namesz);
        const uint64_t end = descriptor + align4(note.n_descsz);
        if (descriptor + note.n_descsz > notes.size) break;
        const auto* text = reinterpret_cast<const char*>(notes.data + name);
        if (note.n_type == type && std::string_view(text, strnlen(text, note.n_namesz)) == owner) {
            return {notes.data + descriptor, note.n_descsz};
        }
        at = std::min<uint64_t>(end, notes.size);
    }
    return {};
}

}  // namespace hkc::emu
