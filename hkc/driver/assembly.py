"""The main loop's instruction mix, read from any compiler's code object or from LLVM's assembly text."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from hkc.driver.loops import Instruction, find_loops
from hkc.errors import HkcError

# Kinds in the order of the report; the first pattern that matches an instruction's text names its kind.
_KINDS: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (kind, re.compile(pattern))
    for kind, pattern in (
        ("MFMA", r"v_s?mfma"),
        ("LDS reads", r"ds_(read|load|bpermute|permute|swizzle)"),
        ("LDS writes", r"ds_"),
        ("loads to LDS", r"(buffer|global)_load_lds|(buffer|global)_load.*\blds\b"),
        ("global loads", r"(buffer|global|flat)_load"),
        ("global stores", r"(buffer|global|flat)_(store|atomic)"),
        ("scratch", r"scratch_"),
        ("waits", r"s_waitcnt|s_nop|s_sleep"),
        ("barriers", r"s_barrier"),
        ("branches", r"s_c?branch|s_setpc|s_swappc"),
        ("scalar loads", r"s_(buffer_)?load"),
        ("scalar", r"s_"),
        ("AGPR moves", r"v_accvgpr"),
        ("vector", r"v_"),
        ("other", r""),
    )
)
_LABEL = re.compile(r"^([.\w$]+):")
_BRANCH = re.compile(r"s_c?branch\w*\s+([.\w$]+)")
_MFMA_SHAPE = re.compile(r"v_s?mfma_\w+?_(\d+)x(\d+)x(\d+)")
# What vmcnt counts, and so what a wait on it retires, oldest first (CDNA3 ISA guide 4.4).
_VECTOR_MEMORY = re.compile(r"(buffer|global|flat|scratch)_(load|store|atomic)")
_VECTOR_LOAD = re.compile(r"(buffer|global|flat)_load")
_VMCNT = re.compile(r"s_waitcnt\b.*\bvmcnt\((\d+)\)")
_TRIPS = 8  # further than any pipeline of LDS buffers reaches ahead


@dataclass(frozen=True)
class LoopMix:
    """Instructions of one iteration: count by kind, and the MFMA shape (m, n, k) used most, if any.

    ``mfma_before_wait`` has, for each load from global memory that a vmcnt wait of the loop retires, the MFMAs that
    the same wave issues between the load and that wait, also when the wait is in a later iteration.
    """

    instructions: int
    kinds: dict[str, int]
    mfma_shape: tuple[int, int, int] | None
    mfma_before_wait: tuple[int, ...] = ()


def main_loop(code: str | bytes, kernel: str | None = None) -> LoopMix | None:
    """The innermost loop with the most MFMA instructions, None without loops.

    ``code`` is a linked code object or assembly text; without ``kernel`` all its functions are looked through. Of
    equal loops it is the shortest: the others are masked forms of the same loop, for tails.

    :raises HkcError: if ``code`` is a damaged code object, or none of a known target, or has no such kernel.
    """
    functions = _disassembled(code, kernel) if isinstance(code, bytes) else [_parsed(code, kernel)]
    loops = [loop for function in functions for loop in find_loops(function)]
    members = [{id(instruction) for instruction in loop} for loop in loops]
    inner = [loop for loop, own in zip(loops, members, strict=True) if not any(other < own for other in members)]
    bodies = [[instruction.text for instruction in loop] for loop in inner]
    return _mix(max(bodies, key=lambda body: (_mfma(body), -len(body)))) if bodies else None


def _mfma(body: Sequence[str]) -> int:
    return sum(text.startswith(("v_mfma", "v_smfma")) for text in body)


def _disassembled(code: bytes, kernel: str | None) -> list[list[Instruction]]:
    """The functions of a code object (only ``kernel`` if named)."""
    from hkc.runtime.disassembly import disassemble_object

    functions = []
    for section in disassemble_object(code)[1]:
        starts = sorted(section.labels) or [0]
        for start, end in zip(starts, [*starts[1:], None], strict=True):
            if kernel is not None and section.labels.get(start) != kernel:
                continue
            lines = [line for line in section.lines if start <= line.address and (end is None or line.address < end)]
            index = {line.address: number for number, line in enumerate(lines)}
            functions.append(
                [
                    Instruction(line.text or ".long", index.get(line.target) if line.target is not None else None)
                    for line in lines
                ]
            )
    if kernel is not None and not functions:
        raise HkcError(f"the code object has no kernel {kernel}")
    return functions


def _parsed(assembly: str, kernel: str | None) -> list[Instruction]:
    """One function of assembly text (all without a name)."""
    texts: list[str] = []
    labels: dict[str, int] = {}
    inside = kernel is None
    for line in assembly.splitlines():
        text = line.split(";", 1)[0].strip()
        if match := _LABEL.match(text):
            if match[1] == kernel:
                inside = True
            elif inside and kernel is not None and match[1].startswith(".Lfunc_end"):
                break
            labels[match[1]] = len(texts)
        elif inside and text and not text.startswith("."):
            texts.append(text)
    instructions = []
    for text in texts:
        branch = _BRANCH.match(text)
        target = labels.get(branch[1]) if branch else None
        instructions.append(Instruction(text, target if target is not None and target < len(texts) else None))
    return instructions


def _mix(instructions: list[str]) -> LoopMix:
    kinds: Counter[str] = Counter()
    shapes: Counter[tuple[int, int, int]] = Counter()
    for text in instructions:
        kinds[next(kind for kind, pattern in _KINDS if pattern.match(text))] += 1
        if shape := _MFMA_SHAPE.match(text):
            shapes[int(shape[1]), int(shape[2]), int(shape[3])] += 1
    ordered = {kind: kinds[kind] for kind, _ in _KINDS if kinds[kind]}
    shape_used = shapes.most_common(1)[0][0] if shapes else None
    return LoopMix(len(instructions), ordered, shape_used, _mfma_before_wait(instructions))


def _mfma_before_wait(loop: Sequence[str]) -> tuple[int, ...]:
    """For each load of the loop that a wait in it retires: the MFMAs issued from the load to that wait."""
    found = []
    for at, text in enumerate(loop):
        if not _VECTOR_LOAD.match(text):
            continue
        mfma = later = 0
        for step in range(1, _TRIPS * len(loop)):
            other = loop[(at + step) % len(loop)]
            wait = _VMCNT.match(other)
            if wait and int(wait[1]) <= later:
                found.append(mfma)
                break
            mfma += other.startswith(("v_mfma", "v_smfma"))
            later += _VECTOR_MEMORY.match(other) is not None
    return tuple(found)
