"""Arguments that several commands share: the program, its target and its constants."""

from __future__ import annotations

import argparse
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hkc import knobs
from hkc.driver.source import Source, open_source
from hkc.errors import HkcError

if TYPE_CHECKING:
    from hkc.driver.compile import CompiledKernel


def add_program_arguments(parser: argparse.ArgumentParser) -> None:
    """FILE, --arch, -D, --dump-ir."""
    parser.add_argument(
        "file",
        metavar="FILE",
        help="FILE.tile or FILE.py, with :kernel to pick one of several; a dumped .mlir; a .ll",
    )
    parser.add_argument(
        "--arch", metavar="ARCH", help="target: gfx942 or gfx950 (default: HKC_ARCH, else gfx950)"
    )
    parser.add_argument(
        "-D",
        dest="define",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="bind a compile-time constant (for run also a size)",
    )
    parser.add_argument(
        "--dump-ir", metavar="DIR", type=Path, help="write the program after every step as DIR/NN_step.*"
    )


def definitions(options: argparse.Namespace) -> dict[str, str]:
    """The ``-D`` options by name."""
    table: dict[str, str] = {}
    for text in options.define:
        name, equals, value = text.partition("=")
        if not equals or not name.isidentifier() or not value:
            raise HkcError(
                f"-D {text}: not a definition", expected="-D NAME=VALUE", hint="for example -D BM=128"
            )
        if name in table:
            raise HkcError(f"-D {name} is given twice", got=f"{table[name]} and {value}")
        table[name] = value
    return table


@dataclass(frozen=True)
class Program:
    """An opened program with its constants bound; ``sizes`` are definitions that name no constant."""

    source: Source
    arch: str
    constants: dict[str, Any]
    sizes: dict[str, Any]

    def compile(self, dump: Path | None, dtypes: dict[str, Any] | None = None) -> CompiledKernel:
        """Compile it, from the step that the file is at."""
        from hkc.driver import compile as flow
        from hkc.driver.dump import Dumper

        dumper = Dumper(dump) if dump is not None else None
        source = self.source
        if source.form == "ll":
            return flow.compile_llvm(source.text, self.arch, str(source.path), dumper=dumper)
        if source.form == "mlir":

            def parse() -> Any:
                from hkc.dialect.context import parse_module

                return parse_module(source.text, str(source.path))

            return flow.compile_module(parse, self.arch, dumper=dumper)
        assert source.kernel is not None
        return flow.compile_kernel(source.kernel, self.arch, self.constants, dtypes or {}, dumper=dumper)


def open_program(options: argparse.Namespace) -> Program:
    """Open FILE and bind the definitions."""
    table = definitions(options)
    source = open_source(options.file)
    if source.kernel is not None:
        from hkc.lang.constants import bind

        constants, sizes = bind(source.kernel, table)
        return Program(source, options.arch or knobs.arch(), constants, sizes)
    if table:
        raise HkcError(f"{source.path}: its constants are bound already", got=f"-D {next(iter(table))}")
    return Program(source, _arch_of(source, options.arch), {}, {})


def _arch_of(source: Source, given: str | None) -> str:
    """The target that an IR file names, else the given one; both must agree."""
    from hkc.driver.llvmtext import named_archs

    text = source.text
    named = named_archs(text) if source.form == "ll" else re.findall(r'\btile\.arch = "(\w+)"', text)[:1]
    if len(named) > 1:
        raise HkcError(f"{source.path} is for several targets", expected="one", got=", ".join(named))
    if named and given and named[0] != given:
        raise HkcError(f"{source.path} is for another target", expected=f"--arch {named[0]}", got=given)
    return (named[0] if named else given) or knobs.arch()
