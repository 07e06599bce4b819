"""`map-mfma`: matmuls become MFMA instructions of the target's table, tiles one vector a fragment.

From here on the code is that of one lane: what each tile op becomes is in ``distribute/``.
"""

from __future__ import annotations

from mlir import ir

from hkc.passes.distribute import HANDLERS, Distributor
from hkc.passes.rebuild import body_of, kernel_of
from hkc.passes.roles import roles_of
from hkc.targets import Target


def map_mfma(module: ir.Module, target: Target) -> None:
    """Rebuilds the kernel lane by lane (see the module's text)."""
    function = kernel_of(module)
    distributor = Distributor(HANDLERS, target, roles_of(function))
    *old, end = [op.operation for op in body_of(function).operations]
    with ir.InsertionPoint(end):
        distributor.begin()
        distributor.block(old)
    for op in reversed(old):
        op.erase()
