"""The `.tile` text of a module.

Of tile IR as the front ends make it, the text is canonical: parsing it gives the same module back, names included.
Later steps print too, to be read: ops without words in the language as ``name = dialect.op(operands) {...}``, layouts
as comments.
"""

from __future__ import annotations

from collections.abc import Iterator

from mlir import ir

from hkc.dialect.irdl import get_ints
from hkc.dialect.locations import name_of
from hkc.dialect.printer_blocks import BlockPrinter
from hkc.dialect.printer_names import Names
from hkc.dialect.printer_plan import Plan
from hkc.dialect.types import ViewType, try_parse_type


def print_tile(module: ir.Module) -> str:
    """The text of all kernels of the module; whatever else is in it stays MLIR."""
    parts = [_top_level(op.operation) for op in module.body.operations]
    return "\n".join(part.rstrip("\n") + "\n" for part in parts)


def _top_level(op: ir.Operation) -> str:
    if "tile.kernel" not in op.attributes or len(op.regions) != 1 or len(op.regions[0].blocks) != 1:
        return op.get_asm(assume_verified=True)
    return "\n".join(_kernel(op))


def _kernel(op: ir.Operation) -> Iterator[str]:
    body = op.regions[0].blocks[0]
    names = Names(op)
    printer = BlockPrinter(Plan(op), names)
    parameters = []
    for index, argument in enumerate(body.arguments):
        name = names.claim(_argument_name(op, index) or name_of(argument), f"arg{index}")
        printer.scope.bind(name, argument)
        parameters.append(f"{name}: {_type_text(argument.type)}")
    yield f"kernel {ir.StringAttr(op.attributes['sym_name']).value}({', '.join(parameters)})"
    grid = ir.ArrayAttr(op.attributes["tile.grid"]) if "tile.grid" in op.attributes else []
    header = f"    grid ({', '.join(ir.StringAttr(axis).value for axis in grid)})"
    waves = get_ints(op, "tile.waves")
    yield header + (f" waves ({', '.join(map(str, waves))})" if waves else "")
    yield "{"
    yield from ("    " + line for line in printer.block(body))
    yield "}"


def _argument_name(op: ir.Operation, index: int) -> str | None:
    if "arg_attrs" not in op.attributes:
        return None
    attributes = ir.DictAttr(ir.ArrayAttr(op.attributes["arg_attrs"])[index])
    return ir.StringAttr(attributes["tile.name"]).value if "tile.name" in attributes else None


def _type_text(type_: ir.Type) -> str:
    parsed = try_parse_type(type_)
    if isinstance(parsed, ViewType):
        return f"view[{', '.join(map(str, (*parsed.dims, parsed.dtype)))}]"
    return str(parsed if parsed is not None else type_)
