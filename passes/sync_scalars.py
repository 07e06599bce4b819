"""Integer arithmetic on what the passes about order know: constants, and the slot indices that follow from them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from mlir import ir

Known = int | None
Function = Callable[[Sequence[Known]], Known]

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
# Zero with anything is zero, also where the other side is not known.
_ZERO_ABSORBS = frozenset(("arith.andi", "arith.muli"))
# arith.cmpi's predicate numbers: MLIR arith dialect, CmpIPredicate.
_COMPARE: dict[int, Callable[[int, int], bool]] = {
    0: lambda a, b: a == b,
    1: lambda a, b: a != b,
    2: lambda a, b: a < b,
    3: lambda a, b: a <= b,
    4: lambda a, b: a > b,
    5: lambda a, b: a >= b,
}


# A loop of at most so many iterations, with bounds that are known, is followed with its variable.
KNOWN_TRIPS = 16


def few_trips(low: Known, high: Known, step: Known) -> bool:
    """Whether a loop's bounds are known and few enough iterations to follow each."""
    return low is not None and high is not None and step is not None and step > 0 and high - low <= step * KNOWN_TRIPS


def evaluator(op: ir.Operation) -> Function | None:
    """What a single-result op computes from its operands' values (None: not known); None if nothing can be said."""
    if op.name == "arith.constant":
        attribute = op.attributes["value"]
        if isinstance(attribute, ir.BoolAttr):
            value: Known = int(attribute.value)
        else:
            value = attribute.value if isinstance(attribute, ir.IntegerAttr) else None
        return lambda operands: value
    if op.name == "arith.select":
        return _select
    if op.name == "arith.cmpi":
        predicate = _COMPARE.get(ir.IntegerAttr(op.attributes["predicate"]).value)
        return _both(lambda a, b: int(predicate(a, b))) if predicate else None
    function = _BINARY.get(op.name)
    if function is None:
        return None
    return _both(function, op.name in _DIVISIONS, op.name in _ZERO_ABSORBS)


def _select(operands: Sequence[Known]) -> Known:
    condition, yes, no = operands
    if condition is None:
        return yes if yes == no else None
    return yes if condition else no


def _both(function: Callable[[int, int], int], divides: bool = False, zero_absorbs: bool = False) -> Function:
    def evaluate(operands: Sequence[Known]) -> Known:
        a, b = operands
        if a is None or b is None:
            return 0 if zero_absorbs and 0 in (a, b) else None
        return None if divides and b == 0 else function(a, b)

    return evaluate
