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
from hkc.cli.pipeline import Stage, joined, scalar_values, size_values
from hkc.cli.program import Program, add_program_arguments, open_programs
from hkc.cli.progress import progress
from hkc.errors import HkcError

if TYPE_CHECKING:
    from hkc.cli.check import Comparison
    from hkc.cli.inputs import HostArray
    from hkc.driver.meta import KernelMeta
    from hkc.runtime.device import Device, Report


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """The command's options."""
    parser = commands.add_parser(
        "run", help="compile a kernel and run it once (or all kernels of a file, in order)", allow_abbrev=False
    )
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
    """Compile, make inputs, launch one kernel after the other, compare; returns the exit code."""
    from hkc.cli.inputs import make_arrays, output_paths, read_inputs
    from hkc.driver.launch import open_device

    programs = open_programs(options)
    loaded, saved = read_inputs(options.input), output_paths(options.output)
    shapes = {name: array.shape for name, array in loaded.items()}
    told = {name: size for p in programs for name, size in p.sizes_of(shapes).items()}
    programs = [p.for_sizes(told) for p in programs]
    arch = programs[0].arch if options.arch or not programs[0].from_source else None
    device = open_device(options.device, arch)
    stages = [_compile(p, options, device, loaded, len(programs)) for p in programs]
    whole = joined([stage.meta for stage in stages])
    _known(whole, "--input", loaded)
    _known(whole, "--output", saved)
    given = programs[0].sizes | programs[0].given
    scalars = scalar_values(whole, given)
    sizes = size_values(whole, given, loaded)
    arrays = make_arrays(whole, sizes, loaded, options.seed, tail=not options.sanitize)
    stages = [stage.bind(arrays, scalars) for stage in stages]
    reports = [report for stage in stages for report in _launch(device, stage, options.sanitize)]
    comparisons = _check(stages, whole, arrays, scalars, loaded) if options.check else []
    for name, path in saved.items():
        _save(path, arrays[name])
    _print(options, device, stages, sizes | scalars, comparisons, reports)
    return 0 if all(c.passed for c in comparisons) and not reports else 1


def _compile(
    program: Program, options: argparse.Namespace, device: Device, loaded: dict[str, Any], count: int
) -> Stage:
    """A kernel compiled for the device; of several, each dumps into a folder of its own."""
    dump = options.dump_ir
    if dump is not None and count > 1 and program.source.kernel is not None:
        dump = dump / program.source.kernel.name
    with progress("compiling"):
        compiled = program.compile(dump, arch=device.arch, dtypes=_types(loaded))
    if compiled.meta is None:
        raise HkcError(
            f"{program.source.path} is below the tile program: its arguments are not known",
            hint="compile it, then use: hkc emulate",
        )
    return Stage(program, compiled, compiled.meta)


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


def _launch(device: Device, stage: Stage, sanitize: bool) -> list[Report]:
    """Run a kernel; gives checked mode's reports."""
    from hkc.driver.launch import launch

    where = "the emulated device" if device.emulated else "the GPU"
    with device.load(stage.compiled.hsaco) as module, progress(f"running on {where}"):
        with device.sanitize() if sanitize else contextlib.nullcontext():
            launch(module.function(stage.compiled.name), stage.meta, stage.bound)
        return device.reports() if sanitize else []


def _check(
    stages: list[Stage],
    whole: KernelMeta,
    arrays: dict[str, HostArray],
    scalars: dict[str, int | float],
    loaded: dict[str, Any],
) -> list[Comparison]:
    from hkc.cli.check import compare, reference

    kernels = ((stage.program.module(_types(loaded)), stage.grid) for stage in stages)
    views = reference(kernels, whole, arrays, scalars)
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
    stages: list[Stage],
    sizes: dict[str, Any],
    comparisons: list[Comparison],
    reports: list[Report],
) -> None:
    for stage in stages:
        for warning in stage.compiled.warnings:
            print(f"warning: {warning}", file=sys.stderr)
    if options.json:
        print(json.dumps(_json(options, device, stages, sizes, comparisons, reports), indent=2))
        return
    place = f"{device.arch} {'emulator' if device.emulated else 'GPU'}"
    given = " ".join(f"{name}={value}" for name, value in sizes.items())
    for stage in stages:
        shape = "x".join(map(str, stage.grid))
        print(f"{stage.meta.name} {given} on {place}: {shape} workgroups of {stage.meta.block} lanes")
        if options.report:
            print(stage.compiled.report.text(cached=stage.compiled.cached))
    if options.sanitize:
        print_findings(reports)
    for comparison in comparisons:
        print(comparison.text())


def _json(
    options: argparse.Namespace,
    device: Device,
    stages: list[Stage],
    sizes: dict[str, Any],
    comparisons: list[Comparison],
    reports: list[Report],
) -> dict[str, Any]:
    """What was found; of several kernels each has an entry in ``kernels``."""
    each = [
        {
            "kernel": stage.meta.name,
            "grid": stage.grid,
            "report": stage.compiled.report.to_json() | {"cached": stage.compiled.cached},
        }
        for stage in stages
    ]
    return {
        "arch": stages[0].compiled.arch,
        "device": "emulator" if device.emulated else "hip",
        "sizes": sizes,
        "check": [c.to_json() for c in comparisons] if options.check else None,
        "sanitizer": [asdict(r) for r in reports] if options.sanitize else None,
        **(each[0] if len(each) == 1 else {"kernels": each}),
    }
