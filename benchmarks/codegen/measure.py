"""What a code object is made of: one tool for all compilers."""

from __future__ import annotations

from dataclasses import dataclass

from hkc.driver.assembly import LoopMix, main_loop
from hkc.driver.report import Resources
from hkc.driver.resources import read_resources
from hkc.runtime.disassembly import disassemble_object

_WAVEFRONT = 64
# The algorithm's own instructions; all others are overhead.
CORE = ("MFMA", "LDS reads", "LDS writes", "loads to LDS", "global loads")
_OTHERS = {
    "VALU": ("vector", "AGPR moves"),
    "SALU": ("scalar", "scalar loads", "branches"),
    "waits": ("waits",),
    "barriers": ("barriers",),
    "memory": ("scratch", "global stores", "other"),
}
_END = ("s_endpgm", "s_setpc", "s_branch")


@dataclass(frozen=True)
class Statics:
    """Read from the object. Counts are a wave's in one step of the algorithm; sizes are in bytes.

    ``steps`` is the number of steps in one iteration of the main loop, ``others`` all that is no MFMA, LDS access or
    load of data, and ``mfma_before_wait`` the least number of MFMAs between a load and the wait that retires it (None
    if no wait of the loop does).
    """

    resources: Resources
    lds: int
    code: int
    steps: float
    mfma_shape: tuple[int, int, int] | None
    core: dict[str, float]
    others: dict[str, float]
    agpr_moves: float
    mfma_before_wait: int | None

    @property
    def instructions(self) -> float:
        """All instructions of the main loop, a wave and step."""
        return sum(self.core.values()) + sum(self.others.values())

    @property
    def waves(self) -> int:
        """Wavefronts of a workgroup."""
        return -(-self.resources.workgroup // _WAVEFRONT)


def measure(code: bytes, work: int, dynamic_lds: int = 0) -> Statics:
    """Counts of the (first) kernel of ``code``; ``work`` is as for a case.

    :raises HkcError: if ``code`` is no code object of a known target.
    :raises ValueError: if its kernel has no loop.
    """
    used = read_resources(code)
    mix = main_loop(code, used.name)
    if mix is None:
        raise ValueError(f"kernel {used.name} has no loop")
    steps = _steps(mix, work, -(-used.workgroup // _WAVEFRONT))
    return Statics(
        used,
        used.lds + dynamic_lds,
        code_bytes(code, used.name),
        steps,
        mix.mfma_shape,
        {kind: mix.kinds.get(kind, 0) / steps for kind in CORE},
        {name: sum(mix.kinds.get(kind, 0) for kind in kinds) / steps for name, kinds in _OTHERS.items()},
        mix.kinds.get("AGPR moves", 0) / steps,
        min(mix.mfma_before_wait, default=None),
    )


def _steps(mix: LoopMix, work: int, waves: int) -> float:
    """Steps in one iteration, by its MFMAs: unrolled loops have several."""
    if not work or mix.mfma_shape is None:
        return 1
    m, n, k = mix.mfma_shape
    return mix.kinds["MFMA"] * m * n * k * waves / work


def code_bytes(code: bytes, kernel: str) -> int:
    """The kernel's size without the padding behind its last instruction."""
    for section in disassemble_object(code)[1]:
        starts = sorted(section.labels)
        for start, end in zip(starts, [*starts[1:], None], strict=True):
            if section.labels[start] != kernel:
                continue
            ends = [
                line.address + 4 * len(line.words)
                for line in section.lines
                if start <= line.address and (end is None or line.address < end) and (line.text or "").startswith(_END)
            ]
            return max(ends, default=start) - start
    raise ValueError(f"no kernel {kernel}")
