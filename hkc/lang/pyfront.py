"""A decorated Python function to the surface syntax tree, by reading its source."""

from __future__ import annotations

import ast
import types
from collections.abc import Callable, Sequence
from typing import Any, Literal

from hkc.dtypes import DType
from hkc.errors import HkcError, Span
from hkc.lang import names, pysource, syntax
from hkc.lang.consteval import constant_choice
from hkc.lang.pyexpr import Converter, Frame
from hkc.lang.validate import validate

Grid = Callable[..., Any] | Sequence[int | str] | int | str | None

_STATEMENTS: dict[type[ast.stmt], tuple[str, str]] = {
    ast.While: ("while", "loop with `for k in hk.range(low, high, step)`"),
    ast.Return: ("return", "a kernel returns nothing; store to a view: C[m:m + BM, n:n + BN] = x"),
    ast.Try: ("try", "a kernel has no exceptions"),
    ast.With: ("with", "a kernel has no context managers"),
    ast.Break: ("break", "loops run to their end"),
    ast.Continue: ("continue", "guard the rest of the loop's body with if"),
    ast.FunctionDef: ("a nested def", "write its body in place"),
    ast.AsyncFunctionDef: ("a nested def", "write its body in place"),
    ast.ClassDef: ("class", "a kernel has tiles and scalars only"),
    ast.Assert: ("assert", "check sizes before the call"),
    ast.Raise: ("raise", "a kernel has no exceptions"),
    ast.Import: ("import", "import at the top of the module"),
    ast.ImportFrom: ("import", "import at the top of the module"),
    ast.Global: ("global", "store results to a view"),
    ast.Nonlocal: ("nonlocal", "store results to a view"),
    ast.Delete: ("del", "names need no deletion"),
    ast.Match: ("match", "use if, elif and else"),
    ast.AnnAssign: ("an annotated assignment", "write `name = value`"),
}


def kernel_from_function(
    fn: Callable[..., Any], grid: Grid = None, waves: Sequence[int] | None = None
) -> syntax.KernelDef:
    """The syntax tree of a Python kernel.

    ``grid`` is a function of dimension symbols, scalar arguments and constants (its source is read too), or a
    tuple of integers and grid expressions; ``waves`` are rows and columns of wavefronts. Raises HkcError at the
    Python line and column of whatever the language does not have.
    """
    source, node = pysource.find(fn, f"the kernel {getattr(fn, '__name__', '')}".strip())
    if not isinstance(node, ast.FunctionDef):
        raise HkcError("a kernel is a function written with def", source.span(node))
    try:
        kernel = _Front(fn, source, node).kernel(grid, waves)
    except RecursionError:
        raise HkcError(f"the kernel {node.name} is nested too deeply", source.name_span(node)) from None
    validate(kernel)
    return kernel


class _Front:
    def __init__(self, fn: Callable[..., Any], source: pysource.Source, node: ast.FunctionDef) -> None:
        self.fn = fn
        self.source = source
        self.node = node
        arguments = node.args
        local = {a.arg for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)}
        for inner in ast.walk(node):
            if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store):
                local.add(inner.id)
        self.convert = Converter(Frame(fn, source, frozenset(local)))

    def kernel(self, grid: Grid, waves: Sequence[int] | None) -> syntax.KernelDef:
        node, span = self.node, self.source.name_span(self.node)
        body = node.body
        if isinstance(body[0], ast.Expr) and _is_string(body[0].value):
            body = body[1:]
        return syntax.KernelDef(
            span,
            node.name,
            tuple(self.parameters()),
            self.constants(),
            tuple(self.grid(grid, span)),
            self.waves(waves, span),
            self.block(body),
        )

    def parameters(self) -> list[syntax.Parameter]:
        arguments = self.node.args
        for star, what in ((arguments.vararg, "*"), (arguments.kwarg, "**")):
            if star is not None:
                raise self.fail(star, f"{what}{star.arg} can't be an argument of a kernel", "name each argument")
        for default in arguments.defaults:
            raise self.fail(default, "a run-time argument has no default", "constants stand after a bare *")
        found = []
        for argument in (*arguments.posonlyargs, *arguments.args):
            span = self.source.span(argument)
            span = Span(span.file, span.line, span.column, span.column + len(argument.arg))
            if argument.annotation is None:
                raise HkcError(
                    f"the argument {argument.arg} has no type",
                    span,
                    hint=f'annotate it: {argument.arg}: hk.View["M", "K"] or {argument.arg}: hk.f32',
                )
            found.append(syntax.Parameter(span, argument.arg, self.annotation(argument.annotation)))
        return found

    def annotation(self, node: ast.expr) -> syntax.Expression:
        """``hk.View[...]``, a choice of them, or a scalar type."""
        span = self.source.span(node)
        if isinstance(node, ast.IfExp):
            return syntax.Conditional(
                span, self.convert.expression(node.test), self.annotation(node.body), self.annotation(node.orelse)
            )
        if isinstance(node, ast.Subscript) and self.convert.frame.object_of(node.value) is names.View:
            inner = node.slice
            items = inner.elts if isinstance(inner, ast.Tuple) else [inner]
            base = syntax.Name(self.source.span(node.value), "view")
            return syntax.Index(span, base, tuple(self.dimension(i) for i in items))
        thing = self.convert.frame.object_of(node)
        if isinstance(thing, DType):
            return syntax.Name(span, thing.name)
        python = {int: "hk.i32 or hk.i64", float: "hk.f32", bool: "hk.i32"}.get(thing)
        raise self.fail(
            node,
            "this is no type of an argument",
            f"write {python}" if python else 'hk.View["M", "K"], hk.View["M", "K", hk.bf16], hk.i32, hk.i64 or hk.f32',
        )

    def dimension(self, node: ast.expr) -> syntax.Expression:
        if _is_string(node) and node.value.isidentifier():  # type: ignore[attr-defined]
            return syntax.Name(self.source.span(node), node.value)  # type: ignore[attr-defined]
        return self.convert.expression(node)

    def constants(self) -> dict[str, syntax.Constant]:
        arguments, found = self.node.args, {}
        defaults = self.fn.__kwdefaults__ or {}
        for argument, written in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
            default = defaults.get(argument.arg)
            if isinstance(default, types.FunctionType):
                (default,) = self.function_body(default, f"the default of {argument.arg}")
            elif written is not None and not isinstance(default, bool | int | float | str | DType):
                raise self.fail(
                    written,
                    f"the constant {argument.arg} can't be a {type(default).__name__}",
                    "a number, a string, a bool, an element type (hk.bf16), or a lambda of sizes",
                )
            span = self.source.span(argument)
            span = Span(span.file, span.line, span.column, span.column + len(argument.arg))
            found[argument.arg] = syntax.Constant(span, argument.arg, default, self.choices(argument.annotation))
        return found

    def choices(self, annotation: ast.expr | None) -> tuple[syntax.ConstantValue, ...]:
        """The values of ``Literal[...]``; any other annotation of a constant means nothing here."""
        if not isinstance(annotation, ast.Subscript) or self.convert.frame.object_of(annotation.value) is not Literal:
            return ()
        inner = annotation.slice
        items = inner.elts if isinstance(inner, ast.Tuple) else [inner]
        return tuple(constant_choice(self.convert.expression(i)) for i in items)

    def waves(self, waves: Sequence[int] | None, span: Span) -> tuple[syntax.Expression, ...] | None:
        if waves is None:
            return None
        counts = list(waves) if isinstance(waves, list | tuple) else []
        if len(counts) != 2 or not all(type(c) is int for c in counts):
            raise HkcError("waves takes two integers", span, expected="rows and columns, e.g. waves=(2, 2)")
        return tuple(syntax.Literal(span, c) for c in counts)

    def grid(self, grid: Grid, span: Span) -> Sequence[syntax.Expression]:
        if grid is None:
            return ()
        if isinstance(grid, types.FunctionType):
            return self.function_body(grid, "the grid")
        axes = grid if isinstance(grid, list | tuple) else (grid,)
        return [self.grid_axis(axis, span) for axis in axes]

    def grid_axis(self, axis: object, span: Span) -> syntax.Expression:
        if type(axis) is int:
            return syntax.Literal(span, axis)
        if isinstance(axis, str):
            try:
                tree = ast.parse(axis.strip(), mode="eval").body
            except (SyntaxError, ValueError, RecursionError, MemoryError):
                raise HkcError(f"malformed grid expression: {axis}", span, expected="cdiv(M, 128)") from None
            return Converter(Frame(None, pysource.Source(span.file, ()), frozenset(), fixed=span)).expression(tree)
        raise HkcError(
            f"a grid can't be a {type(axis).__name__}",
            span,
            expected="a lambda, or a tuple of integers and expressions",
            hint="grid=lambda M, N, BM, BN: (hk.cdiv(M, BM), hk.cdiv(N, BN))",
        )

    def function_body(self, function: types.FunctionType, what: str) -> Sequence[syntax.Expression]:
        """The expressions that a function of sizes and constants returns, by its source."""
        source, node = pysource.find(function, what)
        arguments = node.args
        local = frozenset(a.arg for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs))
        convert = Converter(Frame(function, source, local))
        if isinstance(node, ast.Lambda):
            body: ast.expr = node.body
        else:
            statements = [s for s in node.body if not (isinstance(s, ast.Expr) and _is_string(s.value))]
            last = statements[0] if len(statements) == 1 else None
            if not isinstance(last, ast.Return) or last.value is None:
                raise HkcError(f"{what} is a function of one return statement", source.span(node))
            body = last.value
        parts = body.elts if isinstance(body, ast.Tuple) else [body]
        if what != "the grid" and len(parts) != 1:
            raise HkcError(f"{what} is one value", source.span(body))
        return [convert.expression(part) for part in parts]

    # Statements

    def block(self, body: Sequence[ast.stmt]) -> tuple[syntax.Statement, ...]:
        return tuple(self.statement(s) for s in body)

    def statement(self, node: ast.stmt) -> syntax.Statement:
        span = self.source.span(node)
        expression = self.convert.expression
        if isinstance(node, ast.Assign):
            return self.assign(node, span)
        if isinstance(node, ast.AugAssign):
            operator = self.convert.operator(node)
            return syntax.AugmentedAssign(span, expression(node.target), operator, expression(node.value))
        if isinstance(node, ast.Expr):
            return syntax.Evaluate(span, expression(node.value))
        if isinstance(node, ast.For):
            if node.orelse:
                raise self.fail(node.orelse[0], "a loop has no else", "write it after the loop")
            if not isinstance(node.target, ast.Name):
                raise self.fail(node.target, "a loop has one variable", "for k in hk.range(low, high, step)")
            variable = syntax.Name(self.source.span(node.target), node.target.id)
            return syntax.For(span, variable, expression(node.iter), self.block(node.body))
        if isinstance(node, ast.If):
            return syntax.If(span, expression(node.test), self.block(node.body), self.block(node.orelse))
        if isinstance(node, ast.Pass):
            return syntax.Pass(span)
        what, hint = _STATEMENTS.get(type(node), (type(node).__name__.lower(), "see docs/language.md"))
        raise self.fail(node, f"{what} can't be used in a kernel", hint)

    def assign(self, node: ast.Assign, span: Span) -> syntax.Assign:
        if len(node.targets) != 1:
            raise self.fail(node.targets[1], "one assignment a statement", "write `b = a` on a line of its own")
        target, value = node.targets[0], node.value
        if not isinstance(target, ast.Tuple | ast.List):
            return syntax.Assign(span, (self.convert.expression(target),), (self.convert.expression(value),))
        if not isinstance(value, ast.Tuple | ast.List):
            raise self.fail(value, "several names take as many values", "a, b = x, y")
        targets = tuple(self.convert.expression(t) for t in target.elts)
        return syntax.Assign(span, targets, tuple(self.convert.expression(v) for v in value.elts))

    def fail(self, node: ast.AST, message: str, hint: str) -> HkcError:
        return HkcError(message, self.source.span(node), hint=hint)


def _is_string(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)
