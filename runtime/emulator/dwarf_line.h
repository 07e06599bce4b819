// Reader of DWARF .debug_line (versions 4 and 5): which source line an instruction came from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hkc::emu {

struct SourceLine {
    std::string_view
        file;  ///< Directory and name as the compiler wrote them; lives as long as its LineTable.
    uint32_t line = 0;
    uint32_t column = 0;
};

/// Bytes of one debug section; empty if the object has none.
struct SectionBytes {
    const uint8_t* data = nullptr;
    size_t size = 0;
};

class LineTable {
 public:
    /// Reads every line program of `.debug_line`. A damaged section gives the rows read up to the damage.
    static LineTable parse(SectionBytes debug_line, SectionBytes debug_str, SectionBytes debug_line_str);

    /// The row that covers `address` (an ELF virtual address); nullopt outside every sequence or for line 0.
    std::optional<SourceLine> find(uint64_t address) const;

    bool empty() const { return rows_.empty(); }

 private:
    friend class LineProgram;
    struct Row {
        uint64_t address = 0;
        uint32_t file = 0;  ///< Index into files_.
        uint32_t line = 0, column = 0;
        bool end_sequence = false;
    };
    std::vector<Row> rows_;  ///< Sorted by address.
    std::vector<std::string> files_;
};

}  // namespace hkc::emu
