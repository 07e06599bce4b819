"""What `lower-to-rocdl` makes of each lane op. One function an op, found by name in ``HANDLERS``."""

from __future__ import annotations

from dataclasses import dataclass

from mlir import ir
from mlir.dialects import llvm, rocdl, scf

from hkc.dialect import ops
from hkc.dialect.irdl import get_int, get_ints
from hkc.dialect.types import lds_type, view_type
from hkc.passes import grid_order
from hkc.passes import scalars as s
from hkc.passes.access import DWORD
from hkc.passes.lane_swaps import swapped
from hkc.passes.rebuild import Handler, Rebuilder
from hkc.targets import Target

LDS_ALIGNMENT = 1024  # bytes: keeps every LDS tile's offsets clear of carries into the chunk bits
MOST_RECORDS = (1 << 32) - 1  # a buffer descriptor's num_records has 32 bits: CDNA3 ISA 9.1.8

_COPIES = '#llvm.alias_scope<id = "copies", domain = #llvm.alias_scope_domain<id = "lds">>'
_READS = '#llvm.alias_scope<id = "reads", domain = #llvm.alias_scope_domain<id = "lds">>'


@dataclass(frozen=True)
class ViewParts:
    """A view as kernel arguments: base pointer, sizes (i32), strides in elements (i64)."""

    pointer: ir.Value
    sizes: tuple[ir.Value, ...]
    strides: tuple[ir.Value, ...]


def pointer_type(space: int) -> ir.Type:
    return llvm.PointerType.get(space)


def waitcnt_bits(vmcnt: int | None, lgkmcnt: int | None) -> int:
    """The operand of s_waitcnt; counters not given don't wait. Bit fields: CDNA3 ISA 4.4."""
    vm = ops.Waitcnt.LIMITS["vmcnt"] if vmcnt is None else vmcnt
    lgkm = ops.Waitcnt.LIMITS["lgkmcnt"] if lgkmcnt is None else lgkmcnt
    return (vm & 0xF) | (vm >> 4) << 14 | 0x7 << 4 | lgkm << 8


class Lowering(Rebuilder):
    """The new function's arguments, and where the kernel's views and LDS went."""

    def __init__(self, target: Target) -> None:
        super().__init__(HANDLERS)
        self.target = target
        self.views: dict[ir.Value, ViewParts] = {}
        self.globals: list[str] = []

    def view(self, value: ir.Value) -> ViewParts:
        return self.views[value]


def _thread() -> ir.Value:
    return rocdl.workitem_id_x(s.i32())


def block_id(lowering: Lowering, op: ir.Operation) -> list[ir.Value]:
    build = (rocdl.workgroup_id_x, rocdl.workgroup_id_y, rocdl.workgroup_id_z)[get_int(op, "axis") or 0]
    return [build(s.i32())]


def ordered_block(lowering: Lowering, op: ir.Operation) -> list[ir.Value]:
    return [grid_order.ordered_block(op, lowering.target.xcds)]


def lane_id(lowering: Lowering, op: ir.Operation) -> list[ir.Value]:
    return [s.value(s.bits(_thread(), 0, (lowering.target.wavefront - 1).bit_length()))]


def lane_swap(lowering: Lowering, op: ir.Operation) -> list[ir.Value]:
    return [swapped(lowering.one(op.operands[0]), get_int(op, "mask") or 0, lowering.target)]


def wave_id(lowering: Lowering, op: ir.Operation) -> list[ir.Value]:
    wave = s.value(s.bits(_thread(), (lowering.target.wavefront - 1).bit_length(), 10))
    return [rocdl.readfirstlane(s.i32(), wave)]


def dim(lowering: Lowering, op: ir.Operation) -> list[ir.Value]:
    return [lowering.view(op.operands[0]).sizes[get_int(op, "axis") or 0]]


def subview(lowering: Lowering, op: ir.Operation) -> None:
    """Moves the pointer, in 64 bits; a part at an index out of range has no elements."""
    view, *indices = list(op.operands)
    parts, axes = lowering.view(view), get_ints(op, "axes") or ()
    offset: s.Scalar = 0
    inside = []
    for axis, index in zip(axes, indices, strict=True):
        at = lowering.one(index)
        inside.append(s.compare("ult", at, parts.sizes[axis]))
        offset = s.add(offset, s.mul(s.wide(at), parts.strides[axis]))
    moved = s.mul(offset, view_type(view).dtype.bytes)
    within = s.both(inside)
    kept = [axis for axis in range(len(parts.sizes)) if axis not in axes]
    sizes = tuple(s.value(s.select(within, parts.sizes[axis], 0)) for axis in kept)
    pointer = _offset_pointer(1, parts.pointer, s.value(s.select(within, moved, 0), s.i64()))
    lowering.views[op.results[0]] = ViewParts(pointer, sizes, tuple(parts.strides[axis] for axis in kept))


def view_stride(lowering: Lowering, op: ir.Operation) -> list[ir.Value]:
    return [lowering.view(op.operands[0]).strides[get_int(op, "axis") or 0]]


def view_pointer(lowering: Lowering, op: ir.Operation) -> list[ir.Value]:
    return [llvm.ptrtoint(s.i64(), lowering.view(op.operands[0]).pointer)]


def aligned(lowering: Lowering, op: ir.Operation) -> list[ir.Value]:
    parts, dtype = lowering.view(op.operands[0]), view_type(op.operands[0]).dtype
    address = llvm.ptrtoint(s.i64(), parts.pointer)
    fine = [
        s.compare("eq", parts.strides[-1], 1),
        s.compare("eq", s.bits(address, 0, DWORD.bit_length() - 1), 0),
    ]
    for size, stride in zip(parts.sizes[1:], parts.strides[:-1], strict=True):
        pitch = s.mul(stride, dtype.bytes)
        fine.append(s.compare("eq", s.bits(pitch, 0, DWORD.bit_length() - 1), 0))
        fine.append(s.compare("ule", pitch, ops.Aligned.most_pitch(get_int(op, "rows") or 1)))
        # Rows may not overlap: the descriptor's bound tells rows apart only then.
        fine.append(s.compare("sge", stride, s.wide(size)))
    return [s.both(fine)]


def describe_view(lowering: Lowering, op: ir.Operation) -> list[ir.Value]:
    start, size = (lowering.one(v) for v in list(op.operands)[1:])
    base = _offset_pointer(1, lowering.view(op.operands[0]).pointer, start)
    bounded = s.value(s.smin(size, MOST_RECORDS))
    stride = s.constant(0, ir.IntegerType.get_signless(16))
    flags = s.constant(lowering.target.buffer_resource_word3, s.i32())
    return [ir.Operation.create("rocdl.make.buffer.rsrc", [pointer_type(8)], [base, stride, bounded, flags]).result]


# A dynamic index of llvm.getelementptr: LLVM::GEPOp::kDynamicIndex.
_DYNAMIC = -(1 << 31)


def _offset_pointer(space: int, base: ir.Value, offset: ir.Value | int) -> ir.Value:
    """A pointer some bytes further on."""
    byte = ir.TypeAttr.get(ir.IntegerType.get_signless(8))
    constant = isinstance(offset, int)
    indices = ir.DenseI32ArrayAttr.get([offset if constant else _DYNAMIC])
    return ir.Operation.create(
        "llvm.getelementptr",
        results=[pointer_type(space)],
        operands=[base] if constant else [base, offset],
        attributes={"rawConstantIndices": indices, "elem_type": byte},
    ).result


def _raw_type(type_: ir.Type) -> ir.Type:
    """The integer type of the same size that buffer instructions move."""
    size = _bytes(type_)
    if size > DWORD:
        return ir.VectorType.get([size // DWORD], s.i32())
    return ir.IntegerType.get_signless(size * 8)


def _bytes(type_: ir.Type) -> int:
    vector = ir.VectorType(type_)
    element = vector.element_type
    return vector.shape[0] * element.width // 8


def lane_buffer_load(lowering: Lowering, op: ir.Operation) -> list[ir.Value]:
    descriptor, offset, scalar = (lowering.one(v) for v in op.operands)
    wanted = op.results[0].type
    loaded = rocdl.raw_ptr_buffer_load(_raw_type(wanted), descriptor, offset, scalar, s.value(0))
    return [_bitcast(loaded, wanted)]


def _bitcast(value: ir.Value, type_: ir.Type) -> ir.Value:
    return value if value.type == type_ else llvm.bitcast(type_, value)


def lane_buffer_store(lowering: Lowering, op: ir.Operation) -> None:
    value, descriptor, offset, scalar = (lowering.one(v) for v in op.operands)
    raw = _bitcast(value, _raw_type(value.type))
    rocdl.raw_ptr_buffer_store(raw, descriptor, offset, scalar, s.value(0))


def lane_load(lowering: Lowering, op: ir.Operation) -> list[ir.Value]:
    pointer = _offset_pointer(1, lowering.view(op.operands[0]).pointer, lowering.one(op.operands[1]))
    return [llvm.load(op.results[0].type, pointer)]


def lane_store(lowering: Lowering, op: ir.Operation) -> None:
    value, _, offset, when = list(op.operands)
    pointer = _offset_pointer(1, lowering.view(op.operands[1]).pointer, lowering.one(offset))
    branch = scf.IfOp(lowering.one(when), [])
    with ir.InsertionPoint(branch.then_block):
        llvm.store(lowering.one(value), pointer)
        scf.YieldOp([])


def lds_alloc(lowering: Lowering, op: ir.Operation) -> list[ir.Value]:
    type_ = lds_type(op.results[0])
    name = f"lds{len(lowering.globals)}"
    lowering.globals.append(name)
    array = ir.Type.parse(f"!llvm.array<{type_.elements * type_.dtype.bytes} x i8>")
    parent = kernel_module(op)
    with ir.InsertionPoint.at_block_begin(parent.regions[0].blocks[0]):
        ir.Operation.create(
            "llvm.mlir.global",
            attributes={
                "global_type": ir.TypeAttr.get(array),
                "sym_name": ir.StringAttr.get(name),
                "linkage": ir.Attribute.parse("#llvm.linkage<internal>"),
                "addr_space": ir.IntegerAttr.get(s.i32(), 3),
                "alignment": ir.IntegerAttr.get(s.i64(), LDS_ALIGNMENT),
            },
            regions=1,
        )
    symbol = ir.FlatSymbolRefAttr.get(name)
    return [ir.Operation.create("llvm.mlir.addressof", [pointer_type(3)], attributes={"global_name": symbol}).result]


def kernel_module(op: ir.Operation) -> ir.Operation:
    while op.name != "builtin.module":
        op = op.parent.operation
    return op


def lds_slot(lowering: Lowering, op: ir.Operation) -> list[ir.Value]:
    type_ = lds_type(op.results[0])
    size = type_.elements * type_.dtype.bytes
    offset = s.value(s.mul(lowering.one(op.operands[1]), size))
    return [_offset_pointer(3, lowering.one(op.operands[0]), offset)]


def _lds_pointer(lowering: Lowering, slot: ir.Value, offset: ir.Value, immediate: int) -> ir.Value:
    at = _offset_pointer(3, lowering.one(slot), lowering.one(offset))
    return _offset_pointer(3, at, immediate) if immediate else at


def _scopes(own: str, other: str) -> dict[str, ir.Attribute]:
    return {
        "alias_scopes": ir.ArrayAttr.get([ir.Attribute.parse(own)]),
        "noalias_scopes": ir.ArrayAttr.get([ir.Attribute.parse(other)]),
    }


def _alignment(type_: ir.Type) -> ir.Attribute:
    return ir.IntegerAttr.get(s.i64(), _bytes(type_))


def lane_lds_load(lowering: Lowering, op: ir.Operation) -> list[ir.Value]:
    pointer = _lds_pointer(lowering, op.operands[0], op.operands[1], get_int(op, "immediate") or 0)
    type_ = op.results[0].type
    attributes = {"alignment": _alignment(type_), **_scopes(_READS, _COPIES)}
    return [ir.Operation.create("llvm.load", [type_], [pointer], attributes=attributes).result]


def lane_lds_load_transposed(lowering: Lowering, op: ir.Operation) -> list[ir.Value]:
    pointer = _lds_pointer(lowering, op.operands[0], op.operands[1], get_int(op, "immediate") or 0)
    attributes = _scopes(_READS, _COPIES)
    loaded = ir.Operation.create("rocdl.ds.read.tr16.b64", [op.results[0].type], [pointer], attributes=attributes)
    return [loaded.result]


def lane_lds_store(lowering: Lowering, op: ir.Operation) -> None:
    value = lowering.one(op.operands[0])
    pointer = _lds_pointer(lowering, op.operands[1], op.operands[2], get_int(op, "immediate") or 0)
    attributes = {"alignment": _alignment(value.type), **_scopes(_READS, _COPIES)}
    ir.Operation.create("llvm.store", [], [value, pointer], attributes=attributes)


def lane_lds_copy(lowering: Lowering, op: ir.Operation) -> None:
    descriptor, offset, scalar, slot, destination = list(op.operands)
    pointer = _lds_pointer(lowering, slot, destination, get_int(op, "immediate") or 0)
    operands = [lowering.one(descriptor), pointer, s.value(get_int(op, "width") or 0)]
    shared = s.value(get_int(op, "instruction_offset") or 0)
    operands += [lowering.one(offset), lowering.one(scalar), shared, s.value(0)]
    attributes = _scopes(_COPIES, _READS)
    ir.Operation.create("rocdl.raw.ptr.buffer.load.lds", [], operands, attributes=attributes)


def waitcnt(lowering: Lowering, op: ir.Operation) -> None:
    # Nothing may be scheduled across: copies before must stay before, for the count to mean them.
    rocdl.sched_barrier(0)
    rocdl.s_waitcnt(waitcnt_bits(get_int(op, "vmcnt"), get_int(op, "lgkmcnt")))
    rocdl.sched_barrier(0)


def barrier(lowering: Lowering, op: ir.Operation) -> None:
    rocdl.s_barrier()
    rocdl.sched_barrier(0)


def set_priority(lowering: Lowering, op: ir.Operation) -> None:
    rocdl.s_setprio(get_int(op, "level") or 0)


def schedule_barrier(lowering: Lowering, op: ir.Operation) -> None:
    rocdl.sched_barrier(0)


HANDLERS: dict[str, Handler] = {
    ops.BlockId.name: block_id,
    ops.OrderedBlock.name: ordered_block,
    ops.LaneId.name: lane_id,
    ops.LaneSwap.name: lane_swap,
    ops.WaveId.name: wave_id,
    ops.Dim.name: dim,
    ops.SubView.name: subview,
    ops.ViewStride.name: view_stride,
    ops.ViewPointer.name: view_pointer,
    ops.Aligned.name: aligned,
    ops.DescribeView.name: describe_view,
    ops.LaneBufferLoad.name: lane_buffer_load,
    ops.LaneBufferStore.name: lane_buffer_store,
    ops.LaneLoad.name: lane_load,
    ops.LaneStore.name: lane_store,
    ops.LdsAlloc.name: lds_alloc,
    ops.LdsSlot.name: lds_slot,
    ops.LaneLdsLoad.name: lane_lds_load,
    ops.LaneLdsLoadTransposed.name: lane_lds_load_transposed,
    ops.LaneLdsStore.name: lane_lds_store,
    ops.LaneLdsCopy.name: lane_lds_copy,
    ops.Waitcnt.name: waitcnt,
    ops.Barrier.name: barrier,
    ops.SetPriority.name: set_priority,
    ops.ScheduleBarrier.name: schedule_barrier,
}
