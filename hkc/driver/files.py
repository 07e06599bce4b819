"""Reading and writing users' files, with errors that name them."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from hkc.errors import HkcError, Span


def read_bytes(path: Path) -> bytes:
    """The file's bytes; raises HkcError when it can't be read."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise HkcError(f"cannot read {path}: {error.strerror}") from None
    except ValueError as error:  # a NUL in the name
        raise HkcError(f"cannot read {str(path)!r}: {error}") from None


def read_text(path: Path) -> str:
    """The file as UTF-8; raises HkcError when it can't be read or isn't."""
    data = read_bytes(path)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        column = error.start - data.rfind(b"\n", 0, error.start)
        raise HkcError(
            "the file is not UTF-8 text",
            Span(str(path), line, column),
            expected="UTF-8",
            got=f"the byte 0x{data[error.start]:02x}",
            hint="save the file as UTF-8",
        ) from None


def write_bytes(path: Path, data: bytes, *, make_folder: bool = False) -> None:
    """Write the whole file or nothing: a temporary file beside it, then a rename. Raises HkcError."""
    try:
        if make_folder:
            path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists() and not path.is_file():  # /dev/stdout, a pipe: nothing to rename over
            path.write_bytes(data)
            return
        target = Path(os.path.realpath(path))  # a link stays one
        handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            os.chmod(name, _mode(target))
            os.replace(name, target)
        except BaseException:
            os.unlink(name)
            raise
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise HkcError(f"cannot write {path}: {reason}") from None


def _mode(path: Path) -> int:
    """The mode the file has, or a new one would get: mkstemp's is for its owner only."""
    if path.exists():
        return path.stat().st_mode & 0o7777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


def write_text(path: Path, text: str, *, make_folder: bool = False) -> None:
    """Like :func:`write_bytes`, in UTF-8."""
    write_bytes(path, text.encode("utf-8"), make_folder=make_folder)
