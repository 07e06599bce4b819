"""The examples: .tile and .py are one program, print as themselves, and compute what they say."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hkc as hk
from hkc.dialect.printer import print_tile
from hkc.interp import View, run
from hkc.lang.elaborate import elaborate
from hkc.lang.gridexpr import evaluate
from hkc.lang.text import parse_text

FOLDER = Path(__file__).resolve().parents[2] / "examples"
OWN = [
    *("00_vector_add", "00_transpose", "01_gemm", "02_gemm_by_hand", "04_gemm_epilogue", "05_attention", "06_softmax"),
    *("03_gemm_batched_split_k:gemm_parts", "03_gemm_batched_split_k:add_parts"),
]


def text_kernel(name: str) -> Any:
    file, _, kernel = name.partition(":")
    path = FOLDER / f"{file}.tile"
    (found,) = (k for k in parse_text(path.read_text(encoding="utf-8"), str(path)) if kernel in ("", k.name))
    return found


def python_kernel(name: str) -> Any:
    file, _, kernel = name.partition(":")
    spec = importlib.util.spec_from_file_location(f"example_{file}", FOLDER / f"{file}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    (found,) = [v for v in vars(module).values() if isinstance(v, hk.Kernel) and kernel in ("", v.name)]
    return found.definition


@pytest.mark.parametrize("name", OWN)
def test_python_is_the_same_program_as_text(name: str) -> None:
    text, python = text_kernel(name), python_kernel(name)
    choices: list[dict[str, object]] = [{}]
    if name == "01_gemm":
        choices += [{"TRANS": "nn", "DTYPE": hk.f16, "BM": 256}]
    assert {c.name: c.default for c in text.constants.values()} == {
        c.name: c.default for c in python.constants.values()
    }
    for constants in choices:
        assert str(elaborate(text, constants)) == str(elaborate(python, constants))


@pytest.mark.parametrize("name", OWN)
def test_printed_text_gives_the_module_back(name: str) -> None:
    module = elaborate(text_kernel(name), {})
    (again,) = parse_text(print_tile(module), "printed.tile")
    assert str(elaborate(again, {})) == str(module)


def interpret(name: str, arrays: dict[str, np.ndarray[Any, Any]], sizes: dict[str, int], **constants: object) -> None:
    module = elaborate(text_kernel(name), constants)
    function = module.body.operations[0]
    grid = tuple(evaluate(axis.value, sizes) for axis in function.attributes["tile.grid"])
    views = {
        key: View(
            array, hk.dtype(str(array.dtype).replace("float", "f")), tuple(s // array.itemsize for s in array.strides)
        )
        for key, array in arrays.items()
    }
    run(module, views, grid + (1,) * (3 - len(grid)))


def random(*shape: int) -> np.ndarray[Any, Any]:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)


def test_vector_add() -> None:
    x, y, z = random(100), random(100) + 1, np.zeros(100, np.float32)
    interpret("00_vector_add", {"X": x, "Y": y, "Z": z}, {"N": 100}, BN=64)
    assert np.array_equal(z, x + y)


def test_transpose() -> None:
    a, b = random(50, 70), np.zeros((70, 50), np.float32)
    interpret("00_transpose", {"A": a, "B": b}, {"M": 50, "N": 70}, BM=32, BN=16)
    assert np.array_equal(b, a.T)


@pytest.mark.parametrize("trans", ["nt", "nn"])
def test_gemm(trans: str) -> None:
    a, b, c = random(40, 50), random(30, 50), np.zeros((40, 30), np.float32)
    given = b if trans == "nt" else np.ascontiguousarray(b.T)
    constants: dict[str, object] = {"BM": 32, "BN": 16, "BK": 16, "DTYPE": hk.f32, "TRANS": trans}
    interpret("01_gemm", {"A": a, "B": given, "C": c}, {"M": 40, "N": 30, "K": 50}, **constants)
    assert np.allclose(c, a @ b.T, atol=1e-4)


@pytest.mark.parametrize("k", [64, 50, 8, 0])
def test_gemm_by_hand(k: int) -> None:
    a, b, c = random(40, k), random(30, k), np.ones((40, 30), np.float32)
    constants: dict[str, object] = {"BM": 32, "BN": 16, "BK": 16, "DTYPE": hk.f32}
    interpret("02_gemm_by_hand", {"A": a, "B": b, "C": c}, {"M": 40, "N": 30, "K": k}, **constants)
    assert np.allclose(c, a @ b.T, atol=1e-4)
