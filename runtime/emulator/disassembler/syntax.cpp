#include "disassembler/syntax.h"

#include <algorithm>
#include <charconv>
#include <unordered_map>

namespace hkc::emu::syntax {
namespace {

struct FieldRow {
    const char* name;
    const char* parts;
    unsigned added, scale, flipped;
};
struct ClassRow {
    unsigned dwords;
    const char* codes;
    char constants;
    Literal literal;
};
struct ShapeRow {
    unsigned dwords;
    std::array<uint64_t, 2> mask, value, ignored;
    const char *suffix, *operands, *modifiers;
};
struct SlotRow {
    Family family;
    uint16_t opcode;
    uint8_t archs;
    const char* shapes;
};

constexpr uint8_t gfx942 = 1, gfx950 = 2, both = 3;

#define HKC_FIELD(name, parts, added, scale, flipped) {#name, parts, added, scale, flipped},
#define HKC_CLASS(dwords, codes, constants, literal)
#define HKC_SHAPE(dwords, mask, value, ignored, suffix, operands, modifiers)
#define HKC_SHAPE_WIDE(dwords, mask, value, ignored, mask1, value1, ignored1, suffix, operands, modifiers)
#define HKC_SLOT(family, opcode, archs, shapes)
constexpr FieldRow field_rows[] = {
#include "isa/syntax.inc"
};
#undef HKC_FIELD
#undef HKC_CLASS
#define HKC_FIELD(name, parts, added, scale, flipped)
#define HKC_CLASS(dwords, codes, constants, literal) {dwords, codes, constants, Literal::literal},
constexpr ClassRow class_rows[] = {
#include "isa/syntax.inc"
};
#undef HKC_CLASS
#undef HKC_SHAPE
#undef HKC_SHAPE_WIDE
#define HKC_CLASS(dwords, codes, constants, literal)
#define HKC_SHAPE(dwords, mask, value, ignored, suffix, operands, modifiers) \
    {dwords, {mask, 0}, {value, 0}, {ignored, 0}, suffix, operands, modifiers},
#define HKC_SHAPE_WIDE(dwords, mask, value, ignored, mask1, value1, ignored1, suffix, operands, modifiers) \
    {dwords, {mask, mask1}, {value, value1}, {ignored, ignored1}, suffix, operands, modifiers},
constexpr ShapeRow shape_rows[] = {
#include "isa/syntax.inc"
};
#undef HKC_SHAPE
#undef HKC_SHAPE_WIDE
#undef HKC_SLOT
#define HKC_SHAPE(dwords, mask, value, ignored, suffix, operands, modifiers)
#define HKC_SHAPE_WIDE(dwords, mask, value, ignored, mask1, value1, ignored1, suffix, operands, modifiers)
#define HKC_SLOT(family, opcode, archs, shapes) {Family::family, opcode, archs, shapes},
constexpr SlotRow slot_rows[] = {
#include "isa/syntax.inc"
};
#undef HKC_FIELD
#undef HKC_CLASS
#undef HKC_SHAPE
#undef HKC_SHAPE_WIDE
#undef HKC_SLOT

/// Calls `use` with each word of a list that blanks separate.
template <typename Use>
void each_word(std::string_view text, Use use) {
    while (!text.empty()) {
        size_t blank = std::min(text.find(' '), text.size());
        if (blank) use(text.substr(0, blank));
        text.remove_prefix(std::min(blank + 1, text.size()));
    }
}

unsigned number(std::string_view text) {
    unsigned value = 0;
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
}

Field parse_field(const FieldRow& row) {
    Field field{row.name, {}, row.added, row.scale, row.flipped};
    each_word(row.parts, [&](std::string_view part) {
        size_t comma = part.find(',');
        field.parts.push_back({uint8_t(number(part)), uint8_t(number(part.substr(comma + 1)))});
    });
    return field;
}

/// Codes as "0-3 8-12e": 0 to 3, and the even ones from 8 to 12.
CodeClass parse_class(const ClassRow& row) {
    CodeClass codes{row.dwords, {}, row.constants, row.literal};
    each_word(row.codes, [&](std::string_view range) {
        size_t dash = range.find('-');
        unsigned first = number(range), last = dash == range.npos ? first : number(range.substr(dash + 1));
        for (unsigned code = first; code <= last; code += range.back() == 'e' ? 2 : 1) codes.valid.set(code);
    });
    return codes;
}

class Tables {
 public:
    Tables() {
        for (const FieldRow& row : field_rows) fields_.push_back(parse_field(row));
        for (const ClassRow& row : class_rows) classes_.push_back(parse_class(row));
        for (const ShapeRow& row : shape_rows) shapes_.push_back(parse_shape(row));
        for (const SlotRow& row : slot_rows)
            for (unsigned arch = 0; arch < 2; ++arch)
                if (row.archs >> arch & 1) add_slot(row, arch);
    }

    const std::vector<const Shape*>& find(Family family, unsigned opcode, Arch arch) const {
        static const std::vector<const Shape*> none;
        auto found = slots_[size_t(arch)].find(key(family, opcode));
        return found == slots_[size_t(arch)].end() ? none : found->second;
    }

 private:
    static unsigned key(Family family, unsigned opcode) { return unsigned(family) << 16 | opcode; }

    Shape parse_shape(const ShapeRow& row) const {
        Shape shape{row.dwords, row.mask, row.value, row.ignored, row.suffix, {}, {}};
        each_word(row.operands, [&](std::string_view item) {
            size_t colon = item.find(':');
            if (item[0] == '=' || item[0] == '#')
                return shape.operands.push_back({nullptr, nullptr, nullptr, item});
            auto field = std::find_if(fields_.begin(), fields_.end(),
                                      [&](const Field& f) { return f.name == item.substr(0, colon); });
            size_t slash = item.find('/');
            const CodeClass* decoded =
                slash == item.npos ? nullptr : &classes_[number(item.substr(slash + 1))];
            shape.operands.push_back({&*field, &classes_[number(item.substr(colon + 1))], decoded, {}});
        });
        each_word(row.modifiers, [&](std::string_view item) {
            size_t colon = std::min(item.find(':'), item.size());
            shape.modifiers.push_back(
                {item.substr(0, colon), colon < item.size() ? number(item.substr(colon + 1)) : 0});
        });
        return shape;
    }

    void add_slot(const SlotRow& row, unsigned arch) {
        auto& list = slots_[arch][key(row.family, row.opcode)];
        each_word(row.shapes, [&](std::string_view shape) { list.push_back(&shapes_[number(shape)]); });
    }

    std::vector<Field> fields_;
    std::vector<CodeClass> classes_;
    std::vector<Shape> shapes_;
    std::array<std::unordered_map<unsigned, std::vector<const Shape*>>, 2> slots_;
};

}  // namespace

unsigned Field::code(const Word& word) const {
    unsigned raw = 0, at = 0;
    for (const Part& part : parts) {
        if (part.width) raw |= word.bits(part.low, part.width) << at;
        at += part.width ? part.width : 1;
    }
    return (raw ^ flipped) * scale + added;
}

bool Shape::has(std::string_view modifier) const {
    return std::any_of(modifiers.begin(), modifiers.end(),
                       [&](const Modifier& m) { return m.name == modifier; });
}

const std::vector<const Shape*>& shapes_of(Family family, unsigned opcode, Arch arch) {
    static const Tables tables;
    return tables.find(family, opcode, arch);
}

}  // namespace hkc::emu::syntax
