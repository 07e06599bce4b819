"""The interpreter on programs of the language: results against NumPy, bounds against machine arithmetic,
rules."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from hkc.dtypes import DTYPES
from hkc.errors import HkcError
from hkc.interp import View, run
from hkc.lang.elaborate import elaborate
from hkc.lang.text import parse_text
from hkc.numerics import decode, encode, round_to

BF16, F16, F32, I32 = (DTYPES[n] for n in ("bf16", "f16", "f32", "i32"))

GEMM = """\
kernel gemm(A: view[M, K, DTYPE], B: view[N, K, DTYPE], C: view[M, N, DTYPE];
            BM = 128, BN = 128, BK = 64, DTYPE = bf16)
    grid (cdiv(M, BM), cdiv(N, BN))
{
    m = block(0) * BM
    n = block(1) * BN
    acc = zeros(BM, BN, f32)
    for k in range(0, K, BK) {
        acc += A[m : m + BM, k : k + BK] @ B[n : n + BN, k : k + BK].T
    }
    C[m : m + BM, n : n + BN] = acc.to(DTYPE)
}
"""


def execute(
    text: str,
    arrays: dict[str, View],
    grid: tuple[int, ...],
    scalars: dict[str, object] | None = None,
    **constants: object,
) -> None:
    (kernel,) = parse_text(text, "test.tile")
    run(elaborate(kernel, constants), {**arrays, **(scalars or {})}, grid)


def view(values: np.ndarray, dtype: object = F32, pad: int = 0) -> View:
    """A view of a fresh array, with rows ``pad`` elements apart."""
    rounded = round_to(values.astype(np.float64), dtype) if dtype.is_float else values.astype(np.int64)
    strides = (values.shape[-1] + pad, 1) if values.ndim == 2 else (1,)
    return View(rounded, dtype, strides)


def blank(shape: tuple[int, ...], dtype: object = F32) -> View:
    return View(np.full(shape, np.nan), dtype, (shape[-1], 1) if len(shape) == 2 else (1,))


@pytest.mark.parametrize("dtype", [BF16, F16])
@pytest.mark.parametrize(("m", "n", "k"), [(128, 128, 64), (100, 37, 130), (1, 1, 1), (129, 257, 63)])
def test_gemm_is_right_and_its_bound_holds_for_f32_arithmetic(dtype: object, m: int, n: int, k: int) -> None:
    rng = np.random.default_rng(m * n + k)
    a, b, c = view(rng.standard_normal((m, k)), dtype), view(rng.standard_normal((n, k)), dtype), blank((m, n), dtype)
    execute(GEMM, {"A": a, "B": b, "C": c}, (-(-m // 128), -(-n // 128)), DTYPE=dtype)
    exact = a.values @ b.values.T
    np.testing.assert_array_equal(c.values, round_to(exact, dtype))
    # A machine that sums one product after the other in f32, and rounds once at the end.
    machine = np.zeros((m, n), np.float32)
    for i in range(k):
        machine += np.outer(a.values[:, i], b.values[:, i]).astype(np.float32)
    error = np.abs(round_to(machine.astype(np.float64), dtype) - c.values)
    assert (error <= c.errors).all()
    # The bound is no blank cheque: near the unit of the type, and zero nearly never.
    assert c.errors.mean() < 0.02 * np.sqrt(k)


def test_a_wrong_sum_is_out_of_bounds() -> None:
    rng = np.random.default_rng(3)
    a, b, c = (
        view(rng.standard_normal((64, 96)), BF16),
        view(rng.standard_normal((64, 96)), BF16),
        blank((64, 64), BF16),
    )
    execute(GEMM, {"A": a, "B": b, "C": c}, (1, 1))
    dropped = round_to(a.values[:, 1:] @ b.values[:, 1:].T, BF16)
    assert (np.abs(dropped - c.values) > c.errors).mean() > 0.5


def test_an_empty_sum_is_zero() -> None:
    c = blank((5, 7), BF16)
    execute(GEMM, {"A": view(np.zeros((5, 0)), BF16), "B": view(np.zeros((7, 0)), BF16), "C": c}, (1, 1))
    assert (c.values == 0).all()


MAP = """\
kernel map(X: view[N, T], Y: view[N, T], Z: view[N, T]; T = f32)
    grid (cdiv(N, 64))
{{
    n = block(0) * 64
    x = X[n : n + 64]
    y = Y[n : n + 64]
    Z[n : n + 64] = {expression}
}}
"""


def f32_map(expression: str, x: np.ndarray, y: np.ndarray) -> View:
    z = blank(x.shape)
    execute(MAP.format(expression=expression), {"X": view(x), "Y": view(y), "Z": z}, (-(-x.size // 64),))
    return z


@pytest.mark.parametrize(
    ("expression", "function"),
    [
        ("x + y", lambda x, y: x + y),
        ("x - y", lambda x, y: x - y),
        ("x * y", lambda x, y: x * y),
        ("x / y", lambda x, y: x / y),
        ("max(x, y)", np.maximum),
        ("min(x, y)", np.minimum),
        ("-x", lambda x, y: -x),
        ("abs(x)", lambda x, y: np.abs(x)),
        ("exp(x)", lambda x, y: np.exp(x)),
        ("exp2(x)", lambda x, y: np.exp2(x)),
        ("log(abs(x))", lambda x, y: np.log(np.abs(x))),
        ("log2(abs(x))", lambda x, y: np.log2(np.abs(x))),
        ("sqrt(abs(x))", lambda x, y: np.sqrt(np.abs(x))),
        ("rsqrt(abs(x))", lambda x, y: 1 / np.sqrt(np.abs(x))),
        ("where(x < y, x, y * 2.0)", lambda x, y: np.where(x < y, x, y * np.float32(2))),
        ("where(x >= y, x, 0.5)", lambda x, y: np.where(x >= y, x, np.float32(0.5))),
        ("(x * y + x) / (y * y + 1.0)", lambda x, y: (x * y + x) / (y * y + np.float32(1))),
        ("exp(x - y) * exp(y)", lambda x, y: np.exp(x - y) * np.exp(y)),
        ("x.to(bf16).to(f32) + y", None),
        ("x.to(f16).to(f32)", lambda x, y: x.astype(np.float16).astype(np.float32)),
        ("x.to(i32).to(f32)", lambda x, y: np.trunc(x)),
    ],
)
def test_maps_hold_their_bound_in_f32(expression: str, function: Callable[..., np.ndarray] | None) -> None:
    rng = np.random.default_rng(7)
    x, y = (rng.standard_normal(200).astype(np.float32) * 3 for _ in range(2))
    z = f32_map(expression, x, y)
    if function is None:
        machine = round_to(x.astype(np.float64), BF16).astype(np.float32) + y
    else:
        machine = function(x, y)
    error = np.abs(machine.astype(np.float64) - z.values)
    assert (error <= z.errors).all()
    assert (z.errors <= 1e-4 * np.maximum(np.abs(z.values), 1)).all()


def test_exact_arithmetic_has_no_error() -> None:
    x, y = np.arange(64.0), np.full(64, 3.0)
    z = f32_map("(x * y + y) * 0.5", x, y)
    np.testing.assert_array_equal(z.values, (x * y + y) / 2)
    assert not z.errors.any()


def test_errors_add_up_through_cancellation() -> None:
    x, y = np.full(64, 1e8), np.full(64, 1.0)
    z = f32_map("(x + y) - x", x, y)
    # f32 gives 0 here (1e8 + 1 is not an f32), the reference 1.
    np.testing.assert_array_equal(z.values, 1.0)
    assert (z.errors >= 1.0).all()


def test_an_unsure_comparison_allows_both_sides() -> None:
    x, y = np.full(64, 1e8), np.full(64, 1.0)
    z = f32_map("where(x + y > x, y, x)", x, y)
    assert (z.errors >= 1e8 - 1).all()


def test_overflow_becomes_infinity() -> None:
    x = np.array([3e38, -3e38, 1.0])
    z = f32_map("x * 2.0", x, x)
    np.testing.assert_array_equal(z.values, [np.inf, -np.inf, 2.0])
    assert not z.errors.any()


def test_nan_goes_through() -> None:
    z = f32_map("max(x, y)", np.array([np.nan, 1.0]), np.array([2.0, 3.0]))
    assert np.isnan(z.values[0])
    assert z.values[1] == 3


def test_integers_wrap_around() -> None:
    z = View(np.zeros(3, np.int64), I32, (1,))
    x = np.array([2**31 - 1, -(2**31), 5])
    execute(
        MAP.format(expression="x + y"), {"X": view(x, I32), "Y": view(np.array([1, -1, 2]), I32), "Z": z}, (1,), T=I32
    )
    np.testing.assert_array_equal(z.values, [-(2**31), 2**31 - 1, 7])


BY_HAND = """\
kernel double(X: view[M, K, bf16], Y: view[M, K, bf16], first: i32; BM = 16, BK = 32)
    grid (cdiv(M, BM))
{
    m = block(0) * BM
    s = lds(2, BM, BK, bf16)
    for k in range(0, K, BK) {
        slot = (k // BK + first) % 2
        t = copy(X[m : m + BM, k : k + BK], s[slot], when=aligned(X))
        wait(t)
        barrier()
        x = read(s[slot])
        Y[m : m + BM, k : k + BK] = x + x
        barrier()
    }
}
"""


def test_lds_copies_and_waits() -> None:
    x, y = view(np.arange(20 * 64.0).reshape(20, 64) % 128, BF16), blank((20, 64), BF16)
    execute(BY_HAND, {"X": x, "Y": y}, (2,), {"first": 0})
    np.testing.assert_array_equal(y.values, 2 * x.values)


def test_a_copy_not_done_clears_the_slot() -> None:
    x, y = view(np.ones((16, 32)), BF16, pad=1), blank((16, 32), BF16)
    assert not x.aligned
    execute(BY_HAND, {"X": x, "Y": y}, (1,), {"first": 0})
    np.testing.assert_array_equal(y.values, 0)


@pytest.mark.parametrize(
    ("change", "first", "pad", "columns", "message"),
    [
        (("%", "*"), 1, 0, 64, r"test.tile:8:\d+: error: LDS slot \d of 2"),
        ((", when=aligned(X)", ""), 0, 1, 64, r"test.tile:8:\d+: error: a wide copy of a view that is not aligned"),
        (("", ""), 0, 1, 33, r"test.tile:8:\d+: error: a wide copy of columns 32 to 64 of a view with 33 columns"),
        (("K, BK)", "K, first)"), 0, 0, 64, r"test.tile:6:\d+: error: the step of a loop must be positive, not 0"),
    ],
)
def test_a_broken_rule_names_the_line(
    change: tuple[str, str], first: int, pad: int, columns: int, message: str
) -> None:
    text = BY_HAND.replace("% 2", f"{change[1]} 2") if change[0] == "%" else BY_HAND.replace(*change)
    with pytest.raises(HkcError, match=message):
        execute(
            text,
            {"X": view(np.ones((16, columns)), BF16, pad=pad), "Y": blank((16, columns), BF16)},
            (1,),
            {"first": first},
        )


def test_waves_that_only_order_themselves_are_followed() -> None:
    text = BY_HAND.replace("        wait(t)\n", "        if wave() < 2 { barrier() }\n        wait(t)\n")
    x, y = view(np.ones((16, 32)), BF16), blank((16, 32), BF16)
    execute(text, {"X": x, "Y": y}, (1,), {"first": 0})
    assert (y.values == 2).all()


def test_waves_that_compute_apart_are_refused() -> None:
    text = BY_HAND.replace("block(0) * BM", "wave() * BM")
    with pytest.raises(HkcError, match="differs between the waves"):
        execute(text, {"X": view(np.ones((16, 32)), BF16), "Y": blank((16, 32), BF16)}, (1,), {"first": 0})


SCALARS = """\
kernel scalars(Y: view[N, f32], a: i32, b: i32, alpha: f32)
    grid (1)
{
    x = zeros(64, f32)
    if a > b and not (a == 3) { x = x + alpha } else { x = x - alpha }
    for i in range(0, a // b) { x = x + 1.0 }
    if a % b == 1 { x = x * 2.0 }
    Y[cdiv(a, b) - 4 : cdiv(a, b) - 4 + 64] = x
}
"""


@pytest.mark.parametrize(("a", "b"), [(7, 2), (3, 2), (8, 2), (2, 3), (-7, 2)])
def test_scalars_loops_and_branches(a: int, b: int) -> None:
    y = blank((80,))
    execute(SCALARS, {"Y": y}, (1,), {"a": a, "b": b, "alpha": 0.5})
    x = 0.5 if a > b and a != 3 else -0.5
    x += max(a // b, 0)
    x *= 2 if a % b == 1 else 1
    start = -(-a // b) - 4
    expected = np.full(80, np.nan)
    expected[max(start, 0) : max(start + 64, 0)] = x
    np.testing.assert_array_equal(y.values, expected)


def test_progress_is_told() -> None:
    (kernel,) = parse_text(GEMM, "test.tile")
    module = elaborate(kernel, {})
    told: list[tuple[int, int]] = []
    arrays = {name: blank((200, 200), BF16) for name in "ABC"}
    run(module, arrays, (2, 2), lambda done, total: told.append((done, total)))
    assert told == [(1, 4), (2, 4), (3, 4), (4, 4)]


@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
@pytest.mark.parametrize(
    ("m", "n", "k", "pad"), [(128, 128, 192, 0), (70, 130, 96, 0), (130, 50, 77, 0), (65, 65, 128, 3)]
)
def test_every_pass_before_map_mfma_keeps_the_results(arch: str, m: int, n: int, k: int, pad: int) -> None:
    from hkc.passes.pipelines import PASSES, set_arch

    rng = np.random.default_rng(5)
    a, b = rng.standard_normal((m, k)), rng.standard_normal((n, k))
    (kernel,) = parse_text(GEMM, "test.tile")
    module = elaborate(kernel, {"BM": 64, "BN": 64})
    set_arch(module, arch)

    def result() -> np.ndarray:
        c = blank((m, n), BF16)
        run(module, {"A": view(a, BF16, pad), "B": view(b, BF16, pad), "C": c}, (-(-m // 64), -(-n // 64)))
        return c.values

    before = result()
    for step in PASSES[: [p.name for p in PASSES].index("map-mfma")]:
        step(module)
        np.testing.assert_array_equal(result(), before, err_msg=f"after {step.name}")


def test_decoding_is_the_inverse_of_encoding() -> None:
    values = round_to(np.random.default_rng(0).standard_normal(1000), BF16)
    np.testing.assert_array_equal(decode(encode(values, BF16), BF16), values)


def test_indexed_axes_share_memory_and_bounds() -> None:
    text = """kernel f(A: view[L, M, H, f32], B: view[L, M, H, f32]) grid (L, H)
    {
        part = B[block(0) - 1]
        part[0 : 8, block(1)] = A[block(0), 0 : 8, block(1)] * 0.1
        B[block(0) + 1, 0 : 8, block(1)] = 7.0
    }"""
    random = np.random.default_rng(3)
    a = random.standard_normal((3, 5, 2))
    views = {"A": View(a, F32, (10, 2, 1)), "B": View(np.zeros((3, 5, 2)), F32, (10, 2, 1))}
    execute(text, views, (3, 2))
    # Workgroups run in order: what one stores ahead, the next but one replaces.
    expected = np.stack([a[1] * 0.1, a[2] * 0.1, np.full((5, 2), 7.0)])
    np.testing.assert_allclose(views["B"].values, expected, rtol=1e-6)
    assert views["B"].inexact
    assert views["B"].errors[0].any()
    assert not views["B"].errors[2].any()


def test_ordered_blocks_take_each_tile_once() -> None:
    text = """kernel f(X: view[M, N, i32]) grid (M, N) {
        X[ordered_block(0) : ordered_block(0) + 1, ordered_block(1) : ordered_block(1) + 1] += 1 + block(0)
    }"""
    x = View(np.zeros((11, 13), np.int64), I32, (13, 1))
    execute(text, {"X": x}, (11, 13))
    assert np.array_equal(np.bincount(x.values.ravel())[1:], np.full(11, 13))
