"""What passes tell the user of their choices: kept on the module, with the place in the source."""

from __future__ import annotations

from mlir import ir

from hkc.driver.remark import Remark
from hkc.errors import Span

REMARKS = "tile.remarks"


def add_remark(module: ir.Module, message: str, span: Span | None) -> None:
    """Adds a remark to the module."""
    place = (span.file, span.line, span.column) if span is not None else ("", 0, 0)
    known = list(module.operation.attributes[REMARKS]) if REMARKS in module.operation.attributes else []
    i64 = ir.IntegerType.get_signless(64)
    entry: dict[str, ir.Attribute] = {
        "message": ir.StringAttr.get(message),
        "file": ir.StringAttr.get(place[0]),
        "line": ir.IntegerAttr.get(i64, place[1]),
        "column": ir.IntegerAttr.get(i64, place[2]),
    }
    module.operation.attributes[REMARKS] = ir.ArrayAttr.get([*known, ir.DictAttr.get(entry)])


def remarks_of(module: ir.Module) -> tuple[Remark, ...]:
    """The module's remarks, in the order in which they were made."""
    if REMARKS not in module.operation.attributes:
        return ()
    return tuple(
        Remark(entry["message"].value, entry["file"].value, entry["line"].value, entry["column"].value)
        for entry in (ir.DictAttr(e) for e in module.operation.attributes[REMARKS])
    )
