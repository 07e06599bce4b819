"""Numbered files of every step of a compile (``--dump-ir``)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from hkc.driver.files import write_text

if TYPE_CHECKING:
    from mlir import ir


def module_text(module: ir.Module) -> str:
    """The module with its locations: parsed again it compiles to the same bytes."""
    return module.operation.get_asm(enable_debug_info=True) + "\n"


def tile_text(module: ir.Module) -> str | None:
    """The module as ``.tile`` text, None when it holds no tile ops any more."""
    from hkc.dialect.printer import print_tile
    from hkc.driver.meta import kernel_function

    return print_tile(module) if kernel_function(module) is not None else None


def _remarks(module: ir.Module) -> str:
    """The module's remarks as comments."""
    from hkc.passes.remarks import remarks_of

    return "".join(f"// {remark}\n" for remark in remarks_of(module))


class Dumper:
    """Writes ``NN_<step>.<suffix>`` into a folder, which it makes. Raises HkcError if it can't."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def module(self, number: int, step: str, module: ir.Module) -> None:
        """The module after a step, as ``.mlir`` and, while tile ops remain, as ``.tile``."""
        self.text(number, step, ".mlir", module_text(module))
        text = tile_text(module)
        if text is not None:
            self.text(number, step, ".tile", _remarks(module) + text)

    def text(self, number: int, step: str, suffix: str, text: str) -> None:
        """Any text of a step."""
        write_text(self.folder / f"{number:02d}_{step}{suffix}", text, make_folder=True)
