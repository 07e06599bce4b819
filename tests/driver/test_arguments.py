"""Host arrays and scalars against a kernel's parameters."""

from __future__ import annotations

import numpy as np
import pytest

from hkc.arguments import Array, array, bind_arguments, convert_array, convert_scalar
from hkc.driver.launch import elements, host_bytes
from hkc.driver.meta import KernelMeta, Parameter
from hkc.dtypes import DTYPES
from hkc.errors import HkcError

META = KernelMeta(
    name="k",
    arch="gfx950",
    parameters=(
        Parameter("A", "view", "f32", ("M", "K"), loaded=True),
        Parameter("B", "view", "bf16", ("K", 8), loaded=True),
        Parameter("C", "view", "f32", ("M",), stored=True),
        Parameter("n", "scalar", "i32"),
    ),
    grid=("cdiv(M, 16)", "n"),
    block=64,
)


def _values() -> dict[str, object]:
    return {
        "A": np.zeros((20, 3), np.float32),
        "B": array(np.zeros((3, 8), np.uint16), DTYPES["bf16"]),
        "C": np.zeros(20, np.float32),
        "n": 2,
    }


@pytest.mark.parametrize(
    "view",
    [
        lambda x: x,
        lambda x: x.T,
        lambda x: x[::-1, ::2],
        lambda x: x[1:, 1:],
        lambda x: x[:, ::-1],
        lambda x: x[2],
        lambda x: x[:0],
        lambda x: np.broadcast_to(x[0], (3, 6)),
    ],
)
def test_any_strides_reach_the_same_elements(view: object) -> None:
    x = view(np.arange(24, dtype=np.float32).reshape(4, 6))  # type: ignore[operator]
    host = convert_array("x", x)
    assert host.shape == x.shape
    read = elements(host, host_bytes(host.low, host.high))
    np.testing.assert_array_equal(read.view(np.float32) if x.size else read, x)


def test_the_byte_range_is_the_smallest() -> None:
    x = np.zeros((8, 8), np.float32)
    inner = convert_array("x", x[2:4, 1:3])
    assert (inner.low - x.ctypes.data, inner.high - inner.low) == (68, 40)
    backwards = convert_array("x", x[::-1])
    assert (backwards.address - x.ctypes.data, backwards.low, backwards.high) == (
        7 * 32,
        x.ctypes.data,
        x.ctypes.data + 256,
    )


@pytest.mark.parametrize(
    ("shape", "strides", "overlaps"),
    [
        ((4, 6), (6, 1), False),
        ((4, 6), (5, 1), True),
        ((4, 6), (-6, 1), False),
        ((3, 6), (0, 1), True),
        ((1, 6), (0, 1), False),
        ((2, 3), (3, 2), False),  # 0 2 4 3 5 7
        ((3, 4), (3, 2), True),  # 2 * 3 = 3 * 2
        ((0, 6), (0, 1), False),
        ((5,), (0,), True),
        ((5,), (1,), False),
    ],
)
def test_elements_that_share_memory(shape: tuple[int, ...], strides: tuple[int, ...], overlaps: bool) -> None:
    host = Array.enclosing(DTYPES["f32"], shape, strides, 1 << 20, True, None)
    offsets = [sum(i * s for i, s in zip(index, strides, strict=True)) for index in np.ndindex(*shape)]
    assert overlaps == (len(set(offsets)) < len(offsets))
    assert host.overlaps_itself == overlaps


def test_bind_gives_symbols_and_grid() -> None:
    bound = bind_arguments(META, _values())
    assert bound.symbols == {"M": 20, "K": 3, "n": 2}
    assert bound.grid(META) == (2, 2, 1)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("A", 3, "argument A must be an array"),
        ("A", np.zeros((20, 3)), "argument A has another element type"),
        ("A", np.zeros((20, 3), np.uint32), "argument A has an element type that kernels don't take"),
        ("A", np.zeros((20, 3), ">f4"), "argument A is not in this machine's byte order"),
        ("A", np.zeros((20, 3, 1), np.float32), "argument A has another rank"),
        ("A", np.zeros((20, 4), np.float32), "arguments A and B disagree on K"),
        ("A", np.zeros((20, 3), "f4,i1")["f0"], "argument A: its strides are not whole elements"),
        ("B", array(np.zeros((3, 9), np.uint16), DTYPES["bf16"]), "argument B has another size"),
        ("C", np.zeros(21, np.float32), r"arguments A and C disagree on M[^$]*A.shape\[0\] = 20, C.shape\[0\] = 21"),
        ("C", np.broadcast_to(np.float32(0), (20,)), "argument C is written by the kernel, but can't be written"),
        ("C", np.lib.stride_tricks.as_strided(np.zeros(1, np.float32), (20,), (0,)), "argument C.*overlap"),
        ("n", 2.5, "argument n must be i32"),
        ("n", True, "argument n must be i32"),
        ("n", 2**31, "argument n must be i32"),
        ("n", "2", "argument n must be i32"),
    ],
)
def test_a_wrong_argument_is_named(name: str, value: object, message: str) -> None:
    with pytest.raises(HkcError, match=message):
        bind_arguments(META, _values() | {name: value})


def test_a_size_beyond_32_bits() -> None:
    huge = Array.enclosing(DTYPES["f32"], (2**31, 3), (0, 0), 1 << 20, True, None)
    with pytest.raises(HkcError, match="argument A is too large"):
        bind_arguments(META, _values() | {"A": huge})


def test_a_negative_grid() -> None:
    with pytest.raises(HkcError, match="grid expression n is out of range"):
        bind_arguments(META, _values() | {"n": -1}).grid(META)


@pytest.mark.parametrize(
    ("dtype", "value", "good"),
    [
        ("f32", 1, True),
        ("f32", np.float64(0.5), True),
        ("f32", float("inf"), True),
        ("f32", 1e39, False),
        ("f32", 10**400, False),
        ("f32", True, False),
        ("f32", "1", False),
        ("f32", np.zeros(2), False),
        ("i64", 2**63 - 1, True),
        ("i64", 2**63, False),
        ("i1", True, True),
        ("i1", 2, False),
        ("i32", np.int64(-5), True),
    ],
)
def test_scalars(dtype: str, value: object, good: bool) -> None:
    if good:
        assert convert_scalar("s", value, DTYPES[dtype]) == value
    else:
        with pytest.raises(HkcError, match=f"argument s must be {dtype}"):
            convert_scalar("s", value, DTYPES[dtype])


def test_raw_bits_need_the_right_size() -> None:
    with pytest.raises(HkcError, match="elements of 2 bytes"):
        array(np.zeros(3, np.float32), DTYPES["bf16"])


def test_torch_tensors() -> None:
    torch = pytest.importorskip("torch")
    tensor = torch.zeros(4, 6, dtype=torch.bfloat16)[:, ::2].t()
    host = convert_array("t", tensor)
    assert (host.dtype.name, host.shape, host.strides) == ("bf16", (3, 4), (2, 6))
    assert host.address == tensor.data_ptr()
    assert not convert_array("t", torch.zeros(2, requires_grad=True)).writable
    with pytest.raises(HkcError, match="not a dense CPU tensor"):
        convert_array("t", torch.zeros(2, 2).to_sparse())
    with pytest.raises(HkcError, match="element type"):
        convert_array("t", torch.zeros(2, dtype=torch.complex64))
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode():
        fake = torch.zeros(2, 2)
    with pytest.raises(HkcError, match="without memory"):
        convert_array("t", fake)
