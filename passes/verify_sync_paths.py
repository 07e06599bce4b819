"""Following one role's wavefronts from barrier to barrier, for `verify-sync`."""

from __future__ import annotations

from hkc.passes.sync_program import Role
from hkc.passes.sync_regions import check_slot, covered, meets
from hkc.passes.sync_scalars import few_trips
from hkc.passes.verify_sync_code import (
    Access,
    Again,
    Arg,
    Branch,
    Coder,
    End,
    Enter,
    Eval,
    Fetch,
    Head,
    Jump,
    Key,
    Meet,
    Move,
    Step,
    Waits,
)
from hkc.passes.verify_sync_faults import endless_fault, own_fault, unloaded_fault, unwritten_fault
from hkc.passes.verify_sync_state import Decisions, Flight, Path, may_meet, younger

# States of a kernel, and of one role between two barriers, before following it is given up.
MOST_STATES = 4096
# Decisions that one role may be ahead of another.
MOST_AHEAD = 16


class Follower:
    """Follows paths, and checks each access against the wavefront's own."""

    def __init__(self, roles: list[Role], coder: Coder) -> None:
        self.roles, self.codes, self.participants = roles, coder.codes, coder.participants

    def follow(self, path: Path) -> list[Path]:
        """One role's paths to its next barriers, or its end."""
        seen: set[object] = set()
        work, stopped = [path], {}
        code = self.codes[path.role]
        while work:
            st = work.pop()
            while True:
                step = code[st.at]
                if isinstance(step, (Meet, End)):
                    stopped[st.full_key()] = st
                    break
                if isinstance(step, Head):
                    key = st.full_key()
                    if key in seen:
                        break
                    if len(seen) >= MOST_STATES:
                        raise endless_fault(step)
                    seen.add(key)
                work += self._step(step, st)
        return list(stopped.values())

    def _step(self, step: Step, st: Path) -> list[Path]:
        """Takes one step; the other ways to go on, if it is a decision that is open."""
        st.at += 1
        if isinstance(step, Eval):
            function = step.function
            value = function([st.get(a) for a in step.operands]) if function else None
            if value is not None or not step.lasts:
                st.values[step.result] = value
        elif isinstance(step, Access):
            self._access(step, st)
        elif isinstance(step, Waits):
            st.wait(step)
        elif isinstance(step, Move):
            _move(step, st)
        elif isinstance(step, Head):
            return self._head(step, st)
        elif isinstance(step, Branch):
            return self._branch(step, st)
        elif isinstance(step, Enter):
            st.values[step.variable] = _first(step, st)
        elif isinstance(step, Again):
            value, by = st.get(Arg(step.variable)), st.get(step.step)
            st.values[step.variable] = None if value is None or by is None else value + by
            st.at = step.head
        elif isinstance(step, Jump):
            st.at = step.to
        elif isinstance(step, Fetch):
            flight = Flight(step, None)
            st.issue(flight)
            st.values[step.result] = flight
        return []

    def _head(self, step: Head, st: Path) -> list[Path]:
        value, high = st.get(Arg(step.variable)), st.get(step.high)
        if value is not None and high is not None:
            if value >= high:
                st.at = step.exit
            return []
        return self._decide(step.key, st, step.exit, step)

    def _branch(self, step: Branch, st: Path) -> list[Path]:
        condition = st.get(step.condition)
        if condition is not None:
            if not condition:
                st.at = step.otherwise
            return []
        others = self._decide(step.key, st, step.otherwise, None)
        for path in (st, *others):
            # The same condition decides further branches alike.
            path.values[step.condition.number] = int(path.at != step.otherwise)
        return others

    def _decide(self, key: Key, st: Path, otherwise: int, loop: Head | None) -> list[Path]:
        """Goes on, or to ``otherwise``: as other roles have, or both ways if this one comes first."""
        ahead = st.todo.get((st.role, key))
        if ahead:
            st.todo = {**st.todo, (st.role, key): ahead[1:]} if ahead[1:] else _without(st.todo, (st.role, key))
            if not ahead[0]:
                st.at = otherwise
            return []
        other = st.copy()
        other.at = otherwise
        for path, taken in ((st, True), (other, False)):
            followers = [(role, key) for role in self.participants[key] if role != st.role]
            path.todo = {**path.todo, **{f: (*path.todo.get(f, ()), taken) for f in followers}}
            if any(len(path.todo[f]) > MOST_AHEAD for f in followers):
                raise endless_fault(loop)
        return [other]

    def _access(self, step: Access, st: Path) -> None:
        index = st.get(step.index)
        check_slot(step.op, index, step.buffers)
        flight = Flight(step, (step.allocation, index))
        waves = self.roles[st.role].waves
        for queue in st.queues:
            for position, other in enumerate(queue):
                if _own_conflict(flight, other) and meets(step.touched, other.step.touched, waves):  # type: ignore[union-attr]
                    raise own_fault(step, other, younger(queue, position))
        if step.mode == "read":
            self._check_written(flight, st)
        elif step.tile is not None:
            loaded = st.values.get(step.tile)
            if isinstance(loaded, Flight) and any(loaded is f for f in st.memory):
                raise unloaded_fault(step, loaded)
        if step.writes:
            st.written |= {(step, flight.place, st.role)}  # type: ignore[arg-type]
        st.issue(flight)

    def _check_written(self, flight: Flight, st: Path) -> None:
        step = flight.step
        assert isinstance(step, Access)
        indices = range(step.buffers) if flight.place[1] is None else [flight.place[1]]  # type: ignore[index]
        writes = [w for w in st.written if w[0].allocation == step.allocation]
        if any(place[1] is None for _, place, _ in writes):
            return  # a slot that can't be followed may be this one
        for index in indices:
            there = frozenset((w.touched, self.roles[r].waves) for w, place, r in writes if place[1] == index)
            if not covered(step.touched, self.roles[st.role].waves, there):
                raise unwritten_fault(flight)


def _own_conflict(at: Flight, other: Flight) -> bool:
    """Whether a wavefront must have waited for its access ``other``. LDS operations stay in order among themselves, and
    so do copies."""
    if not isinstance(other.step, Access) or not isinstance(at.step, Access) or not may_meet(at, other):
        return False
    return (at.step.mode == "copy") != (other.step.mode == "copy")


def _move(step: Move, st: Path) -> None:
    moved = [(to, a.constant if a.constant is not None else st.values.get(a.number)) for to, a in step.pairs]
    for number in step.forgotten:
        st.values.pop(number, None)
    st.values.update(moved)


def _first(step: Enter, st: Path) -> int | None:
    """The loop variable, if its few values are known."""
    low, high, by = (st.get(a) for a in step.bounds)
    return low if few_trips(low, high, by) else None


def _without(todo: Decisions, key: tuple[int, Key]) -> Decisions:
    return {k: v for k, v in todo.items() if k != key}
