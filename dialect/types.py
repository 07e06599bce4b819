"""Types of the tile dialect.

MLIR sees each type as a name and one string; the dataclasses here are that string taken apart.

    !tile.view<"[M, K] bf16">                    a strided array in global memory, sizes known at run time
    !tile.tile<"[128, 64] bf16">                 a tile in registers, spread over the workgroup's wavefronts
    !tile.tile<"[128, 64] bf16 @ a(16x16x32)">   the same after `infer-layouts`
    !tile.lds<"[2, 128, 64] bf16">               tiles in LDS (the first extent counts buffers)
    !tile.token                                  an asynchronous copy or LDS write on its way
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import TypeVar

from mlir import ir

from hkc.dtypes import DType, dtype, dtype_of_mlir
from hkc.errors import InternalError


@dataclass(frozen=True)
class ViewType:
    """A strided array in global memory. ``dims`` are dimension symbols or fixed sizes, outermost first."""

    dims: tuple[str | int, ...]
    dtype: DType

    @property
    def rank(self) -> int:
        return len(self.dims)

    def text(self) -> str:
        return f'!tile.view<"[{", ".join(map(str, self.dims))}] {self.dtype.name}">'

    def mlir(self) -> ir.Type:
        return _parse_mlir(self.text())

    def __str__(self) -> str:
        return f"view[{', '.join(map(str, self.dims))}, {self.dtype.name}]"


@dataclass(frozen=True)
class TileType:
    """A register tile (a vector when of rank 1). ``layout`` is the text of a :mod:`hkc.passes.layouts` layout."""

    shape: tuple[int, ...]
    dtype: DType
    layout: str | None = None

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def elements(self) -> int:
        return _product(self.shape)

    def text(self) -> str:
        return f'!tile.tile<"{_shaped(self.shape, self.dtype, self.layout)}">'

    def mlir(self) -> ir.Type:
        return _parse_mlir(self.text())

    def __str__(self) -> str:
        return f"{'x'.join(map(str, self.shape))} {self.dtype.name} tile"


@dataclass(frozen=True)
class LdsType:
    """Tiles in LDS: [buffers, rows, columns], or [rows, columns] for one of them."""

    shape: tuple[int, ...]
    dtype: DType
    layout: str | None = None

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def elements(self) -> int:
        return _product(self.shape)

    def text(self) -> str:
        return f'!tile.lds<"{_shaped(self.shape, self.dtype, self.layout)}">'

    def mlir(self) -> ir.Type:
        return _parse_mlir(self.text())

    def __str__(self) -> str:
        return f"{'x'.join(map(str, self.shape))} {self.dtype.name} LDS tile"


@dataclass(frozen=True)
class TokenType:
    """What an asynchronous copy returns; waiting on it means that this wavefront's part has landed."""

    def text(self) -> str:
        return "!tile.token"

    def mlir(self) -> ir.Type:
        return _parse_mlir(self.text())

    def __str__(self) -> str:
        return "token"


T = TypeVar("T")

AnyType = ViewType | TileType | LdsType | TokenType | DType

_TEXT = re.compile(r'!tile\.(?P<kind>view|tile|lds)<"\[(?P<dims>[^\]]*)\] (?P<dtype>\w+)(?: @ (?P<layout>.*))?">')


def _product(shape: tuple[int, ...]) -> int:
    total = 1
    for extent in shape:
        total *= extent
    return total


def _shaped(shape: tuple[int, ...], element: DType, layout: str | None) -> str:
    tail = f" @ {layout}" if layout else ""
    return f"[{', '.join(map(str, shape))}] {element.name}{tail}"


def _parse_mlir(text: str) -> ir.Type:
    # There is one context in a process (hkc.dialect.context), so types may be kept for its lifetime.
    known = _MLIR_TYPES.get(text)
    if known is None:
        known = _MLIR_TYPES[text] = ir.Type.parse(text)
    return known


_MLIR_TYPES: dict[str, ir.Type] = {}


@cache
def parse_type_text(text: str) -> AnyType | None:
    """The type that ``text`` (MLIR syntax) spells, or None if it is not one of this dialect or an element type."""
    if text == "!tile.token":
        return TokenType()
    scalar = dtype_of_mlir(text)
    if scalar is not None:
        return scalar
    match = _TEXT.fullmatch(text)
    element = dtype(match["dtype"]) if match else None
    if match is None or element is None:
        return None
    entries = [d.strip() for d in match["dims"].split(",") if d.strip()]
    if match["kind"] == "view":
        return ViewType(tuple(int(d) if d.isdigit() else d for d in entries), element)
    if not all(d.isdigit() for d in entries):
        return None
    kind = TileType if match["kind"] == "tile" else LdsType
    return kind(tuple(map(int, entries)), element, match["layout"])


def parse_type(type_: ir.Type) -> AnyType:
    """The dataclass of an MLIR type.

    Raises InternalError for a type that is neither of this dialect nor a scalar.
    """
    parsed = parse_type_text(str(type_))
    if parsed is None:
        raise InternalError(f"unknown type {type_}")
    return parsed


def try_parse_type(type_: ir.Type) -> AnyType | None:
    """Like :func:`parse_type`, None for foreign types."""
    return parse_type_text(str(type_))


def tile_type(value: ir.Value) -> TileType:
    """The type of a value that must be a register tile."""
    return _expect(value, TileType)


def view_type(value: ir.Value) -> ViewType:
    """The type of a value that must be a view."""
    return _expect(value, ViewType)


def lds_type(value: ir.Value) -> LdsType:
    """The type of a value that must be an LDS tile."""
    return _expect(value, LdsType)


def _expect(value: ir.Value, kind: type[T]) -> T:
    parsed = parse_type(value.type)
    if not isinstance(parsed, kind):
        raise InternalError(f"expected a {kind.__name__}, got {value.type}")
    return parsed
