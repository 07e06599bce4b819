"""``hkc run``."""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hkc.cli.findings import print_findings
from hkc.cli.program import Program, add_program_arguments, open_program
from hkc.cli.progress import progress
from hkc.errors import HkcError

if TYPE_CHECKING:
    from hkc.arguments import Bound
    from hkc.cli.check import Comparison
    from hkc.cli.inputs import HostArray
    from hkc.driver.compile import CompiledKernel
    from hkc.driver.meta import KernelMeta
    from hkc.runtime.device import Device, Report


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """The command's options."""
    parser = commands.add_parser("run", help="compile a kernel and run it once", allow_abbrev=False)
    add_program_arguments(parser)
    add = parser.add_argument
    add("--check", action="store_true", help="compare with the fp64 interpreter of the program")
    add("--seed", type=_seed, default=0, metavar="N", help="seed of the random inputs (default: 0)")
    add("--input", action="append", default=[], metavar="NAME=FILE.npy", help="an argument's values")
    add("--output", action="append", default=[], metavar="NAME=FILE.npy", help="save an argument afterwards")
    add("--device", metavar="DEVICE", help="emulator, hip, or one of several: hip:1 (default: HKC_DEVICE)")
    add("--sanitize", action="store_true", help="run in checked mode, on the emulated device")
    add("--report", action="store_true", help="print registers, LDS, occupancy, the main loop, compile times")
    add("--json", action="store_true", help="print what was found as JSON, and nothing else")
    parser.set_defaults(run=run)


def _seed(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text} is not a number, 0 or more")
    return int(text)


def run(options: argparse.Namespace) -> int:
    """Compile, make inputs, launch, compare; returns the exit code."""
    from hkc.cli.inputs import make_arrays, output_paths, read_inputs
    from hkc.driver.launch import open_device

    program = open_program(options)
    loaded, saved = read_inputs(options.input), output_paths(options.output)
    program = program.for_shapes({name: array.shape for name, array in loaded.items()})
    arch = program.arch if options.arch or not program.from_source else None
    device = open_device(options.device, arch)
    with progress("compiling"):
        compiled = program.compile(options.dump_ir, arch=device.arch, dtypes=_types(loaded))
    meta = compiled.meta
    if meta is None:
        raise HkcError(
            f"{program.source.path} is below the tile program: its arguments are not known",
            hint="compile it, then use: hkc emulate",
        )
    _known(meta, "--input", loaded)
    _known(meta, "--output", saved)
    scalars = _scalars(meta, program)
    sizes = _sizes(meta, program, loaded)
    arrays = make_arrays(meta, sizes, loaded, options.seed, tail=not options.sanitize)
    bound = _bind(meta, arrays, scalars)
    reports = _launch(device, compiled, bound, options.sanitize)
    comparisons = _check(program, meta, arrays, scalars, bound, loaded) if options.check else []
    for name, path in saved.items():
        _save(path, arrays[name])
    _print(options, device, compiled, sizes | scalars, bound, comparisons, reports)
    return 0 if all(c.passed for c in comparisons) and not reports else 1


def _types(loaded: dict[str, Any]) -> dict[str, Any]:
    """Element types of views that the program leaves open, from the files given for them."""
    from hkc.dtypes import DTYPES

    by_name = {d.numpy: d for d in DTYPES.values() if d.numpy is not None}
    return {name: by_name[array.dtype.name] for name, array in loaded.items() if array.dtype.name in by_name}


def _known(meta: KernelMeta, option: str, names: dict[str, Any]) -> None:
    views = [p.name for p in meta.parameters if p.kind == "view"]
    for name in names:
        if name not in views:
            raise HkcError(f"{option} {name}: kernel {meta.name} has no such array", expected=", ".join(views))


def _scalars(meta: KernelMeta, program: Program) -> dict[str, int | float]:
    from hkc.arguments import convert_scalar
    from hkc.dtypes import DTYPES

    values: dict[str, int | float] = {}
    for parameter in meta.parameters:
        if parameter.kind == "scalar":
            text = program.sizes.get(parameter.name)
            if text is None:
                raise HkcError(
                    f"kernel {meta.name} needs a value of its argument {parameter.name}",
                    hint=f"give it: -D {parameter.name}=VALUE",
                )
            dtype = DTYPES[parameter.dtype]
            values[parameter.name] = convert_scalar(
                parameter.name, _number(parameter.name, text, dtype.is_float), dtype
            )
    return values


def _number(name: str, text: str, real: bool) -> int | float:
    for convert in (lambda t: int(t, 0), *((float,) if real else ())):
        with contextlib.suppress(ValueError):
            return convert(text)
    raise HkcError(f"-D {name}={text}: not {'a number' if real else 'an integer'}")


def _sizes(meta: KernelMeta, program: Program, loaded: dict[str, Any]) -> dict[str, int]:
    """The dimension symbols' values, from the definitions and the shapes of loaded arrays."""
    views = [p for p in meta.parameters if p.kind == "view"]
    symbols = list(dict.fromkeys(dim for p in views for dim in p.dims if isinstance(dim, str)))
    scalars = [p.name for p in meta.parameters if p.kind == "scalar"]
    for name in program.sizes:
        if name not in symbols and name not in scalars:
            known = [*symbols, *scalars, *meta.constants]
            raise HkcError(f"kernel {meta.name} has nothing named {name}", expected=", ".join(known), got=f"-D {name}")
    sizes: dict[str, int] = {}
    for symbol in symbols:
        if symbol in program.sizes:
            sizes[symbol] = int(_number(symbol, program.sizes[symbol], real=False))
            if not 0 <= sizes[symbol] < 2**31:
                raise HkcError(f"-D {symbol}: not a size", expected="0 to 2^31 - 1", got=program.sizes[symbol])
    for view in views:
        if view.name in loaded:
            _match(view.name, view.dims, loaded[view.name].shape, sizes)
    missing = [symbol for symbol in symbols if symbol not in sizes]
    if missing:
        raise HkcError(
            f"kernel {meta.name} needs the size{'s' * (len(missing) > 1)} {', '.join(missing)}",
            hint=" ".join(f"-D {symbol}=512" for symbol in missing),
        )
    return sizes


def _match(name: str, dims: tuple[str | int, ...], shape: tuple[int, ...], sizes: dict[str, int]) -> None:
    wanted = [sizes.setdefault(dim, n) if isinstance(dim, str) else dim for dim, n in zip(dims, shape, strict=False)]
    if len(dims) != len(shape) or wanted != list(shape):
        raise HkcError(
            f"--input {name} has another shape",
            expected=f"[{', '.join(map(str, dims))}], here {[sizes.get(str(d), d) for d in dims]}",
            got=str(list(shape)),
        )


def _bind(meta: KernelMeta, arrays: dict[str, HostArray], scalars: dict[str, int | float]) -> Bound:
    from hkc.arguments import bind_arguments

    return bind_arguments(meta, {**{name: host.array for name, host in arrays.items()}, **scalars})


def _launch(device: Device, compiled: CompiledKernel, bound: Bound, sanitize: bool) -> list[Report]:
    """Run it; gives checked mode's reports."""
    from hkc.driver.launch import launch

    assert compiled.meta is not None
    where = "the emulated device" if device.emulated else "the GPU"
    with device.load(compiled.hsaco) as module, progress(f"running on {where}"):
        with device.sanitize() if sanitize else contextlib.nullcontext():
            launch(module.function(compiled.name), compiled.meta, bound)
        return device.reports() if sanitize else []


def _check(
    program: Program,
    meta: KernelMeta,
    arrays: dict[str, HostArray],
    scalars: dict[str, int | float],
    bound: Bound,
    loaded: dict[str, Any],
) -> list[Comparison]:
    from hkc.cli.check import compare, reference

    module = program.module(_types(loaded))
    views = reference(module, meta, arrays, scalars, bound.grid(meta))
    return [compare(name, arrays[name], view) for name, view in views.items()]


def _save(path: Path, host: HostArray) -> None:
    """Write a .npy file; types that NumPy lacks are saved as float32, which holds them exactly."""
    import numpy as np

    from hkc.driver.files import write_bytes

    kind = host.array.dtype.numpy or "float32"
    stream = io.BytesIO()
    np.save(stream, host.values().astype(kind), allow_pickle=False)
    write_bytes(path, stream.getvalue())


def _print(
    options: argparse.Namespace,
    device: Device,
    compiled: CompiledKernel,
    sizes: dict[str, Any],
    bound: Bound,
    comparisons: list[Comparison],
    reports: list[Report],
) -> None:
    assert compiled.meta is not None
    grid = bound.grid(compiled.meta)
    for warning in compiled.warnings:
        print(f"warning: {warning}", file=sys.stderr)
    if options.json:
        found = {
            "kernel": compiled.name,
            "arch": compiled.arch,
            "device": "emulator" if device.emulated else "hip",
            "sizes": sizes,
            "grid": grid,
            "check": [c.to_json() for c in comparisons] if options.check else None,
            "sanitizer": [asdict(r) for r in reports] if options.sanitize else None,
            "report": compiled.report.to_json() | {"cached": compiled.cached},
        }
        print(json.dumps(found, indent=2))
        return
    place = f"{device.arch} {'emulator' if device.emulated else 'GPU'}"
    given = " ".join(f"{name}={value}" for name, value in sizes.items())
    shape = "x".join(map(str, grid))
    print(f"{compiled.name} {given} on {place}: {shape} workgroups of {compiled.meta.block} lanes")
    if options.report:
        print(compiled.report.text(cached=compiled.cached))
    if options.sanitize:
        print_findings(reports)
    for comparison in comparisons:
        print(comparison.text())
