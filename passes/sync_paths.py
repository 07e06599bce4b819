"""Following every path through a kernel for `insert-fences`: what must stand before each op, and how far waits go."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from mlir import ir

from hkc.dialect.irdl import get_int
from hkc.dialect.locations import span_of
from hkc.dialect.ops import Barrier, BufferLoad, Copy, LdsRead, LdsReadPart, Wait, Waitcnt
from hkc.dialect.types import lds_type
from hkc.errors import HkcError
from hkc.passes.roles import roles_of
from hkc.passes.schedules.pipeline import SCHEDULED
from hkc.passes.staged import STAGED
from hkc.passes.sync_program import FOR, IF, Node, Program, Region, Role, nodes_of, wave_roles
from hkc.passes.sync_regions import Touched, check_slot, instructions_of, touched_by
from hkc.passes.sync_scalars import few_trips
from hkc.passes.sync_state import Fence, Lack, PathState, SlotKey, Token
from hkc.targets import Target

# States of one loop before following it is given up: rotations repeat after at most `stages` trips, and copies that
# nobody waits for fill the counter in 64.
MOST_STATES = 256


class Again(Exception):
    """A fence was added: the paths must be followed anew."""


@dataclass
class Found:
    """What the paths ask for: fences before ops, which tokens a wait must end, barriers behind token waits, and the
    least count of each wait."""

    fences: dict[ir.Operation, Fence] = field(default_factory=dict)
    due: set[tuple[ir.Operation, int]] = field(default_factory=set)
    barriers: set[ir.Operation] = field(default_factory=set)
    vmcnt: dict[ir.Operation, int] = field(default_factory=dict)
    lgkmcnt: dict[ir.Operation, int] = field(default_factory=dict)

    def need(self, op: ir.Operation, fence: Fence) -> None:
        known = self.fences.get(op, Fence())
        if known | fence != known:
            self.fences[op] = known | fence
            raise Again

    def barrier_after(self, op: ir.Operation) -> None:
        self.barriers.add(op)
        raise Again


class Walker:
    """Follows the paths of one kernel, of each role's wavefronts in turn."""

    def __init__(self, function: ir.Operation, target: Target) -> None:
        self.program = Program(function)
        self.shares = roles_of(function)
        self.target = target
        self.roles = wave_roles(self.program, self.shares.total)
        barriers = [node.op for node in nodes_of(self.program.body) if node.name == Barrier.name]
        self.by_hand = any(SCHEDULED not in op.attributes for op in barriers)
        self.found = Found()
        self.role: Role = self.roles[0]
        self._touched: dict[Node, tuple[Touched, int]] = {}

    def follow(self) -> None:
        """Follows all paths. Raises Again if something was missing (and has been added)."""
        self.found.vmcnt.clear()
        self.found.lgkmcnt.clear()
        for role in self.roles:
            self.role = role
            self.block(self.program.body, [PathState(values=dict(role.known))])

    def block(self, region: Region, states: list[PathState]) -> list[PathState]:
        for node in region.nodes:
            if node.name == FOR:
                states = [out for st in states for out in self.loop(node, st)]
            elif node.name == IF:
                states = [out for st in states for out in self.branch(node, st)]
            elif node.orders:
                for st in states:
                    self.sync(node, st)
            elif len(node.results) == 1 and node.results[0] not in self.role.known:
                function = node.evaluate
                for st in states:
                    operands = [st.integer(v) for v in node.operands]
                    st.values[node.results[0]] = function(operands) if function else None
        return states

    def loop(self, node: Node, entry: PathState) -> list[PathState]:
        [body] = node.regions
        variable, *carried = body.arguments
        low, high, step = (entry.integer(v) for v in node.operands[:3])
        entry = entry.copy()
        entry.values[variable] = low if few_trips(low, high, step) else None
        _move(entry, carried, node.operands[3:])
        seen: dict[tuple[object, ...], PathState] = {}
        exits, work = [], [entry]
        while work:
            st = work.pop()
            key = st.key(body.arguments)
            if key in seen:
                continue
            if len(seen) >= MOST_STATES:
                raise HkcError(
                    "the LDS slots of this loop rotate in too many ways to place waits and barriers",
                    span_of(node.op),
                    hint="rotate the slot index by a constant, modulo the number of buffers",
                )
            seen[key] = st
            at = st.integer(variable)
            if at is None or high is None or at >= high:
                exits.append(st)
                if at is not None:
                    continue
            for out in self.block(body, [st.copy()]):
                _move(out, carried, body.yields)
                out.values[variable] = None if at is None or step is None else at + step
                work.append(out)
        for st in exits:
            _move(st, node.results, carried)
        return exits

    def branch(self, node: Node, entry: PathState) -> list[PathState]:
        condition = entry.integer(node.operands[0])
        exits = []
        for taken, region in zip((True, False), node.regions, strict=True):
            if condition is not None and bool(condition) != taken:
                continue
            st = entry.copy()
            # The same condition decides further branches alike.
            st.values[node.operands[0]] = int(taken)
            for out in self.block(region, [st]):
                _move(out, node.results, region.yields)
                exits.append(out)
        return exits

    def slot_key(self, node: Node, st: PathState) -> SlotKey:
        slot = next(v for v in node.operands if v in self.program.slots)
        allocation, index = self.program.slots[slot]
        known = st.integer(index)
        check_slot(node.op, known, lds_type(self.program.values[allocation]).shape[0])
        return allocation, known

    def touched(self, node: Node) -> tuple[Touched, int]:
        """What an op touches of its slot, and how many instructions it surely makes."""
        if node not in self._touched:
            touched = touched_by(node.op, self.shares)
            self._touched[node] = touched, instructions_of(node.op, touched, self.target)
        return self._touched[node]

    def sync(self, node: Node, st: PathState) -> None:
        """One op that matters to order."""
        op = node.op
        if node.name == Wait.name:
            self.wait(op, [st.values.get(v) for v in node.operands], st)
        elif node.name == Waitcnt.name:
            for name, queue in (("vmcnt", st.vm), ("lgkmcnt", st.lds)):
                most = get_int(op, name)
                if most is not None:
                    st.land_count(most, op, queue)
        elif node.name == Barrier.name:
            if self.found.fences.get(op, Fence()).lgkm:
                self.land_lds(op, st.pending_reads(), st)
            st.barrier(op)
        elif node.name == BufferLoad.name:
            st.values[node.results[0]] = st.issue("load", instructions_of(op, None, self.target))
        elif node.name in (LdsRead.name, LdsReadPart.name):
            touched, _ = self.touched(node)
            key = self.slot_key(node, st)
            self.fence(op, st.before_read(key, touched, self.role.waves), key, st)
            st.read(key, touched)
        else:
            self.write(node, st)

    def write(self, node: Node, st: PathState) -> None:
        op, direct = node.op, node.name == Copy.name
        touched, count = self.touched(node)
        key = self.slot_key(node, st)
        self.fence(op, st.before_write(key, touched, self.role.waves, direct), key, st)
        if not direct:
            loaded = st.values.get(node.operands[0])
            if isinstance(loaded, Token):
                self.land_copies(op, [loaded], st)
        st.values[node.results[0]] = st.write(key, touched, "copy" if direct else "write", count)

    def wait(self, op: ir.Operation, values: list[object], st: PathState) -> None:
        tokens = [(position, t) for position, t in enumerate(values) if isinstance(t, Token)]
        # What another role does with the bytes is not seen here, so all of its tokens are due.
        all_due = len(self.roles) > 1
        due = [t for position, t in tokens if all_due or (op, position) in self.found.due]
        self.land_copies(op, [t for t in due if t.queue == "copy"], st)
        reads = st.pending_reads() if self.found.fences.get(op, Fence()).lgkm else []
        self.land_lds(op, [*(t for t in due if t.queue == "write"), *reads], st)
        for position, token in tokens:
            st.fall_due(token, op, position)
        if op in self.found.barriers:
            st.barrier(op)

    def land_copies(self, op: ir.Operation, tokens: Sequence[Token], st: PathState) -> None:
        """A wait before ``op`` for copies or loads."""
        self._land(self.found.vmcnt, op, tokens, st)

    def land_lds(self, op: ir.Operation, tokens: Sequence[Token], st: PathState) -> None:
        """A wait before ``op`` for LDS operations."""
        self._land(self.found.lgkmcnt, op, tokens, st)

    def _land(self, counts: dict[ir.Operation, int], op: ir.Operation, tokens: Sequence[Token], st: PathState) -> None:
        younger = [count for t in tokens if (count := st.younger(t)) is not None]
        if younger:
            counts[op] = min(*younger, counts.get(op, younger[0]))
        for token in tokens:
            st.land(token, op)

    def fence(self, op: ir.Operation, lack: Lack, key: SlotKey, st: PathState) -> None:
        """Applies the fence already asked for before ``op``; asks for what is still missing."""
        for barrier in lack.crossed:
            self.found.need(barrier, Fence(lgkm=True))
        if lack.due:
            self.found.due.update(lack.due)
            raise Again
        if self.by_hand and STAGED not in self.program.values[key[0]].owner.attributes:
            return
        wanted = self.found.fences.get(op, Fence())
        if lack.fence.barrier and not wanted.barrier:
            self._barrier_behind_wait(key, st)
        if lack.fence != Fence():
            self.found.need(op, lack.fence)
        if wanted.tokens:
            writes = [st.slots[k].write for k in st.overlapping(key) if not st.slots[k].landed]
            self.land_copies(op, [t for t in writes if t is not None and t.queue == "copy"], st)
        if wanted.lgkm:
            self.land_lds(op, [*lack.late, *(st.pending_reads() if wanted.barrier else ())], st)
        if wanted.barrier:
            st.barrier(op)

    def _barrier_behind_wait(self, key: SlotKey, st: PathState) -> None:
        """Where only a barrier is missing since a token wait, it goes right behind that wait: there it also orders
        what comes between the wait and the op at hand."""
        for state in (st.slots[k] for k in st.overlapping(key)):
            by = state.landed_by
            behind_wait = state.write is not None and state.landed and by is not None and by.name == Wait.name
            if behind_wait and by not in self.found.barriers:
                self.found.barrier_after(by)


def _move(st: PathState, to: Sequence[int], values: Sequence[int]) -> None:
    st.values.update(zip(to, [st.values.get(v) for v in values], strict=True))
