#include "isa/opcodes.h"

#include <array>
#include <cstdlib>
#include <string_view>
#include <vector>

namespace hkc::emu {
namespace {

struct Row {
    Family family;
    uint16_t opcode;
    const char* mnemonic;
    uint8_t archs;
    const char* shape;
};

constexpr uint8_t gfx942 = 1, gfx950 = 2, both = 3;

#define HKC_OPCODE(family, opcode, mnemonic, archs, shape) {Family::family, opcode, mnemonic, archs, shape},
constexpr Row rows[] = {
#include "isa/buffer.inc"
#include "isa/compare.inc"
#include "isa/flat.inc"
#include "isa/lds.inc"
#include "isa/packed.inc"
#include "isa/scalar.inc"
#include "isa/vector12.inc"
#include "isa/vector3.inc"
};
#undef HKC_OPCODE

OperandClass class_of(char letter) {
    switch (letter) {
        case 'f':
        case 'd':
            return OperandClass::floating;
        case 'i':
            return OperandClass::signed_int;
        case 'u':
            return OperandClass::unsigned_int;
        default:
            return OperandClass::bits;
    }
}

OperandShape parse_operand(std::string_view text) {
    struct Named {
        std::string_view text;
        OperandShape shape;
    };
    static constexpr Named named[] = {
        {"p16", {OperandClass::packed16, 32}},  {"q64", {OperandClass::packed32, 64}},
        {"m64", {OperandClass::lane_mask, 64}}, {"s32", {OperandClass::scalar_dst, 32}},
        {"a32", {OperandClass::agpr, 32}},      {"lit", {OperandClass::literal, 32}},
        {"simm", {OperandClass::simm16, 16}},   {"label", {OperandClass::label, 16}},
        {"hwreg", {OperandClass::hwreg, 16}},   {"dst32", {OperandClass::scalar_of_dst, 32}},
        {"none", {OperandClass::none, 0}}};
    for (const Named& n : named)
        if (text == n.text) return n.shape;
    OperandShape shape;
    if (text.starts_with('x')) {
        shape.read_write = true;
        text.remove_prefix(1);
    }
    if (text.starts_with('p')) {
        shape.keeps_half = true;
        text.remove_prefix(1);
    }
    shape.kind = class_of(text.empty() ? 'b' : text[0]);
    while (!text.empty() && (text[0] < '0' || text[0] > '9')) text.remove_prefix(1);
    for (char c : text) shape.bits = uint16_t(shape.bits * 10 + (c - '0'));
    return shape;
}

OpcodeInfo parse_row(const Row& row, uint16_t index) {
    OpcodeInfo info;
    info.family = row.family;
    info.opcode = row.opcode;
    info.archs = row.archs;
    info.mnemonic = row.mnemonic;
    info.index = index;
    std::string_view shape = row.shape;
    size_t equals = shape.find('=');
    std::string_view left = shape.substr(0, equals), right = shape.substr(equals + 1);
    if (!left.empty()) {
        size_t comma = left.find(',');
        info.dst = parse_operand(left.substr(0, comma));
        if (comma != left.npos) info.sdst = parse_operand(left.substr(comma + 1));
    }
    while (!right.empty()) {
        size_t space = right.find(' ');
        info.src[info.sources++] = parse_operand(right.substr(0, space));
        right = space == right.npos ? std::string_view{} : right.substr(space + 1);
    }
    return info;
}

class Tables {
 public:
    Tables() {
        infos_.reserve(std::size(rows));
        for (const Row& row : rows) infos_.push_back(parse_row(row, uint16_t(infos_.size())));
        for (const OpcodeInfo& info : infos_) insert(info);
    }

    const OpcodeInfo* find(Family family, unsigned opcode, Arch arch) const {
        if (opcode >= slots) return nullptr;
        return by_slot_[size_t(arch)][size_t(family)][opcode];
    }
    const std::vector<OpcodeInfo>& infos() const { return infos_; }

 private:
    static constexpr unsigned slots = 1024;

    void put(const OpcodeInfo& info, Family family, unsigned opcode) {
        for (unsigned arch = 0; arch < 2; ++arch)
            if (info.archs >> arch & 1) by_slot_[arch][size_t(family)][opcode] = &info;
    }

    void insert(const OpcodeInfo& info) {
        switch (info.family) {
            case Family::VOP1_E32:
                return put(info, Family::VOP1, info.opcode);
            case Family::VOP2_E32:
                return put(info, Family::VOP2, info.opcode);
            case Family::VOP1:  // The offsets of promoted opcodes: CDNA3 ISA guide, "VOP3A".
                put(info, Family::VOP3, info.opcode + 0x140u);
                break;
            case Family::VOP2:
                put(info, Family::VOP3, info.opcode + 0x100u);
                break;
            case Family::VOPC:
                put(info, Family::VOP3, info.opcode);
                break;
            case Family::MAI:
                return put(info, Family::VOP3P, info.opcode);
            default:
                break;
        }
        put(info, info.family, info.opcode);
    }

    std::vector<OpcodeInfo> infos_;
    std::array<std::array<std::array<const OpcodeInfo*, slots>, size_t(Family::invalid)>, 2> by_slot_{};
};

const Tables& tables() {
    static const Tables instance;
    return instance;
}

}  // namespace

const OpcodeInfo* find_opcode(Family family, unsigned opcode, Arch arch) {
    return tables().find(family, opcode, arch);
}

unsigned opcode_count() {
    return unsigned(tables().infos().size());
}

const OpcodeInfo& opcode_at(unsigned index) {
    return tables().infos()[index];
}

}  // namespace hkc::emu
