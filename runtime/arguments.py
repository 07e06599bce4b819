"""Kernel arguments as bytes, by the code object's own metadata."""

from __future__ import annotations

import ctypes
import operator
from collections.abc import Sequence
from typing import Any

from hkc.errors import HkcError
from hkc.runtime.metadata import KernelArgument, KernelInfo

_CTYPES = (ctypes._SimpleCData, ctypes.Structure, ctypes.Union, ctypes.Array)


def pack_arguments(kernel: KernelInfo, values: Sequence[Any], buffer_type: type) -> list[bytes]:
    """The bytes of each explicit argument of ``kernel``, in order.

    ``buffer_type`` is the class of device buffers; its objects have an ``address``.

    :raises HkcError: on a wrong count, size or kind, naming the argument.
    """
    explicit = kernel.explicit_args
    if len(values) != len(explicit):
        raise HkcError(
            f"kernel '{kernel.name}' takes {len(explicit)} arguments",
            expected=", ".join(_describe(i, a) for i, a in enumerate(explicit)) or "none",
            got=f"{len(values)} arguments",
        )
    pairs = enumerate(zip(explicit, values, strict=True))
    return [_pack(kernel, index, argument, value, buffer_type) for index, (argument, value) in pairs]


def _pack(kernel: KernelInfo, index: int, argument: KernelArgument, value: Any, buffer_type: type) -> bytes:
    def wrong(expected: str, hint: str | None = None) -> HkcError:
        return HkcError(
            f"wrong value for argument {_describe(index, argument)} of kernel '{kernel.name}'",
            expected=expected,
            got=_kind(value),
            hint=hint,
        )

    if argument.pointer:
        return _pack_pointer(argument, value, buffer_type, wrong)
    if isinstance(value, buffer_type) or value is None:
        raise wrong(f"a value of {argument.size} bytes")
    return _pack_value(argument, value, wrong)


def _pack_pointer(argument: KernelArgument, value: Any, buffer_type: type, wrong: Any) -> bytes:
    if value is None:
        address = 0
    elif isinstance(value, buffer_type):
        address = value.address  # type: ignore[attr-defined]
    elif isinstance(value, ctypes.c_void_p | ctypes.c_uint64):
        address = value.value or 0
    else:
        raise wrong(
            "a buffer, or None for a null pointer",
            "pass a raw device address as ctypes.c_void_p(address)",
        )
    return address.to_bytes(argument.size, "little")


def _pack_value(argument: KernelArgument, value: Any, wrong: Any) -> bytes:
    size = argument.size
    raw: bytes | None = None
    if isinstance(value, bytes | bytearray | memoryview):
        raw = bytes(value)
    elif isinstance(value, _CTYPES):
        raw = ctypes.string_at(ctypes.addressof(value), ctypes.sizeof(value))
    elif hasattr(value, "itemsize") and getattr(value, "shape", None) == () and not hasattr(value, "__index__"):
        raw = value.tobytes()  # a numpy scalar that is no integer
    if raw is not None:
        if len(raw) != size:
            raise wrong(f"{size} bytes")
        return raw
    if isinstance(value, float):
        raise wrong(f"a value of {size} bytes", "a Python float has no size: pass ctypes.c_float or ctypes.c_double")
    try:
        number = operator.index(value)
    except TypeError:
        raise wrong(f"an int, a ctypes scalar, or {size} bytes") from None
    low, high = -(1 << (8 * size - 1)), (1 << (8 * size)) - 1
    if not low <= number <= high:
        raise wrong(f"an integer of {size} bytes, {low} to {high}")
    return (number % (1 << (8 * size))).to_bytes(size, "little")


def _describe(index: int, argument: KernelArgument) -> str:
    name = f" '{argument.name}'" if argument.name else ""
    kind = "pointer" if argument.pointer else f"{argument.size} bytes"
    return f"{index}{name} ({kind})"


def _kind(value: Any) -> str:
    if value is None:
        return "None"
    if isinstance(value, bytes | bytearray | memoryview):
        return f"{len(value)} bytes"
    if isinstance(value, _CTYPES):
        return f"{type(value).__name__} of {ctypes.sizeof(value)} bytes"
    if isinstance(value, int | float):
        return f"the {type(value).__name__} {value!r}"
    return f"a value of type {type(value).__name__}"
