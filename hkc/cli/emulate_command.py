"""``hkc emulate``: run any AMDGPU code object on the emulated device."""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hkc.cli.coverage import print_coverage
from hkc.cli.findings import print_findings
from hkc.cli.progress import progress
from hkc.driver.files import read_bytes, write_bytes
from hkc.errors import HkcError

if TYPE_CHECKING:
    import numpy as np

    from hkc.runtime.device import Device, Module
    from hkc.runtime.metadata import KernelInfo

_ARGUMENT_HELP = "buf:FILE.npy, zeros:BYTES, null, i8: i16: i32: i64: f32: f64:NUMBER, hex:BYTES; once an argument"


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """The command's options."""
    parser = commands.add_parser("emulate", help="run a code object on the emulated device", allow_abbrev=False)
    add = parser.add_argument
    add("file", metavar="OBJ.hsaco", type=Path, nargs="?", help="a linked code object, hkc's or another compiler's")
    add("--kernel", metavar="NAME", help="the kernel (default: the only one)")
    add("--arch", metavar="ARCH", help="the target, for an offload bundle of several or --coverage")
    add("--grid", default="1", metavar="X[,Y[,Z]]", help="workgroups (default: 1)")
    add("--block", metavar="X[,Y[,Z]]", help="lanes of a workgroup (default: the most it was compiled for)")
    add("--arg", action="append", default=[], metavar="KIND:VALUE", help=_ARGUMENT_HELP)
    add("--lds", type=int, default=0, metavar="BYTES", help="dynamic LDS (default: 0)")
    add("--output", action="append", default=[], metavar="N=FILE.npy", help="save the buffer of argument N (0-based)")
    add("--sanitize", action="store_true", help="run in checked mode")
    add("--threads", type=int, default=0, metavar="N", help="host threads; 1 is deterministic (default: all cores)")
    add(
        "--budget",
        type=int,
        default=0,
        metavar="N",
        help="stop and report a wave after N instructions (default: never)",
    )
    add("--coverage", action="store_true", help="list the opcodes that the emulated device executes, run nothing")
    add("--json", action="store_true", help="print what was found as JSON, and nothing else")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Load, launch, save; 1 if checked mode reported anything. Without a kernel to choose, lists them."""
    from hkc.runtime.device import open_device
    from hkc.runtime.metadata import read_code_object, unbundle

    if options.coverage:
        print_coverage(options.arch, as_json=options.json)
        return 0
    if options.file is None:
        raise HkcError("no code object to run", hint="hkc emulate OBJ.hsaco, or --coverage")
    data = read_bytes(options.file)
    if options.arch:
        data = unbundle(data, options.arch)
    info = read_code_object(data)
    kernel = _choose(options, info.kernels)
    grid = _extent("--grid", options.grid)
    block = _extent("--block", options.block) if options.block else (kernel.max_flat_workgroup_size,)
    outputs = _outputs(options.output, len(options.arg))
    device = open_device(f"emulator:{info.arch}")
    device.set_threads(options.threads)
    device.set_instruction_budget(options.budget)
    arguments = [_argument(device, number, text) for number, text in enumerate(options.arg)]
    with device.load(data) as module:
        found = _launch(device, module, kernel, grid, block, [a.value for a in arguments], options)
        for number, path in outputs.items():
            arguments[number].save(path)
    if options.json:
        reports = [asdict(report) for report in found] if options.sanitize else None
        print(json.dumps({"kernel": kernel.name, "arch": info.arch, "sanitizer": reports}, indent=2))
    elif options.sanitize:
        print_findings(found)
    return 1 if found else 0


def _choose(options: argparse.Namespace, kernels: Any) -> KernelInfo:
    names = ", ".join(kernels) or "none"
    if options.kernel is None:
        if len(kernels) != 1:
            raise HkcError(f"{options.file} has {len(kernels)} kernels", hint="name one with --kernel", got=names)
        return next(iter(kernels.values()))
    if options.kernel not in kernels:
        raise HkcError(f"{options.file} has no kernel {options.kernel}", expected=names)
    return kernels[options.kernel]


def _launch(
    device: Device,
    module: Module,
    kernel: KernelInfo,
    grid: tuple[int, ...],
    block: tuple[int, ...],
    values: list[Any],
    options: argparse.Namespace,
) -> list[Any]:
    checked = device.sanitize() if options.sanitize else contextlib.nullcontext()
    with checked, progress(f"running {kernel.name} on the emulated device"):
        module.function(kernel.name).launch(grid, block, values, options.lds)
        device.synchronize()
    return device.reports() if options.sanitize else []


def _extent(option: str, text: str) -> tuple[int, ...]:
    parts = text.split(",")
    if not 1 <= len(parts) <= 3 or not all(part.strip().isdecimal() and int(part) > 0 for part in parts):
        raise HkcError(f"{option} {text}: not an extent", expected="one to three positive numbers: X,Y,Z")
    return tuple(int(part) for part in parts)


class _Argument:
    """A launch argument; a buffer remembers the type and shape it is saved with."""

    def __init__(self, value: Any, dtype: Any = None, shape: tuple[int, ...] = ()) -> None:
        self.value, self.dtype, self.shape = value, dtype, shape

    def save(self, path: Path) -> None:
        import io

        import numpy as np

        if self.dtype is None:
            raise HkcError("--output: that argument is not a buffer")
        data: np.ndarray = self.value.read(self.dtype, self.shape)
        stream = io.BytesIO()
        np.save(stream, data, allow_pickle=False)
        write_bytes(path, stream.getvalue())


_NUMBERS: dict[str, Callable[[str], Any]] = {
    **{
        f"i{bits}": (lambda text, bits=bits: _integer(text, bits).to_bytes(bits // 8, "little"))  # type: ignore[misc]
        for bits in (8, 16, 32, 64)
    },
    "f32": lambda text: ctypes.c_float(float(text)),
    "f64": lambda text: ctypes.c_double(float(text)),
    "hex": bytes.fromhex,
}


def _integer(text: str, bits: int) -> int:
    """Signed or unsigned, as bits."""
    number = int(text, 0)
    if not -(1 << (bits - 1)) <= number < 1 << bits:
        raise ValueError(f"it does not fit {bits} bits")
    return number % (1 << bits)


def _argument(device: Device, number: int, text: str) -> _Argument:
    """One ``--arg``."""
    kind, _, value = text.partition(":")
    where = f"--arg {text} (argument {number})"
    if kind == "null" and not value:
        return _Argument(None)
    if kind == "buf":
        from hkc.cli.inputs import load_npy

        array = load_npy(Path(value), where)
        return _Argument(device.alloc(array.nbytes).write(array), array.dtype, array.shape)
    if kind == "zeros":
        if not value.isdecimal():
            raise HkcError(f"{where}: not a number of bytes", expected="zeros:BYTES")
        return _Argument(device.alloc(int(value)).fill(0), "uint8", (int(value),))
    if kind in _NUMBERS:
        try:
            return _Argument(_NUMBERS[kind](value))
        except (ValueError, OverflowError) as error:
            raise HkcError(f"{where}: {error}") from None
    raise HkcError(f"{where}: unknown kind of argument", expected=_ARGUMENT_HELP.partition(";")[0])


def _outputs(texts: list[str], count: int) -> dict[int, Path]:
    table: dict[int, Path] = {}
    for text in texts:
        number, equals, path = text.partition("=")
        if not equals or not path or not number.isdecimal() or int(number) >= count:
            raise HkcError(f"--output {text}: not an assignment", expected=f"N=FILE.npy, N from 0 to {count - 1}")
        table[int(number)] = Path(path)
    return table
