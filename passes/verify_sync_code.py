"""The steps of one role's wavefronts: a kernel flattened for `verify-sync`.

What follows from the wavefront's number is folded, so a role's steps hold only the branches that it takes. Values are
numbered as in :class:`Program`; an :data:`Arg` is a value's number, or a constant.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from mlir import ir

from hkc.dialect.irdl import get_int
from hkc.dialect.ops import Barrier, BufferLoad, Copy, LdsWrite, Waitcnt
from hkc.dialect.types import lds_type
from hkc.passes.roles import Roles
from hkc.passes.sync_program import FOR, IF, Node, Program, Region, Role, nodes_of
from hkc.passes.sync_regions import Touched, instructions_of, touched_by
from hkc.passes.sync_scalars import Function
from hkc.targets import Target

Mode = Literal["copy", "read", "write"]
_PURE = ("arith.", "tile.dim", "tile.aligned", "tile.block_id", "tile.view_stride")
# What decides a branch or a loop; equal for decisions that are the same in all roles.
Key = tuple[object, ...]


@dataclass(frozen=True)
class Arg:
    """An operand: the number of a value, or what it is known to be."""

    number: int
    constant: int | None = None


@dataclass(eq=False, slots=True)
class Eval:
    """Computes a scalar. One that lasts keeps what a branch on it has decided."""

    result: int
    function: Function | None
    operands: tuple[Arg, ...]
    lasts: bool


@dataclass(eq=False, slots=True)
class Access:
    """A copy, LDS read or LDS write. ``count`` is how many instructions it surely makes in its queue, for waits that
    count what is younger; ``tile`` the value that an LDS write takes."""

    number: int
    op: ir.Operation
    mode: Mode
    allocation: int
    index: Arg
    buffers: int
    touched: Touched
    count: int
    tile: int | None = None

    @property
    def writes(self) -> bool:
        return self.mode != "read"


@dataclass(frozen=True)
class _Facts:
    """What an op's accesses have in common in all roles."""

    number: int
    touched: Touched
    buffers: int
    count: int


@dataclass(eq=False, slots=True)
class Fetch:
    """A load into registers that an LDS write may take."""

    number: int
    op: ir.Operation
    result: int
    count: int


@dataclass(eq=False, slots=True)
class Waits:
    op: ir.Operation
    vmcnt: int | None
    lgkmcnt: int | None


@dataclass(eq=False, slots=True)
class Meet:
    """A barrier."""

    op: ir.Operation


@dataclass(eq=False, slots=True)
class Move:
    """Gives values to loop arguments and results, all at once, and forgets those that are over."""

    pairs: tuple[tuple[int, Arg], ...]
    forgotten: tuple[int, ...] = ()


@dataclass(eq=False, slots=True)
class Enter:
    """Starts a loop."""

    variable: int
    bounds: tuple[Arg, Arg, Arg]


@dataclass(eq=False, slots=True)
class Head:
    """Where a loop goes on or ends."""

    op: ir.Operation
    variable: int
    high: Arg
    exit: int
    key: Key


@dataclass(eq=False, slots=True)
class Again:
    """The end of a loop's body: its variable moves on."""

    variable: int
    step: Arg
    head: int


@dataclass(eq=False, slots=True)
class Branch:
    condition: Arg
    otherwise: int
    key: Key


@dataclass(eq=False, slots=True)
class Jump:
    to: int


@dataclass(eq=False, slots=True)
class End:
    pass


Step = Eval | Access | Fetch | Waits | Meet | Move | Enter | Head | Again | Branch | Jump | End


def depend_on_wave(program: Program, roles: list[Role]) -> set[int]:
    """Values that may differ between wavefronts."""
    found = {v for v in roles[0].known if any(role.known[v] != roles[0].known[v] for role in roles)}
    nodes = list(nodes_of(program.body))
    before = -1
    while len(found) != before:
        before = len(found)
        for node in nodes:
            inputs = [*node.operands, *(v for r in node.regions for v in r.yields)]
            if (node.evaluate or node.regions) and any(v in found for v in inputs):
                found.update(node.results)
                found.update(v for r in node.regions for v in r.arguments[1:])
    return found


def _same_values(program: Program) -> dict[int, int]:
    """For each value that follows from the kernel's arguments alone, the first one that is computed alike."""
    first: dict[object, int] = {}
    same = {number: number for number in program.body.arguments}
    for node in nodes_of(program.body):
        if len(node.results) != 1 or node.regions or not node.name.startswith(_PURE):
            continue
        if all(v in same for v in node.operands):
            attributes = tuple((a if isinstance(a, str) else a.name) for a in node.op.attributes)
            values = tuple(str(node.op.attributes[name]) for name in attributes)
            key = node.name, attributes, values, tuple(same[v] for v in node.operands)
            same[node.results[0]] = first.setdefault(key, node.results[0])
    return same


class Coder:
    """Flattens a kernel for each role: ``codes``, one a role. ``participants`` lists the roles that make each
    decision."""

    def __init__(self, program: Program, roles: list[Role], shares: Roles, target: Target) -> None:
        self.program, self.shares, self.target = program, shares, target
        self.by_wave = depend_on_wave(program, roles) if len(roles) > 1 else set()
        self.same = _same_values(program)
        self.role = roles[0]
        self.steps: list[Step] = []
        self.accesses: dict[Node, _Facts] = {}
        self.order = {node: number for number, node in enumerate(nodes_of(program.body))}
        self.participants: dict[Key, list[int]] = {}
        self.codes = [self._code(index, role) for index, role in enumerate(roles)]

    def _code(self, index: int, role: Role) -> list[Step]:
        self.role, self.steps, self.index = role, [], index
        # Inside a branch that only some roles take; inside a condition in one; inside a loop without barriers.
        self.in_role = self.skipped = self.loose = False
        self._region(self.program.body)
        self.steps.append(End())
        for step in self.steps:
            if isinstance(step, (Head, Branch)):
                sharing = self.participants.setdefault(step.key, [])
                if index not in sharing:
                    sharing.append(index)
        return self.steps

    def arg(self, number: int) -> Arg:
        return Arg(self.same.get(number, number), self.role.known.get(number))

    def _key(self, kind: str, args: tuple[Arg, ...], loose: bool = False) -> Key:
        open_ = [a.number for a in args if a.constant is None]
        # Values that vary are the same in all roles only where each role comes by equally often.
        own = loose or any(v in self.by_wave or (self.skipped and v not in self.same) for v in open_)
        names = tuple(a.number if a.constant is None else ("is", a.constant) for a in args)
        return (kind, names, self.index) if own else (kind, names)

    def _region(self, region: Region) -> None:
        for node in region.nodes:
            if node.name == FOR:
                self._loop(node)
            elif node.name == IF:
                self._branch(node)
            elif node.orders:
                self._order(node)
            elif len(node.results) == 1 and node.results[0] not in self.role.known:
                [result] = node.results
                operands = tuple(map(self.arg, node.operands))
                self.steps.append(Eval(self.arg(result).number, node.evaluate, operands, result in self.same))

    def _loop(self, node: Node) -> None:
        [body] = node.regions
        variable, *carried = body.arguments
        low, high, step, *initial = map(self.arg, node.operands)
        self.steps += [Enter(variable, (low, high, step)), Move(tuple(zip(carried, initial, strict=True)))]
        at = len(self.steps)
        # In a loop without barriers a role may run ahead of the others without end, so each decides for itself.
        loose, self.loose = self.loose, self.loose or all(n.name != Barrier.name for n in nodes_of(body))
        head = Head(node.op, variable, high, 0, self._key(FOR, (low, high, step), self.loose))
        self.steps.append(head)
        self._region(body)
        self.loose = loose
        inside = {v for n in nodes_of(body) for v in (*n.results, *(a for r in n.regions for a in r.arguments))}
        moves = tuple(zip(carried, map(self.arg, body.yields), strict=True))
        self.steps += [Move(moves, tuple(inside)), Again(variable, step, at)]
        head.exit = len(self.steps)
        self.steps.append(Move(tuple(zip(node.results, map(self.arg, carried), strict=True)), body.arguments))

    def _branch(self, node: Node) -> None:
        condition = self.arg(node.operands[0])
        if condition.constant is not None:
            inside, self.in_role = self.in_role, self.in_role or node.operands[0] in self.by_wave
            self._arm(node, node.regions[0 if condition.constant else 1])
            self.in_role = inside
            return
        branch = Branch(condition, 0, self._key(IF, (condition,), self.loose and condition.number not in self.same))
        skipped, self.skipped = self.skipped, self.skipped or self.in_role or condition.number in self.by_wave
        self.steps.append(branch)
        self._arm(node, node.regions[0])
        over = Jump(0)
        self.steps.append(over)
        branch.otherwise = len(self.steps)
        self._arm(node, node.regions[1])
        over.to = len(self.steps)
        self.skipped = skipped

    def _arm(self, node: Node, region: Region) -> None:
        self._region(region)
        if node.results:
            self.steps.append(Move(tuple(zip(node.results, map(self.arg, region.yields), strict=True))))

    def _order(self, node: Node) -> None:
        op = node.op
        if node.name == Waitcnt.name:
            self.steps.append(Waits(op, get_int(op, "vmcnt"), get_int(op, "lgkmcnt")))
        elif node.name == Barrier.name:
            self.steps.append(Meet(op))
        elif node.name == BufferLoad.name:
            count = instructions_of(op, None, self.target)
            self.steps.append(Fetch(self.order[node], op, node.results[0], count))
        else:
            self.steps.append(self._access(node))

    def _access(self, node: Node) -> Access:
        op, writes = node.op, node.name == LdsWrite.name
        mode: Mode = "copy" if node.name == Copy.name else "write" if writes else "read"
        slot = next(v for v in node.operands if v in self.program.slots)
        allocation, index = self.program.slots[slot]
        if node not in self.accesses:
            touched = touched_by(op, self.shares)
            buffers = lds_type(self.program.values[allocation]).shape[0]
            count = instructions_of(op, touched, self.target)
            self.accesses[node] = _Facts(self.order[node], touched, buffers, count)
        facts = self.accesses[node]
        at = Arg(index, 0) if facts.buffers == 1 and self.arg(index).constant is None else self.arg(index)
        tile = node.operands[0] if writes else None
        return Access(facts.number, op, mode, allocation, at, facts.buffers, facts.touched, facts.count, tile)
