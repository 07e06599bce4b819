"""`assign-wave-roles`: how many wavefronts there are, how they share each tile, and what each of them does.

The result is the kernel's attribute `tile.waves` (rows x columns of wavefronts that compute; a third number counts
further ones that only copy, numbered after them) and the `by` part of every layout, which is over the computing ones.
A pipelined loop's schedule says how many it wants (`tile.wave_grid`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from mlir import ir

from hkc.dialect.irdl import get_ints, get_str
from hkc.dialect.locations import span_of
from hkc.dialect.types import TileType, tile_type, try_parse_type
from hkc.dialect.verify import walk
from hkc.errors import HkcError
from hkc.passes.access import longest_run
from hkc.passes.infer_layouts import PLAIN, Slice, layout_classes
from hkc.passes.layouts import Layout, WaveSplit, divides, flip, parse_layout, plain_layout
from hkc.passes.rebuild import kernel_of
from hkc.passes.register_budget import REGISTER
from hkc.passes.schedules.choice import USUAL_WAVES, grids_of, usual_count
from hkc.passes.schedules.loops import WAVE_GRID, Grid
from hkc.passes.staging import DEFAULT_SCHEDULE
from hkc.targets import Target


def with_split(layout: str, waves: tuple[int, int]) -> str:
    """The layout text with the wave split that its kind takes."""
    rows, columns = WaveSplit(waves[0], waves[1]), WaveSplit(waves[1], 1)
    parsed = parse_layout(layout)
    kind = layout.partition("(")[0]
    split = {
        "d": (rows, columns),
        "ds": (rows, columns),
        "a": (rows, WaveSplit()),
        "b": (WaveSplit(), columns),
        "ad": (rows, WaveSplit()),
        "bd": (WaveSplit(), columns),
    }[kind]
    if layout.endswith(".t"):
        split = split[::-1]
    return replace(parsed, split=split).text()


@dataclass(frozen=True)
class _Tile:
    """A value with its tile type and the longest run that it may have in a plain layout; of a vector that is a slice
    of tiles, those tiles and the axes that it lies along."""

    value: ir.Value
    type: TileType
    run: int
    slice_of: tuple[tuple[_Tile, Slice], ...] = ()


def _laid_out(tile: _Tile, waves: tuple[int, int]) -> TileType | None:
    """The type with its layout spread over the wavefronts, None where it does not divide."""
    type_ = tile.type
    if tile.slice_of:
        return _sliced(tile, waves)
    if type_.layout in (PLAIN, flip(PLAIN)):
        flipped = type_.layout != PLAIN
        shape = type_.shape[::-1] if flipped else type_.shape
        layout = plain_layout(shape, waves[0] * waves[1], tile.run)
        if layout is None:
            return None
        return replace(type_, layout=(layout.transposed() if flipped else layout).text())
    text = with_split(type_.layout or "", waves)
    shape = type_.shape if type_.rank == 2 else (1, *type_.shape)
    return replace(type_, layout=text) if divides(parse_layout(text), (shape[0], shape[1])) else None


def _sliced(vector: _Tile, waves: tuple[int, int]) -> TileType | None:
    """A vector's type as a slice of its tiles; None where one of them does not divide. Raises HkcError if they ask
    for different lanes."""
    found: tuple[Layout, Slice] | None = None
    for tile, known in vector.slice_of:
        whole = _laid_out(tile, waves)
        if whole is None:
            return None
        layout = parse_layout(whole.layout or "").sliced(known.axis)
        if found is not None and found[0].places() != layout.places():
            raise HkcError(
                "a vector is used along two tiles whose rows or columns lie on different lanes",
                span_of(known.use),
                expected=found[0].text(),
                got=layout.text(),
                notes=[("the other tile is used here", span_of(found[1].use))],
                hint="pass the vector through memory between the two uses, or use tiles of one shape",
            )
        found = found or (layout, known)
    assert found is not None
    return replace(vector.type, layout=found[0].text())


def _tiles(function: ir.Operation, target: Target) -> list[_Tile]:
    """All tiles. Those of one layout class have the runs of their widest element type: a conversion moves nothing."""
    ops = list(walk(function))
    classes = layout_classes(ops)
    found = []
    runs: dict[ir.Value, int] = {}
    for op in ops:
        for value in (*op.results, *(a for r in op.regions for b in r.blocks for a in b.arguments)):
            type_ = try_parse_type(value.type)
            if isinstance(type_, TileType):
                root, _ = classes.find(value)
                runs[root] = min(runs.get(root, longest_run(type_, target)), longest_run(type_, target))
                found.append((value, type_, root))
    tiles = {value: _Tile(value, type_, runs[root]) for value, type_, root in found}
    vectors = {value: classes.slices_of(value) for value in tiles} if classes.slices else {}
    for value, slices in vectors.items():
        tiles[value] = replace(tiles[value], slice_of=tuple((tiles[known.tile], known) for known in slices))
    return list(tiles.values())


def _fits(tiles: list[_Tile], waves: tuple[int, int], target: Target) -> ir.Value | None:
    """A tile that can't be spread over the wavefronts, None if all can."""
    count = waves[0] * waves[1]
    for tile in tiles:
        value = tile.value
        moved = value.owner.name in ("tile.load", "tile.lds_read") if not _is_argument(value) else False
        if _laid_out(tile, waves) is None:
            return value
        if moved and not tile.slice_of and plain_layout(tile.type.shape, count, longest_run(tile.type, target)) is None:
            return value
    return None


def _is_argument(value: ir.Value) -> bool:
    return isinstance(value, ir.BlockArgument)


def _candidates(function: ir.Operation, tiles: list[_Tile], target: Target) -> list[Grid]:
    """Wave grids to try, best first."""
    matmuls = [op for op in walk(function) if op.name == "tile.mma"]
    most = target.max_workgroup // target.wavefront
    if not matmuls:
        largest = max((tile.type.elements * tile.type.dtype.bytes for tile in tiles), default=0)
        wanted = usual_count(-(-largest // REGISTER), target)
        return [(count, 1) for count in (most, most // 2, USUAL_WAVES, 2, 1) if count <= wanted]
    shapes = [tile_type(op.results[0]).shape for op in matmuls]
    m, n = max(shapes, key=lambda s: s[0] * s[1])
    return [grid for count in range(usual_count(m * n, target), 0, -1) for grid in grids_of(count, m, n)]


def _planned(function: ir.Operation) -> tuple[Grid, int, bool] | None:
    """The first scheduled loop's grid of computing wavefronts, its load waves, and whether another grid serves."""
    for op in walk(function):
        planned = get_ints(op, WAVE_GRID) if op.name == "scf.for" else None
        if planned is not None:
            return (planned[0], planned[1]), planned[2], get_str(op, "tile.schedule") == DEFAULT_SCHEDULE
    return None


def _choose(function: ir.Operation, target: Target) -> Grid:
    tiles = _tiles(function, target)
    asked = get_ints(function, "tile.waves")
    if asked is not None:
        waves = (asked[0], asked[1]) if len(asked) == 2 else (0, 0)
        if min(waves) < 1 or waves[0] * waves[1] * target.wavefront > target.max_workgroup:
            raise HkcError(
                "a workgroup can't have these wavefronts",
                span_of(function),
                expected=f"rows x columns, at most {target.max_workgroup // target.wavefront} in all",
                got="x".join(map(str, asked)),
            )
        misfit = _fits(tiles, waves, target)
        if misfit is not None:
            raise _misfit(misfit, f"over {waves[0]}x{waves[1]} wavefronts")
        return waves
    planned = _planned(function)
    candidates = [planned[0]] if planned is not None else []
    if planned is None or planned[2]:
        candidates += _candidates(function, tiles, target)
    misfit = None
    for waves in candidates:
        misfit = _fits(tiles, waves, target)
        if misfit is None:
            return waves
    assert misfit is not None
    where = f"over the {target.wavefront} lanes of a wavefront"
    if planned is not None and not planned[2]:
        where = f"over the {candidates[0][0]}x{candidates[0][1]} wavefronts of its schedule"
    raise _misfit(misfit, where)


def _misfit(value: ir.Value, where: str) -> HkcError:
    return HkcError(
        f"a {tile_type(value)} can't be spread {where}",
        span_of(value),
        expected="a tile of at least 64 elements whose extents are multiples of powers of two",
        hint="make the tile larger, or its extents multiples of 16",
    )


def assign_wave_roles(module: ir.Module, target: Target) -> None:
    """Chooses the wave grid and spreads every tile over it (see the module's text)."""
    function = kernel_of(module)
    waves = _choose(function, target)
    planned = _planned(function)
    load_waves = planned[1] if planned is not None else 0
    function.attributes["tile.waves"] = ir.DenseI64ArrayAttr.get([*waves, load_waves] if load_waves else list(waves))
    for tile in _tiles(function, target):
        spread = _laid_out(tile, waves)
        assert spread is not None
        tile.value.set_type(spread.mlir())
