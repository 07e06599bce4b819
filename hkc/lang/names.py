"""The names that a Python kernel uses, as editors and type checkers see them.

A kernel's body is read, not run, so calling one of these functions elsewhere raises; only ``cdiv``, the element
types and ``View[...]`` work as plain Python.
"""

from __future__ import annotations

import builtins
from typing import Any

from hkc.errors import HkcError

# What a kernel computes with has no Python type outside of it.
Value = Any

inf = float("inf")
nan = float("nan")


def _outside(name: str) -> HkcError:
    return HkcError(
        f"hk.{name} was called by Python itself",
        hint=f"{name} belongs in the body of a function decorated with @hk.kernel, which is read and not run",
    )


class View:
    """A strided array argument: ``hk.View["M", "K"]`` or ``hk.View["M", "K", hk.bf16]``."""

    def __init__(self) -> None:
        raise _outside("View")

    def __class_getitem__(cls, items: object) -> Any:
        return cls


def cdiv(a: int, b: int) -> int:
    """a / b rounded up; also plain Python on integers."""
    return -(-a // b)


def block(axis: int) -> Value:
    """This workgroup's index in the grid along an axis (0-2)."""
    raise _outside("block")


def ordered_block(axis: int, *, chunk: int = ..., window: int = ...) -> Value:  # type: ignore[assignment]
    """This workgroup's index along an axis (0 or 1) of the grid, tiles taken in an order that shares caches."""
    raise _outside("ordered_block")


def wave() -> Value:
    """This wavefront's index in the workgroup."""
    raise _outside("wave")


def range(
    low: Value, high: Value = ..., step: Value = 1, *, stages: int = 1, schedule: str = "", load_waves: int = 0
) -> Any:
    """The values of a loop's variable; the options say how its loads are pipelined."""
    raise _outside("range")


def min(x: Value, y: Value, *more: Value) -> Value:
    """The smaller; of tiles element by element."""
    raise _outside("min")


def max(x: Value, y: Value, *more: Value) -> Value:
    """The larger; of tiles element by element."""
    raise _outside("max")


def fmin(x: Value, y: Value) -> Value:
    """The smaller of floats, element by element; where one is NaN the other."""
    raise _outside("fmin")


def fmax(x: Value, y: Value) -> Value:
    """The larger of floats, element by element; where one is NaN the other."""
    raise _outside("fmax")


def fma(x: Value, y: Value, z: Value) -> Value:
    """x * y + z, rounded once."""
    raise _outside("fma")


def row_fmax(x: Value) -> Value:
    """The largest element of each row that is not NaN."""
    raise _outside("row_fmax")


def row_fmin(x: Value) -> Value:
    """The smallest element of each row that is not NaN."""
    raise _outside("row_fmin")


def col_fmax(x: Value) -> Value:
    """The largest element of each column that is not NaN."""
    raise _outside("col_fmax")


def col_fmin(x: Value) -> Value:
    """The smallest element of each column that is not NaN."""
    raise _outside("col_fmin")


def aligned(view: Value) -> Value:
    """Whether copies can move the view: unit stride in the last axis, rows and base at multiples of 4 bytes."""
    raise _outside("aligned")


def zeros(*shape_and_dtype: Any) -> Value:
    """A tile of zeros: ``zeros(128, 128, hk.f32)``."""
    raise _outside("zeros")


def full(value: Value, *shape_and_dtype: Any) -> Value:
    """A tile of one value: ``full(1.0, 128, 128, hk.f32)``."""
    raise _outside("full")


def where(condition: Value, x: Value, y: Value) -> Value:
    """``x`` where the condition holds, else ``y``, element by element."""
    raise _outside("where")


def row_sum(x: Value) -> Value:
    """The sum of each row."""
    raise _outside("row_sum")


def row_prod(x: Value) -> Value:
    """The product of each row."""
    raise _outside("row_prod")


def row_max(x: Value) -> Value:
    """The largest element of each row; NaN if any is NaN."""
    raise _outside("row_max")


def row_min(x: Value) -> Value:
    """The smallest element of each row; NaN if any is NaN."""
    raise _outside("row_min")


def row_argmax(x: Value) -> Value:
    """Where the largest element of each row is: the first of equal ones."""
    raise _outside("row_argmax")


def row_argmin(x: Value) -> Value:
    """Where the smallest element of each row is: the first of equal ones."""
    raise _outside("row_argmin")


def col_sum(x: Value) -> Value:
    """The sum of each column."""
    raise _outside("col_sum")


def col_prod(x: Value) -> Value:
    """The product of each column."""
    raise _outside("col_prod")


def col_max(x: Value) -> Value:
    """The largest element of each column; NaN if any is NaN."""
    raise _outside("col_max")


def col_min(x: Value) -> Value:
    """The smallest element of each column; NaN if any is NaN."""
    raise _outside("col_min")


def col_argmax(x: Value) -> Value:
    """Where the largest element of each column is: the first of equal ones."""
    raise _outside("col_argmax")


def col_argmin(x: Value) -> Value:
    """Where the smallest element of each column is: the first of equal ones."""
    raise _outside("col_argmin")


def narrow(x: Value, dtype: Any) -> Value:
    """``x.to(dtype)`` from a wider float, where NaN don't matter: one may become any value."""
    raise _outside("narrow")


def rescale(x: Value, factors: Value) -> Value:
    """``x * col(factors)``; wavefronts whose factors are all 1 skip it."""
    raise _outside("rescale")


def row(v: Value, rows: int = ...) -> Value:  # type: ignore[assignment]
    """A vector as every row of a tile: of one with so many rows, else of the tile that it meets."""
    raise _outside("row")


def col(v: Value, columns: int = ...) -> Value:  # type: ignore[assignment]
    """A vector as every column of a tile: of one with so many columns, else of the tile that it meets."""
    raise _outside("col")


def index(length: int) -> Value:
    """0, 1, 2, ... as a vector of i32."""
    raise _outside("index")


def row_index(rows: int, columns: int) -> Value:
    """A tile of i32: each element is the number of its row."""
    raise _outside("row_index")


def col_index(rows: int, columns: int) -> Value:
    """A tile of i32: each element is the number of its column."""
    raise _outside("col_index")


def exp(x: Value) -> Value:
    """e to the x."""
    raise _outside("exp")


def exp2(x: Value) -> Value:
    """2 to the x."""
    raise _outside("exp2")


def log(x: Value) -> Value:
    """Natural logarithm."""
    raise _outside("log")


def log2(x: Value) -> Value:
    """Logarithm to base 2."""
    raise _outside("log2")


def sqrt(x: Value) -> Value:
    """Square root."""
    raise _outside("sqrt")


def rsqrt(x: Value) -> Value:
    """1 / square root."""
    raise _outside("rsqrt")


def abs(x: Value) -> Value:
    """Absolute value."""
    raise _outside("abs")


def tanh(x: Value) -> Value:
    """Hyperbolic tangent."""
    raise _outside("tanh")


def erf(x: Value) -> Value:
    """Error function."""
    raise _outside("erf")


def sigmoid(x: Value) -> Value:
    """1 / (1 + e to the -x)."""
    raise _outside("sigmoid")


def silu(x: Value) -> Value:
    """x * sigmoid(x)."""
    raise _outside("silu")


def gelu(x: Value) -> Value:
    """x * (1 + erf(x / sqrt(2))) / 2."""
    raise _outside("gelu")


def relu(x: Value) -> Value:
    """x where it is positive, else 0."""
    raise _outside("relu")


def lds(buffers: int, rows: int, columns: int, dtype: Any) -> Value:
    """LDS for some tiles, kept for the whole kernel; ``s[i]`` is one of them."""
    raise _outside("lds")


def copy(source: Value, slot: Value, when: Value = True) -> Value:
    """Starts an asynchronous copy of a view's slice to an LDS slot; returns a token."""
    raise _outside("copy")


def read(slot: Value) -> Value:
    """Reads an LDS slot into registers."""
    raise _outside("read")


def write(x: Value, slot: Value) -> Value:
    """Writes a register tile to an LDS slot; returns a token."""
    raise _outside("write")


def wait(*tokens: Value) -> None:
    """Waits for this wavefront's part of copies and writes."""
    raise _outside("wait")


def waitcnt(*, vmcnt: int = ..., lgkmcnt: int = ...) -> None:  # type: ignore[assignment]
    """Waits until at most so many memory operations are outstanding."""
    raise _outside("waitcnt")


def barrier() -> None:
    """Waits for all wavefronts of the workgroup."""
    raise _outside("barrier")


def set_priority(level: int) -> None:
    """Sets this wavefront's priority (0 to 3) when several on a SIMD could issue."""
    raise _outside("set_priority")


def schedule_barrier() -> None:
    """The compiler moves no instruction across."""
    raise _outside("schedule_barrier")


def interleave() -> None:
    """Spreads the memory operations since the last barrier of either kind between the MFMA since then."""
    raise _outside("interleave")


_PYTHON = {builtins.range: "range", builtins.min: "min", builtins.max: "max", builtins.abs: "abs"}


def language_name(thing: object) -> str | None:
    """The name of a function of the language, None for any other object.

    Python's own range, min, max and abs count as the language's.
    """
    name = getattr(thing, "__name__", None)
    if isinstance(name, str) and name != "language_name" and globals().get(name) is thing and callable(thing):
        return name
    try:
        return _PYTHON.get(thing)
    except TypeError:
        return None
