"""Ops that order memory and waves."""

from __future__ import annotations

from typing import ClassVar

from mlir import ir

from hkc.dialect.irdl import I32, TOKEN, Memory, Op, attribute, get_int, operand, result
from hkc.dialect.ops.checks import fail


class Wait(Op):
    """This wavefront's part of the tokens' copies and LDS writes has landed in LDS."""

    name = "tile.wait"
    operands = (operand("tokens", TOKEN, "variadic"),)
    memory: ClassVar[Memory] = "sync"

    @classmethod
    def build(cls, tokens: list[ir.Value]) -> ir.Operation:
        return cls.create([tokens])


class Waitcnt(Op):
    """Waits until at most ``vmcnt`` vector-memory and ``lgkmcnt`` LDS operations of the wavefront are outstanding."""

    name = "tile.waitcnt"
    attributes = (attribute("vmcnt", "int", optional=True), attribute("lgkmcnt", "int", optional=True))
    memory: ClassVar[Memory] = "sync"

    @classmethod
    def build(cls, vmcnt: int | None = None, lgkmcnt: int | None = None) -> ir.Operation:
        return cls.create([], vmcnt=vmcnt, lgkmcnt=lgkmcnt)

    # Widths of the fields of s_waitcnt's operand: AMD CDNA3 ISA, 4.4 (vmcnt 6 bits, lgkmcnt 4 bits).
    LIMITS: ClassVar[dict[str, int]] = {"vmcnt": 63, "lgkmcnt": 15}

    @classmethod
    def check(cls, op: ir.Operation) -> None:
        counts = {name: get_int(op, name) for name in cls.LIMITS}
        if all(count is None for count in counts.values()):
            raise fail(op, "waitcnt needs a counter", expected="vmcnt=N or lgkmcnt=N")
        for name, count in counts.items():
            if count is not None and not 0 <= count <= cls.LIMITS[name]:
                raise fail(op, f"{name} is out of range", expected=f"0 to {cls.LIMITS[name]}", got=str(count))


class Barrier(Op):
    """Every wavefront of the workgroup arrives before any goes on. Does not wait for memory."""

    name = "tile.barrier"
    memory: ClassVar[Memory] = "sync"

    @classmethod
    def build(cls) -> ir.Operation:
        return cls.create([])


class WaveId(Op):
    """This wavefront's index in the workgroup."""

    name = "tile.wave_id"
    results = (result(I32),)

    @classmethod
    def build(cls) -> ir.Value:
        return cls.create([], [ir.IntegerType.get_signless(32)]).result


class SetPriority(Op):
    """The wavefront's priority (0-3) when several on a SIMD could issue: s_setprio."""

    name = "tile.set_priority"
    attributes = (attribute("level", "int"),)
    memory: ClassVar[Memory] = "sync"

    HIGHEST: ClassVar[int] = 3  # CDNA3 ISA 12.1, S_SETPRIO: two bits

    @classmethod
    def build(cls, level: int) -> ir.Operation:
        return cls.create([], level=level)

    @classmethod
    def check(cls, op: ir.Operation) -> None:
        if get_int(op, "level") not in range(cls.HIGHEST + 1):
            raise fail(op, f"a priority is 0 to {cls.HIGHEST}", got=str(get_int(op, "level")))


class ScheduleBarrier(Op):
    """No instruction is moved across by the compiler. Makes no code."""

    name = "tile.schedule_barrier"
    memory: ClassVar[Memory] = "sync"

    @classmethod
    def build(cls) -> ir.Operation:
        return cls.create([])


class Interleave(Op):
    """The memory operations since the last barrier or schedule barrier are spread evenly between the MFMA since then,
    and stay there. The matmuls must not take what these operations load."""

    name = "tile.interleave"
    memory: ClassVar[Memory] = "sync"

    @classmethod
    def build(cls) -> ir.Operation:
        return cls.create([])
