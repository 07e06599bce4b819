"""What a target is described by."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class MfmaShape:
    """One MFMA instruction: D[m, n] += A[m, k] B[k, n] in f32 from ``dtype`` inputs.

    ``op`` is its rocdl op; ``operand`` the MLIR element type that the op takes (some take bits as integers);
    ``cycles`` its issue interval.
    """

    m: int
    n: int
    k: int
    dtype: str
    op: str
    operand: str
    cycles: int

    @property
    def name(self) -> str:
        return f"{self.m}x{self.n}x{self.k}"


@dataclass(frozen=True)
class LdsPhases:
    """Which lanes of a wavefront's LDS access are served together, and over how many 4-byte banks.

    Each inner tuple is a phase; two lanes of a phase that touch different dwords of one bank conflict.
    """

    banks: int
    phases: tuple[tuple[int, ...], ...]


@dataclass(frozen=True, eq=False)
class Target:
    """The limits and tables of one arch; sizes in bytes.

    ``xcds``: accelerator dies, each with an L2 of its own, that workgroups go to in turn; a power of two.
    ``widest_access`` and ``widest_lds_access``: the most that a lane moves at once in global memory and in LDS;
    ``lds_direct_bytes``: the most that a lane of an LDS-direct load moves; ``lds_transpose_bytes``: size of the items
    that LDS reads can transpose (0: none); ``lane_swaps``: XORs of lane numbers that one VALU instruction does;
    ``converts_bf16``: whether an instruction rounds f32 to bf16.
    """

    arch: str
    product: str
    wavefront: int
    xcds: int
    simds: int
    max_workgroup: int
    lds_bytes: int
    lds_granule: int
    vgprs_per_lane: int
    vgpr_granule: int
    max_waves_per_simd: int
    widest_access: int
    widest_lds_access: int
    lds_direct_bytes: int
    lds_transpose_bytes: int
    lane_swaps: tuple[int, ...]
    converts_bf16: bool
    buffer_resource_word3: int
    mfma: tuple[MfmaShape, ...]
    read_phases: dict[int, LdsPhases]
    write_phases: dict[int, LdsPhases]

    def mfma_shapes(self, dtype: str) -> tuple[MfmaShape, ...]:
        """The MFMA instructions that take ``dtype``, preferred first."""
        return tuple(shape for shape in self.mfma if shape.dtype == dtype)


def consecutive(lanes: int, banks: int, wavefront: int = 64) -> LdsPhases:
    """Phases of ``lanes`` consecutive lanes each."""
    starts = range(0, wavefront, lanes)
    return LdsPhases(banks, tuple(tuple(range(start, start + lanes)) for start in starts))


def grouped(banks: int, *spans: tuple[tuple[int, int], ...], repeat: int = 1) -> LdsPhases:
    """Phases given as inclusive lane ranges, the whole set repeated for the next 64 / repeat lanes."""
    step = 64 // repeat
    phases = []
    for copy in range(repeat):
        for span in spans:
            phases.append(tuple(lane + copy * step for low, high in span for lane in range(low, high + 1)))
    return LdsPhases(banks, tuple(phases))
