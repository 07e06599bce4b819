"""Kernels from plain Python calls: the third way to write one, for programs that generate kernels.

    from hkc import builder as tb

    with tb.kernel("scale", grid="cdiv(N, 256)") as k:
        x = k.view("x", "N", hk.f32)
        y = k.view("y", "N", hk.f32)
        alpha = k.scalar("alpha", hk.f32)
        i = (tb.block(0) * 256).named("i")
        tb.store(y, [i], tb.load(x, [i], [256]) * alpha)
    module = k.module

Values have Python's operators (:mod:`hkc.lang.values`); constants fold. The front ends of the language make their ops
with the same functions, so equal programs give equal modules. Errors are :class:`hkc.errors.HkcError`, at the line of
the caller.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from mlir import ir

from hkc.dialect.context import make_context
from hkc.dialect.locations import make_loc
from hkc.dialect.ops import REDUCTIONS
from hkc.dialect.types import ViewType
from hkc.dialect.verify import verify_module
from hkc.dtypes import DType
from hkc.errors import HkcError
from hkc.lang import memory, operations, structure
from hkc.lang.emit import here
from hkc.lang.functions import FUNCTIONS, MATH_NAMES, cdiv, relu
from hkc.lang.memory import (
    aligned,
    barrier,
    block,
    dim,
    full,
    interleave,
    lds,
    ordered_block,
    read,
    schedule_barrier,
    set_priority,
    wait,
    waitcnt,
    wave,
    write,
    zeros,
)
from hkc.lang.operations import choose, where
from hkc.lang.scalars import SCALAR_TYPES
from hkc.lang.signature import MAX_RANK
from hkc.lang.values import Lds, Scalar, Tile, Token, View, wrap

minimum = FUNCTIONS["min"]
maximum = FUNCTIONS["max"]
exp, exp2, log, log2, sqrt, rsqrt, absolute, tanh, erf, sigmoid, silu, gelu = (FUNCTIONS[n] for n in MATH_NAMES)
fmin, fmax, fma, rescale, narrow = (FUNCTIONS[name] for name in ("fmin", "fmax", "fma", "rescale", "narrow"))
row, col, index = (FUNCTIONS[name] for name in ("row", "col", "index"))
row_index, col_index = (FUNCTIONS[name] for name in ("row_index", "col_index"))
row_sum, row_prod, row_max, row_min, row_fmax, row_fmin = (FUNCTIONS[f"row_{kind}"] for kind in REDUCTIONS)
col_sum, col_prod, col_max, col_min, col_fmax, col_fmin = (FUNCTIONS[f"col_{kind}"] for kind in REDUCTIONS)
row_argmax, row_argmin, col_argmax, col_argmin = (
    FUNCTIONS[name] for name in ("row_argmax", "row_argmin", "col_argmax", "col_argmin")
)


class Kernel:
    """A kernel under construction; ``module`` is its module once the with-block is over."""

    def __init__(self, name: str, grid: Sequence[str], waves: Sequence[int] | None) -> None:
        self.module = ir.Module.create()
        self._arguments: list[structure.Argument] = []
        self._body = structure.open_function(self.module, name, [], grid, waves)

    def view(self, name: str, *dims_and_dtype: Any) -> View:
        """The next argument: a strided array, ``view("A", "M", "K", hk.bf16)``."""
        *dims, dtype = dims_and_dtype if dims_and_dtype else (None,)
        good = all(type(d) in (int, str) for d in dims) and 1 <= len(dims) <= MAX_RANK
        if not good or not isinstance(dtype, DType):
            raise HkcError(f"the view {name} is malformed", here(), expected='view("A", "M", "K", hk.bf16)')
        return self._add(name, ViewType(tuple(dims), dtype))

    def scalar(self, name: str, dtype: DType) -> Scalar:
        """The next argument: a scalar."""
        if not isinstance(dtype, DType) or dtype.name not in SCALAR_TYPES:
            raise HkcError(f"the scalar {name} can't be a {dtype}", here(), expected=", ".join(SCALAR_TYPES))
        return self._add(name, dtype)

    def _add(self, name: str, type_: ViewType | DType) -> Any:
        argument = structure.Argument(name, type_, here())
        if any(a.name == name for a in self._arguments):
            raise HkcError(f"{name} is declared twice", here())
        self._arguments.append(argument)
        mlir_type = type_.mlir() if isinstance(type_, ViewType) else type_.mlir_type()
        return wrap(self._body.add_argument(mlir_type, make_loc(argument.span, name)))

    def _finish(self) -> None:
        structure.end_function(self._body)
        structure.set_signature(self._body.owner.operation, self._arguments)
        verify_module(self.module)


@contextmanager
def kernel(name: str, *, grid: str | Sequence[str], waves: Sequence[int] | None = None) -> Iterator[Kernel]:
    """Opens a kernel; ``grid`` are grid expressions over dimension symbols, ``waves`` rows and columns of waves."""
    axes = [grid] if isinstance(grid, str) else list(grid)
    with make_context(), ir.Location.unknown():
        made = Kernel(name, axes, waves)
        with ir.InsertionPoint(made._body):
            yield made
        made._finish()


class Variables:
    """Variables of a loop or an if, as attributes: read and assign them in the body; afterwards they hold the
    results."""

    def __init__(self, values: dict[str, Any]) -> None:
        object.__setattr__(self, "_values", dict(values))

    def __getattr__(self, name: str) -> Any:
        try:
            return self._values[name]
        except KeyError:
            raise HkcError(
                f"there is no variable {name}", here(), expected=", ".join(self._values) or "none was given"
            ) from None

    def __setattr__(self, name: str, value: Any) -> None:
        getattr(self, name)
        self._values[name] = value


@contextmanager
def loop(
    low: Any,
    high: Any,
    step: Any = 1,
    *,
    name: str = "i",
    stages: int | str | None = None,
    schedule: str | None = None,
    load_waves: int | None = None,
    **variables: Any,
) -> Iterator[tuple[Scalar, Variables]]:
    """A loop; ``variables`` are carried from turn to turn.

    with tb.loop(0, tb.dim(A, 1), 64, name="k", acc=acc) as (k, v):
        v.acc += ...
    acc = v.acc
    """
    structure.check_range(low, high, step, stages, schedule, load_waves)
    names = sorted(variables)
    inits = [variables[n] for n in names]
    made = structure.Loop(
        (low, high, step), name, here(), names, inits, stages=stages, schedule=schedule, load_waves=load_waves
    )
    state = Variables(dict(zip(names, made.arguments, strict=True)))
    with made.point:
        yield made.variable, state
        ends = [_end(n, state._values[n], a) for n, a in zip(names, made.arguments, strict=True)]
    state._values.update(zip(names, made.finish(ends), strict=True))


def _end(name: str, value: Any, like: Any) -> Any:
    """A variable's last value, which must have its first value's type."""
    if operations.is_constant(value) and isinstance(like, Scalar):
        value = structure.scalars.materialize(value, like.type, name)
    if not isinstance(value, Scalar | Tile | Token) or value.ir.type != like.ir.type:
        raise HkcError(
            f"{name} changes its type",
            here(),
            expected=structure.describe_type(like),
            got=structure.describe_type(value),
        )
    return value


class Branches(Variables):
    """The two branches of an if; each begins with the variables' values before it."""

    def __init__(self, choice: structure.Choice, before: dict[str, Any]) -> None:
        super().__init__(before)
        object.__setattr__(self, "_choice", choice)
        object.__setattr__(self, "_before", before)
        object.__setattr__(self, "_ends", [dict(before), dict(before)])

    @contextmanager
    def then(self) -> Iterator[None]:
        """The body for a true condition."""
        yield from self._branch(0)

    @contextmanager
    def otherwise(self) -> Iterator[None]:
        """The body for a false condition."""
        yield from self._branch(1)

    def _branch(self, index: int) -> Iterator[None]:
        self._values.update(self._before)
        with (self._choice.then, self._choice.otherwise)[index]:
            yield
        self._ends[index] = dict(self._values)


@contextmanager
def when(condition: Any, **variables: Any) -> Iterator[Branches]:
    """An if at run time; ``variables`` may be assigned in its branches.

    with tb.when(x < 3, y=y) as choice:
        with choice.then():
            choice.y = y + 1
    y = choice.y
    """
    test = operations.condition(condition)
    if isinstance(test, bool):
        raise HkcError("the condition is known at compile time", here(), hint="use Python's own if")
    names = sorted(variables)
    choice = structure.Choice(test)
    inits = {n: structure.carried_value(variables[n], n, "an if") for n in names}
    branches = Branches(choice, inits)
    yield branches
    ends = []
    for point, values in zip((choice.then, choice.otherwise), branches._ends, strict=True):
        with point:
            ends.append([_end(n, values[n], inits[n]) for n in names])
    branches._values.update(zip(names, choice.finish(names, *ends), strict=True))


def load(view: View, offsets: Sequence[Any], extents: Sequence[int | None]) -> Tile:
    """Reads a tile of a view; elements out of range are zero. An axis with the extent None is indexed: the tile has
    no such axis. (For leading axes ``view[i, j]`` says the same.)"""
    return memory.load(memory.region(view, offsets, extents))


def store(view: View, offsets: Sequence[Any], tile: Tile, extents: Sequence[int | None] | None = None) -> None:
    """Writes a tile to a view; elements out of range are not written. ``extents`` as for :func:`load`, by default the
    tile's shape."""
    if not isinstance(tile, Tile):
        raise HkcError(f"{structure.describe_type(tile)} can't be stored", here(), expected="a tile")
    memory.store(memory.region(view, offsets, tile.shape if extents is None else extents), tile)


def copy(view: View, offsets: Sequence[Any], slot: Lds, when: Any = True) -> Token:
    """Starts an asynchronous copy from a view to an LDS slot of the same shape."""
    extents = slot.shape if isinstance(slot, Lds) else ()
    return memory.copy(memory.region(view, offsets, extents), slot, when)


__all__ = [
    "Branches",
    "Kernel",
    "Lds",
    "Scalar",
    "Tile",
    "Token",
    "Variables",
    "View",
    "absolute",
    "aligned",
    "barrier",
    "block",
    "cdiv",
    "choose",
    "col",
    "col_argmax",
    "col_argmin",
    "col_fmax",
    "col_fmin",
    "col_index",
    "col_max",
    "col_min",
    "col_prod",
    "col_sum",
    "copy",
    "dim",
    "erf",
    "exp",
    "exp2",
    "fma",
    "fmax",
    "fmin",
    "full",
    "gelu",
    "index",
    "interleave",
    "kernel",
    "lds",
    "load",
    "log",
    "log2",
    "loop",
    "maximum",
    "minimum",
    "narrow",
    "ordered_block",
    "read",
    "relu",
    "rescale",
    "row",
    "row_argmax",
    "row_argmin",
    "row_fmax",
    "row_fmin",
    "row_index",
    "row_max",
    "row_min",
    "row_prod",
    "row_sum",
    "rsqrt",
    "schedule_barrier",
    "set_priority",
    "sigmoid",
    "silu",
    "sqrt",
    "store",
    "tanh",
    "wait",
    "waitcnt",
    "wave",
    "when",
    "where",
    "write",
    "zeros",
]
