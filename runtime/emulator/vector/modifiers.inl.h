// DPP, SDWA, op_sel, abs, neg, omod and clamp: changes of rows before and after a vector operation.
#pragma once

#include "dpp.h"
#include "vector/rows.inl.h"

namespace hkc::emu::HKC_VARIANT {
namespace {

/// Moves lanes of `dwords` rows; returns the lanes that may be written.
static uint64_t apply_dpp(const Instruction& in, const uint32_t* from, uint32_t* to, unsigned dwords,
                          uint64_t exec) {
    uint64_t writable = 0;
    const DppModifiers& dpp = in.dpp;
    for (int lane = 0; lane < int(lanes); ++lane) {
        int source = dpp_source(dpp.control, lane);
        bool valid = source >= 0 && (exec >> source & 1);
        for (unsigned i = 0; i < dwords; ++i)
            to[i * lanes + unsigned(lane)] = valid ? from[int(i * lanes) + source] : 0;
        writable |= uint64_t(dpp_writes(dpp, lane, valid)) << lane;
    }
    return writable;
}

static void select_part(uint32_t* row, unsigned selection, bool sext) {
    if (selection == 6) return;
    unsigned bits = selection < 4 ? 8 : 16, shift = selection < 4 ? selection * 8 : (selection - 4) * 16;
    unsigned up = 32 - bits - shift, down = 32 - bits;
    if (sext)
        HKC_LANES row[i] = uint32_t(int32_t(row[i] << up) >> down);
    else
        HKC_LANES row[i] = row[i] << up >> down;
}

/// Clears and flips bits of `row`: absolute value, then negation.
static void change_bits(uint32_t* row, uint32_t clear, uint32_t flip) {
    HKC_LANES row[i] = (row[i] & ~clear) ^ flip;
}

static void packed_source(const Instruction& in, unsigned n, uint32_t* row) {
    OperandClass kind = in.info->src[n].kind;
    bool low_from_high = in.op_sel >> n & 1, high_from_high = in.op_sel_hi >> n & 1;
    uint32_t neg_low = in.neg >> n & 1, neg_high = in.neg_hi >> n & 1;
    if (kind == OperandClass::packed32) {
        HKC_LANES {
            uint32_t low = low_from_high ? row[lanes + i] : row[i],
                     high = high_from_high ? row[lanes + i] : row[i];
            row[i] = low ^ neg_low << 31;
            row[lanes + i] = high ^ neg_high << 31;
        }
    } else if (kind == OperandClass::packed16 || kind == OperandClass::bits) {
        unsigned low = low_from_high ? 16 : 0, high = high_from_high ? 16 : 0;
        uint32_t flip = kind == OperandClass::packed16 ? neg_low << 15 | neg_high << 31 : 0;
        HKC_LANES row[i] = ((row[i] >> low & 0xffff) | row[i] >> high << 16) ^ flip;
    } else if (kind == OperandClass::floating) {
        change_bits(row, 0, neg_low << 31);
    }
}

static void plain_source(const Instruction& in, unsigned n, uint32_t* row) {
    unsigned bits = in.info->src[n].bits;
    if (in.flags & flag_sdwa && n < 2) select_part(row, in.sdwa.src_sel[n], in.sdwa.sext[n]);
    if (in.flags & flag_e64 && bits == 16 && in.op_sel >> n & 1) select_part(row, 5, false);
    bool abs = in.abs >> n & 1, neg = in.neg >> n & 1;
    if (!abs && !neg) return;
    uint32_t sign = bits == 16 ? 0x8000u : 0x80000000u;
    change_bits(bits == 64 ? row + lanes : row, abs ? sign : 0, neg ? sign : 0);
}

HKC_INLINE float clamp_unit(float v, bool nan_to_zero) {
    float r = v > 0.0f ? v < 1.0f ? v : 1.0f : 0.0f;
    return v != v && !nan_to_zero ? v : r;
}
HKC_INLINE float scale_output(const Instruction& in, float v) {
    return in.omod == 1 ? v * 2 : in.omod == 2 ? v * 4 : in.omod == 3 ? v * 0.5f : v;
}

/// omod and clamp.
static void output_modifiers(const Instruction& in, uint32_t* d, bool nan_to_zero) {
    const OperandShape& shape = in.info->dst;
    if (!in.omod && !in.clamp) return;
    auto finish = [&](float v) {
        v = scale_output(in, v);
        return in.clamp ? clamp_unit(v, nan_to_zero) : v;
    };
    bool packed = in.encoding == Family::VOP3P;
    if (packed && in.info->src[0].kind == OperandClass::packed16 && shape.kind == OperandClass::bits) {
        for (unsigned i = 0; i < lanes; ++i)
            d[i] = f32_to_f16(finish(f16_to_f32(d[i] & 0xffff))) | f32_to_f16(finish(f16_to_f32(d[i] >> 16)))
                                                                       << 16;
    } else if (packed && in.info->src[0].kind == OperandClass::packed32) {
        for (unsigned i = 0; i < 2 * lanes; ++i) d[i] = as_u32(finish(as_f32(d[i])));
    } else if (shape.kind != OperandClass::floating) {
        return;
    } else if (shape.bits == 32) {
        for (unsigned i = 0; i < lanes; ++i) d[i] = as_u32(finish(as_f32(d[i])));
    } else if (shape.bits == 16 && !packed) {
        for (unsigned i = 0; i < lanes; ++i) d[i] = f32_to_f16(finish(f16_to_f32(d[i] & 0xffff)));
    } else if (shape.bits == 64) {
        for (unsigned i = 0; i < lanes; ++i) {
            double v = F64::get(d, i) * (in.omod == 1 ? 2.0 : in.omod == 2 ? 4.0 : in.omod == 3 ? 0.5 : 1.0);
            if (in.clamp) v = v > 0 ? v < 1 ? v : 1.0 : v != v && !nan_to_zero ? v : 0.0;
            uint64_t bits = as_u64(v);
            d[i] = uint32_t(bits);
            d[lanes + i] = uint32_t(bits >> 32);
        }
    }
}

/// Places a result within its destination dword: SDWA selection, op_sel[3], half-preserving operations.
static void place_result(const Instruction& in, uint32_t* result, const uint32_t* old) {
    const OperandShape& shape = in.info->dst;
    if (in.flags & flag_sdwa) {
        unsigned selection = in.sdwa.dst_sel;
        if (selection == 6) return;
        unsigned bits = selection < 4 ? 8 : 16, shift = selection < 4 ? selection * 8 : (selection - 4) * 16;
        uint32_t field = ((1u << bits) - 1) << shift;
        for (unsigned i = 0; i < lanes; ++i) {
            uint32_t v = result[i] << shift & field;
            if (in.sdwa.dst_unused == 2) v |= old[i] & ~field;
            if (in.sdwa.dst_unused == 1)
                v = uint32_t(int32_t(v << (32 - bits - shift)) >> (32 - bits - shift));
            result[i] = v;
        }
        return;
    }
    if (in.encoding == Family::VOP3P || shape.bits != 16) return;
    bool high = in.op_sel & 8 && in.flags & flag_e64;
    if (!high && !shape.keeps_half) return;
    for (unsigned i = 0; i < lanes; ++i)
        result[i] = high ? (old[i] & 0xffff) | result[i] << 16 : (old[i] & 0xffff0000) | (result[i] & 0xffff);
}

}  // namespace
}  // namespace hkc::emu::HKC_VARIANT
