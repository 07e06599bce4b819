"""Rules that several ops share; each raises a located HkcError."""

from __future__ import annotations

from mlir import ir

from hkc.dialect.locations import span_of
from hkc.dialect.types import AnyType, TileType
from hkc.errors import HkcError


def fail(op: ir.Operation, message: str, **details: str | None) -> HkcError:
    """The error at the op's place in the source."""
    return HkcError(message, span_of(op), **details)  # type: ignore[arg-type]


def same_type(op: ir.Operation, what: str, first: AnyType, second: AnyType) -> None:
    """Both operands of ``what`` must have one type."""
    if first == second:
        return
    if isinstance(first, TileType) and isinstance(second, TileType) and first.shape == second.shape:
        if first.dtype != second.dtype:
            raise fail(
                op,
                f"{what} of tiles with different element types",
                expected=first.dtype.name,
                got=second.dtype.name,
                hint=f"convert one of them, e.g. x.to({first.dtype.name})",
            )
        raise fail(op, f"{what} of tiles in different layouts", expected=first.layout, got=second.layout)
    raise fail(op, f"{what} of tiles that differ", expected=str(first), got=str(second))


def extent(op: ir.Operation, what: str, expected: tuple[int, ...], got: tuple[int, ...]) -> None:
    """Two shapes must agree."""
    if expected != got:
        raise fail(op, f"{what} has the wrong shape", expected=shape(expected), got=shape(got))


def shape(extents: tuple[int, ...]) -> str:
    return "x".join(map(str, extents))
