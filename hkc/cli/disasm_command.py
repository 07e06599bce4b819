"""``hkc disasm``: a code object's instructions as text, in LLVM's syntax."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hkc.driver.files import read_bytes

if TYPE_CHECKING:
    from hkc.runtime.disassembly import Code, Line


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """The command's options."""
    parser = commands.add_parser("disasm", help="print a code object's instructions", allow_abbrev=False)
    parser.add_argument(
        "file", metavar="OBJ.hsaco", type=Path, help="a linked code object, hkc's or another compiler's"
    )
    parser.add_argument("--arch", metavar="ARCH", help="the target, for an offload bundle of several")
    parser.add_argument("--json", action="store_true", help="as JSON: address, words, text and branch target")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Prints every executable section."""
    from hkc.runtime.disassembly import disassemble_object
    from hkc.runtime.metadata import unbundle

    data = read_bytes(options.file)
    if options.arch:
        data = unbundle(data, options.arch)
    arch, sections = disassemble_object(data)
    if options.json:
        print(json.dumps({"arch": arch, "sections": [_section(code) for code in sections]}))
        return 0
    for code in sections:
        print(f"Disassembly of section {code.section}:")
        for line in _lines(code):
            print(line)
    return 0


def _lines(code: Code) -> Iterator[str]:
    for line in code.lines:
        if line.address in code.labels:
            yield f"\n{line.address:016x} <{code.labels[line.address]}>:"
        text = line.text if line.text is not None else f".long {line.words[0]:#010x}"
        words = " ".join(f"{word:08X}" for word in line.words)
        target = f" {code.place(line.target)}" if line.target is not None else ""
        yield f"\t{text:<59}// {line.address:012X}: {words}{target}".rstrip()


def _section(code: Code) -> dict[str, Any]:
    labels = [{"address": address, "name": name} for address, name in code.labels.items()]
    return {"name": code.section, "labels": labels, "lines": [_line(line) for line in code.lines]}


def _line(line: Line) -> dict[str, Any]:
    return {"address": line.address, "words": list(line.words), "text": line.text, "target": line.target}
