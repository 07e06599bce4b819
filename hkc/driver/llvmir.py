"""From a module of only llvm and rocdl ops to LLVM IR text."""

from __future__ import annotations

from mlir import ir
from mlir.dialects import llvm
from mlir.passmanager import PassManager

from hkc.driver.worker import TRIPLE
from hkc.errors import InternalError

# Gives each function a DISubprogram, so that MLIR locations become line tables; no effect when it has one
# already.
_DEBUG_SCOPES = "builtin.module(ensure-debug-info-scope-on-llvm-func{emission-kind=LineTablesOnly})"


def translate(module: ir.Module, arch: str) -> str:
    """LLVM IR of a lowered module, complete for :mod:`hkc.driver.codegen`: triple and ``target-cpu`` are set.

    The module gains debug scopes and the target's attributes. Raises InternalError if ops of other dialects
    remain.
    """
    with module.context, ir.Location.unknown():
        _set_target(module, arch)
        try:
            PassManager.parse(_DEBUG_SCOPES).run(module.operation)
            text: str = llvm.translate_module_to_llvmir(module.operation)
        except ir.MLIRError as error:
            raise InternalError(f"the lowered module has no LLVM IR: {error}") from None
    return text


def _set_target(module: ir.Module, arch: str) -> None:
    module.operation.attributes["llvm.target_triple"] = ir.StringAttr.get(TRIPLE)
    for op in module.body.operations:
        if op.operation.name == "llvm.func" and op.operation.regions[0].blocks:
            op.operation.attributes["target_cpu"] = ir.StringAttr.get(arch)
