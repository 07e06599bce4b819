"""Integer arithmetic on what `insert-fences` knows: constants, and the slot indices that follow from them."""

from __future__ import annotations

from collections.abc import Callable

from mlir import ir

_BINARY: dict[str, Callable[[int, int], int]] = {
    "arith.addi": lambda a, b: a + b,
    "arith.subi": lambda a, b: a - b,
    "arith.muli": lambda a, b: a * b,
    "arith.andi": lambda a, b: a & b,
    "arith.ori": lambda a, b: a | b,
    "arith.xori": lambda a, b: a ^ b,
    "arith.minsi": min,
    "arith.maxsi": max,
    "arith.remui": lambda a, b: a % b,
    "arith.divui": lambda a, b: a // b,
    "arith.floordivsi": lambda a, b: a // b,
    "arith.remsi": lambda a, b: abs(a) % abs(b) * (1 if a >= 0 else -1),
    "arith.divsi": lambda a, b: abs(a) // abs(b) * (1 if (a >= 0) == (b >= 0) else -1),
}
_DIVISIONS = frozenset(("arith.remui", "arith.divui", "arith.floordivsi", "arith.remsi", "arith.divsi"))
# arith.cmpi's predicate numbers: MLIR arith dialect, CmpIPredicate.
_COMPARE: dict[int, Callable[[int, int], bool]] = {
    0: lambda a, b: a == b,
    1: lambda a, b: a != b,
    2: lambda a, b: a < b,
    3: lambda a, b: a <= b,
    4: lambda a, b: a > b,
    5: lambda a, b: a >= b,
}


def evaluate(op: ir.Operation, values: dict[ir.Value, object]) -> object:
    """The value of a single-result op, None when it is not known."""
    if op.name == "arith.constant":
        attribute = op.attributes["value"]
        if isinstance(attribute, ir.BoolAttr):
            return int(attribute.value)
        return attribute.value if isinstance(attribute, ir.IntegerAttr) else None
    operands = [values.get(v) for v in op.operands]
    if op.name == "arith.select":
        condition, yes, no = operands
        if isinstance(condition, int):
            return yes if condition else no
        return yes if yes == no else None
    if len(operands) != 2:
        return None
    a, b = operands
    if not isinstance(a, int) or not isinstance(b, int):
        return None
    if op.name == "arith.cmpi":
        predicate = _COMPARE.get(ir.IntegerAttr(op.attributes["predicate"]).value)
        return int(predicate(a, b)) if predicate else None
    function = _BINARY.get(op.name)
    if function is None or (op.name in _DIVISIONS and b == 0):
        return None
    return function(a, b)
