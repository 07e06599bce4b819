"""The compile flow: tile IR, passes, LLVM IR, code generation, linking."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

from hkc.driver import link
from hkc.driver.codegen import POOL
from hkc.driver.meta import KernelMeta
from hkc.driver.report import Report, check_limits, make_report

if TYPE_CHECKING:
    from hkc.driver.dump import Dumper
    from mlir import ir


@dataclass(frozen=True)
class CompiledKernel:
    """A code object and the texts it came from.

    ``tile`` and ``mlir`` are the program before any pass, ``llvm`` the IR given to LLVM, ``asm`` LLVM's assembly,
    ``obj`` the relocatable object. ``tile``, ``mlir`` and ``meta`` are None for a compile that started below the
    tile dialect. ``seconds`` is the time of each stage.
    """

    arch: str
    hsaco: bytes
    obj: bytes
    asm: str
    llvm: str
    mlir: str | None
    tile: str | None
    meta: KernelMeta | None
    seconds: dict[str, float]
    cached: bool = False

    @property
    def report(self) -> Report:
        """Registers, LDS, occupancy, main loop and compile time."""
        return make_report(self)


class _Clock:
    """Seconds by stage."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._last = perf_counter()

    def skip(self) -> None:
        """What happened since the last stage is nobody's time."""
        self._last = perf_counter()

    def stage(self, name: str) -> None:
        now = perf_counter()
        self.seconds[name] = self.seconds.get(name, 0.0) + now - self._last
        self._last = now


def compile_module(
    make_module: Callable[[], ir.Module],
    arch: str,
    *,
    constants: dict[str, str] | None = None,
    dumper: Dumper | None = None,
) -> CompiledKernel:
    """Compile a module of any stage above LLVM IR; passes that it has been through are not run again.

    ``make_module`` is called after the code generation process has been started, so that importing MLIR and the front
    end overlap with its start.
    """
    POOL.prestart()
    clock = _Clock()
    module = make_module()
    clock.stage("front end")
    from hkc.driver import dump, llvmir
    from hkc.driver.meta import describe
    from hkc.passes.pipelines import PASSES, done_passes, run_pipeline

    numbers = {p.name: index for index, p in enumerate(PASSES, start=1)}

    def observe(name: str, module: ir.Module) -> None:
        clock.stage(name)
        if dumper is not None:
            dumper.module(numbers[name], name, module)
            clock.skip()

    meta = describe(module, arch, constants)
    started = bool(done_passes(module))
    mlir, tile = (None, None) if started else (dump.module_text(module), dump.tile_text(module))
    if dumper is not None and not started:
        dumper.module(0, "tile", module)
    clock.skip()
    run_pipeline(module, arch, observer=observe)
    clock.skip()
    text = llvmir.translate(module, arch)
    clock.stage("llvm ir")
    if dumper is not None:
        dumper.text(len(PASSES) + 1, "llvm", ".ll", text)
    compiled = compile_llvm(text, arch, dumper=dumper, number=len(PASSES) + 2)
    return replace(
        compiled, mlir=mlir, tile=tile, meta=complete_meta(meta, compiled), seconds=clock.seconds | compiled.seconds
    )


def compile_llvm(
    text: str, arch: str, *, source: str | None = None, dumper: Dumper | None = None, number: int = 0
) -> CompiledKernel:
    """Compile LLVM IR. ``source`` names the file when the IR is the user's own.

    Raises HkcError for IR that LLVM refuses, and when a kernel is over a limit of the target.
    """
    clock = _Clock()
    made = POOL.generate(text, arch, source=source)
    clock.skip()
    if dumper is not None:
        dumper.text(number, "final", ".s", made.assembly)
        clock.skip()
    hsaco = link.link(made.object)
    clock.stage("link")
    seconds = {"llvm optimize": made.seconds["optimize"], "llvm emit": made.seconds["emit"], **clock.seconds}
    compiled = CompiledKernel(arch, hsaco, made.object, made.assembly, text, None, None, None, seconds)
    check_limits(compiled)
    return compiled
