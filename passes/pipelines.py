"""The passes in order, and running them.

A module records the passes that it has been through in `tile.done`, so a dump of any step can be resumed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from mlir import ir

from hkc.dialect.ops import Load, Store, Wait
from hkc.dialect.types import TileType, try_parse_type
from hkc.dialect.verify import verify_module, walk
from hkc.errors import HkcError
from hkc.passes.assign_wave_roles import assign_wave_roles
from hkc.passes.choose_schedules import choose_schedules
from hkc.passes.infer_layouts import infer_layouts
from hkc.passes.insert_buffer_loads import insert_buffer_loads
from hkc.passes.insert_fences import insert_fences
from hkc.passes.lower_to_rocdl import lower_to_rocdl
from hkc.passes.map_mfma import map_mfma
from hkc.passes.rebuild import kernel_of
from hkc.passes.verify_sync import verify_sync
from hkc.targets import Target, get_target

ARCH = "tile.arch"
DONE = "tile.done"


@dataclass(frozen=True)
class Pass:
    """A step of the pipeline: a kebab-case name and a function that changes the module in place."""

    name: str
    run: Callable[[ir.Module, Target], None]

    def __call__(self, module: ir.Module) -> None:
        """Runs on a module that names its arch; verifies the result.

        Raises HkcError where the program is at fault, InternalError where the pass is.
        """
        target = get_target(arch_of(module))
        with module.context, ir.Location.unknown():
            self.run(module, target)
            module.operation.attributes[DONE] = ir.ArrayAttr.get(
                [ir.StringAttr.get(n) for n in (*done(module), self.name)]
            )
        verify_module(module)


PASSES: tuple[Pass, ...] = (
    Pass("choose-schedules", choose_schedules),
    Pass("infer-layouts", infer_layouts),
    Pass("assign-wave-roles", assign_wave_roles),
    Pass("insert-buffer-loads", insert_buffer_loads),
    Pass("insert-fences", insert_fences),
    Pass("verify-sync", verify_sync),
    Pass("map-mfma", map_mfma),
    Pass("lower-to-rocdl", lower_to_rocdl),
)


def arch_of(module: ir.Module) -> str:
    """The arch that a module is compiled for. Raises HkcError if it names none."""
    attributes = module.operation.attributes
    if ARCH not in attributes:
        raise HkcError("the module names no arch", hint='give --arch, or a module attribute tile.arch = "gfx950"')
    return ir.StringAttr(attributes[ARCH]).value


def set_arch(module: ir.Module, arch: str) -> None:
    """Names the arch. Raises HkcError for an unknown one, or one that differs from the module's."""
    get_target(arch)
    attributes = module.operation.attributes
    if ARCH in attributes and arch_of(module) != arch:
        raise HkcError("the module was made for another arch", expected=arch_of(module), got=arch)
    with module.context:
        attributes[ARCH] = ir.StringAttr.get(arch)


def done(module: ir.Module) -> tuple[str, ...]:
    """The names of the passes that the module has been through."""
    attributes = module.operation.attributes
    return tuple(ir.StringAttr(a).value for a in ir.ArrayAttr(attributes[DONE])) if DONE in attributes else ()


def remaining(module: ir.Module) -> tuple[Pass, ...]:
    """The passes still to run on a module (all that come after the last one it has been through)."""
    ran = done(module)
    last = max((index for index, p in enumerate(PASSES) if p.name in ran), default=-1)
    return PASSES[last + 1 :]


def find_pass(name: str) -> Pass:
    """The pass of that name. Raises HkcError that lists them."""
    for candidate in PASSES:
        if candidate.name == name:
            return candidate
    raise HkcError(f"unknown pass {name!r}", expected=", ".join(p.name for p in PASSES), got=name)


def check_ready(module: ir.Module, step: Pass) -> None:
    """Raises HkcError if a pass can't run on a module: it names no arch, has been through a later pass, or its tiles
    lack what earlier ones give them."""
    arch_of(module)
    names = [p.name for p in PASSES]
    index = names.index(step.name)
    later = [name for name in done(module) if name in names[index + 1 :]]
    if later:
        raise HkcError(f"{step.name} comes too late: the module has been through {later[-1]}")
    layouts = [t.layout for t in _tile_types(module)]
    ops = {op.name for op in walk(kernel_of(module))}

    def after(name: str) -> bool:
        return index > names.index(name)

    needed = None
    if after("infer-layouts") and any(layout is None for layout in layouts):
        needed = "infer-layouts"
    elif after("assign-wave-roles") and any(" by " not in layout for layout in layouts if layout):
        needed = "assign-wave-roles"
    elif after("insert-buffer-loads") and ops & {Load.name, Store.name}:
        needed = "insert-buffer-loads"
    elif after("insert-fences") and Wait.name in ops:
        needed = "insert-fences"
    elif step.name == "lower-to-rocdl" and layouts:
        needed = "map-mfma"
    if needed is not None:
        before = names[names.index(needed) : index]
        raise HkcError(
            f"{step.name} comes too early: the module has not been through {needed}",
            hint=f"--passes {','.join([*before, step.name])}",
        )


def _tile_types(module: ir.Module) -> list[TileType]:
    types = [try_parse_type(result.type) for op in walk(kernel_of(module)) for result in op.results]
    return [t for t in types if isinstance(t, TileType)]


def run_passes(
    module: ir.Module,
    passes: Sequence[Pass],
    observer: Callable[[str, ir.Module], None] | None = None,
) -> None:
    """Runs passes in order; ``observer`` sees the module after each."""
    for step in passes:
        step(module)
        if observer is not None:
            observer(step.name, module)


def run_pipeline(module: ir.Module, arch: str, observer: Callable[[str, ir.Module], None] | None = None) -> None:
    """Compiles a module for ``arch`` down to llvm and rocdl ops, from whatever step it is at."""
    set_arch(module, arch)
    run_passes(module, remaining(module), observer)
