"""What every library kernel does with its arrays: check them, make the result, find the program."""

from __future__ import annotations

import functools
import sys
from pathlib import Path
from typing import Any

from hkc.arguments import Array, convert_array
from hkc.errors import HkcError
from hkc.jit import Kernel, load

FLOATS = ("f32", "f16", "bf16")


@functools.cache
def program(name: str) -> Kernel:
    """The kernel in ``NAME.tile`` beside this file."""
    return load(Path(__file__).with_name(f"{name}.tile"))


def is_torch(value: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def checked_rows(op: str, name: str, value: Any) -> Array:
    """An array of rows (rank 1 or more) of a float type. Raises HkcError that names the argument."""
    array = convert_array(name, value)
    if array.dtype.name not in FLOATS:
        raise HkcError(
            f"{op}: argument {name} has an element type that the kernel doesn't take",
            expected=", ".join(FLOATS),
            got=array.dtype.name,
            hint="convert it, to float32 for example",
        )
    if not array.shape:
        raise HkcError(
            f"{op}: argument {name} must have a last axis to work along",
            expected="rank 1 or more",
            got="rank 0",
            hint=f"{name}.reshape(1)",
        )
    return array


def check_like(op: str, name: str, value: Any, other: str, array: Array, shape: tuple[int, ...]) -> None:
    """Check that ``value`` has the given shape, and the kind and element type of ``other``."""
    found = convert_array(name, value)
    if is_torch(value) != is_torch(array.owner):
        raise HkcError(
            f"{op}: arguments {other} and {name} are of different kinds",
            expected="NumPy arrays alone or torch tensors alone",
            got=f"{type(array.owner).__name__} and {type(value).__name__}",
            hint="torch.from_numpy(x) and x.numpy() share memory",
        )
    if found.dtype.name != array.dtype.name:
        raise HkcError(
            f"{op}: arguments {other} and {name} have different element types",
            expected=f"{name} of {array.dtype.name}",
            got=found.dtype.name,
            hint=f"convert {name}",
        )
    if len(found.shape) != len(shape):
        raise HkcError(
            f"{op}: argument {name} has another rank",
            expected=f"shape {list(shape)}",
            got=f"shape {list(found.shape)}",
            hint=f"reshape {name}",
        )
    for axis, (got, expected) in enumerate(zip(found.shape, shape, strict=True)):
        if got != expected:
            of = axis - len(shape) + len(array.shape)
            raise HkcError(
                f"{op}: arguments {other} and {name} disagree on a size",
                expected=f"{name}.shape[{axis}] = {other}.shape[{of}] = {expected}",
                got=f"{name}.shape[{axis}] = {got}",
                hint=f"{name} has the shape {list(shape)}",
            )


def empty_like(x: Any) -> Any:
    """A contiguous array of the kind, shape and element type of ``x``."""
    if is_torch(x):
        return x.new_empty(x.shape)
    import numpy as np

    return np.empty(x.shape, x.dtype)


def filled(x: Any, value: float) -> Any:
    """A vector of the width, kind and element type of ``x``."""
    if is_torch(x):
        return x.new_full(x.shape[-1:], value)
    import numpy as np

    return np.full(x.shape[-1:], value, x.dtype)


def as_matrix(x: Any) -> Any:
    """``x`` as rows; a view where strides allow it, else a copy."""
    if x.ndim == 2:
        return x
    rows = 1
    for extent in x.shape[:-1]:
        rows *= extent
    return x.reshape(rows, x.shape[-1])


def concrete(x: Any) -> bool:
    """Whether ``x`` has memory: while torch traces it has not, and checks wait for the call itself."""
    if not is_torch(x):
        return True
    import torch

    return not torch.compiler.is_compiling()


def torch_op(name: str) -> Any:
    """The op of torch's namespace ``hkc``."""
    import torch

    import hkc.kernels.torch_ops  # registers them  # noqa: F401

    return getattr(torch.ops.hkc, name)


def finish(op: str, run: Any, x: Any, array: Array | None, out: Any, arguments: tuple[Any, ...]) -> Any:
    """Call the kernel, as torch's op for torch tensors; the result goes to ``out`` if given."""
    if out is not None and array is not None:
        check_like(op, "out", out, "x", array, array.shape)
    if is_torch(x):
        result = torch_op(op)(*arguments)
        return result if out is None else out.copy_(result)
    result = run(*arguments)
    if out is None:
        return result
    out[...] = result
    return out


def empty(x: Any, shape: tuple[int, ...]) -> Any:
    """An f32 array of the kind of ``x``."""
    if is_torch(x):
        import torch

        return x.new_empty(shape, dtype=torch.float32)
    import numpy as np

    return np.empty(shape, np.float32)


def check_table(op: str, name: str, value: Any, x: Any, dtype: str, shape: tuple[int, ...]) -> None:
    """Check that ``value`` is of the kind of ``x`` and has that shape and element type, whatever those of ``x``."""
    found = convert_array(name, value)
    if is_torch(value) == is_torch(x) and found.dtype.name == dtype and found.shape == shape:
        return
    raise HkcError(
        f"{op}: argument {name} doesn't go with x",
        expected=f"{'a torch tensor' if is_torch(x) else 'a NumPy array'} of {dtype}, shape {list(shape)}",
        got=f"a {type(value).__name__} of {found.dtype.name}, shape {list(found.shape)}",
        hint=f"convert or reshape {name}",
    )
