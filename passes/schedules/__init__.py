"""How a workgroup's wavefronts share a pipelined loop: one module a schedule, by name in ``SCHEDULES``."""

from __future__ import annotations

from mlir import ir

from hkc.dialect.irdl import get_str
from hkc.passes.schedules.interleave import Interleave
from hkc.passes.schedules.pingpong import PingPong
from hkc.passes.schedules.pipeline import Pipeline
from hkc.passes.schedules.producer_consumer import ProducerConsumer
from hkc.passes.schedules.uniform import Uniform

SCHEDULES: dict[str, type[Pipeline]] = {
    "uniform": Uniform,
    "pingpong": PingPong,
    "interleave": Interleave,
    "producer_consumer": ProducerConsumer,
}


def schedule_around(op: ir.Operation) -> type[Pipeline] | None:
    """The schedule of the innermost loop around an op that names a known one."""
    while op.name != "func.func":
        if op.name == "scf.for" and (name := get_str(op, "tile.schedule")) in SCHEDULES:
            return SCHEDULES[name or ""]
        op = op.parent.operation
    return None


__all__ = ["SCHEDULES", "Pipeline", "schedule_around"]
