"""Following every path through a kernel for `insert-fences`: what must stand before each op, and how far waits go."""

from __future__ import annotations

from dataclasses import dataclass, field

from mlir import ir

from hkc.dialect.irdl import get_int
from hkc.dialect.locations import span_of
from hkc.dialect.ops import Barrier, BufferLoad, Copy, LdsRead, LdsReadPart, LdsSlot, LdsWrite, Wait, Waitcnt
from hkc.dialect.types import lds_type, tile_type
from hkc.dialect.verify import walk
from hkc.errors import HkcError
from hkc.passes.access import accesses
from hkc.passes.register_staging import slot_source
from hkc.passes.roles import copying_waves, roles_of
from hkc.passes.schedules.pipeline import SCHEDULED
from hkc.passes.swizzle import CHUNK
from hkc.passes.sync_scalars import evaluate
from hkc.passes.sync_state import Fence, PathState, SlotKey, Token
from hkc.targets import Target

_SYNC_OPS = frozenset(c.name for c in (BufferLoad, Copy, LdsRead, LdsReadPart, LdsWrite, Wait, Waitcnt, Barrier))


def is_sync(op: ir.Operation) -> bool:
    """Whether an op matters to order. Loads into registers do where copies are staged through them; those that a
    condition splits into a wide and a masked path are LLVM's."""
    split = op.name == BufferLoad.name and op.parent.operation.name == "scf.if" and len(op.parent.operation.results) > 0
    return op.name in _SYNC_OPS and not split


# States of one loop before its slot indices are taken as unknown: rotations repeat after at most `stages` trips.
MOST_STATES = 64


class Again(Exception):
    """A fence was added: the paths must be followed anew."""


@dataclass
class Found:
    """What the paths ask for: fences before ops, barriers behind token waits, and the least count of each wait."""

    fences: dict[ir.Operation, Fence] = field(default_factory=dict)
    barriers: set[ir.Operation] = field(default_factory=set)
    counts: dict[ir.Operation, int] = field(default_factory=dict)

    def need(self, op: ir.Operation, fence: Fence) -> None:
        known = self.fences.get(op, Fence())
        if known | fence != known:
            self.fences[op] = known | fence
            raise Again

    def barrier_after(self, op: ir.Operation) -> None:
        self.barriers.add(op)
        raise Again

    def count(self, op: ir.Operation, vmcnt: int) -> None:
        self.counts[op] = min(vmcnt, self.counts.get(op, vmcnt))


def relevant_ops(function: ir.Operation) -> dict[ir.Block, list[ir.Operation]]:
    """Of each block, the ops that order memory and those that slot indices and branches on the way depend on."""
    needed: set[ir.Value] = set()
    kept: dict[ir.Block, list[ir.Operation]] = {}

    def need(op: ir.Operation) -> bool:
        if is_sync(op):
            return True
        if op.name in ("scf.for", "scf.if"):
            return any(is_sync(inner) for inner in walk(op)) or any(r in needed for r in op.results)
        return len(op.results) == 1 and op.results[0] in needed

    # Backwards, so that an op is met after all its uses; loops twice, since what they carry flows around.
    for op in reversed([op for _ in range(2) for op in walk(function)]):
        if op.name in ("scf.yield", LdsSlot.name) or need(op):
            needed.update(op.operands)
    for op in walk(function):
        if op.name not in ("func.func", "scf.yield", "func.return") and need(op):
            kept.setdefault(op.block, []).append(op)
    return kept


class Walker:
    """Follows the paths of one kernel."""

    def __init__(self, function: ir.Operation, target: Target) -> None:
        self.function = function
        self.roles = roles_of(function)
        self.wavefront = target.wavefront
        self.alone = self.roles.total == 1
        self.by_hand = any(op.name == Barrier.name and SCHEDULED not in op.attributes for op in walk(function))
        self.found = Found()
        self.relevant = relevant_ops(function)

    def block(self, block: ir.Block, states: list[PathState]) -> list[PathState]:
        for op in self.relevant.get(block, ()):
            if op.name == "scf.for":
                states = [out for st in states for out in self.loop(op, st)]
            elif op.name == "scf.if":
                states = [out for st in states for out in self.branch(op, st)]
            elif is_sync(op):
                for st in states:
                    self.sync(op, st)
            else:
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
                st.land_count(vmcnt, op)
            if lgkmcnt == 0:
                st.land_lds(op)
        elif op.name == Barrier.name:
            st.barrier()
        elif op.name in (LdsRead.name, LdsReadPart.name):
            key = self.slot_key(op.operands[0], st)
            self.fence(op, st.before_read(key, self.alone), key, st)
            st.read(key)
        elif op.name == BufferLoad.name:
            st.values[op.results[0]] = st.issue("load", accesses(tile_type(op.results[0])))
        else:
            self.write(op, st)

    def write(self, op: ir.Operation, st: PathState) -> None:
        slot = Copy.groups(op)["slot"][0] if op.name == Copy.name else op.operands[1]
        key = self.slot_key(slot, st)
        self.fence(op, st.before_write(key, self.alone), key, st)
        if op.name == Copy.name:
            type_ = lds_type(slot)
            lanes = copying_waves(op, self.roles) * self.wavefront
            count = type_.elements * type_.dtype.bytes // (CHUNK * lanes)
            token = st.issue("copy", count)
        else:
            loaded = st.values.get(op.operands[0])
            if isinstance(loaded, Token) and (younger := st.younger(loaded)) is not None:
                self.found.count(op, younger)
                st.land(loaded, op)
            token = st.issue("lgkm", 0)
        st.write(key, token)
        st.values[op.results[0]] = token

    def wait(self, op: ir.Operation, tokens: list[object], st: PathState) -> None:
        for token in tokens:
            if isinstance(token, Token) and token.queue == "copy":
                younger = st.younger(token)
                if younger is not None:
                    self.found.count(op, younger)
        for token in tokens:
            if isinstance(token, Token):
                if token.queue == "lgkm":
                    self.found.need(op, Fence(lgkm=True))
                st.land(token, op)
        if op in self.found.barriers:
            if st.reads_pending():
                # The barrier then also ends these reads, so that what they read may be overwritten.
                self.found.need(op, Fence(lgkm=True))
            st.barrier()

    def fence(self, op: ir.Operation, missing: Fence, key: SlotKey, st: PathState) -> None:
        """Applies the fence already asked for before ``op``; asks for what is still missing."""
        if self.by_hand:
            return
        wanted = self.found.fences.get(op, Fence())
        if missing.barrier and not wanted.barrier:
            self._barrier_behind_wait(key, st)
        if missing != Fence():
            self.found.need(op, missing | Fence(lgkm=missing.barrier and st.reads_pending()))
        if wanted.tokens:
            writes = [st.slots[k].write for k in st.overlapping(key) if not st.slots[k].landed]
            late = [t for t in writes if t is not None and t.queue == "copy"]
            self.found.count(op, min((st.younger(t) or 0 for t in late), default=0))
            for token in late:
                st.land(token, op)
        if wanted.lgkm:
            st.land_lds(op)
        if wanted.barrier:
            st.barrier()

    def _barrier_behind_wait(self, key: SlotKey, st: PathState) -> None:
        """Where only a barrier is missing since a token wait, it goes right behind that wait: there it also orders
        what comes between the wait and the op at hand."""
        for state in (st.slots[k] for k in st.overlapping(key)):
            by = state.landed_by
            behind_wait = state.write is not None and state.landed and by is not None and by.name == Wait.name
            if behind_wait and by not in self.found.barriers:
                self.found.barrier_after(by)
