"""``hkc opt``."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from hkc.cli.program import known_arch
from hkc.driver.files import read_text, write_text


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """The command's options."""
    parser = commands.add_parser("opt", help="run passes on a dumped module", allow_abbrev=False)
    parser.add_argument("file", metavar="FILE.mlir", type=Path, help="a module of any step, as --dump-ir writes it")
    parser.add_argument("--passes", required=True, metavar="A,B,C", help="the passes to run, in this order")
    parser.add_argument("--arch", metavar="ARCH", help="target, for a module that names none")
    parser.add_argument("-o", dest="output", metavar="OUT", type=Path, help="file to write (default: stdout)")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Parse, run the passes, print with locations."""
    text = read_text(options.file)
    from hkc.dialect.context import parse_module
    from hkc.dialect.verify import verify_module
    from hkc.driver.dump import module_text
    from hkc.passes.pipelines import check_ready, find_pass, run_passes, set_arch

    passes = [find_pass(name) for name in options.passes.split(",") if name]
    module = parse_module(text, str(options.file))
    verify_module(module)
    if options.arch:
        set_arch(module, known_arch(options.arch))
    for step in passes:
        check_ready(module, step)
        run_passes(module, [step])
    result = module_text(module)
    if options.output is None:
        sys.stdout.write(result)
    else:
        write_text(options.output, result)
    return 0
