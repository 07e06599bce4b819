"""`insert-fences`: tokens become counter waits, and barriers go where wavefronts share LDS bytes.

Every path through the kernel is followed with the LDS slot indices as they really rotate (loops until nothing new
appears), so a wait's count is exact: the copies issued after the awaited one, the least over all paths. A barrier is
put before an op that would read what another wavefront has written since the last barrier, or overwrite what another
may still read. A kernel that has barriers of its own keeps just those.

Waits of loads into registers are LLVM's to derive.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from hkc.dialect.irdl import get_int, get_ints
from hkc.dialect.locations import location_of, span_of
from hkc.dialect.ops import Barrier, Copy, LdsRead, LdsWrite, Wait, Waitcnt
from hkc.dialect.types import lds_type
from hkc.dialect.verify import walk
from hkc.passes.rebuild import body_of, kernel_of
from hkc.passes.register_staging import slot_source
from hkc.passes.swizzle import CHUNK
from hkc.passes.sync_scalars import evaluate
from hkc.passes.sync_state import Fence, PathState, SlotKey, Token
from mlir import ir

from hkc.errors import HkcError
from hkc.targets import Target

SYNC_OPS = frozenset(c.name for c in (Copy, LdsRead, LdsWrite, Wait, Waitcnt, Barrier))
# States of one loop before its slot indices are taken as unknown: rotations repeat after at most `stages` trips.
MOST_STATES = 64


@dataclass
class Found:
    """What the paths ask for: a fence before an op, and the least count of each wait."""

    fences: dict[ir.Operation, Fence] = field(default_factory=dict)
    counts: dict[ir.Operation, int] = field(default_factory=dict)
    changed: bool = False

    def need(self, op: ir.Operation, fence: Fence) -> None:
        known = self.fences.get(op, Fence())
        if known | fence != known:
            self.fences[op] = known | fence
            self.changed = True

    def count(self, op: ir.Operation, vmcnt: int) -> None:
        self.counts[op] = min(vmcnt, self.counts.get(op, vmcnt))


class Walker:
    """Follows the paths of one kernel."""

    def __init__(self, function: ir.Operation, target: Target) -> None:
        grid = get_ints(function, "tile.waves") or (1, 1)
        self.lanes = grid[0] * grid[1] * target.wavefront
        self.alone = grid[0] * grid[1] == 1
        self.by_hand = any(op.name == Barrier.name for op in walk(function))
        self.found = Found()
        self.relevant = {op for op in walk(function) if any(o.name in SYNC_OPS for o in walk(op))}

    def block(self, block: ir.Block, states: list[PathState]) -> list[PathState]:
        for view in list(block.operations)[:-1]:
            op = view.operation
            if op.name == "scf.for" and op in self.relevant:
                states = [out for st in states for out in self.loop(op, st)]
            elif op.name == "scf.if" and op in self.relevant:
                states = [out for st in states for out in self.branch(op, st)]
            elif op.name in SYNC_OPS:
                for st in states:
                    self.sync(op, st)
            elif len(op.results) == 1:
                for st in states:
                    st.values[op.results[0]] = evaluate(op, st.values)
        return states

    def loop(self, op: ir.Operation, entry: PathState) -> list[PathState]:
        block = op.regions[0].blocks[0]
        carried = list(block.arguments)[1:]
        end = list(block.operations)[-1]
        entry = entry.copy()
        entry.values[block.arguments[0]] = None
        for argument, initial in zip(carried, list(op.operands)[3:], strict=True):
            entry.values[argument] = entry.values.get(initial)
        seen: dict[tuple[object, ...], PathState] = {}
        work = [entry]
        while work:
            st = work.pop()
            key = st.key(carried)
            if key in seen:
                continue
            if len(seen) >= MOST_STATES:
                raise HkcError(
                    "the LDS slots of this loop rotate in too many ways to place waits and barriers",
                    span_of(op),
                    hint="rotate the slot index by a constant, modulo the number of buffers",
                )
            seen[key] = st
            for out in self.block(block, [st.copy()]):
                for argument, value in zip(carried, end.operands, strict=True):
                    out.values[argument] = out.values.get(value)
                work.append(out)
        exits = list(seen.values())
        for st in exits:
            for result, argument in zip(op.results, carried, strict=True):
                st.values[result] = st.values.get(argument)
        return exits

    def branch(self, op: ir.Operation, entry: PathState) -> list[PathState]:
        condition = entry.values.get(op.operands[0])
        exits = []
        for taken, region in zip((True, False), op.regions, strict=True):
            if isinstance(condition, int) and bool(condition) != taken:
                continue
            st = entry.copy()
            if not len(region.blocks):
                exits.append(st)
                continue
            block = region.blocks[0]
            end = list(block.operations)[-1]
            for out in self.block(block, [st]):
                for result, value in zip(op.results, end.operands, strict=True):
                    out.values[result] = out.values.get(value)
                exits.append(out)
        return exits

    def slot_key(self, slot: ir.Value, st: PathState) -> SlotKey:
        lds, index = slot_source(slot)
        known = st.values.get(index)
        return lds, known if isinstance(known, int) else None

    def sync(self, op: ir.Operation, st: PathState) -> None:
        """One op that matters to order."""
        if op.name == Wait.name:
            self.wait(op, [st.values.get(v) for v in op.operands], st)
        elif op.name == Waitcnt.name:
            vmcnt, lgkmcnt = get_int(op, "vmcnt"), get_int(op, "lgkmcnt")
            if vmcnt is not None:
                st.land_count(vmcnt)
            if lgkmcnt == 0:
                st.land_lds()
        elif op.name == Barrier.name:
            st.barrier()
        elif op.name == LdsRead.name:
            key = self.slot_key(op.operands[0], st)
            self.fence(op, st.before_read(key, self.alone), key, st)
            st.read(key)
        else:
            self.write(op, st)

    def write(self, op: ir.Operation, st: PathState) -> None:
        slot = Copy.groups(op)["slot"][0] if op.name == Copy.name else op.operands[1]
        key = self.slot_key(slot, st)
        self.fence(op, st.before_write(key, self.alone), key, st)
        if op.name == Copy.name:
            type_ = lds_type(slot)
            count = type_.elements * type_.dtype.bytes // (CHUNK * self.lanes)
            token = st.issue("vm", count)
        else:
            token = st.issue("lgkm", 0)
        st.write(key, token)
        st.values[op.results[0]] = token

    def wait(self, op: ir.Operation, tokens: list[object], st: PathState) -> None:
        for token in tokens:
            if isinstance(token, Token) and token.queue == "vm":
                younger = st.younger(token)
                if younger is not None:
                    self.found.count(op, younger)
        for token in tokens:
            if isinstance(token, Token):
                if token.queue == "lgkm":
                    self.found.need(op, Fence(lgkm=True))
                st.land(token)

    def fence(self, op: ir.Operation, missing: Fence, key: SlotKey, st: PathState) -> None:
        """Applies the fence already asked for before ``op``; asks for what is still missing."""
        if self.by_hand:
            return
        if missing != Fence():
            reads_pending = any(s.read_pending for s in st.slots.values())
            self.found.need(op, missing | Fence(lgkm=missing.barrier and reads_pending))
        wanted = self.found.fences.get(op, Fence())
        if wanted.tokens:
            writes = [st.slots[k].write for k in st.overlapping(key) if not st.slots[k].landed]
            late = [t for t in writes if t is not None and t.queue == "vm"]
            self.found.count(op, min((st.younger(t) or 0 for t in late), default=0))
            for token in late:
                st.land(token)
        if wanted.lgkm:
            st.land_lds()
        if wanted.barrier:
            st.barrier()


def _emit_waits(op: ir.Operation, vmcnt: int | None, lgkm: bool) -> None:
    vmcnt = None if vmcnt is None else min(vmcnt, Waitcnt.LIMITS["vmcnt"])
    if vmcnt is not None or lgkm:
        Waitcnt.build(vmcnt, 0 if lgkm else None)


def _previous_wait(op: ir.Operation, waits: set[ir.Operation]) -> ir.Operation | None:
    """The token wait just before ``op``, with nothing that matters to order in between."""
    found: ir.Operation | None = None
    for view in op.block.operations:
        before = view.operation
        if before == op:
            break
        if before in waits:
            found = before
        elif any(o.name in SYNC_OPS for o in walk(before)):
            found = None
    return found


def _write_fences(function: ir.Operation, found: Found) -> None:
    waits = {op for op in walk(function) if op.name == Wait.name}
    barriers: set[ir.Operation] = set()
    for op, fence in list(found.fences.items()):
        host = None if op in waits else _previous_wait(op, waits)
        if host is not None and not fence.tokens:
            # One wait and one barrier in place of two waits with a barrier after the second.
            found.fences[host] = found.fences.get(host, Fence()) | Fence(lgkm=fence.lgkm)
            del found.fences[op]
            if fence.barrier:
                barriers.add(host)
    for op, fence in found.fences.items():
        if op not in waits:
            with ir.InsertionPoint(op), location_of(op):
                _emit_waits(op, found.counts.get(op), fence.lgkm)
                if fence.barrier:
                    Barrier.build()
    for op in waits:
        with ir.InsertionPoint(op), location_of(op):
            _emit_waits(op, found.counts.get(op), found.fences.get(op, Fence()).lgkm)
            if op in barriers:
                Barrier.build()
        op.erase()


def insert_fences(module: ir.Module, target: Target) -> None:
    """Replaces token waits by counters and adds the barriers that are missing (see the module's text)."""
    function = kernel_of(module)
    walker = Walker(function, target)
    while True:
        walker.found.changed = False
        walker.found.counts.clear()
        walker.block(body_of(function), [PathState()])
        if not walker.found.changed:
            break
    _write_fences(function, walker.found)
