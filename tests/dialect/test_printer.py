"""The printer: text to IR to text is a fixed point, and IR of later steps prints too."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from mlir import ir

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
    assert with_names(second) == with_names(first), printed
    assert print_tile(second) == printed
    return printed


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(strategy.kernels())
def test_text_to_ir_to_text_is_a_fixed_point(text: str) -> None:
    assert_fixed_point(text)
