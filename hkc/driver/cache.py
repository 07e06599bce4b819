"""Compiled kernels on disk: one file an entry, named by its key.

An entry is a line of JSON (sizes and the SHA-256 of what follows), then the parts, compressed. It is
written to a temporary file and renamed, so a reader sees a whole entry or none, whoever else writes; a
damaged entry does not match its checksum and counts as absent. An unusable cache folder only costs time, so
nothing here raises.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
import zlib
from pathlib import Path
from typing import Any

from hkc import knobs

_FORMAT = 1


def load(key: str) -> tuple[dict[str, Any], dict[str, bytes]] | None:
    """The data and the parts stored under ``key``, None if there is no intact entry."""
    try:
        header, _, body = _path(key).read_bytes().partition(b"\n")
        entry = json.loads(header)
        if entry["format"] != _FORMAT or entry["sha256"] != _checksum(entry["data"], entry["sizes"], body):
            return None
        parts, offset = {}, 0
        for name, size in entry["sizes"].items():
            parts[name] = zlib.decompress(body[offset : offset + size])
            offset += size
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError, zlib.error):
        return None
    return entry["data"], parts


def store(key: str, data: dict[str, Any], parts: dict[str, bytes]) -> None:
    """Store JSON-able ``data`` and ``parts`` under ``key``; a folder that can't be written is left alone."""
    packed = {name: zlib.compress(part, 1) for name, part in parts.items()}
    sizes = {name: len(part) for name, part in packed.items()}
    body = b"".join(packed.values())
    entry = {"format": _FORMAT, "sha256": _checksum(data, sizes, body), "sizes": sizes, "data": data}
    path = _path(key)
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=".new-", dir=path.parent)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(json.dumps(entry).encode() + b"\n" + body)
            os.replace(name, path)
        except BaseException:
            os.unlink(name)
            raise


def _path(key: str) -> Path:
    return knobs.cache_dir() / f"{key}.hkc"


def _checksum(data: dict[str, Any], sizes: dict[str, int], body: bytes) -> str:
    head = json.dumps([data, sizes], sort_keys=True).encode()
    return hashlib.sha256(head + b"\n" + body).hexdigest()
