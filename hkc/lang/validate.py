"""Checks of a kernel's syntax tree that need no values; the same for text and Python."""

from __future__ import annotations

from collections.abc import Sequence

from hkc.errors import HkcError, Span
from hkc.lang import syntax
from hkc.lang.constants import check_choice
from hkc.lang.defaults import check_defaults, is_expression


def validate(kernel: syntax.KernelDef) -> None:
    """Raises a located HkcError when the tree breaks a rule of the language's form."""
    roots = (*(p.annotation for p in kernel.parameters), *kernel.grid, *(kernel.waves or ()), *kernel.body)
    syntax.check_depth(roots)
    _unique_names(kernel)
    if not 1 <= len(kernel.grid) <= 3:
        raise HkcError(
            f"the kernel {kernel.name} has {'no grid' if not kernel.grid else 'a grid of too many axes'}",
            kernel.span,
            expected="the number of workgroups along 1 to 3 axes",
            hint="for example grid (cdiv(M, BM), cdiv(N, BN))",
        )
    if kernel.waves is not None and len(kernel.waves) != 2:
        raise HkcError(
            "waves takes two numbers", kernel.waves[0].span, expected="rows and columns of waves, e.g. (2, 2)"
        )
    check_defaults(kernel)
    for constant in kernel.constants.values():
        _choices(constant)
    _statements(kernel.body)


def _choices(constant: syntax.Constant) -> None:
    """The default, unless it depends on sizes, is one of the values that the constant may take."""
    default = constant.default
    if constant.choices and default is not None and not is_expression(default):
        check_choice(constant, default)


def _unique_names(kernel: syntax.KernelDef) -> None:
    seen: dict[str, Span] = {}
    declarations: list[syntax.Parameter | syntax.Constant] = [*kernel.parameters, *kernel.constants.values()]
    for declared in declarations:
        if declared.name in seen:
            raise HkcError(
                f"{declared.name} is declared twice",
                declared.span,
                notes=[("the first is here", seen[declared.name])],
            )
        seen[declared.name] = declared.span


def _statements(body: Sequence[syntax.Statement]) -> None:
    for statement in body:
        if isinstance(statement, syntax.Assign):
            for target in statement.targets:
                _target(target)
            if len(statement.targets) != len(statement.values):
                raise HkcError(
                    f"{_count(len(statement.values), 'value')} for {_count(len(statement.targets), 'target')}",
                    statement.span,
                )
        elif isinstance(statement, syntax.AugmentedAssign):
            _target(statement.target)
        elif isinstance(statement, syntax.Evaluate):
            _evaluated(statement)
        elif isinstance(statement, syntax.For):
            _iterable(statement.iterable)
            _statements(statement.body)
        elif isinstance(statement, syntax.If):
            _statements(statement.then)
            _statements(statement.otherwise)


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'s' * (number != 1)}"


def _target(target: syntax.Expression) -> None:
    if not isinstance(target, syntax.Name | syntax.Index):
        raise HkcError(
            "this can't be assigned to",
            target.span,
            expected="a name, or a slice of a view: C[m : m + 128, ...]",
        )


def _evaluated(statement: syntax.Evaluate) -> None:
    if not isinstance(statement.value, syntax.Call):
        raise HkcError(
            "this statement has no effect",
            statement.span,
            hint="assign the value to a name, or store it: C[m : m + 128, n : n + 128] = x",
        )


def _iterable(node: syntax.Expression) -> None:
    if not isinstance(node, syntax.Call) or node.function != "range":
        raise HkcError("a loop runs over a range", node.span, expected="range(low, high, step)")
