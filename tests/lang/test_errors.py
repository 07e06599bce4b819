"""Errors of the elaborator: message and exact place, one test a message."""

from __future__ import annotations

import pytest

from hkc.errors import HkcError
from hkc.lang.elaborate import elaborate
from hkc.lang.text import parse_text

HEADER = (
    "kernel f(A: view[M, K, bf16], B: view[N, K, bf16], C: view[M, N, f32], D: view[4, L, M, K, f16],"
    " n: i32, alpha: f32; BM = 64) grid (1) {\n"
)
TILES = "a = zeros(64, 32, bf16)\nt = zeros(64, 64, f32)\ni = zeros(64, 64, i32)\n"  # lines 2 to 4
LDS = "s = lds(2, 64, 32, bf16)\nt = zeros(64, 32, f32)\n"  # lines 2 and 3

# body, place, message, then a part of expected, got, hint and of the first note (None: not looked at)
NAMES = [
    ("x = yy", (2, 5), "unknown name yy", "", "", ""),
    ("x = alfa", (2, 5), "unknown name alfa", "", "", "did you mean alpha?"),
    ("x = foo(3)", (2, 5), "there is no function foo", "block, wave", "", ""),
    ("x = zeross(3)", (2, 5), "there is no function zeross", "", "", "did you mean zeros?"),
    ("print(n)", (2, 1), "there is no function print", "", "", "a kernel can't print"),
    ("x = zeros(64, f99)", (2, 15), "unknown element type f99", "f32, f16, bf16", "", ""),
    ("x = n.to(float16)", (2, 10), "unknown element type float16", "", "", ""),
    ("for i in range(n) { x = 1 }\ny = x", (3, 5), "x may be undefined here", "", "", "assign x before the loop"),
    ("for i in range(n) { pass }\ny = i", (3, 5), "i may be undefined here", "", "", ""),
    ("if n < 3 { x = 1 }\ny = x", (3, 5), "x may be undefined here", "", "", "assign x before the if"),
    ("x = 1\nfor x in range(n) { pass }", (3, 5), "the loop's variable x is a name in use", "", "", ""),
    ("x = A.foo", (2, 5), "there is no attribute .foo of this", ".T, .dtype", "", ""),
    ("x = A.sum()", (2, 5), "there is no method .sum() like this", ".to(dtype)", "", ""),
    ("x = alpha.exp()", (2, 5), "there is no method .exp() like this", "", "", "write exp(x)"),
    ("x = A.shape", (2, 5), "a shape is used one axis at a time", "A.shape[0]", "", ""),
    ("x = A.shape[2]", (2, 5), "no such axis", "0 to 1", "", ""),
    ("x = n.shape[0]", (2, 5), "an i32 scalar has no shape", "", "", ""),
    ("x = (n + 1).dtype", (2, 5), ".dtype is asked of a name", "", "", ""),
    ("x = range(3)", (2, 5), "a range is no value", "for name in range", "", ""),
]
SCALARS = [
    ("x = n + alpha", (2, 5), "'+' of i32 and f32", "two values of one type", "", "convert one: x.to(f32)"),
    ("x = n / 2", (2, 5), "'/' of i32 values", "", "", "use //"),
    ("x = alpha // 2", (2, 5), "'//' of f32 values", "", "", "x.to(i32)"),
    ("x = alpha % 2", (2, 5), "'%' of floats", "integers", "", ""),
    ("x = n and n < 1", (2, 5), "'and' of i32 and i1", "", "", ""),
    ("x = n or n", (2, 5), "'or' of i32 values", "conditions", "", "compare: x != 0"),
    ("x = not n", (2, 5), "'not' of an i32 value", "", "", "compare: x == 0"),
    ("x = -(n < 1)", (2, 5), "minus a condition", "", "", "use `not`"),
    ("x = (n < 1) + (n < 2)", (2, 5), "'+' of conditions", "", "", ""),
    ("x = (n < 1) < (n < 2)", (2, 5), "'<' of conditions", "numbers", "", ""),
    ("x = n ** 2", (2, 5), "** takes compile-time constants", "", "", "x * x"),
    ("x = n @ n", (2, 5), "@ multiplies tiles", "", "an i32 scalar @ an i32 scalar", ""),
    ("x = n.to(i1)", (2, 5), "a number can't become a condition", "", "", "compare: x != 0"),
    ("x = n.to(3)", (2, 5), ".to() takes an element type, not the int 3", "", "", ""),
    ("x = n if alpha else 1", (2, 10), "an f32 scalar is no condition", "a comparison", "", ""),
    (
        "x = n if n < 1 else 'a'",
        (2, 5),
        'a conditional expression can\'t choose the string "a" at run time',
        "",
        "",
        "",
    ),
    ("if n { pass }", (2, 4), "an i32 scalar is no condition", "", "", "compare: x != 0"),
    ("if 'a' { pass }", (2, 4), 'the string "a" is no condition', "", "", ""),
    ("x = 5 // 0", (2, 5), "division by zero", "", "", ""),
    ("x = 5 + 'a'", (2, 5), 'the int 5 + the string "a" is not arithmetic', "", "", ""),
    ("x = 5 == 'a'", (2, 5), 'the int 5 == the string "a" compares different kinds', "", "", ""),
    ("x = 2 ** 1000", (2, 5), "the result is too large", "", "", ""),
    ("x = (-2.0) ** 0.5", (2, 5), "-2.0 ** 0.5 has no real value", "", "", ""),
    ("x = sqrt(-1)", (2, 5), "sqrt(-1) has no value", "", "", ""),
    ("x = log('a')", (2, 5), 'log of the string "a"', "a number", "", ""),
    ("x = exp(n)", (2, 5), "exp of an i32 scalar", "a tile or a constant", "", ""),
    ("x = n + 3000000000", (2, 5), "3000000000 does not fit i32", "", "", "(...).to(i64)"),
    ("x = n + 1.5", (2, 5), "'+' of i32 and f32", "", "", ""),
    ("x = (300).to(i8)", (2, 5), "300 does not fit i8", "", "", ""),
    ("x = inf.to(i32)", (2, 5), "inf does not fit i32", "", "", ""),
    ("x = 'a'.to(i32)", (2, 5), 'the string "a" can\'t become i32', "", "", ""),
    ("x = -'a'", (2, 5), 'minus the string "a"', "a number", "", ""),
    ("x = block(3)", (2, 5), "a grid has axes 0, 1 and 2", "", "the int 3", ""),
    ("x = block(n)", (2, 5), "a grid has axes 0, 1 and 2", "", "an i32 scalar", ""),
    ("x = ordered_block(2)", (2, 5), "axes 0 and 1 of a grid are ordered", "", "the int 2", "block(2)"),
    ("x = ordered_block(0, chunk=3)", (2, 5), "chunk is not a power of two", "1, 2, 4", "the int 3", ""),
    ("x = ordered_block(0, window=n)", (2, 5), "window is not a power of two", "", "an i32 scalar", ""),
    ("x = min(1)", (2, 5), "these arguments do not fit min", "min(x, y)", "", ""),
    ("x = barrier()", (2, 1), "the right side has no value", "", "", ""),
    ("C[0 : 8, 0 : 8] = barrier()", (2, 1), "the right side has no value", "", "", ""),
    ("x = 1 + barrier()", (2, 5), "'+' of nothing", "", "", ""),
    ("exp(zeros(64, f32))", (2, 1), "this statement has no effect", "", "", ""),
    ("x = min(n, y=3)", (2, 5), "these arguments do not fit min", "", "", ""),
    ("x = max(n, n, y=1, y=2)", (2, 20), "y is given twice", "", "", ""),
    ("x = wait(barrier())", (2, 10), "this argument has no value", "", "", ""),
]
TILE = [
    ("a @ a", (5, 5), "the inner dimensions of the matmul differ: 32 columns against 64 rows", "", "64x32", "a @ b.T"),
    ("a.T @ a.T", (5, 5), "the inner dimensions of the matmul differ: 64 columns against 32 rows", "", "", ".T"),
    ("a @ t[0]", (5, 9), "a 64x64 f32 tile can't be indexed like this", "", "", ""),
    ("a @ 3", (5, 5), "a matmul takes two tiles", "", "the int 3", ""),
    ("zeros(64, f32) @ t", (5, 5), "a matmul takes 2-D tiles", "", "a 64 f32 tile @", ""),
    ("t @ t.to(bf16)", (5, 5), "both operands of a matmul have one float type", "", "", ""),
    ("i @ i", (5, 5), "both operands of a matmul have one float type", "", "", ""),
    (
        "a + a @ a.T",
        (5, 9),
        "the accumulator does not fit the matmul",
        "a 64x64 f32 tile",
        "a 64x32 bf16 tile",
        "zeros(",
    ),
    ("t.to(f16) + a @ a.T", (5, 17), "the accumulator does not fit the matmul", "", "64x64 f16", ""),
    ("a + t", (5, 5), "'+' of tiles of different shapes", "", "64x32 bf16 tile and 64x64 f32 tile", ""),
    ("t + i", (5, 5), "'+' of tiles of different element types", "", "", "x.to(f32)"),
    ("t + n", (5, 5), "an i32 scalar for a tile of f32", "", "", "x.to(f32)"),
    ("a * alpha", (5, 5), "an f32 scalar for a tile of bf16", "", "", "x.to(bf16)"),
    ("i + 1.5", (5, 5), "1.5 is not an integer", "i32", "", ""),
    ("t + 'a'", (5, 5), 'the string "a" as an element of a tile of f32', "", "", ""),
    ("t + (n < 1)", (5, 5), "an i1 scalar for a tile of f32", "", "", ""),
    ("t // t", (5, 5), "tiles have no '//'", "", "", ""),
    ("t and t", (5, 5), "tiles have no 'and'", "", "", "where"),
    ("not t", (5, 5), "'not' of a 64x64 f32 tile", "a condition", "", ""),
    ("i / i", (5, 5), "'/' of integer tiles", "", "", "x.to(f32)"),
    ("-i", (5, 5), "minus takes floats", "", "", "x.to(f32)"),
    ("exp(i)", (5, 5), "exp takes floats", "", "", "x.to(f32)"),
    ("where(n < 1, t, t)", (5, 5), "where takes an i1 tile, not an i1 scalar", "", "", "use `x if c else y`"),
    ("where(t, t, t)", (5, 5), "where takes an i1 tile, not a 64x64 f32 tile", "", "", "compare: x < y"),
    ("where(t < 1, t, a)", (5, 5), "'where' of tiles of different shapes", "", "", ""),
    ("where(t < 1, a, a)", (5, 5), "the condition and the values have different shapes", "", "", ""),
    ("fma(1, 2, n)", (5, 5), "fma of the int 1", "a tile among its operands", "", ""),
    ("fmax(1, n)", (5, 5), "fmax of the int 1", "a tile", "", "use max(x, y)"),
    ("fmin(i, 3)", (5, 5), "fmin takes floats", "", "", "x.to(f32)"),
    ("row_fmax(i)", (5, 5), "row_fmax of a 64x64 i32 tile", "floats", "", "use row_max"),
    ("narrow(i, bf16)", (5, 5), "narrow of a 64x64 i32 tile", "a float tile", "", ""),
    ("narrow(a, f16)", (5, 5), "narrow to the element type f16", "a float type narrower than bf16", "", "x.to(...)"),
    ("rescale(i, t)", (5, 5), "rescale of a 64x64 i32 tile", "a 2-D float tile", "", ""),
    ("rescale(t, 2)", (5, 5), "rescale by the int 2", "a 1-D f32 tile of factors", "", ""),
    ("rescale(t, zeros(32, f32))", (5, 5), "rescale takes one factor a row", "64 factors", "32", ""),
    ("row_sum(n)", (5, 5), "row_sum of an i32 scalar", "a 2-D tile", "", ""),
    ("col_max(t < 1)", (5, 5), "col_max of a 64x64 i1 tile", "", "", "where(c, 1, 0)"),
    ("t * col(zeros(32, f32))", (5, 5), "a column of 32 does not fit a tile of 64x64", "64 elements", "32", ""),
    ("a * zeros(64, bf16)", (5, 5), "a row of 64 does not fit a tile of 64x32", "32 elements", "64", "col(v)"),
    ("col(t)", (5, 5), "col of a 64x64 f32 tile", "a 1-D tile", "", ""),
    ("col(zeros(64, f32)) + 1", (5, 5), "how many columns has this tile?", "", "", "col(v, N)"),
    ("t @ col(zeros(64, f32))", (5, 5), "a matmul takes two tiles", "", "a column of 64 f32", ""),
    ("row_index(n, 3)", (5, 5), "the extent of the tile is no compile-time integer", "", "", ""),
    ("where(t < 1, 'a', 2)", (5, 5), 'where of the string "a"', "", "", ""),
    ("zeros(64, f32).T", (5, 5), "only a 2-D tile has a transpose", "", "a 64 f32 tile", ""),
    ("n.T", (5, 5), "an i32 scalar has no .T", "", "", ""),
    ("A.T", (5, 5), "a view of bf16 has no .T", "", "", "load a tile"),
    ("A + 1", (5, 5), "'+' of a view of bf16", "", "", "load a tile"),
    (
        "t if n < 1 else t",
        (5, 5),
        "a conditional expression can't choose a 64x64 f32 tile at run time",
        "",
        "",
        "if st",
    ),
    ("zeros(f32)", (5, 5), "a tile has 1 or 2 extents and an element type", "", "", "full("),
    ("zeros(2, 2, 2, f32)", (5, 5), "a tile has 1 or 2 extents and an element type", "", "", ""),
    ("zeros(64, 64)", (5, 5), "the int 64 is no element type", "", "", ""),
    ("zeros(n, 64, f32)", (5, 5), "the extent of a tile is no compile-time integer", "", "an i32 scalar", ""),
    ("zeros(BM - 64, 64, f32)", (5, 5), "the extent of a tile is 0", "1 or more", "", "check the constants"),
    ("zeros(-1, 64, f32)", (5, 5), "the extent of a tile is -1", "", "", ""),
    ("full(t, 64, f32)", (5, 5), "full of a 64x64 f32 tile", "a scalar", "", ""),
    ("full(1.5, 64, i32)", (5, 5), "1.5 is not an integer", "", "", ""),
]
VIEWS = [
    ("x = A[0 : 64]", (2, 5), "a view of rank 2 takes 2 slices", "", "1", ""),
    ("x = A[0, 0]", (2, 5), "a tile has at least one dimension", "", "", "k : k + 1"),
    ("x = A[alpha, 0 : 64]", (2, 5), "an index of a view is an i32", "", "an f32 scalar", "x.to(i32)"),
    ("x = A[-1, 0 : 64]", (2, 5), "an index is outside of the view", "0 or more", "-1", ""),
    ("x = A[barrier(), 0 : 64]", (2, 7), "an index of a view is an i32", "", "nothing", ""),
    ("x = D[4, n, n, 0 : 64]", (2, 5), "an index is outside of the view", "0 to 3", "4", ""),
    ("x = D[n, n, 0 : 64]", (2, 5), "a view of rank 4 takes 4 slices and indices", "", "3", ""),
    ("x = D[n, 0 : 4, 0 : 4, 0 : 64]", (2, 5), "a tile has 1 or 2 dimensions", "indices for the other", "3 slices", ""),
    ("x = D[n] + 1", (2, 5), "'+' of a view of f16", "", "", "load a tile"),
    ("x = D[n]\ny = x[n, n, n, n]", (3, 5), "a view of rank 3 takes 3 slices and indices", "", "4", ""),
    (
        "x = aligned(D)",
        (2, 5),
        "aligned asks about a view of 1 or 2 dimensions",
        "",
        "view[4, L, M, K, f16]",
        "aligned(A[",
    ),
    ("x = A[0 : 64, n : K]", (2, 15), "the extent of this slice is not known at compile time", "EXTENT", "", ""),
    ("x = A[0 : 64, n :]", (2, 15), "the extent of this slice is not known at compile time", "", "", ""),
    ("x = A[0 : 64, 0 : 64 : 2]", (2, 24), "a slice of a view has no step", "", "", ""),
    ("x = A[-64 : 0, 0 : 64]", (2, 7), "a slice can't begin before the view", "", "-64", ""),
    ("x = A[64 : 0, 0 : 64]", (2, 7), "the extent of the slice is -64", "1 or more", "", ""),
    ("x = A[alpha : alpha + 64, 0 : 64]", (2, 5), "an offset is an i32", "", "an f32 scalar", "x.to(i32)"),
    ("C[0 : 64, 0 : 64] = A[0 : 64, 0 : 64]", (2, 1), "a tile of bf16 stored to a view of f32", "", "", "x.to(f32)"),
    (
        "C[0 : 64, 0 : 64] = zeros(64, f32)",
        (2, 1),
        "the tile and the slice it is stored to have different shapes",
        "64x64",
        "",
        "",
    ),
    ("C[0 : 64, 0 : 64] = A", (2, 1), "a view of bf16 can't be stored", "a 64x64 f32 tile", "", ""),
    ("n[0 : 64] = 1", (2, 1), "an i32 scalar can't be stored to", "a slice of a view", "", ""),
    ("x = aligned(n)", (2, 5), "aligned asks about a view, not an i32 scalar", "", "", ""),
]
SYNC = [
    ("x = lds(n, 64, 64, bf16)", (4, 5), "the extent of an LDS tile is no compile-time integer", "", "", ""),
    ("x = lds(2, 64, 64, 3)", (4, 5), "the int 3 is no element type", "", "", ""),
    ("x = s[2]", (4, 5), "the LDS allocation has no buffer 2", "0 to 1", "", ""),
    ("x = s[0][1]", (4, 5), "this is one buffer of an LDS allocation already", "", "", ""),
    ("x = s[alpha]", (4, 5), "a buffer's index is an i32", "", "", ""),
    ("x = s[0 : 1]", (4, 5), "a 2x64x32 bf16 LDS tile can't be indexed like this", "", "", ""),
    ("x = s[0] + 1", (4, 5), "'+' of a 64x32 bf16 LDS tile", "", "", "read(s[0])"),
    ("s[0] = t", (4, 1), "a 2x64x32 bf16 LDS tile can't be stored to", "", "", "write(x, s[0])"),
    ("x = read(s)", (4, 5), "name one buffer of the LDS allocation", "", "", "s[0]"),
    ("x = read(t)", (4, 5), "a 64x32 f32 tile is no LDS slot", "", "", ""),
    ("x = write(t, s[0])", (4, 5), "write takes a tile like the LDS slot", "a 64x32 bf16 tile", "a 64x32 f32 tile", ""),
    ("copy(t, s[0])", (4, 1), "copy moves a slice of a view, not a 64x32 f32 tile", "copy(A[", "", ""),
    ("copy(A[0 : 64, 0 : 64], s[0])", (4, 1), "the slice and the LDS slot have different shapes", "64x32", "64x64", ""),
    ("copy(C[0 : 64, 0 : 32], s[0])", (4, 1), "copy can't convert elements", "f32", "LDS of bf16", ""),
    ("copy(A[0 : 64, 0 : 32], s[0], when=n)", (4, 1), "when=an i32 scalar is no condition", "a comparison", "", ""),
    ("wait()", (4, 1), "wait needs the tokens to wait for", "copy() or write()", "", ""),
    ("wait(n)", (4, 1), "wait takes tokens, not an i32 scalar", "", "", ""),
    ("set_priority(4)", (4, 1), "the priority is out of range", "0 to 3", "the int 4", ""),
    ("set_priority(n)", (4, 1), "the priority is out of range", "0 to 3", "an i32 scalar", ""),
    ("waitcnt()", (4, 1), "waitcnt needs a counter", "vmcnt=N", "", ""),
    ("waitcnt(vmcnt=64)", (4, 1), "vmcnt is out of range", "0 to 63", "the int 64", ""),
    ("waitcnt(lgkmcnt=n)", (4, 1), "lgkmcnt is out of range", "0 to 15", "an i32 scalar", ""),
]
FLOW = [
    ("for i in range(0, n, 0) { }", (2, 10), "the step of a loop is 0", "1 or more", "", ""),
    ("for i in range(1, 2, 3, 4) { }", (2, 10), "these arguments do not fit range", "range(low", "", ""),
    ("for i in range(n, tiles=2) { }", (2, 10), "these arguments do not fit range", "", "", ""),
    ("for i in range(alpha) { }", (2, 1), "a loop's end is an i32", "", "an f32 scalar", "x.to(i32)"),
    (
        "for i in range(n, stages=0) { }",
        (2, 10),
        "stages is the number of buffers of the loop's loads",
        "1 or more",
        "the int 0",
        "",
    ),
    ("for i in range(n, schedule=2) { }", (2, 10), "schedule is a name", "a string", "the int 2", ""),
    (
        "x = 1\nfor i in range(n) { x = 1.5 }",
        (3, 21),
        "x changes its type in the loop",
        "an i32 scalar",
        "the float 1.5",
        "",
    ),
    ("x = 1\nfor i in range(n) { x = n.to(i64) }", (3, 21), "x changes its type in the loop", "", "", "(0).to(i64)"),
    (
        "x = zeros(8, f32)\nfor i in range(n) { x = x.to(f16) }",
        (3, 21),
        "x changes its type in the loop",
        "",
        "",
        "x.to(f32)",
    ),
    ("x = A\nfor i in range(n) { x = B }", (3, 21), "x is a view of bf16, which a loop can't change", "", "", ""),
    ("x = 'a'\nfor i in range(n) { x = 'b' }", (3, 21), 'x is the string "a", which a loop can\'t change', "", "", ""),
    ("if n < 1 { x = 1 } else { x = 1.5 }", (2, 12), "x has two types after the if", "", "the int 1 in one branch", ""),
    ("x = alpha\nif n < 1 { x = n }", (3, 12), "x has two types after the if", "", "an i32 scalar in one branch", ""),
    ("if n < 1 { x = A } else { x = B }", (2, 12), "x is a view of bf16, which an if can't change", "", "", ""),
]
CASES = [
    *NAMES,
    *SCALARS,
    *((f"{TILES}x = {text}", *rest) for text, *rest in TILE),
    *VIEWS,
    *((LDS + text, *rest) for text, *rest in SYNC),
    *FLOW,
]


def failure(text: str, constants: dict[str, object] | None = None) -> HkcError:
    with pytest.raises(HkcError) as caught:
        elaborate(parse_text(text, "k.tile")[0], constants or {})
    return caught.value


@pytest.mark.parametrize(
    ("text", "place", "message", "expected", "got", "hint"), CASES, ids=[c[0][-40:] for c in CASES]
)
def test_error(text: str, place: tuple[int, int], message: str, expected: str, got: str, hint: str) -> None:
    error = failure(HEADER + text + "\n}\n")
    assert error.message == message
    assert error.span is not None
    assert (error.span.file, error.span.line, error.span.column) == ("k.tile", *place)
    assert expected in (error.expected or "")
    assert got in (error.got or "")
    assert hint in (error.hint or "")


def test_notes_name_the_other_place() -> None:
    error = failure(HEADER + "x = 1\nfor i in range(n) {\n    x = 1.5\n}\n}")
    assert [(m, str(s)) for m, s in error.notes] == [("x begins as an i32 scalar here", "k.tile:2:1")]
    error = failure(HEADER + "if n < 1 { x = 1 } else { x = 1.5 }\n}")
    assert [str(s) for _, s in error.notes] == ["k.tile:2:27"]
    error = failure(HEADER + "for i in range(n) {\n    y = 1\n}\nz = y\n}")
    assert [(m, str(s)) for m, s in error.notes] == [("it is bound only inside a loop", "k.tile:3:5")]


HEADS = [
    ("kernel f(A: foo) grid (1) { }", (1, 13), "A has no type of an argument"),
    ("kernel f(A: f16) grid (1) { }", (1, 13), "A has no type of an argument"),
    ("kernel f(A: view) grid (1) { }", (1, 13), "A has no type of an argument"),
    ("kernel f(A: view[L, M, N, K, H, f32]) grid (1) { }", (1, 13), "a view has 1 to 4 dimensions"),
    ("kernel f(A: view[f32]) grid (1) { }", (1, 13), "a view has 1 to 4 dimensions"),
    ("kernel f(A: view[M, f33]) grid (1) { }", (1, 21), "unknown element type f33"),
    ("kernel f(A: view[f32, M]) grid (1) { }", (1, 18), "the element type stands last in a view"),
    ("kernel f(A: view[M + 1, f32]) grid (1) { }", (1, 18), "a view lists its dimensions and its element type"),
    ("kernel f(A: view[0, f32]) grid (1) { }", (1, 18), "a dimension of a view is 0"),
    ("kernel f(A: view[M, N]) grid (1) { }", (1, 13), "the view A has no element type"),
    ("kernel f(A: view[n, f32], n: i32) grid (1) { }", (1, 13), "n is a dimension of A and an argument too"),
    (
        "kernel f(A: view[M, f32] if T else view[M, f16]; S = 1) grid (1) { }",
        (1, 29),
        "the type of an argument may depend on constants only",
    ),
    ("kernel f(A: view[M, f32]) grid (N) { }", (1, 33), "the grid can't use N"),
    ("kernel f(a: f32) grid (a) { }", (1, 24), "the grid can't use a"),
    ("kernel f() grid (1.5) { }", (1, 18), "this can't stand in a grid"),
    ("kernel f(A: view[M, f32]) grid (M / 2) { }", (1, 33), "this can't stand in a grid"),
    ("kernel f() grid (cdiv(1)) { }", (1, 18), "cdiv takes two arguments"),
    ("kernel f() grid (4 // 0) { }", (1, 18), "division by zero in the grid"),
    ("kernel f(n: i32) grid (1) waves (n, 1) { }", (1, 34), "this must be known at compile time"),
    ("kernel f() grid (1) waves (0, 1) { }", (1, 28), "waves takes two positive constants"),
    ("kernel f(; B) grid (1) { }", (1, 12), "the constant B of kernel f has no value"),
]


@pytest.mark.parametrize(("text", "place", "message"), HEADS, ids=[h[0][7:45] for h in HEADS])
def test_error_around_the_body(text: str, place: tuple[int, int], message: str) -> None:
    error = failure(text)
    assert error.message == message
    assert error.span is not None
    assert (error.span.line, error.span.column) == place


def test_constants_change_what_is_wrong() -> None:
    text = "kernel f(; B = 64) grid (1) { x = zeros(B, f32) }"
    assert failure(text, {"B": 0}).message == "the extent of a tile is 0"
    elaborate(parse_text(text, "k.tile")[0], {})
