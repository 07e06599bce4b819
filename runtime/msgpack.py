"""A reader of MessagePack, the encoding of AMDGPU metadata notes (msgpack's spec.md)."""

from __future__ import annotations

import struct
from typing import Any

MAX_DEPTH = 32

_SIZED = {  # tag: (kind, width of the length field in bytes)
    0xC4: ("bin", 1),
    0xC5: ("bin", 2),
    0xC6: ("bin", 4),
    0xD9: ("str", 1),
    0xDA: ("str", 2),
    0xDB: ("str", 4),
    0xDC: ("array", 2),
    0xDD: ("array", 4),
    0xDE: ("map", 2),
    0xDF: ("map", 4),
}
_NUMBERS = {
    0xCA: ">f",
    0xCB: ">d",
    0xCC: ">B",
    0xCD: ">H",
    0xCE: ">I",
    0xCF: ">Q",
    0xD0: ">b",
    0xD1: ">h",
    0xD2: ">i",
    0xD3: ">q",
}
_CONSTANTS = {0xC0: None, 0xC2: False, 0xC3: True}


def unpack(data: bytes) -> Any:
    """The value that ``data`` begins with; maps with keys that cannot be hashed are refused.

    :raises ValueError: on damaged data, on data that ends early or that nests deeper than 32 levels.
    """
    return _Reader(data).value(0)


class _Reader:
    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def take(self, size: int) -> bytes:
        if size > len(self.data) - self.at:
            raise ValueError("the MessagePack data ends early")
        self.at += size
        return self.data[self.at - size : self.at]

    def value(self, depth: int) -> Any:
        if depth > MAX_DEPTH:
            raise ValueError("the MessagePack data nests too deep")
        tag = self.take(1)[0]
        if tag <= 0x7F:
            return tag
        if tag <= 0x8F:
            return self.sized("map", tag & 0x0F, depth)
        if tag <= 0x9F:
            return self.sized("array", tag & 0x0F, depth)
        if tag <= 0xBF:
            return self.sized("str", tag & 0x1F, depth)
        if tag >= 0xE0:
            return tag - 256
        if tag in _CONSTANTS:
            return _CONSTANTS[tag]
        if tag in _NUMBERS:
            form = _NUMBERS[tag]
            return struct.unpack(form, self.take(struct.calcsize(form)))[0]
        if tag in _SIZED:
            kind, width = _SIZED[tag]
            return self.sized(kind, int.from_bytes(self.take(width), "big"), depth)
        raise ValueError(f"the MessagePack data has the unexpected tag {tag:#04x}")

    def sized(self, kind: str, count: int, depth: int) -> Any:
        if kind == "bin":
            return self.take(count)
        if kind == "str":
            return self.take(count).decode("utf-8", "replace")
        if kind == "array":
            return [self.value(depth + 1) for _ in range(count)]
        result = {}
        for _ in range(count):
            key = self.value(depth + 1)
            if isinstance(key, dict | list):
                raise ValueError("the MessagePack data has a map key that is no scalar")
            result[key] = self.value(depth + 1)
        return result
