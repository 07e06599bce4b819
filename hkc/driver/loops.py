"""The loops of a function's machine code, by its control flow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Instruction:
    """Text in LLVM's syntax; ``target`` is the index of the instruction that a branch goes to, None if it is none
    or leaves the function."""

    text: str
    target: int | None = None


@dataclass(frozen=True)
class _Block:
    """Instructions ``start`` to ``end`` (exclusive) run one after the other."""

    start: int
    end: int
    successors: tuple[int, ...]


def find_loops(code: Sequence[Instruction]) -> list[list[Instruction]]:
    """The bodies of all natural loops, instructions in the order of their addresses.

    A back edge goes to a block that dominates where it comes from; the loop is what reaches the edge without
    passing that block. Edges back to the same block make one loop. Code that cannot be reached has none.
    """
    blocks = _blocks(code) if code else []
    dominators = _dominators(blocks)
    predecessors: list[list[int]] = [[] for _ in blocks]
    for number in dominators:
        for successor in blocks[number].successors:
            predecessors[successor].append(number)
    loops: dict[int, set[int]] = {}
    for number, above in dominators.items():
        for header in blocks[number].successors:
            if header in above:
                loops.setdefault(header, {header}).update(_body(number, header, predecessors))
    return [
        [code[i] for number in sorted(body) for i in range(blocks[number].start, blocks[number].end)]
        for body in loops.values()
    ]


def _body(latch: int, header: int, predecessors: list[list[int]]) -> set[int]:
    body, open_ = {header}, [latch]
    while open_:
        number = open_.pop()
        if number not in body:
            body.add(number)
            open_ += predecessors[number]
    return body


def _blocks(code: Sequence[Instruction]) -> list[_Block]:
    starts = {0} | {i.target for i in code if i.target is not None}
    starts |= {at + 1 for at, i in enumerate(code) if i.target is not None or _ends(i.text)}
    bounds = sorted(start for start in starts if start < len(code))
    number = {start: n for n, start in enumerate(bounds)}
    blocks = []
    for start, end in zip(bounds, [*bounds[1:], len(code)], strict=True):
        last = code[end - 1]
        successors = [number[last.target]] if last.target is not None else []
        if end < len(code) and not _ends(last.text):
            successors.append(number[end])
        blocks.append(_Block(start, end, tuple(successors)))
    return blocks


def _ends(text: str) -> bool:
    """Nothing runs on behind it (trap 2 ends a wave: LLVM AMDGPUUsage, "Trap Handler ABI")."""
    return text.startswith(("s_branch", "s_endpgm", "s_setpc", "s_trap 2"))


def _dominators(blocks: list[_Block]) -> dict[int, set[int]]:
    """For each block that can be reached, those that every path from the first one passes, itself included."""
    if not blocks:
        return {}
    reached, open_ = {0}, [0]
    while open_:
        for successor in blocks[open_.pop()].successors:
            if successor not in reached:
                reached.add(successor)
                open_.append(successor)
    predecessors: dict[int, list[int]] = {number: [] for number in reached}
    for number in reached:
        for successor in blocks[number].successors:
            predecessors[successor].append(number)
    found = {number: set(reached) for number in reached}
    found[0] = {0}
    changed = True
    while changed:
        changed = False
        for number in sorted(reached - {0}):
            above = set.intersection(*(found[p] for p in predecessors[number])) | {number}
            if above != found[number]:
                found[number], changed = above, True
    return found
