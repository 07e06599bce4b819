"""Defaults of constants that depend on sizes: ``BM = 256 if M >= 2048 else 64``.

They are expressions over the symbols of the arguments' shapes, integer scalar arguments and other constants, evaluated
when the kernel is launched. Nothing here imports MLIR: a kernel that comes from the cache needs none of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from hkc.dtypes import DTYPES, DType
from hkc.errors import HkcError
from hkc.lang import consteval, folding, syntax

# A value that leaves a choice to the compiler; a constant with this default takes strings and integers.
AUTO = "auto"
# What a size counts as while it is unknown: so a compile without sizes takes the choice for the largest ones.
# Sizes are i32 (hkc.arguments).
UNBOUNDED = 2**31 - 1
_INTEGERS = ("i32", "i64")
_CALLS = ("cdiv", "min", "max")


def is_expression(default: object) -> bool:
    """Whether a constant's default is to be evaluated at launch."""
    return isinstance(default, syntax.Node)


def size_names(kernel: syntax.KernelDef) -> list[str]:
    """The dimension symbols of the kernel's views, whatever its constants, and its integer scalar arguments."""
    found: dict[str, None] = {}
    for parameter in kernel.parameters:
        if isinstance(parameter.annotation, syntax.Name):
            if parameter.annotation.name in _INTEGERS:
                found[parameter.name] = None
            continue
        for view in _views(parameter.annotation):
            found.update((n, None) for n in _symbols(kernel, view) if n is not None)
    return list(found)


def used_sizes(kernel: syntax.KernelDef) -> set[str]:
    """The sizes on which some default depends."""
    sizes = set(size_names(kernel))
    names = (n.name for c in kernel.constants.values() if is_expression(c.default) for n in _names(c.default))
    return sizes.intersection(names)


def sizes_of_shapes(
    kernel: syntax.KernelDef, given: Mapping[str, object], shapes: Mapping[str, Sequence[int]]
) -> dict[str, int]:
    """The dimension symbols' values by the shapes of the arrays (by parameter).

    A view whose form depends on constants takes the form that ``given`` and plain defaults choose.
    """
    known: dict[str, object] = {n: c.default for n, c in kernel.constants.items() if not is_expression(c.default)}
    known.update(given)
    sizes: dict[str, int] = {}
    for parameter in kernel.parameters:
        view = _chosen(parameter.annotation, known)
        if view is None or parameter.name not in shapes:
            continue
        for symbol, extent in zip(_symbols(kernel, view), shapes[parameter.name], strict=False):
            if symbol is not None:
                sizes.setdefault(symbol, extent)
    return sizes


def evaluate_default(
    constant: syntax.Constant, constants: Mapping[str, object], sizes: Mapping[str, int]
) -> syntax.ConstantValue:
    """The value of a size-dependent default; sizes that are not given count as unbounded.

    Raises a located HkcError for what has no value (a division by zero) or is no constant.
    """

    def lookup(name: syntax.Name) -> object:
        if name.name in constants:
            return constants[name.name]
        if name.name in consteval.NAMED:
            return consteval.NAMED[name.name]
        return sizes.get(name.name, UNBOUNDED)

    assert isinstance(constant.default, syntax.Node)
    value = consteval.evaluate(constant.default, lookup)
    return value.value if isinstance(value, folding.Typed) else value


def check_defaults(kernel: syntax.KernelDef) -> None:
    """Raises a located HkcError for a default that uses what it can't."""
    sizes = size_names(kernel)
    later = [n for n, c in kernel.constants.items() if is_expression(c.default)]
    for name, constant in kernel.constants.items():
        if is_expression(constant.default):
            syntax.check_depth((constant.default,))  # type: ignore[arg-type]
            known = [*sizes, *(n for n in kernel.constants if n not in later)]
            _check(constant.default, name, known)
            later.remove(name)


def _check(node: Any, constant: str, known: Sequence[str]) -> None:
    if isinstance(node, syntax.Name):
        if node.name not in known and node.name not in consteval.NAMED:
            raise HkcError(
                f"the default of {constant} can't use {node.name}",
                node.span,
                expected=", ".join(known) or "a number, a string, True, False or an element type",
                hint=f'a word stands in quotes: "{node.name}"',
            )
        return
    call = isinstance(node, syntax.Call) and node.function in _CALLS and len(node.arguments) == 2 and not node.keywords
    operator = isinstance(node, syntax.Binary) and node.operator != "@"
    if not (call or operator or isinstance(node, syntax.Literal | syntax.Unary | syntax.Conditional)):
        raise HkcError(
            f"this can't stand in the default of {constant}",
            node.span,
            expected="numbers, strings, element types, sizes, constants, operators, cdiv, min, max",
        )
    for child in syntax.children(node):
        _check(child, constant, known)


def _names(node: Any) -> Iterator[syntax.Name]:
    if isinstance(node, syntax.Name):
        yield node
    for child in syntax.children(node):
        yield from _names(child)


def _views(node: syntax.Expression) -> Iterator[syntax.Index]:
    """All views that an annotation may choose."""
    if isinstance(node, syntax.Conditional):
        yield from _views(node.then)
        yield from _views(node.otherwise)
    elif isinstance(node, syntax.Index):
        yield node


def _chosen(node: syntax.Expression, constants: Mapping[str, object]) -> syntax.Index | None:
    """The view that an annotation chooses, None where that is not known."""

    def lookup(name: syntax.Name) -> object:
        value = constants.get(name.name, consteval.NAMED.get(name.name))
        if value is None:
            raise consteval.NotConstant(name)
        return value

    while isinstance(node, syntax.Conditional):
        try:
            test = consteval.truth(consteval.evaluate(node.test, lookup), node.test)
        except (consteval.NotConstant, HkcError):
            return None  # reported with the argument's type
        node = node.then if test else node.otherwise
    return node if isinstance(node, syntax.Index) else None


def _symbols(kernel: syntax.KernelDef, view: syntax.Index) -> list[str | None]:
    """A view's dimensions: the symbol, or None for a number, a constant or the element type."""
    names = (item.name if isinstance(item, syntax.Name) else None for item in view.items)
    return [n if n is not None and n not in kernel.constants and n not in DTYPES else None for n in names]


def describe(value: object) -> str:
    """A constant as it is written."""
    return f'"{value}"' if isinstance(value, str) else value.name if isinstance(value, DType) else str(value)
