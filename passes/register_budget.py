"""Registers a lane of a pipelined matmul loop, planned before LLVM sees it.

VGPRs and AGPRs are one file of ``vgprs_per_lane`` (CDNA3 ISA 3.6.4), which the wavefronts of a SIMD share evenly; all
wavefronts of a kernel get as many as the one that needs most.
"""

from __future__ import annotations

from dataclasses import dataclass

from hkc.passes.schedules.loops import GemmLoop, Grid
from hkc.passes.staged import goes_direct
from hkc.targets import MfmaShape, Target

# Kernel attribute: wavefronts a SIMD that are to be resident, and so how many registers each may take.
OCCUPANCY = "tile.occupancy"
REGISTER = 4  # bytes of a lane's VGPR
# Lane and wavefront offsets, LDS addresses and what LLVM keeps besides: most seen over the tiles of the GEMM example.
ADDRESSES = 24


@dataclass(frozen=True)
class Budget:
    """Planned registers a lane by use, and what there is: ``available`` with ``occupancy`` wavefronts a SIMD."""

    accumulators: int
    operands: int
    staging: int
    addresses: int
    available: int
    occupancy: int

    @property
    def total(self) -> int:
        return self.accumulators + self.operands + self.staging + self.addresses

    @property
    def fits(self) -> bool:
        return self.total <= self.available

    def text(self) -> str:
        """The plan in words."""
        uses = (
            (self.accumulators, "accumulators"),
            (self.operands, "operands"),
            (self.staging, "copies in flight"),
            (self.addresses, "addresses"),
        )
        parts = ", ".join(f"{count} for {what}" for count, what in uses if count)
        return f"{self.total} registers a lane ({parts}) of {self.available}"


def waves_a_simd(waves: int, target: Target) -> int:
    """Wavefronts of one workgroup on the SIMD that has most of them."""
    return -(-waves // target.simds)


def available(waves: int, target: Target) -> int:
    """Registers a lane when a workgroup of ``waves`` wavefronts is resident."""
    return target.vgprs_per_lane // waves_a_simd(waves, target) // target.vgpr_granule * target.vgpr_granule


@dataclass(frozen=True)
class Held:
    """What a schedule keeps in registers: parts of the operands' K step, and tiles on their way to LDS.

    ``left`` and ``right``: the share of a wavefront's rows and columns that is read at once, over ``depth`` of the K
    step (None: that of one MFMA, or of as many as one LDS read serves); ``by_stage``: tiles travel through registers
    once for each stage beyond the first, else once; ``staged_depth`` replaces ``depth`` where copies go through
    registers.
    """

    left: float = 1.0
    right: float = 1.0
    depth: float | None = None
    by_stage: bool = True
    staged_depth: float | None = None


def plan_registers(
    loop: GemmLoop, grid: Grid, load_waves: int, stages: int, shape: MfmaShape, held: Held, target: Target
) -> Budget:
    """The registers of a schedule that computes with ``grid`` wavefronts; ``load_waves`` more of them only copy."""
    lanes, (rows, columns) = target.wavefront, grid
    computing = rows * columns
    waves = computing + load_waves
    item = loop.dtype.bytes
    accumulators = loop.m * loop.n // (computing * lanes)
    depth = shape.k * max(1, target.widest_lds_access // (shape.k * shape.m // lanes * item))
    copying = load_waves or computing
    flight = flight_registers(loop, copying, target)
    share = held.staged_depth if flight and held.staged_depth is not None else held.depth
    read = min(depth, loop.k) if share is None else loop.k * share
    operands = (loop.m / rows * held.left + loop.n / columns * held.right) * read * item / (lanes * REGISTER)
    staging = flight * (max(1, stages - 1) if held.by_stage else 1)
    if load_waves:  # roles: what a wavefront of either needs, the larger one counts
        if staging > accumulators + operands:
            accumulators, operands = 0, 0.0
        else:
            staging = 0
    occupancy = waves_a_simd(waves, target)
    return Budget(accumulators, round(operands), staging, ADDRESSES, available(waves, target), occupancy)


def flight_registers(loop: GemmLoop, copying: int, target: Target) -> int:
    """Registers a lane that one iteration's copies take on their way; LDS-direct ones none."""
    through = [slot for slot in loop.operands if not goes_direct(slot, copying, target)]
    return sum(-(-slot.elements * slot.dtype.bytes // (copying * target.wavefront * REGISTER)) for slot in through)
