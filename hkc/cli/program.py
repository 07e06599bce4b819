"""Arguments that several commands share: the program, its target and its constants."""

from __future__ import annotations

import argparse
import difflib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hkc import knobs
from hkc.driver.source import Source, open_source, open_sources
from hkc.errors import HkcError
from hkc.targets import TARGETS

if TYPE_CHECKING:
    from mlir import ir

    from hkc.driver.compile import CompiledKernel


def add_program_arguments(parser: argparse.ArgumentParser) -> None:
    """FILE, --arch, -D, --dump-ir."""
    parser.add_argument(
        "file",
        metavar="FILE",
        help="FILE.tile or FILE.py, with :kernel to pick one of several; a dumped .mlir; a .ll",
    )
    parser.add_argument("--arch", metavar="ARCH", help="target: gfx942 or gfx950 (default: HKC_ARCH, else gfx950)")
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
            raise HkcError(f"-D {text}: not a definition", expected="-D NAME=VALUE", hint="for example -D BM=128")
        if name in table:
            raise HkcError(f"-D {name} is given twice", got=f"{table[name]} and {value}")
        table[name] = value
    return table


@dataclass(frozen=True)
class Program:
    """An opened program with its constants bound; ``given`` are the definitions that name constants, ``sizes`` the
    others."""

    source: Source
    arch: str
    constants: dict[str, Any]
    sizes: dict[str, str]
    given: dict[str, str] = field(default_factory=dict)

    @property
    def from_source(self) -> bool:
        """Whether it is a program of the language, for any target."""
        return self.source.kernel is not None

    def sizes_of(self, shapes: Mapping[str, Sequence[int]]) -> dict[str, int]:
        """The sizes that the shapes of arrays (by parameter) tell."""
        if self.source.kernel is None:
            return {}
        from hkc.lang.defaults import sizes_of_shapes

        return sizes_of_shapes(self.source.kernel, self.given, shapes)

    def for_sizes(self, sizes: Mapping[str, int]) -> Program:
        """The program with its constants bound for these sizes and those defined, as far as their defaults ask."""
        kernel = self.source.kernel
        if kernel is None:
            return self
        from hkc.lang.constants import complete, integers

        return replace(self, constants=complete(kernel, self.given, {**sizes, **integers(self.sizes)}))

    def module(self, dtypes: dict[str, Any]) -> ir.Module:
        """The program's module, before any pass that it has not been through."""
        if self.source.kernel is not None:
            from hkc.lang.elaborate import elaborate

            return elaborate(self.source.kernel, self.constants, dtypes)
        from hkc.dialect.context import parse_module

        return parse_module(self.source.text, str(self.source.path))

    def compile(
        self,
        dump: Path | None,
        *,
        arch: str | None = None,
        dtypes: dict[str, Any] | None = None,
        assembly: bool = False,
    ) -> CompiledKernel:
        """Compile it, from the step that the file is at; ``assembly`` if that will be asked for."""
        from hkc.driver import compile as flow
        from hkc.driver.dump import Dumper

        flow.alone = True
        dumper = Dumper(dump) if dump is not None else None
        source, arch = self.source, arch or self.arch
        if source.form == "ll":
            return flow.compile_llvm(source.text, arch, str(source.path), dumper=dumper, assembly=assembly)
        if source.kernel is None:
            path = str(source.path)
            return flow.compile_module(lambda: self.module({}), arch, dumper=dumper, assembly=assembly, source=path)
        return flow.compile_kernel(source.kernel, arch, self.constants, dtypes or {}, dumper=dumper, assembly=assembly)


def open_program(options: argparse.Namespace) -> Program:
    """Open FILE and bind the constants among the definitions.

    What else was defined is left in ``sizes``: whether it names anything is known once the kernel is
    compiled, and asking now would import MLIR even when the kernel comes from the cache.
    """
    return _program(open_source(options.file), options, definitions(options))


def open_programs(options: argparse.Namespace) -> list[Program]:
    """Like :func:`open_program`, but all kernels of a file in order when none is named."""
    table = definitions(options)
    return [_program(source, options, table) for source in open_sources(options.file)]


def _program(source: Source, options: argparse.Namespace, table: dict[str, str]) -> Program:
    if source.kernel is not None:
        from hkc.lang.constants import complete, integers

        given = {name: text for name, text in table.items() if name in source.kernel.constants}
        sizes = {name: text for name, text in table.items() if name not in given}
        constants = complete(source.kernel, given, integers(sizes))
        return Program(source, known_arch(options.arch), constants, sizes, given)
    return Program(source, _arch_of(source, options.arch), {}, table)


def known_arch(given: str | None) -> str:
    """The target that ``--arch`` names, else ``HKC_ARCH`` or the default. Raises HkcError that says which names it."""
    arch = given or knobs.arch()
    if arch not in TARGETS:
        where = f"--arch {arch}" if given else f"HKC_ARCH={arch}"
        raise HkcError(f"{where}: there is no such target", expected=" or ".join(TARGETS), hint=_close(arch))
    return arch


def _close(arch: str) -> str | None:
    close = difflib.get_close_matches(arch, TARGETS, n=1)
    return f"did you mean {close[0]}?" if close else None


def _arch_of(source: Source, given: str | None) -> str:
    """The target that an IR file names, else the given one; both must agree."""
    if given is not None:
        known_arch(given)
    from hkc.driver.llvmtext import named_archs

    text = source.text
    named = named_archs(text) if source.form == "ll" else re.findall(r'\btile\.arch = "(\w+)"', text)[:1]
    if len(named) > 1:
        raise HkcError(f"{source.path} is for several targets", expected="one", got=", ".join(named))
    if named and given and named[0] != given:
        raise HkcError(f"{source.path} is for another target", expected=f"--arch {named[0]}", got=given)
    return named[0] if named else known_arch(given)


def reject_sizes(program: Program) -> None:
    """Raise HkcError if a definition names no constant and no size on which a default depends: a compile needs no
    others, so it is likely a slip."""
    kernel = program.source.kernel
    for name in program.sizes:
        if kernel is None:
            raise HkcError(f"{program.source.path}: its constants are bound already", got=f"-D {name}")
        from hkc.lang.constants import bind
        from hkc.lang.defaults import used_sizes

        bind(kernel, {**program.given, name: program.sizes[name]})  # names what there is, if it is not a size either
        if name in used_sizes(kernel):
            continue
        raise HkcError(
            f"-D {name}: a size is known when the kernel runs, not when it is compiled",
            expected=", ".join(kernel.constants) or "no definitions",
            hint=f"leave it out, or use: hkc run {program.source.path} -D {name}={program.sizes[name]}",
        )
