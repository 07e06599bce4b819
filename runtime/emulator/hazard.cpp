#include "hazard.h"

#include <algorithm>
#include <string>

#include "shadow.h"

namespace hkc::emu::hazard {
namespace {

constexpr uint8_t sdwa_dword = 6;

struct Check {
    Wave& wave;
    const Instruction& in;
    const Traits& traits;
    History& history;

    /// Reports the pair if `mark` is fewer than `needed` wait states ago.
    void need(const Mark& mark, unsigned needed, const char* verb, const std::string& what) const {
        if (!mark.in || !needed) return;
        uint64_t had = history.now - mark.at;
        if (had >= needed || !checker::wanted(wave, in, "hazard")) return;
        checker::report(wave, in, "hazard", -1, 0,
                        std::string(verb) + what + " " + std::to_string(had) + " wait states after " +
                            disassemble(*mark.in) + " at " + checker::hex(mark.in->address) + "; it needs " +
                            std::to_string(needed),
                        make_party(wave, *mark.in, wave.index));
    }
};

bool recent(const History& h, const Mark& mark) {
    return mark.in && h.now - mark.at <= longest;
}

std::string vgpr_name(unsigned index) {
    return (index < 256 ? "v" : "a") + std::to_string(index & 255);
}

std::string sgpr_name(unsigned index) {
    return index / 2 == sgpr::vcc / 2    ? "vcc"
           : index / 2 == sgpr::exec / 2 ? "exec"
           : index == sgpr::m0           ? "m0"
                                         : "s" + std::to_string(index);
}

/// A result whose bits are moved within the destination's dword.
bool shifts_result(const Instruction& in) {
    return in.flags & flag_sdwa ? in.sdwa.dst_sel != sdwa_dword : (in.op_sel & 8) != 0;
}

unsigned valu_to_valu(const Check& c, const Instruction& writer, const Operand& read) {
    const Traits& p = traits_of(writer);
    bool first = &read == &c.in.src[0];
    unsigned needed = 0;
    if (c.in.flags & flag_dpp && first) needed = valu_to_dpp;
    if (c.traits.read_lane && first) needed = std::max(needed, valu_to_read_lane);
    if (c.traits.permute_lanes) needed = std::max(needed, valu_to_permute_lanes);
    if (p.transcendental && !c.traits.transcendental) needed = std::max(needed, transcendental_to_other);
    if (shifts_result(writer)) needed = std::max(needed, shifted_result_to_valu);
    bool accumulates = writer.info == c.in.info && (&read == &c.in.src[2] || &read == &c.in.dst);
    if (p.dot && !accumulates) needed = std::max(needed, dot_to_other);
    return needed;
}

MatrixUse matrix_use(const Instruction& writer, const Instruction& in, const Operand& read) {
    // The sparse ones read C from their destination, and an index from source 2.
    bool is_c = in.info->dst.read_write ? &read == &in.dst : &read == &in.src[2];
    if (!is_c) return MatrixUse::a_or_b;
    bool exact = read.index == writer.dst.index && read.dwords == writer.dst.dwords;
    return exact ? MatrixUse::c_exact : MatrixUse::c_overlapped;
}

unsigned needed_to_read(const Check& c, const Instruction& writer, const Operand& read) {
    const Traits& p = traits_of(writer);
    if (p.matrix != Matrix::none) {
        if (c.traits.matrix == Matrix::none) return matrix_to_other(writer, c.traits.memory(), c.wave.arch);
        return matrix_to_matrix(writer, c.in, matrix_use(writer, c.in, read), c.wave.arch);
    }
    if (c.traits.matrix != Matrix::none) return p.dot ? dot_to_other : valu_to_matrix;
    if (c.traits.valu) return valu_to_valu(c, writer, read);
    return p.dot && c.traits.memory() ? dot_to_other : 0;
}

void check_vgpr_read(const Check& c, const Operand& read) {
    for (unsigned i = read.index; i < unsigned(read.index + read.dwords); ++i) {
        const Mark& mark = c.history.vgpr_written[i];
        if (!recent(c.history, mark)) continue;
        c.need(mark, needed_to_read(c, *mark.in, read), "reads ", vgpr_name(i));
    }
}

void check_vgpr_write(const Check& c, const Operand& written) {
    if (c.traits.matrix != Matrix::none) return;
    for (unsigned i = written.index; i < unsigned(written.index + written.dwords); ++i) {
        const Mark& mark = c.history.vgpr_written[i];
        if (recent(c.history, mark)) {
            const Traits& p = traits_of(*mark.in);
            if (p.matrix != Matrix::none)
                c.need(mark, matrix_to_other(*mark.in, false, c.wave.arch), "overwrites ", vgpr_name(i));
            else if (p.dot && mark.in->info != c.in.info)
                c.need(mark, dot_to_other, "overwrites ", vgpr_name(i));
        }
        const Mark& reader = c.history.read_as_c[i];
        if (recent(c.history, reader))
            c.need(reader, overwrite_c(*reader.in, c.wave.arch), "overwrites ", vgpr_name(i));
        if (c.traits.valu && recent(c.history, c.history.stored[i]))
            c.need(c.history.stored[i], wide_store_to_overwrite, "overwrites ", vgpr_name(i));
    }
}

unsigned needed_for_scalar(const Check& c, unsigned source) {
    if (c.traits.vector_memory) return scalar_to_vector_memory;
    if (!c.traits.valu) return 0;
    if (c.traits.selects_lane && source == 1) return scalar_to_lane_select;
    bool is_mask = source >= c.in.info->sources || c.in.info->src[source].kind == OperandClass::lane_mask;
    return is_mask ? 0 : scalar_to_valu;
}

void check_sgpr_read(const Check& c, unsigned source) {
    const Operand& read = c.in.src[source];
    for (unsigned i = read.index; i < unsigned(read.index + read.dwords) && i < sgpr::count; ++i) {
        const Mark& mark = c.history.sgpr_written[i];
        if (i == sgpr::m0 || !recent(c.history, mark)) continue;
        c.need(mark, needed_for_scalar(c, source), "reads ", sgpr_name(i));
    }
}

/// Registers that are read without being operands.
void check_implicit(const Check& c) {
    const History& h = c.history;
    const Traits& t = c.traits;
    const Mark& exec = h.sgpr_written[sgpr::exec];
    if (c.in.flags & flag_dpp) c.need(exec, exec_to_dpp, "depends on ", "exec");
    if (t.read_lane || t.selects_lane || t.permute_lanes)
        c.need(exec, exec_to_lane_access, "depends on ", "exec");
    if (t.matrix != Matrix::none) c.need(exec, exec_to_matrix, "depends on ", "exec");
    if (t.div_fmas) c.need(h.sgpr_written[sgpr::vcc], vcc_to_div_fmas, "reads ", "vcc");
    if (t.reads_m0 || c.in.flags & (flag_lds | flag_gds))
        c.need(h.sgpr_written[sgpr::m0], m0_to_reader, "reads ", "m0");
    bool same_register = h.mode_written.in && ((h.mode_written.in->imm ^ c.in.imm) & 63) == 0;
    if ((t.get_mode || t.set_mode) && same_register)
        c.need(h.mode_written, mode_to_mode, "accesses ", "the hardware register");
}

void mark(std::array<Mark, 512>& marks, const Operand& o, Mark m) {
    for (unsigned i = o.index; i < unsigned(o.index + o.dwords); ++i) marks[i] = m;
}

void remember_scalar(History& h, const Operand& o, const Traits& t, Mark m) {
    for (unsigned i = o.index; i < unsigned(o.index + o.dwords) && i < sgpr::count; ++i) {
        // The hardware orders the scalar unit's own results, but not M0.
        bool counts = i == sgpr::m0 ? t.salu : t.valu;
        h.sgpr_written[i] = counts ? m : Mark{};
    }
}

void remember(History& h, const Instruction& in, const Traits& t, uint64_t at) {
    Mark m{&in, at};
    for (const Operand* o : {&in.dst, &in.sdst}) {
        if (o->vgpr()) mark(h.vgpr_written, *o, t.valu ? m : Mark{});
        if (o->sgpr()) remember_scalar(h, *o, t, m);
    }
    if (t.permute_lanes && in.src[0].vgpr()) mark(h.vgpr_written, in.src[0], m);
    if (in.flags & flag_cmpx) h.sgpr_written[sgpr::exec] = h.sgpr_written[sgpr::exec + 1] = m;
    if (t.set_mode) h.mode_written = m;
    if (t.matrix == Matrix::xdl) {
        const Operand& c = in.info->dst.read_write ? in.dst : in.src[2];
        if (c.vgpr()) mark(h.read_as_c, c, m);
    }
    // A buffer store with an SGPR offset needs no wait.
    bool scalar_offset = in.info->family == Family::MUBUF && in.src[3].sgpr();
    if (t.vector_memory && !in.dst.vgpr() && in.src[1].vgpr() && in.src[1].dwords > 2 && !scalar_offset)
        mark(h.stored, in.src[1], m);
}

}  // namespace

void step(Wave& w, const Instruction& in) {
    if (!in.info) return;
    History& h = w.shadow->history;
    const Traits& t = traits_of(in);
    bool is_nop = in.info->family == Family::SOPP && in.info->opcode == 0;
    uint64_t at = h.now + (is_nop ? unsigned(in.imm & 15) + 1 : 1);
    if (t.valu || t.memory() || t.get_mode || t.set_mode || t.reads_m0) {
        Check c{w, in, t, h};
        for (unsigned i = 0; i < std::size(in.src); ++i) {
            if (in.src[i].vgpr()) check_vgpr_read(c, in.src[i]);
            if (in.src[i].sgpr()) check_sgpr_read(c, i);
        }
        bool reads_destination = in.info->dst.read_write || t.permute_lanes;
        if (in.dst.vgpr() && reads_destination) check_vgpr_read(c, in.dst);
        if (in.dst.vgpr()) check_vgpr_write(c, in.dst);
        check_implicit(c);
    }
    remember(h, in, t, at);
    h.now = at;
}

}  // namespace hkc::emu::hazard
