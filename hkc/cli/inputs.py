"""The arrays that ``hkc run`` gives a kernel: from files or random, in memory where a leak shows.

Rows are padded by 64 bytes and more bytes follow the last row. All of that is NaN, as are outputs before
the run, so a kernel that reads beyond a tail, or leaves an element unwritten, spoils its result.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from hkc.arguments import Array
from hkc.driver.files import read_bytes
from hkc.driver.launch import elements
from hkc.driver.meta import KernelMeta, Parameter
from hkc.dtypes import DTYPES, DType
from hkc.errors import HkcError
from hkc.numerics import decode, encode, storage

_ROW_PADDING = 64  # bytes; a multiple of every access, so that rows are aligned as without it
_TAIL = 256  # bytes after the last row
_INTEGERS = 8  # random integers lie in [-8, 8]


@dataclass
class HostArray:
    """An array in padded memory of its own."""

    array: Array
    memory: npt.NDArray[np.uint8]
    before: npt.NDArray[np.uint8]

    def values(self) -> npt.NDArray:
        """The elements as float64, int64 or bool, contiguous."""
        return decode(self.raw().view(storage(self.array.dtype)), self.array.dtype)

    def values_before(self) -> npt.NDArray:
        """The elements as they were before the run."""
        raw = elements(self.array, self.before)
        return decode(raw.view(storage(self.array.dtype)), self.array.dtype)

    def raw(self) -> npt.NDArray:
        """The elements' bits, as a view of the memory."""
        return elements(self.array, self.memory)

    def changed_outside(self) -> int:
        """How many bytes around the elements differ from what they were."""
        changed = self.memory != self.before
        inside = np.zeros(self.memory.shape, np.uint8)
        elements(self.array, inside)[...] = ~np.zeros((), f"u{self.array.dtype.bytes}")
        return int(np.count_nonzero(changed & (inside == 0)))


def make_host_array(shape: tuple[int, ...], dtype: DType, values: npt.NDArray | None, tail: bool) -> HostArray:
    """An array of ``values`` (NaN without) in padded memory; ``tail`` adds bytes after the last row."""
    padding = _ROW_PADDING // dtype.bytes if len(shape) > 1 else 0
    strides = [1] * len(shape)
    for axis in range(len(shape) - 2, -1, -1):
        strides[axis] = strides[axis + 1] * shape[axis + 1] + (padding if axis == len(shape) - 2 else 0)
    count = 1 + sum((extent - 1) * stride for extent, stride in zip(shape, strides, strict=True)) if all(shape) else 0
    size = count * dtype.bytes + (_TAIL if tail else 0)
    memory = np.full(size, 0xFF, np.uint8)  # NaN in every float type
    address = memory.ctypes.data
    array = Array(dtype, shape, tuple(strides), address, address, address + size, owner=memory)
    if values is not None:
        elements(array, memory)[...] = encode(values, dtype).view(f"u{dtype.bytes}")
    return HostArray(array, memory, memory.copy())


def random_values(rng: np.random.Generator, shape: tuple[int, ...], dtype: DType) -> npt.NDArray:
    """Values of moderate size: standard normal floats, small integers."""
    if dtype.is_float:
        return rng.standard_normal(shape, np.float32).astype(np.float64)
    if dtype.kind == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    return rng.integers(-_INTEGERS, _INTEGERS, shape, endpoint=True)


def read_inputs(options: list[str]) -> dict[str, npt.NDArray]:
    """The ``--input NAME=FILE.npy`` options by name."""
    return {name: _load(name, path) for name, path in _assignments("--input", options).items()}


def output_paths(options: list[str]) -> dict[str, Path]:
    """The ``--output NAME=FILE.npy`` options by name."""
    return _assignments("--output", options)


def _assignments(option: str, texts: list[str]) -> dict[str, Path]:
    table: dict[str, Path] = {}
    for text in texts:
        name, equals, path = text.partition("=")
        if not equals or not name or not path:
            raise HkcError(f"{option} {text}: not an assignment", expected=f"{option} NAME=FILE.npy")
        if name in table:
            raise HkcError(f"{option} {name} is given twice")
        table[name] = Path(path)
    return table


def _load(name: str, path: Path) -> npt.NDArray:
    return load_npy(path, f"--input {name}")


def load_npy(path: Path, what: str) -> npt.NDArray:
    """An array from a .npy file. Raises HkcError if it is none (pickled objects are not loaded)."""
    import io

    try:
        loaded = np.load(io.BytesIO(read_bytes(path)), allow_pickle=False)
    except (ValueError, EOFError, OSError) as error:
        raise HkcError(f"{what}: {path} is not a .npy file ({error})") from None
    if not isinstance(loaded, np.ndarray):
        raise HkcError(f"{what}: {path} holds several arrays", expected="a .npy file")
    return loaded


def input_values(parameter: Parameter, loaded: npt.NDArray) -> npt.NDArray:
    """A loaded array as values of the parameter's type.

    Floats are rounded; two-byte bits are taken as they are. Raises HkcError for values of another kind.
    """
    dtype = DTYPES[parameter.dtype]
    kind = loaded.dtype.kind
    if dtype.is_float and dtype.numpy is None and (kind, loaded.dtype.itemsize) in (("V", 2), ("u", 2)):
        return decode(loaded.view(np.uint16), dtype)
    fits = {"float": "fiu", "int": "iu", "bool": "b"}[dtype.kind]
    if kind not in fits:
        raise HkcError(f"--input {parameter.name}: wrong element type", expected=dtype.name, got=str(loaded.dtype))
    values = loaded.astype(np.float64 if dtype.is_float else np.bool_ if dtype.kind == "bool" else np.int64)
    if dtype.kind == "int" and dtype.numpy is not None and values.size:
        info = np.iinfo(dtype.numpy)
        if values.min() < info.min or values.max() > info.max:
            raise HkcError(f"--input {parameter.name}: a value is out of the range of {dtype.name}")
    return values


def make_arrays(
    meta: KernelMeta, sizes: Mapping[str, int], loaded: Mapping[str, npt.NDArray], seed: int, tail: bool
) -> dict[str, HostArray]:
    """An array for each view parameter, by name: the loaded one, NaN if it is only written, else random.

    Raises HkcError if there is not enough memory.
    """
    rng = np.random.default_rng(seed)
    arrays = {}
    for parameter in meta.parameters:
        if parameter.kind != "view":
            continue
        shape = tuple(dim if isinstance(dim, int) else sizes[dim] for dim in parameter.dims)
        try:
            values = _values(parameter, shape, loaded, rng)
            arrays[parameter.name] = make_host_array(shape, DTYPES[parameter.dtype], values, tail)
        except (MemoryError, ValueError):  # NumPy's errors of too large an array
            size = "x".join(map(str, shape))
            raise HkcError(f"{parameter.name}, {size} {parameter.dtype}, does not fit into memory") from None
    return arrays


def _values(
    parameter: Parameter, shape: tuple[int, ...], loaded: Mapping[str, npt.NDArray], rng: np.random.Generator
) -> npt.NDArray | None:
    if parameter.name in loaded:
        return input_values(parameter, loaded[parameter.name])
    if parameter.stored and not parameter.loaded:
        return None
    return random_values(rng, shape, DTYPES[parameter.dtype])
