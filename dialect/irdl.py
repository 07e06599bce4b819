"""A small declarative layer over IRDL: one Python class an op, with its operands, results, attributes, verifier.

    class Transpose(Op):
        \"\"\"Rows become columns.\"\"\"
        name = "tile.transpose"
        operands = (operand("source", TILE),)
        results = (result(TILE),)
        pure = True

IRDL checks counts and kinds while parsing; what it can't say (shapes, optional attributes) is in ``check``, which
:mod:`hkc.dialect.verify` calls after the front end and after every pass.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from mlir import ir

# Constraints are IRDL text; `any_of` joins them.
VIEW = "irdl.base @tile::@view"
TILE = "irdl.base @tile::@tile"
LDS = "irdl.base @tile::@lds"
TOKEN = "irdl.base @tile::@token"
I1 = "irdl.is i1"
I32 = "irdl.is i32"
I64 = "irdl.is i64"
ANY = "irdl.any"

Arity = Literal["single", "optional", "variadic"]
Memory = Literal["none", "read", "write", "sync"]


@dataclass(frozen=True)
class Slot:
    """One operand or result of an op."""

    name: str
    constraint: str
    arity: Arity = "single"


def operand(name: str, constraint: str, arity: Arity = "single") -> Slot:
    return Slot(name, constraint, arity)


def result(constraint: str, name: str = "result") -> Slot:
    return Slot(name, constraint)


@dataclass(frozen=True)
class AttributeSpec:
    """An attribute: its name, the kind of its value and whether it may be absent."""

    name: str
    kind: Literal["int", "str", "ints"]
    optional: bool = False


def attribute(name: str, kind: Literal["int", "str", "ints"], optional: bool = False) -> AttributeSpec:
    return AttributeSpec(name, kind, optional)


AttributeValue = int | str | Sequence[int]


def make_attribute(kind: str, value: AttributeValue) -> ir.Attribute:
    if kind == "int":
        return ir.IntegerAttr.get(ir.IntegerType.get_signless(64), value)
    if kind == "str":
        return ir.StringAttr.get(value)
    return ir.DenseI64ArrayAttr.get(list(value))  # type: ignore[arg-type]


class Op:
    """Base of the op classes. Class attributes declare the op; ``build`` of each subclass creates it."""

    name: ClassVar[str]
    operands: ClassVar[tuple[Slot, ...]] = ()
    results: ClassVar[tuple[Slot, ...]] = ()
    attributes: ClassVar[tuple[AttributeSpec, ...]] = ()
    memory: ClassVar[Memory] = "none"

    @classmethod
    def create(
        cls,
        operands: Sequence[ir.Value | Sequence[ir.Value] | None],
        result_types: Sequence[ir.Type] = (),
        **attributes: AttributeValue | None,
    ) -> ir.Operation:
        """Creates the op at the current insertion point and location.

        ``operands`` has one entry a declared slot: a value, a list for a variadic one, None for an absent optional.
        """
        flat: list[ir.Value] = []
        sizes: list[int] = []
        for entry in operands:
            group = [] if entry is None else [entry] if isinstance(entry, ir.Value) else list(entry)
            flat += group
            sizes.append(len(group))
        attrs: dict[str, ir.Attribute] = {}
        kinds = {spec.name: spec.kind for spec in cls.attributes}
        for key, value in attributes.items():
            if value is not None:
                attrs[key] = make_attribute(kinds[key], value)
        if cls.segmented():
            attrs["operandSegmentSizes"] = ir.DenseI32ArrayAttr.get(sizes)
        return ir.Operation.create(cls.name, results=list(result_types), operands=flat, attributes=attrs)

    @classmethod
    def segmented(cls) -> bool:
        """Whether operand counts need an attribute (two or more slots of varying size)."""
        return sum(s.arity != "single" for s in cls.operands) > 1

    @classmethod
    def groups(cls, op: ir.Operation) -> dict[str, list[ir.Value]]:
        """The operands by slot name."""
        values = list(op.operands)
        if cls.segmented():
            sizes = list(ir.DenseI32ArrayAttr(op.attributes["operandSegmentSizes"]))
        else:
            fixed = sum(s.arity == "single" for s in cls.operands)
            sizes = [1 if s.arity == "single" else len(values) - fixed for s in cls.operands]
        groups: dict[str, list[ir.Value]] = {}
        for slot, size in zip(cls.operands, sizes, strict=True):
            groups[slot.name], values = values[:size], values[size:]
        return groups

    @classmethod
    def check(cls, op: ir.Operation) -> None:
        """Raises a located HkcError when the op breaks a rule that IRDL can't express."""


def get_int(op: ir.Operation, name: str) -> int | None:
    """An integer attribute, None when absent."""
    return ir.IntegerAttr(op.attributes[name]).value if name in op.attributes else None


def get_str(op: ir.Operation, name: str) -> str | None:
    """A string attribute, None when absent."""
    return ir.StringAttr(op.attributes[name]).value if name in op.attributes else None


def get_ints(op: ir.Operation, name: str) -> tuple[int, ...] | None:
    """An integer array attribute, None when absent."""
    return tuple(ir.DenseI64ArrayAttr(op.attributes[name])) if name in op.attributes else None


def _slots(keyword: str, slots: tuple[Slot, ...], constraints: list[str]) -> str:
    entries = []
    for slot in slots:
        reference = f"%c{len(constraints)}"
        constraints.append(f"      {reference} = {slot.constraint}")
        arity = "" if slot.arity == "single" else f"{slot.arity} "
        entries.append(f"{slot.name}: {arity}{reference}")
    return f"      {keyword}({', '.join(entries)})" if entries else ""


def op_text(cls: type[Op]) -> str:
    """The IRDL of one op."""
    constraints: list[str] = []
    body = [
        _slots("irdl.operands", cls.operands, constraints),
        _slots("irdl.results", cls.results, constraints),
    ]
    required = [a for a in cls.attributes if not a.optional]
    if required:
        entries = []
        for spec in required:
            reference = f"%c{len(constraints)}"
            constraints.append(f"      {reference} = irdl.any")
            entries.append(f'"{spec.name}" = {reference}')
        body.append(f"      irdl.attributes {{{', '.join(entries)}}}")
    lines = constraints + [line for line in body if line]
    return "\n".join([f"    irdl.operation @{cls.name.removeprefix('tile.')} {{", *lines, "    }"])


def dialect_text(types: dict[str, int], ops: Sequence[type[Op]]) -> str:
    """The IRDL module of the dialect: ``types`` maps each type's name to its number of string parameters."""
    lines = ["module {", "  irdl.dialect @tile {"]
    for name, parameters in types.items():
        if parameters:
            lines += [
                f"    irdl.type @{name} {{",
                "      %p = irdl.any",
                "      irdl.parameters(text: %p)",
                "    }",
            ]
        else:
            lines.append(f"    irdl.type @{name}")
    lines += [op_text(cls) for cls in ops]
    return "\n".join([*lines, "  }", "}"])
