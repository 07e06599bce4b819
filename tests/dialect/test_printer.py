"""The printer: text to IR to text is a fixed point, and IR of later steps prints too."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from mlir import ir

from hkc.dialect.context import parse_module
from hkc.dialect.printer import print_tile
from hkc.lang.elaborate import elaborate
from hkc.lang.text import parse_text

_spec = importlib.util.spec_from_file_location("kernel_strategy", Path(__file__).with_name("kernel_strategy.py"))
assert _spec is not None
assert _spec.loader is not None
strategy = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(strategy)


def module_of(text: str) -> ir.Module:
    """The module of a kernel without constants."""
    (kernel,) = parse_text(text, "printed.tile")
    return elaborate(kernel, {})


def with_names(module: ir.Module) -> str:
    """The IR with the names of values, but without places."""
    text = module.operation.get_asm(enable_debug_info=True, use_local_scope=True)
    text = re.sub(r'"([^"]*)"\("[^"]*":\d+:\d+\)', r"\1", text)
    return re.sub(r'"[^"]*":\d+:\d+', "", text)


def assert_fixed_point(text: str) -> str:
    first = module_of(text)
    printed = print_tile(first)
    second = module_of(printed)
    # A name that the text would read as another variable's is made unique, so names are equal from then on.
    assert second.operation.get_asm() == first.operation.get_asm(), printed
    assert print_tile(second) == printed
    assert with_names(module_of(print_tile(second))) == with_names(second), printed
    return printed


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(strategy.kernels())
def test_text_to_ir_to_text_is_a_fixed_point(text: str) -> None:
    assert_fixed_point(text)


HEADER = "kernel f(A: view[M, K, bf16], C: view[M, N, f32], n: i32, w: i64, alpha: f32)\n    grid (1)\n{\n"


def body(text: str) -> str:
    """A kernel with that body, which is canonical text."""
    lines = "".join(f"    {line}\n" for line in text.strip().splitlines())
    return HEADER + lines + "}\n"


CANONICAL = [
    "x = n + 1 - (n - 2)\ny = (n + 1) * 2 // 3 % 4\nz = -(x + y)",
    "x = n % (n * 2)\ny = (w + 5) % 3\nz = cdiv(n, 3) + min(n, max(n, 4))",
    "x = alpha if n < 3 and not (w == 2 or aligned(A)) else 0.1\ny = n.to(f32) * x",
    "t = A[0 : 64, n : n + 32].T.to(f32)\nC[0 : 32, 0 : 64] = exp(-t) / (t + 1.0)",
    "t = zeros(64, 64, f32)\nC[0 : 64, 0 : 64] = max(1.0 - t, 0.0) + -inf",
    "c = zeros(16, 32, bf16) @ zeros(32, 16, bf16)\nc += A[0 : 16, 0 : 16] @ A[16 : 32, 0 : 16]\nd = 2.0 + c @ c",
    "t = where(C[0 : 8, 0 : 8] < 1.0, 0.0, C[0 : 8, 0 : 8])\nu = full(2.0, 8, 8, f32) * (t - t)",
    "s = lds(2, 16, 32, bf16)\n"
    "wait(copy(A[0 : 16, 0 : 32], s[0], when=n < 3), write(read(s[1]), s[n % 2]))\nwaitcnt(vmcnt=1)",
    "x = (5).to(i64)\nfor i in range(0, n, 4, stages=2) {\n    x += 1\n}\ny = x * 3",
    "x = 1\ny = 2\nfor i in range(0, n) {\n    x, y = y, x\n}\nz = x + y",
    "x = n + 1\nif n < 3 {\n    x += 1\n} else {\n    x = n\n}\ny = x + 1",
    "x = n + 1\nx_1 = x\nx = n + 2\ny = x_1 + x",
    "set_priority(2)\nschedule_barrier()\ninterleave()",
    "if n < 3 {\n    barrier()\n} else {\n    waitcnt(lgkmcnt=0)\n}",
    "for i in range(0, n) {\n    pass\n}",
    "A_1 = A\nA = n + 1\nK_1 = A_1.shape[1] + A\nK = A\nx = A_1.shape[1] + K",
]


@pytest.mark.parametrize("text", CANONICAL, ids=lambda t: t[:30])
def test_canonical_text_is_printed_as_it_is(text: str) -> None:
    if "A_1" in text:
        # A name that hides a dimension's symbol: what is printed differs, but means the same.
        assert_fixed_point(body(text))
    else:
        assert assert_fixed_point(body(text)) == body(text)


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("x = ((n) + (1)) * (2)", "x = (n + 1) * 2"),
        ("x = n - (1 + 2)", "x = n - 3"),
        ("if 1 < 2 { x = n * 2 } else { x = 3 }\ny = x + 1", "x = n * 2\ny = x + 1"),
        ("C[n : 8 + n, : 8] += 1", "C[n : n + 8, 0 : 8] = C[n : n + 8, 0 : 8] + 1.0"),
        ("t = zeros(8, 16, bf16)\nu = zeros(8, 8, f32) + t @ t.T", None),
        ("x = n + 1\ny = x\nx = x * 2\nz = y + x", "x = n + 1\nx_1 = x\nx *= 2\nz = x_1 + x"),
        ("x = 0\nfor i in range(n) {\nif i < 3 { x = x + i }\n}", None),
        ("t = C[0 : 8, 0 : 8]\nC[0 : 8, 0 : 8] = 0.0\nC[8 : 16, 0 : 8] = t", None),
    ],
)
def test_canonical_form(text: str, printed: str | None) -> None:
    result = assert_fixed_point(body(text))
    assert printed is None or result == body(printed)


def test_reads_are_not_moved_over_writes() -> None:
    # The load has no name; written inside the last statement it would come after the store.
    module = parse_module(
        """
        func.func @f(%arg0: !tile.view<"[M] f32">) attributes {tile.kernel, tile.grid = ["1"]} {
          %i = "tile.block_id"() {axis = 0 : i64} : () -> i32
          %t = "tile.load"(%arg0, %i) : (!tile.view<"[M] f32">, i32) -> !tile.tile<"[8] f32">
          %z = arith.constant 0.0 : f32
          %zeros = "tile.full"(%z) : (f32) -> !tile.tile<"[8] f32">
          "tile.store"(%zeros, %arg0, %i) : (!tile.tile<"[8] f32">, !tile.view<"[M] f32">, i32) -> ()
          "tile.store"(%t, %arg0, %z0) : (!tile.tile<"[8] f32">, !tile.view<"[M] f32">, i32) -> ()
          return
        }
        """.replace("%z0", "%i"),
        "f.mlir",
    )
    lines = print_tile(module).splitlines()
    loads = [i for i, line in enumerate(lines) if line.strip().startswith("t_1 = arg0_1[v_1")]
    stores = [i for i, line in enumerate(lines) if line.strip().startswith("arg0_1[v_1")]
    assert len(loads) == 1
    assert len(stores) == 2
    assert loads[0] < stores[0]


def test_foreign_ops_print_to_be_read() -> None:
    module = parse_module(
        """
        module {
          llvm.func @other()
          func.func @f(%arg0: !tile.view<"[M] f32">, %n: i32) attributes {tile.kernel, tile.grid = ["1"]} {
            %a, %b = arith.addui_extended %n, %n : i32, i1
            %c = scf.while (%x = %a) : (i32) -> i32 {
              scf.condition(%b) %x : i32
            } do {
            ^bb0(%y: i32):
              %d = arith.shli %y, %n : i32
              scf.yield %d : i32
            }
            %v = vector.broadcast %c : i32 to vector<4xi32>
            %t = "tile.full"(%c) : (i32) -> !tile.tile<"[64] i32 @ rows(8,8)">
            return
          }
        }
        """,
        "f.mlir",
    )
    text = print_tile(module)
    assert "llvm.func @other()" in text
    assert "v_1, v_2 = arith.addui_extended(arg1_1, arg1_1)" in text
    assert "= scf.while(v_1) {" in text
    assert "= vector.broadcast(v_" in text
    assert "= full(v_3, 64, i32)  # rows(8,8)" in text


@pytest.mark.parametrize("name", ["01_gemm", "02_gemm_by_hand"])
@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
def test_every_step_of_compiling_prints(name: str, arch: str) -> None:
    from hkc.passes.pipelines import PASSES, set_arch

    path = Path(__file__).resolve().parents[2] / "examples" / f"{name}.tile"
    (kernel,) = parse_text(path.read_text(), str(path))
    module = elaborate(kernel, {"BM": 64, "BN": 64, "BK": 32})
    set_arch(module, arch)
    for step in PASSES:
        step(module)
        text = print_tile(module)
        assert "unknown" not in text
        assert text.count("\n") >= 10
