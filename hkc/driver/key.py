"""What a compiled kernel depends on, as a hash: it names the cache entry. Imports neither MLIR nor LLVM."""

from __future__ import annotations

import hashlib
import importlib.util
import json
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from hkc.lang.syntax import KernelDef, Node

# Sources that take part in a compile; the rest of hkc may change without making entries stale.
_PACKAGES = ("hkc.dialect", "hkc.passes", "hkc.lang", "hkc.targets", "hkc.driver")
_BINARIES = ("llvmlite", "mlir")


def cache_key(definition: KernelDef, arch: str, constants: Mapping[str, Any], dtypes: Mapping[str, Any]) -> str:
    """The key of a kernel for ``arch`` with its ``constants`` and its views' element types.

    Source places count too: they are in the code object's line table.
    """
    state = hashlib.sha256()
    state.update(versions().encode())
    bound = [sorted((name, repr(value)) for name, value in table.items()) for table in (constants, dtypes)]
    state.update(json.dumps([arch, bound]).encode())
    for part in _flatten(definition):
        state.update(part.encode())
        state.update(b"\0")
    return state.hexdigest()


def _flatten(node: object) -> Iterator[str]:
    """A program as text, spans included."""
    if isinstance(node, Node):
        yield type(node).__name__
        for name in ("span", *node.fields):
            yield from _flatten(getattr(node, name))
    elif isinstance(node, tuple):
        yield f"({len(node)}"
        for item in node:
            yield from _flatten(item)
    elif isinstance(node, dict):
        yield f"{{{len(node)}"
        for key, value in node.items():
            yield repr(key)
            yield from _flatten(value)
    else:
        yield repr(node)


@cache
def versions() -> str:
    """A hash of hkc's own compiling sources and of the binaries of MLIR and LLVM (by size and time)."""
    state = hashlib.sha256()
    for package in _PACKAGES:
        for path in _files(package):
            if path.suffix in (".py", ".lark"):
                state.update(f"{package}/{path.name}\0".encode())
                state.update(path.read_bytes())
    for package in _BINARIES:
        for path in _files(package):
            if ".so" in path.suffixes:
                stat = path.stat()
                state.update(f"{path.name}\0{stat.st_size}\0{stat.st_mtime_ns}\0".encode())
    return state.hexdigest()


def _files(package: str) -> list[Path]:
    """The files of a package, found without importing it."""
    spec = importlib.util.find_spec(package)
    folders = spec.submodule_search_locations if spec is not None else None
    return sorted(path for folder in folders or () for path in Path(folder).rglob("*"))
