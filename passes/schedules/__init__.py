"""How a workgroup's wavefronts share a pipelined loop: one module a schedule, by name in ``SCHEDULES``."""

from __future__ import annotations

from hkc.passes.schedules.pingpong import PingPong
from hkc.passes.schedules.pipeline import Pipeline
from hkc.passes.schedules.producer_consumer import ProducerConsumer
from hkc.passes.schedules.uniform import Uniform

SCHEDULES: dict[str, type[Pipeline]] = {
    "uniform": Uniform,
    "pingpong": PingPong,
    "producer_consumer": ProducerConsumer,
}

__all__ = ["SCHEDULES", "Pipeline"]
