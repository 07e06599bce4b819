"""Grid expressions: integer arithmetic over dimension symbols and scalar arguments, as canonical strings.

cdiv(M, 128) * 2 + 1        operators + - * // % and the functions cdiv, min, max
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from hkc.errors import HkcError
from hkc.lang import syntax

PRECEDENCE = {"+": 1, "-": 1, "*": 2, "//": 2, "%": 2}
UNARY = 3
FUNCTIONS: dict[str, tuple[int, Callable[..., int]]] = {
    "cdiv": (2, lambda a, b: -(-a // b)),
    "min": (2, min),
    "max": (2, max),
}
_OPERATORS: dict[str, Callable[[int, int], int]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "//": lambda a, b: a // b,
    "%": lambda a, b: a % b,
}
_TOKEN = re.compile(r"\s*(?:(\d+)|([^\W\d]\w*)|(//|[-+*%(),])|(\S))")

# A node: an int, a symbol, or (operator or function, operands...).
Tree = Any


def evaluate(expression: str, values: Mapping[str, int]) -> int:
    """The value of a grid expression.

    Raises HkcError for a malformed expression, a symbol without a value, or a division by zero.
    """
    try:
        return _value(_parse(expression), values)
    except ZeroDivisionError:
        raise HkcError(f"the grid expression {expression} divides by zero") from None
    except RecursionError:
        raise HkcError(f"the grid expression is too long: {expression[:60]}...") from None
    except KeyError as missing:
        raise HkcError(
            f"the grid expression {expression} needs a value of {missing.args[0]}",
            expected=", ".join(sorted(values)) or "no symbols",
        ) from None


def symbols(expression: str) -> set[str]:
    """The symbols that a grid expression uses."""
    return set(_symbols(_parse(expression)))


def _symbols(tree: Tree) -> list[str]:
    if isinstance(tree, str):
        return [tree]
    return [s for part in tree[1:] for s in _symbols(part)] if isinstance(tree, tuple) else []


def _value(tree: Tree, values: Mapping[str, int]) -> int:
    if isinstance(tree, int):
        return tree
    if isinstance(tree, str):
        return int(values[tree])
    head, *parts = tree
    operands = [_value(p, values) for p in parts]
    if head == "neg":
        return -operands[0]
    function = FUNCTIONS[head][1] if head in FUNCTIONS else _OPERATORS[head]
    return function(*operands)


@cache
def _parse(expression: str) -> Tree:
    parser = _Parser(expression)
    tree = parser.sum(0)
    if parser.position < len(parser.tokens):
        raise parser.error()
    return tree


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = [m.group().strip() for m in _TOKEN.finditer(text)]
        self.position = 0

    def error(self) -> HkcError:
        at = self.tokens[self.position] if self.position < len(self.tokens) else "the end"
        return HkcError(f"malformed grid expression: {self.text}", got=f"'{at}'")

    def peek(self) -> str:
        return self.tokens[self.position] if self.position < len(self.tokens) else ""

    def take(self, expected: str | None = None) -> str:
        token = self.peek()
        if not token or (expected is not None and token != expected):
            raise self.error()
        self.position += 1
        return token

    def sum(self, depth: int, level: int = 1) -> Tree:
        if depth > syntax.MAX_DEPTH:
            raise HkcError(f"the grid expression is nested too deeply: {self.text[:60]}")
        left = self.unary(depth)
        while (operator := self.peek()) in PRECEDENCE and PRECEDENCE[operator] >= level:
            self.take()
            left = (operator, left, self.sum(depth + 1, PRECEDENCE[operator] + 1))
        return left

    def unary(self, depth: int) -> Tree:
        if self.peek() == "-":
            self.take()
            inner = self.sum(depth + 1, UNARY)
            return -inner if isinstance(inner, int) else ("neg", inner)
        return self.atom(depth)

    def atom(self, depth: int) -> Tree:
        token = self.take()
        if token.isdigit():
            return int(token)
        if token == "(":
            inner = self.sum(depth + 1)
            self.take(")")
            return inner
        if token in FUNCTIONS and self.peek() == "(":
            self.take("(")
            operands = [self.sum(depth + 1)]
            while self.peek() == ",":
                self.take()
                operands.append(self.sum(depth + 1))
            self.take(")")
            if len(operands) != FUNCTIONS[token][0]:
                raise self.error()
            return (token, *operands)
        if not (token[0].isalpha() or token[0] == "_"):
            self.position -= 1
            raise self.error()
        return token


def canonical(expression: syntax.Expression, lookup: Callable[[syntax.Name], int | str]) -> str:
    """A grid expression as its canonical string: constants in place, all-constant parts folded.

    ``lookup`` gives the constant or the symbol that a name stands for, or raises. Raises HkcError for what a grid
    can't contain.
    """
    return _print(_tree(expression, lookup), 0)


def _tree(node: syntax.Expression, lookup: Callable[[syntax.Name], int | str]) -> Tree:
    if isinstance(node, syntax.Literal) and type(node.value) is int:
        return node.value
    if isinstance(node, syntax.Name):
        return lookup(node)
    if isinstance(node, syntax.Unary) and node.operator in "+-":
        inner = _tree(node.operand, lookup)
        return inner if node.operator == "+" else -inner if isinstance(inner, int) else ("neg", inner)
    if isinstance(node, syntax.Binary) and node.operator in PRECEDENCE:
        return _fold(node, node.operator, [_tree(node.left, lookup), _tree(node.right, lookup)])
    if isinstance(node, syntax.Call) and node.function in FUNCTIONS:
        if len(node.arguments) != FUNCTIONS[node.function][0] or node.keywords:
            raise HkcError(f"{node.function} takes two arguments", node.span)
        return _fold(node, node.function, [_tree(a, lookup) for a in node.arguments])
    raise HkcError(
        "this can't stand in a grid",
        node.span,
        expected="integers, dimension symbols, constants, scalar arguments, + - * // %, cdiv, min, max",
        hint="round up with cdiv(M, BM), down with M // BM",
    )


def _fold(node: syntax.Expression, head: str, operands: list[Tree]) -> Tree:
    if all(isinstance(o, int) for o in operands):
        try:
            return _value((head, *operands), {})
        except ZeroDivisionError:
            raise HkcError("division by zero in the grid", node.span) from None
    return (head, *operands)


def _print(tree: Tree, level: int) -> str:
    if isinstance(tree, int):
        return str(tree) if tree >= 0 or level < UNARY else f"({tree})"
    if isinstance(tree, str):
        return tree
    head, *operands = tree
    if head in FUNCTIONS:
        return f"{head}({', '.join(_print(o, 0) for o in operands)})"
    if head == "neg":
        own, text = UNARY, f"-{_print(operands[0], UNARY)}"
    else:
        own = PRECEDENCE[head]
        text = f"{_print(operands[0], own)} {head} {_print(operands[1], own + 1)}"
    return f"({text})" if own < level else text
