"""The kernels of a file as ``hkc run`` runs them: one after the other, on arrays, scalars and sizes that they share by
name."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from hkc.cli.program import Program
from hkc.driver.meta import KernelMeta, Parameter
from hkc.errors import HkcError

if TYPE_CHECKING:
    from hkc.arguments import Bound
    from hkc.cli.inputs import HostArray
    from hkc.driver.compile import CompiledKernel


@dataclass(frozen=True)
class Stage:
    """One kernel of a pipeline, compiled; ``arguments`` once the arrays are there."""

    program: Program
    compiled: CompiledKernel
    meta: KernelMeta
    arguments: Bound | None = None

    @property
    def bound(self) -> Bound:
        """The checked arguments of :meth:`bind`."""
        assert self.arguments is not None
        return self.arguments

    @property
    def grid(self) -> tuple[int, ...]:
        """Workgroups along three axes."""
        return self.bound.grid(self.meta)

    def bind(self, arrays: dict[str, HostArray], scalars: dict[str, int | float]) -> Stage:
        """The stage with its own of all arrays and scalars. Raises HkcError that names an argument."""
        from hkc.arguments import bind_arguments

        given: dict[str, Any] = {**{name: host.array for name, host in arrays.items()}, **scalars}
        names = [p.name for p in self.meta.parameters]
        return replace(self, arguments=bind_arguments(self.meta, {name: given[name] for name in names}))


def joined(metas: Sequence[KernelMeta]) -> KernelMeta:
    """All kernels' parameters as those of one: what an earlier kernel writes is no input of a later one.

    Raises HkcError where one name stands for different things.
    """
    if len(metas) == 1:
        return metas[0]
    found: dict[str, Parameter] = {}
    first: dict[str, str] = {}
    for meta in metas:
        for parameter in meta.parameters:
            known = found.setdefault(parameter.name, parameter)
            if (known.kind, known.dtype, known.dims) != (parameter.kind, parameter.dtype, parameter.dims):
                raise HkcError(
                    f"the kernels {first[known.name]} and {meta.name} share {known.name} by name, but not its type",
                    expected=describe(known),
                    got=describe(parameter),
                    hint="give the arguments different names, or run one kernel: FILE:kernel",
                )
            first.setdefault(parameter.name, meta.name)
            found[parameter.name] = replace(known, stored=known.stored or parameter.stored)
    constants = {name: value for meta in metas for name, value in meta.constants.items()}
    name = ", ".join(meta.name for meta in metas)
    return replace(metas[0], name=name, parameters=tuple(found.values()), grid=(), constants=constants)


def describe(parameter: Parameter) -> str:
    """A parameter's type as it is written."""
    if parameter.kind == "scalar":
        return parameter.dtype
    return f"view[{', '.join(map(str, (*parameter.dims, parameter.dtype)))}]"


def scalar_values(meta: KernelMeta, given: dict[str, str]) -> dict[str, int | float]:
    """The scalar arguments' values from the definitions."""
    from hkc.arguments import convert_scalar
    from hkc.dtypes import DTYPES

    values: dict[str, int | float] = {}
    for parameter in meta.parameters:
        if parameter.kind == "scalar":
            text = given.get(parameter.name)
            if text is None:
                raise HkcError(
                    f"kernel {meta.name} needs a value of its argument {parameter.name}",
                    hint=f"give it: -D {parameter.name}=VALUE",
                )
            dtype = DTYPES[parameter.dtype]
            number = _number(parameter.name, text, dtype.is_float)
            values[parameter.name] = convert_scalar(parameter.name, number, dtype)
    return values


def _number(name: str, text: str, real: bool) -> int | float:
    for convert in (lambda t: int(t, 0), *((float,) if real else ())):
        with contextlib.suppress(ValueError):
            return convert(text)
    raise HkcError(f"-D {name}={text}: not {'a number' if real else 'an integer'}")


def size_values(meta: KernelMeta, given: dict[str, str], loaded: dict[str, Any]) -> dict[str, int]:
    """The dimension symbols' values, from the definitions and the shapes of loaded arrays."""
    views = [p for p in meta.parameters if p.kind == "view"]
    symbols = list(dict.fromkeys(dim for p in views for dim in p.dims if isinstance(dim, str)))
    scalars = [p.name for p in meta.parameters if p.kind == "scalar"]
    for name in given:
        if name not in symbols and name not in scalars and name not in meta.constants:
            known = [*symbols, *scalars, *meta.constants]
            raise HkcError(f"kernel {meta.name} has nothing named {name}", expected=", ".join(known), got=f"-D {name}")
    sizes: dict[str, int] = {}
    for symbol in symbols:
        if symbol in given:
            sizes[symbol] = int(_number(symbol, given[symbol], real=False))
            if not 0 <= sizes[symbol] < 2**31:
                raise HkcError(f"-D {symbol}: not a size", expected="0 to 2^31 - 1", got=given[symbol])
    for view in views:
        if view.name in loaded:
            _match(view.name, view.dims, loaded[view.name].shape, sizes)
    missing = [symbol for symbol in symbols if symbol not in sizes]
    if missing:
        raise HkcError(
            f"kernel {meta.name} needs the size{'s' * (len(missing) > 1)} {', '.join(missing)}",
            hint=" ".join(f"-D {symbol}=512" for symbol in missing),
        )
    return sizes


def _match(name: str, dims: tuple[str | int, ...], shape: tuple[int, ...], sizes: dict[str, int]) -> None:
    wanted = [sizes.setdefault(dim, n) if isinstance(dim, str) else dim for dim, n in zip(dims, shape, strict=False)]
    if len(dims) != len(shape) or wanted != list(shape):
        raise HkcError(
            f"--input {name} has another shape",
            expected=f"[{', '.join(map(str, dims))}], here {[sizes.get(str(d), d) for d in dims]}",
            got=str(list(shape)),
        )
