"""Element types: one row a type, shared by every part of hkc."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from mlir import ir

Kind = Literal["float", "int", "bool"]


@dataclass(frozen=True)
class DType:
    """An element type.

    ``bits`` is the storage size; ``mantissa`` the number of explicit significand bits of a float (0 otherwise);
    ``mlir`` its text in MLIR; ``numpy`` the name of the NumPy type with the same bits, or None.
    """

    name: str
    bits: int
    kind: Kind
    mlir: str
    numpy: str | None
    mantissa: int = 0

    @property
    def bytes(self) -> int:
        """Storage size in bytes (a bool takes one)."""
        return max(1, self.bits // 8)

    @property
    def is_float(self) -> bool:
        return self.kind == "float"

    def mlir_type(self) -> ir.Type:
        """The MLIR type, in the current context."""
        from mlir import ir

        return ir.Type.parse(self.mlir)

    def __repr__(self) -> str:
        return self.name


# Formats: IEEE 754 for f16/f32/f64; bfloat16 is f32's upper half; fp8: AMD CDNA3 ISA 7.3 (FNUZ), CDNA4 ISA 7.3 (OCP).
DTYPES: dict[str, DType] = {
    d.name: d
    for d in (
        DType("f64", 64, "float", "f64", "float64", 52),
        DType("f32", 32, "float", "f32", "float32", 23),
        DType("f16", 16, "float", "f16", "float16", 10),
        DType("bf16", 16, "float", "bf16", None, 7),
        DType("fp8e4m3fnuz", 8, "float", "f8E4M3FNUZ", None, 3),
        DType("fp8e5m2fnuz", 8, "float", "f8E5M2FNUZ", None, 2),
        DType("fp8e4m3", 8, "float", "f8E4M3FN", None, 3),
        DType("fp8e5m2", 8, "float", "f8E5M2", None, 2),
        DType("i64", 64, "int", "i64", "int64"),
        DType("i32", 32, "int", "i32", "int32"),
        DType("i16", 16, "int", "i16", "int16"),
        DType("i8", 8, "int", "i8", "int8"),
        DType("i1", 1, "bool", "i1", "bool"),
    )
}

_BY_MLIR = {d.mlir: d for d in DTYPES.values()}


def dtype(name: str) -> DType | None:
    """The element type of that name, or None."""
    return DTYPES.get(name)


def dtype_of_mlir(text: str) -> DType | None:
    """The element type whose MLIR text is ``text``, or None."""
    return _BY_MLIR.get(text)
