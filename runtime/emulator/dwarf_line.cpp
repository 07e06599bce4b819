#include "dwarf_line.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace hkc::emu {

namespace {

// Names of the DWARF 5 standard (section 7): content types, forms and opcodes of a line program.
enum : uint64_t { LNCT_path = 1, LNCT_directory_index = 2 };
enum : uint64_t {
    FORM_block2 = 0x03,
    FORM_block4 = 0x04,
    FORM_data2 = 0x05,
    FORM_data4 = 0x06,
    FORM_data8 = 0x07,
    FORM_string = 0x08,
    FORM_block = 0x09,
    FORM_block1 = 0x0a,
    FORM_data1 = 0x0b,
    FORM_strp = 0x0e,
    FORM_udata = 0x0f,
    FORM_data16 = 0x1e,
    FORM_line_strp = 0x1f,
};
enum : uint8_t {
    LNS_copy = 1,
    LNS_advance_pc = 2,
    LNS_advance_line = 3,
    LNS_set_file = 4,
    LNS_set_column = 5,
    LNS_const_add_pc = 8,
    LNS_fixed_advance_pc = 9,
};
constexpr size_t max_files = 65536, max_path = 4096;
enum : uint8_t { LNE_end_sequence = 1, LNE_set_address = 2 };

// Little-endian reads that never leave the bytes; after a read past the end, ok() is false and reads give 0.
class Cursor {
 public:
    Cursor() = default;
    Cursor(const uint8_t* data, size_t size) : next_(data), end_(data + size) {}

    bool ok() const { return ok_; }
    size_t left() const { return ok_ ? static_cast<size_t>(end_ - next_) : 0; }

    uint64_t fixed(size_t width) {
        if (!need(width)) return 0;
        uint64_t value = 0;
        for (size_t i = 0; i < width; ++i) value |= uint64_t{next_[i]} << (8 * i);
        next_ += width;
        return value;
    }
    uint8_t byte() { return static_cast<uint8_t>(fixed(1)); }

    uint64_t uleb() {
        uint64_t value = 0;
        for (unsigned shift = 0;; shift += 7) {
            const uint8_t part = byte();
            if (shift < 64) value |= uint64_t{part & 0x7fu} << shift;
            if (!ok_ || part < 0x80) return value;
        }
    }
    int64_t sleb() {
        uint64_t value = 0;
        for (unsigned shift = 0;;) {
            const uint8_t part = byte();
            if (shift < 64) value |= uint64_t{part & 0x7fu} << shift;
            shift += 7;
            if (!ok_) return 0;
            if (part < 0x80) {
                if ((part & 0x40) != 0 && shift < 64) value |= ~uint64_t{0} << shift;
                return static_cast<int64_t>(value);
            }
        }
    }
    std::string_view string() {
        const void* zero = left() != 0 ? std::memchr(next_, 0, left()) : nullptr;
        if (zero == nullptr) {
            ok_ = false;
            return {};
        }
        const std::string_view text(reinterpret_cast<const char*>(next_));
        next_ += text.size() + 1;
        return text;
    }
    void skip(uint64_t bytes) {
        if (need(bytes)) next_ += bytes;
    }
    Cursor take(uint64_t bytes) {
        if (!need(bytes)) return {};
        const Cursor part(next_, bytes);
        next_ += bytes;
        return part;
    }

 private:
    bool need(uint64_t bytes) {
        ok_ = ok_ && bytes <= static_cast<uint64_t>(end_ - next_);
        return ok_;
    }
    const uint8_t* next_ = nullptr;
    const uint8_t* end_ = nullptr;
    bool ok_ = true;
};

std::string join(std::string_view directory, std::string_view name) {
    if (directory.empty() || name.starts_with('/')) return std::string(name);
    std::string path(directory);
    if (!path.ends_with('/')) path += '/';
    return path.append(name);
}

std::string_view section_string(SectionBytes section, uint64_t offset) {
    if (offset >= section.size) return {};
    return Cursor(section.data + offset, section.size - offset).string();
}

}  // namespace

/// One unit of .debug_line: its header, then its program.
class LineProgram {
 public:
    LineProgram(LineTable& table, Cursor unit, size_t offset_size, SectionBytes str, SectionBytes line_str)
        : table_(table), unit_(unit), offset_size_(offset_size), str_(str), line_str_(line_str) {}

    void run() {
        if (header()) program();
    }

 private:
    struct Entry {
        std::string_view path;
        uint64_t directory = 0;
    };
    struct State {
        uint64_t address = 0, file = 1, line = 1, column = 0;
    };

    bool header() {
        const uint64_t version = unit_.fixed(2);
        if (version < 2 || version > 5) return false;
        if (version == 5) unit_.skip(2);  // address size and segment selector size
        const uint64_t header_length = unit_.fixed(offset_size_);
        Cursor head = unit_.take(header_length);
        minimum_length_ = head.byte();
        if (version >= 4) head.skip(1);  // maximum operations per instruction: 1 on AMDGPU
        head.skip(1);  // default is_stmt: every row is used
        line_base_ = static_cast<int8_t>(head.byte());
        line_range_ = head.byte();
        const uint8_t opcode_base = head.byte();
        if (!head.ok() || line_range_ == 0 || opcode_base == 0) return false;
        operand_counts_.assign(opcode_base, 0);
        for (size_t i = 1; i < opcode_base; ++i) operand_counts_[i] = head.byte();
        first_file_ = version == 5 ? 0 : 1;
        version == 5 ? tables_5(head) : tables_4(head);
        return head.ok() && unit_.ok();
    }

    void tables_4(Cursor& head) {
        std::vector<std::string_view> directories(1);  // 0 is the unit's directory, named elsewhere
        while (head.ok()) {
            const std::string_view name = head.string();
            if (name.empty()) break;
            directories.push_back(name);
        }
        while (head.ok()) {
            const std::string_view name = head.string();
            if (name.empty()) break;
            const uint64_t directory = head.uleb();
            head.uleb();  // time
            head.uleb();  // size
            add_file(directory < directories.size() ? directories[directory] : "", name);
        }
    }

    void tables_5(Cursor& head) {
        const std::vector<Entry> directories = entries_5(head);
        for (const Entry& file : entries_5(head)) {
            std::string directory;
            if (file.directory < directories.size()) {
                directory = join(directories[0].path, directories[file.directory].path);
                if (file.directory == 0) directory = directories[0].path;
            }
            add_file(directory, file.path);
        }
    }

    std::vector<Entry> entries_5(Cursor& head) {
        std::vector<std::pair<uint64_t, uint64_t>> formats(head.byte());
        for (auto& [content, form] : formats) {
            content = head.uleb();
            form = head.uleb();
        }
        std::vector<Entry> entries;
        const uint64_t count = head.uleb();
        if (formats.empty()) return entries;
        for (uint64_t i = 0; i < count && head.ok(); ++i) {
            Entry entry;
            for (const auto& [content, form] : formats) {
                std::string_view text;
                const uint64_t number = attribute(head, form, text);
                if (content == LNCT_path) entry.path = text;
                if (content == LNCT_directory_index) entry.directory = number;
            }
            if (head.ok()) entries.push_back(entry);
            if (head.left() == 0) break;
        }
        return entries;
    }

    // Reads one attribute: a number is returned, a string goes to `text`, other data is skipped.
    uint64_t attribute(Cursor& head, uint64_t form, std::string_view& text) {
        switch (form) {
            case FORM_string:
                text = head.string();
                return 0;
            case FORM_line_strp:
                text = section_string(line_str_, head.fixed(offset_size_));
                return 0;
            case FORM_strp:
                text = section_string(str_, head.fixed(offset_size_));
                return 0;
            case FORM_data1:
                return head.fixed(1);
            case FORM_data2:
                return head.fixed(2);
            case FORM_data4:
                return head.fixed(4);
            case FORM_data8:
                return head.fixed(8);
            case FORM_udata:
                return head.uleb();
            case FORM_data16:
                head.skip(16);
                return 0;
            case FORM_block:
                head.skip(head.uleb());
                return 0;
            case FORM_block1:
                head.skip(head.fixed(1));
                return 0;
            case FORM_block2:
                head.skip(head.fixed(2));
                return 0;
            case FORM_block4:
                head.skip(head.fixed(4));
                return 0;
            default:
                head.skip(~uint64_t{0});  // unknown size: the rest can't be read
                return 0;
        }
    }

    void add_file(std::string_view directory, std::string_view name) {
        // Limits that no compiler reaches keep a damaged section from asking for memory without end.
        if (table_.files_.size() >= max_files || directory.size() + name.size() > max_path) return;
        files_.push_back(static_cast<uint32_t>(table_.files_.size()));
        table_.files_.push_back(join(directory, name));
    }

    void program() {
        State state;
        while (unit_.ok() && unit_.left() > 0) {
            const uint8_t opcode = unit_.byte();
            if (opcode >= operand_counts_.size()) {
                const unsigned adjusted = opcode - static_cast<unsigned>(operand_counts_.size());
                state.address += uint64_t{adjusted / line_range_} * minimum_length_;
                state.line +=
                    static_cast<uint64_t>(static_cast<int64_t>(line_base_) + adjusted % line_range_);
                emit(state, false);
            } else if (opcode == 0) {
                extended(state);
            } else {
                standard(state, opcode);
            }
        }
    }

    void standard(State& state, uint8_t opcode) {
        switch (opcode) {
            case LNS_copy:
                return emit(state, false);
            case LNS_advance_pc:
                state.address += unit_.uleb() * minimum_length_;
                return;
            case LNS_advance_line:
                state.line += static_cast<uint64_t>(unit_.sleb());
                return;
            case LNS_set_file:
                state.file = unit_.uleb();
                return;
            case LNS_set_column:
                state.column = unit_.uleb();
                return;
            case LNS_const_add_pc:
                state.address += (255 - operand_counts_.size()) / line_range_ * minimum_length_;
                return;
            case LNS_fixed_advance_pc:
                state.address += unit_.fixed(2);
                return;
            default:  // statement flags, and opcodes of later versions: the header tells how many operands
                for (unsigned i = 0; i < operand_counts_[opcode]; ++i) unit_.uleb();
        }
    }

    void extended(State& state) {
        Cursor body = unit_.take(unit_.uleb());
        const uint8_t opcode = body.byte();
        if (!body.ok()) return;
        if (opcode == LNE_end_sequence) {
            emit(state, true);
            state = State{};
        } else if (opcode == LNE_set_address && body.left() <= 8) {
            state.address = body.fixed(body.left());
        }
    }

    void emit(const State& state, bool end_sequence) {
        LineTable::Row row;
        const uint64_t index = state.file - first_file_;
        const bool known = index < files_.size();
        row.address = state.address;
        row.file = known ? files_[index] : 0;
        row.line = known && state.line <= UINT32_MAX ? static_cast<uint32_t>(state.line) : 0;
        row.column = state.column <= UINT32_MAX ? static_cast<uint32_t>(state.column) : 0;
        row.end_sequence = end_sequence;
        table_.rows_.push_back(row);
    }

    LineTable& table_;
    Cursor unit_;
    size_t offset_size_;
    SectionBytes str_, line_str_;
    uint8_t minimum_length_ = 1, line_range_ = 1;
    int8_t line_base_ = 0;
    uint64_t first_file_ = 1;
    std::vector<uint8_t> operand_counts_;  ///< Indexed by standard opcode; its size is opcode_base.
    std::vector<uint32_t> files_;  ///< The unit's files as indices into the table's.
};

LineTable LineTable::parse(SectionBytes debug_line, SectionBytes debug_str, SectionBytes debug_line_str) {
    LineTable table;
    Cursor section(debug_line.data, debug_line.size);
    while (section.left() >= 4) {
        size_t offset_size = 4;
        uint64_t length = section.fixed(4);
        if (length == 0xffffffff) {  // the 64-bit format
            offset_size = 8;
            length = section.fixed(8);
        }
        const Cursor unit = section.take(length);
        if (!section.ok()) break;
        LineProgram(table, unit, offset_size, debug_str, debug_line_str).run();
        // Sequences need not be in order of address: a sequence that ends where another begins sorts first.
    }
    std::stable_sort(table.rows_.begin(), table.rows_.end(), [](const Row& a, const Row& b) {
        return a.address != b.address ? a.address < b.address : a.end_sequence && !b.end_sequence;
    });
    return table;
}

std::optional<SourceLine> LineTable::find(uint64_t address) const {
    const auto above = std::upper_bound(rows_.begin(), rows_.end(), address,
                                        [](uint64_t value, const Row& row) { return value < row.address; });
    if (above == rows_.begin()) return std::nullopt;
    const Row& row = *std::prev(above);
    if (row.end_sequence || row.line == 0) return std::nullopt;
    return SourceLine{files_[row.file], row.line, row.column};
}

}  // namespace hkc::emu
