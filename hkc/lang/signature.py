"""A kernel's run-time arguments, once its constants are known."""

from __future__ import annotations

from collections.abc import Mapping

from hkc.dialect.types import ViewType
from hkc.dtypes import DTYPES, DType
from hkc.errors import HkcError
from hkc.lang import consteval, syntax
from hkc.lang.emit import at
from hkc.lang.functions import LIKE_A_DTYPE, suggestion, unknown_dtype
from hkc.lang.scalars import SCALAR_TYPES
from hkc.lang.structure import Argument

MAX_RANK = 4


def signature(
    kernel: syntax.KernelDef, constants: Mapping[str, object], dtypes: Mapping[str, DType] | None = None
) -> list[Argument]:
    """Names and types of the arguments, in order.

    ``dtypes`` gives the element types of views that the source leaves open. Raises HkcError for a malformed
    annotation, and for a view that has no element type by any way.
    """
    arguments = [Argument(p.name, _type(p, p.annotation, constants, dtypes or {}), p.span) for p in kernel.parameters]
    names = {a.name: a for a in arguments}
    for argument, parameter in zip(arguments, kernel.parameters, strict=True):
        for symbol in argument.type.dims if isinstance(argument.type, ViewType) else ():
            if symbol in names:
                raise HkcError(
                    f"{symbol} is a dimension of {argument.name} and an argument too",
                    parameter.annotation.span,
                    notes=[("the argument is here", names[str(symbol)].span)],
                )
    return arguments


def _type(
    parameter: syntax.Parameter,
    node: syntax.Expression,
    constants: Mapping[str, object],
    dtypes: Mapping[str, DType],
) -> ViewType | DType:
    if isinstance(node, syntax.Conditional):
        test = _constant(node.test, constants)
        chosen = node.then if consteval.truth(test, node.test) else node.otherwise
        return _type(parameter, chosen, constants, dtypes)
    if isinstance(node, syntax.Index) and node.base == syntax.Name(node.span, "view"):
        return _view(parameter, node, constants, dtypes)
    if isinstance(node, syntax.Name) and node.name in SCALAR_TYPES:
        return DTYPES[node.name]
    hint = suggestion(node.name, (*SCALAR_TYPES, "view")) if isinstance(node, syntax.Name) else None
    raise HkcError(
        f"{parameter.name} has no type of an argument",
        node.span,
        expected=f"view[M, N], view[M, N, bf16] or a scalar type ({', '.join(SCALAR_TYPES)})",
        hint=hint,
    )


def _constant(node: syntax.Expression, constants: Mapping[str, object]) -> object:
    def lookup(name: syntax.Name) -> object:
        if name.name in constants:
            return constants[name.name]
        if name.name in consteval.NAMED:
            return consteval.NAMED[name.name]
        raise consteval.NotConstant(name)

    try:
        return consteval.evaluate(node, lookup)
    except consteval.NotConstant as error:
        hint = suggestion(error.node.name, constants) if isinstance(error.node, syntax.Name) else None
        raise HkcError(
            "the type of an argument may depend on constants only",
            error.node.span,
            expected=", ".join(constants) or "this kernel has no constants",
            hint=hint,
        ) from None


def _view(
    parameter: syntax.Parameter,
    node: syntax.Index,
    constants: Mapping[str, object],
    dtypes: Mapping[str, DType],
) -> ViewType:
    entries = [_entry(item, constants) for item in node.items]
    element: DType | None = None
    if entries and isinstance(entries[-1], DType):
        element = entries.pop()  # type: ignore[assignment]
    dims: list[int | str] = []
    for item, entry in zip(node.items, entries, strict=False):
        if isinstance(entry, DType):
            raise HkcError("the element type stands last in a view", item.span, expected="view[M, N, bf16]")
        dims.append(entry)
    if not 1 <= len(dims) <= MAX_RANK:
        raise HkcError(f"a view has 1 to {MAX_RANK} dimensions", node.span, got=str(len(dims)))
    return ViewType(tuple(dims), element or _open_dtype(parameter, node, constants, dtypes))


def _entry(item: syntax.Expression | syntax.Slice, constants: Mapping[str, object]) -> int | str | DType:
    with at(item.span):
        if isinstance(item, syntax.Name):
            if item.name in DTYPES:
                return DTYPES[item.name]
            if LIKE_A_DTYPE.fullmatch(item.name):
                raise unknown_dtype(item.name, item.span)
            if item.name not in constants:
                return item.name
        value = constants.get(item.name) if isinstance(item, syntax.Name) else None
        if isinstance(item, syntax.Literal):
            value = item.value
        if isinstance(value, DType):
            return value
        if isinstance(value, int) and not isinstance(value, bool):
            if value < 1:
                raise HkcError(f"a dimension of a view is {value}", item.span, expected="1 or more")
            return value
    raise HkcError(
        "a view lists its dimensions and its element type",
        item.span,
        expected="a symbol (M), a size (128), or last an element type (bf16)",
    )


def _open_dtype(
    parameter: syntax.Parameter,
    node: syntax.Index,
    constants: Mapping[str, object],
    dtypes: Mapping[str, DType],
) -> DType:
    constant = constants.get("DTYPE")
    if isinstance(constant, DType):
        return constant
    if parameter.name in dtypes:
        return dtypes[parameter.name]
    raise HkcError(
        f"the view {parameter.name} has no element type",
        node.span,
        hint="write it last, view[M, N, bf16], or give the kernel a constant DTYPE = bf16",
    )


def dimension_axes(arguments: list[Argument]) -> dict[str, tuple[int, int]]:
    """Each dimension symbol with the argument and axis that stand for it: the first that have it."""
    axes: dict[str, tuple[int, int]] = {}
    for index, argument in enumerate(arguments):
        if isinstance(argument.type, ViewType):
            for axis, symbol in enumerate(argument.type.dims):
                if isinstance(symbol, str):
                    axes.setdefault(symbol, (index, axis))
    return axes
