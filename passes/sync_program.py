"""A kernel as the passes about order see it: only what orders memory, and what branches and slot indices depend on.

Values are numbered, so that following many paths costs no MLIR look-ups.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from mlir import ir

from hkc.dialect.ops import Barrier, BufferLoad, Copy, LdsRead, LdsReadPart, LdsSlot, LdsWrite, Wait, Waitcnt, WaveId
from hkc.passes.rebuild import body_of
from hkc.passes.sync_scalars import Function, Known, evaluator

FOR, IF = "scf.for", "scf.if"
_SYNC = frozenset(c.name for c in (BufferLoad, Copy, LdsRead, LdsReadPart, LdsWrite, Wait, Waitcnt, Barrier))


@dataclass(eq=False)
class Node:
    """One op: the numbers of its operands and results, its regions, and whether it or one inside orders memory."""

    op: ir.Operation
    name: str
    operands: tuple[int, ...]
    results: tuple[int, ...]
    regions: list[Region]
    orders: bool
    evaluate: Function | None = None


@dataclass(eq=False)
class Region:
    """A region of one block: its arguments, its ops, and what it yields."""

    arguments: tuple[int, ...] = ()
    nodes: list[Node] = field(default_factory=list)
    yields: tuple[int, ...] = ()


class Program:
    """A kernel's relevant ops. ``slots`` gives the allocation and index of each LDS slot."""

    def __init__(self, function: ir.Operation) -> None:
        self._numbers: dict[ir.Value, int] = {}
        self.values: list[ir.Value] = []
        self.slots: dict[int, tuple[int, int]] = {}
        self.body = self._region(body_of(function), False)
        self._prune()

    def number(self, value: ir.Value) -> int:
        known = self._numbers.get(value)
        if known is None:
            known = self._numbers[value] = len(self.values)
            self.values.append(value)
        return known

    def _region(self, block: ir.Block, of_branch: bool) -> Region:
        region = Region(tuple(map(self.number, block.arguments)))
        for view in block.operations:
            op = view.operation
            name = op.name
            operands = tuple(map(self.number, op.operands))
            if name in ("scf.yield", "func.return"):
                region.yields = operands
                continue
            results = tuple(map(self.number, op.results))
            if name == LdsSlot.name:
                self.slots[results[0]] = (operands[0], operands[1])
            inner = op.regions if name in (FOR, IF) else ()
            regions = [self._region(r.blocks[0], name == IF) if len(r.blocks) else Region() for r in inner]
            orders = name in _SYNC or any(n.orders for r in regions for n in r.nodes)
            region.nodes.append(Node(op, name, operands, results, regions, orders))
        if of_branch:
            # A load that a condition splits into a wide and a masked path is LLVM's to wait for.
            for node in region.nodes:
                if node.name == BufferLoad.name and node.results[0] in region.yields:
                    node.orders = False
        return region

    def _prune(self) -> None:
        """Keeps the ops that matter to order and what they depend on."""
        needed: set[int] = set()
        before = -1
        while len(needed) != before:
            before = len(needed)
            self._need(self.body, needed)
        self._drop(self.body, needed)

    def _need(self, region: Region, needed: set[int]) -> None:
        """Backwards, so that an op is met after all its uses; once more for what loops carry around."""
        for node in reversed(region.nodes):
            if not _matters(node, needed):
                continue
            needed.update(self._inputs(node, needed))
            for inner in node.regions:
                self._need(inner, needed)

    def _inputs(self, node: Node, needed: set[int]) -> list[int]:
        """The operands that decide what a node does to memory or to the values needed of it."""
        if node.name == FOR:
            [body] = node.regions
            carried = zip(body.arguments[1:], node.results, node.operands[3:], body.yields, strict=True)
            flows = [v for a, r, first, last in carried if a in needed or r in needed for v in (first, last)]
            return [*node.operands[:3], *flows]
        if node.name == IF:
            flows = [v for body in node.regions for r, v in zip(node.results, body.yields, strict=False) if r in needed]
            return [node.operands[0], *flows]
        if node.name in _SYNC:
            used = node.operands if node.name in (LdsWrite.name, Wait.name) else ()
            return [*used, *(v for operand in node.operands for v in self.slots.get(operand, ()))]
        if node.evaluate is None and len(node.results) == 1:
            node.evaluate = evaluator(node.op)
        return list(node.operands) if node.evaluate is not None else []

    def _drop(self, region: Region, needed: set[int]) -> None:
        region.nodes = [n for n in region.nodes if _matters(n, needed)]
        for node in region.nodes:
            for inner in node.regions:
                self._drop(inner, needed)


def _matters(node: Node, needed: set[int]) -> bool:
    return node.orders or any(r in needed for r in node.results)


def nodes_of(region: Region) -> Iterator[Node]:
    """All nodes, in program order."""
    for node in region.nodes:
        yield node
        for inner in node.regions:
            yield from nodes_of(inner)


@dataclass(frozen=True)
class Role:
    """Wavefronts that do the same. ``known`` are the values that follow from the wavefront's number."""

    waves: tuple[int, ...]
    known: dict[int, Known] = field(hash=False, compare=False)


def wave_roles(program: Program, waves: int) -> list[Role]:
    """The wavefronts grouped by what the branches and indices that depend on `tile.wave_id` decide."""
    by_wave: set[int] = set()
    pure: list[Node] = []
    constants: dict[int, Known] = {}
    frontier: list[int] = []
    for node in nodes_of(program.body):
        if node.name == WaveId.name:
            by_wave.add(node.results[0])
        elif node.name == "arith.constant" and node.evaluate is not None:
            constants[node.results[0]] = node.evaluate(())
        elif node.evaluate is not None and any(v in by_wave for v in node.operands):
            if all(v in by_wave or v in constants for v in node.operands):
                pure.append(node)
                by_wave.add(node.results[0])
                continue
        uses = [v for operand in node.operands for v in (operand, *program.slots.get(operand, ()))]
        frontier += [v for v in uses if v in by_wave]
        frontier += [v for r in node.regions for v in r.yields if v in by_wave]
    groups: dict[tuple[Known, ...], tuple[list[int], dict[int, Known]]] = {}
    ids = [v for v in by_wave if all(v not in n.results for n in pure)]
    for wave in range(waves):
        known: dict[int, Known] = {**constants, **dict.fromkeys(ids, wave)}
        for node in pure:
            assert node.evaluate is not None
            known[node.results[0]] = node.evaluate([known.get(v) for v in node.operands])
        decided = tuple(known[v] for v in frontier)
        groups.setdefault(decided, ([], known))[0].append(wave)
    return [Role(tuple(members), known) for members, known in groups.values()]
