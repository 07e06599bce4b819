"""Views that reach over 2 GiB and over 4 GiB: bases move in 64 bits, bounds stay right. Of such a buffer only the rows
that a kernel uses are ever touched."""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from hkc.driver.compile import CompiledKernel, compile_kernel
from hkc.lang.constants import bind
from hkc.lang.text import parse_text
from hkc.runtime import Buffer, Device, HipError, open_device

GEMM = (Path(__file__).parents[2] / "examples" / "01_gemm.tile").read_text(encoding="utf-8")
GIB = 1 << 30
# The widest pitch of rows that buffer loads take, in f16 elements; and one beyond, where every element has an address.
WIDE, BEYOND = (1 << 22) // 2, (1 << 24) // 2


def compiled(source: str, arch: str, **definitions: object) -> CompiledKernel:
    [kernel] = parse_text(source, "test.tile")
    constants, dtypes = bind(kernel, {name: str(value) for name, value in definitions.items()})
    return compile_kernel(kernel, arch, constants, dtypes)


class Strided:
    """A matrix whose rows lie ``pitch`` elements apart on the device, from byte ``first`` on; NaN around each row."""

    def __init__(self, buffer: Buffer, values: np.ndarray, pitch: int, first: int = 0) -> None:
        self.rows, self.columns = values.shape
        self.values, self.pitch, self.first, self.buffer = values, pitch, first, buffer
        around = np.full(self.columns + GUARD, np.nan, values.dtype)
        for row in range(self.rows):
            around[: self.columns] = values[row]
            self.buffer.write(around, first + row * pitch * values.itemsize)

    def arguments(self) -> list[object]:
        return [ctypes.c_void_p(self.buffer.address + self.first), self.rows, self.columns, self.pitch, 1]

    def read(self) -> np.ndarray:
        """All rows; what lies behind each must still be NaN."""
        size = self.columns + GUARD
        step = self.pitch * self.values.itemsize
        rows = [self.buffer.read(self.values.dtype, size, self.first + row * step) for row in range(self.rows)]
        assert all(np.isnan(row[self.columns :]).all() for row in rows)
        return np.array(rows)[:, : self.columns]


GUARD = 64


@pytest.fixture(scope="module", params=["gfx942", "gfx950"])
def large(request: pytest.FixtureRequest) -> Iterator[tuple[Device, Buffer]]:
    """A device with a buffer of over 4.5 GiB, mere address space until touched; matrices lie in it a MiB apart.

    Kept for all tests: freed memory stays out of use for a while, so that stale accesses are found."""
    device = open_device(f"emulator:{request.param}")
    try:
        buffer = device.alloc(9 * GIB // 2 + (1 << 26))
    except HipError as error:
        pytest.skip(f"the device is too small here: {error}")
    yield device, buffer
    buffer.free()


MIB = 1 << 20


def multiply(
    large: tuple[Device, Buffer],
    m: int,
    n: int,
    k: int,
    trans: str,
    pitches: tuple[int, int, int],
    sanitize: bool = False,
    **options: object,
) -> None:
    random = np.random.default_rng(m + n + k)
    left, right = (random.standard_normal(shape).astype(np.float16) for shape in ((m, k), (k, n)))
    device, buffer = large
    kernel = compiled(GEMM, device.arch, DTYPE="f16", TRANS=trans, **options)
    assert kernel.meta is not None
    a = Strided(buffer, left.T if trans[0] == "t" else left, pitches[0])
    b = Strided(buffer, right.T if trans[1] == "t" else right, pitches[1], MIB)
    c = Strided(buffer, np.full((m, n), np.nan, np.float16), pitches[2], 2 * MIB)
    tile = {**{"BM": 128, "BN": 128}, **options}
    grid = (-(-m // int(str(tile["BM"]))), -(-n // int(str(tile["BN"]))), 1)
    arguments = [*a.arguments(), *b.arguments(), *c.arguments()]
    with device.load(kernel.hsaco) as loaded:
        with device.sanitize() if sanitize else contextlib.nullcontext():
            loaded.function("gemm").launch(grid, (kernel.meta.block, 1, 1), arguments)
            device.synchronize()
        assert device.reports() == []
        exact = left.astype(np.float64) @ right.astype(np.float64)
        bound = 2.0**-10 * abs(exact) + (k + 2) * 2.0**-23 * (abs(left).astype(float) @ abs(right).astype(float)) + 2e-7
        assert np.all(abs(c.read() - exact) <= bound)


@pytest.mark.parametrize(
    ("m", "n", "k", "trans", "pitches"),
    [
        # Rows of A and C over 4 GiB apart, by workgroups.
        (1100, 40, 40, "nt", (WIDE, 128, WIDE)),
        # The loop walks along K through 4.3 GiB, of A alone or of both.
        (40, 40, 1100, "tt", (WIDE, 1200, 128)),
        (40, 72, 1090, "tn", (WIDE, WIDE, 136)),
        # Rows too far apart for 32-bit offsets inside a tile.
        (280, 40, 33, "nt", (BEYOND, 128, BEYOND)),
        (40, 40, 280, "tn", (BEYOND, BEYOND, 128)),
    ],
)
def test_gemm_over_4_gib(
    large: tuple[Device, Buffer], m: int, n: int, k: int, trans: str, pitches: tuple[int, int, int]
) -> None:
    assert max(pitches) * max(m, k) * 2 > 4 * GIB
    multiply(large, m, n, k, trans, pitches, BM=64, BN=64, BK=32, SCHEDULE="uniform", STAGES=2)


@pytest.mark.parametrize(("trans", "pitches"), [("nt", (WIDE, 256, WIDE)), ("tn", (WIDE, WIDE, 512))])
def test_ping_pong_over_4_gib(large: tuple[Device, Buffer], trans: str, pitches: tuple[int, int, int]) -> None:
    """Sanitized; the last rows lie over 4 GiB on."""
    m, n, k = (1090, 130, 128) if trans == "nt" else (300, 130, 1088)
    multiply(large, m, n, k, trans, pitches, sanitize=True, BM=256, BN=256, BK=64, SCHEDULE="pingpong")


def launch(large: tuple[Device, Buffer], source: str, arguments: list[object], grid: int = 1) -> None:
    device, _ = large
    kernel = compiled(source, device.arch)
    assert kernel.meta is not None
    with device.sanitize(), device.load(kernel.hsaco) as loaded:
        loaded.function("k").launch((grid, 1, 1), (kernel.meta.block, 1, 1), arguments)
        device.synchronize()
    assert device.reports() == []


LINE = """
kernel k(X: view[N, f16], p: i32) grid (1) {
    X[p : p + 1024] = X[p : p + 1024] + X[p : p + 1024]
}
"""


def test_a_line_of_4_gib(large: tuple[Device, Buffer]) -> None:
    """The last elements that a size of 31 bits can name; what is behind them is not touched."""
    _, buffer = large
    count, first = (1 << 31) - 1, (1 << 31) - 1000
    values = np.arange(1024, dtype=np.float16)
    buffer.write(values, first * 2)
    launch(large, LINE, [buffer, count, 1, first])
    found = buffer.read(np.float16, 1024, first * 2)
    assert np.array_equal(found[:999], 2 * values[:999])
    assert np.array_equal(found[999:], values[999:])


WALK = """
kernel k(A: view[1, K, f16], C: view[1, 16, f32]) grid (1) {
    acc = zeros(16, 16, f32)
    for k in range(0, K, 16777216) {
        acc += A[0 : 16, k : k + 32] @ A[0 : 16, k : k + 32].T
    }
    C[0 : 16, 0 : 16] = acc
}
"""


def test_a_loop_that_walks_4_gib_along_a_row(large: tuple[Device, Buffer]) -> None:
    _, buffer = large
    step, count = 1 << 24, (1 << 31) - (1 << 25)
    squares = 0
    for index, at in enumerate(range(0, count, step)):  # 2**31 - 1 would be stepped over
        values = np.full(32, index % 7, np.float16)
        buffer.write(values, at * 2)
        squares += 32 * (index % 7) ** 2
    buffer.write(np.full(32, np.nan, np.float32), MIB)
    launch(large, WALK, [buffer, 1, count, count, 1, ctypes.c_void_p(buffer.address + MIB), 1, 16, 16, 1])
    found = buffer.read(np.float32, 32, MIB)
    assert found[0] == squares
    assert np.array_equal(found[1:16], np.zeros(15))
    assert np.isnan(found[16:]).all()


BATCH = """
kernel k(A: view[B, M, K, f16], C: view[B, M, M, f32]) grid (B) {
    a = A[block(0), 0 : 64, 0 : 64]
    C[block(0), 0 : 64, 0 : 64] = zeros(64, 64, f32) + a @ A[block(0), 0 : 64, 0 : 64].T
}
"""


@pytest.mark.parametrize("gap", [3 * GIB // 2, 4 * GIB + 4096])
def test_batches_gibibytes_apart(large: tuple[Device, Buffer], gap: int) -> None:
    """The stride of the batch axis takes more than 32 bits, in bytes and, at a gap of 4 GiB, in elements."""
    _, buffer = large
    random = np.random.default_rng(gap)
    m, k = 50, 40
    batches = [
        random.integers(-4, 4, (m, k)).astype(np.float16) for _ in range(4 * GIB // gap + 1 if gap < 4 * GIB else 2)
    ]
    for index, batch in enumerate(batches):
        buffer.write(batch, index * gap)
        buffer.write(np.full((m + 1, m), np.nan, np.float32), index * gap + MIB)
    count = len(batches)
    arguments = [
        buffer,
        count,
        m,
        k,
        gap // 2,
        k,
        1,
        ctypes.c_void_p(buffer.address + MIB),
        count,
        m,
        m,
        gap // 4,
        m,
        1,
    ]
    launch(large, BATCH, arguments, grid=count)
    for index, batch in enumerate(batches):
        found = buffer.read(np.float32, (m + 1, m), index * gap + MIB)
        assert np.array_equal(found[:m], batch.astype(np.float32) @ batch.astype(np.float32).T)
        assert np.isnan(found[m]).all()


TALL = """
kernel k(X: view[M, N, f16], Y: view[M, N, f16]) grid (1) {
    Y[0 : 2048, 0 : 8] = X[0 : 2048, 0 : 8] + X[0 : 2048, 0 : 8]
}
"""


@pytest.mark.parametrize("pitch", [1 << 20, (1 << 21) + 4096])
def test_a_tile_that_reaches_over_4_gib(large: tuple[Device, Buffer], pitch: int) -> None:
    """2048 rows, of 1 MiB and of a little more than 2 MiB: a 32-bit offset reaches only the former."""
    _, buffer = large
    values = np.arange(2048 * 8, dtype=np.float32).reshape(2048, 8).astype(np.float16)
    x, y = Strided(buffer, values, pitch // 2), Strided(buffer, np.zeros_like(values), pitch // 2, 1 << 19)
    launch(large, TALL, [*x.arguments(), *y.arguments()])
    assert np.array_equal(y.read(), 2 * values)
