"""`verify-sync`: proves the order of all LDS accesses from the waits and barriers in the IR, or says what is wrong.

Wavefronts that do the same form a role; each role's paths are followed with the slot indices as they rotate. The roles
advance together from barrier to barrier, so one that is a barrier ahead of another is followed exactly. Loop bounds
and branches that don't depend on the wavefront are decided alike in all roles, in the order in which each comes by;
where one might come by less often, or run ahead without barriers, each decides for itself.

An access is under way from its issue until its own wavefront has waited for it; a barrier passed after that orders it
before what others do. Two wavefronts' accesses to the same bytes that may be under way between the same two barriers
are a fault if one writes; so are a wavefront's own in different queues. Waits for register loads are LLVM's, but for
the one before an LDS write.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from mlir import ir

from hkc.passes.rebuild import kernel_of
from hkc.passes.roles import Roles, roles_of
from hkc.passes.sync_program import Program, wave_roles
from hkc.passes.sync_regions import shared
from hkc.passes.verify_sync_code import Coder, Head, Meet
from hkc.passes.verify_sync_faults import endless_fault, race_fault, unbalanced_fault
from hkc.passes.verify_sync_paths import MOST_STATES, Follower
from hkc.passes.verify_sync_state import Flight, Path, may_meet, younger
from hkc.targets import Target


def verify_sync(module: ir.Module, target: Target) -> None:
    """Proves a kernel's waits and barriers (see the module's text). Raises HkcError at the first fault."""
    function = kernel_of(module)
    program = Program(function)
    if any(node.orders for node in program.body.nodes):
        _Verifier(program, roles_of(function), target).run()


class _Verifier:
    def __init__(self, program: Program, shares: Roles, target: Target) -> None:
        self.roles = wave_roles(program, shares.total)
        coder = Coder(program, self.roles, shares, target)
        self.codes, self.follower = coder.codes, Follower(self.roles, coder)
        self.alone = shares.total == 1
        self.proved: set[object] = set()

    def run(self) -> None:
        """Follows all states that the roles can be in together at a barrier."""
        start = tuple(Path(index) for index in range(len(self.roles)))
        seen: set[object] = set()
        work = [start]
        while work:
            paths = work.pop()
            key = (tuple(p.key() for p in paths), frozenset(paths[0].todo.items()), paths[0].written)
            if key in seen:
                continue
            if len(seen) >= MOST_STATES:
                raise endless_fault(self._loop_at(paths[0]))
            seen.add(key)
            for reached in self._epoch(paths):
                self._check_races(reached)
                if self._meet(reached):
                    work.append(reached)

    def _epoch(self, paths: tuple[Path, ...]) -> Iterator[tuple[Path, ...]]:
        """All ways for the roles to get to their next barriers, or ends, with decisions that agree."""
        found: list[tuple[Path, ...]] = [()]
        for path in paths:
            longer = []
            for before in found:
                own = path.copy()
                if before:
                    own.todo = before[-1].todo
                longer += [(*before, stopped) for stopped in self.follower.follow(own)]
            found = longer
        for alternative in found:
            # Alternatives must not share what a barrier changes.
            reached = tuple(p.copy() for p in alternative)
            written = frozenset().union(*(p.written for p in reached))
            for path in reached:
                path.todo, path.written = alternative[-1].todo, written
            yield reached

    def _meet(self, paths: tuple[Path, ...]) -> bool:
        """Passes the barrier; false at the kernel's end."""
        stops = [self.codes[p.role][p.at] for p in paths]
        waiting = [(role, s) for role, s in zip(self.roles, stops, strict=True) if isinstance(s, Meet)]
        if not waiting:
            return False
        for role, stop in zip(self.roles, stops, strict=True):
            if not isinstance(stop, Meet):
                raise unbalanced_fault(waiting[0][1], waiting[0][0], role)
        for path, (_, stop) in zip(paths, waiting, strict=True):
            path.pass_barrier(stop)
            path.at += 1
        return True

    def _check_races(self, paths: tuple[Path, ...]) -> None:
        """No two wavefronts may touch the same bytes between the same two barriers, one of them writing."""
        if self.alone:
            return
        key = tuple(frozenset(p.touched) for p in paths)
        if key in self.proved:
            return
        for first, second in product(paths, paths):
            if first.role <= second.role:
                for a, b in product(first.touched.values(), second.touched.values()):
                    if may_meet(a, b):
                        self._check_pair(a, first, b, second)
        self.proved.add(key)

    def _check_pair(self, a: Flight, first: Path, b: Flight, second: Path) -> None:
        waves = self.roles[first.role].waves, self.roles[second.role].waves
        met = shared(a.step.touched, waves[0], b.step.touched, waves[1])  # type: ignore[union-attr]
        if met is None:
            return
        # The one to blame comes later: an access from before the barrier is the other party, else program order.
        later = (a.crossed is None, a.step.number) >= (b.crossed is None, b.step.number)
        at, other, path = (a, b, second) if later else (b, a, first)
        queue = next((q for q in path.queues if other in q), [other])
        raise race_fault(at, other, met if later else met[::-1], younger(queue, queue.index(other)))

    def _loop_at(self, path: Path) -> Head | None:
        """A loop around the place where a path has stopped."""
        code = self.codes[path.role]
        return next((s for s in reversed(code[: path.at]) if isinstance(s, Head) and s.exit > path.at), None)
