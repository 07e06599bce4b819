"""Kernel arguments on the host, checked: NumPy arrays, torch CPU tensors and scalars.

An array stays where it is: an :class:`Array` is an address, a shape and strides, whatever they are.
"""

from __future__ import annotations

import math
import operator
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from hkc.driver.meta import KernelMeta, Parameter
from hkc.dtypes import DTYPES, DType
from hkc.errors import HkcError

_INT32_MAX = 2**31 - 1
# NumPy and torch call these types by other names than hkc; the rest share NumPy's name (hkc.dtypes).
_BY_NAME = {d.numpy: d for d in DTYPES.values() if d.numpy is not None} | {"bfloat16": DTYPES["bf16"]}


@dataclass(frozen=True)
class Array:
    """A strided array in host memory: ``address`` of its first element, ``strides`` in elements of any sign.

    ``low`` and ``high`` bound the bytes that a device gets a copy of; ``owner`` keeps the memory alive.
    """

    dtype: DType
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    address: int
    low: int
    high: int
    writable: bool = True
    owner: Any = field(default=None, repr=False, compare=False)

    @staticmethod
    def enclosing(
        dtype: DType, shape: Sequence[int], strides: Sequence[int], address: int, writable: bool, owner: Any
    ) -> Array:
        """The array with the smallest byte range that encloses it."""
        low = high = address
        if all(shape):
            ends = [(extent - 1) * stride * dtype.bytes for extent, stride in zip(shape, strides, strict=True)]
            low += sum(end for end in ends if end < 0)
            high += sum(end for end in ends if end > 0) + dtype.bytes
        return Array(dtype, tuple(shape), tuple(strides), address, low, high, writable, owner)

    @property
    def overlaps_itself(self) -> bool:
        """Whether two elements share memory.

        Exact up to rank 2; beyond, some rare interleavings count as sharing too.
        """
        steps = sorted((abs(s), n) for s, n in zip(self.strides, self.shape, strict=True) if n > 1)
        if any(step == 0 for step, _ in steps) or 0 in self.shape:
            return 0 not in self.shape
        if len(steps) == 2:
            (a, n), (b, m) = steps
            common = math.gcd(a, b)
            return b // common < n and a // common < m
        reach = 0
        for step, extent in steps:
            if step <= reach:
                return True
            reach += step * (extent - 1)
        return False


@dataclass(frozen=True)
class TypedArray:
    """An array of raw bits with the element type they stand for (:func:`array`)."""

    data: Any
    dtype: DType


def array(data: Any, dtype: DType) -> TypedArray:
    """Say what the bits of a NumPy array mean: ``hk.array(x, hk.bf16)`` for ``x`` of uint16.

    Raises HkcError if ``data`` is not a NumPy array with elements of that size.
    """
    size = getattr(getattr(data, "dtype", None), "itemsize", None)
    if not _is_numpy(data) or size != dtype.bytes:
        raise HkcError(
            f"hk.array: the bits of {dtype.name} elements",
            expected=f"a NumPy array with elements of {dtype.bytes} bytes",
            got=_kind(data),
        )
    return TypedArray(data, dtype)


def convert_array(name: str, value: Any) -> Array:
    """The :class:`Array` of a NumPy array, a :class:`TypedArray` or a torch CPU tensor.

    Raises HkcError that names the argument.
    """
    if isinstance(value, Array):
        return value
    if isinstance(value, TypedArray):
        return _numpy_array(name, value.data, value.dtype)
    if _is_numpy(value):
        return _numpy_array(name, value, _element_type(name, value.dtype.name))
    if _is_torch(value):
        return _torch_array(name, value)
    raise HkcError(f"argument {name} must be an array", expected="a NumPy array or a torch tensor", got=_kind(value))


def _is_numpy(value: Any) -> bool:
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(value, numpy.ndarray)


def _is_torch(value: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def _element_type(name: str, type_name: str) -> DType:
    found = _BY_NAME.get(type_name)
    if found is None:
        hint = "wrap raw bits: hk.array(x, hk.bf16)" if type_name.startswith("uint") else None
        raise HkcError(
            f"argument {name} has an element type that kernels don't take",
            expected=", ".join(d for d in _BY_NAME if d),
            got=type_name,
            hint=hint,
        )
    return found


def _numpy_array(name: str, value: Any, dtype: DType) -> Array:
    if not value.dtype.isnative:
        raise HkcError(f"argument {name} is not in this machine's byte order", got=str(value.dtype))
    if any(stride % dtype.bytes for stride in value.strides) and value.size:
        raise HkcError(
            f"argument {name}: its strides are not whole elements",
            expected=f"multiples of {dtype.bytes} bytes",
            got=str(value.strides),
        )
    strides = [stride // dtype.bytes for stride in value.strides]
    return Array.enclosing(dtype, value.shape, strides, value.ctypes.data, value.flags.writeable, value)


def _torch_array(name: str, value: Any) -> Array:
    if value.device.type != "cpu" or str(value.layout) != "torch.strided":
        raise HkcError(f"argument {name} is not a dense CPU tensor", got=f"{value.layout} on {value.device}")
    if value.untyped_storage().device.type != "cpu":
        raise HkcError(f"argument {name} is a tensor without memory", got=f"a {type(value).__name__}")
    dtype = _element_type(name, str(value.dtype).removeprefix("torch."))
    if value.is_neg():
        raise HkcError(f"argument {name} is a lazily negated tensor", hint="pass x.resolve_neg()")
    # Writing through the pointer would go past autograd.
    writable = not value.requires_grad
    return Array.enclosing(dtype, value.shape, value.stride(), value.data_ptr(), writable, value)


def _kind(value: Any) -> str:
    if _is_numpy(value):
        return f"a NumPy array of {value.dtype}"
    if isinstance(value, bool | int | float):
        return f"the {type(value).__name__} {value!r}"
    return f"a value of type {type(value).__name__}"


def convert_scalar(name: str, value: Any, dtype: DType) -> int | float:
    """A scalar argument in the range of ``dtype``, or an error that names it."""

    def wrong(expected: str) -> HkcError:
        return HkcError(f"argument {name} must be {dtype.name}", expected=expected, got=_kind(value))

    if dtype.is_float:
        # Integers and NumPy's floats serve; bool, str and arrays don't.
        if isinstance(value, bool) or not hasattr(value, "__float__") or getattr(value, "shape", ()) != ():
            raise wrong("a number")
        try:
            number = float(value)
        except (TypeError, ValueError, OverflowError):
            raise wrong("a number") from None
        if math.isfinite(number) and abs(number) > _largest(dtype):
            raise wrong(f"a number of at most {_largest(dtype):.7g}")
        return number
    try:
        integer = operator.index(value)
    except TypeError:
        raise wrong("an integer") from None
    low, high = (0, 1) if dtype.kind == "bool" else (-(1 << (dtype.bits - 1)), (1 << (dtype.bits - 1)) - 1)
    if (isinstance(value, bool) and dtype.kind != "bool") or not low <= integer <= high:
        raise wrong(f"an integer from {low} to {high}")
    return integer


def _largest(dtype: DType) -> float:
    # IEEE 754-2019 table 3.3: (2 - 2^-p) 2^emax; bf16 has binary32's exponent.
    exponent = {"f64": 1023, "f16": 15}.get(dtype.name, 127)
    return (2 - 2.0**-dtype.mantissa) * 2.0**exponent


@dataclass(frozen=True)
class Bound:
    """Checked arguments in the order of the kernel's parameters, with the value of every symbol."""

    values: dict[str, Array | int | float]
    symbols: dict[str, int]

    def grid(self, meta: KernelMeta) -> tuple[int, ...]:
        """The launch grid in workgroups, always three extents.

        Raises HkcError for a negative or too large one.
        """
        from hkc.lang.gridexpr import evaluate

        extents = [evaluate(expression, self.symbols) for expression in meta.grid]
        for expression, extent in zip(meta.grid, extents, strict=True):
            if not 0 <= extent <= _INT32_MAX:
                raise HkcError(
                    f"kernel {meta.name}: the grid expression {expression} is out of range",
                    expected=f"0 to {_INT32_MAX}",
                    got=str(extent),
                )
        return (*extents, 1, 1)[:3]


def bind_arguments(meta: KernelMeta, values: Mapping[str, Any]) -> Bound:
    """Check ``values`` (by parameter name) against the kernel: types, ranks, sizes that must agree, outputs.

    Raises HkcError that names the argument.
    """
    bound: dict[str, Array | int | float] = {}
    symbols: dict[str, int] = {}
    origins: dict[str, str] = {}
    for parameter in meta.parameters:
        if parameter.kind == "view":
            view = convert_array(parameter.name, values[parameter.name])
            _check_view(parameter, view)
            _bind_dims(parameter, view, symbols, origins)
            bound[parameter.name] = view
        else:
            scalar = convert_scalar(parameter.name, values[parameter.name], DTYPES[parameter.dtype])
            bound[parameter.name] = scalar
            if isinstance(scalar, int):
                symbols[parameter.name] = scalar
    return Bound(bound, symbols)


def _check_view(parameter: Parameter, view: Array) -> None:
    name = parameter.name
    shape = f"[{', '.join(map(str, parameter.dims))}]"
    if view.dtype.name != parameter.dtype:
        raise HkcError(f"argument {name} has another element type", expected=parameter.dtype, got=view.dtype.name)
    if len(view.shape) != len(parameter.dims):
        raise HkcError(f"argument {name} has another rank", expected=shape, got=f"shape {list(view.shape)}")
    if parameter.stored and not view.writable:
        raise HkcError(
            f"argument {name} is written by the kernel, but can't be written",
            hint="pass a writable array (for torch: a tensor that needs no gradient)",
        )
    if parameter.stored and view.overlaps_itself:
        raise HkcError(
            f"argument {name} is written by the kernel, but its elements overlap in memory",
            got=f"shape {list(view.shape)} with strides {list(view.strides)}",
        )


def _bind_dims(parameter: Parameter, view: Array, symbols: dict[str, int], origins: dict[str, str]) -> None:
    for axis, (dim, extent) in enumerate(zip(parameter.dims, view.shape, strict=True)):
        where = f"{parameter.name}.shape[{axis}]"
        if extent > _INT32_MAX:
            raise HkcError(
                f"argument {parameter.name} is too large",
                expected="sizes below 2^31",
                got=f"{where} = {extent}",
            )
        if isinstance(dim, int):
            if extent != dim:
                raise HkcError(
                    f"argument {parameter.name} has another size",
                    expected=f"{where} = {dim}",
                    got=str(extent),
                )
        elif symbols.setdefault(dim, extent) != extent:
            raise HkcError(
                f"arguments {origins[dim].partition('.')[0]} and {parameter.name} disagree on {dim}",
                got=f"{origins[dim]} = {symbols[dim]}, {where} = {extent}",
            )
        else:
            origins.setdefault(dim, where)
