"""The compile flow: tile IR, passes, LLVM IR, code generation, linking, report."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from time import perf_counter
from typing import TYPE_CHECKING, Any

from hkc.driver import compiled as kernels
from hkc.driver import link
from hkc.driver.codegen import POOL
from hkc.driver.compiled import CompiledKernel
from hkc.driver.report import check_limits, check_spills
from hkc.driver.resources import read_resources
from hkc.targets import get_target

if TYPE_CHECKING:
    from mlir import ir

    from hkc.driver.dump import Dumper
    from hkc.driver.workload import Workload
    from hkc.lang.syntax import KernelDef

# Set by the command line, whose process nobody else's code shares: MLIR is then imported without NumPy.
alone = False


def _import_mlir() -> None:
    """Import ``mlir.ir``, which imports NumPy where it is for attribute builders that hkc has no use for: 0.07 s."""
    if not alone or "numpy" in sys.modules or "mlir.ir" in sys.modules:
        return
    sys.modules["numpy"] = None  # type: ignore[assignment] # the import system's mark of what cannot be imported
    try:
        import mlir.ir  # noqa: F401 - others find it imported
    finally:
        del sys.modules["numpy"]


class _Clock:
    """Seconds by stage; :meth:`skip` leaves out what is no part of compiling."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._last = perf_counter()

    def stage(self, name: str) -> None:
        now = perf_counter()
        self.seconds[name] = now - self._last
        self._last = now

    def skip(self) -> None:
        self._last = perf_counter()


def compile_kernel(
    definition: KernelDef,
    arch: str,
    constants: Mapping[str, Any],
    dtypes: Mapping[str, Any],
    *,
    dumper: Dumper | None = None,
    assembly: bool = False,
) -> CompiledKernel:
    """Compile a kernel with all its constants bound; ``dtypes`` gives the element types of views without one.

    A kernel compiled before comes from the cache, unless its steps are to be dumped. With ``assembly`` the
    assembly is made along with the object, which is faster than asking for it later.
    """
    from hkc import knobs
    from hkc.driver.key import cache_key

    get_target(arch)
    key = cache_key(definition, arch, constants, dtypes) if knobs.cache_enabled() else None
    if key is not None and dumper is None and (known := kernels.load(key)) is not None:
        return known

    def make_module() -> ir.Module:
        from hkc.lang.elaborate import elaborate

        return elaborate(definition, constants, dtypes)

    shown = {name: str(value) for name, value in constants.items()}
    compiled = compile_module(make_module, arch, constants=shown, dumper=dumper, assembly=assembly)
    compiled = replace(compiled, key=key)
    if key is not None:
        kernels.store(compiled)
    return compiled


def compile_module(
    make_module: Callable[[], ir.Module],
    arch: str,
    *,
    constants: dict[str, str] | None = None,
    dumper: Dumper | None = None,
    assembly: bool = False,
    source: str | None = None,
) -> CompiledKernel:
    """Compile a module of any stage above LLVM IR; passes that it has been through are not run again.

    ``source`` names the file that the module was read from, if it was.

    ``make_module`` is called after the code generation process has been started, so that importing MLIR and
    the front end overlap with its start.
    """
    POOL.prestart()
    clock = _Clock()
    _import_mlir()
    module = make_module()
    clock.stage("front end")
    from hkc.dialect.locations import span_of
    from hkc.driver import dump, llvmir
    from hkc.driver.meta import describe, kernel_function
    from hkc.driver.workload import examine, with_waves
    from hkc.passes.lds_report import lds_tiles_of
    from hkc.passes.pipelines import PASSES, done, run_pipeline
    from hkc.passes.remarks import remarks_of

    resumed = source if done(module) else None
    numbers = {p.name: number for number, p in enumerate(PASSES, start=1)}
    function = kernel_function(module)
    workload = examine(function) if function is not None else None
    place = span_of(function) if function is not None else None
    meta = describe(module, arch, constants)
    mlir = tile = None
    if not done(module):
        mlir, tile = dump.module_text(module), dump.tile_text(module)
        if dumper is not None:
            dumper.module(0, "tile", module)

    def observe(name: str, module: ir.Module) -> None:
        nonlocal workload
        clock.stage(name)
        function = kernel_function(module)
        if workload is not None and function is not None:
            workload = with_waves(workload, function)
        if dumper is not None:
            dumper.module(numbers[name], name, module)
        clock.skip()

    clock.skip()
    run_pipeline(module, arch, observe)
    remarks, lds_tiles = remarks_of(module), lds_tiles_of(module)
    clock.skip()
    text = llvmir.translate(module, arch)
    clock.stage("translate")
    if dumper is not None:
        dumper.text(len(PASSES) + 1, "llvm", ".ll", text)
    compiled = _finish(text, arch, resumed, workload, clock.seconds, assembly or dumper is not None)
    if resumed is None:
        check_spills(compiled.resources, workload, remarks, place, lambda: _shrink(make_module(), arch))
    if dumper is not None:
        dumper.text(len(PASSES) + 2, "final", ".s", compiled.asm)
    if meta is not None:
        meta = replace(meta, block=compiled.resources.workgroup)
    return replace(compiled, mlir=mlir, tile=tile, meta=meta, remarks=remarks, lds_tiles=lds_tiles)


def _shrink(module: ir.Module, arch: str) -> str | None:
    """What a program that needs too many registers could change."""
    from hkc.passes.choose_schedules import shrink_hint

    return shrink_hint(module, get_target(arch))


def compile_llvm(
    text: str, arch: str, source: str, *, dumper: Dumper | None = None, assembly: bool = False
) -> CompiledKernel:
    """Compile the LLVM IR of the user's file ``source``. Raises HkcError for IR that LLVM refuses."""
    get_target(arch)
    compiled = _finish(text, arch, source, None, {}, assembly or dumper is not None)
    if dumper is not None:
        dumper.text(1, "final", ".s", compiled.asm)
    return compiled


def _finish(
    text: str,
    arch: str,
    source: str | None,
    workload: Workload | None,
    seconds: dict[str, float],
    assembly: bool,
) -> CompiledKernel:
    """From LLVM IR to a code object within the target's limits."""
    made = POOL.generate(text, arch, assembly=assembly, source=source)
    clock = _Clock()
    hsaco = link.link(made.object)
    clock.stage("link")
    seconds = {**seconds, **made.seconds, **clock.seconds}
    resources = read_resources(hsaco)
    check_limits(get_target(arch), resources, workload)
    return CompiledKernel(arch, hsaco, made.object, text, None, None, None, resources, workload, seconds, made.assembly)
