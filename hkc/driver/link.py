"""Linking: a relocatable object becomes an AMDGPU code object, with LLVM's ``ld.lld``."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from hkc import knobs
from hkc.errors import HkcError, InternalError

# A code object is a shared library; no build id and no other note that depends on the machine.
_FLAGS = ("-shared", "--no-undefined", "--build-id=none", "--threads=1")


def find_linker() -> list[str]:
    """The command that starts LLD.

    Looked for in this order: ``HKC_LLD``, ROCm (``$ROCM_PATH``, else /opt/rocm), ``PATH`` (``ld.lld``, the
    newest ``ld.lld-NN``, ``lld``), the PyPI package ``ziglang``. Raises HkcError when there is none.
    """
    if chosen := knobs.lld():
        path = shutil.which(chosen)
        if path is None:
            raise HkcError(f"HKC_LLD names {chosen!r}, which is not an executable file")
        return _flavoured(path)
    rocm = knobs.rocm_path() / "llvm" / "bin"
    for path in (
        shutil.which(str(rocm / "ld.lld")),
        shutil.which("ld.lld"),
        _newest_on_path(),
        shutil.which("lld"),
    ):
        if path:
            return _flavoured(path)
    if zig := _zig():
        return [zig, "ld.lld"]
    raise HkcError(
        "no LLD found to link the code object",
        hint="pip install 'hkc[lld]' (or the system package `lld`), or set HKC_LLD to an ld.lld",
    )


def _flavoured(path: str) -> list[str]:
    """LLD's generic driver takes its flavour from an argument, the others from their own name."""
    name = Path(path).name
    if name == "zig" or name.startswith("python-zig"):
        return [path, "ld.lld"]
    return [path, "-flavor", "gnu"] if re.fullmatch(r"lld(-[\d.]+)?", name) else [path]


def _newest_on_path() -> str | None:
    found: dict[int, str] = {}
    for folder in os.environ.get("PATH", "").split(os.pathsep):
        try:
            names = os.listdir(folder or ".")
        except OSError:
            continue
        for name in names:
            if match := re.fullmatch(r"ld\.lld-(\d+)", name):
                found.setdefault(int(match[1]), str(Path(folder) / name))
    return shutil.which(found[max(found)]) if found else None


def _zig() -> str | None:
    spec = importlib.util.find_spec("ziglang")
    if spec is None or not spec.submodule_search_locations:
        return None
    return shutil.which(str(Path(spec.submodule_search_locations[0]) / "zig"))


def link(obj: bytes) -> bytes:
    """Link one relocatable object.

    Raises InternalError with the linker's words when it refuses; HkcError when the linker is the user's choice.
    """
    command = find_linker()
    with tempfile.TemporaryDirectory(prefix="hkc-link-") as folder:
        # Fixed names: the linker records the output's name nowhere, but its messages show the input's.
        (Path(folder) / "kernel.o").write_bytes(obj)
        try:
            done = subprocess.run(
                [*command, *_FLAGS, "-o", "kernel.hsaco", "kernel.o"],
                cwd=folder,
                capture_output=True,
                check=False,
            )
        except OSError as error:
            raise HkcError(f"cannot start the linker {command[0]}: {error.strerror}") from None
        if done.returncode != 0:
            words = done.stderr.decode(errors="replace").strip() or f"it ended with status {done.returncode}"
            failure = f"the linker {' '.join(command)} failed"
            if knobs.lld():
                raise HkcError(failure, notes=[(words, None)], hint="set HKC_LLD to an ld.lld, or unset it")
            raise InternalError(failure, notes=[(words, None)])
        try:
            return (Path(folder) / "kernel.hsaco").read_bytes()
        except OSError:
            raise HkcError(
                f"the linker {' '.join(command)} made no code object", hint="set HKC_LLD to an ld.lld"
            ) from None
