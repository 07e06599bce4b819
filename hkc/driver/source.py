"""Opening what a command line names: ``FILE.tile[:kernel]``, ``.py[:kernel]``, ``.mlir`` or ``.ll``."""

from __future__ import annotations

import sys
import traceback
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Literal

from hkc.driver.files import read_text
from hkc.errors import HkcError, Span

if TYPE_CHECKING:
    from hkc.lang.syntax import KernelDef

Form = Literal["tile", "py", "mlir", "ll"]
_FORMS: dict[str, Form] = {".tile": "tile", ".py": "py", ".mlir": "mlir", ".ll": "ll"}


@dataclass(frozen=True)
class Source:
    """A program on disk: ``kernel`` of a ``.tile`` or ``.py`` file, or the ``text`` of an IR file."""

    path: Path
    form: Form
    kernel: KernelDef | None = None
    text: str = ""


def open_source(argument: str) -> Source:
    """Read and parse the program.

    Raises HkcError for a missing file, an unknown suffix or an ambiguous kernel.
    """
    path, name = _split(argument)
    form = _FORMS.get(path.suffix)
    if form is None:
        raise HkcError(f"{path}: unknown kind of file", expected="a file ending in " + ", ".join(_FORMS))
    if form in ("mlir", "ll"):
        if name is not None:
            raise HkcError(f"{path} holds one program; leave out ':{name}'")
        return Source(path, form, text=read_text(path))
    kernels = _tile_kernels(path) if form == "tile" else _python_kernels(path)
    return Source(path, form, _choose(path, kernels, name))


def open_sources(argument: str) -> list[Source]:
    """Like :func:`open_source`, but all kernels of a file in order when none is named."""
    path, name = _split(argument)
    form = _FORMS.get(path.suffix)
    if name is None and (form == "tile" or form == "py"):
        kernels = _tile_kernels(path) if form == "tile" else _python_kernels(path)
        if len(kernels) > 1:
            return [Source(path, form, kernel) for kernel in kernels]
        return [Source(path, form, _choose(path, kernels, name))]
    return [open_source(argument)]


def _split(argument: str) -> tuple[Path, str | None]:
    head, colon, tail = argument.rpartition(":")
    if colon and tail.isidentifier() and not Path(argument).exists():
        return Path(head), tail
    return Path(argument), None


def _choose(path: Path, kernels: list[KernelDef], name: str | None) -> KernelDef:
    names = [k.name for k in kernels]
    if not kernels:
        raise HkcError(f"{path} defines no kernel")
    if name is None:
        if len(kernels) > 1:
            raise HkcError(
                f"{path} defines {len(kernels)} kernels",
                hint=f"name one: {path}:{names[0]}",
                got=", ".join(names),
            )
        return kernels[0]
    if name not in names:
        raise HkcError(f"{path} has no kernel {name!r}", expected=" or ".join(names), got=name)
    return kernels[names.index(name)]


def _tile_kernels(path: Path) -> list[KernelDef]:
    from hkc.lang.text import parse_text

    return parse_text(read_text(path), str(path))


def _python_kernels(path: Path) -> list[KernelDef]:
    from hkc.jit import Kernel

    module = _import_file(path)
    found = {id(v): v for v in vars(module).values() if isinstance(v, Kernel) and v.defined_in(path)}
    return [kernel.definition for kernel in found.values()]


def _import_file(path: Path) -> ModuleType:
    """Run a Python file as a module.

    Its code knows the file by the name given, so that places are shown as for other programs.
    """
    text = read_text(path).removeprefix("\ufeff")
    module = ModuleType(f"_hkc_program_{path.stem}")
    module.__file__ = str(path)
    sys.modules[module.__name__] = module  # dataclasses and pickle look their module up
    sys.path.insert(0, str(path.resolve().parent))
    try:
        exec(compile(text, str(path), "exec", dont_inherit=True), module.__dict__)
    except HkcError:
        raise
    except (Exception, SystemExit) as error:
        raise _python_error(path, error) from None
    finally:
        sys.path.pop(0)
    return module


def _python_error(path: Path, error: BaseException) -> HkcError:
    """The user's own exception, at the deepest line of the user's file."""
    if isinstance(error, SyntaxError) and error.filename == str(path) and error.lineno:
        place = Span(str(path), error.lineno, max(error.offset or 1, 1))
        return HkcError(f"Python can't read this: {error.msg}", place)
    lines = [f.lineno for f in traceback.extract_tb(error.__traceback__) if f.filename == str(path) and f.lineno]
    span = Span(str(path), lines[-1], 1) if lines else None
    return HkcError(f"the Python program stopped with {type(error).__name__}: {error}", span)
