"""The order of one lane's instructions where a schedule fixes it: `tile.interleave`."""

from __future__ import annotations

from mlir import ir

from hkc.dialect import ops
from hkc.passes.distribute.distributor import Distributor
from hkc.passes.rebuild import Handler

_MEMORY = frozenset(
    op.name
    for op in (
        ops.LaneLdsLoad,
        ops.LaneLdsLoadTransposed,
        ops.LaneLdsStore,
        ops.LaneLdsCopy,
        ops.LaneBufferLoad,
    )
)
_FENCES = frozenset(op.name for op in (ops.ScheduleBarrier, ops.Barrier))

# One MFMA of so many, the last ones, follows all memory instructions: what comes behind may need what they read.
HIDING = 4


def interleave(d: Distributor, op: ir.Operation) -> None:
    """Reorders what was made since the last fence: addresses, then memory instructions (with the waits before them)
    spread evenly between MFMA, then what takes the loaded values. Schedule barriers keep the order through LLVM's
    scheduler; they make no code."""
    made = _since_fence()
    mfma_names = {shape.op for shape in d.target.mfma}
    mfma = [o for o in made if o.name in mfma_names]
    memory = _accesses(made)
    if not mfma or not memory:
        return
    loaded = _dependents(made, [o for access in memory for o in access])
    assert not loaded & set(mfma), "an MFMA takes what is loaded beside it"
    end = ops.ScheduleBarrier.build()
    for group in _spread(mfma, memory):
        for o in group:
            o.move_before(end)
        ops.ScheduleBarrier.build().move_before(end)
    for o in made:
        if o in loaded:
            o.move_before(end)


def _since_fence() -> list[ir.Operation]:
    """The ops of the block being written, after its last fence."""
    point = ir.InsertionPoint.current
    made: list[ir.Operation] = []
    for view in point.block.operations:
        op = view.operation
        if point.ref_operation is not None and op == point.ref_operation.operation:
            break
        made = [] if op.name in _FENCES else [*made, op]
    return made


def _accesses(made: list[ir.Operation]) -> list[list[ir.Operation]]:
    """The memory instructions in order, each with the waits before it."""
    found: list[list[ir.Operation]] = []
    waits: list[ir.Operation] = []
    for o in made:
        if o.name == ops.Waitcnt.name:
            waits.append(o)
        elif o.name in _MEMORY:
            found.append([*waits, o])
            waits = []
    return found


def _dependents(made: list[ir.Operation], memory: list[ir.Operation]) -> set[ir.Operation]:
    """The ops that take what memory instructions give, or what such ops give."""
    values = {r for o in memory for r in o.results}
    found: set[ir.Operation] = set()
    for o in made:
        if any(v in values for v in o.operands):
            found.add(o)
            values.update(o.results)
    return found


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
