#include "hazard_rules.h"

#include <algorithm>
#include <string_view>
#include <vector>

namespace hkc::emu::hazard {
namespace {

struct MatrixShape {
    std::string_view shape;  ///< As in the mnemonic, from its first digit.
    uint8_t passes[2];  ///< gfx942, gfx950.
};

/// Cycles / 4 of CDNA3 ISA guide table 28 and CDNA4 ISA guide, "matrix instructions"; the shapes decide, for all types
/// but f32 and f64. The first match counts.
constexpr MatrixShape shapes[] = {
    {"f64_16x16x4", {8, 16}},  {"f64_4x4x4", {4, 4}},    {"4x4x", {2, 2}},         {"16x16x1_4b", {8, 8}},
    {"16x16x4_4b", {8, 8}},    {"32x32x1_2b", {16, 16}}, {"32x32x4_2b", {16, 16}}, {"16x16x4_f32", {8, 8}},
    {"32x32x2_f32", {16, 16}}, {"16x16x", {4, 4}},       {"32x32x", {8, 8}},
};

/// CDNA3 ISA guide, table 12; the names start with these.
constexpr std::string_view transcendental_names[] = {"v_exp_", "v_log_", "v_rcp_", "v_rsq_",
                                                     "v_sqrt", "v_sin_", "v_cos_"};

bool contains(std::string_view text, std::string_view part) {
    return text.find(part) != text.npos;
}

bool is_vector(Family f) {
    switch (f) {
        case Family::VOP1:
        case Family::VOP2:
        case Family::VOPC:
        case Family::VOP3:
        case Family::VOP3P:
        case Family::MAI:
        case Family::VOP1_E32:
        case Family::VOP2_E32:
            return true;
        default:
            return false;
    }
}

bool is_vector_memory(Family f) {
    return f == Family::FLAT || f == Family::GLOBAL || f == Family::SCRATCH || f == Family::MUBUF ||
           f == Family::MTBUF;
}

void add_matrix(Traits& t, std::string_view name) {
    if (!name.starts_with("v_mfma_") && !name.starts_with("v_smfmac_")) return;
    bool f32 = name.ends_with("_f32");
    t.matrix = name.ends_with("_f64") ? Matrix::dgemm : f32 ? Matrix::sgemm : Matrix::xdl;
    t.formats = name.ends_with("_f8f6f4");
    for (const MatrixShape& s : shapes) {
        if (!contains(name, s.shape)) continue;
        t.passes[0] = s.passes[0];
        t.passes[1] = s.passes[1];
        return;
    }
}

Traits make_traits(const OpcodeInfo& info) {
    std::string_view name = info.mnemonic ? info.mnemonic : "";
    Traits t;
    Family f = info.family;
    t.valu = is_vector(f);
    t.salu = f == Family::SOP1 || f == Family::SOP2 || f == Family::SOPC || f == Family::SOPK;
    t.vector_memory = is_vector_memory(f);
    t.lds = f == Family::DS;
    for (std::string_view start : transcendental_names) t.transcendental |= name.starts_with(start);
    t.dot = name.starts_with("v_dot");
    t.read_lane = name == "v_readlane_b32" || name == "v_readfirstlane_b32";
    t.selects_lane = name == "v_readlane_b32" || name == "v_writelane_b32";
    t.permute_lanes = name.starts_with("v_permlane");
    t.div_fmas = name.starts_with("v_div_fmas");
    t.reads_m0 = contains(name, "_load_lds_") || contains(name, "_addtid_") ||
                 name.starts_with("s_sendmsg") || name.starts_with("s_movrel");
    t.get_mode = name.starts_with("s_getreg");
    t.set_mode = name.starts_with("s_setreg");
    add_matrix(t, name);
    return t;
}

const Traits nothing;

/// Wait states until an XDL result is in its registers: passes + 3, on gfx950 one more for more than two passes (ISA
/// guides, tables 37 and 38; LLVM). LLVM looks back 19 wait states, so that it never asks for the 20 of 16 passes; Triton's
/// kernels rely on 19, and so no more is asked for here.
unsigned xdl_result(const Instruction& producer, Arch arch) {
    unsigned n = passes(producer, arch);
    return std::min(n + 3 + (arch == Arch::gfx950 && n > 2 ? 1 : 0), longest);
}

unsigned dgemm_to_matrix(const Instruction& producer, const Instruction& consumer, MatrixUse use, Arch arch) {
    bool small = passes(producer, arch) == 4;
    bool same = producer.info == consumer.info;
    if (use == MatrixUse::a_or_b) return small ? 6 : arch == Arch::gfx950 ? 19 : 11;
    if (traits_of(consumer).matrix == Matrix::xdl) return 0;
    if (use == MatrixUse::c_exact && same) return small ? 4 : 0;
    return small ? 4 : arch == Arch::gfx950 ? 17 : 9;
}

}  // namespace

const Traits& traits_of(const Instruction& in) {
    static const std::vector<Traits> all = [] {
        std::vector<Traits> result(opcode_count());
        for (unsigned i = 0; i < opcode_count(); ++i) result[i] = make_traits(opcode_at(i));
        return result;
    }();
    return in.info ? all[in.info->index] : nothing;
}

unsigned passes(const Instruction& in, Arch arch) {
    const Traits& t = traits_of(in);
    // f8f6f4 takes twice as long if A or B has eight bits (CDNA4 ISA guide); formats 0 and 1 are fp8 and bf8.
    bool eight_bits = t.formats && (in.cbsz < 2 || in.blgp < 2);
    return t.passes[arch == Arch::gfx950 ? 1 : 0] * (eight_bits ? 2 : 1);
}

unsigned matrix_to_matrix(const Instruction& producer, const Instruction& consumer, MatrixUse use,
                          Arch arch) {
    const Traits& p = traits_of(producer);
    unsigned n = passes(producer, arch);
    if (p.matrix == Matrix::dgemm) return dgemm_to_matrix(producer, consumer, use, arch);
    bool xdl = p.matrix == Matrix::xdl, to_xdl = traits_of(consumer).matrix == Matrix::xdl;
    switch (use) {
        case MatrixUse::c_exact:
            return n == 2 ? 2 : 0;
        case MatrixUse::c_overlapped:
            // LLVM: f32 results need no wait for XDL's C; the CDNA4 guide agrees, the CDNA3 guide asks for the passes.
            if (!xdl) return to_xdl ? 0 : n;
            return n + 1 + (arch == Arch::gfx950 && (to_xdl || n > 2) ? 1 : 0);
        case MatrixUse::a_or_b:
            return xdl ? xdl_result(producer, arch) : n + 2;
    }
    return 0;
}

unsigned matrix_to_other(const Instruction& producer, bool consumer_is_memory, Arch arch) {
    unsigned n = passes(producer, arch);
    switch (traits_of(producer).matrix) {
        case Matrix::dgemm:
            if (n == 4) return consumer_is_memory ? 9 : 6;
            if (consumer_is_memory) return 18;
            return arch == Arch::gfx950 ? 19 : 11;
        case Matrix::xdl:
            return xdl_result(producer, arch);
        default:
            return n + 2;
    }
}

unsigned overwrite_c(const Instruction& reader, Arch arch) {
    return traits_of(reader).matrix == Matrix::xdl ? passes(reader, arch) - 1 : 0;
}

}  // namespace hkc::emu::hazard
