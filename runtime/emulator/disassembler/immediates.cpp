#include "disassembler/immediates.h"

#include <array>

#include "disassembler/operands.h"

namespace hkc::emu::syntax {
namespace {

/// Small numbers in decimal, others in hexadecimal.
std::string plain_number(unsigned value) {
    return value <= 64 ? std::to_string(value) : hexadecimal(value);
}

/// CDNA3 ISA guide, "S_WAITCNT": vmcnt in bits 15:14 and 3:0, expcnt 6:4, lgkmcnt 11:8.
std::string waitcnt(unsigned imm) {
    struct Counter {
        const char* name;
        unsigned value, most;
    };
    const Counter counters[] = {{"vmcnt", (imm & 15) | (imm >> 14 & 3) << 4, 63},
                                {"expcnt", imm >> 4 & 7, 7},
                                {"lgkmcnt", imm >> 8 & 15, 15}};
    bool all = true;  // Without any wait every counter is named.
    for (const Counter& c : counters) all = all && c.value == c.most;
    std::string text;
    for (const Counter& c : counters) {
        if (!all && c.value == c.most) continue;
        if (!text.empty()) text += ' ';
        text += std::string(c.name) + "(" + std::to_string(c.value) + ")";
    }
    return text;
}

constexpr const char* messages[16] = {nullptr,
                                      "MSG_INTERRUPT",
                                      "MSG_GS",
                                      "MSG_GS_DONE",
                                      "MSG_SAVEWAVE",
                                      "MSG_STALL_WAVE_GEN",
                                      "MSG_HALT_WAVES",
                                      "MSG_ORDERED_PS_DONE",
                                      "MSG_EARLY_PRIM_DEALLOC",
                                      "MSG_GS_ALLOC_REQ",
                                      "MSG_GET_DOORBELL",
                                      nullptr,
                                      nullptr,
                                      nullptr,
                                      nullptr,
                                      "MSG_SYSMSG"};
constexpr unsigned msg_gs = 2, msg_gs_done = 3, msg_sysmsg = 15;

std::string message(unsigned imm) {
    static constexpr const char* gs[] = {"GS_OP_NOP", "GS_OP_CUT", "GS_OP_EMIT", "GS_OP_EMIT_CUT"};
    static constexpr const char* sysmsg[] = {nullptr, "SYSMSG_OP_ECC_ERR_INTERRUPT", "SYSMSG_OP_REG_RD",
                                             nullptr, "SYSMSG_OP_TTRACE_PC"};
    unsigned id = imm & 15, op = imm >> 4 & 7, stream = imm >> 8 & 3;
    std::string name = messages[id] ? messages[id] : "";
    if (id == msg_gs || id == msg_gs_done) {
        bool valid = op < 4 && (op ? true : id == msg_gs_done && stream == 0);
        std::string streams = op ? ", " + std::to_string(stream) : "";
        if (valid) return "sendmsg(" + name + ", " + gs[op] + streams + ")";
    } else if (id == msg_sysmsg) {
        if (op < 5 && sysmsg[op] && stream == 0) return "sendmsg(" + name + ", " + sysmsg[op] + ")";
    } else if (!name.empty() && op == 0 && stream == 0) {
        return "sendmsg(" + name + ")";
    }
    if (imm != (id | op << 4 | stream << 8)) return std::to_string(imm);
    return "sendmsg(" + std::to_string(id) + ", " + std::to_string(op) + ", " + std::to_string(stream) + ")";
}

std::string hardware_register(unsigned imm) {
    static constexpr std::array<const char*, 25> names = {nullptr,
                                                          "HW_REG_MODE",
                                                          "HW_REG_STATUS",
                                                          "HW_REG_TRAPSTS",
                                                          "HW_REG_HW_ID",
                                                          "HW_REG_GPR_ALLOC",
                                                          "HW_REG_LDS_ALLOC",
                                                          "HW_REG_IB_STS",
                                                          nullptr,
                                                          nullptr,
                                                          nullptr,
                                                          nullptr,
                                                          nullptr,
                                                          nullptr,
                                                          nullptr,
                                                          "HW_REG_SH_MEM_BASES",
                                                          "HW_REG_TBA_LO",
                                                          "HW_REG_TBA_HI",
                                                          "HW_REG_TMA_LO",
                                                          "HW_REG_TMA_HI",
                                                          "HW_REG_XCC_ID",
                                                          "HW_REG_SQ_PERF_SNAPSHOT_DATA",
                                                          "HW_REG_SQ_PERF_SNAPSHOT_DATA1",
                                                          "HW_REG_SQ_PERF_SNAPSHOT_PC_LO",
                                                          "HW_REG_SQ_PERF_SNAPSHOT_PC_HI"};
    unsigned id = imm & 63, offset = imm >> 6 & 31, size = (imm >> 11 & 31) + 1;
    std::string name = id < names.size() && names[id] ? names[id] : std::to_string(id);
    if (offset == 0 && size == 32) return "hwreg(" + name + ")";
    return "hwreg(" + name + ", " + std::to_string(offset) + ", " + std::to_string(size) + ")";
}

/// Which operands s_set_gpr_idx_on makes relative.
std::string index_mode(unsigned imm) {
    static constexpr const char* names[] = {"SRC0", "SRC1", "SRC2", "DST"};
    if (imm >= 16) return hexadecimal(imm);
    std::string text;
    for (unsigned i = 0; i < 4; ++i)
        if (imm >> i & 1) text += (text.empty() ? "" : ",") + std::string(names[i]);
    return "gpr_idx(" + text + ")";
}

/// ds_swizzle_b32 within 32 lanes: source lane = ((lane & and) | or) ^ xor.
std::string lane_masks(unsigned offset) {
    unsigned keep = offset & 31, set = offset >> 5 & 31, flip = offset >> 10 & 31;
    auto power_of_two = [](unsigned n) { return n && !(n & (n - 1)); };
    if (keep == 31 && set == 0 && power_of_two(flip)) return "swizzle(SWAP," + std::to_string(flip) + ")";
    if (keep == 31 && set == 0 && flip && power_of_two(flip + 1))
        return "swizzle(REVERSE," + std::to_string(flip + 1) + ")";
    unsigned group = 32 - keep;
    if (group > 1 && power_of_two(group) && set < group && flip == 0)
        return "swizzle(BROADCAST," + std::to_string(group) + "," + std::to_string(set) + ")";
    std::string mask;
    for (unsigned bit = 16; bit; bit >>= 1) {
        bool zero = ((0 | set) ^ flip) & bit, one = (((bit & keep) | set) ^ flip) & bit;
        mask += zero == one ? (zero ? '1' : '0') : (one ? 'p' : 'i');
    }
    return "swizzle(BITMASK_PERM,\"" + mask + "\")";
}

}  // namespace

std::string immediate_operand(std::string_view kind, const Word& word) {
    unsigned imm = word.bits(0, 16);
    if (kind == "#waitcnt") return waitcnt(imm);
    if (kind == "#sendmsg") return message(imm);
    if (kind == "#hwreg") return hardware_register(imm);
    if (kind == "#label") return std::to_string(imm);
    if (kind == "#program_end") return imm ? std::to_string(imm) : "";
    if (kind == "#gpr_idx") return index_mode(imm);
    if (kind == "#gpr_idx8") return index_mode(imm >> 8);
    if (kind == "#number") return plain_number(imm);
    if (kind == "#hex") return hexadecimal(imm);
    if (kind == "#constant") return hexadecimal(word.bits(32, 32));
    if (kind == "#literal") return immediate_text(word.bits(32, 32));
    if (kind == "#sdata") return plain_number(word.bits(6, 7));
    int offset = int(word.bits(32, 21) << 11) >> 11;  // #offset21
    return offset < 0 ? "-" + hexadecimal(unsigned(-offset)) : hexadecimal(unsigned(offset));
}

std::string swizzle_pattern(unsigned offset) {
    unsigned high = offset & 0xe000;
    if (high == 0xe000) return "swizzle(FFT," + std::to_string(offset & 31) + ")";
    if (high == 0xc000)
        return "swizzle(ROTATE," + std::to_string(offset >> 10 & 1) + "," + std::to_string(offset >> 5 & 31) +
               ")";
    if ((offset & 0xff00) == 0x8000) {
        std::string text = "swizzle(QUAD_PERM";
        for (unsigned i = 0; i < 4; ++i) text += "," + std::to_string(offset >> (2 * i) & 3);
        return text + ")";
    }
    return offset & 0x8000 ? std::to_string(offset) : lane_masks(offset);
}

std::string buffer_format(const Word& word) {
    static constexpr const char* data[] = {"INVALID",     "8",          "16",          "8_8",
                                           "32",          "16_16",      "10_11_11",    "11_11_10",
                                           "10_10_10_2",  "2_10_10_10", "8_8_8_8",     "32_32",
                                           "16_16_16_16", "32_32_32",   "32_32_32_32", "RESERVED_15"};
    static constexpr const char* number[] = {"UNORM", "SNORM", "USCALED",    "SSCALED",
                                             "UINT",  "SINT",  "RESERVED_6", "FLOAT"};
    unsigned dfmt = word.bits(19, 4), nfmt = word.bits(23, 3);
    if (dfmt == 1 && nfmt == 0) return "";
    std::string text = "format:[";
    if (dfmt != 1) text += std::string("BUF_DATA_FORMAT_") + data[dfmt];
    if (dfmt != 1 && nfmt) text += ',';
    if (nfmt) text += std::string("BUF_NUM_FORMAT_") + number[nfmt];
    return text + "]";
}

std::string dpp_control(unsigned control, bool only_newbcast) {
    auto amount = [&](const char* name) { return std::string(name) + ":" + std::to_string(control & 15); };
    if (control >= 0x150 && control <= 0x15f) return amount("row_newbcast");
    if (only_newbcast) return "";
    if (control <= 0xff) {
        std::string text = "quad_perm:[";
        for (unsigned i = 0; i < 4; ++i) text += (i ? "," : "") + std::to_string(control >> (2 * i) & 3);
        return text + "]";
    }
    if (control > 0x100 && control <= 0x10f) return amount("row_shl");
    if (control > 0x110 && control <= 0x11f) return amount("row_shr");
    if (control > 0x120 && control <= 0x12f) return amount("row_ror");
    struct Named {
        unsigned control;
        const char* text;
    };
    static constexpr Named named[] = {
        {0x130, "wave_shl:1"}, {0x134, "wave_rol:1"},      {0x138, "wave_shr:1"},   {0x13c, "wave_ror:1"},
        {0x140, "row_mirror"}, {0x141, "row_half_mirror"}, {0x142, "row_bcast:15"}, {0x143, "row_bcast:31"}};
    for (const Named& n : named)
        if (control == n.control) return n.text;
    return "";
}

}  // namespace hkc::emu::syntax
