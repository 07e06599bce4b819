"""Evaluation of syntax at compile time, without making ops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hkc.dtypes import DTYPES
from hkc.errors import HkcError
from hkc.lang import folding, syntax
from hkc.lang.emit import at

NAMED: dict[str, object] = {**DTYPES, "inf": float("inf"), "nan": float("nan")}


class NotConstant(Exception):
    """The expression is known only at run time; ``node`` is the part that makes it so."""

    def __init__(self, node: syntax.Node) -> None:
        super().__init__()
        self.node = node


Lookup = Callable[[syntax.Name], object]


def evaluate(node: syntax.Expression, lookup: Lookup) -> Any:
    """The value of a constant expression; ``lookup`` gives a name's value or raises NotConstant.

    Raises NotConstant for anything that is not a constant, HkcError for what has no value (1 // 0).
    """
    if isinstance(node, syntax.Literal):
        return node.value
    if isinstance(node, syntax.Name):
        return lookup(node)
    if isinstance(node, syntax.Conditional):
        test = truth(evaluate(node.test, lookup), node)
        return evaluate(node.then if test else node.otherwise, lookup)
    if isinstance(node, syntax.Unary):
        value = evaluate(node.operand, lookup)
        with at(node.span):
            if node.operator == "not":
                return not truth(value, node)
            return folding.negate(value) if node.operator == "-" else folding.fold_binary("+", value, 0)
    if isinstance(node, syntax.Binary):
        return _binary(node, lookup)
    if isinstance(node, syntax.Call) and node.function in ("cdiv", "min", "max") and not node.keywords:
        values = [evaluate(a, lookup) for a in node.arguments]
        if len(values) == 2:
            with at(node.span):
                return folding.fold_binary(node.function, *values)
    raise NotConstant(node)


def _binary(node: syntax.Binary, lookup: Lookup) -> Any:
    left = evaluate(node.left, lookup)
    if node.operator in ("and", "or"):
        decided = truth(left, node) == (node.operator == "or")
        return truth(left, node) if decided else truth(evaluate(node.right, lookup), node)
    if node.operator == "@":
        raise NotConstant(node)
    right = evaluate(node.right, lookup)
    with at(node.span):
        return folding.fold_binary(node.operator, left, right)


def truth(value: object, node: syntax.Node) -> bool:
    """A constant as a condition."""
    with at(node.span):
        return folding.truth(value)


def constant_default(node: syntax.Expression) -> syntax.ConstantValue | syntax.Expression:
    """A constant's default in text: the value of literals, element types and arithmetic on them; any other expression
    as it is, since it may depend on sizes."""
    try:
        return _plain(node)
    except NotConstant:
        return node


def constant_choice(node: syntax.Expression) -> syntax.ConstantValue:
    """One of the values that a constant may take. Raises HkcError for anything but a literal or element type."""
    try:
        return _plain(node)
    except NotConstant as error:
        hint = 'a word stands in quotes: "nt"' if isinstance(error.node, syntax.Name) else None
        raise HkcError(
            "the values of a constant are literals",
            error.node.span,
            expected="numbers, strings, True, False or element types",
            hint=hint,
        ) from None


def _plain(node: syntax.Expression) -> syntax.ConstantValue:
    def lookup(name: syntax.Name) -> object:
        if name.name in NAMED:
            return NAMED[name.name]
        raise NotConstant(name)

    value = evaluate(node, lookup)
    return value.value if isinstance(value, folding.Typed) else value
