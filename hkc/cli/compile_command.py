"""``hkc compile``."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from hkc.cli.program import add_program_arguments, open_program, reject_sizes
from hkc.cli.progress import progress
from hkc.driver.files import write_bytes
from hkc.errors import HkcError

EMIT = ("tile", "mlir", "llvm", "asm", "obj", "hsaco")


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """The command's options."""
    parser = commands.add_parser("compile", help="compile a kernel to a code object", allow_abbrev=False)
    add_program_arguments(parser)
    parser.add_argument("--emit", choices=EMIT, default="hsaco", help="what to write (default: the code object)")
    parser.add_argument(
        "-o",
        dest="output",
        metavar="OUT",
        type=Path,
        help="file to write (default: KERNEL.hsaco; text to stdout)",
    )
    parser.add_argument(
        "--report", action="store_true", help="print registers, LDS, occupancy, the main loop, compile times"
    )
    parser.add_argument("--json", action="store_true", help="print the report as JSON, and nothing else")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Compile, write what was asked for, report."""
    program = open_program(options)
    reject_sizes(program)
    with progress("compiling"):
        compiled = program.compile(options.dump_ir, assembly=options.emit == "asm")
    output = getattr(compiled, options.emit)
    if output is None:
        raise HkcError(f"{program.source.path} starts below the tile program: no {options.emit} can be given")
    data = output.encode() if isinstance(output, str) else output
    to_stdout = options.output is None and isinstance(output, str)
    if to_stdout and not options.json:
        sys.stdout.write(output)
    elif not to_stdout:
        path = options.output or Path(f"{compiled.name}.{'o' if options.emit == 'obj' else options.emit}")
        write_bytes(path, data)
    for warning in compiled.warnings:
        print(f"warning: {warning}", file=sys.stderr)
    if options.json:
        print(json.dumps(compiled.report.to_json() | {"cached": compiled.cached}, indent=2))
    elif options.report:
        # Beside text on stdout, the report would be in its way.
        print(compiled.report.text(cached=compiled.cached), file=sys.stderr if to_stdout else sys.stdout)
    return 0
