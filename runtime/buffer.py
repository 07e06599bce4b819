"""Device memory, and its copies to and from host arrays."""

from __future__ import annotations

import ctypes
from math import prod
from typing import TYPE_CHECKING, Any

from hkc.errors import HkcError
from hkc.runtime.hip import DEVICE_TO_HOST, HOST_TO_DEVICE, HipLibrary

if TYPE_CHECKING:
    from types import TracebackType

    import numpy as np


class Buffer:
    """``nbytes`` bytes of device memory at ``address``, undefined until written.

    Freed by :meth:`free`, at the end of a ``with``, or when nothing refers to it any more.
    """

    def __init__(self, library: HipLibrary, ordinal: int, nbytes: int) -> None:
        self._library = library
        self._ordinal = ordinal
        self._address: int | None = None
        if isinstance(nbytes, bool) or not isinstance(nbytes, int) or nbytes < 0:
            raise HkcError("a buffer's size is a number of bytes", got=repr(nbytes))
        self.nbytes = nbytes
        pointer = ctypes.c_void_p()
        with library.selected(ordinal):
            # An empty buffer has an address too, so that it is no null pointer to the kernel.
            library.call("hipMalloc", ctypes.byref(pointer), max(nbytes, 1))
        self._address = pointer.value

    @property
    def address(self) -> int:
        """The device address.

        :raises HkcError: after :meth:`free`.
        """
        if self._address is None:
            raise HkcError("the buffer has been freed")
        return self._address

    def write(self, data: Any, offset: int = 0) -> Buffer:
        """Copies a host array, tensor or bytes-like object to ``offset`` bytes into the buffer.

        :raises HkcError: if it does not fit, or if ``data`` is no host memory.
        """
        host, size, keep = _host_memory(data)
        self._check(offset, size, "write")
        if size:
            self._copy(self.address + offset, host, size, HOST_TO_DEVICE)
        del keep
        return self

    def read(self, dtype: Any = "uint8", shape: int | tuple[int, ...] | None = None, offset: int = 0) -> np.ndarray:
        """A numpy array of ``shape`` from ``offset`` bytes into the buffer; without a shape, all of it.

        :raises HkcError: if the buffer is smaller.
        """
        import numpy as np

        kind = np.dtype(dtype)
        if shape is None:
            shape = (max(self.nbytes - offset, 0) // kind.itemsize,)
        dimensions = (shape,) if isinstance(shape, int) else tuple(shape)
        self._check(offset, prod(dimensions) * kind.itemsize, "read")
        result = np.empty(dimensions, kind)
        return self.read_into(result, offset)

    def read_into(self, out: Any, offset: int = 0) -> Any:
        """Fills a writable, contiguous host array or tensor, whole, and returns it.

        :raises HkcError: if the buffer is smaller, or if ``out`` is not such an array.
        """
        host, size, keep = _host_memory(out, writable=True)
        self._check(offset, size, "read")
        if size:
            self._copy(host, self.address + offset, size, DEVICE_TO_HOST)
        del keep
        return out

    def fill(self, byte: int = 0) -> Buffer:
        """Sets every byte."""
        with self._library.selected(self._ordinal):
            self._library.call("hipMemset", self.address, byte, self.nbytes)
        return self

    def free(self) -> None:
        """Gives the memory back; a second call does nothing."""
        address, self._address = self._address, None
        if address is not None:
            with self._library.selected(self._ordinal):
                self._library.call("hipFree", address)

    def _check(self, offset: int, size: int, what: str) -> None:
        if offset < 0 or size < 0 or offset + size > self.nbytes:
            raise HkcError(
                f"cannot {what} {size} bytes at offset {offset} of the buffer",
                expected=f"{self.nbytes} bytes in all",
            )

    def _copy(self, to: int, source: int, size: int, kind: int) -> None:
        with self._library.selected(self._ordinal):
            self._library.call("hipMemcpy", to, source, size, kind)

    def __enter__(self) -> Buffer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.free()

    def __del__(self) -> None:
        # The memory may be gone already when the interpreter ends; nobody is left to tell.
        try:
            self.free()
        except Exception:
            self._address = None

    def __repr__(self) -> str:
        where = "freed" if self._address is None else f"at {self._address:#x}"
        return f"<Buffer of {self.nbytes} bytes, {where}>"


def _host_memory(data: Any, *, writable: bool = False) -> tuple[int, int, Any]:
    """Address and size in bytes of a host object, and what keeps the address valid.

    :raises HkcError: if ``data`` is not contiguous host memory (or not writable where it must be).
    """
    if hasattr(data, "data_ptr") and hasattr(data, "element_size"):
        # A torch tensor, whose type may be one that numpy does not have.
        if data.device.type != "cpu":
            raise HkcError("the tensor is not in host memory", got=f"a tensor on {data.device}")
        if not data.is_contiguous():
            if writable:
                raise HkcError("cannot read into a tensor that is not contiguous")
            data = data.contiguous()
        return data.data_ptr(), data.numel() * data.element_size(), data
    if hasattr(data, "__array_interface__"):
        import numpy as np

        array = np.asarray(data)
        if not array.flags.c_contiguous or (writable and not array.flags.writeable):
            if writable:
                raise HkcError("cannot read into an array that is not contiguous and writable")
            array = np.ascontiguousarray(array)
        return array.ctypes.data, array.nbytes, array
    try:
        view = memoryview(data).cast("B")
    except (TypeError, ValueError):
        raise HkcError(
            "not host memory",
            expected="an array, a tensor or bytes",
            got=f"a value of type {type(data).__name__}",
        ) from None
    if view.readonly:
        if writable:
            raise HkcError("cannot read into memory that is not writable")
        view = memoryview(bytearray(view))
    if not view.nbytes:
        return 0, 0, view
    holder = (ctypes.c_char * view.nbytes).from_buffer(view)
    return ctypes.addressof(holder), view.nbytes, holder
