"""What the interpreter computes with.

A float tile is ``value`` in float64 and ``error``, a bound on the distance of any machine's result from it
(None when the value is exact). An integer tile is int64 without error. In an i1 tile ``error`` is 1 where
the machine may decide the other way.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hkc.dialect.ops import Aligned
from hkc.dtypes import DType
from hkc.numerics import Floats, round_to, ulp


@dataclass(frozen=True, slots=True, eq=False)
class Tile:
    """A register tile."""

    value: npt.NDArray
    dtype: DType
    error: Floats | None = None

    @property
    def bound(self) -> Floats | float:
        """The error bound as a number or array."""
        return 0.0 if self.error is None else self.error


class View:
    """A global array argument: its values and their bounds.

    ``strides`` are in elements, ``address`` in bytes. The address and strides only decide ``aligned``; two
    views never share memory here.
    """

    def __init__(self, values: npt.NDArray, dtype: DType, strides: tuple[int, ...], address: int = 0) -> None:
        self.values = values
        self.errors: Floats = np.zeros(values.shape)
        self.dtype = dtype
        self.strides = strides
        self.address = address
        self._inexact = [False]  # shared with parts

    @property
    def inexact(self) -> bool:
        """Whether some element has a bound."""
        return self._inexact[0]

    def part(self, indices: dict[int, int]) -> View:
        """The part at fixed indices (by axis), in the same memory; empty with an index out of range."""
        kept = [axis for axis in range(self.values.ndim) if axis not in indices]
        inside = all(0 <= index < self.values.shape[axis] for axis, index in indices.items())
        address = self.address + sum(i * self.strides[a] for a, i in indices.items()) * self.dtype.bytes
        strides = tuple(self.strides[axis] for axis in kept)
        where = tuple(indices.get(axis, slice(None)) for axis in range(self.values.ndim))
        values = self.values[where] if inside else np.zeros((0,) * len(kept), self.values.dtype)
        found = View(values, self.dtype, strides, address)
        if inside:
            found.errors = self.errors[where]
        found._inexact = self._inexact
        return found

    @property
    def aligned(self) -> bool:
        """What :class:`hkc.dialect.ops.Aligned` says of the view."""
        size = self.dtype.bytes
        *outer, last = self.strides
        rows = all(
            stride * size % 4 == 0 and inner <= stride and stride * size <= Aligned.MOST_PITCH
            for stride, inner in zip(outer, self.values.shape[1:], strict=True)
        )
        return last == 1 and self.address % 4 == 0 and rows

    def load(self, offsets: list[int], shape: tuple[int, ...]) -> Tile:
        """A tile at ``offsets``; zero out of range."""
        source, target = self._windows(offsets, shape)
        value = np.zeros(shape, self.values.dtype)
        value[target] = self.values[source]
        error = None
        if self.inexact:
            error = np.zeros(shape)
            error[target] = self.errors[source]
        return Tile(value, self.dtype, error)

    def store(self, offsets: list[int], tile: Tile, places: tuple[npt.NDArray, npt.NDArray] | None = None) -> None:
        """Store what is in range; with ``places`` (as of ``np.ix_``) the elements there of a larger tile."""
        if places is not None:
            self._scatter(offsets, tile, places)
            return
        source, target = self._windows(offsets, tile.value.shape)
        self.values[source] = tile.value[target]
        self.errors[source] = 0.0 if tile.error is None else tile.error[target]
        self._inexact[0] |= tile.error is not None

    def _scatter(self, offsets: list[int], tile: Tile, places: tuple[npt.NDArray, npt.NDArray]) -> None:
        rows, columns = (offset + at.ravel() for offset, at in zip(offsets, places, strict=True))
        fits = [(at >= 0) & (at < size) for at, size in zip((rows, columns), self.values.shape, strict=True)]
        target, source = np.ix_(rows[fits[0]], columns[fits[1]]), np.ix_(*fits)
        self.values[target] = tile.value[source]
        self.errors[target] = 0.0 if tile.error is None else tile.error[source]
        self._inexact[0] |= tile.error is not None

    def columns_inside(self, offsets: list[int], shape: tuple[int, ...]) -> bool:
        """Whether the tile's last axis lies inside the view."""
        return offsets[-1] >= 0 and offsets[-1] + shape[-1] <= self.values.shape[-1]

    def _windows(self, offsets: list[int], shape: tuple[int, ...]) -> tuple[tuple[slice, ...], tuple[slice, ...]]:
        inside, local = [], []
        for offset, extent, size in zip(offsets, shape, self.values.shape, strict=True):
            low = min(max(offset, 0), size)
            high = max(low, min(offset + extent, size))
            inside.append(slice(low, high))
            local.append(slice(low - offset, high - offset) if high > low else slice(0, 0))
        return tuple(inside), tuple(local)


class Lds:
    """LDS tiles: [buffers, rows, columns], or one buffer of them (a NumPy view of the same memory)."""

    def __init__(self, values: npt.NDArray, errors: Floats, dtype: DType) -> None:
        self.values, self.errors, self.dtype = values, errors, dtype

    @staticmethod
    def allocate(shape: tuple[int, ...], dtype: DType) -> Lds:
        """Fresh LDS: floats are NaN until written."""
        if dtype.is_float:
            return Lds(np.full(shape, np.nan), np.zeros(shape), dtype)
        return Lds(np.zeros(shape, bool if dtype.kind == "bool" else np.int64), np.zeros(shape), dtype)

    def slot(self, index: int) -> Lds:
        """One buffer."""
        return Lds(self.values[index], self.errors[index], self.dtype)

    def read(self) -> Tile:
        """The whole buffer, as it is now."""
        error = self.errors.copy() if self.errors.any() else None
        return Tile(self.values.copy(), self.dtype, error)

    def write(self, tile: Tile) -> None:
        """Replace the whole buffer."""
        self.values[...] = tile.value
        self.errors[...] = tile.bound


def settle(value: Floats, error: Floats | float, dtype: DType, ulps: Floats | float = 0.5) -> Tile:
    """The result of a float op whose machine form rounds within ``ulps`` units of ``dtype``.

    ``error`` is what the operands' errors make of it. The value stays unrounded; it is exact, with no
    error, where the operands were exact and a correctly rounded result would be too.
    """
    rounded = round_to(value, dtype)
    overflow = np.isinf(rounded) & np.isfinite(value)
    propagated = np.broadcast_to(error, value.shape)
    with np.errstate(invalid="ignore", over="ignore"):
        rounding = ulps * ulp(np.abs(value) + propagated, dtype)
        # The value itself is rounded to f64, so of that type nothing is known to be exact.
        correct = dtype.name != "f64" and ulps <= _CORRECT[dtype.name]
        exact = (propagated == 0) & (rounded == value) & correct
        total = np.where(exact, 0.0, propagated + rounding)
        # Near the largest number a machine may or may not reach infinity.
        unsure = np.isinf(round_to(np.abs(value) + total, dtype)) & ~np.isinf(round_to(np.abs(value) - total, dtype))
    total = np.where(unsure, np.inf, np.where(np.isfinite(rounded), total, 0.0))
    value = np.where(overflow, rounded, value)
    return Tile(value, dtype, total if total.any() else None)


# Rounding of one add, subtract or multiply: half a unit; a narrow type is computed in f32 and rounded twice.
_CORRECT = {"f64": 0.5, "f32": 0.5, "f16": 0.5 + 2.0**-13, "bf16": 0.5 + 2.0**-16}


def rounding_units(dtype: DType) -> float:
    """Units in the last place by which one basic operation may be off."""
    return _CORRECT[dtype.name]


def narrow(tile: Tile, dtype: DType) -> Tile:
    """Round to ``dtype`` (RNE). Rounding is monotone, so the bound's ends round to the new bound's ends."""
    value = round_to(tile.value, dtype)
    if tile.error is None:
        return Tile(value, dtype)
    with np.errstate(invalid="ignore", over="ignore"):
        above = np.abs(round_to(tile.value + tile.error, dtype) - value)
        below = np.abs(value - round_to(tile.value - tile.error, dtype))
    error = np.where(np.isfinite(value), np.maximum(above, below), 0.0)
    return Tile(value, dtype, error)
