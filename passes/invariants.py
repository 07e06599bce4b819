"""Scalars that a loop computes anew but never changes, moved before it."""

from __future__ import annotations

from mlir import ir

from hkc.passes import scalars as s


def hoist(value: ir.Value, loop: ir.Operation) -> None:
    """Moves what makes ``value`` before the loop, as far as it depends on nothing inside."""
    if isinstance(value, ir.BlockArgument) or not is_inside(value, loop):
        return
    op = value.owner.operation
    if op.parent.operation != loop or not _speculatable(op):
        return
    for operand in op.operands:
        hoist(operand, loop)
    if not any(is_inside(operand, loop) for operand in op.operands):
        op.move_before(loop)


def is_inside(value: ir.Value, loop: ir.Operation) -> bool:
    """Whether a value is defined inside the loop."""
    block = value.owner if isinstance(value, ir.BlockArgument) else value.owner.operation.block
    while True:
        owner = block.owner.operation
        if owner == loop:
            return True
        if owner.name in ("func.func", "builtin.module"):
            return False
        block = owner.block


def _speculatable(op: ir.Operation) -> bool:
    """Whether the op may run though the loop's body does not: a division only by a constant other than 0."""
    if op.name in ("tile.block_id", "tile.ordered_block", "tile.subview"):
        return True
    if not op.name.startswith("arith."):
        return False
    if "div" in op.name or "rem" in op.name:
        divisor = s.known(op.operands[1])
        return isinstance(divisor, int) and divisor not in (0, -1)
    return True
