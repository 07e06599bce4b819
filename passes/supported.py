"""Whether code can be made for a kernel's tiles at all."""

from __future__ import annotations

import math
from collections.abc import Iterable

from mlir import ir

from hkc.dialect import ops as tile
from hkc.dialect.locations import span_of
from hkc.dialect.types import TileType, tile_type, try_parse_type
from hkc.dtypes import DTYPES
from hkc.errors import HkcError
from hkc.targets import Target

# LLVM moves and converts these as values of their own; 8-bit floats are bytes to it.
_ELEMENTS = ("f64", "f32", "f16", "bf16", "i64", "i32", "i16", "i8", "i1")
# No instruction and no library serves these in f64 (CDNA3 ISA 12.9: V_EXP_F32, V_LOG_F32, and none wider).
_UP_TO_F32 = tuple(
    op.name
    for op in (tile.Exp, tile.Exp2, tile.Log, tile.Log2, tile.Tanh, tile.Erf, tile.Sigmoid, tile.Silu, tile.Gelu)
)
_VGPR_BYTES = 4


def check_elements(operations: Iterable[ir.Operation], target: Target) -> None:
    """Raise a located HkcError for a tile of an element type without code, or a function of one that lacks it."""
    for op in operations:
        for type_ in _tiles(op):
            if type_.dtype.name not in _ELEMENTS:
                raise HkcError(
                    f"no code can be made for tiles of {type_.dtype.name}",
                    span_of(op),
                    expected=", ".join(_ELEMENTS),
                    got=f"a {type_}",
                )
        if op.name in _UP_TO_F32 and tile_type(op.results[0]).dtype.bits > DTYPES["f32"].bits:
            raise HkcError(
                f"{target.arch} has no {op.name.removeprefix('tile.')} of f64",
                span_of(op),
                expected="f32, f16 or bf16",
                hint="convert: x.to(f32)",
            )


def check_registers(operations: Iterable[ir.Operation], target: Target) -> None:
    """Raise a located HkcError for a tile that all registers of a compute unit can't hold."""
    most = target.simds * target.vgprs_per_lane * target.wavefront * _VGPR_BYTES
    for op in operations:
        for type_ in _tiles(op):
            size = math.prod(type_.shape) * type_.dtype.bytes
            if size > most:
                raise HkcError(
                    f"a {type_} does not fit the registers of a compute unit",
                    span_of(op),
                    expected=f"at most {most} bytes",
                    got=f"{size} bytes",
                    hint="make the tile smaller",
                )


def _tiles(op: ir.Operation) -> list[TileType]:
    values = (*op.results, *(a for r in op.regions for b in r.blocks for a in b.arguments))
    types = [try_parse_type(value.type) for value in values]
    return [t for t in types if isinstance(t, TileType)]
