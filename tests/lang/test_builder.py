"""The builder: the same module as the text, and errors at the caller's line."""

from __future__ import annotations

import inspect
import re

import pytest
from mlir import ir

import hkc as hk
from hkc import builder as tb
from hkc.errors import HkcError
from hkc.lang.elaborate import elaborate
from hkc.lang.text import parse_text


def text_module(text: str) -> str:
    (kernel,) = parse_text(text, "k.tile")
    return str(elaborate(kernel, {}))


def gemm() -> ir.Module:
    with tb.kernel("gemm", grid=["cdiv(M, 128)", "cdiv(N, 128)"], waves=(2, 2)) as k:
        a_view = k.view("A", "M", "K", hk.bf16)
        b_view = k.view("B", "N", "K", hk.bf16)
        c_view = k.view("C", "M", "N", hk.bf16)
        alpha = k.scalar("alpha", hk.f32)
        m = (tb.block(0) * 128).named("m")
        n = (tb.block(1) * 128).named("n")
        zeros = tb.zeros(128, 128, hk.f32).named("acc")
        with tb.loop(0, tb.dim(a_view, 1), 64, name="k", stages=2, schedule="uniform", acc=zeros) as (i, v):
            a = tb.load(a_view, [m, i], [128, 64]).named("a")
            v.acc += a @ tb.load(b_view, [n, i], [128, 64]).T
        with tb.when((m < n) & ~(alpha < 0), factor=alpha) as choice:
            with choice.then():
                choice.factor = 2.0
            with choice.otherwise():
                choice.factor *= 0.5
        tb.store(c_view, [m, n], (v.acc * choice.factor).to(hk.bf16))
    return k.module


TEXT = """
kernel gemm(A: view[M, K, bf16], B: view[N, K, bf16], C: view[M, N, bf16], alpha: f32)
    grid (cdiv(M, 128), cdiv(N, 128)) waves (2, 2)
{
    m = block(0) * 128
    n = block(1) * 128
    acc = zeros(128, 128, f32)
    for k in range(0, K, 64, stages=2, schedule="uniform") {
        a = A[m : m + 128, k : k + 64]
        acc += a @ B[n : n + 128, k : k + 64].T
    }
    factor = alpha
    if m < n and not (alpha < 0.0) { factor = 2.0 } else { factor = factor * 0.5 }
    C[m : m + 128, n : n + 128] = (acc * factor).to(bf16)
}
"""


def test_same_module_as_the_text() -> None:
    assert str(gemm()) == text_module(TEXT)


def test_lds_by_hand() -> None:
    with tb.kernel("f", grid="1") as k:
        view = k.view("A", "M", "K", hk.f32)
        s = tb.lds(2, 16, 32, hk.f32)
        tb.wait(tb.copy(view, [0, 0], s[0], when=tb.aligned(view)), tb.write(tb.read(s[0]), s[1]))
        tb.waitcnt(vmcnt=1)
        tb.barrier()
        x = tb.where(tb.read(s[1]) < 1.0, tb.exp(tb.read(s[0])), tb.full(2.0, 16, 32, hk.f32))
        tb.store(view, [0, 0], tb.maximum(x, 0.0))
    assert str(k.module) == text_module(
        """
        kernel f(A: view[M, K, f32]) grid (1) {
            s = lds(2, 16, 32, f32)
            wait(copy(A[0 : 16, 0 : 32], s[0], when=aligned(A)), write(read(s[0]), s[1]))
            waitcnt(vmcnt=1)
            barrier()
            x = where(read(s[1]) < 1.0, exp(read(s[0])), full(2.0, 16, 32, f32))
            A[0 : 16, 0 : 32] = max(x, 0.0)
        }
        """
    )


def line_of(marker: str) -> int:
    lines, first = inspect.getsourcelines(inspect.getmodule(line_of))  # type: ignore[arg-type]
    return next(i for i, line in enumerate(lines, first or 1) if line.rstrip().endswith(f"# {marker}"))


def test_errors_are_at_the_callers_line() -> None:
    with pytest.raises(HkcError) as caught, tb.kernel("f", grid="1"):
        tb.block(0) + 1.5  # here: mixed
    assert caught.value.message == "'+' of i32 and f32"
    assert caught.value.span is not None
    assert (caught.value.span.file, caught.value.span.line) == (__file__, line_of("here: mixed"))


@pytest.mark.parametrize(
    ("use", "message"),
    [
        (lambda k: k.view("A", "M", 3.5, hk.f32), "the view A is malformed"),
        (lambda k: k.view("A", "M"), "the view A is malformed"),
        (lambda k: k.scalar("s", hk.bf16), "the scalar s can't be a bf16"),
        (lambda k: (k.scalar("s", hk.f32), k.scalar("s", hk.f32)), "s is declared twice"),
        (lambda k: bool(tb.block(0) < 3), "this value is known only when the kernel runs"),
        (lambda k: tb.when(True).__enter__(), "the condition is known at compile time"),
        (lambda k: tb.store(k.view("A", "M", hk.f32), [0], 1.5), "the float 1.5 can't be stored"),
        (lambda k: tb.load(k.view("A", "M", hk.f32), [0, 0], [8]), "a view of rank 1 takes 1 slice"),
        (lambda k: tb.loop(0, 3, -1).__enter__(), "the step of a loop is -1"),
        (lambda k: tb.loop(0, 3).__enter__()[1].missing, "there is no variable missing"),
    ],
)
def test_errors(use: object, message: str) -> None:
    with pytest.raises(HkcError) as caught, tb.kernel("f", grid="1") as k:
        use(k)  # type: ignore[operator]
    assert caught.value.message == message


def test_a_carried_value_keeps_its_type() -> None:
    with pytest.raises(HkcError) as caught, tb.kernel("f", grid="1"), tb.loop(0, 3, x=tb.block(0)) as (_, v):
        v.x = tb.zeros(8, hk.f32)
    assert caught.value.message == "x changes its type"
    assert re.search("tile", caught.value.got or "")


def test_parts_of_views_are_the_languages() -> None:
    text = """kernel f(A: view[L, 3, M, K, f32], C: view[M, L, f32]) grid (L)
    {
        b = block(0)
        part = A[b]
        x = part[2, 0 : 16, 0 : 64]
        y = A[b, 1, 0 : 16, 0 : 64]
        C[0 : 16, b] = A[b, 0, 0 : 16, 7]
    }"""
    with tb.kernel("f", grid="L") as k:
        a, c = k.view("A", "L", 3, "M", "K", hk.f32), k.view("C", "M", "L", hk.f32)
        b = tb.block(0).named("b")
        part = a[b].named("part")
        tb.load(part, [2, 0, 0], [None, 16, 64]).named("x")
        tb.load(a, [b, 1, 0, 0], [None, None, 16, 64]).named("y")
        tb.store(c, [0, b], tb.load(a, [b, 0, 0, 7], [None, None, 16, None]), [16, None])
    assert str(k.module) == text_module(text)
