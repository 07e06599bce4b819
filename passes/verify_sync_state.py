"""What `verify-sync` knows of one role's wavefronts along a path."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from hkc.dialect.ops import Waitcnt
from hkc.passes.verify_sync_code import Access, Arg, Fetch, Key, Meet, Waits

Place = tuple[int, int | None]  # an allocation and the slot's index, None if that can't be followed
Decisions = dict[tuple[int, Key], tuple[bool, ...]]


@dataclass(frozen=True)
class Flight:
    """An access to LDS, or a load into registers, that was issued. ``weak`` is the last wait that did not end it, with
    the count that would have; ``crossed`` the first barrier that was passed before it was over."""

    step: Access | Fetch
    place: Place | None
    weak: tuple[Waits, int] | None = field(default=None, compare=False)
    crossed: Meet | None = field(default=None, compare=False)

    @property
    def key(self) -> tuple[int, Place | None]:
        return self.step.number, self.place


@dataclass
class Path:
    """One role's wavefronts at a step: scalars that are known, what is in flight (oldest first, vector memory and LDS
    apart), and what was touched since the last barrier or is still in flight from before it.

    ``todo`` holds the decisions that other roles have made ahead of this one, ``written`` what has been written.
    """

    role: int
    at: int = 0
    values: dict[int, object] = field(default_factory=dict)
    memory: list[Flight] = field(default_factory=list)
    lds: list[Flight] = field(default_factory=list)
    touched: dict[tuple[int, Place | None], Flight] = field(default_factory=dict)
    todo: Decisions = field(default_factory=dict)
    written: frozenset[tuple[Access, Place, int]] = frozenset()

    def copy(self) -> Path:
        return Path(
            self.role,
            self.at,
            dict(self.values),
            list(self.memory),
            list(self.lds),
            dict(self.touched),
            self.todo,
            self.written,
        )

    def key(self) -> tuple[object, ...]:
        """Equal for states that go on alike."""
        names = {id(flight): position for position, flight in enumerate(self.memory)}
        values = frozenset(
            (number, ("in flight", names[id(v)]) if isinstance(v, Flight) else v)
            for number, v in self.values.items()
            if v is not None and (not isinstance(v, Flight) or id(v) in names)
        )
        queues = tuple(f.key for f in self.memory), tuple(f.key for f in self.lds)
        return self.at, values, queues

    def full_key(self) -> tuple[object, ...]:
        """The same within an epoch, where what was touched matters too."""
        return self.key(), frozenset(self.touched), frozenset(self.todo.items()), self.written

    def get(self, arg: Arg) -> int | None:
        if arg.constant is not None:
            return arg.constant
        value = self.values.get(arg.number)
        return value if isinstance(value, int) else None

    def issue(self, flight: Flight) -> None:
        if isinstance(flight.step, Access):
            self.touched[flight.key] = flight
            if flight.step.mode != "copy":
                # LDS operations stay in order, so the last one of its kind stands for those before it.
                self.lds = [*(f for f in self.lds if f.key != flight.key), flight]
                return
        self.memory.append(flight)
        # Nothing is issued while the counter is full: what has so many behind it is over.
        while younger(self.memory, 0) >= Waitcnt.LIMITS["vmcnt"]:
            del self.memory[0]

    def wait(self, waits: Waits) -> None:
        if waits.vmcnt is not None:
            self.memory = self._left(self.memory, waits.vmcnt, waits)
        if waits.lgkmcnt is not None:
            self.lds = self._left(self.lds, waits.lgkmcnt, waits)

    def _left(self, queue: list[Flight], most: int, waits: Waits) -> list[Flight]:
        """What a wait that leaves ``most`` instructions may leave in flight."""
        for position in reversed(range(len(queue))):
            if most <= younger(queue, position):
                return [self._noted(f, queue, position + 1 + i, waits) for i, f in enumerate(queue[position + 1 :])]
        return [self._noted(f, queue, i, waits) for i, f in enumerate(queue)]

    def _noted(self, flight: Flight, queue: list[Flight], position: int, waits: Waits) -> Flight:
        return self._replaced(flight, replace(flight, weak=(waits, younger(queue, position))))

    def _replaced(self, old: Flight, new: Flight) -> Flight:
        if self.touched.get(old.key) is old:
            self.touched[old.key] = new
        if isinstance(old.step, Fetch):
            for number, value in self.values.items():
                if value is old:
                    self.values[number] = new
        return new

    def pass_barrier(self, meet: Meet) -> None:
        """What is still in flight is carried over."""
        crossed = [[f if f.crossed else self._replaced(f, replace(f, crossed=meet)) for f in q] for q in self.queues]
        self.memory, self.lds = crossed
        self.touched = {f.key: f for q in crossed for f in q if isinstance(f.step, Access)}

    @property
    def queues(self) -> tuple[list[Flight], list[Flight]]:
        return self.memory, self.lds


def younger(queue: list[Flight], position: int) -> int:
    """Instructions surely issued behind one in flight. Behind a copy only copies count: LLVM may move loads into
    registers, and waits for those itself."""
    copies_only = isinstance(queue[position].step, Access)
    behind = (f.step for f in queue[position + 1 :])
    return sum(s.count for s in behind if not copies_only or isinstance(s, Access))


def may_meet(a: Flight, b: Flight) -> bool:
    return (a.step.writes or b.step.writes) and _same_slot(a.place, b.place)  # type: ignore[union-attr]


def _same_slot(a: Place | None, b: Place | None) -> bool:
    return a is not None and b is not None and a[0] == b[0] and (a[1] is None or b[1] is None or a[1] == b[1])
