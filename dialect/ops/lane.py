"""Ops that one lane performs: what tile ops become in `map-mfma`, one step above rocdl.

Offsets are bytes unless said otherwise.
"""

from __future__ import annotations

from typing import ClassVar

from mlir import ir

from hkc.dialect.irdl import ANY, I1, I32, I64, LDS, VIEW, Memory, Op, attribute, operand, result


def _i32() -> ir.Type:
    return ir.IntegerType.get_signless(32)


def _i64() -> ir.Type:
    return ir.IntegerType.get_signless(64)


class LaneId(Op):
    """This lane's index in its wavefront (0-63)."""

    name = "tile.lane_id"
    results = (result(I32),)

    @classmethod
    def build(cls) -> ir.Value:
        return cls.create([], [_i32()]).result


class LaneSwap(Op):
    """The value that lane (lane XOR ``mask``) holds; all lanes must be active."""

    name = "tile.lane_swap"
    operands = (operand("value", ANY),)
    results = (result(ANY),)
    attributes = (attribute("mask", "int"),)

    @classmethod
    def build(cls, value: ir.Value, mask: int) -> ir.Value:
        return cls.create([value], [value.type], mask=mask).result


class ViewPointer(Op):
    """A view's base address as an integer."""

    name = "tile.view_pointer"
    operands = (operand("view", VIEW),)
    results = (result(I64),)

    @classmethod
    def build(cls, view: ir.Value) -> ir.Value:
        return cls.create([view], [_i64()]).result


class ViewStride(Op):
    """A view's stride along ``axis``, in elements."""

    name = "tile.view_stride"
    operands = (operand("view", VIEW),)
    results = (result(I64),)
    attributes = (attribute("axis", "int"),)

    @classmethod
    def build(cls, view: ir.Value, axis: int) -> ir.Value:
        return cls.create([view], [_i64()], axis=axis).result


class DescribeView(Op):
    """A raw buffer descriptor whose base lies ``start`` bytes into the view and that is bounded to ``bytes``
    (clamped to 32 bits); with ``when`` false it is bounded to nothing."""

    name = "tile.describe_view"
    operands = (operand("view", VIEW), operand("start", I64), operand("bytes", I64))
    results = (result(ANY),)

    @classmethod
    def build(cls, view: ir.Value, start: ir.Value, size: ir.Value) -> ir.Value:
        return cls.create([view, start, size], [ir.Type.parse("!llvm.ptr<8>")]).result


class LaneLoad(Op):
    """One element of a view at a 64-bit byte offset from its base."""

    name = "tile.lane_load"
    operands = (operand("view", VIEW), operand("offset", I64))
    results = (result(ANY),)
    memory: ClassVar[Memory] = "read"

    @classmethod
    def build(cls, view: ir.Value, offset: ir.Value, type_: ir.Type) -> ir.Value:
        return cls.create([view, offset], [type_]).result


class LaneStore(Op):
    """Stores one element of a view at a 64-bit byte offset, if ``when``."""

    name = "tile.lane_store"
    operands = (operand("value", ANY), operand("view", VIEW), operand("offset", I64), operand("when", I1))
    memory: ClassVar[Memory] = "write"

    @classmethod
    def build(cls, value: ir.Value, view: ir.Value, offset: ir.Value, when: ir.Value) -> ir.Operation:
        return cls.create([value, view, offset, when])


class LaneBufferLoad(Op):
    """A vector of 1 to 16 bytes through a buffer descriptor; out-of-range bytes are zero."""

    name = "tile.lane_buffer_load"
    operands = (operand("descriptor", ANY), operand("offset", I32), operand("scalar_offset", I32))
    results = (result(ANY),)
    memory: ClassVar[Memory] = "read"

    @classmethod
    def build(cls, descriptor: ir.Value, offset: ir.Value, scalar_offset: ir.Value, type_: ir.Type) -> ir.Value:
        return cls.create([descriptor, offset, scalar_offset], [type_]).result


class LaneBufferStore(Op):
    """Stores a vector of 1 to 16 bytes through a buffer descriptor; out-of-range bytes are dropped."""

    name = "tile.lane_buffer_store"
    operands = (
        operand("value", ANY),
        operand("descriptor", ANY),
        operand("offset", I32),
        operand("scalar_offset", I32),
    )
    memory: ClassVar[Memory] = "write"

    @classmethod
    def build(cls, value: ir.Value, descriptor: ir.Value, offset: ir.Value, scalar_offset: ir.Value) -> ir.Operation:
        return cls.create([value, descriptor, offset, scalar_offset])


class LaneLdsLoad(Op):
    """A vector from an LDS slot at a byte offset."""

    name = "tile.lane_lds_load"
    operands = (operand("slot", LDS), operand("offset", I32))
    results = (result(ANY),)
    attributes = (attribute("immediate", "int"),)
    memory: ClassVar[Memory] = "read"

    @classmethod
    def build(cls, slot: ir.Value, offset: ir.Value, immediate: int, type_: ir.Type) -> ir.Value:
        return cls.create([slot, offset], [type_], immediate=immediate).result


class LaneLdsLoadTransposed(LaneLdsLoad):
    """Four 16-bit items of a column for each lane: of 16 lanes, lane 4r + c addresses items 4c to 4c + 3 of row r,
    and lane l gets item l of rows 0 to 3. All lanes must be active."""

    name = "tile.lane_lds_load_transposed"


class LaneLdsStore(Op):
    """Stores a vector to an LDS slot at a byte offset."""

    name = "tile.lane_lds_store"
    operands = (operand("value", ANY), operand("slot", LDS), operand("offset", I32))
    attributes = (attribute("immediate", "int"),)
    memory: ClassVar[Memory] = "write"

    @classmethod
    def build(cls, value: ir.Value, slot: ir.Value, offset: ir.Value, immediate: int) -> ir.Operation:
        return cls.create([value, slot, offset], immediate=immediate)


class LaneLdsCopy(Op):
    """An LDS-direct load: ``width`` bytes a lane go from a buffer descriptor to consecutive LDS bytes that begin at
    ``destination`` (the same for the whole wavefront) + ``immediate``. ``instruction_offset`` is added to both the
    source's offset and the destination."""

    name = "tile.lane_lds_copy"
    operands = (
        operand("descriptor", ANY),
        operand("offset", I32),
        operand("scalar_offset", I32),
        operand("slot", LDS),
        operand("destination", I32),
    )
    attributes = (attribute("width", "int"), attribute("immediate", "int"), attribute("instruction_offset", "int"))
    memory: ClassVar[Memory] = "write"

    @classmethod
    def build(
        cls,
        descriptor: ir.Value,
        offset: ir.Value,
        scalar_offset: ir.Value,
        slot: ir.Value,
        destination: ir.Value,
        *,
        width: int,
        immediate: int,
        instruction_offset: int,
    ) -> ir.Operation:
        operands = [descriptor, offset, scalar_offset, slot, destination]
        return cls.create(operands, width=width, immediate=immediate, instruction_offset=instruction_offset)
