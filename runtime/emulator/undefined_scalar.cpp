// Checked mode: how undefined bits flow through scalar instructions.
#include <algorithm>
#include <string_view>

#include "shadow.h"

namespace hkc::emu::checker {

namespace {

uint64_t undefined_bits(const WaveShadow& s, const Operand& o) {
    if (o.kind == OperandKind::scc) return s.scc_undefined;
    if (!o.sgpr()) return 0;
    uint64_t bits = s.sgpr_undefined[o.index];
    if (o.dwords > 1) bits |= uint64_t(s.sgpr_undefined[o.index + 1]) << 32;
    return bits;
}

void set_undefined(WaveShadow& s, unsigned index, unsigned dwords, uint64_t bits) {
    s.sgpr_undefined[index] = uint32_t(bits);
    if (dwords > 1) s.sgpr_undefined[index + 1] = uint32_t(bits >> 32);
}

/// The operation between the prefix and the suffix of a mnemonic: "s_and_saveexec_b64" -> "and".
std::string_view operation_of(std::string_view name) {
    name.remove_prefix(2);
    return name.substr(0, name.find('_'));
}

/// Undefined bits of a bitwise operation: and with a known 0, or with a known 1, are known.
uint64_t logic(std::string_view op, uint64_t a, uint64_t b, uint64_t ua, uint64_t ub) {
    bool and_like = op == "and" || op == "nand" || op == "andn1" || op == "andn2";
    bool or_like = op == "or" || op == "nor" || op == "orn1" || op == "orn2";
    if (op == "andn1" || op == "orn1") a = ~a;
    if (op == "andn2" || op == "orn2") b = ~b;
    if (and_like) return (ua & (ub | b)) | (ub & (ua | a));
    if (or_like) return (ua & (ub | ~b)) | (ub & (ua | ~a));
    return ua | ub;
}

bool is_logic(std::string_view op) {
    for (std::string_view l : {"and", "or", "xor", "andn1", "andn2", "orn1", "orn2", "nand", "nor", "xnor"})
        if (op == l) return true;
    return false;
}

uint64_t shifted(std::string_view op, uint64_t undefined_a, unsigned amount, bool wide) {
    amount &= wide ? 63 : 31;
    if (op == "lshl") return undefined_a << amount;
    if (op == "lshr") return undefined_a >> amount;
    return wide ? uint64_t(int64_t(undefined_a) >> amount)
                : uint32_t(int32_t(uint32_t(undefined_a)) >> amount);
}

bool writes_scc(const OpcodeInfo& info, std::string_view op) {
    if (info.family == Family::SOPC) return true;
    std::string_view name = info.mnemonic;
    if (info.family == Family::SOPK) return op == "cmpk" || op == "addk";
    if (info.family == Family::SOP2) return !(op == "cselect" || op == "bfm" || op == "mul" || op == "pack");
    for (std::string_view plain : {"mov", "cmov", "brev", "ff0", "ff1", "flbit", "sext", "bitset0", "bitset1",
                                   "getpc", "setpc", "swappc", "bitreplicate"})
        if (op == plain) return false;
    return info.family == Family::SOP1 && name != "s_set_gpr_idx_idx";
}

struct Flowing {
    uint64_t result = 0;
    bool scc = false;
};

Flowing flow(const Wave& w, const WaveShadow& s, const Instruction& in, std::string_view op) {
    const OpcodeInfo& info = *in.info;
    uint64_t ua = undefined_bits(s, in.src[0]), ub = undefined_bits(s, in.src[1]);
    uint64_t a = read_scalar(w, in.src[0]), b = read_scalar(w, in.src[1]);
    bool wide = in.dst.dwords > 1;
    uint64_t all = wide ? ~0ull : 0xffffffff, old = undefined_bits(s, in.dst);
    if (op == "mov" || op == "not" || op == "movk") return {ua, ua != 0};
    if (op == "cselect") return {s.scc_undefined ? all : w.scc ? ua : ub, false};
    if (op == "cmov" || op == "cmovk") return {s.scc_undefined ? all : w.scc ? ua : old, false};
    if (is_logic(op)) {
        uint64_t r = logic(op, a, b, ua, ub);
        // A known bit that is set makes SCC known.
        uint64_t sure = op == "and" ? a & b & ~ua & ~ub : op == "or" ? (a & ~ua) | (b & ~ub) : 0;
        return {r, r != 0 && !sure};
    }
    if ((op == "lshl" || op == "lshr" || op == "ashr") && !ub) {
        uint64_t r = shifted(op, ua, unsigned(b), wide);
        return {r, r != 0};
    }
    if ((op == "add" || op == "sub" || op == "mul") && (ua | ub)) {
        uint64_t first = (ua | ub) & -(ua | ub);  // Bits below the first undefined one are known.
        return {all & ~(first - 1), true};
    }
    bool reads_scc = op == "addc" || op == "subb";
    bool any = ua | ub | (info.dst.read_write ? old : 0) | (reads_scc ? s.scc_undefined : 0);
    return {any ? all : 0, any};
}

/// s_*_saveexec: the destination gets EXEC, EXEC the result.
void save_exec(const Wave& w, WaveShadow& s, const Instruction& in, std::string_view op, bool keeps_old) {
    uint64_t ua = undefined_bits(s, in.src[0]);
    uint64_t old = s.sgpr_undefined[sgpr::exec] | uint64_t(s.sgpr_undefined[sgpr::exec + 1]) << 32;
    uint64_t r = logic(op, read_scalar(w, in.src[0]), w.exec(), ua, old);
    set_undefined(s, in.dst.index, 2, keeps_old ? old : r);
    set_undefined(s, sgpr::exec, 2, r);
    s.scc_undefined = r != 0;
}

/// The instructions of VGPR indexing define some bits of M0.
void set_index_fields(WaveShadow& s, const Instruction& in, std::string_view name) {
    uint32_t& m0 = s.sgpr_undefined[sgpr::m0];
    constexpr uint32_t index = 0xff, operands = 0xf000;
    if (name.ends_with("_on") || name.ends_with("_idx"))
        m0 = (m0 & ~index) | uint32_t(undefined_bits(s, in.src[0]) & index);
    if (name.ends_with("_on") || name.ends_with("_mode")) m0 &= ~operands;
}

}  // namespace

void flow_undefined_scalar(Wave& w, const Instruction& in) {
    const OpcodeInfo& info = *in.info;
    std::string_view name = info.mnemonic, op = operation_of(name);
    WaveShadow& s = shadow_of(w);
    if (name.starts_with("s_set_gpr_idx")) return set_index_fields(s, in, name);
    if (info.family == Family::SOPP || info.family == Family::SMEM) return;
    // A relative move is looked at once M0 has said what it moves.
    bool relative = name.starts_with("s_movrel");
    if (relative) {
        if (in.flags & flag_relocated)
            set_undefined(s, in.dst.index, in.dst.dwords, undefined_bits(s, in.src[0]));
        return;
    }
    if (name.find("saveexec") != name.npos) return save_exec(w, s, in, op, true);
    if (name.find("wrexec") != name.npos) return save_exec(w, s, in, op, false);
    Flowing f = flow(w, s, in, op);
    if (in.dst.kind != OperandKind::none) set_undefined(s, in.dst.index, in.dst.dwords, f.result);
    if (writes_scc(info, op)) s.scc_undefined = f.scc;
}

}  // namespace hkc::emu::checker
