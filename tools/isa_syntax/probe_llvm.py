#!/usr/bin/env python3
"""Writes runtime/emulator/isa/syntax.inc: operands, modifiers and valid words of each opcode slot.

    python tools/isa_syntax/probe_llvm.py [LIBLLVM]        (default: libLLVM.so.22.1)

Only needed to regenerate the table. LLVM 22's AMDGPU disassembler is the source: for every slot of the opcode tables
(isa/*.inc) and every form of its encoding (probe_forms.py), every value of every operand field is tried, and every
other bit is flipped. The result is data: operand classes (which codes are registers or constants, in which width),
shapes (a form's fixed bits, ignored bits, operands in printing order, modifiers), and the shapes of each slot.
"""

from __future__ import annotations

import random
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from probe_forms import FIELDS, Form, forms, positions
from probe_names import FLOATS, LITERALS, PAIRS, STYLES, literal_text, name
from probe_oracle import ARCHS, Oracle, load

ISA = Path(__file__).parents[2] / "runtime" / "emulator" / "isa"


@dataclass(frozen=True)
class Operand:
    """An operand in a field: its dwords, valid codes, how constants and literals print; of 128-bit forms also the codes
    that LLVM decodes, valid or not (with others it takes the first half for v_mfma_ld_scale_b32)."""

    field: str
    dwords: int
    codes: tuple[int, ...]
    floats: str
    literal: str
    decoded: tuple[int, ...] = ()


@dataclass
class Shape:
    """What LLVM accepts of a form, and how it prints it. An operand without a field is a text, see syntax.h."""

    mask: int
    value: int
    ignored: int
    bits: int
    suffix: str
    operands: list[Operand | str] = field(default_factory=list)
    modifiers: list[str] = field(default_factory=list)


class Problem(Exception):
    """LLVM prints something that the rules here do not cover."""


MODIFIER = re.compile(r"(sc0|sc1|nt|glc|lds|gds|idxen|offen)\b.*|[a-z_0-9]+:.*")
TOKEN = re.compile(r"([a-z_0-9]+)(?::(\[[^\]]*\]|[^ ]+))?")
CANDIDATES = [0, 256 + 4, 256 + 8, 4, 128, 768 + 4, 768 + 8, 8, 256 + 12, 256]


def parts(text: str) -> tuple[str, list[str], str]:
    """Mnemonic, operands, modifiers of a line."""
    mnemonic, _, rest = text.partition(" ")
    protected = re.sub(r"\([^)]*\)", lambda m: m[0].replace(", ", "\0"), rest)
    operands = protected.split(", ") if protected else []
    modifiers = ""
    if operands:
        if re.match("(vmcnt|expcnt|lgkmcnt)", operands[0]):
            return mnemonic, [rest], ""
        last, _, modifiers = operands[-1].partition(" ")
        operands[-1] = last
        if MODIFIER.fullmatch(last):
            operands.pop()
            modifiers = f"{last} {modifiers}".strip()
    return mnemonic, [o.replace("\0", ", ") for o in operands], modifiers


def put(word: int, bits: list[int | None], code: int) -> int | None:
    """The word with a field's code; None if the code has a bit that the field has not."""
    for i, bit in enumerate(bits):
        if bit is not None:
            word = word & ~(1 << bit) | (code >> i & 1) << bit
        elif code >> i & 1:
            return None
    return word


def covered(field_name: str) -> int:
    """The bits of a field as a mask."""
    return sum(1 << bit for bit in positions(field_name) if bit is not None)


class Prober:
    """Probes one form of one slot on one target."""

    def __init__(self, oracle: Oracle, form: Form) -> None:
        self.oracle, self.form = oracle, form

    def shapes(self) -> list[tuple[str, Shape]]:
        """The mnemonic and the shape, or two shapes if words with the accumulation bit have other fixed bits; empty
        if LLVM rejects every word of the form."""
        form = self.form
        if form.accumulation is None:
            found = self._probe(form)
            return [found] if found else []
        bit = 1 << form.accumulation
        first = self._probe(replace(form, fixed=form.fixed | bit))
        second = self._probe(replace(form, fixed=form.fixed | bit, value=form.value | bit))
        if first is None or second is None or not mergeable(first[1], second[1]):
            return [one for one in (first, second) if one]
        return [(first[0], merge(first[1], second[1], bit))]

    def _probe(self, form: Form) -> tuple[str, Shape] | None:
        base = self._base(form)
        if base is None:
            return None
        text = self.oracle(base, form.bits)
        assert text is not None
        mnemonic, operands, _ = parts(text)
        if mnemonic == "s_endpgm":
            operands = ["0"]  # not printed if it is 0
        found: list[Operand | str | None] = [None] * len(operands)
        known = form.fixed | (0xFFFFFFFF << 32 if form.holds_constant else 0)
        for field_name in form.fields:
            if self._operand(form, base, field_name, mnemonic, operands, found):
                known |= covered(field_name)
        shape = self._bits(form, base, text, known)
        for index, operand in enumerate(found):
            shape.operands.append(operand or fixed_operand(mnemonic, index, operands[index], form))
        return mnemonic, shape

    def _base(self, form: Form) -> int | None:
        """A word of the form that LLVM accepts."""
        draw = random.Random(form.value)
        inside = form.fixed
        for field_name in form.fields:
            inside |= covered(field_name)
        outside = [b for b in range(form.bits) if not inside >> b & 1]
        for attempt in range(160):
            word = form.value | draw.choice(form.presets)
            for field_name in form.fields:
                _, add, scale, flip = FIELDS[field_name]
                bits = positions(field_name)
                code = max(draw.choice(CANDIDATES) // scale - add, 0) ^ flip
                changed = put(word, bits, code & ((1 << len(bits)) - 1))
                if changed is not None:
                    word = word & form.fixed | changed & ~form.fixed
            if attempt > 40 and outside:
                for _ in range(draw.choice([1, 1, 2])):
                    word |= 1 << draw.choice(outside)
            if self.oracle.valid(word, form.bits):
                for bit in outside:
                    if word >> bit & 1 and self.oracle.valid(word & ~(1 << bit), form.bits):
                        word &= ~(1 << bit)
                return word
        return None

    def _operand(
        self,
        form: Form,
        base: int,
        field_name: str,
        mnemonic: str,
        operands: list[str],
        found: list[Operand | str | None],
    ) -> bool:
        """Finds the operand that a field holds by trying every code; True if there is one."""
        _, add, scale, flip = FIELDS[field_name]
        bits = positions(field_name)
        texts: dict[int, dict[int, str]] = defaultdict(dict)
        decoded = []
        for raw in range(1 << len(bits)):
            word = put(base, bits, raw)
            if word is None or (word ^ base) & form.fixed:
                continue
            text = self.oracle(word, form.bits)
            if text is not None and form.bits > 64:
                decoded.append((raw ^ flip) * scale + add)
            if text is None or "/*" in text:
                continue
            printed, now, _ = parts(text)
            if printed != mnemonic or (field_name == "saddr" and raw == 127):
                continue  # another form
            if len(now) != len(operands):
                raise Problem(f"{text}: operands come and go with {field_name}")
            for index, operand in enumerate(now):
                texts[index][(raw ^ flip) * scale + add] = operand
        for index, of_code in texts.items():
            if found[index] is not None or len(set(of_code.values())) < 2:
                continue
            literals = None
            for code in [c for c in of_code if c & 511 == 255]:
                del of_code[code]
                word = put(base, bits, (code - add) ^ flip)
                assert word is not None
                lines = [self._with_literal(form, word, value) for value in LITERALS]
                literals = [parts(line or "")[1][index] for line in lines]
            operand_found = operand_of(field_name, of_code, literals)
            if operand_found is not None:
                found[index] = replace(operand_found, decoded=tuple(sorted(decoded)))
                return True
        return False

    def _with_literal(self, form: Form, word: int, value: int) -> str | None:
        """The text with a literal: behind the encoding, or the constant that the encoding holds (v_fmamk)."""
        if form.holds_constant:
            word = word & 0xFFFFFFFF | value << 32
        return self.oracle(word, form.bits, value)

    def _bits(self, form: Form, base: int, text: str, known: int) -> Shape:
        """The shape without operands, from flipping each bit that is in no operand."""
        shape = Shape(form.fixed, form.value & form.fixed, 0, form.bits, form.suffix)
        texts, changes = [text], 0
        for bit in range(form.bits):
            if known >> bit & 1:
                continue
            other = self.oracle(base ^ 1 << bit, form.bits)
            if other is None:
                shape.mask |= 1 << bit
                shape.value |= base & 1 << bit
            elif other == text:
                shape.ignored |= 1 << bit
            else:
                changes |= 1 << bit
                texts.append(other)
        if changes & ~form.modifier_bits:
            raise Problem(f"bits {changes & ~form.modifier_bits:#x} change it: {texts}")
        shape.modifiers = modifiers_of(form, texts)
        return shape


def mergeable(a: Shape, b: Shape) -> bool:
    return (a.mask, a.ignored, a.modifiers) == (b.mask, b.ignored, b.modifiers)


def merge(a: Shape, b: Shape, bit: int) -> Shape:
    """One shape from those of the words without and with the accumulation bit."""
    result = replace(a, operands=[], mask=a.mask & ~bit, value=a.value & ~bit)
    uses = False
    for x, y in zip(a.operands, b.operands, strict=True):
        if isinstance(x, Operand) and isinstance(y, Operand):
            if replace(x, codes=(), decoded=()) != replace(y, codes=(), decoded=()):
                raise Problem(f"the accumulation bit changes {x} to {y}")
            uses |= bool(covered(x.field) & bit)
            codes, decoded = sorted({*x.codes, *y.codes}), sorted({*x.decoded, *y.decoded})
            result.operands.append(replace(x, codes=tuple(codes), decoded=tuple(decoded)))
        elif x == y:
            result.operands.append(x)
        else:
            raise Problem(f"the accumulation bit changes {x} to {y}")
    if not uses:
        result.ignored |= bit
    return result


def operand_of(field_name: str, of_code: dict[int, str], literals: list[str] | None) -> Operand | None:
    """The operand whose codes print as ``of_code``; None if these are no operand's texts."""
    spans = [re.search(r"\[(\d+):(\d+)\]", t) for t in of_code.values()]
    widths = {int(s[2]) - int(s[1]) + 1 for s in spans if s}
    if len(widths) > 1:
        return None
    pair = any(t in PAIRS.values() for t in of_code.values())
    dwords = widths.pop() if widths else 2 if pair else 1
    constants = {c for c in of_code if not c & 256 and 240 <= c & 255 <= 248}
    style = "f"
    if constants:
        fitting = [s for s in FLOATS if all(of_code[c] == FLOATS[s][(c & 255) - 240] for c in constants)]
        if not fitting:
            raise Problem(f"unknown constants {[of_code[c] for c in sorted(constants)]}")
        style = fitting[0]
    if any(name(code, dwords, style) != text for code, text in of_code.items()):
        return None
    literal = "none"
    if literals is not None:
        matching = [s for s in STYLES if [literal_text(s, v) for v in LITERALS] == literals]
        if not matching:
            raise Problem(f"unknown literals {dict(zip(map(hex, LITERALS), literals, strict=True))}")
        literal = matching[0]
    return Operand(field_name, dwords, tuple(sorted(of_code)), style, literal)


def modifiers_of(form: Form, texts: list[str]) -> list[str]:
    """The form's modifiers that occur in ``texts``, in printing order; a list's with its length."""
    if form.suffix == "_dpp":
        return ["dpp64" if any("DP ALU" in line for line in texts) else "dpp"]
    tokens: dict[str, str] = {}
    for line in texts:
        tokens |= dict(TOKEN.findall(parts(re.sub(r" *(/\*.*?\*/)", "", line))[2]))
    names, result = set(tokens), []
    for modifier in form.modifiers:
        plain = re.sub(r"^u?(offset)\d\d$", r"\1", modifier)
        if modifier == "omod":
            if names & {"mul", "div"}:
                result.append(modifier)
            names -= {"mul", "div"}
        elif modifier == "mix":
            if "_mix" in texts[0]:
                result.append(modifier)
        elif plain in names:
            listed = tokens[plain].startswith("[") and plain != "format"
            names.discard(plain)
            result.append(f"{modifier}:{tokens[plain].count(',') + 1}" if listed else modifier)
    if names:
        raise Problem(f"{texts}: unknown modifiers {names}")
    return result


IMMEDIATES = {
    "s_waitcnt": "#waitcnt",
    "s_sendmsg": "#sendmsg",
    "s_sendmsghalt": "#sendmsg",
    "s_endpgm": "#program_end",
    "s_set_gpr_idx_mode": "#gpr_idx",
    "s_set_gpr_idx_on": "#gpr_idx8",
    "s_call_b64": "#label",
}


def fixed_operand(mnemonic: str, index: int, text: str, form: Form) -> str:
    """An operand that no field holds: an immediate, or a text that never changes."""
    if form.holds_constant:
        return "#constant"
    if mnemonic in IMMEDIATES:
        return IMMEDIATES[mnemonic]
    if form.family == "SMEM":
        return "#sdata" if index == 0 and "probe" in mnemonic else "#offset21"
    if text.startswith("hwreg"):
        return "#hwreg"
    if form.family in ("SOPK", "SOPP"):
        if "imm32" in mnemonic:
            return "#literal"
        if "branch" in mnemonic:
            return "#label"
        return "#number" if form.family == "SOPP" else "#hex"
    if re.fullmatch(r"[a-z]+", text):
        return f"={text}"
    raise Problem(f"{mnemonic}: cannot tell where operand {text} is")


# The table ---------------------------------------------------------------------------------------------------------


def slots() -> Iterator[tuple[str, int, str, tuple[str, ...], str]]:
    """Family, opcode, mnemonic, targets and the row's own family of every slot, the promoted ones included."""
    row = re.compile(r'HKC_OPCODE\((\w+), (\d+), "(\w+)", (\w+),')
    for path in sorted(ISA.glob("*.inc")):
        for own, number, mnemonic, archs in row.findall(path.read_text()):
            opcode, where = int(number), ARCHS if archs == "both" else (archs,)
            family = {"VOP1_E32": "VOP1", "VOP2_E32": "VOP2", "MAI": "VOP3P"}.get(own, own)
            yield family, opcode, mnemonic, where, own
            if own in ("VOP1", "VOP2", "VOPC"):
                yield "VOP3", opcode + {"VOP1": 0x140, "VOP2": 0x100, "VOPC": 0}[own], mnemonic, where, own


def ranges(codes: tuple[int, ...]) -> str:
    """ "0-3 8-12e": codes 0 to 3, and the even ones from 8 to 12."""
    result, i = [], 0
    while i < len(codes):
        step = 2 if codes[i : i + 3] == (codes[i], codes[i] + 2, codes[i] + 4) else 1
        j = i
        while j + 1 < len(codes) and codes[j + 1] == codes[j] + step:
            j += 1
        result.append(str(codes[i]) if i == j else f"{codes[i]}-{codes[j]}" + ("e" if step == 2 else ""))
        i = j + 1
    return " ".join(result)


class Table:
    """Collects shapes and slots and writes the file."""

    def __init__(self) -> None:
        self.classes: dict[str, int] = {}
        self.shapes: dict[str, int] = {}
        self.slots: dict[tuple[str, int, tuple[int, ...]], list[str]] = defaultdict(list)
        self.problems: list[str] = []

    def add(
        self,
        oracles: dict[str, Oracle],
        family: str,
        opcode: int,
        mnemonic: str,
        archs: tuple[str, ...],
        own: str,
    ) -> None:
        """Adds a slot. LLVM reads a literal after a 64-bit encoding on gfx950 only; a target that differs in nothing
        else shares its shapes."""
        shapes = {arch: self._shapes(oracles[arch], family, opcode, mnemonic, own) for arch in archs}
        bare = {arch: [self._row(shape, literals=False) for shape in found] for arch, found in shapes.items()}
        if len(archs) == 2 and bare["gfx942"] == bare["gfx950"]:
            shapes["gfx942"] = shapes["gfx950"]
        for arch, found in shapes.items():
            rows = [self.shapes.setdefault(self._row(shape), len(self.shapes)) for shape in found]
            if not rows:
                self.problems.append(f"{arch} {family} {opcode} {mnemonic}: no valid word found")
            else:
                self.slots[family, opcode, tuple(dict.fromkeys(rows))].append(arch)

    def _shapes(self, oracle: Oracle, family: str, opcode: int, mnemonic: str, own: str) -> list[Shape]:
        result: list[Shape] = []
        for form in forms(family, opcode, mnemonic, own):
            try:
                found = Prober(oracle, form).shapes()
            except Problem as problem:
                self.problems.append(f"{oracle.arch} {family} {opcode} {mnemonic} {form.suffix}: {problem}")
                continue
            for printed, shape in found:
                if printed == mnemonic:
                    shape.suffix = ""
                elif printed == mnemonic.replace("v_mfma_", "v_mfma_scale_"):
                    shape.suffix = "scale"
                elif printed != mnemonic + shape.suffix:
                    self.problems.append(f"{oracle.arch} {family} {opcode}: LLVM says {printed}, not {mnemonic}")
                result.append(generalized(shape))
        return result

    def _row(self, shape: Shape, *, literals: bool = True) -> str:
        low, wide = (1 << 64) - 1, shape.bits > 64
        numbers = [f"0x{x & low:x}" for x in (shape.mask, shape.value, shape.ignored)]
        if wide:
            numbers += [f"0x{x >> 64:x}" for x in (shape.mask, shape.value, shape.ignored)]
        operands = [self._operand_text(operand, literals) for operand in shape.operands]
        texts = [f'"{shape.suffix}"', f'"{" ".join(operands)}"', f'"{" ".join(shape.modifiers)}"']
        return f"HKC_SHAPE{'_WIDE' if wide else ''}({', '.join([str(shape.bits // 32), *numbers, *texts])})"

    def _operand_text(self, operand: Operand | str, literals: bool) -> str:
        if isinstance(operand, str):
            return operand
        if not literals:
            return f"{operand.field}:{(operand.dwords, operand.codes, operand.floats)}"
        text = f"{operand.field}:{self._class(operand, operand.codes)}"
        return f"{text}/{self._class(operand, operand.decoded)}" if operand.decoded else text

    def _class(self, operand: Operand, codes: tuple[int, ...]) -> int:
        row = f"HKC_CLASS({operand.dwords}, \"{ranges(codes)}\", '{operand.floats}', {operand.literal})"
        return self.classes.setdefault(row, len(self.classes))

    def text(self) -> str:
        lines = [
            "// Made by tools/isa_syntax/probe_llvm.py from LLVM 22.1's disassembler; see disassembler/syntax.h.",
            "// Operand fields: name, bits (lowest, width) from the code's low to high, added, scale, flipped bits.",
        ]
        for key, (bits, add, scale, flip) in FIELDS.items():
            places = " ".join(f"{low},{width}" for low, width in bits)
            lines.append(f'HKC_FIELD({key}, "{places}", {add}, {scale}, {flip})')
        lines.append("// Operand classes, by number: dwords, valid codes (e: even ones), constants, literals.")
        lines += self.classes
        lines.append(
            "// Shapes, by number: dwords, fixed bits and their values, ignored bits, suffix, operands, modifiers."
        )
        lines += self.shapes
        lines.append("// Slots: family, opcode, targets, shapes (the first whose fixed bits match is the word's).")
        for (family, opcode, rows), archs in self.slots.items():
            where = "both" if len(archs) == 2 else archs[0]
            lines.append(f'HKC_SLOT({family}, {opcode}, {where}, "{" ".join(map(str, rows))}")')
        return "\n".join(lines) + "\n"


OPCODE_BITS = {"SOP2": 0x3F800000, "SOPK": 0x0F800000, "SOP1": 0xFF00, "SOPC": 0x7F0000, "SOPP": 0x7F0000}


def generalized(shape: Shape) -> Shape:
    """The shape without its opcode bits, which choose the slot anyway, so that slots share shapes."""
    low = shape.value & 0xFFFFFFFF
    top = low >> 26 & 63
    if not low >> 31:
        prefix = low >> 25 & 0x7F
        bits = 0xFFFFFFFF & (0xFE01FE00 if prefix == 0x3F else 0xFFFE0000 if prefix == 0x3E else 0xFE000000)
    elif low >> 30 == 2:
        bits = 0xFF800000
        bits |= {0x17D: 0xFF00, 0x17E: 0x7F0000, 0x17F: 0x7F0000}.get(low >> 23, 0)
    else:
        bits = {0x30: 0x3FC0000, 0x34: 0x3FF0000, 0x36: 0x1FE0000, 0x37: 0x1FCC000, 0x38: 0x1FC0000, 0x3A: 0x78000}[top]
        bits |= 0xFC000000
    if shape.bits == 128:
        bits |= bits << 64
    return replace(shape, mask=shape.mask & ~bits, value=shape.value & ~bits)


def main() -> int:
    oracles = load(sys.argv[1] if len(sys.argv) > 1 else "libLLVM.so.22.1")
    table = Table()
    for slot in slots():
        table.add(oracles, *slot)
    for problem in table.problems:
        print(problem, file=sys.stderr)
    (ISA / "syntax.inc").write_text(table.text())
    return 1 if table.problems else 0


if __name__ == "__main__":
    sys.exit(main())
