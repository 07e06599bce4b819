"""Matmuls of what another matmul made: part of `infer-layouts`.

An accumulator holds runs of four rows of one column (or, with the MFMA's operands swapped, of four columns of one row),
dealt to the lane groups in turn. An operand whose k's lie in that order needs no data from other lanes, and since a
matmul may sum over k in any order, the other operand is simply read in the same order: layouts `ad` and `bd`. What is
left is a `tile.relayout` of registers, which also lets the operand keep a layout class of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from mlir import ir

from hkc.dialect.locations import place_of
from hkc.dialect.ops import Relayout


@dataclass(frozen=True)
class Chained:
    """A matmul operand (0 or 1) that is made of another one's accumulator: ``source`` before its relayout."""

    matmul: ir.Operation
    operand: int
    source: ir.Value

    @property
    def wants_columns(self) -> bool:
        """Whether each lane should hold a part of one column of ``source`` (else of one row)."""
        return self.operand == 1


def separate(matmuls: list[ir.Operation], root: Callable[[ir.Value], ir.Value]) -> list[Chained]:
    """Puts a relayout before every matmul operand of an accumulator's layout class; ``root`` names a value's class."""
    accumulators = {root(op.results[0]) for op in matmuls}
    found = []
    for op in matmuls:
        for index in (0, 1):
            source = op.operands[index]
            if root(source) in accumulators:
                with ir.InsertionPoint(op), place_of(op):
                    op.operands[index] = Relayout.build(source)
                found.append(Chained(op, index, source))
    return found
