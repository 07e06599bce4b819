"""The ops of the tile dialect, by subject; ``OPS`` lists the classes, ``op_class`` finds one."""

from __future__ import annotations

from mlir import ir

from hkc.dialect.irdl import Op
from hkc.dialect.ops.compute import (
    Abs,
    Add,
    Cast,
    Compare,
    Div,
    Erf,
    Exp,
    Exp2,
    Fma,
    FMax,
    FMin,
    Full,
    Gelu,
    Join,
    Log,
    Log2,
    Max,
    Min,
    Mma,
    Mul,
    Narrow,
    Neg,
    Part,
    Relayout,
    Rsqrt,
    Select,
    Sigmoid,
    Silu,
    Sqrt,
    Sub,
    Tanh,
    Transpose,
)
from hkc.dialect.ops.lane import (
    DescribeView,
    LaneBufferLoad,
    LaneBufferStore,
    LaneId,
    LaneLdsCopy,
    LaneLdsLoad,
    LaneLdsLoadTransposed,
    LaneLdsStore,
    LaneLoad,
    LaneStore,
    LaneSwap,
    ViewPointer,
    ViewStride,
)
from hkc.dialect.ops.memory import (
    Aligned,
    BlockId,
    BufferLoad,
    BufferStore,
    Copy,
    Dim,
    LdsAlloc,
    LdsRead,
    LdsReadPart,
    LdsSlot,
    LdsWrite,
    Load,
    MaskedLoad,
    MaskedStore,
    OrderedBlock,
    Store,
    SubView,
)
from hkc.dialect.ops.sync import Barrier, Interleave, ScheduleBarrier, SetPriority, Wait, Waitcnt, WaveId
from hkc.dialect.ops.vectors import REDUCTIONS, Broadcast, Index, Reduce, ReduceParts, Rescale

OPS: tuple[type[Op], ...] = (
    *(BlockId, OrderedBlock, Dim, SubView, Aligned, Load, Store, BufferLoad, BufferStore, MaskedLoad, MaskedStore),
    *(LdsAlloc, LdsSlot, Copy, LdsRead, LdsReadPart, LdsWrite),
    *(Wait, Waitcnt, Barrier, SetPriority, ScheduleBarrier, Interleave, WaveId),
    *(Full, Mma, Transpose, Relayout, Cast, Add, Sub, Mul, Div, Max, Min),
    *(FMax, FMin, Fma, Narrow),
    *(Neg, Abs, Exp, Exp2, Log, Log2, Sqrt, Rsqrt, Tanh, Erf, Sigmoid, Silu, Gelu, Compare, Select, Part, Join),
    *(Reduce, ReduceParts, Broadcast, Rescale, Index),
    *(LaneId, ViewPointer, ViewStride, DescribeView, LaneLoad, LaneStore, LaneBufferLoad, LaneBufferStore),
    *(LaneLdsLoad, LaneLdsLoadTransposed, LaneLdsStore, LaneLdsCopy, LaneSwap),
)

_BY_NAME = {cls.name: cls for cls in OPS}


def op_class(op: ir.Operation | ir.OpView) -> type[Op] | None:
    """The class of an op of this dialect, None for other dialects' ops."""
    return _BY_NAME.get(op.operation.name)


__all__ = [cls.__name__ for cls in OPS] + ["OPS", "REDUCTIONS", "Op", "op_class"]
