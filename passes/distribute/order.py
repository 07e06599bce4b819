"""The order of one lane's instructions where a schedule fixes it: `tile.interleave`."""

from __future__ import annotations

from collections.abc import Iterable

from mlir import ir

from hkc.dialect import ops
from hkc.dialect.locations import span_of
from hkc.errors import HkcError
from hkc.passes.distribute.distributor import Distributor
from hkc.passes.rebuild import Handler

_FENCES = frozenset(op.name for op in (ops.ScheduleBarrier, ops.Barrier))
# One MFMA of so many, the last ones, follows all memory instructions: what comes behind may need what they read.
HIDING = 4


def interleave(d: Distributor, op: ir.Operation) -> None:
    """Reorders what was made since the last fence: addresses, then memory instructions (with the waits before them)
    spread evenly between MFMA, then what takes the results. Schedule barriers keep the order through LLVM's scheduler;
    they make no code.

    Raises HkcError if a matmul takes what is read beside it, or a write what is multiplied.
    """
    made = _since_fence()
    names = {shape.op for shape in d.target.mfma}
    mfma = [o for o in made if o.name in names]
    memory = _accesses(made)
    if not mfma or not memory:
        return
    fixed = {*mfma, *(o for access in memory for o in access)}
    behind = _behind(made, mfma, fixed, op)
    end = ops.ScheduleBarrier.build()
    for group in _spread(mfma, memory):
        for o in group:
            o.move_before(end)
        ops.ScheduleBarrier.build().move_before(end)
    for o in behind:
        o.move_before(end)


def _since_fence() -> list[ir.Operation]:
    """The ops of the block being written, after its last fence, loop or branch."""
    point = ir.InsertionPoint.current
    made: list[ir.Operation] = []
    for view in point.block.operations:
        op = view.operation
        if point.ref_operation is not None and op == point.ref_operation.operation:
            break
        made = [] if op.name in _FENCES or len(op.regions) else [*made, op]
    return made


def _accesses(made: list[ir.Operation]) -> list[list[ir.Operation]]:
    """The memory instructions in order, each with the waits before it."""
    found: list[list[ir.Operation]] = []
    waits: list[ir.Operation] = []
    for o in made:
        known = ops.op_class(o)
        if o.name == ops.Waitcnt.name:
            waits.append(o)
        elif known is not None and known.memory in ("read", "write"):
            found.append([*waits, o])
            waits = []
    return found


def _behind(
    made: list[ir.Operation], mfma: list[ir.Operation], fixed: set[ir.Operation], op: ir.Operation
) -> list[ir.Operation]:
    """The ops that take what MFMA and memory instructions give, in order."""
    read = _results(o for o in fixed if o not in mfma)
    multiplied = _results(mfma)
    found = []
    for o in made:
        takes_read, takes_product = (any(v in values for v in o.operands) for values in (read, multiplied))
        if o in fixed:
            if takes_read or (takes_product and o not in mfma):
                raise HkcError(
                    "these can't be interleaved: "
                    + ("a matmul takes what is read beside it" if o in mfma else "a memory operation takes a result"),
                    span_of(op),
                    expected="matmuls of what was read before, and reads and copies for later ones",
                    hint="put schedule_barrier() between the reads and the matmuls that take them",
                )
        elif takes_read or takes_product:
            found.append(o)
            (read if takes_read else multiplied).update(o.results)
    return found


def _results(operations: Iterable[ir.Operation]) -> set[ir.Value]:
    return {r for o in operations for r in o.results}


def _spread(mfma: list[ir.Operation], memory: list[list[ir.Operation]]) -> list[list[ir.Operation]]:
    """Groups of some MFMA and then memory instructions, as even as whole numbers allow; MFMA alone at the end."""
    hiding = len(mfma) // HIDING
    mixed = len(mfma) - hiding
    count = min(mixed, len(memory))
    groups = []
    for index in range(count):
        some = slice(mixed * index // count, mixed * (index + 1) // count)
        accesses = slice(len(memory) * index // count, len(memory) * (index + 1) // count)
        groups.append([*mfma[some], *(o for access in memory[accesses] for o in access)])
    return [*groups, mfma[mixed:]]


HANDLERS: dict[str, Handler] = {ops.Interleave.name: interleave}
