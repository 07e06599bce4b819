"""The results as one table, and as JSON."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from benchmarks.codegen.cases import Case
from benchmarks.codegen.emulate import Dynamics
from benchmarks.codegen.measure import Statics
from benchmarks.codegen.timing import Times


@dataclass(frozen=True)
class Line:
    """One compiler's results for a case; ``options`` are what was chosen for it."""

    case: Case
    compiler: str
    options: str
    statics: Statics
    dynamics: Dynamics
    times: Times | None = None

    def values(self) -> dict[str, float | None]:
        """The table's columns by name."""
        return {name: value(self) for name, value in _COLUMNS.items()}

    def to_json(self) -> dict[str, Any]:
        """Plain data: the columns, and what identifies the line."""
        shape = self.statics.mfma_shape
        return {
            "case": self.case.name,
            "arch": self.case.arch,
            "compiler": self.compiler,
            "options": self.options,
            "mfma_shape": list(shape) if shape else None,
            "steps_per_iteration": self.statics.steps,
            "columns": self.values(),
            "times": asdict(self.times) if self.times else None,
        }


def _others_per_mfma(line: Line) -> float | None:
    mfma = line.statics.core["MFMA"]
    return sum(line.statics.others.values()) / mfma if mfma else None


def _time(name: str) -> Callable[[Line], float | None]:
    return lambda line: getattr(line.times, name) if line.times else None


_COLUMNS: dict[str, Callable[[Line], float | None]] = {
    "MFMA": lambda x: x.statics.core["MFMA"],
    "LDS reads": lambda x: x.statics.core["LDS reads"],
    "LDS writes": lambda x: x.statics.core["LDS writes"],
    "loads to LDS": lambda x: x.statics.core["loads to LDS"],
    "global loads": lambda x: x.statics.core["global loads"],
    "VALU": lambda x: x.statics.others["VALU"],
    "AGPR moves": lambda x: x.statics.agpr_moves,
    "SALU": lambda x: x.statics.others["SALU"],
    "waits": lambda x: x.statics.others["waits"],
    "barriers": lambda x: x.statics.others["barriers"],
    "scratch": lambda x: x.statics.others["memory"],
    "others": lambda x: sum(x.statics.others.values()),
    "others/ MFMA": _others_per_mfma,
    "executed": lambda x: x.dynamics.instructions,
    "MFMA before wait": lambda x: x.statics.mfma_before_wait,
    "conflict cycles": lambda x: x.dynamics.conflict_cycles,
    "VGPR": lambda x: x.statics.resources.arch_vgprs,
    "AGPR": lambda x: x.statics.resources.agprs,
    "SGPR": lambda x: x.statics.resources.sgprs,
    "spills": lambda x: x.statics.resources.vgpr_spills + x.statics.resources.sgpr_spills,
    "LDS bytes": lambda x: x.statics.lds,
    "code bytes": lambda x: x.statics.code,
    "cold s": _time("cold"),
    "cold CPU s": _time("cold_cpu"),
    "warm s": _time("warm"),
    "warm CPU s": _time("warm_cpu"),
}
_SECONDS = ("cold s", "cold CPU s", "warm s", "warm CPU s")

LEGEND = """\
Counts are a wavefront's in one step (BK) of the main loop, unrolled loops divided by the steps of an iteration.
VALU includes AGPR moves; SALU includes branches; scratch includes stores; others: all from VALU to scratch.
executed: instructions a step as the emulated device counted them. MFMA before wait: the fewest between a load and the
wait that retires it. conflict cycles: LDS cycles beyond the conflict-free ones, counted by the emulated device.
cold, warm: seconds of a process with an empty and with a full cache; CPU: user + system, with child processes."""


def ratios(line: Line, other: Line) -> dict[str, float | None]:
    """``line`` / ``other``, column by column; None where either is unknown, or ``other`` is 0 and ``line`` is not."""
    result: dict[str, float | None] = {}
    theirs = other.values()
    for name, value in line.values().items():
        base = theirs[name]
        if value is None or base is None or (base == 0 and value != 0):
            result[name] = None
        else:
            result[name] = value / base if base else 1.0
    return result


def pairs(lines: Sequence[Line]) -> list[list[Line]]:
    """The lines of each case together, in order."""
    groups: dict[tuple[str, str], list[Line]] = {}
    for line in lines:
        groups.setdefault((line.case.name, line.case.arch), []).append(line)
    return list(groups.values())


def text(lines: Sequence[Line]) -> str:
    """One table: a line a compiler, and one with the first's ratios to the second's."""
    shown = [name for name in _COLUMNS if any(line.values()[name] is not None for line in lines)]
    rows = [["", *shown]]
    chosen = []
    for group in pairs(lines):
        case = group[0].case
        rows.append([f"{case.name} {case.arch}"])
        for line in group:
            values = line.values()
            rows.append([f"  {line.compiler}", *(_number(name, values[name]) for name in shown)])
            chosen.append(f"{case.name} {case.arch} {line.compiler}: {line.options}")
        if len(group) > 1:
            ratio = ratios(group[0], group[1])
            rows.append(["  ratio", *(f"{r:.2f}" if (r := ratio[name]) is not None else "-" for name in shown)])
    return "\n".join([*_align(rows), "", LEGEND, "", *chosen])


def _number(name: str, value: float | None) -> str:
    if value is None:
        return "-"
    return (
        f"{value:.2f}" if name in _SECONDS or name == "others/ MFMA" else f"{value:g}" if value % 1 else f"{value:.0f}"
    )


def _align(rows: list[list[str]]) -> list[str]:
    """The first row is the header: its words go below each other."""
    header, *body = rows
    words = [name.split() for name in header]
    depth = max(len(w) for w in words)
    heads = [[w[i - depth + len(w)] if i >= depth - len(w) else "" for w in words] for i in range(depth)]
    every = [*heads, *body]
    widths = [max(len(row[i]) for row in every if len(row) == len(header)) for i in range(len(header))]
    return ["  ".join(_cell(i, cell, widths[i]) for i, cell in enumerate(row)).rstrip() for row in every]


def _cell(column: int, cell: str, width: int) -> str:
    return f"{cell:>{width}}" if column else f"{cell:<{width}}"


def to_json(lines: Sequence[Line]) -> dict[str, Any]:
    """All lines, and the ratios of each case."""
    found = [
        {"case": g[0].case.name, "arch": g[0].case.arch, "columns": ratios(g[0], g[1])}
        for g in pairs(lines)
        if len(g) > 1
    ]
    return {"lines": [line.to_json() for line in lines], "ratios": found}
