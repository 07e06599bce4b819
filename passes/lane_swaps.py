"""Exchanging values between lanes whose numbers differ by an XOR: part of `lower-to-rocdl`."""

from __future__ import annotations

from collections.abc import Callable

from mlir import ir
from mlir.dialects import llvm, rocdl, vector

from hkc.passes import scalars as s
from hkc.targets import Target

# XOR of the lane number -> DPP control: CDNA3 ISA 12.12.1 (DPP_CTRL: quad_perm, row_ror, row_mirror, row_half_mirror).
_DPP = {1: 0xB1, 2: 0x4E, 3: 0x1B, 7: 0x141, 8: 0x128, 15: 0x140}
_ALL_ROWS = _ALL_BANKS = 0xF
# ds_swizzle_b32, bit-mask mode: offset = xor << 10 | or << 5 | and, among 32 lanes: CDNA3 ISA 11.4.
_SWIZZLE_XOR, _SWIZZLE_KEEP, _SWIZZLE_LANES = 10, 0x1F, 32
# Lanes exchanged by permlane16_swap and permlane32_swap: CDNA4 ISA, V_PERMLANE16_SWAP_B32, V_PERMLANE32_SWAP_B32.
_PERMLANE = {16: "rocdl.permlane16.swap", 32: "rocdl.permlane32.swap"}
_WORD_BYTES = 4


def swapped(value: ir.Value, mask: int, target: Target) -> ir.Value:
    """The value (a scalar or vector of 32- or 64-bit items, or narrower ints) of the lane whose number is XORed."""
    if isinstance(value.type, ir.VectorType):
        type_ = ir.VectorType(value.type)
        words = _words(type_)
        moved = [_word(w, mask, target) for w in _items(llvm.bitcast(words, value), words)]
        return llvm.bitcast(type_, vector.FromElementsOp(words, moved).result)
    return _word(value, mask, target)


def _words(type_: ir.VectorType) -> ir.VectorType:
    bits = type_.shape[0] * type_.element_type.width
    return ir.VectorType.get([bits // 32], s.i32())


def _items(value: ir.Value, type_: ir.VectorType) -> list[ir.Value]:
    return [vector.ExtractOp(value, [], [index]).result for index in range(type_.shape[0])]


def _word(value: ir.Value, mask: int, target: Target) -> ir.Value:
    move: Callable[[ir.Value, int, Target], ir.Value] = _through_lds
    if mask in target.lane_swaps:
        move = _by_permlane if mask in _PERMLANE else _by_dpp
    return move(value, mask, target)


def _by_dpp(value: ir.Value, mask: int, _: Target) -> ir.Value:
    old = llvm.PoisonOp(value.type).result
    return rocdl.update_dpp(value.type, old, value, _DPP[mask], _ALL_ROWS, _ALL_BANKS, True)


def _by_permlane(value: ir.Value, mask: int, target: Target) -> ir.Value:
    """With both operands the same value, one result holds the even groups' lanes of it and one the odd groups'."""
    pair = ir.Type.parse(f"!llvm.struct<({value.type}, {value.type})>")
    false = ir.BoolAttr.get(False)
    made = ir.Operation.create(
        _PERMLANE[mask], [pair], [value, value], attributes={"fi": false, "boundControl": false}
    ).result
    low, high = (llvm.extractvalue(value.type, made, [index]) for index in (0, 1))
    lane = s.bits(rocdl.workitem_id_x(s.i32()), 0, (target.wavefront - 1).bit_length())
    upper = s.compare("ne", s.bits(lane, mask.bit_length() - 1, 1), 0)
    return s.select(upper, low, high)


def _through_lds(value: ir.Value, mask: int, target: Target) -> ir.Value:
    if mask < _SWIZZLE_LANES:
        pattern = s.value(mask << _SWIZZLE_XOR | _SWIZZLE_KEEP)
        return rocdl.ds_swizzle(value.type, value, pattern)
    lane = s.bits(rocdl.workitem_id_x(s.i32()), 0, (target.wavefront - 1).bit_length())
    return rocdl.ds_bpermute(value.type, s.value(s.mul(s.xor(lane, mask), _WORD_BYTES)), value)
