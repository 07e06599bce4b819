"""LLVM 22's AMDGPU disassembler through its C API, for probe_llvm.py and the tests."""

from __future__ import annotations

import ctypes
import re
import struct

ARCHS = ("gfx942", "gfx950")


class Oracle:
    """LLVM's disassembler for one target."""

    def __init__(self, library: ctypes.CDLL, arch: str) -> None:
        self.arch = arch
        self._call = library.LLVMDisasmInstruction
        self._handle = library.LLVMCreateDisasmCPUFeatures(
            b"amdgcn-amd-amdhsa", arch.encode(), b"", None, 0, None, None
        )
        self._buffer = ctypes.create_string_buffer(1024)

    def decode(self, data: bytes) -> tuple[int, str]:
        """Bytes of the instruction that ``data`` begins with and its text without comments; 0 if it is rejected."""
        size = self._call(self._handle, data, len(data), 0, self._buffer, 1024)
        return size, re.sub(r" ; .*", "", self._buffer.value.decode().strip()) if size else ""

    def __call__(self, word: int, bits: int, literal: int = 0x12345678) -> str | None:
        """The text of ``word`` (of ``bits`` bits, a literal behind it); None if it is rejected."""
        if undefined(word, self.arch):
            return None
        size, text = self.decode(word.to_bytes(bits // 8, "little") + struct.pack("<4I", literal, literal, 0, 0))
        return text if size >= bits // 8 else None  # less: another encoding

    def valid(self, word: int, bits: int, literal: int = 0x12345678) -> str | None:
        """The text, None too if LLVM marks an operand as invalid."""
        text = self(word, bits, literal)
        return None if text is None or "/*" in text else text


def undefined(word: int, arch: str) -> bool:
    """Words that may crash LLVM 22's printer, all of them invalid: a literal where there can be none (code 255 as a
    scalar destination of a vector instruction or as a buffer's soffset, on gfx942 in any 64-bit encoding), SDWA
    selection 7 and dst_unused 3; of f8f6f4 a source
    that is no VGPR, and any literal in the scaled form."""
    family, high = word >> 26 & 63, word >> 16 & 0xFFFF
    if high == 0xD3AC and arch == "gfx950":
        second = word >> 64
        if second >> 16 & 0xFFFF not in (0xD3AD, 0xD3AE):
            return False
        return undefined(second, arch) or 255 in [word >> 32 & 511, word >> 41 & 511, second >> 50 & 511]
    if high in (0xD3AD, 0xD3AE) and arch == "gfx950":
        return not (word >> 40 & 1 and word >> 49 & 1)
    if family in (0x38, 0x3A):
        return word >> 56 & 0xFF == 255
    if family == 0x34:
        if arch == "gfx942" and 255 in [word >> at & 511 for at in (32, 41, 50)]:
            return True
        opcode = word >> 16 & 0x3FF
        return word & 0xFF == 255 and (opcode < 0x100 or opcode in (0x142, 0x289))
    if word >> 31 & 1:
        return False
    prefix = word >> 25 & 0x7F
    if prefix == 0x3F and word >> 9 & 0xFF == 2 and word >> 17 & 0xFF == 255:
        return True
    if word & 0x1FF != 249:
        return False
    selections = [word >> 48 & 7, word >> 56 & 7]
    if prefix != 0x3E:
        selections.append(word >> 40 & 7)
    return 7 in selections or (prefix != 0x3E and word >> 43 & 3 == 3)


def load(path: str) -> dict[str, Oracle]:
    """The disassemblers of both targets.

    :raises OSError: if there is no such library; :raises AttributeError: if it has no AMDGPU disassembler.
    """
    library = ctypes.CDLL(path)
    for part in ("TargetInfo", "TargetMC", "Disassembler"):
        getattr(library, f"LLVMInitializeAMDGPU{part}")()
    pointer, text, size = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t
    library.LLVMCreateDisasmCPUFeatures.restype = pointer
    library.LLVMCreateDisasmCPUFeatures.argtypes = [text, text, text, pointer, ctypes.c_int, pointer, pointer]
    library.LLVMDisasmInstruction.restype = size
    library.LLVMDisasmInstruction.argtypes = [pointer, text, ctypes.c_uint64, ctypes.c_uint64, text, size]
    return {arch: Oracle(library, arch) for arch in ARCHS}
