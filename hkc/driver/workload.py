"""What the tile program asks for: the main loop's matmuls, and the largest tiles."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mlir import ir

    from hkc.driver.assembly import LoopMix

_LANES = 64  # a wavefront of every CDNA target
_ACCESS = 16 * _LANES  # bytes that the widest LDS or buffer instruction moves, 16 a lane


@dataclass(frozen=True)
class Workload:
    """The work of a kernel, from its IR before any pass.

    ``matmuls`` are the main loop's ``(m, n, k)`` in one step, ``bytes`` the size of an input element,
    ``waves`` rows x columns that compute, ``load_waves`` how many others only load. ``tiles`` are the largest named
    tiles: name, type text, bytes.
    """

    matmuls: tuple[tuple[int, int, int], ...] = ()
    bytes: int = 0
    waves: tuple[int, int] | None = None
    load_waves: int = 0
    tiles: tuple[tuple[str, str, int], ...] = ()

    @staticmethod
    def from_json(data: dict[str, Any]) -> Workload:
        """The inverse of ``dataclasses.asdict``, after a trip through JSON."""
        return Workload(
            matmuls=tuple(tuple(shape) for shape in data["matmuls"]),
            bytes=data["bytes"],
            waves=tuple(data["waves"]) if data["waves"] is not None else None,
            load_waves=data["load_waves"],
            tiles=tuple(tuple(tile) for tile in data["tiles"]),
        )

    def floor(self, mix: LoopMix) -> dict[str, float] | None:
        """The fewest instructions of one iteration of the compiled loop, by kind, for the MFMAs it holds.

        The rule: each wave computes its part of the output; reads its rows of A and columns of B from LDS
        once a step; the workgroup loads each input element once a step (and writes it to LDS once if loads
        go through registers).
        """
        if not self.matmuls or self.waves is None or mix.mfma_shape is None:
            return None
        rows, columns = self.waves
        mfma = mix.kinds["MFMA"]
        m, n, k = mix.mfma_shape
        steps = mfma * m * n * k * rows * columns / sum(a * b * c for a, b, c in self.matmuls)
        reads = sum(a * c / rows + b * c / columns for a, b, c in self.matmuls) * self.bytes / _ACCESS
        loads = sum(a * c + b * c for a, b, c in self.matmuls) * self.bytes / _ACCESS / (rows * columns)
        floor: dict[str, float] = {"MFMA": mfma, "LDS reads": steps * reads}
        if self.load_waves:
            return floor  # the loop with the MFMA is not theirs
        floor["loads"] = steps * loads
        if "loads to LDS" not in mix.kinds:
            floor["LDS writes"] = steps * loads
        return floor


def examine(function: ir.Operation) -> Workload:
    """The workload of a tile kernel; ``waves`` only if the program says it."""
    from hkc.dialect.locations import name_of
    from hkc.dialect.types import TileType, tile_type, try_parse_type
    from hkc.dialect.verify import walk

    best: list[ir.Operation] = []
    for loop in (op for op in walk(function) if op.name == "scf.for"):
        matmuls = [op for op in walk(loop) if op.name == "tile.mma"]
        # Of nested loops the innermost one that still has them all.
        if len(matmuls) >= max(1, len(best)):
            best = matmuls
    shapes = tuple((*tile_type(op.operands[0]).shape, tile_type(op.operands[1]).shape[1]) for op in best)
    width = tile_type(best[0].operands[0]).dtype.bytes if best else 0
    tiles = {}
    for op in walk(function):
        for value in op.results:
            type_ = try_parse_type(value.type)
            name = name_of(value)
            if isinstance(type_, TileType) and name:
                tiles[name, str(type_)] = type_.elements * type_.dtype.bytes
    costly = sorted(tiles.items(), key=lambda item: -item[1])[:3]
    matmuls_mnk = tuple((m, n, k) for m, k, n in shapes)
    found = Workload(matmuls_mnk, width, tiles=tuple((*key, size) for key, size in costly))
    return with_waves(found, function)


def with_waves(workload: Workload, function: ir.Operation) -> Workload:
    """The workload with the function's wavefronts, once they are known."""
    from hkc.passes.roles import WAVES, roles_of

    if WAVES not in function.attributes:
        return workload
    roles = roles_of(function)
    return replace(workload, waves=roles.grid, load_waves=roles.load_waves)
