"""Binding of compile-time constants: defaults, `-D NAME=VALUE` texts and Python values."""

from __future__ import annotations

import difflib
import operator
from collections.abc import Mapping, Sequence

from hkc.dtypes import DTYPES, DType, dtype
from hkc.errors import HkcError
from hkc.lang import folding, syntax
from hkc.lang.defaults import AUTO, describe, evaluate_default, is_expression


def complete(
    kernel: syntax.KernelDef, given: Mapping[str, object], sizes: Mapping[str, int] | None = None
) -> dict[str, object]:
    """All constants of the kernel, in its order: the given ones, else the defaults.

    Defaults that depend on sizes are those for ``sizes``; one that is not there counts as unbounded. Raises HkcError
    for a name that is no constant, a value that the constant can't take, and a constant without any value.
    """
    for name in given:
        if name not in kernel.constants:
            raise _unknown(kernel, name, list(kernel.constants))
    values: dict[str, object] = {}
    for name, constant in kernel.constants.items():
        if is_expression(constant.default):
            continue
        if name in given:
            values[name] = _checked(constant, given[name], constant.default)
        elif constant.default is not None:
            values[name] = constant.default
        else:
            raise HkcError(
                f"the constant {name} of kernel {kernel.name} has no value",
                constant.span,
                hint=f"give it: -D {name}=VALUE, or {name}=VALUE in the call",
            )
    for name, constant in kernel.constants.items():
        if is_expression(constant.default):
            default = evaluate_default(constant, values, sizes or {})
            values[name] = _checked(constant, given.get(name, default), default)
    return {name: values[name] for name in kernel.constants}


def check_choice(constant: syntax.Constant, value: object) -> None:
    """Raises HkcError for a value that the constant does not list."""
    if constant.choices and value not in constant.choices:
        choices = [describe(c) for c in constant.choices]
        raise HkcError(
            f"{constant.name}={_shown(value)} is none of its values",
            constant.span,
            expected=" or ".join([", ".join(choices[:-1]), choices[-1]] if len(choices) > 1 else choices),
            got=folding.describe(value),
            hint=suggestion(value, constant.choices),
        )


def suggestion(value: object, choices: Sequence[object]) -> str | None:
    """ "did you mean ...?", when a value is close to a string."""
    words = [c for c in choices if isinstance(c, str)]
    close = difflib.get_close_matches(value, words, n=1) if isinstance(value, str) else []
    return f"did you mean {close[0]}?" if close else None


def bind(
    kernel: syntax.KernelDef, definitions: Mapping[str, object]
) -> tuple[dict[str, object], dict[str, int | float]]:
    """Sorts definitions into constants (complete, with defaults) and sizes: dimension symbols and scalar arguments.

    Texts are converted by the kind of the constant's default. Raises HkcError for a name that is neither, listing
    what there is, and for a value of the wrong kind.
    """
    from hkc.lang.signature import signature

    given = {n: v for n, v in definitions.items() if n in kernel.constants}
    constants = complete(kernel, given, integers(definitions))
    # Element types do not matter for the names.
    arguments = signature(kernel, constants, {p.name: DTYPES["f32"] for p in kernel.parameters})
    kinds: dict[str, str] = {}
    for argument in arguments:
        if isinstance(argument.type, DType):
            kinds[argument.name] = "float" if argument.type.is_float else "int"
        else:
            kinds.update({d: "size" for d in argument.type.dims if isinstance(d, str)})
    sizes: dict[str, int | float] = {}
    for name, value in definitions.items():
        if name in kernel.constants:
            continue
        if name not in kinds:
            raise _unknown(kernel, name, [*kernel.constants, *kinds])
        sizes[name] = _size(name, value, kinds[name])
    return constants, sizes


def integers(definitions: Mapping[str, object]) -> dict[str, int]:
    """Those definitions that are integers, or texts of them; sizes that are malformed are reported elsewhere."""
    numbers = {name: _number(v) if isinstance(v, str) else v for name, v in definitions.items()}
    return {n: operator.index(v) for n, v in numbers.items() if hasattr(v, "__index__") and not isinstance(v, bool)}


def given_sizes(definitions: Mapping[str, object]) -> dict[str, int]:
    """Sizes as integers. Raises HkcError for one that is none, or negative."""
    numbers = {n: v if isinstance(v, str) or not hasattr(v, "__index__") else int(v) for n, v in definitions.items()}
    return {name: int(_size(name, value, "size")) for name, value in numbers.items()}


def _unknown(kernel: syntax.KernelDef, name: str, known: list[str]) -> HkcError:
    from hkc.lang.functions import suggestion

    return HkcError(
        f"kernel {kernel.name} has nothing named {name}",
        kernel.span,
        expected=", ".join(known) or "no definitions",
        hint=suggestion(name, known),
    )


def _size(name: str, value: object, kind: str) -> int | float:
    number: object = value
    if isinstance(value, str):
        number = _number(value)
    good = isinstance(number, int | float) and not isinstance(number, bool)
    if not good or (kind != "float" and not isinstance(number, int)):
        raise HkcError(f"{name}={value} is no {'number' if kind == 'float' else 'integer'}")
    assert isinstance(number, int | float)
    if kind == "size" and number < 0:
        raise HkcError(f"{name}={value} is negative", expected="a size, 0 or more")
    return float(number) if kind == "float" else number


def _number(text: str) -> int | float | None:
    for convert in (lambda t: int(t, 0), int, float):
        try:
            return convert(text)
        except ValueError:
            continue
    return None


def _checked(constant: syntax.Constant, value: object, default: object) -> object:
    """A value as the kind of the constant's default; one of its choices, if it lists them."""
    default = constant.choices[0] if default is None and constant.choices else default
    converted = _from_text(value, default) if isinstance(value, str) else value
    if not isinstance(converted, int) and hasattr(converted, "__index__"):
        converted = operator.index(converted)  # NumPy's integers
    if isinstance(converted, int) and not isinstance(converted, bool) and isinstance(default, float):
        converted = float(converted)
    if not isinstance(converted, bool | int | float | str | DType):
        raise HkcError(f"{constant.name} can't be a {type(value).__name__}", constant.span, expected=_expected(default))
    kinds = (str, int) if default == AUTO else (type(default),)
    if default is not None and type(converted) not in kinds:
        raise HkcError(
            f"{constant.name}={_shown(value)} is not {_expected(default)}",
            constant.span,
            expected=_expected(default),
            got=folding.describe(converted),
            hint=f"element types: {', '.join(DTYPES)}" if isinstance(default, DType) else None,
        )
    check_choice(constant, converted)
    return converted


def _shown(value: object) -> str:
    return value if isinstance(value, str) else repr(value)


def _expected(default: object) -> str:
    if default is None:
        return "a number, a string, a bool or an element type"
    if default == AUTO:
        return f'"{AUTO}", another string or an integer'
    article = "an" if folding.kind_of(default)[0] in "aeiou" else "a"
    return f"{article} {folding.kind_of(default)}"


def _from_text(text: str, default: object) -> object:
    """A text as what it most plainly is, seen from the default."""
    if default == AUTO:
        number = _number(text)
        return number if isinstance(number, int) else text
    if isinstance(default, str):
        return text
    if isinstance(default, bool):
        return {"true": True, "1": True, "false": False, "0": False}.get(text.lower(), text)
    if isinstance(default, int | float):
        number = _number(text)
        return text if number is None else number
    if isinstance(default, DType):
        return dtype(text) or text
    if text in ("True", "False"):
        return text == "True"
    number = _number(text)
    return dtype(text) or (text if number is None else number)
