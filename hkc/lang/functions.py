"""The functions of the language, by name."""

from __future__ import annotations

import difflib
import inspect
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, partial
from typing import Any

from hkc.dialect.ops import REDUCTIONS
from hkc.dtypes import DTYPES
from hkc.errors import HkcError, Span
from hkc.lang import memory, operations, vectors
from hkc.lang.emit import here


def _fold_left(name: str) -> Callable[..., Any]:
    def function(x: Any, y: Any, /, *more: Any) -> Any:
        result = operations.binary(name, x, y)
        for value in more:
            result = operations.binary(name, result, value)
        return result

    return function


def cdiv(a: Any, b: Any, /) -> Any:
    """a / b rounded up."""
    return operations.binary("cdiv", a, b)


def _math(name: str) -> Callable[[Any], Any]:
    def function(x: Any, /) -> Any:
        return operations.math_function(name, x)

    return function


def row(v: Any, rows: Any = None, /) -> Any:
    """A vector as every row of a tile."""
    return vectors.spread(v, 1, *(() if rows is None else (rows,)))


def col(v: Any, columns: Any = None, /) -> Any:
    """A vector as every column of a tile."""
    return vectors.spread(v, 0, *(() if columns is None else (columns,)))


def index(length: Any, /) -> Any:
    """0, 1, 2, ... as a vector of i32."""
    return vectors.index(0, length)


def row_index(rows: Any, columns: Any, /) -> Any:
    """A tile of i32: each element is the number of its row."""
    return vectors.index(0, rows, columns)


def col_index(rows: Any, columns: Any, /) -> Any:
    """A tile of i32: each element is the number of its column."""
    return vectors.index(1, rows, columns)


def fmax(x: Any, y: Any, /) -> Any:
    """The larger; where one is NaN the other."""
    return operations.float_extreme("fmax", x, y)


def fmin(x: Any, y: Any, /) -> Any:
    """The smaller; where one is NaN the other."""
    return operations.float_extreme("fmin", x, y)


def fma(x: Any, y: Any, z: Any, /) -> Any:
    """x * y + z, rounded once."""
    return operations.fma(x, y, z)


def relu(x: Any, /) -> Any:
    """x where it is positive, else 0."""
    return operations.relu(x)


MATH_NAMES = ("exp", "exp2", "log", "log2", "sqrt", "rsqrt", "abs", "tanh", "erf", "sigmoid", "silu", "gelu")

FUNCTIONS: dict[str, Callable[..., Any]] = {
    "block": memory.block,
    "ordered_block": memory.ordered_block,
    "wave": memory.wave,
    "cdiv": cdiv,
    "min": _fold_left("min"),
    "max": _fold_left("max"),
    "fmin": fmin,
    "fmax": fmax,
    "fma": fma,
    "aligned": memory.aligned,
    "zeros": memory.zeros,
    "full": memory.full,
    "where": operations.where,
    **{f"row_{kind}": partial(vectors.reduce, kind, 1) for kind in REDUCTIONS},
    **{f"col_{kind}": partial(vectors.reduce, kind, 0) for kind in REDUCTIONS},
    **{f"row_arg{kind}": partial(vectors.extreme_index, kind, 1) for kind in ("max", "min")},
    **{f"col_arg{kind}": partial(vectors.extreme_index, kind, 0) for kind in ("max", "min")},
    "narrow": operations.narrow,
    "rescale": vectors.rescale,
    "row": row,
    "col": col,
    "index": index,
    "row_index": row_index,
    "col_index": col_index,
    **{name: _math(name) for name in MATH_NAMES},
    "relu": relu,
    "lds": memory.lds,
    "copy": memory.copy,
    "read": memory.read,
    "write": memory.write,
    "wait": memory.wait,
    "waitcnt": memory.waitcnt,
    "barrier": memory.barrier,
    "set_priority": memory.set_priority,
    "schedule_barrier": memory.schedule_barrier,
    "interleave": memory.interleave,
}

# What a call looks like, for messages about wrong arguments.
USAGE = {
    "block": "block(axis)",
    "ordered_block": "ordered_block(axis, chunk=C, window=W)",
    "wave": "wave()",
    "cdiv": "cdiv(a, b)",
    "min": "min(x, y)",
    "max": "max(x, y)",
    "fmin": "fmin(x, y)",
    "fmax": "fmax(x, y)",
    "fma": "fma(x, y, z)",
    "aligned": "aligned(A)",
    "zeros": "zeros(rows, columns, dtype) or zeros(length, dtype)",
    "full": "full(value, rows, columns, dtype) or full(value, length, dtype)",
    "where": "where(condition, x, y)",
    **{f"{line}_{kind}": f"{line}_{kind}(x)" for line in ("row", "col") for kind in (*REDUCTIONS, "argmax", "argmin")},
    "narrow": "narrow(x, dtype)",
    "rescale": "rescale(x, factors)",
    "row": "row(v) or row(v, rows)",
    "col": "col(v) or col(v, columns)",
    "index": "index(length)",
    "row_index": "row_index(rows, columns)",
    "col_index": "col_index(rows, columns)",
    **{name: f"{name}(x)" for name in (*MATH_NAMES, "relu")},
    "lds": "lds(buffers, rows, columns, dtype)",
    "copy": "copy(A[m : m + BM, k : k + BK], slot, when=condition)",
    "read": "read(slot)",
    "write": "write(x, slot)",
    "wait": "wait(token, ...)",
    "waitcnt": "waitcnt(vmcnt=N, lgkmcnt=N)",
    "barrier": "barrier()",
    "set_priority": "set_priority(level)",
    "schedule_barrier": "schedule_barrier()",
    "interleave": "interleave()",
    "range": "range(low, high, step, stages=N, schedule=NAME, load_waves=N)",
}

LIKE_A_DTYPE = re.compile(r"(bf|f|fp|i|u|float|int|uint|bfloat)\d+\w*")
_ELSEWHERE = {
    "print": "a kernel can't print; store values to a view",
    "len": "use A.shape[axis]",
    "float": "convert: x.to(f32)",
    "int": "convert: x.to(i32)",
    "program_id": "use block(axis)",
    "load": "index the view: A[m : m + BM, k : k + BK]",
    "store": "assign to the view: C[m : m + BM, n : n + BN] = x",
    "dot": "use a @ b",
    "mma": "use acc += a @ b",
    "matmul": "use a @ b",
    "select": "use where(c, x, y)",
    "sync": "use barrier()",
    "transpose": "use x.T",
    "cast": "use x.to(bf16)",
    "arange": "loop with range(low, high, step)",
}


def suggestion(name: str, known: Iterable[str]) -> str | None:
    """ "did you mean ...?", when a known name is close."""
    # One letter of two is as close as short names get.
    cutoff = 0.5 if len(name) <= 3 else 0.6
    names = list(known)
    close = difflib.get_close_matches(name, names, n=1, cutoff=cutoff)
    if not close:
        lower = {n.lower(): n for n in names}
        close = [lower[n] for n in difflib.get_close_matches(name.lower(), lower, n=1, cutoff=cutoff)]
    return f"did you mean {close[0]}?" if close else None


def unknown_function(name: str, span: Span | None) -> HkcError:
    """The error for a call of something that the language does not have."""
    hint = f"use hk.{name}" if name in USAGE else _ELSEWHERE.get(name) or suggestion(name, USAGE)
    return HkcError(f"there is no function {name}", span, expected=", ".join(USAGE), hint=hint)


def unknown_dtype(name: str, span: Span | None) -> HkcError:
    """The error for a name that should be an element type."""
    return HkcError(f"unknown element type {name}", span, expected=", ".join(DTYPES), hint=suggestion(name, DTYPES))


@cache
def _signature(name: str) -> inspect.Signature:
    return inspect.signature(FUNCTIONS[name])


def call(name: str, arguments: Sequence[Any], keywords: Mapping[str, Any]) -> Any:
    """Calls a function of the language at the current place.

    Raises HkcError when the arguments do not fit it.
    """
    try:
        _signature(name).bind(*arguments, **keywords)
    except TypeError:
        raise HkcError(f"these arguments do not fit {name}", here(), expected=USAGE[name]) from None
    return FUNCTIONS[name](*arguments, **keywords)
