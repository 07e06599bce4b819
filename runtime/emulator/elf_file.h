// Bounds-checked view of an ELF64 AMDGPU shared object.
#pragma once

#include <elf.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "code_object.h"

namespace hkc::emu {

/// Thrown inside the loader only; CodeObject::load turns it into its error text.
struct LoadError : std::runtime_error {
    LoadError(const std::string& message, LoadFailure why = LoadFailure::invalid)
        : std::runtime_error(message), failure(why) {}
    LoadFailure failure;
};

struct ElfSymbol {
    std::string_view name;
    Elf64_Sym entry;
};

class ElfFile {
 public:
    /// Checks identification, target and the header tables. Throws LoadError.
    ElfFile(const uint8_t* data, size_t size, Arch device);

    const std::vector<Elf64_Phdr>& segments() const { return segments_; }
    const std::vector<Elf64_Shdr>& sections() const { return sections_; }
    std::string_view section_name(const Elf64_Shdr& section) const;

    /// The file's bytes at [offset, offset + size). Throws LoadError, naming `what`, if the file is shorter.
    SectionBytes bytes(uint64_t offset, uint64_t size, const char* what) const;
    SectionBytes section_bytes(const Elf64_Shdr& section, const char* what) const;
    /// The bytes of a section by name; empty if there is none or it is compressed.
    SectionBytes named_section(std::string_view name) const;

    /// A symbol table's entries with their names. Throws LoadError on a damaged table.
    std::vector<ElfSymbol> symbols(const Elf64_Shdr& table) const;

    /// The descriptor of the first note of this owner and type; empty if there is none.
    SectionBytes note(std::string_view owner, uint32_t type) const;

 private:
    void check_identification(Arch device) const;
    SectionBytes find_note(SectionBytes notes, std::string_view owner, uint32_t type) const;

    const uint8_t* data_;
    size_t size_;
    Elf64_Ehdr header_{};
    std::vector<Elf64_Phdr> segments_;
    std::vector<Elf64_Shdr> sections_;
};

}  // namespace hkc::emu
