"""Lark's parse tree to the surface syntax tree."""

from __future__ import annotations

from typing import Any

from lark import Token, Tree
from lark.exceptions import VisitError
from lark.tree import Meta
from lark.visitors import Transformer_NonRecursive, v_args

from hkc.errors import HkcError, Span
from hkc.lang import syntax
from hkc.lang.consteval import constant_choice, constant_default
from hkc.lang.syntax import Expression


def build(tree: Tree[Token], filename: str) -> list[syntax.KernelDef]:
    """The kernels of a parsed file.

    Raises HkcError for what the grammar can't exclude.
    """
    try:
        return _Builder(filename).transform(tree)
    except VisitError as error:
        raise error.orig_exc from None


@v_args(meta=True)
class _Builder(Transformer_NonRecursive):
    """One method a rule of the grammar; children come transformed, absent optional ones as None."""

    def __init__(self, filename: str) -> None:
        super().__init__()
        self.filename = filename

    def span(self, at: Meta | Token) -> Span:
        same_line = at.line == at.end_line
        return Span(self.filename, at.line or 1, at.column or 1, at.end_column if same_line else None)

    # Kernels

    def start(self, meta: Meta, kernels: list[syntax.KernelDef]) -> list[syntax.KernelDef]:
        return kernels

    def kernel(self, meta: Meta, parts: list[Any]) -> syntax.KernelDef:
        name, parameters, constants, grid, waves, body = parts
        table: dict[str, syntax.Constant] = {}
        for constant in constants or ():
            if constant.name in table:
                raise HkcError(
                    f"the constant {constant.name} is declared twice",
                    constant.span,
                    notes=[("the first is here", table[constant.name].span)],
                )
            table[constant.name] = constant
        return syntax.KernelDef(
            self.span(name), str(name), tuple(parameters or ()), table, tuple(grid or ()), waves, body
        )

    def grid(self, meta: Meta, parts: list[Any]) -> tuple[Expression, ...]:
        return parts[0]

    waves = grid

    def parameters(self, meta: Meta, parts: list[Any]) -> list[syntax.Parameter]:
        return parts

    def parameter(self, meta: Meta, parts: list[Any]) -> syntax.Parameter:
        return syntax.Parameter(self.span(parts[0]), str(parts[0]), parts[1])

    def constants(self, meta: Meta, parts: list[Any]) -> list[syntax.Constant]:
        return [p for p in parts if p is not None]

    def constant(self, meta: Meta, parts: list[Any]) -> syntax.Constant:
        name, choices, default = parts
        value = None if default is None else constant_default(default)
        values = tuple(constant_choice(c) for c in choices or ())
        return syntax.Constant(self.span(name), str(name), value, values)

    # Statements

    def block(self, meta: Meta, parts: list[Any]) -> tuple[syntax.Statement, ...]:
        return tuple(p for p in parts if p is not None)

    def assign(self, meta: Meta, parts: list[Any]) -> syntax.Assign:
        return syntax.Assign(self.span(meta), parts[0], parts[1])

    def augmented(self, meta: Meta, parts: list[Any]) -> syntax.AugmentedAssign:
        return syntax.AugmentedAssign(self.span(meta), parts[0], str(parts[1])[:-1], parts[2])

    def evaluate(self, meta: Meta, parts: list[Any]) -> syntax.Evaluate:
        return syntax.Evaluate(self.span(meta), parts[0])

    def for_(self, meta: Meta, parts: list[Any]) -> syntax.For:
        variable, iterable, body = parts
        name = syntax.Name(self.span(variable), str(variable))
        return syntax.For(self.span(meta), name, iterable, body)

    def if_(self, meta: Meta, parts: list[Any]) -> syntax.If:
        test, then, otherwise = parts
        if isinstance(otherwise, syntax.If):
            otherwise = (otherwise,)
        return syntax.If(self.span(meta), test, then, otherwise or ())

    def pass_(self, meta: Meta, parts: list[Any]) -> syntax.Pass:
        return syntax.Pass(self.span(meta))

    def expressions(self, meta: Meta, parts: list[Any]) -> tuple[Expression, ...]:
        return tuple(parts)

    # Expressions

    def conditional(self, meta: Meta, parts: list[Any]) -> syntax.Conditional:
        then, test, otherwise = parts
        return syntax.Conditional(self.span(meta), test, then, otherwise)

    def binary(self, meta: Meta, parts: list[Any]) -> syntax.Binary:
        left, operator, right = parts
        return syntax.Binary(self.span(meta), str(operator), left, right)

    def unary(self, meta: Meta, parts: list[Any]) -> syntax.Unary:
        return syntax.Unary(self.span(meta), str(parts[0]), parts[1])

    def call(self, meta: Meta, parts: list[Any]) -> syntax.Call:
        name, arguments = parts
        return syntax.Call(self.span(meta), str(name), *self.split(arguments or []))

    def method(self, meta: Meta, parts: list[Any]) -> syntax.MethodCall:
        base, name, arguments = parts
        positional, keywords = self.split(arguments or [])
        if keywords:
            raise HkcError(f".{name}() takes no keyword arguments", keywords[0].span)
        return syntax.MethodCall(self.span(meta), base, str(name), positional)

    def attribute(self, meta: Meta, parts: list[Any]) -> syntax.Attribute:
        return syntax.Attribute(self.span(meta), parts[0], str(parts[1]))

    def index(self, meta: Meta, parts: list[Any]) -> syntax.Index:
        return syntax.Index(self.span(meta), parts[0], parts[1])

    def items(self, meta: Meta, parts: list[Any]) -> tuple[Expression | syntax.Slice, ...]:
        return tuple(parts)

    def slice(self, meta: Meta, parts: list[Any]) -> syntax.Slice:
        low, _, high, _, step = parts
        return syntax.Slice(self.span(meta), low, high, step)

    def arguments(self, meta: Meta, parts: list[Any]) -> list[Any]:
        return parts

    def keyword(self, meta: Meta, parts: list[Any]) -> syntax.Keyword:
        return syntax.Keyword(self.span(meta), str(parts[0]), parts[1])

    def split(
        self, arguments: list[Expression | syntax.Keyword]
    ) -> tuple[tuple[Expression, ...], tuple[syntax.Keyword, ...]]:
        positional: list[Expression] = []
        keywords: list[syntax.Keyword] = []
        for argument in arguments:
            if isinstance(argument, syntax.Keyword):
                keywords.append(argument)
            elif keywords:
                raise HkcError("a positional argument follows a keyword argument", argument.span)
            else:
                positional.append(argument)
        return tuple(positional), tuple(keywords)

    def name(self, meta: Meta, parts: list[Any]) -> syntax.Name:
        return syntax.Name(self.span(meta), str(parts[0]))

    def integer(self, meta: Meta, parts: list[Any]) -> syntax.Literal:
        text = str(parts[0])
        try:
            # Leading zeros are fine (they are in no other base), stray underscores are not.
            value = int(text, 16) if text[:2] in ("0x", "0X") else int(text, 10)
        except ValueError:
            raise HkcError(f"{text[:40]} is not a number", self.span(meta)) from None
        return syntax.Literal(self.span(meta), value)

    def float(self, meta: Meta, parts: list[Any]) -> syntax.Literal:
        try:
            return syntax.Literal(self.span(meta), float(str(parts[0])))
        except ValueError:
            raise HkcError(f"{str(parts[0])[:40]} is not a number", self.span(meta)) from None

    def string(self, meta: Meta, parts: list[Any]) -> syntax.Literal:
        return syntax.Literal(self.span(meta), str(parts[0])[1:-1])

    def boolean(self, meta: Meta, parts: list[Any]) -> syntax.Literal:
        return syntax.Literal(self.span(meta), str(parts[0]) == "True")

    def group(self, meta: Meta, parts: list[Any]) -> Expression:
        return parts[0]


for _rule in ("for", "if", "pass"):
    setattr(_Builder, _rule, getattr(_Builder, _rule + "_"))
