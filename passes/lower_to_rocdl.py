"""`lower-to-rocdl`: only llvm and rocdl ops are left.

A view argument becomes its parts (pointer, sizes, strides: the kernel ABI), lane ops become rocdl and llvm ops here;
scf, arith, vector and func are lowered by MLIR's own passes.

LDS-direct copies and LDS reads carry alias scopes that keep them apart: what orders them are the waits and barriers of
`insert-fences`, and without the scopes LLVM would wait for every copy before each read.
"""

from __future__ import annotations

from mlir import ir
from mlir.dialects import func
from mlir.passmanager import PassManager

from hkc.dialect.irdl import get_int
from hkc.dialect.locations import location_of
from hkc.dialect.types import ViewType, try_parse_type
from hkc.passes import scalars as s
from hkc.passes.lane_lowering import Lowering, ViewParts, pointer_type
from hkc.passes.rebuild import body_of, kernel_of
from hkc.passes.register_budget import OCCUPANCY
from hkc.passes.roles import roles_of
from hkc.passes.schedules.pipeline import AGPRS
from hkc.targets import Target

# MLIR's own passes, after the tile dialect is gone.
UPSTREAM = (
    "builtin.module(arith-expand,convert-scf-to-cf,convert-vector-to-llvm,convert-arith-to-llvm,"
    "convert-func-to-llvm,convert-cf-to-llvm,reconcile-unrealized-casts)"
)
# The layout string of LLVM 22's AMDGPU target, as it gives it for this triple.
DATA_LAYOUT = (
    "e-m:e-p:64:64-p1:64:64-p2:32:32-p3:32:32-p4:64:64-p5:32:32-p6:32:32-p7:160:256:256:32-p8:128:128:128:48-"
    "p9:192:256:256:32-i64:64-v16:16-v24:32-v32:32-v48:64-v96:128-v192:256-v256:256-v512:512-v1024:1024-"
    "v2048:2048-n32:64-S32-A5-G1-ni:7:8:9"
)


def _signature(function: ir.Operation) -> list[ir.Type]:
    types: list[ir.Type] = []
    for argument in body_of(function).arguments:
        type_ = try_parse_type(argument.type)
        if isinstance(type_, ViewType):
            types += [pointer_type(1), *[s.i32()] * type_.rank, *[s.i64()] * type_.rank]
        else:
            types.append(argument.type)
    return types


def _bind_arguments(lowering: Lowering, function: ir.Operation, new: list[ir.Value]) -> None:
    for argument in body_of(function).arguments:
        type_ = try_parse_type(argument.type)
        if isinstance(type_, ViewType):
            pointer, rest = new[0], new[1:]
            rank = type_.rank
            lowering.views[argument] = ViewParts(pointer, tuple(rest[:rank]), tuple(rest[rank : 2 * rank]))
            new = rest[2 * rank :]
        else:
            lowering.values[argument], new = [new[0]], new[1:]


def _function_attributes(threads: int, wishes: dict[str, int]) -> dict[str, ir.Attribute]:
    passthrough = {
        "amdgpu-ieee": "false",  # else every fmax first quiets its operands (LLVM AMDGPUUsage, amdgpu-ieee)
        "amdgpu-flat-work-group-size": f"{threads},{threads}",
        "uniform-work-group-size": "true",
    }
    passthrough |= {name: str(value) for name, value in wishes.items()}
    pairs = [ir.ArrayAttr.get([ir.StringAttr.get(k), ir.StringAttr.get(v)]) for k, v in passthrough.items()]
    return {
        "rocdl.kernel": ir.UnitAttr.get(),
        "passthrough": ir.ArrayAttr.get(pairs),
    }


def lower_to_rocdl(module: ir.Module, target: Target) -> None:
    """Lowers the kernel (see the module's text)."""
    old = kernel_of(module)
    # Ours, and what LLVM calls them.
    asked = (("amdgpu-agpr-alloc", get_int(old, AGPRS)), ("amdgpu-waves-per-eu", get_int(old, OCCUPANCY)))
    wishes = {name: value for name, value in asked if value is not None}
    threads = roles_of(old).total * target.wavefront
    name = ir.StringAttr(old.attributes["sym_name"]).value
    attributes = {key: old.attributes[key] for key in ("tile.grid",) if key in old.attributes}
    lowering = Lowering(target)
    with ir.InsertionPoint(old), location_of(old):
        new = func.FuncOp(f"{name}.lowered", ir.FunctionType.get(_signature(old), []))
        block = new.add_entry_block()
        _bind_arguments(lowering, old, list(block.arguments))
        with ir.InsertionPoint(block):
            lowering.block([op.operation for op in list(body_of(old).operations)[:-1]])
            func.ReturnOp([])
    old.erase()
    new.operation.attributes["sym_name"] = ir.StringAttr.get(name)
    new.operation.attributes["tile.kernel"] = ir.UnitAttr.get()
    module.operation.attributes["llvm.data_layout"] = ir.StringAttr.get(DATA_LAYOUT)
    PassManager.parse(UPSTREAM, module.context).run(module.operation)
    # rocdl.kernel is only allowed on an llvm.func.
    for key, value in (_function_attributes(threads, wishes) | attributes).items():
        kernel_of(module).attributes[key] = value
