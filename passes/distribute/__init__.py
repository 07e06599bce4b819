"""How each tile op becomes code of one lane; used by `map-mfma`. One function an op, found by name in ``HANDLERS``."""

from __future__ import annotations

from hkc.passes.distribute import compute, copies, lds, memory, order, reductions
from hkc.passes.distribute.distributor import Distributor

HANDLERS = {
    **compute.HANDLERS,
    **copies.HANDLERS,
    **lds.HANDLERS,
    **memory.HANDLERS,
    **order.HANDLERS,
    **reductions.HANDLERS,
}

__all__ = ["HANDLERS", "Distributor"]
