"""`insert-fences`: tokens become counter waits, and barriers go where wavefronts share LDS bytes.

Every path through the kernel is followed with the LDS slot indices as they really rotate (loops until nothing new
appears), so a wait's count is exact: what was issued after the awaited access, the least over all paths. A barrier is
put before an op that would read what another wavefront has written since the last barrier, or overwrite what another
may still read; which bytes a wavefront touches follows from the layouts. Where a kernel has barriers of its own, none
are added for the LDS that it allocates itself.

Reads have no token: where one must be over when a barrier is passed, a wait stands before the barrier. A token wait
ends those of its copies and writes that an access depends on (in a kernel with roles, all); a wavefront's own LDS
operations stay in order. Loads into registers are LLVM's to wait for, register by register; where LDS writes need a
whole copy's, one wait before them stands for all.
"""

from __future__ import annotations

from collections.abc import Iterable

from mlir import ir

from hkc.dialect.locations import location_of
from hkc.dialect.ops import Barrier, Wait, Waitcnt
from hkc.passes.rebuild import kernel_of
from hkc.passes.sync_paths import Again, Found, Walker
from hkc.passes.sync_program import Region, nodes_of
from hkc.passes.sync_state import Fence
from hkc.targets import Target


def _emit_waits(found: Found, op: ir.Operation) -> None:
    counts = {
        name: None if count is None else min(count, Waitcnt.LIMITS[name])
        for name, count in (("vmcnt", found.vmcnt.get(op)), ("lgkmcnt", found.lgkmcnt.get(op)))
    }
    if any(count is not None for count in counts.values()):
        Waitcnt.build(**counts)


def _hosts(region: Region) -> Iterable[tuple[ir.Operation, ir.Operation]]:
    """Each op that orders memory right behind a token wait, with that wait."""
    before: ir.Operation | None = None
    for node in region.nodes:
        if node.orders:
            if before is not None and not node.regions and node.name != Wait.name:
                yield node.op, before
            before = node.op if node.name == Wait.name else None
        for inner in node.regions:
            yield from _hosts(inner)


def _merge(walker: Walker) -> bool:
    """One wait and one barrier in place of two waits with a barrier after the second; whether there were any."""
    found, merged = walker.found, False
    for op, host in _hosts(walker.program.body):
        fence = found.fences.get(op, Fence())
        if op.name != Barrier.name and fence.barrier and not fence.tokens:
            found.fences[host] = found.fences.get(host, Fence()) | Fence(lgkm=fence.lgkm)
            del found.fences[op]
            found.barriers.add(host)
            merged = True
    return merged


def _write_fences(walker: Walker) -> None:
    found = walker.found
    waits = [node.op for node in nodes_of(walker.program.body) if node.name == Wait.name]
    for op in dict.fromkeys((*found.fences, *found.vmcnt, *found.lgkmcnt, *waits)):
        barrier = op in found.barriers or (op.name != Barrier.name and found.fences.get(op, Fence()).barrier)
        with ir.InsertionPoint(op), location_of(op):
            _emit_waits(found, op)
            if barrier:
                Barrier.build()
    for op in waits:
        op.erase()


def insert_fences(module: ir.Module, target: Target) -> None:
    """Replaces token waits by counters and adds the barriers that are missing (see the module's text)."""
    walker = Walker(kernel_of(module), target)
    while not _follow(walker):
        pass
    if _merge(walker):
        while not _follow(walker):
            pass
    _drop_needless(walker)
    _write_fences(walker)


def _follow(walker: Walker) -> bool:
    """Follows all paths; false if something was missing (and has been added)."""
    try:
        walker.follow()
    except Again:
        return False
    return True


def _drop_needless(walker: Walker) -> None:
    """Takes back each fence that those added after it have made needless."""
    found = walker.found
    added = [*found.barriers, *(o for o, fence in found.fences.items() if fence.barrier)]
    for op in added:
        fences, barriers = dict(found.fences), set(found.barriers)
        if op in barriers:
            found.barriers.discard(op)
        else:
            found.fences[op] = Fence(False, False, fences[op].tokens)
        if not _follow(walker):
            found.fences, found.barriers = fences, barriers
    if added:
        _follow(walker)
