// The common handlers of vector ALU and matrix instructions.
#include "vector/modifiers.inl.h"

namespace hkc::emu::HKC_VARIANT {

std::span<const Binding> integer_bindings();
std::span<const Binding> compare_bindings();
std::span<const Binding> floating_bindings();
std::span<const Binding> packed_bindings();
std::span<const Binding> matrix_bindings();
std::span<const Binding> sparse_bindings();
std::span<const Binding> media_bindings();
std::span<const Binding> conversion_bindings();

namespace {

HKC_INLINE void refresh_exec_row(Wave& w) {
    uint64_t exec = w.exec();
    if (w.exec_row_value == exec) return;
    expand_mask(exec, w.exec_row);
    w.exec_row_value = exec;
}

struct alignas(64) SourceRows {
    uint32_t rows[3][2 * lanes];
};

/// The rows of source `n`; a scalar is spread over all lanes.
HKC_INLINE const uint32_t* source_row(const Wave& w, const Operand& o, uint32_t* spread) {
    if (o.vgpr()) return w.vgpr[o.index];
    if (o.kind == OperandKind::constant) return o.row;
    uint64_t v = read_scalar(w, o);
    for (unsigned i = 0; i < lanes; ++i) spread[i] = uint32_t(v);
    if (o.dwords > 1)
        for (unsigned i = 0; i < lanes; ++i) spread[lanes + i] = uint32_t(v >> 32);
    return spread;
}

HKC_INLINE void write_mask_result(Wave& w, const Instruction& in, uint64_t mask) {
    w.set_sgpr64(in.sdst.index, mask);
    if (in.flags & flag_cmpx) w.set_sgpr64(sgpr::exec, mask);
}

HKC_INLINE void start(Wave& w, const Instruction& in, RowArgs& x, SourceRows& temporary) {
    refresh_exec_row(w);
    unsigned count = in.flags & flag_carry_in && in.src[3].kind == OperandKind::none ? 2 : 3;
    for (unsigned i = 0; i < count; ++i)
        if (in.src[i].kind != OperandKind::none) x.s[i] = source_row(w, in.src[i], temporary.rows[i]);
    x.m = w.exec_row;
    x.exec = w.exec();
    x.in = &in;
    x.mode = w.mode;
    x.arch = w.arch;
    if (in.flags & flag_carry_in) x.mask_in = read_scalar(w, in.src[count == 2 ? 2 : 3]);
}

/// With modifiers: sources are copied and changed, the result is made aside, changed and merged.
static __attribute__((noinline)) void valu_modified(Wave& w, const Instruction& in, RowArgs& x) {
    SourceRows changed;
    alignas(64) uint32_t result[2 * lanes], write_row[lanes];
    uint64_t writable = x.exec;
    unsigned sources = in.info->sources;
    for (unsigned i = 0; i < sources; ++i) {
        unsigned dwords = in.src[i].dwords;
        if (in.info->src[i].kind == OperandClass::lane_mask || dwords == 0 || dwords > 2) continue;
        uint32_t* row = changed.rows[i];
        if (in.flags & flag_dpp && i == 0)
            writable &= apply_dpp(in, x.s[0], row, dwords, x.exec);
        else
            for (unsigned k = 0; k < dwords * lanes; ++k) row[k] = x.s[i][k];
        if (in.encoding == Family::VOP3P && in.flags & flag_source_modifiers)
            packed_source(in, i, row);
        else if (in.encoding != Family::VOP3P)
            plain_source(in, i, row);
        x.s[i] = row;
    }
    expand_mask(writable, write_row);
    x.m = write_row;
    uint32_t* d = in.dst.vgpr() ? w.vgpr[in.dst.index] : nullptr;
    bool aside = d && in.dst.dwords <= 2;
    unsigned dwords = aside ? in.dst.dwords : 0;
    for (unsigned k = 0; k < dwords * lanes; ++k) result[k] = d[k];
    x.d = aside ? result : d;
    in.kernel.row(x);
    if (aside) {
        output_modifiers(in, result, w.mode & mode_bits::dx10_clamp);
        place_result(in, result, d);
        for (unsigned k = 0; k < dwords; ++k)
            for (unsigned i = 0; i < lanes; ++i) write(d + k * lanes, i, write_row[i], result[k * lanes + i]);
    }
    if (in.flags & flag_mask_out) write_mask_result(w, in, x.mask_out & writable);
}

void valu(Wave& w, const Instruction& in) {
    RowArgs x;
    SourceRows temporary;
    start(w, in, x, temporary);
    if (in.flags & flag_complex) return valu_modified(w, in, x);
    x.d = w.vgpr[in.dst.index];
    in.kernel.row(x);
    if (in.flags & flag_mask_out) write_mask_result(w, in, x.mask_out & x.exec);
}

/// Block scales. Of a floating-point inline constant the exponent is the scale (CDNA4 ISA guide, 7.2.1).
HKC_INLINE const uint32_t* scale_row(const Wave& w, const Operand& o, uint32_t* spread) {
    const uint32_t* row = source_row(w, o, spread);
    uint32_t exponent = uint32_t(o.value) >> 23 & 0xff;
    bool floating =
        o.kind == OperandKind::constant && exponent >= 0x7c && exponent <= 0x81;  // 1/(2 pi) to 4.
    if (!floating) return row;
    for (unsigned i = 0; i < lanes; ++i) spread[i] = exponent * 0x01010101u;
    return spread;
}

/// EXEC is ignored. A constant C is spread over its registers.
void matrix(Wave& w, const Instruction& in) {
    alignas(64) uint32_t constant_c[32 * lanes];
    SourceRows scales;
    MatrixArgs x{};
    x.d = w.vgpr[in.dst.index];
    x.a = w.vgpr[in.src[0].index];
    x.b = w.vgpr[in.src[1].index];
    if (in.src[2].vgpr()) {
        x.c = w.vgpr[in.src[2].index];
    } else {
        uint64_t v = read_scalar(w, in.src[2]);
        bool wide = in.src[2].dwords == 2;  // Double precision.
        for (unsigned i = 0; i < in.dst.dwords * lanes; ++i)
            constant_c[i] = uint32_t(wide && (i / lanes) % 2 ? v >> 32 : v);
        x.c = constant_c;
    }
    if (in.src[3].kind != OperandKind::none) {
        x.scale_a = scale_row(w, in.src[3], scales.rows[0]);
        x.scale_b = scale_row(w, in.src[4], scales.rows[1]);
    }
    x.in = &in;
    x.mode = w.mode;
    x.arch = w.arch;
    ++w.counters.mfma;
    in.kernel.matrix(x);
}

}  // namespace

VectorVariant variant() {
    return {HKC_VARIANT_NAME,
            valu,
            matrix,
            {integer_bindings(), compare_bindings(), floating_bindings(), packed_bindings(),
             matrix_bindings(), conversion_bindings(), sparse_bindings(), media_bindings()}};
}

}  // namespace hkc::emu::HKC_VARIANT
