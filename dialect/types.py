"""Types of the tile dialect.

MLIR sees each type as a name and one string; the dataclasses here are that string taken apart.

    !tile.view<"[M, K] bf16">                    a strided array in global memory, sizes known at run time
    !tile.tile<"[128, 64] bf16">                 a tile in registers, spread over the workgroup's wavefronts
    !tile.tile<"[128, 64] bf16 @ a(16x16x32)">   the same after `infer-layouts`
    !tile.lds<"[2, 128, 64] bf16">               tiles in LDS (the first extent counts buffers)
    !tile.token                                  an asynchronous copy or LDS write on its way
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from functools import cache
from typing import ClassVar, TypeVar

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
class _Shaped:
    """A static shape of elements, with the text of its layout once it has one."""

    KIND: ClassVar[str]
    NOUN: ClassVar[str]

    shape: tuple[int, ...]
    dtype: DType
    layout: str | None = None

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def elements(self) -> int:
        return math.prod(self.shape)

    def text(self) -> str:
        at = f" @ {self.layout}" if self.layout else ""
        return f'!tile.{self.KIND}<"[{", ".join(map(str, self.shape))}] {self.dtype.name}{at}">'

    def mlir(self) -> ir.Type:
        return _parse_mlir(self.text())

    def __str__(self) -> str:
        return f"{'x'.join(map(str, self.shape))} {self.dtype.name} {self.NOUN}"


class TileType(_Shaped):
    """A register tile (a vector when of rank 1). ``layout`` is the text of a :mod:`hkc.passes.layouts` layout."""

    KIND = "tile"
    NOUN = "tile"


class LdsType(_Shaped):
    """Tiles in LDS: [buffers, rows, columns], or [rows, columns] for one of them."""

    KIND = "lds"
    NOUN = "LDS tile"


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
