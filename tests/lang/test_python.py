"""Python kernels: the same tree as text, constants from outside, and errors at the Python line and column."""

from __future__ import annotations

import linecache
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import hkc
import hkc as hk
from hkc import cdiv as round_up
from hkc.errors import HkcError
from hkc.lang import names
from hkc.lang.elaborate import elaborate
from hkc.lang.functions import USAGE
from hkc.lang.pyfront import kernel_from_function
from hkc.lang.text import parse_text

WIDTH = 64
SCALE = math.pi
ELEMENT = hk.f32
WORD = "nt"


def helper(x: Any) -> Any:
    return x


def same(function: Callable[..., Any], text: str, **constants: object) -> None:
    """The function and the text are the same program."""
    (kernel,) = parse_text(text, "k.tile")
    assert str(elaborate(kernel_from_function(function, grid=(1,)), constants)) == str(elaborate(kernel, constants))


def test_everything_that_python_writes_differently() -> None:
    def f(A: hk.View["M", "K", hk.bf16], C: hk.View["M", "N", ELEMENT], n: hk.i32, alpha: hk.f32, *, B=32, T="nt"):
        """A docstring is no statement."""
        K = A.shape[1]
        s = hk.lds(2, B, 16, hk.bf16)
        m, c = hk.block(0) * B, hkc.block(1)
        if T == "nn":
            m = undefined
        elif T == WORD:
            acc = hk.zeros(B, 32, hk.f32)
        for k in range(0, K, 16):
            acc += A[m : m + B, k : k + 16] @ A[c : c + 32, k : k + 16].T
            if k % 3 == 1 and (n < 3 or not hk.aligned(A)):
                acc = max(acc, 0.0) if True else acc
            elif k > n:
                pass
            else:
                acc = abs(-acc) ** 1 if False else acc
        t = hk.copy(A[m : m + B, 0:16], s[c % 2], when=n != 3)
        hk.wait(t)
        hk.waitcnt(vmcnt=0)
        C[m : m + B, 0:32] = acc * (alpha * SCALE) + hk.cdiv(WIDTH, 3) + round_up(7, 2) - hk.inf

    same(
        f,
        f"""
        kernel f(A: view[M, K, bf16], C: view[M, N, f32], n: i32, alpha: f32; B = 32, T = "nt") grid (1)
        {{
            s = lds(2, B, 16, bf16)
            m, c = block(0) * B, block(1)
            if T == "nn" {{ m = undefined }} else if T == "nt" {{ acc = zeros(B, 32, f32) }}
            for k in range(0, K, 16) {{
                acc += A[m : m + B, k : k + 16] @ A[c : c + 32, k : k + 16].T
                if k % 3 == 1 and (n < 3 or not aligned(A)) {{
                    acc = max(acc, 0.0)
                }} else if k > n {{ pass }} else {{ acc = acc }}
            }}
            t = copy(A[m : m + B, 0 : 16], s[c % 2], when=n != 3)
            wait(t)
            waitcnt(vmcnt=0)
            C[m : m + B, 0 : 32] = acc * (alpha * {math.pi!r}) + cdiv(64, 3) + cdiv(7, 2) - inf
        }}
        """,
    )


def test_constants_of_closures() -> None:
    def make(size: int, element: Any) -> Callable[..., Any]:
        def f(C: hk.View["M", hk.f32]):
            C[0:size] = hk.zeros(size, element)

        return f

    same(make(16, hk.f32), "kernel f(C: view[M, f32]) grid (1) { C[0 : 16] = zeros(16, f32) }")
    same(make(48, hk.f32), "kernel f(C: view[M, f32]) grid (1) { C[0 : 48] = zeros(48, f32) }")


def test_sizes_that_depend_on_constants() -> None:
    def f(A: hk.View["M", D, hk.f16] if FLAG else hk.View["M", hk.f16], *, D=64, FLAG=True):
        pass

    same(f, "kernel f(A: view[M, D, f16] if FLAG else view[M, f16]; D = 64, FLAG = True) grid (1) { }")
    same(f, "kernel f(A: view[M, D, f16] if FLAG else view[M, f16]; D = 64, FLAG = True) grid (1) { }", FLAG=False)


def grid_of(grid: Any, waves: Any = None) -> list[str]:
    def f(A: hk.View["M", "N", hk.f32], n: hk.i32, *, BM=64):
        pass

    module = elaborate(kernel_from_function(f, grid=grid, waves=waves), {})
    return [axis.value for axis in module.body.operations[0].attributes["tile.grid"]]


def grid_function(M: Any, BM: Any) -> Any:
    """The number of row blocks."""
    return hk.cdiv(M, BM), 2


def test_grids() -> None:
    assert grid_of(lambda M, BM: (hk.cdiv(M, BM), WIDTH)) == ["cdiv(M, 64)", "64"]
    assert grid_of(lambda M, n: M // 2 + n) == ["M // 2 + n"]
    two = (lambda M: M + 1, lambda M: M + 2)
    assert [grid_of(g) for g in two] == [["M + 1"], ["M + 2"]]
    assert grid_of(grid_function) == ["cdiv(M, 64)", "2"]
    assert grid_of(("cdiv(M, BM)", 3)) == ["cdiv(M, 64)", "3"]
    assert grid_of(7) == ["7"]


@pytest.mark.parametrize(
    ("grid", "message"),
    [
        (None, "the kernel f has no grid"),
        (lambda Q: Q, "the grid can't use Q"),
        (lambda M: M / 2, "this can't stand in a grid"),
        (lambda M: [M], "a list can't be used in a kernel"),
        (lambda: (), "the kernel f has no grid"),
        (("M +",), "malformed grid expression: M +"),
        (2.5, "a grid can't be a float"),
        (("foo(M)",), "this can't stand in a grid"),
        (helper, "the grid can't use x"),
    ],
)
def test_grid_errors(grid: Any, message: str) -> None:
    with pytest.raises(HkcError) as caught:
        grid_of(grid)
    assert caught.value.message == message


@pytest.mark.parametrize("waves", [3, (1,), (1, 2, 3), ("a", 2), (0, 1)])
def test_waves_errors(waves: Any) -> None:
    with pytest.raises(HkcError, match="waves takes two"):
        grid_of((1,), waves)


# Functions with `@` before the place of the error, after it the message and a part of the hint.
PREFIX = """\
from __future__ import annotations
import hkc as hk
from hkc import block
LIST = [1]
def helper(x): return x
"""
BODIES = [
    ("@while True: pass", "while can't be used in a kernel", "hk.range"),
    ("é = A[0:64]; @return é", "return can't be used in a kernel", "store to a view"),
    ("@try: pass\n    except ValueError: pass", "try can't be used in a kernel", "no exceptions"),
    ("@with A: pass", "with can't be used in a kernel", ""),
    ("x = @[i for i in range(3)]", "a comprehension can't be used in a kernel", "hk.range"),
    ("x = @helper(A)", "there is no function helper", "functions of the language only"),
    ("@print(A)", "there is no function print", "store values to a view"),
    ("x = @widht", "unknown name widht", ""),
    ("x = @LIST", "a list can't be used in a kernel", "integers, floats, strings and element types"),
    ("x = @hk.zeross(64, hk.f32)", "there is no function zeross", "did you mean zeros?"),
    ("x = hk.zeros(64, @hk.f33)", "unknown element type f33", "f32"),
    ("x = @hk.block + 1", "block is a function", "hk.block(...)"),
    ("x = @1 < block(0) < 3", "comparisons can't be chained", "a < b and b < c"),
    ("x = @y = 3", "one assignment a statement", ""),
    ("@x: int = 3", "an annotated assignment can't be used in a kernel", "name = value"),
    ("x = @block(0) & 3", "there is no operator &", "`and`"),
    ("x = @~A", "there is no operator ~", "`not`"),
    ("x = @lambda: 3", "a lambda can't be used in a kernel", ""),
    ("@def inner(): pass", "a nested def can't be used in a kernel", ""),
    ("x = hk.wait(@*A)", "a starred value can't be used in a kernel", ""),
    ("x = hk.waitcnt(**@A)", "** can't be used in a kernel", ""),
    ("for i in range(3): pass\n    else: @x = 3", "a loop has no else", "after the loop"),
    ("for @i, j in range(3): pass", "a loop has one variable", ""),
    ("for i in @LIST: pass", "a list can't be used in a kernel", ""),
    ("x = @block(0) is A", "`in` and `is` can't be used in a kernel", "=="),
    ("x = @f'{A}'", "an f-string can't be used in a kernel", ""),
    ("x = A[0:64].to(@dtype=hk.f16)", ".to() takes no keyword arguments", ""),
    ("x = @None", "a NoneType can't be used in a kernel", ""),
    ("x, y = @A", "several names take as many values", "a, b = x, y"),
    ("x = (@y := 3)", ":= can't be used in a kernel", ""),
    ("x = A[0:64]; é = 'é'; y = @x + A[0:32]", "'+' of tiles of different shapes", ""),
    ("@A", "this statement has no effect", ""),
]
SIGNATURES = [
    ("@A", "the argument A has no type", "hk.View"),
    ("A: @int", "this is no type of an argument", "hk.i32"),
    ('A: @hk.Vieww["M"]', "this is no type of an argument", "hk.View"),
    ("*@A", "*A can't be an argument of a kernel", "name each argument"),
    ("**@A", "**A can't be an argument of a kernel", "name each argument"),
    ("n: hk.i32 = @3", "a run-time argument has no default", "after a bare *"),
    ("*, n=@LIST", "the constant n can't be a list", ""),
]


@pytest.mark.parametrize(
    ("function", "message", "hint"),
    [
        *((f'def f(A: hk.View["M", hk.f32]):\n    {body}\n', *rest) for body, *rest in BODIES),
        *((f"def f({parameters}):\n    pass\n", *rest) for parameters, *rest in SIGNATURES),
    ],
    ids=[case[0] for case in (*BODIES, *SIGNATURES)],
)
def test_error(function: str, message: str, hint: str, tmp_path: Path) -> None:
    text = PREFIX + function
    before = text[: text.index("@")]
    path = tmp_path / "kernel.py"
    path.write_text(text.replace("@", ""), encoding="utf-8")
    space: dict[str, Any] = {}
    exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), space)
    with pytest.raises(HkcError) as caught:
        elaborate(kernel_from_function(space["f"], grid=(1,)), {})
    error = caught.value
    assert error.message == message
    assert hint in (error.hint or "")
    assert error.span is not None
    place = (str(path), before.count("\n") + 1, len(before.splitlines()[-1]) + 1)
    assert (error.span.file, error.span.line, error.span.column) == place


def test_functions_without_source() -> None:
    space: dict[str, Any] = {}
    exec("def f(A): pass", space)
    with pytest.raises(HkcError, match="the source of the kernel f is not available"):
        kernel_from_function(space["f"], grid=(1,))
    with pytest.raises(HkcError, match="a kernel is a function written with def"):
        kernel_from_function(lambda A: None, grid=(1,))
    with pytest.raises(HkcError, match="no Python function"):
        kernel_from_function(len, grid=(1,))


def test_source_that_changed(tmp_path: Any) -> None:
    path = tmp_path / "kernel.py"
    path.write_text("def f(A): pass\n")
    space: dict[str, Any] = {}
    exec(compile(path.read_text(), str(path), "exec"), space)
    path.write_text("\n\n\ndef g(A): pass\n")
    linecache.checkcache(str(path))
    with pytest.raises(HkcError, match="has changed since it was loaded"):
        kernel_from_function(space["f"], grid=(1,))


def test_names_outside_of_kernels() -> None:
    assert hk.cdiv(7, 2) == 4
    assert hk.View["M", "K"] is hk.View
    with pytest.raises(HkcError, match=r"hk\.View was called"):
        hk.View()


@pytest.mark.parametrize("name", USAGE)
def test_functions_outside_of_kernels(name: str) -> None:
    assert names.language_name(getattr(hk, name)) == name
    if name == "cdiv":
        return
    counts = {
        "write": 2,
        "where": 3,
        "row_index": 2,
        "fmin": 2,
        "rescale": 2,
        "narrow": 2,
        "fmax": 2,
        "fma": 3,
        "col_index": 2,
        "copy": 2,
        "lds": 4,
        "min": 2,
        "max": 2,
    }
    none = ("wave", "barrier", "schedule_barrier", "interleave", "wait", "waitcnt", "zeros")
    with pytest.raises(HkcError, match=f"hk\\.{name} was called by Python itself"):
        getattr(hk, name)(*[1] * counts.get(name, int(name not in none)))
