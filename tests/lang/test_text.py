"""`.tile` text: what parses, and where and how syntax errors are reported."""

from __future__ import annotations

from pathlib import Path

import pytest

from hkc.errors import HkcError
from hkc.lang import syntax
from hkc.lang.text import parse_text

HEADER = "kernel f(A: view[M, K, bf16], n: i32; BM = 64) grid (1) {\n"


def parse(text: str) -> list[syntax.KernelDef]:
    return parse_text(text, "k.tile")


def body(text: str) -> tuple[syntax.Statement, ...]:
    """The statements of a kernel whose body begins on line 2."""
    (kernel,) = parse(HEADER + text + "\n}\n")
    return kernel.body


def value(text: str) -> syntax.Expression:
    (statement,) = body(f"x = {text}")
    assert isinstance(statement, syntax.Assign)
    return statement.values[0]


def failure(text: str) -> HkcError:
    with pytest.raises(HkcError) as caught:
        parse(text)
    return caught.value


def test_kernel_with_everything() -> None:
    (kernel,) = parse(
        """
        // a comment of its own
        kernel gemm(A: view[M, K, DTYPE],
                    B: view[N, K, DTYPE] if TRANS == "nt" else view[K, N, DTYPE], alpha: f32;  # the constants:
                    BM = 2 * 64, SCALE = -1.5, TRANS = "nt", DTYPE = bf16, CAUSAL = True, REQUIRED,)
            grid (cdiv(M, BM), 1,)
            waves (2, 2)
        {
            pass
        }
        """
    )
    assert kernel.name == "gemm"
    assert [(p.name, p.is_view) for p in kernel.parameters] == [("A", True), ("B", True), ("alpha", False)]
    defaults = {name: constant.default for name, constant in kernel.constants.items()}
    assert {k: str(v) for k, v in defaults.items()} == {
        **{"BM": "128", "SCALE": "-1.5", "TRANS": "nt", "DTYPE": "bf16", "CAUSAL": "True"},
        "REQUIRED": "None",
    }
    assert len(kernel.grid) == 2
    assert kernel.waves is not None
    assert str(kernel.span) == "k.tile:3:16"


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("1 + 2 * n", "1 + (2 * n)"),
        ("n - 1 - 2", "(n - 1) - 2"),
        ("-n ** 2", "-(n ** 2)"),
        ("n @ n.T", "n @ (n.T)"),
        ("not n < 1 and n > 2 or n == 3", "((not (n < 1)) and (n > 2)) or (n == 3)"),
        ("n if n else n if n else 2", "n if n else (n if n else 2)"),
        ("n // 2 // 3 % 5", "((n // 2) // 3) % 5"),
        ("- - n", "-(-n)"),
        ("f(n,)", "f(n)"),
        ("0x10 + 1_000", "16 + 1000"),
        ("'a'", '"a"'),
        (".5 + 1. + 1e3", "0.5 + 1.0 + 1000.0"),
    ],
)
def test_precedence(text: str, same: str) -> None:
    assert value(text) == value(same)


def test_literals_of_different_types_differ() -> None:
    assert value("1") != value("1.0")
    assert value("1") != value("True")


def test_spans_of_expressions() -> None:
    (statement,) = body("acc = A[0 : 64, n : n + 64].T @ zeros(64, 64, bf16)")
    assert isinstance(statement, syntax.Assign)
    product = statement.values[0]
    assert isinstance(product, syntax.Binary)
    places = [(s.line, s.column, s.end_column) for s in (statement.span, product.left.span, product.right.span)]
    assert places == [(2, 1, 52), (2, 7, 30), (2, 33, 52)]


def test_newlines_and_comments() -> None:
    statements = body(
        """
        x = (n   # comments end lines
             // 2)
        // not a division, nothing stands before it

        if n < 1 { y = 1 }   # and else goes on with the statement
        // also after this
        else { y = 2 }
        z = n // 2 # a division
        for i in range(n) { // a comment
            w = 1 }
        """
    )
    assert [type(s).__name__ for s in statements] == ["Assign", "If", "Assign", "For"]
    assert isinstance(statements[0], syntax.Assign)
    assert statements[0].values[0] == value("n // 2")
    assert isinstance(statements[1], syntax.If)
    assert len(statements[1].otherwise) == 1


def test_crlf_lines_have_the_columns_of_lf_lines() -> None:
    text = HEADER + "x = 1\ny = $\n}\n"
    assert str(failure(text.replace("\n", "\r\n")).span) == str(failure(text).span) == "k.tile:3:5"


def test_a_byte_order_mark_is_no_text() -> None:
    assert parse("\ufeff" + HEADER + "}")[0].span.column == 8


def test_names_that_are_keywords_only_before_the_body() -> None:
    (kernel,) = parse("kernel grid(n: i32) grid (n) { kernel = n\n waves = kernel }")
    assert kernel.name == "grid"
    assert len(kernel.body) == 2


ERRORS = [
    ("x = (1 + 2", (3, 1), "unexpected '}'", "')'", None),
    ("x = 1 2", (2, 7), "unexpected '2'", "an operator, ',', '}' or the end of the line", None),
    ("x =", (2, 4), "unexpected the end of the line", "an expression", None),
    ("x = $", (2, 5), "unexpected '$'", None, None),
    ("x = \x00", (2, 5), "unexpected character U+0000", None, None),
    ("x = n & 1", (2, 7), "unexpected '&'", None, "write `and`"),
    ('x = "abc', (2, 5), "unexpected '\"'", None, "a string ends on the line where it begins"),
    ("x = 1 // two words", (2, 14), "unexpected 'words'", None, "after a value // divides"),
    ("while n { }", (2, 7), "unexpected 'n'", None, "there is only `for"),
    ("return n", (2, 8), "unexpected 'n'", None, "a kernel returns nothing"),
    ("if n < 1 { }\nelif n < 2 { }", (3, 6), "unexpected 'n'", None, "write `else if`"),
    ("for i in range(3):", (2, 18), "unexpected ':'", "'{'", "the body stands in { }"),
    ("if n = 3 { }", (2, 6), "unexpected '='", "'{'", "compare with =="),
    ("x = n < 1 < 2", (2, 11), "unexpected '<'", None, "write a < b and b < c"),
    ("x = f(a=1, 2)", (2, 12), "a positional argument follows a keyword argument", None, None),
    ("x = n.to(dtype=f32)", (2, 10), ".to() takes no keyword arguments", None, None),
    ("x = 0x", (2, 6), "unexpected 'x'", None, None),
    ("x = 1__0", (2, 5), "1__0 is not a number", None, None),
    ("1 = n", (2, 1), "this can't be assigned to", "a name, or a slice", None),
    ("x, y = 1", (2, 1), "1 value for 2 targets", None, None),
    ("n + 1", (2, 1), "this statement has no effect", None, "assign the value to a name"),
    ("for i in n { }", (2, 10), "a loop runs over a range", "range(low, high, step)", None),
    ("x = " + "(" * 10_000, (2, 84), "the brackets are nested too deeply", "at most 80 levels", None),
    ("if n < 1 {" * 300, (2, 800), "the brackets are nested too deeply", None, None),
    ("x = " + "-" * 10_000 + "1", (2, 85), "this is nested too deeply", "at most 80 levels", None),
    ("x = " + " + ".join("1" * 10_000), (2, 5), "this is nested too deeply", None, None),
]


@pytest.mark.parametrize(("text", "place", "message", "expected", "hint"), ERRORS, ids=[e[0][:20] for e in ERRORS])
def test_errors_in_a_body(
    text: str, place: tuple[int, int], message: str, expected: str | None, hint: str | None
) -> None:
    error = failure(HEADER + text + "\n}\n")
    assert error.span is not None
    assert (error.span.file, error.span.line, error.span.column) == ("k.tile", *place)
    assert error.message == message
    assert expected is None or expected in (error.expected or "")
    assert hint is None or hint in (error.hint or "")


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("", (1, 1), "the file has no kernel"),
        ("// nothing\n", (1, 11), "unexpected end of the file"),
        (HEADER + "x = 1\n", (2, 6), "unexpected end of the file"),
        ("kernel f() { }", (1, 8), "the kernel f has no grid"),
        ("kernel f() grid (1, 2, 3, 4) { }", (1, 8), "the kernel f has a grid of too many axes"),
        ("kernel f() grid (1) waves (1, 2, 3) { }", (1, 28), "waves takes two numbers"),
        ("kernel f(A: i32, A: i32) grid (1) { }", (1, 18), "A is declared twice"),
        ("kernel f(A: i32; A = 3) grid (1) { }", (1, 18), "A is declared twice"),
        ("kernel f(; A = 3, A = 4) grid (1) { }", (1, 19), "the constant A is declared twice"),
        ("kernel f(; A = nt) grid (1) { }", (1, 16), "the default of A can't use nt"),
        ("kernel f(; A = 3 @ 4) grid (1) { }", (1, 16), "this can't stand in the default of A"),
        ("kernel f(; A = exp(1.0)) grid (1) { }", (1, 16), "this can't stand in the default of A"),
        ("kernel f(; A = B + 1, B = A) grid (1) { }", (1, 16), "the default of A can't use B"),
        ("kernel f(; A = C, B = 1) grid (1) { }", (1, 16), "the default of A can't use C"),
        ("kernel f(; A in (1, n) = 1) grid (1) { }", (1, 21), "the values of a constant are literals"),
        ('kernel f(; A in ("x", "yy") = "y") grid (1) { }', (1, 12), "A=y is none of its values"),
        ("kernel f(; A = 1 // 0) grid (1) { }", (1, 16), "division by zero"),
        ("kernel f() grid (1) { }\nkernel f() grid (1) { }", (2, 8), "there are two kernels named f"),
        ("kernel f(A) grid (1) { }", (1, 11), "unexpected ')'"),
    ],
)
def test_errors_around_bodies(text: str, place: tuple[int, int], message: str) -> None:
    error = failure(text)
    assert error.span is not None
    assert (error.span.line, error.span.column) == place
    assert error.message == message


def test_a_damaged_parser_cache_is_made_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from hkc.lang import grammar

    monkeypatch.setenv("HKC_CACHE_DIR", str(tmp_path))
    monkeypatch.delenv("HKC_CACHE", raising=False)
    grammar.parser.cache_clear()
    try:
        body("x = 1")
        (stored,) = tmp_path.iterdir()
        whole = stored.read_bytes()
        for damaged in (b"", whole[:1000], b"\x80\x05garbage"):
            stored.write_bytes(damaged)
            grammar.parser.cache_clear()
            assert len(body("x = 1")) == 1
            assert len(stored.read_bytes()) > 10_000
    finally:
        grammar.parser.cache_clear()


def test_parsing_needs_no_writable_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from hkc.lang import grammar

    blocked = tmp_path / "file"
    blocked.write_text("")
    monkeypatch.setenv("HKC_CACHE_DIR", str(blocked / "below"))
    grammar.parser.cache_clear()
    try:
        assert len(body("x = 1")) == 1
    finally:
        grammar.parser.cache_clear()
