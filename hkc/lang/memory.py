"""Views, LDS, copies and what orders them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hkc.dialect import ops
from hkc.dialect.ops.memory import TILE_RANK
from hkc.dialect.types import TileType
from hkc.dtypes import DType
from hkc.errors import HkcError
from hkc.lang import folding
from hkc.lang.emit import emit, here
from hkc.lang.folding import I1
from hkc.lang.operations import as_i32, full_of, is_constant
from hkc.lang.values import Lds, Scalar, Tile, Token, View, describe_type


@dataclass(frozen=True)
class Region:
    """A part of a view: where it begins (elements) and how large it is."""

    view: View
    offsets: tuple[Any, ...]
    extents: tuple[int, ...]


def region(view: Any, offsets: Sequence[Any], extents: Sequence[Any]) -> Region:
    """A part of a view; an axis with the extent None is indexed by its offset.

    Raises HkcError unless there is one offset and one positive constant extent for each other dimension.
    """
    if not isinstance(view, View):
        raise HkcError(f"{describe_type(view)} can't be sliced", here(), expected="a view")
    if len(offsets) != view.type.rank or len(extents) != view.type.rank:
        raise wrong_count(view, len(offsets))
    indexed = [axis for axis, e in enumerate(extents) if e is None]
    if indexed:
        view = subview(view, indexed, [offsets[axis] for axis in indexed])
    kept = [(o, extent(e, "the slice")) for o, e in zip(offsets, extents, strict=True) if e is not None]
    if not 1 <= len(kept) <= TILE_RANK:
        raise HkcError(
            f"a tile has 1 or {TILE_RANK} dimensions",
            here(),
            expected=f"1 or {TILE_RANK} slices, indices for the other dimensions",
            got=f"{len(kept)} slices",
        )
    return Region(view, tuple(o for o, _ in kept), tuple(e for _, e in kept))


def wrong_count(view: View, got: int) -> HkcError:
    """The error for too many or too few slices and indices."""
    rank = view.type.rank
    what = f"{rank} slice{'s' * (rank != 1)}" if rank <= TILE_RANK else f"{rank} slices and indices"
    return HkcError(f"a view of rank {rank} takes {what}", here(), got=str(got))


def subview(view: View, axes: Sequence[int], indices: Sequence[Any]) -> View:
    """The view of the other axes at fixed indices along ``axes``; empty if one of them is out of range.

    Raises HkcError for an index that is no i32, or a constant one that is always out of range.
    """
    if len(axes) >= view.type.rank:
        raise HkcError(
            "a tile has at least one dimension", here(), hint="slice the last axis: A[b, k : k + 64], or k : k + 1"
        )
    for axis, index in zip(axes, indices, strict=True):
        size = view.type.dims[axis]
        if (
            is_constant(index)
            and type(index) is int
            and not 0 <= index < (size if isinstance(size, int) else index + 1)
        ):
            expected = f"0 to {size - 1}" if isinstance(size, int) else "0 or more"
            raise HkcError("an index is outside of the view", here(), expected=expected, got=str(index))
    values = [as_i32(i, "an index of a view").ir for i in indices]
    return View(emit(ops.SubView.build, view.ir, values, tuple(axes)))


def extent(value: Any, what: str) -> int:
    """A compile-time extent."""
    if isinstance(value, folding.Typed):
        value = value.value
    if not isinstance(value, int) or isinstance(value, bool):
        got = describe_type(value)
        raise HkcError(f"the extent of {what} is no compile-time integer", here(), got=got)
    if value <= 0:
        raise HkcError(
            f"the extent of {what} is {value}",
            here(),
            expected="1 or more",
            hint="check the constants that give the tile its size",
        )
    return value


def _offsets(part: Region) -> list[Any]:
    return [as_i32(o, "an offset").ir for o in part.offsets]


def load(part: Region) -> Tile:
    """Reads a tile; elements out of range are zero."""
    type_ = TileType(part.extents, part.view.dtype)
    return Tile(emit(ops.Load.build, part.view.ir, _offsets(part), type_))


def store(part: Region, value: Any) -> None:
    """Writes a tile, or a scalar to every element; what is out of range is not written."""
    type_ = TileType(part.extents, part.view.dtype)
    if is_constant(value) or isinstance(value, Scalar):
        value = full_of(value, type_)
    if not isinstance(value, Tile):
        raise HkcError(f"{describe_type(value)} can't be stored", here(), expected=f"a {type_}")
    if value.shape != type_.shape:
        raise HkcError(
            "the tile and the slice it is stored to have different shapes",
            here(),
            expected=f"a {type_}",
            got=describe_type(value),
        )
    if value.dtype != type_.dtype:
        raise HkcError(
            f"a tile of {value.dtype.name} stored to a view of {type_.dtype.name}",
            here(),
            hint=f"convert it: x.to({type_.dtype.name})",
        )
    emit(ops.Store.build, value.ir, part.view.ir, _offsets(part))


def copy(part: Any, slot: Any, when: Any = True) -> Token:
    """Starts an asynchronous copy of the region to an LDS slot."""
    if not isinstance(part, Region):
        raise HkcError(
            f"copy moves a slice of a view, not {describe_type(part)}",
            here(),
            expected="copy(A[m : m + 128, k : k + 64], s[0])",
        )
    target = _slot(slot)
    if part.extents != target.shape:
        raise HkcError(
            "the slice and the LDS slot have different shapes",
            here(),
            expected="x".join(map(str, target.shape)),
            got="x".join(map(str, part.extents)),
        )
    if part.view.dtype != target.dtype:
        raise HkcError(
            "copy can't convert elements",
            here(),
            expected=part.view.dtype.name,
            got=f"LDS of {target.dtype.name}",
        )
    if not (isinstance(when, bool) or (isinstance(when, Scalar) and when.type == I1)):
        raise HkcError(f"when={describe_type(when)} is no condition", here(), expected="a comparison")
    offsets = _offsets(part)
    guard = when if isinstance(when, Scalar) else None
    if when is False:
        from hkc.lang.scalars import constant

        guard = constant(False, I1)
    return Token(emit(ops.Copy.build, part.view.ir, offsets, target.ir, guard.ir if guard is not None else None))


def _slot(value: Any) -> Lds:
    if not isinstance(value, Lds):
        raise HkcError(f"{describe_type(value)} is no LDS slot", here(), expected="one of an allocation: s[0]")
    if value.type.rank != 2:
        raise HkcError("name one buffer of the LDS allocation", here(), got=describe_type(value), hint="s[0]")
    return value


def read(slot: Any) -> Tile:
    """Reads a whole LDS slot into registers."""
    return Tile(emit(ops.LdsRead.build, _slot(slot).ir))


def write(tile: Any, slot: Any) -> Token:
    """Writes a register tile to an LDS slot."""
    target = _slot(slot)
    type_ = TileType(target.shape, target.dtype)
    if not isinstance(tile, Tile) or tile.type != type_:
        raise HkcError("write takes a tile like the LDS slot", here(), expected=f"a {type_}", got=describe_type(tile))
    return Token(emit(ops.LdsWrite.build, tile.ir, target.ir))


def lds(buffers: Any, rows: Any, columns: Any, dtype: Any) -> Lds:
    """LDS for ``buffers`` tiles, kept for the whole kernel."""
    shape = [extent(v, "an LDS tile") for v in (buffers, rows, columns)]
    return Lds(emit(ops.LdsAlloc.build, *shape, element_type(dtype, "lds(2, 128, 64, bf16)")))


def element_type(value: Any, example: str) -> DType:
    """A value that must be an element type."""
    if not isinstance(value, DType):
        raise HkcError(f"{describe_type(value)} is no element type", here(), hint=f"for example {example}")
    return value


def full(value: Any, *shape_and_type: Any) -> Tile:
    """A tile of 1 or 2 extents and an element type, every element the scalar."""
    example = "full(1.0, 128, 128, f32)"
    *shape, dtype = shape_and_type if shape_and_type else (None,)
    if not 1 <= len(shape) <= 2:
        raise HkcError("a tile has 1 or 2 extents and an element type", here(), hint=f"for example {example}")
    type_ = TileType(tuple(extent(e, "a tile") for e in shape), element_type(dtype, example))
    if not is_constant(value) and not isinstance(value, Scalar):
        raise HkcError(f"full of {describe_type(value)}", here(), expected="a scalar")
    return full_of(value, type_)


def zeros(*shape_and_type: Any) -> Tile:
    """A tile of zeros."""
    *_, dtype = shape_and_type if shape_and_type else (None,)
    return full(False if dtype == I1 else 0, *shape_and_type)


def aligned(view: Any) -> Scalar:
    """Whether copies can move the view."""
    if not isinstance(view, View):
        raise HkcError(f"aligned asks about a view, not {describe_type(view)}", here())
    if view.type.rank > TILE_RANK:
        hint = f"ask about what is copied: aligned(A[{', '.join('ij'[: view.type.rank - TILE_RANK])}])"
        raise HkcError("aligned asks about a view of 1 or 2 dimensions", here(), got=str(view.type), hint=hint)
    return Scalar(emit(ops.Aligned.build, view.ir))


def block(axis: Any) -> Scalar:
    """This workgroup's index in the grid."""
    if not isinstance(axis, int) or isinstance(axis, bool) or axis not in (0, 1, 2):
        raise HkcError("a grid has axes 0, 1 and 2", here(), got=describe_type(axis))
    return Scalar(emit(ops.BlockId.build, axis))


def ordered_block(axis: Any, /, *, chunk: Any = None, window: Any = None) -> Scalar:
    """This workgroup's index in the grid, tiles taken in an order that shares caches."""
    if not isinstance(axis, int) or isinstance(axis, bool) or axis not in (0, 1):
        raise HkcError("axes 0 and 1 of a grid are ordered", here(), got=describe_type(axis), hint="use block(2)")
    for name, size in (("chunk", chunk), ("window", window)):
        if size is not None and (type(size) is not int or size < 1 or size & (size - 1)):
            raise HkcError(f"{name} is not a power of two", here(), expected="1, 2, 4, ...", got=describe_type(size))
    return Scalar(emit(ops.OrderedBlock.build, axis, chunk, window))


def dim(view: View, axis: int) -> Scalar | int:
    """A view's size along an axis."""
    size = view.type.dims[axis]
    return size if isinstance(size, int) else Scalar(emit(ops.Dim.build, view.ir, axis))


def wave() -> Scalar:
    """This wavefront's index in the workgroup."""
    return Scalar(emit(ops.WaveId.build))


def wait(*tokens: Any) -> None:
    """This wavefront's part of these copies and writes is in LDS afterwards."""
    if not tokens:
        raise HkcError("wait needs the tokens to wait for", here(), expected="what copy() or write() returned")
    for token in tokens:
        if not isinstance(token, Token):
            raise HkcError(
                f"wait takes tokens, not {describe_type(token)}",
                here(),
                expected="what copy() or write() returned",
            )
    emit(ops.Wait.build, [t.ir for t in tokens])


def waitcnt(*, vmcnt: Any = None, lgkmcnt: Any = None) -> None:
    """The raw counters."""
    limits = ops.Waitcnt.LIMITS
    counts = {"vmcnt": vmcnt, "lgkmcnt": lgkmcnt}
    if vmcnt is None and lgkmcnt is None:
        raise HkcError("waitcnt needs a counter", here(), expected="vmcnt=N or lgkmcnt=N")
    for name, count in counts.items():
        if count is None:
            continue
        if not isinstance(count, int) or isinstance(count, bool) or not 0 <= count <= limits[name]:
            raise HkcError(f"{name} is out of range", here(), expected=f"0 to {limits[name]}", got=describe_type(count))
    emit(ops.Waitcnt.build, vmcnt, lgkmcnt)


def barrier() -> None:
    """Every wavefront of the workgroup arrives before any goes on."""
    emit(ops.Barrier.build)


def set_priority(level: Any) -> None:
    """The wavefront's priority when several on a SIMD could issue."""
    highest = ops.SetPriority.HIGHEST
    if not isinstance(level, int) or isinstance(level, bool) or not 0 <= level <= highest:
        raise HkcError("the priority is out of range", here(), expected=f"0 to {highest}", got=describe_type(level))
    emit(ops.SetPriority.build, level)


def schedule_barrier() -> None:
    """The compiler moves no instruction across."""
    emit(ops.ScheduleBarrier.build)


def interleave() -> None:
    """Spreads the memory operations since the last barrier of either kind between the MFMA since then."""
    emit(ops.Interleave.build)
