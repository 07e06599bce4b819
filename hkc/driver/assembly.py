"""The main loop's instruction mix, from LLVM's assembly text."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

# Kinds in the order of the report; the first pattern that matches an instruction's text names its kind.
_KINDS: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (kind, re.compile(pattern))
    for kind, pattern in (
        ("MFMA", r"v_s?mfma"),
        ("LDS reads", r"ds_(read|load|bpermute|permute|swizzle)"),
        ("LDS writes", r"ds_"),
        ("loads to LDS", r"(buffer|global)_load.*\blds\b"),
        ("global loads", r"(buffer|global|flat)_load"),
        ("global stores", r"(buffer|global|flat)_(store|atomic)"),
        ("scratch", r"scratch_"),
        ("waits", r"s_waitcnt|s_nop|s_sleep"),
        ("barriers", r"s_barrier"),
        ("branches", r"s_c?branch|s_setpc|s_swappc"),
        ("scalar loads", r"s_(buffer_)?load"),
        ("scalar", r"s_"),
        ("vector", r"v_"),
        ("other", r""),
    )
)
_LABEL = re.compile(r"^([.\w$]+):")
_BRANCH = re.compile(r"s_c?branch\w*\s+([.\w$]+)")
_MFMA_SHAPE = re.compile(r"v_s?mfma_\w+?_(\d+)x(\d+)x(\d+)")


@dataclass(frozen=True)
class LoopMix:
    """Instructions of one iteration: count by kind, and the MFMA shape (m, n, k) used most, if any."""

    instructions: int
    kinds: dict[str, int]
    mfma_shape: tuple[int, int, int] | None


def main_loop(assembly: str, kernel: str | None = None) -> LoopMix | None:
    """The innermost loop with the most MFMA instructions, None without loops.

    A loop is what lies between a label and a later branch back to it. Of equals it is the shortest: the
    others are masked forms of the same loop, for tails.
    """
    instructions, labels = _instructions(assembly, kernel)
    loops = []
    for end, text in enumerate(instructions):
        match = _BRANCH.match(text)
        start = labels.get(match[1]) if match else None
        if start is not None and start <= end:
            loops.append((start, end))
    inner = [a for a in loops if not any(a != b and a[0] <= b[0] and b[1] <= a[1] for b in loops)]
    bodies = [instructions[start : end + 1] for start, end in inner]
    return _mix(max(bodies, key=lambda body: (_mfma(body), -len(body)))) if bodies else None


def _mfma(body: list[str]) -> int:
    return sum(text.startswith(("v_mfma", "v_smfma")) for text in body)


def _instructions(assembly: str, kernel: str | None) -> tuple[list[str], dict[str, int]]:
    """Instructions of one function (all without a name), and the index that each label stands before."""
    instructions: list[str] = []
    labels: dict[str, int] = {}
    inside = kernel is None
    for line in assembly.splitlines():
        text = line.split(";", 1)[0].strip()
        if match := _LABEL.match(text):
            if match[1] == kernel:
                inside = True
            elif inside and kernel is not None and match[1].startswith(".Lfunc_end"):
                break
            labels[match[1]] = len(instructions)
        elif inside and text and not text.startswith("."):
            instructions.append(text)
    return instructions, labels


def _mix(instructions: list[str]) -> LoopMix:
    kinds: Counter[str] = Counter()
    shapes: Counter[tuple[int, int, int]] = Counter()
    for text in instructions:
        kinds[next(kind for kind, pattern in _KINDS if pattern.match(text))] += 1
        if shape := _MFMA_SHAPE.match(text):
            shapes[int(shape[1]), int(shape[2]), int(shape[3])] += 1
    ordered = {kind: kinds[kind] for kind, _ in _KINDS if kinds[kind]}
    return LoopMix(len(instructions), ordered, shapes.most_common(1)[0][0] if shapes else None)
