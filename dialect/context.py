"""The MLIR context of the process, with the tile dialect registered."""

from __future__ import annotations

from functools import cache

from mlir import ir
from mlir._mlir_libs import _mlir
from mlir.dialects import irdl

from hkc.dialect.irdl import dialect_text
from hkc.dialect.ops import OPS
from hkc.errors import HkcError, Span

# Each type and its number of (string) parameters.
TYPES = {"view": 1, "tile": 1, "lds": 1, "token": 0}


@cache
def make_context() -> ir.Context:
    """The context; made once a process, since loading an IRDL dialect twice into one ends the process."""
    _mlir.globals.append_dialect_search_prefix("hkc.dialect.bindings")
    context = ir.Context()
    with context, ir.Location.unknown():
        irdl.load_dialects(ir.Module.parse(dialect_text(TYPES, OPS)))
    return context


def parse_module(text: str, filename: str) -> ir.Module:
    """A module from MLIR text.

    Raises HkcError at the place that MLIR complains about.
    """
    context = make_context()
    with context:
        try:
            return ir.Module.parse(text)
        except ir.MLIRError as error:
            raise _parse_error(error, filename) from None


def _parse_error(error: ir.MLIRError, filename: str) -> HkcError:
    diagnostics = error.error_diagnostics
    if not diagnostics:
        return HkcError(f"not MLIR: {error.message}", Span(filename, 1, 1))
    first = diagnostics[0]
    place = first.location
    span = Span(filename, place.start_line, place.start_col) if place.is_a_file() else Span(filename, 1, 1)
    return HkcError(f"not valid IR: {first.message}", span, hint="feed a dump that hkc wrote with --dump-ir")
