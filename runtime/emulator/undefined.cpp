// Checked mode: how undefined bytes flow through vector instructions.
//
// Nothing is reported here: compilers move, merge and mask undefined values freely. Only what reaches an address, a branch,
// stored data or an MFMA is reported (checker_registers.cpp), so the rules err towards "defined" only where the bits
// of the result are.
#include <algorithm>
#include <bit>
#include <string_view>

#include "dpp.h"
#include "shadow.h"

namespace hkc::emu::checker {

uint64_t undefined_lanes(const Planes& p) {
    return p[0] | p[1] | p[2] | p[3];
}

namespace {

constexpr uint64_t all_lanes = ~0ull;

Planes both(const Planes& a, const Planes& b) {
    return {a[0] | b[0], a[1] | b[1], a[2] | b[2], a[3] | b[3]};
}
Planes spread(uint64_t lanes_mask) {
    return {lanes_mask, lanes_mask, lanes_mask, lanes_mask};
}

Planes scalar_planes(uint32_t undefined_bits) {
    Planes p{};
    for (unsigned b = 0; b < 4; ++b) p[b] = undefined_bits >> (8 * b) & 0xff ? all_lanes : 0;
    return p;
}

/// Dword `i` of an operand.
Planes planes_of(const WaveShadow& s, const Operand& o, unsigned i) {
    if (o.vgpr()) return s.undefined[o.index + i];
    if (o.sgpr()) return scalar_planes(s.sgpr_undefined[o.index + i]);
    if (o.kind == OperandKind::scc && s.scc_undefined) return spread(all_lanes);
    return {};
}

Planes select_planes(const Planes& p, unsigned selection, bool sext) {
    if (selection == 6) return p;
    Planes r{};
    if (selection < 4) {
        r[0] = p[selection];
        if (sext) r[1] = r[2] = r[3] = r[0];
    } else {
        unsigned first = selection == 5 ? 2 : 0;
        r[0] = p[first];
        r[1] = p[first + 1];
        if (sext) r[2] = r[3] = r[1];
    }
    return r;
}

uint64_t move_lanes(uint64_t plane, unsigned control, uint64_t exec) {
    uint64_t r = 0;
    for (int lane = 0; lane < int(lanes); ++lane) {
        int from = dpp_source(control, lane);
        if (from >= 0 && exec >> from & 1 && plane >> from & 1) r |= 1ull << lane;
    }
    return r;
}

/// Lanes that the instruction writes.
uint64_t written_lanes(const Wave& w, const Instruction& in) {
    uint64_t exec = w.exec();
    if (!(in.flags & flag_dpp)) return exec;
    uint64_t r = 0;
    for (int lane = 0; lane < int(lanes); ++lane) {
        int from = dpp_source(in.dpp.control, lane);
        bool valid = from >= 0 && (exec >> from & 1);
        r |= uint64_t(dpp_writes(in.dpp, lane, valid)) << lane;
    }
    return r & exec;
}

/// A source as the operation sees it: after DPP, SDWA and op_sel, and only as wide as its type.
Planes source(const Wave& w, const WaveShadow& s, const Instruction& in, unsigned n, unsigned dword = 0) {
    Planes p = planes_of(s, in.src[n], dword);
    const OperandShape& shape = in.info->src[n];
    if (in.flags & flag_dpp && n == 0)
        for (uint64_t& plane : p) plane = move_lanes(plane, in.dpp.control, w.exec());
    if (in.flags & flag_sdwa && n < 2) p = select_planes(p, in.sdwa.src_sel[n], in.sdwa.sext[n]);
    if (shape.bits != 16) return p;
    bool high = in.flags & flag_e64 && in.op_sel >> n & 1;
    return select_planes(p, high ? 5 : 4, false);
}

/// The value of a source if it is the same in all lanes and defined.
bool uniform_value(const Wave& w, const WaveShadow& s, const Operand& o, uint32_t& value) {
    if (o.vgpr() || (o.sgpr() && s.sgpr_undefined[o.index])) return false;
    value = uint32_t(read_scalar(w, o));
    return true;
}

uint32_t lane_value(const Wave& w, const Operand& o, unsigned lane) {
    return o.vgpr() ? w.vgpr[o.index][lane] : uint32_t(read_scalar(w, o));
}

/// Planes moved up by `amount` bits (down if negative); a byte that takes bits of two bytes depends on both.
Planes shifted(const Planes& p, int amount, bool arithmetic) {
    Planes r{};
    for (int b = 0; b < 4; ++b) {
        int low = 8 * b - amount, high = low + 7;
        for (int bit : {low, high}) {
            if (bit >= 0 && bit < 32) r[size_t(b)] |= p[size_t(bit / 8)];
            if (bit >= 32 && arithmetic) r[size_t(b)] |= p[3];
        }
    }
    return r;
}

Planes carried_up(const Planes& p) {
    Planes r = p;
    for (unsigned b = 1; b < 4; ++b) r[b] |= r[b - 1];
    return r;
}

/// Bytes that a known byte of the other operand decides: zeros for and, ones for or.
Planes decided_by(const Wave& w, const Instruction& in, const Planes& a, const Planes& b, uint32_t deciding) {
    Planes r = both(a, b);
    bool plain = !(in.flags & flag_complex);
    if (!plain) {
        uint32_t v;  // Constants keep their meaning under SDWA, whose other source is what it selects.
        for (unsigned n = 0; n < 2; ++n)
            if (in.src[n].kind == OperandKind::constant && (v = uint32_t(in.src[n].value), true))
                for (unsigned k = 0; k < 4; ++k)
                    if ((v >> (8 * k) & 0xff) == deciding) r[k] = 0;
        return r;
    }
    for (unsigned k = 0; k < 4; ++k)
        for (uint64_t left = r[k]; left; left &= left - 1) {
            unsigned lane = unsigned(std::countr_zero(left));
            bool by_a = !(a[k] >> lane & 1) && (lane_value(w, in.src[0], lane) >> (8 * k) & 0xff) == deciding;
            bool by_b = !(b[k] >> lane & 1) && (lane_value(w, in.src[1], lane) >> (8 * k) & 0xff) == deciding;
            if (by_a || by_b) r[k] &= ~(1ull << lane);
        }
    return r;
}

uint64_t any_source(const Wave& w, const WaveShadow& s, const Instruction& in) {
    uint64_t r = 0;
    for (unsigned n = 0; n < in.info->sources; ++n) {
        if (in.info->src[n].kind == OperandClass::lane_mask) continue;
        for (unsigned i = 0; i < in.src[n].dwords; ++i) r |= undefined_lanes(source(w, s, in, n, i));
    }
    bool keeps =
        in.flow == Flow::half_result || in.flow == Flow::byte_result;  // Bytes that it does not write.
    if (in.info->dst.read_write && !keeps)
        for (unsigned i = 0; i < in.dst.dwords; ++i) r |= undefined_lanes(planes_of(s, in.dst, i));
    return r;
}

/// Undefined lanes of the mask that an instruction selects or carries by.
uint64_t mask_undefined(const WaveShadow& s, const Instruction& in) {
    if (!(in.flags & flag_carry_in)) return 0;
    const Operand& o = in.src[3].kind != OperandKind::none ? in.src[3] : in.src[2];
    return o.sgpr() ? s.sgpr_undefined[o.index] | uint64_t(s.sgpr_undefined[o.index + 1]) << 32 : 0;
}

Planes packed_half(const WaveShadow& s, const Instruction& in) {
    Planes r{};
    for (unsigned n = 0; n < in.info->sources; ++n) {
        Planes p = planes_of(s, in.src[n], 0);
        unsigned low = in.op_sel >> n & 1 ? 2 : 0, high = in.op_sel_hi >> n & 1 ? 2 : 0;
        uint64_t l = p[low] | p[low + 1], h = p[high] | p[high + 1];
        r = both(r, {l, l, h, h});
    }
    return r;
}

Planes permuted(const Wave& w, const WaveShadow& s, const Instruction& in, const Planes& a, const Planes& b) {
    uint32_t selectors;
    if (!uniform_value(w, s, in.src[2], selectors)) return spread(any_source(w, s, in));
    Planes r{};
    for (unsigned k = 0; k < 4; ++k) {
        unsigned selector = selectors >> (8 * k) & 0xff;
        if (selector < 4) r[k] = b[selector];
        if (selector >= 4 && selector < 8) r[k] = a[selector - 4];
        if (selector >= 8 && selector < 12)
            r[k] = selector < 10 ? b[2 * (selector & 1) + 1] : a[2 * (selector & 1) + 1];
    }
    return r;
}

Planes inserted(const Wave& w, const WaveShadow& s, const Instruction& in, const Planes& b, const Planes& c) {
    uint32_t mask;
    if (!uniform_value(w, s, in.src[0], mask)) return spread(any_source(w, s, in));
    Planes r{};
    for (unsigned k = 0; k < 4; ++k) {
        uint32_t byte = mask >> (8 * k) & 0xff;
        r[k] = (byte ? b[k] : 0) | (byte != 0xff ? c[k] : 0);
    }
    return r;
}

/// The result of a shift, or of an operation that begins with one.
Planes shift_flow(const Wave& w, const WaveShadow& s, const Instruction& in) {
    uint32_t amount;
    bool reversed =
        in.flow == Flow::shift_left || in.flow == Flow::shift_right;  // v_lshlrev: source 0 is the amount.
    unsigned amount_source = in.flow == Flow::align ? 2 : reversed ? 0 : 1;
    if (!uniform_value(w, s, in.src[amount_source], amount) || in.flags & flag_sdwa)
        return spread(any_source(w, s, in));
    int n = int(amount & 31);
    switch (in.flow) {
        case Flow::shift_left:
            return shifted(source(w, s, in, 1), n, false);
        case Flow::shift_right:
            return shifted(source(w, s, in, 1), -n, in.info->src[1].kind == OperandClass::signed_int);
        case Flow::align:
            return both(shifted(source(w, s, in, 1), -n, false),
                        n ? shifted(source(w, s, in, 0), 32 - n, false) : Planes{});
        case Flow::shift_or:
            return both(shifted(source(w, s, in, 0), n, false), source(w, s, in, 2));
        default:
            return carried_up(both(shifted(source(w, s, in, 0), n, false), source(w, s, in, 2)));
    }
}

Planes extract_flow(const Wave& w, const WaveShadow& s, const Instruction& in) {
    uint32_t offset, width;
    if (!uniform_value(w, s, in.src[1], offset) || !uniform_value(w, s, in.src[2], width))
        return spread(any_source(w, s, in));
    Planes p = shifted(source(w, s, in, 0), -int(offset & 31), true), r{};
    width &= 31;
    for (unsigned k = 0; k < 4 && 8 * k < width; ++k) r[k] = p[k];
    bool is_signed = in.info->dst.kind == OperandClass::signed_int;
    uint64_t top = width ? p[(width - 1) / 8] : 0;
    if (is_signed)
        for (unsigned k = (width + 7) / 8; k < 4; ++k) r[k] = top;
    return r;
}

Planes select_flow(const Wave& w, const WaveShadow& s, const Instruction& in) {
    uint64_t mask = read_scalar(w, in.src[2]), unknown = mask_undefined(s, in);
    Planes a = source(w, s, in, 0), b = source(w, s, in, 1), r{};
    for (unsigned k = 0; k < 4; ++k) r[k] = (b[k] & mask) | (a[k] & ~mask) | unknown;
    return r;
}

/// One byte comes from source 0; the others are source 2's, or the destination's where there is none.
Planes named_byte(const Wave& w, const WaveShadow& s, const Instruction& in) {
    uint32_t place;
    Planes r = in.info->sources == 3 ? source(w, s, in, 2) : planes_of(s, in.dst, 0);
    uint64_t value = undefined_lanes(source(w, s, in, 0));
    if (!uniform_value(w, s, in.src[1], place))
        return both(r, spread(value | undefined_lanes(source(w, s, in, 1))));
    r[place & 3] = value;
    return r;
}

Planes first_dword(const Wave& w, const WaveShadow& s, const Instruction& in) {
    auto src = [&](unsigned n) { return source(w, s, in, n); };
    auto one_byte = [&](unsigned k) { return spread(src(0)[k]); };
    switch (in.flow) {
        case Flow::bytes: {
            Planes r{};
            for (unsigned n = 0; n < in.info->sources; ++n) r = both(r, src(n));
            return r;
        }
        case Flow::bit_and: {
            Planes r = decided_by(w, in, src(0), src(1), 0);
            return in.info->sources == 3 ? both(r, src(2)) : r;
        }
        case Flow::bit_or:
            return decided_by(w, in, src(0), src(1), 0xff);
        case Flow::upward: {
            Planes r{};
            for (unsigned n = 0; n < in.info->sources; ++n) r = both(r, src(n));
            return carried_up(r);
        }
        case Flow::shift_left:
        case Flow::shift_right:
        case Flow::shift_or:
        case Flow::shift_add:
        case Flow::align:
            return shift_flow(w, s, in);
        case Flow::extract:
            return extract_flow(w, s, in);
        case Flow::insert:
            return inserted(w, s, in, src(1), src(2));
        case Flow::permute:
            return permuted(w, s, in, src(0), src(1));
        case Flow::halves:
            return packed_half(s, in);
        case Flow::select:
            return select_flow(w, s, in);
        case Flow::named_byte:
            return named_byte(w, s, in);
        case Flow::two_halves: {
            uint64_t low = undefined_lanes(src(0)), high = undefined_lanes(src(1));
            return {low, low, high, high};
        }
        case Flow::pack:
            return {src(0)[0], src(0)[1], src(1)[0], src(1)[1]};
        case Flow::byte0:
        case Flow::byte1:
        case Flow::byte2:
        case Flow::byte3:
            return one_byte(unsigned(in.flow) - unsigned(Flow::byte0));
        default:
            return spread(any_source(w, s, in) | mask_undefined(s, in));
    }
}

/// Bits of the destination's bytes that the instruction writes.
unsigned written_bytes(const Instruction& in) {
    switch (in.flow) {
        case Flow::half_result:
            return in.op_sel & 8 ? 0xc : 3;
        case Flow::byte_result:
            return 1u << (in.op_sel >> 2 & 3);
        case Flow::low_result:
            return 3;
        case Flow::high_result:
            return 0xc;
        default:
            break;
    }
    if (in.flags & flag_sdwa && in.sdwa.dst_unused == 2 && in.sdwa.dst_sel != 6)
        return in.sdwa.dst_sel < 4 ? 1u << in.sdwa.dst_sel : in.sdwa.dst_sel == 4 ? 3 : 0xc;
    if (in.info->dst.bits != 16) return 0xf;
    if (in.flags & flag_e64 && in.op_sel & 8) return 0xc;
    return in.info->dst.keeps_half ? 3 : 0xf;
}

/// Places a 16-bit or SDWA result at its bytes.
Planes placed(const Instruction& in, const Planes& r) {
    Planes p = r;
    if (in.info->dst.bits == 16 && in.encoding != Family::VOP3P) {
        p[2] = p[3] = 0;
        if (in.flags & flag_e64 && in.op_sel & 8) p = {0, 0, r[0], r[1]};
    }
    if (!(in.flags & flag_sdwa) || in.sdwa.dst_sel == 6) return p;
    Planes q{};
    if (in.sdwa.dst_sel < 4)
        q[in.sdwa.dst_sel] = r[0];
    else
        for (unsigned k = 0; k < 2; ++k) q[(in.sdwa.dst_sel == 5 ? 2 : 0) + k] = r[k];
    return q;
}

void write_planes(WaveShadow& s, unsigned index, const Planes& r, uint64_t mask, unsigned bytes) {
    for (unsigned b = 0; b < 4; ++b)
        if (bytes >> b & 1) s.undefined[index][b] = (s.undefined[index][b] & ~mask) | (r[b] & mask);
}

void write_mask_undefined(WaveShadow& s, unsigned index, uint64_t undefined) {
    s.sgpr_undefined[index] = uint32_t(undefined);
    s.sgpr_undefined[index + 1] = uint32_t(undefined >> 32);
}

Planes pair_dword(const WaveShadow& s, const Instruction& in, unsigned dword) {
    uint64_t r = 0;
    bool move = in.info->mnemonic == std::string_view("v_pk_mov_b32");
    for (unsigned n = 0; n < in.info->sources; ++n) {
        if (move && n != dword) continue;
        bool second = move ? in.op_sel >> n & 1 : (dword ? in.op_sel_hi : in.op_sel) >> n & 1;
        if (in.src[n].dwords == 2) r |= undefined_lanes(planes_of(s, in.src[n], second));
    }
    return spread(r);
}

/// Undefined lanes of dword `dword` of the 64-bit sources and of all of the 32-bit ones.
uint64_t one_dword(const Wave& w, const WaveShadow& s, const Instruction& in, unsigned dword) {
    uint64_t r = 0;
    for (unsigned n = 0; n < in.info->sources; ++n)
        r |= undefined_lanes(source(w, s, in, n, in.src[n].dwords == 2 ? dword : 0));
    return r;
}

Planes result_dword(const Wave& w, const WaveShadow& s, const Instruction& in, unsigned i) {
    switch (in.flow) {
        case Flow::pairs:
            return pair_dword(s, in, i);
        case Flow::bytes:
            return i ? source(w, s, in, 0, i) : first_dword(w, s, in);
        case Flow::low_first:
            return spread(i ? any_source(w, s, in) : one_dword(w, s, in, 0));
        case Flow::high_first:
            return spread(i ? one_dword(w, s, in, 1) : any_source(w, s, in));
        default:
            return first_dword(w, s, in);
    }
}

void vector_result(Wave& w, WaveShadow& s, const Instruction& in) {
    // Everything is read before anything is written: a scalar destination may be one of the sources.
    uint64_t mask = written_lanes(w, in);
    uint64_t undefined_mask = (any_source(w, s, in) | mask_undefined(s, in)) & mask;
    std::array<Planes, 32> result;
    unsigned dwords = in.dst.vgpr() ? in.dst.dwords : 0;
    for (unsigned i = 0; i < dwords; ++i) result[i] = result_dword(w, s, in, i);
    if (dwords == 1) result[0] = placed(in, result[0]);
    for (unsigned i = 0; i < dwords; ++i)
        write_planes(s, in.dst.index + i, result[i], mask, dwords == 1 ? written_bytes(in) : 0xf);
    if (in.sdst.kind == OperandKind::none) return;
    write_mask_undefined(s, in.sdst.index, undefined_mask);
    if (in.flags & flag_cmpx) write_mask_undefined(s, sgpr::exec, undefined_mask);
}

void swap_groups(WaveShadow& s, const Instruction& in, unsigned group, uint64_t low_groups) {
    for (unsigned b = 0; b < 4; ++b) {
        uint64_t& d = s.undefined[in.dst.index][b];
        uint64_t& v = s.undefined[in.src[0].index][b];
        uint64_t from_d = d >> group & low_groups, from_s = v & low_groups;
        d = (d & low_groups) | from_s << group;
        v = (v & ~low_groups) | from_d;
    }
}

/// Instructions that move single lanes; false if `in` is none of them.
bool lane_instruction(Wave& w, WaveShadow& s, const Instruction& in) {
    std::string_view name = in.info->mnemonic;
    auto lane_bits = [&](unsigned lane) {
        uint32_t bits = 0;
        Planes p = planes_of(s, in.src[0], 0);
        for (unsigned b = 0; b < 4; ++b)
            if (p[b] >> lane & 1) bits |= 0xffu << (8 * b);
        return bits;
    };
    if (name == "v_readfirstlane_b32") {
        s.sgpr_undefined[in.dst.index] = lane_bits(w.exec() ? unsigned(std::countr_zero(w.exec())) : 0);
    } else if (name == "v_readlane_b32") {
        s.sgpr_undefined[in.dst.index] = lane_bits(lane_value(w, in.src[1], 0) & 63);
    } else if (name == "v_writelane_b32") {
        write_planes(s, in.dst.index, planes_of(s, in.src[0], 0), 1ull << (lane_value(w, in.src[1], 0) & 63),
                     0xf);
    } else if (name == "v_swap_b32") {
        std::swap(s.undefined[in.dst.index], s.undefined[in.src[0].index]);
    } else if (name == "v_permlane32_swap_b32") {
        swap_groups(s, in, 32, 0xffffffff);
    } else if (name == "v_permlane16_swap_b32") {
        swap_groups(s, in, 16, 0x0000ffff0000ffff);
    } else {
        return false;
    }
    return true;
}

/// Whether nothing that the instruction reads or writes is undefined: then nothing changes.
bool all_defined(const WaveShadow& s, const Instruction& in) {
    for (unsigned u = 0; u < in.use_count; ++u) {
        const RegisterUse& use = in.uses[u];
        for (unsigned i = use.first; i < unsigned(use.first + use.count); ++i)
            if (use.vector ? undefined_lanes(s.undefined[i]) != 0 : s.sgpr_undefined[i] != 0) return false;
    }
    return true;
}

}  // namespace

void flow_undefined(Wave& w, const Instruction& in) {
    if (!in.info) return;
    WaveShadow& s = shadow_of(w);
    Family f = in.info->family;
    if (f < Family::VOP1) return flow_undefined_scalar(w, in);
    if (all_defined(s, in)) return;
    if (f == Family::MAI && in.info->sources == 3) {  // What was undefined has been reported.
        for (unsigned i = 0; i < in.dst.dwords; ++i) s.undefined[in.dst.index + i] = {};
        return;
    }
    if (!lane_instruction(w, s, in)) vector_result(w, s, in);
}

}  // namespace hkc::emu::checker
