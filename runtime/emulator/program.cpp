// The decoded text of a code object.
#include <algorithm>
#include <mutex>
#include <string_view>

#include "bindings.h"
#include "decoder.h"

namespace hkc::emu {

const uint32_t* ConstantPool::row(uint64_t value) {
    std::unique_ptr<Row>& row = rows_[value];
    if (!row) {
        row = std::make_unique<Row>();
        for (unsigned i = 0; i < 64; ++i) {
            row->dwords[i] = uint32_t(value);
            row->dwords[64 + i] = uint32_t(value >> 32);
        }
    }
    return row->dwords;
}

namespace {

/// Bytes of the smallest LDS access of an opcode; 4 if it has none.
unsigned lds_access_bytes(const OpcodeInfo& info) {
    std::string_view name = info.mnemonic;
    bool lds = info.family == Family::DS || name.find("_lds_") != name.npos;
    if (!lds || name.find("permute") != name.npos) return 4;
    for (std::string_view byte : {"_u8", "_i8", "_b8", "byte"})
        if (name.find(byte) != name.npos && name.find("_tr_") == name.npos) return 1;
    for (std::string_view half : {"_u16", "_i16", "_b16", "short"})
        if (name.find(half) != name.npos && name.find("_tr_") == name.npos) return 2;
    return 4;
}

/// The same for global memory. Atomics are no plain accesses, and scalar loads and the rest take whole dwords.
unsigned global_access_bytes(const OpcodeInfo& info) {
    std::string_view name = info.mnemonic;
    bool global =
        info.family == Family::FLAT || info.family == Family::GLOBAL || info.family == Family::MUBUF;
    if (name.find("_format_") != name.npos) return 1;  // Whatever the format is.
    if (!global || name.find("atomic") != name.npos) return 4;
    return name.find("byte") != name.npos ? 1 : name.find("short") != name.npos ? 2 : 4;
}

std::shared_ptr<Program> decode_text(const CodeObject& object) {
    auto program = std::make_shared<Program>();
    program->base = object.text_begin();
    size_t count = (object.text_end() - object.text_begin()) / 4;
    auto words = reinterpret_cast<const uint32_t*>(object.text_begin());
    constexpr size_t longest = 4;
    program->code.resize(count + longest);
    for (size_t i = 0; i < count; ++i) {
        Instruction& in = program->code[i];
        in = decode(words + i, count - i, object.arch(), program->constants);
        if (in.info) program->lds_granule = std::min(program->lds_granule, lds_access_bytes(*in.info));
        if (in.info)
            program->global_granule = std::min(program->global_granule, global_access_bytes(*in.info));
        bool branches =
            in.info && in.info->sources && in.info->src[in.info->sources - 1].kind == OperandClass::label;
        int64_t target = int64_t(i) + 1 + in.imm;
        if (branches && target >= 0 && target < int64_t(count)) in.target = &program->code[size_t(target)];
    }
    for (size_t i = count; i < count + longest; ++i) {
        program->code[i].address = program->base + 4 * i;
        program->code[i].run[0] = program->code[i].run[1] = unknown_opcode;
    }
    return program;
}

}  // namespace

std::shared_ptr<const Program> program_of(const CodeObject& object) {
    static std::mutex mutex;
    std::lock_guard lock(mutex);
    if (!object.decoded) object.decoded = decode_text(object);
    return std::static_pointer_cast<const Program>(object.decoded);
}

}  // namespace hkc::emu
