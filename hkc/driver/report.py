"""What a compiled kernel uses of the machine, and what limits it (``--report``)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any

from hkc.driver.lds_tile import LdsTile
from hkc.driver.remark import Remark
from hkc.driver.workload import Workload
from hkc.errors import HkcError, Span
from hkc.targets import Target, get_target


@dataclass(frozen=True)
class Resources:
    """A kernel's entry in its code object's metadata.

    Sizes are in bytes, registers a lane, ``workgroup`` in lanes.
    """

    name: str
    vgprs: int
    agprs: int
    sgprs: int
    vgpr_spills: int
    sgpr_spills: int
    scratch: int
    lds: int
    workgroup: int

    @property
    def arch_vgprs(self) -> int:
        """VGPRs without the AGPRs that share their file."""
        return self.vgprs - self.agprs


@dataclass(frozen=True)
class Occupancy:
    """Wavefronts resident on one SIMD, and what keeps it from being more."""

    waves: float
    limit: str


@dataclass(frozen=True)
class Report:
    """All that ``--report`` prints.

    ``loop`` and ``floor`` are instructions of the main loop by kind, for one
    iteration; ``seconds`` the time of each stage of the compile that made the code object; ``remarks`` what the
    compiler chose and why; ``lds_tiles`` the LDS tiles' layouts and bank conflicts."""

    arch: str
    resources: Resources
    lds_limit: int
    occupancy: Occupancy
    loop: dict[str, int] | None
    floor: dict[str, float] | None
    tiles: tuple[tuple[str, str, int], ...] = ()
    seconds: dict[str, float] = field(default_factory=dict)
    remarks: tuple[Remark, ...] = ()
    lds_tiles: tuple[LdsTile, ...] = ()

    @property
    def kernel(self) -> str:
        return self.resources.name

    def to_json(self) -> dict[str, Any]:
        """Plain data for ``json.dumps``."""
        tiles = [asdict(tile) | {"ways": tile.ways} for tile in self.lds_tiles]
        return asdict(self) | {"lds_tiles": tiles}

    def text(self, *, cached: bool = False) -> str:
        """The report as a table; a ``cached`` kernel's compile time is that of when it was compiled."""
        r = self.resources
        rows = [
            ("kernel", f"{r.name} ({self.arch}, {r.workgroup} lanes a workgroup)"),
            ("registers", f"{r.arch_vgprs} VGPR, {r.agprs} AGPR, {r.sgprs} SGPR"),
            ("spills", f"{r.vgpr_spills} VGPR, {r.sgpr_spills} SGPR"),
            ("scratch", f"{r.scratch} bytes a lane"),
            ("LDS", f"{r.lds} of {self.lds_limit} bytes"),
            ("occupancy", f"{self.occupancy.waves:g} waves a SIMD, limited by {self.occupancy.limit}"),
        ]
        if self.tiles:
            rows.append(("largest tiles", _tiles(self.tiles)))
        if self.loop is not None:
            total = sum(self.loop.values())
            rows.append(("main loop", f"{total} instructions: " + _counts(self.loop)))
        if self.floor is not None and self.loop is not None:
            least = sum(self.floor.values())
            rows.append(("floor", f"{least:g} instructions: {_counts(self.floor)} ({total / least:.2f}x)"))
        if self.seconds:
            stages = ", ".join(f"{name} {seconds * 1e3:.0f}" for name, seconds in self.seconds.items())
            note = " (now from the cache)" if cached else ""
            rows.append(("compile time", f"{sum(self.seconds.values()) * 1e3:.0f} ms{note}: {stages}"))
        rows += [("LDS tile", str(tile)) for tile in self.lds_tiles]
        rows += [("remark", str(remark)) for remark in self.remarks]
        return "\n".join(f"{name:<14}{value}" for name, value in rows)


def _counts(kinds: dict[str, int] | dict[str, float]) -> str:
    return ", ".join(f"{count:g} {kind}" for kind, count in kinds.items())


def _tiles(tiles: tuple[tuple[str, str, int], ...]) -> str:
    return ", ".join(f"{name} ({type_}, {size} bytes)" for name, type_, size in tiles)


def make_report(
    arch: str,
    resources: Resources,
    code: str | bytes,
    workload: Workload | None,
    seconds: dict[str, float],
    remarks: tuple[Remark, ...] = (),
) -> Report:
    """The report of one kernel; ``code`` is its code object or assembly text."""
    from hkc.driver.assembly import main_loop  # needed for reports only, and not quick to import

    target = get_target(arch)
    mix = main_loop(code, resources.name)
    return Report(
        arch,
        resources,
        target.lds_bytes,
        occupancy(target, resources),
        mix.kinds if mix else None,
        workload.floor(mix) if workload and mix else None,
        workload.tiles if workload else (),
        seconds,
        remarks,
    )


def check_spills(
    used: Resources,
    workload: Workload | None,
    remarks: tuple[Remark, ...],
    place: Span | None,
    shrink: Callable[[], str | None],
) -> None:
    """Raise HkcError if vector registers of a tile program are spilled to memory, with what was planned.

    ``place`` is the kernel's, for one without a planned loop; ``shrink`` gives what would need fewer. LLVM IR of the
    user's own (no ``workload``) may spill what it likes.
    """
    if workload is None or not (used.vgpr_spills or used.scratch):
        return
    notes = [(f"planned: {remark.message}", remark.span) for remark in remarks]
    if workload.tiles:
        notes.append((f"the tiles that cost most: {_tiles(workload.tiles)}", None))
    raise HkcError(
        f"kernel {used.name} needs more registers than there are: LLVM spills {used.vgpr_spills} VGPRs to memory",
        next((remark.span for remark in remarks if remark.span), place),
        expected=f"no scratch memory; a lane has {used.arch_vgprs} VGPRs and {used.agprs} AGPRs here",
        got=f"{used.scratch} bytes of scratch a lane",
        notes=notes,
        hint=shrink() or "make the tiles smaller, or spread them over more wavefronts: waves (rows, columns)",
    )


def find_warnings(used: Resources, workload: Workload | None) -> list[str]:
    """What costs speed and should be known: spills and scratch."""
    found = []
    if used.vgpr_spills or used.sgpr_spills:
        found.append(f"{used.name}: {used.vgpr_spills} VGPRs and {used.sgpr_spills} SGPRs are spilled")
    elif used.scratch:
        found.append(f"{used.name}: uses {used.scratch} bytes of scratch a lane")
    if workload and workload.tiles and (used.vgpr_spills or used.scratch):
        found.append("the tiles that cost most: " + _tiles(workload.tiles))
    return found


def check_limits(target: Target, used: Resources, workload: Workload | None) -> None:
    """Raise HkcError if the kernel is over a limit of the target: such a code object would not launch."""
    limits = (
        ("LDS", used.lds, target.lds_bytes, "bytes"),
        ("registers", used.vgprs, target.vgprs_per_lane, "a lane"),
        ("workgroup", used.workgroup, target.max_workgroup, "lanes"),
    )
    tiles = workload.tiles if workload else ()
    for what, value, limit, unit in limits:
        if value > limit:
            raise HkcError(
                f"kernel {used.name} is over the {what} limit of {target.arch}",
                expected=f"at most {limit} {unit}",
                got=f"{value} {unit}",
                notes=[(f"the tiles that cost most: {_tiles(tiles)}", None)] if tiles else (),
            )


def occupancy(target: Target, used: Resources) -> Occupancy:
    """Waves a SIMD: whole workgroups are placed on a compute unit, their wavefronts dealt over its SIMDs."""
    waves = max(1, -(-used.workgroup // target.wavefront))
    registers = max(_round_up(used.vgprs, target.vgpr_granule), target.vgpr_granule)
    by_registers = min(target.vgprs_per_lane // registers, target.max_waves_per_simd)
    groups = {
        "registers": _groups(by_registers, waves, target.simds),
        "the waves a SIMD holds": _groups(target.max_waves_per_simd, waves, target.simds),
    }
    if used.lds:
        groups["LDS"] = target.lds_bytes // _round_up(used.lds, target.lds_granule)
    # The hardware's own limit is the one to name when nothing is below it.
    limit = min(sorted(groups, key=lambda name: name != "the waves a SIMD holds"), key=lambda name: groups[name])
    return Occupancy(groups[limit] * waves / target.simds, limit)


def _groups(waves_a_simd: int, waves: int, simds: int) -> int:
    """Workgroups of ``waves`` wavefronts that fit a compute unit."""
    return waves_a_simd // (waves // simds) if waves % simds == 0 else waves_a_simd * simds // waves


def _round_up(value: int, granule: int) -> int:
    return -(-value // granule) * granule
