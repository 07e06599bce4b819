"""`insert-fences`: tokens become counter waits, and barriers go where wavefronts share LDS bytes.

Every path through the kernel is followed with the LDS slot indices as they really rotate (loops until nothing new
appears), so a wait's count is exact: the copies issued after the awaited one, the least over all paths. A barrier is
put before an op that would read what another wavefront has written since the last barrier, or overwrite what another
may still read. A kernel that has barriers of its own keeps just those.

Loads into registers are LLVM's to wait for, register by register; where LDS writes need a whole copy's, one wait
before them stands for all.
"""

from __future__ import annotations

from mlir import ir

from hkc.dialect.locations import location_of
from hkc.dialect.ops import Barrier, Wait, Waitcnt
from hkc.dialect.verify import walk
from hkc.passes.rebuild import body_of, kernel_of
from hkc.passes.sync_paths import Again, Found, Walker, is_sync
from hkc.passes.sync_state import Fence, PathState
from hkc.targets import Target


def _emit_waits(vmcnt: int | None, lgkm: bool) -> None:
    vmcnt = None if vmcnt is None else min(vmcnt, Waitcnt.LIMITS["vmcnt"])
    if vmcnt is not None or lgkm:
        Waitcnt.build(vmcnt, 0 if lgkm else None)


def _previous_wait(op: ir.Operation, waits: set[ir.Operation]) -> ir.Operation | None:
    """The token wait just before ``op``, with nothing that matters to order in between."""
    found: ir.Operation | None = None
    for view in op.block.operations:
        before = view.operation
        if before == op:
            break
        if before in waits:
            found = before
        elif any(is_sync(o) for o in walk(before)):
            found = None
    return found


def _write_fences(function: ir.Operation, found: Found) -> None:
    waits = {op for op in walk(function) if op.name == Wait.name}
    for op, fence in list(found.fences.items()):
        host = None if op in waits else _previous_wait(op, waits)
        if host is not None and not fence.tokens:
            # One wait and one barrier in place of two waits with a barrier after the second.
            found.fences[host] = found.fences.get(host, Fence()) | Fence(lgkm=fence.lgkm)
            del found.fences[op]
            if fence.barrier:
                found.barriers.add(host)
    for op in dict.fromkeys((*found.fences, *found.counts)):
        if op not in waits:
            fence = found.fences.get(op, Fence())
            with ir.InsertionPoint(op), location_of(op):
                _emit_waits(found.counts.get(op), fence.lgkm)
                if fence.barrier:
                    Barrier.build()
    for op in waits:
        with ir.InsertionPoint(op), location_of(op):
            _emit_waits(found.counts.get(op), found.fences.get(op, Fence()).lgkm)
            if op in found.barriers:
                Barrier.build()
        op.erase()


def insert_fences(module: ir.Module, target: Target) -> None:
    """Replaces token waits by counters and adds the barriers that are missing (see the module's text)."""
    function = kernel_of(module)
    walker = Walker(function, target)
    while not _follow(walker):
        pass
    _drop_needless(walker)
    _write_fences(function, walker.found)


def _follow(walker: Walker) -> bool:
    """Follows all paths; false if something was missing (and has been added)."""
    walker.found.counts.clear()
    try:
        walker.block(body_of(walker.function), [PathState()])
    except Again:
        return False
    return True


def _drop_needless(walker: Walker) -> None:
    """Takes back each barrier that those added after it have made needless."""
    found = walker.found
    for op in [*found.barriers, *(o for o, fence in found.fences.items() if fence.barrier)]:
        fences, barriers = dict(found.fences), set(found.barriers)
        if op in barriers:
            found.barriers.discard(op)
        else:
            found.fences[op] = Fence(False, False, fences[op].tokens)
        if not _follow(walker):
            found.fences, found.barriers = fences, barriers
    _follow(walker)
