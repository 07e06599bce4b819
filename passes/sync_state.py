"""What `insert-fences` tracks along a path: one wavefront's queues, and what the workgroup knows of each LDS slot.

All wavefronts run the same code, so one of them stands for all: what this one has read or written since the last
barrier, another one may have as well.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal

from mlir import ir

# Copies to LDS and loads into registers share a counter; LDS writes have another.
Queue = Literal["copy", "load", "lgkm"]
SlotKey = tuple[ir.Value, int | None]


@dataclass(frozen=True)
class Token:
    """An asynchronous copy or LDS write that was issued; ``number`` is unique along the path."""

    number: int
    queue: Queue


@dataclass(frozen=True)
class SlotState:
    """One LDS slot: the last write (until a barrier has published it) and reads since the last barrier.

    ``landed_by`` is the op that waited for the write.
    """

    write: Token | None = None
    landed: bool = True
    landed_by: ir.Operation | None = field(default=None, compare=False)
    read: bool = False
    read_pending: bool = False


CLEAN = SlotState()


@dataclass(frozen=True)
class Fence:
    """What must stand before an op: a barrier, and waits (an LDS wait is always for all)."""

    barrier: bool = False
    lgkm: bool = False
    tokens: bool = False

    def __or__(self, other: Fence) -> Fence:
        return Fence(self.barrier or other.barrier, self.lgkm or other.lgkm, self.tokens or other.tokens)


@dataclass
class PathState:
    """The state along one path. ``vm`` lists outstanding copies and loads, oldest first, with their instructions."""

    issued: int = 0
    vm: list[tuple[Token, int]] = field(default_factory=list)
    slots: dict[SlotKey, SlotState] = field(default_factory=dict)
    values: dict[ir.Value, object] = field(default_factory=dict)

    def copy(self) -> PathState:
        return PathState(self.issued, list(self.vm), dict(self.slots), dict(self.values))

    def key(self, carried: list[ir.Value]) -> tuple[object, ...]:
        """Equal for states that behave alike; ``carried`` are the values that differ between iterations."""
        names: dict[Token, int] = {}

        def name(token: object) -> object:
            return names.setdefault(token, len(names)) if isinstance(token, Token) else token

        queue = tuple((name(token), count) for token, count in self.vm)
        values = tuple(name(self.values.get(v)) for v in carried)
        slots = tuple(
            (hash(lds), index, name(st.write), st.landed, st.read, st.read_pending)
            for (lds, index), st in self.slots.items()
            if st != CLEAN
        )
        return queue, values, slots

    def overlapping(self, key: SlotKey) -> list[SlotKey]:
        """Known slots that may share bytes with ``key`` (an unknown index may be any)."""
        lds, index = key
        return [k for k in self.slots if k[0] == lds and (index is None or k[1] is None or k[1] == index)]

    def issue(self, queue: Queue, count: int) -> Token:
        self.issued += 1
        token = Token(self.issued, queue)
        if queue != "lgkm":
            self.vm.append((token, count))
        return token

    def younger(self, token: Token) -> int | None:
        """Instructions issued after an outstanding copy or load; None if it has landed.

        Behind a copy only copies count: LLVM may move loads into registers, and derives their waits anyway.
        """
        for position, (other, _) in enumerate(self.vm):
            if other == token:
                behind = self.vm[position + 1 :]
                return sum(count for t, count in behind if token.queue == "load" or t.queue == "copy")
        return None

    def land(self, token: Token, by: ir.Operation) -> None:
        """All up to ``token`` has landed (copies land in order)."""
        if token.queue == "lgkm":
            self.land_lds(by)
            return
        position = next((p for p, (other, _) in enumerate(self.vm) if other == token), None)
        if position is not None:
            done = {other for other, _ in self.vm[: position + 1]}
            del self.vm[: position + 1]
            for key, st in self.slots.items():
                if st.write in done:
                    self.slots[key] = replace(st, landed=True, landed_by=by)

    def land_count(self, most: int, by: ir.Operation) -> None:
        """A raw vmcnt: at most ``most`` instructions stay outstanding."""
        while self.vm and sum(count for _, count in self.vm) > most:
            self.land(self.vm[0][0], by)

    def land_lds(self, by: ir.Operation) -> None:
        """lgkmcnt(0): every LDS read and write of this wavefront is complete."""
        for key, st in self.slots.items():
            if st.write is not None and st.write.queue == "lgkm" and not st.landed:
                st = replace(st, landed=True, landed_by=by)
            self.slots[key] = replace(st, read_pending=False)

    def reads_pending(self) -> bool:
        return any(st.read_pending for st in self.slots.values())

    def barrier(self) -> None:
        """Landed writes are visible to all; completed reads are over for all."""
        for key, st in self.slots.items():
            write = None if st.landed else st.write
            self.slots[key] = replace(st, write=write, read=st.read_pending)

    def before_read(self, key: SlotKey, alone: bool) -> Fence:
        """What a read of a slot lacks (``alone``: a single wavefront needs no barrier)."""
        fence = Fence()
        for st in (self.slots[k] for k in self.overlapping(key)):
            if st.write is not None:
                late = not st.landed
                fence |= Fence(not alone, late and st.write.queue == "lgkm", late and st.write.queue == "copy")
        return fence if not alone or fence.lgkm or fence.tokens else Fence()

    def before_write(self, key: SlotKey, alone: bool) -> Fence:
        """What a write to a slot lacks: reads before it must be over, writes before it landed."""
        fence = self.before_read(key, alone)
        for st in (self.slots[k] for k in self.overlapping(key)):
            if st.read or st.read_pending:
                fence |= Fence(not alone, st.read_pending, False)
        return fence

    def read(self, key: SlotKey) -> None:
        self.slots[key] = replace(self.slots.get(key, CLEAN), read=True, read_pending=True)

    def write(self, key: SlotKey, token: Token) -> None:
        self.slots[key] = replace(self.slots.get(key, CLEAN), write=token, landed=False, landed_by=None)
