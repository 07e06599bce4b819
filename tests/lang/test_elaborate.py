"""Syntax to IR: which ops a program becomes."""

from __future__ import annotations

import re

import pytest
from mlir import ir

from hkc.dialect.locations import name_of, span_of
from hkc.dialect.verify import walk
from hkc.dtypes import DTYPES
from hkc.lang.elaborate import elaborate
from hkc.lang.text import parse_text

HEADER = (
    "kernel f(A: view[M, K, bf16], B: view[N, K, bf16], C: view[M, N, f32], V: view[64, f32], n: i32, w: i64,"
    " alpha: f32; BM = 64, T = f32, NAME = 'nt') grid (1) {\n"
)


def module(text: str, **constants: object) -> ir.Module:
    (kernel,) = parse_text(HEADER + text + "\n}\n", "k.tile")
    return elaborate(kernel, constants)


def ops(text: str, **constants: object) -> list[str]:
    """The names of the ops of a kernel with that body, in order, without the function's own."""
    made = module(text, **constants)
    names = [op.name for op in walk(made.operation)]
    return [n for n in names if n not in ("builtin.module", "func.func", "func.return")]


def ir_of(text: str) -> str:
    return str(module(text))


_ALIVE: list[ir.Module] = []


def find(text: str, name: str) -> ir.Operation:
    """The one op of that name."""
    made = module(text)
    _ALIVE.append(made)  # an op does not keep its module
    (op,) = [op for op in walk(made.operation) if op.name == name]
    return op


def test_gemm_step() -> None:
    text = "acc = zeros(64, 64, f32)\nacc += A[0 : 64, 0 : 32] @ B[0 : 64, 0 : 32].T\nC[0:64, 0:64] = acc"
    assert [n for n in ops(text) if n != "arith.constant"] == [
        *("tile.full", "tile.load", "tile.load", "tile.transpose", "tile.mma", "tile.store"),
    ]


@pytest.mark.parametrize("text", ["acc = acc + a @ b", "acc += a @ b", "acc = a @ b + acc", "acc += (a @ b)"])
def test_accumulation_is_one_op(text: str) -> None:
    setup = "acc = zeros(16, 16, f32)\na = zeros(16, 32, bf16)\nb = zeros(32, 16, bf16)\n"
    assert ops(setup + text)[-1] == "tile.mma"
    assert "tile.add" not in ops(setup + text)


def test_a_product_alone_is_added_to_zeros() -> None:
    mma = find("a = zeros(16, 32, bf16)\nb = zeros(32, 16, bf16)\nc = a @ b", "tile.mma")
    assert mma.operands[2].owner.operation.name == "tile.full"
    assert '!tile.tile<"[16, 16] f32">' in str(mma)


def test_constants_fold() -> None:
    assert ops("x = 3 * BM + 2 ** 4 - cdiv(7, 2) % 3\ny = 1.0 / sqrt(64.0)\nz = not (1 < 2)") == []
    assert "dense" not in ir_of("x = n + (BM // 16)")
    assert "arith.constant 4 : i32" in ir_of("x = n + (BM // 16)")


def test_named_values_and_places() -> None:
    text = "m = block(0) * BM\nx = alpha + 1.0"
    made = module(text)
    named = {name_of(op): str(span_of(op)) for op in walk(made.operation) if name_of(op)}
    assert named["m"] == "k.tile:2:5"
    assert named["x"] == "k.tile:3:5"


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("x = n // 3", ["arith.constant", "arith.floordivsi"]),
        ("x = n % 3", ["arith.constant", "arith.floordivsi", "arith.muli", "arith.subi"]),
        ("x = cdiv(n, 3)", ["arith.constant", "arith.ceildivsi"]),
        ("x = -n", ["arith.constant", "arith.subi"]),
        ("x = -alpha", ["arith.negf"]),
        ("x = w + 1", ["arith.constant", "arith.addi"]),
        ("x = alpha * 2", ["arith.constant", "arith.mulf"]),
        ("x = min(alpha, 0.0)", ["arith.constant", "arith.minimumf"]),
        ("x = max(n, n, 3)", ["arith.maxsi", "arith.constant", "arith.maxsi"]),
        ("x = n < 3 and not aligned(A)", None),
        ("x = n if n < 3 else 7", None),
        ("x = n.to(i64) + w", ["arith.extsi", "arith.addi"]),
        ("x = n.to(f32)", ["arith.sitofp"]),
        ("x = alpha.to(bf16)", ["arith.truncf"]),
        ("x = w.to(i32)", ["arith.trunci"]),
        ("x = (n < 3).to(f32)", None),
        ("x = n.to(i32)", []),
    ],
)
def test_scalar_ops(text: str, names: list[str] | None) -> None:
    found = ops(text)
    assert names is None or found == names


def test_literals_take_the_other_sides_type() -> None:
    assert "arith.constant 1 : i64" in ir_of("x = 1 + w")
    assert "arith.constant 1.000000e+00 : f32" in ir_of("x = 1 + alpha")
    assert "arith.constant 1.000000e+00 : bf16" in ir_of("x = 1 + zeros(64, bf16)")
    assert "arith.constant 5 : i64" in ir_of("x = (5).to(i64)\nx = x + w")


def test_scalars_become_tiles() -> None:
    text = "x = zeros(64, f32)\ny = max(x, 0.0) * alpha + 1"
    assert ops(text).count("tile.full") == 4


def test_slices() -> None:
    same = ["A[n : n + BM, 0 : 32]", "A[n : 64 + n, 0 : 32]", "A[n : n + BM, : 32]", "A[n : n + 2 * BM - BM, 0 : 32]"]
    texts = {ir_of(f"x = {text}") for text in same}
    assert len(texts) == 1
    assert '!tile.tile<"[64, 32] bf16">' in texts.pop()
    assert '!tile.tile<"[64] f32">' in ir_of("x = V[:]")
    assert '!tile.tile<"[16, 64] bf16">' in ir_of("x = A[n * 16 : (n + 1) * 16, BM : 2 * BM]")
    assert ops("x = A[n * 16 : (n + 1) * 16, 0 : 64]").count("arith.muli") == 1


def test_loops_carry_what_they_assign() -> None:
    text = "b = zeros(64, f32)\na = 0\nfor i in range(n) { b = b + 1.0\na += i\ntemporary = a }\nx = a"
    loop = find(text, "scf.for")
    arguments = list(loop.regions[0].blocks[0].arguments)
    assert [name_of(a) for a in arguments] == ["i", "a", "b"]
    assert len(loop.results) == 2


def test_loop_options() -> None:
    loop = find('for i in range(0, n, 16, stages=3, schedule="uniform") { pass }', "scf.for")
    assert str(loop.attributes["tile.stages"]) == "3 : i64"
    assert str(loop.attributes["tile.schedule"]) == '"uniform"'


def test_nested_loops_carry_through() -> None:
    text = "a = 0\nfor i in range(n) { for j in range(n) { a += j } }"
    made = module(text)
    loops = [op for op in walk(made.operation) if op.name == "scf.for"]
    assert [len(loop.results) for loop in loops] == [1, 1]


def test_untaken_branches_of_constant_ifs_are_not_carried() -> None:
    text = "a = 1\nfor i in range(n) { if NAME == 'nn' { a = 2 } }\nx = zeros(a, 16, f32)"
    assert len(find(text, "scf.for").results) == 0


def test_constant_ifs_leave_no_trace() -> None:
    text = "if NAME == 'nt' { x = zeros(64, f32) } else { x = zeros(64, i32)\ny = undefined }\nz = x + 1.0"
    assert "scf.if" not in ops(text)


def test_ifs_merge_names() -> None:
    text = "x = 1\nif n < 3 { x = 2\ny = alpha } else { y = 0.5 }\nz = y + x.to(f32)"
    choice = find(text, "scf.if")
    assert [str(r.type) for r in choice.results] == ["i32", "f32"]


def test_ifs_without_names_have_no_else() -> None:
    choice = find("if n < 3 { barrier() }", "scf.if")
    assert len(choice.results) == 0
    assert len(choice.regions[1].blocks) == 0


def test_only_the_taken_side_of_a_constant_conditional_is_made() -> None:
    assert ops("x = A[0 : 64, 0 : 64] if BM == 64 else zeros(64, 64, bf16)").count("tile.load") == 1
    assert "tile.full" not in ops("x = A[0 : 64, 0 : 64] if BM == 64 else zeros(64, 64, bf16)")


def test_logical_operators_stop_early_on_constants() -> None:
    assert ops("x = BM == 64 or undefined_name") == []
    assert ops("x = BM == 3 and undefined_name") == []


def test_store_of_a_scalar_and_augmented_store() -> None:
    assert ops("C[0 : 16, 0 : 16] = 0.0")[-1] == "tile.store"
    found = ops("C[0 : 16, 0 : 16] += 1.5")
    assert [n for n in found if n.startswith("tile.")] == ["tile.load", "tile.full", "tile.add", "tile.store"]


def test_lds_and_copies() -> None:
    text = (
        "s = lds(2, 64, 32, bf16)\nt = copy(A[0 : 64, 0 : 32], s[n % 2], when=n < 3)\nwait(t)\nbarrier()\n"
        "x = read(s[0])\nwait(write(x, s[1]))\nwaitcnt(vmcnt=3)\nwaitcnt(lgkmcnt=0, vmcnt=1)"
    )
    found = [n for n in ops(text) if n.startswith("tile.")]
    assert found == [
        *("tile.lds_alloc", "tile.lds_slot", "tile.copy", "tile.wait", "tile.barrier", "tile.lds_slot"),
        *("tile.lds_read", "tile.lds_slot", "tile.lds_write", "tile.wait", "tile.waitcnt", "tile.waitcnt"),
    ]


def test_sizes() -> None:
    assert "axis = 1" in ir_of("x = K")
    assert ir_of("x = B.shape[1]") == ir_of("x = K")
    assert ir_of("x = B.shape[-1]") == ir_of("x = K")
    assert ops("x = V.shape[0] + 1") == []
    assert ops("K = A.shape[1]") == []
    assert ops("x = zeros(64, 32, f32)\ny = x.shape[0] * x.shape[1]") == ["arith.constant", "tile.full"]


def test_dtypes_as_values() -> None:
    assert "bf16" in ir_of("x = zeros(64, f32).to(A.dtype)")
    assert ops("x = zeros(64, T)\nif x.dtype == f32 { y = 1 } else { y = undefined }") == [
        "arith.constant",
        "tile.full",
    ]


def test_views_without_an_element_type() -> None:
    (kernel,) = parse_text("kernel f(A: view[M]; DTYPE = f16) grid (1) { x = A[0 : 64] }", "k.tile")
    assert "f16" in str(elaborate(kernel, {}))
    assert "bf16" in str(elaborate(kernel, {"DTYPE": DTYPES["bf16"]}))
    (kernel,) = parse_text("kernel f(A: view[M]) grid (1) { x = A[0 : 64] }", "k.tile")
    assert "f64" in str(elaborate(kernel, {}, {"A": DTYPES["f64"]}))


def test_grid_and_waves() -> None:
    (kernel,) = parse_text(
        "kernel f(A: view[M, N, f32], n: i32; B = 2) grid (cdiv(M, B * 64), -(N - n) // (3 - 1), 7) waves (B, 1) { }",
        "",
    )
    text = str(elaborate(kernel, {}))
    assert re.search(r'tile.grid = \["cdiv\(M, 128\)", "-\(N - n\) // 2", "7"\]', text)
    assert "tile.waves = array<i64: 2, 1>" in text


def test_deep_nesting_within_the_limit() -> None:
    text = "x = " + "-(" * 70 + "n" + ")" * 70
    assert ops(text).count("arith.subi") == 70
    nested = "if n < 1 {" * 70 + "barrier()" + "}" * 70
    assert ops(nested).count("scf.if") == 70
