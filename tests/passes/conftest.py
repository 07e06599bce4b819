"""Kernels for the pass tests, through the text door."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from mlir import ir

from hkc.lang.constants import bind
from hkc.lang.defaults import used_sizes
from hkc.lang.elaborate import elaborate
from hkc.lang.text import parse_text
from hkc.passes.pipelines import PASSES, run_passes, set_arch

EXAMPLES = Path(__file__).parents[2] / "examples"

SIZE = 512  # where defaults of constants depend on sizes

Make = Callable[..., ir.Module]


def compile_to(source: str, arch: str, last: str | None, **definitions: object) -> ir.Module:
    """A kernel's module after the pass ``last`` (None: as the front end made it), for sizes of SIZE."""
    [kernel] = parse_text(source, "test.tile")
    sizes = dict.fromkeys(used_sizes(kernel), SIZE)
    constants, _ = bind(kernel, {name: str(value) for name, value in (sizes | definitions).items()})
    module = elaborate(kernel, constants)
    set_arch(module, arch)
    names = [p.name for p in PASSES]
    run_passes(module, PASSES[: names.index(last) + 1] if last else ())
    return module


@pytest.fixture
def make() -> Make:
    return compile_to


@pytest.fixture
def gemm() -> str:
    return (EXAMPLES / "01_gemm.tile").read_text(encoding="utf-8")
