"""How codes and literals print, for probe_llvm.py; disassembler/operands.cpp has the same rules."""

from __future__ import annotations

PAIRS = {102: "flat_scratch", 104: "xnack_mask", 106: "vcc", 126: "exec"}
NAMED = {124: "m0", 125: "null", 230: "src_flat_scratch_base_lo", 231: "src_flat_scratch_base_hi"}
NAMED |= {235: "src_shared_base", 236: "src_shared_limit", 237: "src_private_base", 238: "src_private_limit"}
NAMED |= {239: "src_pops_exiting_wave_id", 251: "src_vccz", 252: "src_execz", 253: "src_scc", 254: "src_lds_direct"}
NAMED |= {128 + i: str(i) for i in range(65)} | {192 + i: str(-i) for i in range(1, 17)}

# The inline floats, codes 240-248: CDNA3 ISA guide, "Scalar ALU operands".
F32 = [0x3F000000, 0xBF000000, 0x3F800000, 0xBF800000, 0x40000000, 0xC0000000, 0x40800000, 0xC0800000, 0x3E22F983]
F16 = [0x3800, 0xB800, 0x3C00, 0xBC00, 0x4000, 0xC000, 0x4400, 0xC400, 0x3118]
BF16 = [0x3F00, 0xBF00, 0x3F80, 0xBF80, 0x4000, 0xC000, 0x4080, 0xC080, 0x3E22]
F64 = [0x3FE00000, 0xBFE00000, 0x3FF00000, 0xBFF00000, 0x40000000, 0xC0000000, 0x40100000, 0xC0100000]
VALUES = ["0.5", "-0.5", "1.0", "-1.0", "2.0", "-2.0", "4.0", "-4.0"]
FLOATS = {
    "f": [*VALUES, "0.15915494"],
    "d": [*VALUES, "0.15915494309189532"],
    "h": [f"{v:#x}" for v in F16],
    "b": [f"{v:#x}" for v in BF16],
    "w": [f"{v:#x}" for v in F32],
}


def registers(prefix: str, first: int, dwords: int) -> str:
    return f"{prefix}{first}" if dwords == 1 else f"{prefix}[{first}:{first + dwords - 1}]"


def name(code: int, dwords: int, floats: str) -> str | None:
    """The text of a code, None if it has none. Scalar register ranges are named from the aligned register below."""
    if code & 256:
        return registers("a" if code >= 512 else "v", code & 255, dwords)
    code &= 255
    if 240 <= code <= 248:
        return FLOATS[floats][code - 240]
    if code in NAMED:
        return NAMED[code]
    if dwords == 2 and code in PAIRS:
        return PAIRS[code]
    if dwords == 1 and code & ~1 in PAIRS:
        return PAIRS[code & ~1] + ("_hi" if code & 1 else "_lo")
    if code >= 124 or 102 <= code < 108:
        return None
    prefix, first = ("ttmp", code - 108) if code >= 108 else ("s", code)
    alignment = 1 if dwords == 1 else 2 if dwords == 2 else 4
    return registers(prefix, first & -alignment, dwords)


STYLES = ("i32", "i64", "f64", "f16", "bf16", "i16", "v2f16", "v2bf16", "hex")
LITERALS = [0x12345678, 5, 0x3F000000, 0x3800, 0xFFFFFFFF, 0x3FE00000, 0, 0x3E22F983, 0x3118, 0xFFFF3C00, 0x3C00]
LITERALS += [0xFFF0, 0xFFFF, 0x3F00, 0x3F80, 0x3C003C00, 0x3F803F80, 0x3FC45F30, 0x80000000, 0xFFFFFFF0, 0x50005, 0x41]


def _small(value: int, bits: int) -> bool:
    return value <= 64 or value >= (1 << bits) - 16


def literal_text(style: str, value: int) -> str:
    """How a literal dword prints: "lit(...)" if an inline constant has the value."""
    low, whole = value & 0xFFFF, f"lit({value:#x})"
    if style == "i32":
        return whole if _small(value, 32) or value in F32 else f"{value:#x}"
    if style == "i64":
        return whole if value <= 64 else f"{value:#x}"
    if style == "f64":
        return "0" if value == 0 else VALUES[F64.index(value)] if value in F64 else f"{value:#x}"
    if style == "i16":
        return whole if _small(value, 32) or value in F32 else f"{low:#x}"
    if style == "f16":
        return whole if _small(low, 16) or low in F16 else f"{low:#x}"
    if style == "bf16":
        return whole if _small(low, 16) or low in BF16 else f"{value:#x}"
    if style in ("v2f16", "v2bf16"):
        return whole if _small(value, 32) or value in (F16 if style == "v2f16" else BF16) else f"{value:#x}"
    return f"{value:#x}"
