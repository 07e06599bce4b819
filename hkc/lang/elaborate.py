"""The surface syntax tree to tile IR: one kernel, its constants bound, in one module."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mlir import ir

from hkc.dialect.context import make_context
from hkc.dialect.verify import verify_module
from hkc.dtypes import DType
from hkc.errors import HkcError
from hkc.lang import assigned, gridexpr, operations, scalars, structure, syntax
from hkc.lang.constants import complete
from hkc.lang.emit import CURSOR, at
from hkc.lang.expressions import Expressions
from hkc.lang.scope import Binding, Scope
from hkc.lang.signature import dimension_axes, signature
from hkc.lang.structure import Argument
from hkc.lang.values import Scalar, Tile, Token, Value, describe_type, wrap


def elaborate(
    kernel: syntax.KernelDef, constants: Mapping[str, object], dtypes: Mapping[str, DType] | None = None
) -> ir.Module:
    """The module of one kernel.

    ``constants`` may leave out those with defaults; ``dtypes`` gives the element types of views (by parameter) that
    the source leaves open. Raises a located HkcError for every fault of the program.
    """
    bound = complete(kernel, constants)
    with make_context(), ir.Location.unknown(), at(kernel.span):
        arguments = signature(kernel, bound, dtypes)
        try:
            module = _Elaborator(kernel, bound, arguments).run()
        except RecursionError:
            raise HkcError("the kernel is nested too deeply", kernel.span) from None
        verify_module(module)
    return module


class _Elaborator:
    def __init__(self, kernel: syntax.KernelDef, constants: Mapping[str, object], arguments: list[Argument]) -> None:
        self.kernel = kernel
        self.constants = constants
        self.arguments = arguments
        self.expressions = Expressions(dimension_axes(arguments))

    @property
    def scope(self) -> Scope:
        return self.expressions.scope

    @scope.setter
    def scope(self, scope: Scope) -> None:
        self.expressions.scope = scope

    def run(self) -> ir.Module:
        kernel = self.kernel
        module = ir.Module.create()
        grid = [gridexpr.canonical(axis, self._grid_symbol) for axis in kernel.grid]
        for name, value in self.constants.items():
            self.scope.names[name] = Binding(value, kernel.constants[name].span)
        CURSOR.span = kernel.span
        body = structure.open_function(module, kernel.name, self.arguments, grid, self._waves())
        values = [wrap(a) for a in body.arguments]
        for argument, value in zip(self.arguments, values, strict=True):
            self.scope.names[argument.name] = Binding(value, argument.span or kernel.span)
        self.expressions.arguments = values
        with ir.InsertionPoint(body):
            self.block(kernel.body)
        CURSOR.span = kernel.span
        structure.end_function(body)
        return module

    def _grid_symbol(self, node: syntax.Name) -> int | str:
        name = node.name
        value = self.constants.get(name)
        if isinstance(value, int) and not isinstance(value, bool):
            return value
        scalar_names = [a.name for a in self.arguments if isinstance(a.type, DType) and a.type.kind == "int"]
        known = [*self.expressions.axes, *scalar_names]
        if name in known:
            return name
        integers = [n for n, v in self.constants.items() if type(v) is int]
        raise HkcError(
            f"the grid can't use {name}",
            node.span,
            expected=", ".join([*known, *integers]) or "integers",
            hint=operations_hint(name, [*known, *integers]),
        )

    def _waves(self) -> list[int] | None:
        if self.kernel.waves is None:
            return None
        counts = []
        for node in self.kernel.waves:
            value = self.expressions.constant(node)
            if type(value) is not int or value < 1:
                raise HkcError(
                    "waves takes two positive constants",
                    node.span,
                    expected="rows and columns of waves, e.g. (2, 2)",
                )
            counts.append(value)
        return counts

    # Statements

    def block(self, body: Sequence[syntax.Statement]) -> None:
        for statement in body:
            _STATEMENTS[type(statement)](self, statement)

    def assign(self, statement: syntax.Assign) -> None:
        if len(statement.targets) == 1 and self._is_own_size(statement.targets[0], statement.values[0]):
            return
        mark = CURSOR.count
        values = [self.expressions.value(node) for node in statement.values]
        for target, value in zip(statement.targets, values, strict=True):
            self.bind(target, value, mark)

    def _is_own_size(self, target: syntax.Expression, value: syntax.Expression) -> bool:
        """Whether this is ``K = A.shape[1]`` for a size that is called K anyway: how Python programs get at it."""
        return (
            isinstance(target, syntax.Name)
            and target.name not in self.scope.names
            and self.expressions.size_symbol(value) == target.name
        )

    def bind(self, target: syntax.Expression, value: Any, mark: int) -> None:
        """Assigns to a name or stores to a slice; a value made after ``mark`` takes the name."""
        if isinstance(target, syntax.Index):
            self.expressions.store(target, value)
            return
        assert isinstance(target, syntax.Name)
        if value is None:
            raise HkcError("the right side has no value", target.span)
        if isinstance(value, Value) and value.serial > mark and value.name is None:
            value.named(target.name)
        self.scope.assign(target.name, value, target.span)

    def augmented(self, statement: syntax.AugmentedAssign) -> None:
        mark = CURSOR.count
        node = syntax.Binary(statement.span, statement.operator, statement.target, statement.value)
        self.bind(statement.target, self.expressions.value(node), mark)

    def evaluate(self, statement: syntax.Evaluate) -> None:
        value = self.expressions.value(statement.value)
        if value is not None and not isinstance(value, Token):
            raise HkcError(
                "this statement has no effect", statement.span, hint="assign the value to a name, or store it"
            )

    def loop(self, statement: syntax.For) -> None:
        variable = statement.variable
        before = self.scope
        if (bound := before.names.get(variable.name)) is not None:
            raise HkcError(
                f"the loop's variable {variable.name} is a name in use",
                variable.span,
                hint="give the loop's variable a name of its own",
                notes=[(f"{variable.name} is bound here", bound.span)],
            )
        bounds, options = self._range(statement.iterable)
        changed = assigned.in_loop(statement, self.expressions.static_lookup)
        names = sorted(n for n in changed if n in before.names)
        with at(statement.span):
            for name in names:
                with at(changed[name]):
                    value = before.names[name].value
                    if not isinstance(value, Scalar | Tile | Token) and scalars.natural_dtype(value) is None:
                        structure.carried_value(value, name, "a loop")
            inits = [before.names[n].value for n in names]
            loop = structure.Loop(bounds, variable.name, variable.span, names, inits, **options)
        self.scope = inner = before.inner()
        inner.names[variable.name] = Binding(loop.variable, variable.span)
        for name, argument in zip(names, loop.arguments, strict=True):
            inner.names[name] = Binding(argument, before.names[name].span)
        with loop.point:
            self.block(statement.body)
            ends = [self._loop_end(n, a, before.names[n], inner) for n, a in zip(names, loop.arguments, strict=True)]
        self.scope = before
        with at(statement.span):
            results = loop.finish(ends)
        for name, result in zip(names, results, strict=True):
            before.assign(name, result, changed[name])
        inner.assigned.setdefault(variable.name, variable.span)
        before.hide(inner, "loop")

    def _range(self, node: syntax.Expression) -> tuple[tuple[Any, Any, Any], dict[str, Any]]:
        assert isinstance(node, syntax.Call)
        options = {k.name: self.expressions.value(k.value) for k in node.keywords}
        values = [self.expressions.value(a) for a in node.arguments]
        with at(node.span):
            if not 1 <= len(values) <= 3 or not set(options) <= set(structure.RANGE_OPTIONS):
                raise HkcError(
                    "these arguments do not fit range",
                    node.span,
                    expected="range(low, high, step, stages=N, schedule=NAME, load_waves=N)",
                )
            low, high, step = {1: (0, *values, 1), 2: (*values, 1)}.get(len(values), values)
            structure.check_range(low, high, step, *(options.get(name) for name in structure.RANGE_OPTIONS))
        return (low, high, step), options

    def _loop_end(self, name: str, argument: Value, begin: Binding, inner: Scope) -> Value:
        """A carried variable's value at the end of the body, which must have the type that it began with."""
        end = inner.names[name]
        value = end.value
        with at(end.span):
            if operations.is_constant(value) and isinstance(argument, Scalar):
                with_type = _adapted(value, argument.type, name)
                if with_type is not None:
                    return with_type
            if isinstance(value, Value) and value.ir.type == argument.ir.type:
                return value
        raise HkcError(
            f"{name} changes its type in the loop",
            end.span,
            expected=describe_type(argument),
            got=describe_type(value),
            hint=_type_hint(argument, value),
            notes=[(f"{name} begins as {describe_type(argument)} here", begin.span)],
        )

    def choice(self, statement: syntax.If) -> None:
        test = self.expressions.condition(statement.test)
        if isinstance(test, bool):
            self.block(statement.then if test else statement.otherwise)
            return
        before = self.scope
        with at(statement.span):
            choice = structure.Choice(test)
        branches: list[Scope] = []
        for point, body in ((choice.then, statement.then), (choice.otherwise, statement.otherwise)):
            self.scope = before.inner()
            branches.append(self.scope)
            with point:
                self.block(body)
        self.scope = before
        then, otherwise = branches
        names = sorted(n for n in {*then.assigned, *otherwise.assigned} if n in then.names and n in otherwise.names)
        pairs = [self._merge(n, choice, then, otherwise) for n in names]
        with at(statement.span):
            results = choice.finish(names, [p[0] for p in pairs], [p[1] for p in pairs])
        for name, result in zip(names, results, strict=True):
            span = then.assigned.get(name) or otherwise.assigned[name]
            before.assign(name, result, span)
        before.hide(then, "branch")
        before.hide(otherwise, "branch")

    def _merge(self, name: str, choice: structure.Choice, then: Scope, otherwise: Scope) -> tuple[Value, Value]:
        """A variable's values at the end of both branches, of one type."""
        ends = [then.names[name], otherwise.names[name]]
        values = [e.value for e in ends]
        scalar = [scalars.natural_dtype(v) is not None for v in values]
        dtypes: list[DType | None] = [None, None]
        failed = scalar[0] != scalar[1]
        if all(scalar):
            try:
                dtypes = list(scalars.common_dtype(values[0], values[1], name))
            except HkcError:
                failed = True
        merged: list[Value] = []
        for point, end, dtype in zip((choice.then, choice.otherwise), ends, dtypes, strict=True):
            with point, at(end.span):
                if dtype is not None and operations.is_constant(end.value):
                    merged.append(scalars.materialize(end.value, dtype, name))
                else:
                    merged.append(structure.carried_value(end.value, name, "an if"))
        if failed or merged[0].ir.type != merged[1].ir.type:
            raise HkcError(
                f"{name} has two types after the if",
                ends[0].span if name in then.assigned else ends[1].span,
                got=f"{describe_type(values[0])} in one branch, {describe_type(values[1])} in the other",
                notes=[(f"the other {name} is here", ends[1].span if name in then.assigned else ends[0].span)],
            )
        return merged[0], merged[1]

    def nothing(self, statement: syntax.Pass) -> None:
        pass


def _adapted(value: Any, dtype: DType, name: str) -> Scalar | None:
    """A constant as a named scalar of that type; None when its kind is another."""
    natural = scalars.natural_dtype(value)
    fits = natural == dtype or (
        type(value) in (int, float) and (dtype.is_float or (dtype.kind == "int" and type(value) is int))
    )
    return scalars.constant(value, dtype, name) if fits else None


def _type_hint(argument: Value, value: Any) -> str | None:
    if isinstance(argument, Scalar) and isinstance(value, Scalar):
        return f"begin with that type, e.g. (0).to({value.type.name}), or convert: x.to({argument.type.name})"
    if isinstance(argument, Tile) and isinstance(value, Tile) and argument.shape == value.shape:
        return f"convert it: x.to({argument.dtype.name})"
    return None


def operations_hint(name: str, known: Sequence[str]) -> str | None:
    from hkc.lang.functions import suggestion

    return suggestion(name, known)


_STATEMENTS: dict[type, Any] = {
    syntax.Assign: _Elaborator.assign,
    syntax.AugmentedAssign: _Elaborator.augmented,
    syntax.Evaluate: _Elaborator.evaluate,
    syntax.For: _Elaborator.loop,
    syntax.If: _Elaborator.choice,
    syntax.Pass: _Elaborator.nothing,
}
