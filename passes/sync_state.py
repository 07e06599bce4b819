"""What `insert-fences` tracks along a path: one wavefront's queues, and what the workgroup knows of each LDS slot.

The wavefronts of a role run the same code, so one of them stands for all: what this one has read or written since the
last barrier, another one may have as well, each its own bytes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Literal

from mlir import ir

from hkc.dialect.ops import Waitcnt
from hkc.passes.sync_regions import Touched, meets, shared

# Copies to LDS and loads into registers share a counter; LDS reads and writes have another.
Queue = Literal["copy", "load", "read", "write"]
SlotKey = tuple[int, int | None]  # an allocation and the slot's index, None if it is not known
Waves = tuple[int, ...]


@dataclass(frozen=True)
class Token:
    """An access that was issued; ``number`` is unique along the path."""

    number: int
    queue: Queue


@dataclass(frozen=True)
class Read:
    """A read since the last barrier, or one that may still be under way from before it (``crossed``)."""

    touched: Touched
    token: Token
    crossed: ir.Operation | None = field(default=None, compare=False)


@dataclass(frozen=True)
class SlotState:
    """One LDS slot: the last write (until a barrier has published it) and reads since the last barrier.

    ``landed_by`` is the op that waited for the write, ``due`` the token wait that should have, had it been needed, and
    the token's position in it.
    """

    write: Token | None = None
    touched: Touched | None = None
    landed: bool = True
    landed_by: ir.Operation | None = field(default=None, compare=False)
    due: tuple[ir.Operation, int] | None = field(default=None, compare=False)
    reads: tuple[Read, ...] = ()


CLEAN = SlotState()


@dataclass(frozen=True)
class Fence:
    """What must stand before an op: waits for LDS operations and for copies, and then a barrier."""

    barrier: bool = False
    lgkm: bool = False
    tokens: bool = False

    def __or__(self, other: Fence) -> Fence:
        return Fence(self.barrier or other.barrier, self.lgkm or other.lgkm, self.tokens or other.tokens)


@dataclass(frozen=True)
class Lack:
    """What an access lacks: a fence before it, with the LDS operations that must be over by then; waits for reads
    before barriers that were passed (``crossed``); and tokens that waits that were passed must end (``due``)."""

    fence: Fence = Fence()
    late: tuple[Token, ...] = ()
    crossed: tuple[ir.Operation, ...] = ()
    due: tuple[tuple[ir.Operation, int], ...] = ()

    def __or__(self, other: Lack) -> Lack:
        return Lack(
            self.fence | other.fence,
            self.late + other.late,
            self.crossed + other.crossed,
            self.due + other.due,
        )


@dataclass
class PathState:
    """The state along one path. ``vm`` lists outstanding copies and loads, ``lds`` LDS operations, each oldest first
    with its instructions."""

    issued: int = 0
    vm: list[tuple[Token, int]] = field(default_factory=list)
    lds: list[tuple[Token, int]] = field(default_factory=list)
    slots: dict[SlotKey, SlotState] = field(default_factory=dict)
    values: dict[int, object] = field(default_factory=dict)

    def copy(self) -> PathState:
        return PathState(self.issued, list(self.vm), list(self.lds), dict(self.slots), dict(self.values))

    def key(self, carried: Iterable[int]) -> tuple[object, ...]:
        """Equal for states that behave alike; ``carried`` are the values that differ between iterations."""
        names: dict[Token, int] = {}

        def name(token: object) -> object:
            return names.setdefault(token, len(names)) if isinstance(token, Token) else token

        queues = tuple((name(token), count) for queue in (self.vm, self.lds) for token, count in queue)
        values = tuple(name(self.values.get(v)) for v in carried)
        slots = tuple(
            (key, name(st.write), st.touched, st.landed, tuple((r.touched, name(r.token)) for r in st.reads))
            for key, st in self.slots.items()
            if st != CLEAN
        )
        return queues, values, slots

    def integer(self, number: int) -> int | None:
        value = self.values.get(number)
        return value if isinstance(value, int) else None

    def overlapping(self, key: SlotKey) -> list[SlotKey]:
        """Known slots that may share bytes with ``key`` (an unknown index may be any)."""
        lds, index = key
        return [k for k in self.slots if k[0] == lds and (index is None or k[1] is None or k[1] == index)]

    def issue(self, queue: Queue, count: int) -> Token:
        self.issued += 1
        token = Token(self.issued, queue)
        (self.vm if queue in ("copy", "load") else self.lds).append((token, count))
        # Nothing is issued while the counter is full: what has so many behind it is over.
        while self.vm and (self.younger(self.vm[0][0]) or 0) >= Waitcnt.LIMITS["vmcnt"]:
            self.land(self.vm[0][0], None)
        return token

    def younger(self, token: Token) -> int | None:
        """Instructions issued after an outstanding access; None if it is over.

        Behind a copy only copies count: LLVM may move loads into registers, and derives their waits anyway.
        """
        for queue in (self.vm, self.lds):
            for position, (other, _) in enumerate(queue):
                if other == token:
                    behind = queue[position + 1 :]
                    return sum(count for t, count in behind if token.queue != "copy" or t.queue == "copy")
        return None

    def land(self, token: Token, by: ir.Operation | None) -> None:
        """All up to ``token`` is over: copies land in order, and so do LDS operations."""
        for queue in (self.vm, self.lds):
            position = next((p for p, (other, _) in enumerate(queue) if other == token), None)
            if position is not None:
                done = {other for other, _ in queue[: position + 1]}
                del queue[: position + 1]
                for key, st in self.slots.items():
                    if st.write in done:
                        self.slots[key] = replace(st, landed=True, landed_by=by)

    def land_count(self, most: int, by: ir.Operation, queue: list[tuple[Token, int]]) -> None:
        """A raw count: what has at least so many instructions behind it is over."""
        over = [token for token, _ in queue if (self.younger(token) or 0) >= most]
        if over:
            self.land(over[-1], by)

    def fall_due(self, token: Token, by: ir.Operation, position: int) -> None:
        """A token is waited for, where that turns out to be needed."""
        for key, st in self.slots.items():
            if st.write == token and not st.landed and st.due is None:
                self.slots[key] = replace(st, due=(by, position))

    def pending(self, token: Token) -> bool:
        return any(token == other for other, _ in self.lds)

    def pending_reads(self) -> list[Token]:
        return [token for token, _ in self.lds if token.queue == "read"]

    def barrier(self, by: ir.Operation) -> None:
        """Landed writes are visible to all; completed reads are over for all."""
        for key, st in self.slots.items():
            reads = tuple(replace(r, crossed=by) for r in st.reads if self.pending(r.token))
            self.slots[key] = replace(st, write=None if st.landed else st.write, reads=reads)

    def before_read(self, key: SlotKey, touched: Touched, waves: Waves, direct: bool = False) -> Lack:
        """What an access lacks with respect to writes before it (``direct``: it is a copy)."""
        lack = Lack()
        for st in (self.slots[k] for k in self.overlapping(key)):
            if st.write is not None and st.touched is not None:
                others = shared(st.touched, waves, touched, waves) is not None
                # LDS operations of one wavefront stay in order among themselves, and so do copies.
                own = (st.write.queue == "copy") != direct and meets(st.touched, touched, waves)
                late = not st.landed and (own or others)
                copied = st.write.queue == "copy"
                if late and st.due is not None:
                    lack |= Lack(due=(st.due,))
                else:
                    fence = Fence(others, late and not copied, late and copied)
                    lack |= Lack(fence, (st.write,) if late and not copied else ())
        return lack

    def before_write(self, key: SlotKey, touched: Touched, waves: Waves, direct: bool) -> Lack:
        """What a write to a slot lacks: reads before it must be over, writes before it landed."""
        lack = self.before_read(key, touched, waves, direct)
        for st in (self.slots[k] for k in self.overlapping(key)):
            for read in st.reads:
                others = shared(read.touched, waves, touched, waves) is not None
                pending = self.pending(read.token)
                if others and pending and read.crossed is not None:
                    lack |= Lack(crossed=(read.crossed,))
                elif others:
                    lack |= Lack(Fence(barrier=True, lgkm=pending), (read.token,) if pending else ())
                elif direct and pending and meets(read.touched, touched, waves):
                    lack |= Lack(Fence(lgkm=True), (read.token,))
        return lack

    def read(self, key: SlotKey, touched: Touched) -> None:
        st = self.slots.get(key, CLEAN)
        # LDS operations stay in order, so the last one of its kind stands for those before it.
        self._replace([r.token for r in st.reads if r.touched == touched])
        read = Read(touched, self.issue("read", 0))
        self.slots[key] = replace(st, reads=(*(r for r in st.reads if r.touched != touched), read))

    def write(self, key: SlotKey, touched: Touched, queue: Queue, count: int) -> Token:
        st = self.slots.get(key, CLEAN)
        if queue == "write" and st.write is not None and st.touched == touched:
            self._replace([st.write])
        token = self.issue(queue, count)
        self.slots[key] = replace(st, write=token, touched=touched, landed=False, landed_by=None, due=None)
        return token

    def _replace(self, tokens: list[Token]) -> None:
        self.lds = [(token, count) for token, count in self.lds if token not in tokens]
