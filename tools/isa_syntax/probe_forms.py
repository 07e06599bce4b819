"""The forms of each encoding family and their operand fields, for probe_llvm.py.

Source: CDNA3 ISA guide, "Microcode formats".
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

# Operand fields: (lowest bit, width) from the code's low to high bits (width 0: a zero bit), what is added to the code,
# what it is multiplied by and XORed with. Code 0-255 is a scalar source's, 256 + n VGPR n, 768 + n accumulation VGPR n.
FIELDS: dict[str, tuple[list[tuple[int, int]], int, int, int]] = {
    "sdst": ([(16, 7)], 0, 1, 0),
    "ssrc0": ([(0, 8)], 0, 1, 0),
    "ssrc1": ([(8, 8)], 0, 1, 0),
    "sdata": ([(6, 7)], 0, 1, 0),
    "sbase": ([(0, 6)], 0, 2, 0),
    "soffset_low": ([(32, 7)], 0, 1, 0),
    "soffset_high": ([(57, 7)], 0, 1, 0),
    "vdst": ([(17, 8)], 256, 1, 0),
    "vdst_scalar": ([(17, 8)], 0, 1, 0),
    "src0": ([(0, 9)], 0, 1, 0),
    "vsrc1": ([(9, 8)], 256, 1, 0),
    "vdst_acc": ([(17, 8)], 768, 1, 0),
    "src0_acc": ([(0, 9)], 512, 1, 0),
    "sdwa_src0": ([(32, 8), (55, 1)], 0, 1, 256),
    "sdwa_src1": ([(9, 8), (63, 1)], 0, 1, 256),
    "sdwa_sdst": ([(40, 7)], 0, 1, 0),
    "dpp_src0": ([(32, 8)], 256, 1, 0),
    "vdst3": ([(0, 8)], 256, 1, 0),
    "sdst3": ([(0, 8)], 0, 1, 0),
    "sdst3b": ([(8, 7)], 0, 1, 0),
    "src0_3": ([(32, 9)], 0, 1, 0),
    "src1_3": ([(41, 9)], 0, 1, 0),
    "src2_3": ([(50, 9)], 0, 1, 0),
    "mai_dst": ([(0, 8), (0, 0), (15, 1)], 256, 1, 0),
    "mai_src0": ([(32, 9), (59, 1)], 0, 1, 0),
    "mai_src1": ([(41, 9), (60, 1)], 0, 1, 0),
    "mai_src2": ([(50, 9), (15, 1)], 0, 1, 0),
    "acc_dst3": ([(0, 8)], 768, 1, 0),
    "acc_src0_3": ([(32, 9)], 512, 1, 0),
    "ds_dst": ([(56, 8), (0, 0), (25, 1)], 256, 1, 0),
    "addr": ([(32, 8)], 256, 1, 0),
    "gws_data": ([(32, 8), (0, 0), (25, 1)], 256, 1, 0),
    "ds_data0": ([(40, 8), (0, 0), (25, 1)], 256, 1, 0),
    "ds_data1": ([(48, 8), (0, 0), (25, 1)], 256, 1, 0),
    "flat_dst": ([(56, 8), (0, 0), (55, 1)], 256, 1, 0),
    "mem_data": ([(40, 8), (0, 0), (55, 1)], 256, 1, 0),
    "saddr": ([(48, 7)], 0, 1, 0),
    "srsrc": ([(48, 5)], 0, 4, 0),
    "buf_soffset": ([(56, 8)], 0, 1, 0),
    "scaled_dst": ([(64, 8), (0, 0), (79, 1)], 256, 1, 0),
    "scaled_src0": ([(96, 9), (123, 1)], 0, 1, 0),
    "scaled_src1": ([(105, 9), (124, 1)], 0, 1, 0),
    "scaled_src2": ([(114, 9), (79, 1)], 0, 1, 0),
}


@dataclass(frozen=True)
class Form:
    """One form of a slot's encoding: the bits that choose it, its candidate operand fields, its modifiers."""

    family: str
    fixed: int
    value: int
    fields: tuple[str, ...]
    bits: int = 64
    suffix: str = ""
    modifiers: tuple[str, ...] = ()
    modifier_bits: int = 0
    accumulation: int | None = None  # the bit that makes vector operands accumulation VGPRs
    holds_constant: bool = False  # the second dword is a constant operand
    presets: tuple[int, ...] = (0,)  # values of modifiers, one of which a valid word may need


def positions(field_name: str) -> list[int | None]:
    """The bit of each bit of a field's code; None where it is 0."""
    result: list[int | None] = []
    for low, width in FIELDS[field_name][0]:
        result += [low + i for i in range(width)] if width else [None]
    return result


def ones(*parts: tuple[int, int]) -> int:
    """A mask of (lowest bit, width) parts."""
    return sum(((1 << width) - 1) << low for low, width in parts)


def vector_forms(family: str, opcode: int, mnemonic: str) -> Iterator[Form]:
    base, mask = {
        "VOP1": (0x7E000000 | opcode << 9, 0xFE01FE00),
        "VOP2": (opcode << 25, 0xFE000000),
        "VOPC": (0x7C000000 | opcode << 17, 0xFFFE0000),
    }[family]
    vdst: tuple[str, ...] = () if family == "VOPC" else ("vdst",)
    vsrc1 = () if family == "VOP1" else ("vsrc1",)
    sdwa = (*vdst, "sdwa_src0", *(() if family == "VOP1" else ("sdwa_src1",)))
    modifiers = ("clamp", "omod", "dst_sel", "dst_unused", "src0_sel", "src1_sel")
    bits = ones((40, 8), (48, 3), (51, 3), (56, 3), (59, 3))
    if family == "VOPC":
        for scalar in (0, 1):
            fields = ("sdwa_sdst", *sdwa) if scalar else sdwa
            value = base | 249 | scalar << 47
            yield Form(family, mask | 511 | 1 << 47, value, fields, 64, "_sdwa", modifiers, bits & ~ones((40, 8)))
    else:
        yield Form(family, mask | 511, base | 249, sdwa, 64, "_sdwa", modifiers, bits, presets=(0, 6 << 40))
    bits = ones((40, 9), (51, 5), (56, 8))
    yield Form(
        family,
        mask | 511,
        base | 250,
        (*vdst, "dpp_src0", *vsrc1),
        64,
        "_dpp",
        ("dpp",),
        bits,
        presets=(0, 0x150 << 40),
    )
    if "readfirstlane" in mnemonic:
        vdst = ("vdst_scalar",)
    constant = re.fullmatch(r"v_(fma|mad)[am]k_f\d+", mnemonic) is not None
    bits = ones((32, 32)) if constant else 0
    fields = ("vdst_acc", "src0_acc") if "accvgpr" in mnemonic else (*vdst, "src0", *vsrc1)
    yield Form(family, mask, base, fields, 64 if constant else 32, "_e32", (), bits, holds_constant=constant)


def vop3_form(opcode: int, mnemonic: str, compare: bool) -> Form:
    with_sdst = re.search(r"_co_|div_scale|mad_[iu]64_[iu]32", mnemonic) is not None
    scalar = compare or "readlane" in mnemonic or "readfirstlane" in mnemonic
    sources = ("src0_3", "src1_3", "src2_3")
    fields = ("sdst3" if scalar else "vdst3", *(("sdst3b",) if with_sdst else ()), *sources)
    bits = ones((15, 1), (59, 5)) | (0 if with_sdst else ones((8, 7)))
    modifiers = ("bitop3", "op_sel", "bound_ctrl", "fi", "clamp", "omod")
    return Form("VOP3", 0xFFFF0000, 0xD0000000 | opcode << 16, fields, 64, "_e64", modifiers, bits)


def matrix_forms(opcode: int, mnemonic: str) -> Iterator[Form]:
    """The operands' sizes of f8f6f4 depend on their formats (cbsz, blgp): a form for each pair of them."""
    base, mask = 0xD3800000 | opcode << 16, 0xFFFF0000
    last = "src2_3" if "smfmac" in mnemonic else "mai_src2"
    fields: tuple[str, ...] = ("mai_dst", "mai_src0", "mai_src1", last)
    bits = ones((8, 7), (61, 3))
    modifiers = ("cbsz", "abid", "blgp", "neg")
    if "accvgpr" in mnemonic:
        fields = ("vdst3", "acc_src0_3") if "read" in mnemonic else ("acc_dst3", "src0_3")
        yield Form("MAI", mask, base, fields)
        return
    if "f8f6f4" not in mnemonic:
        yield Form("MAI", mask, base, fields, 64, "", modifiers, bits, accumulation=15)
        return
    wide = ("scaled_dst", "scaled_src0", "scaled_src1", "scaled_src2", "src0_3", "src1_3")
    for cbsz in range(8):
        for blgp in range(8):
            fixed, value = ones((8, 3), (61, 3)), cbsz << 8 | blgp << 61
            yield Form("MAI", mask | fixed, base | value, fields, 64, "", modifiers, bits, accumulation=15)
            fixed, value = (mask | fixed) << 64 | mask | 1 << 75, (base | value) << 64 | 0xD3AC0000 | 1 << 75
            bits_wide = ones((72, 3), (125, 3), (11, 4), (59, 2))
            modifiers_wide = ("op_sel", "op_sel_hi", "cbsz", "blgp")
            yield Form("MAI", fixed, value, wide, 128, "", modifiers_wide, bits_wide, accumulation=79)


def flat_forms(family: str, opcode: int, mnemonic: str) -> Iterator[Form]:
    segment = {"FLAT": 0, "SCRATCH": 1, "GLOBAL": 2}[family]
    base, mask = 0xDC000000 | segment << 14 | opcode << 18, 0xFDFCC000
    fields = ("flat_dst", "addr", "mem_data")
    modifiers = ("uoffset13" if family == "FLAT" else "offset13", "sc0", "nt", "sc1")
    bits = ones((0, 13), (16, 2), (25, 1))
    for off in (False,) if family == "FLAT" else (True, False):
        for vector in (0, 1) if family == "SCRATCH" else (None,):
            for sc0 in (0, 1) if "atomic" in mnemonic else (None,):
                fixed, value = mask, base
                if off:
                    fixed, value = fixed | 127 << 48, value | 127 << 48
                if vector is not None:
                    fixed, value = fixed | 1 << 13, value | vector << 13
                if sc0 is not None:
                    fixed, value = fixed | 1 << 16, value | sc0 << 16
                scalar = () if off else ("saddr",)
                yield Form(family, fixed, value, (*fields, *scalar), 64, "", modifiers, bits, accumulation=55)


def buffer_forms(family: str, opcode: int, mnemonic: str) -> Iterator[Form]:
    typed = family == "MTBUF"
    base = 0xE8000000 | opcode << 15 if typed else 0xE0000000 | opcode << 18
    mask = 0xFC078000 if typed else 0xFDFC0000
    modifiers: tuple[str, ...] = ("idxen", "offen", "offset12", "sc0", "nt", "sc1", "lds")
    bits = ones((0, 12)) | (ones((14, 1), (53, 2)) if typed else ones((14, 2), (17, 1)))
    if typed:
        modifiers, bits = ("format", *modifiers), bits | ones((19, 7))
    if mnemonic in ("buffer_wbl2", "buffer_inv"):
        yield Form(family, mask, base, (), 64, "", modifiers, bits)
        return
    fields = ("mem_data", "addr", "srsrc", "buf_soffset")
    for mode in range(4):
        for lds in (None,) if typed else (0, 1):
            for sc0 in (0, 1) if "atomic" in mnemonic else (None,):
                fixed, value = mask | 3 << 12, base | mode << 12
                if lds is not None:
                    fixed, value = fixed | 1 << 16, value | lds << 16
                if sc0 is not None:
                    fixed, value = fixed | 1 << 14, value | sc0 << 14
                yield Form(family, fixed, value, fields, 64, "", modifiers, bits, accumulation=55)


def scalar_memory_forms(opcode: int) -> Iterator[Form]:
    base, mask = 0xC0000000 | opcode << 18, 0xFFFC0000 | 1 << 17 | 1 << 14
    for immediate in (0, 1):
        for scalar in (0, 1):
            offset = ("soffset_high",) if scalar else () if immediate else ("soffset_low",)
            bits = 1 << 16 | ones((6, 7)) | (ones((32, 21)) if immediate else 0)
            value = base | immediate << 17 | scalar << 14
            yield Form("SMEM", mask, value, ("sdata", "sbase", *offset), 64, "", ("offset21", "glc"), bits)


def scalar_form(family: str, opcode: int, mnemonic: str) -> Form:
    base, mask, fields = {
        "SOP2": (0x80000000 | opcode << 23, 0xFF800000, ("sdst", "ssrc0", "ssrc1")),
        "SOPK": (0xB0000000 | opcode << 23, 0xFF800000, ("sdst",)),
        "SOP1": (0xBE800000 | opcode << 8, 0xFF80FF00, ("sdst", "ssrc0")),
        "SOPC": (0xBF000000 | opcode << 16, 0xFFFF0000, ("ssrc0", "ssrc1")),
        "SOPP": (0xBF800000 | opcode << 16, 0xFFFF0000, ()),
    }[family]
    if "imm32" in mnemonic:
        return Form(family, mask, base, (), 64, "", (), ones((0, 16), (32, 32)))
    if "gpr_idx_on" in mnemonic:
        return Form(family, mask, base, ("ssrc0",), 32, "", (), ones((8, 8)))
    bits = ones((0, 16)) if family in ("SOPK", "SOPP") else 0
    return Form(family, mask, base, fields, 32, "", (), bits)


def forms(family: str, opcode: int, mnemonic: str, source: str) -> Iterator[Form]:
    """The forms of a slot, in the order in which a decoder tries them; ``source`` is the opcode row's own family."""
    if family in ("VOP1", "VOP2", "VOPC"):
        yield from vector_forms(family, opcode, mnemonic)
    elif family == "VOP3":
        yield vop3_form(opcode, mnemonic, source == "VOPC")
    elif source == "MAI":
        yield from matrix_forms(opcode, mnemonic)
    elif family == "VOP3P":
        bits = ones((8, 3), (11, 5), (59, 5))
        modifiers: tuple[str, ...] = ("mix", "op_sel", "op_sel_hi", "neg_lo", "neg_hi", "clamp")
        fields = ("vdst3", "src0_3", "src1_3", "src2_3")
        yield Form(family, 0xFFFF0000, 0xD3800000 | opcode << 16, fields, 64, "", modifiers, bits)
    elif family == "DS":
        fields = ("ds_dst", "gws_data" if "gws" in mnemonic else "addr", "ds_data0", "ds_data1")
        modifiers = ("offset16", "offset0", "offset1", "gds")
        base = 0xD8000000 | opcode << 17
        yield Form(family, 0xFDFE0000, base, fields, 64, "", modifiers, ones((0, 17)), 25, presets=(0, 1 << 16))
    elif family in ("FLAT", "GLOBAL", "SCRATCH"):
        yield from flat_forms(family, opcode, mnemonic)
    elif family in ("MUBUF", "MTBUF"):
        yield from buffer_forms(family, opcode, mnemonic)
    elif family == "SMEM":
        yield from scalar_memory_forms(opcode)
    else:
        yield scalar_form(family, opcode, mnemonic)
