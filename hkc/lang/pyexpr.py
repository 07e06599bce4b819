"""Python expressions to the surface syntax tree, and what their names stand for."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from hkc.dtypes import DType
from hkc.errors import HkcError, Span
from hkc.lang import names, syntax
from hkc.lang.pysource import Source

_BINARY: dict[type[ast.operator], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.MatMult: "@",
    ast.Pow: "**",
}
_NO_OPERATOR: dict[type[ast.operator], tuple[str, str]] = {
    ast.BitAnd: ("&", "combine conditions with `and`"),
    ast.BitOr: ("|", "combine conditions with `or`"),
    ast.BitXor: ("^", "compare conditions with !="),
    ast.LShift: ("<<", "multiply by a power of two"),
    ast.RShift: (">>", "divide by a power of two with //"),
}
_COMPARISONS: dict[type[ast.cmpop], str] = {
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Eq: "==",
    ast.NotEq: "!=",
}
_NO_EXPRESSION: dict[type[ast.expr], tuple[str, str]] = {
    ast.Lambda: ("a lambda", "write the expression in place"),
    ast.ListComp: ("a comprehension", "loop with hk.range"),
    ast.SetComp: ("a comprehension", "loop with hk.range"),
    ast.DictComp: ("a comprehension", "loop with hk.range"),
    ast.GeneratorExp: ("a comprehension", "loop with hk.range"),
    ast.List: ("a list", "give each value a name"),
    ast.Tuple: ("a tuple", "give each value a name"),
    ast.Set: ("a set", "give each value a name"),
    ast.Dict: ("a dict", "give each value a name"),
    ast.JoinedStr: ("an f-string", "strings are compile-time constants"),
    ast.NamedExpr: (":=", "assign on a line of its own"),
    ast.Await: ("await", "a kernel has no coroutines"),
    ast.Yield: ("yield", "a kernel returns nothing"),
    ast.YieldFrom: ("yield", "a kernel returns nothing"),
    ast.Starred: ("a starred value", "name each argument"),
}

_MISSING = object()


@dataclass(frozen=True)
class Frame:
    """What the names of a function mean: its own (``local``), its closure's, its module's, Python's.

    ``fixed`` replaces all spans, for text that has no file.
    """

    function: Callable[..., Any] | None
    source: Source
    local: frozenset[str]
    fixed: Span | None = None

    def span(self, node: ast.AST) -> Span:
        return self.fixed or self.source.span(node)

    def lookup(self, name: str) -> Any:
        """The Python object of a name that is not local, or _MISSING."""
        if name in self.local or self.function is None:
            return _MISSING
        code = self.function.__code__
        if name in code.co_freevars:
            cell = (self.function.__closure__ or ())[code.co_freevars.index(name)]
            try:
                return cell.cell_contents
            except ValueError:
                return _MISSING
        if name in self.function.__globals__:
            return self.function.__globals__[name]
        return getattr(builtins, name, _MISSING)

    def object_of(self, node: ast.expr) -> Any:
        """The Python object that a name or ``module.name`` stands for, or _MISSING."""
        if isinstance(node, ast.Name):
            return self.lookup(node.id)
        if isinstance(node, ast.Attribute):
            base = self.object_of(node.value)
            if isinstance(base, ModuleType):
                return getattr(base, node.attr, _MISSING)
        return _MISSING

    def is_module(self, node: ast.expr) -> bool:
        return isinstance(self.object_of(node), ModuleType)


class Converter:
    """Converts the expressions of one function."""

    def __init__(self, frame: Frame) -> None:
        self.frame = frame

    def fail(self, node: ast.AST, message: str, hint: str | None = None) -> HkcError:
        return HkcError(message, self.frame.span(node), hint=hint)

    def expression(self, node: ast.expr) -> syntax.Expression:
        """The syntax of an expression.

        Raises HkcError for what the language does not have.
        """
        method = getattr(self, type(node).__name__.lower(), None)
        if method is None:
            what, hint = _NO_EXPRESSION.get(type(node), (type(node).__name__.lower(), "see docs/language.md"))
            raise self.fail(node, f"{what} can't be used in a kernel", hint)
        return method(node)

    def operator(self, node: ast.BinOp | ast.AugAssign) -> str:
        """The operator's text."""
        if type(node.op) not in _BINARY:
            text, hint = _NO_OPERATOR[type(node.op)]
            raise self.fail(node, f"there is no operator {text}", hint)
        return _BINARY[type(node.op)]

    def constant(self, node: ast.Constant) -> syntax.Expression:
        return self.literal(node, node.value)

    def literal(self, node: ast.expr, value: object) -> syntax.Expression:
        """A constant's syntax; element types are names in the language."""
        span = self.frame.span(node)
        if isinstance(value, DType):
            return syntax.Name(span, value.name)
        if isinstance(value, bool | int | float | str):
            return syntax.Literal(span, value)
        raise self.fail(
            node,
            f"a {type(value).__name__} can't be used in a kernel",
            "from outside, a kernel takes integers, floats, strings and element types (hk.bf16)",
        )

    def name(self, node: ast.Name) -> syntax.Expression:
        value = self.frame.lookup(node.id)
        if value is _MISSING:
            return syntax.Name(self.frame.span(node), node.id)
        if names.language_name(value):
            raise self.fail(node, f"{node.id} is a function", f"call it: {node.id}(...)")
        return self.literal(node, value)

    def attribute(self, node: ast.Attribute) -> syntax.Expression:
        if not self.frame.is_module(node.value):
            return syntax.Attribute(self.frame.span(node), self.expression(node.value), node.attr)
        value = self.frame.object_of(node)
        if value is _MISSING:
            raise self.unknown(node)
        if names.language_name(value):
            raise self.fail(node, f"{node.attr} is a function", f"call it: {ast.unparse(node)}(...)")
        return self.literal(node, value)

    def unknown(self, node: ast.Attribute) -> HkcError:
        from hkc.dtypes import DTYPES
        from hkc.lang.functions import LIKE_A_DTYPE, USAGE, suggestion, unknown_dtype

        if LIKE_A_DTYPE.fullmatch(node.attr):
            return unknown_dtype(node.attr, self.frame.span(node))
        hint = suggestion(node.attr, [*USAGE, *DTYPES, "View", "inf", "nan"])
        return HkcError(f"there is no {ast.unparse(node)}", self.frame.span(node), hint=hint)

    def unaryop(self, node: ast.UnaryOp) -> syntax.Expression:
        if isinstance(node.op, ast.Invert):
            raise self.fail(node, "there is no operator ~", "use `not`")
        operator = {ast.USub: "-", ast.UAdd: "+", ast.Not: "not"}[type(node.op)]
        return syntax.Unary(self.frame.span(node), operator, self.expression(node.operand))

    def binop(self, node: ast.BinOp) -> syntax.Expression:
        operator = self.operator(node)
        left, right = self.expression(node.left), self.expression(node.right)
        return syntax.Binary(self.frame.span(node), operator, left, right)

    def boolop(self, node: ast.BoolOp) -> syntax.Expression:
        operator = "and" if isinstance(node.op, ast.And) else "or"
        result = self.expression(node.values[0])
        for value in node.values[1:]:
            result = syntax.Binary(self.frame.span(node), operator, result, self.expression(value))
        return result

    def compare(self, node: ast.Compare) -> syntax.Expression:
        if len(node.ops) > 1:
            raise self.fail(node, "comparisons can't be chained", "write a < b and b < c")
        if type(node.ops[0]) not in _COMPARISONS:
            raise self.fail(node, "`in` and `is` can't be used in a kernel", "compare with ==")
        left, right = self.expression(node.left), self.expression(node.comparators[0])
        return syntax.Binary(self.frame.span(node), _COMPARISONS[type(node.ops[0])], left, right)

    def ifexp(self, node: ast.IfExp) -> syntax.Expression:
        test, then, otherwise = (self.expression(n) for n in (node.test, node.body, node.orelse))
        return syntax.Conditional(self.frame.span(node), test, then, otherwise)

    def call(self, node: ast.Call) -> syntax.Expression:
        span = self.frame.span(node)
        function = node.func
        method = isinstance(function, ast.Attribute) and not self.frame.is_module(function.value)
        called = None if method else self.function(function)
        arguments = tuple(self.expression(a) for a in node.args)
        keywords = []
        for keyword in node.keywords:
            if keyword.arg is None:
                raise self.fail(keyword.value, "** can't be used in a kernel", "name each argument")
            keywords.append(syntax.Keyword(self.frame.span(keyword), keyword.arg, self.expression(keyword.value)))
        if called is not None:
            return syntax.Call(span, called, arguments, tuple(keywords))
        assert isinstance(function, ast.Attribute)
        if keywords:
            raise HkcError(f".{function.attr}() takes no keyword arguments", keywords[0].span)
        return syntax.MethodCall(span, self.expression(function.value), function.attr, arguments)

    def function(self, node: ast.expr) -> str:
        """The language's function that is called."""
        from hkc.lang.functions import unknown_function

        if not isinstance(node, ast.Name | ast.Attribute):
            raise self.fail(node, "this can't be called")
        name = node.id if isinstance(node, ast.Name) else node.attr
        thing = self.frame.object_of(node)
        known = names.language_name(thing)
        if known is not None:
            return known
        if thing is _MISSING and self.frame.function is None:
            return name  # a grid expression given as text
        error = unknown_function(name, self.frame.span(node))
        if callable(thing) and not isinstance(thing, type) and error.hint is None:
            error.hint = "a kernel calls functions of the language only; write the computation in place"
        raise error

    def subscript(self, node: ast.Subscript) -> syntax.Expression:
        items = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        base = self.expression(node.value)
        return syntax.Index(self.frame.span(node), base, tuple(self.item(i) for i in items))

    def item(self, node: ast.expr) -> syntax.Expression | syntax.Slice:
        if not isinstance(node, ast.Slice):
            return self.expression(node)
        low, high, step = (None if p is None else self.expression(p) for p in (node.lower, node.upper, node.step))
        return syntax.Slice(self.frame.span(node), low, high, step)
