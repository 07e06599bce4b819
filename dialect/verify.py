"""What IRDL can't check: called after the front end and after every pass."""

from __future__ import annotations

from collections.abc import Iterator

from mlir import ir

from hkc.dialect.irdl import Op
from hkc.dialect.locations import span_of
from hkc.dialect.ops import op_class
from hkc.dialect.types import try_parse_type
from hkc.errors import HkcError, InternalError


def walk(op: ir.Operation) -> Iterator[ir.Operation]:
    """The op and all ops inside it, in program order."""
    yield op
    for region in op.regions:
        for block in region.blocks:
            for inner in block.operations:
                yield from walk(inner.operation)


def verify_module(module: ir.Module) -> None:
    """Checks every op of the tile dialect, then MLIR's own rules.

    Raises a located HkcError for a rule of the language, InternalError for IR that a pass broke.
    """
    for op in walk(module.operation):
        cls = op_class(op)
        if cls is not None:
            _check_attributes(cls, op)
            for value in (*op.operands, *op.results):
                if str(value.type).startswith("!tile.") and try_parse_type(value.type) is None:
                    raise HkcError(f"malformed type {value.type}", span_of(op))
            cls.check(op)
    try:
        module.operation.verify()
    except ir.MLIRError as error:
        raise InternalError(f"the IR is not valid: {error}") from None


_KINDS = {"int": ir.IntegerAttr, "str": ir.StringAttr, "ints": ir.DenseI64ArrayAttr}


def _check_attributes(cls: type[Op], op: ir.Operation) -> None:
    known = {spec.name: spec for spec in cls.attributes}
    for spec in cls.attributes:
        if spec.name not in op.attributes:
            if not spec.optional:
                raise HkcError(f"{cls.name} lacks its attribute {spec.name}", span_of(op))
        elif not isinstance(op.attributes[spec.name], _KINDS[spec.kind]):
            raise HkcError(f"{cls.name}: attribute {spec.name} is not of kind {spec.kind}", span_of(op))
    for named in op.attributes:
        name = named if isinstance(named, str) else named.name
        if name not in known and name != "operandSegmentSizes" and not name.startswith("tile."):
            raise HkcError(f"{cls.name} has no attribute {name}", span_of(op), expected=", ".join(known) or "none")
