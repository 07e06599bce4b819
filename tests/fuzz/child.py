"""Runs cases in a process of their own: ``python -m tests.fuzz.child LIBRARY SEED FIRST SECONDS COUNT``.

Prints one line before each case and a summary at the end; whoever started it sees by the last line what ended it.
"""

from __future__ import annotations

import collections
import ctypes
import json
import mmap
import os
import sys
import tempfile
import time
from ctypes import byref, c_size_t, c_uint, c_ulonglong, c_void_p
from pathlib import Path

from .cases import ARCHES, Case, case, patched

_BUFFER = 1 << 16
_BUDGET = 3000  # instructions of a wave
_KERNELS = 2  # of a code object
_ENDPGM = 0xBF810000
_ENDS = {"s_endpgm", "s_endpgm_saved", "s_trap", "s_sethalt"}  # in the midst of a program, what follows would not run


class Device:
    """The library under test, with three allocations whose addresses the arguments use (one of them freed)."""

    def __init__(self, library: str) -> None:
        self.hip = ctypes.CDLL(library)
        for name in ("hkcReports", "hkcLastTrap", "hkcCoverage", "hkcDisassemble"):
            self.hip[name].restype = ctypes.c_long
        self.folder = tempfile.TemporaryDirectory(prefix="hkc-fuzz-")
        self.buffers = []
        for _ in range(3):
            pointer = c_void_p()
            assert self.hip.hipMalloc(byref(pointer), c_size_t(_BUFFER)) == 0
            self.buffers.append(pointer.value or 0)
        self.hip.hipFree(c_void_p(self.buffers[2]))
        for ordinal in range(len(ARCHES)):
            self.hip.hkcSetInstructionBudget(ordinal, c_ulonglong(_BUDGET))
        coverage = ctypes.create_string_buffer(self.hip.hkcCoverage(None, c_size_t(0)) + 1)
        self.hip.hkcCoverage(coverage, c_size_t(len(coverage)))
        self.not_executed = {
            arch: {row["mnemonic"] for row in rows if not row["executed"]}
            for arch, rows in json.loads(coverage.value).items()
        }
        self.results: collections.Counter[str] = collections.Counter()

    def _instructions(self, case: Case) -> list[int]:
        """The case's words as a program that ends."""
        program: list[int] = []
        for words in case.words:
            length = self._length(case.arch, words) if case.only_valid else len(words)
            program += words[:length]
        return [*program, _ENDPGM]

    def _length(self, arch: str, words: tuple[int, ...]) -> int:
        """Dwords of the instruction; 0 if it is none, or not one to run here."""
        text, raw = ctypes.create_string_buffer(1024), (ctypes.c_uint32 * len(words))(*words)
        length = self.hip.hkcDisassemble(arch.encode(), raw, c_size_t(len(words)), text, c_size_t(len(text)))
        if length <= 0:
            return 0
        name = text.value.decode().split()[0]
        for ending in ("_e32", "_e64", "_sdwa", "_dpp"):
            name = name.removesuffix(ending)
        return 0 if name in self.not_executed[arch] or name in _ENDS else length

    def run(self, case: Case) -> None:
        ordinal = ARCHES.index(case.arch)
        self.hip.hipSetDevice(ordinal)
        self.hip.hkcSetMode(ordinal, int(case.checked))
        self.hip.hkcSetThreads(ordinal, c_uint(case.threads))
        module = c_void_p()
        code = patched(case.code, self._instructions(case)) if case.words else case.code
        error = self._load(code, case.by_file, module)
        if error != 0:
            self._note(case, "refused")
            return
        count = c_uint()
        self.hip.hipModuleGetFunctionCount(byref(count), module)
        kernels = (c_void_p * max(min(count.value, _KERNELS), 1))()
        self.hip.hipLibraryEnumerateKernels(kernels, min(count.value, _KERNELS), module)
        for kernel in kernels[: min(count.value, _KERNELS)]:
            self._launch(case, c_void_p(kernel), ordinal)
        assert self.hip.hipModuleUnload(module) == 0

    def _load(self, code: bytes, by_file: bool, module: c_void_p) -> int:
        """From a file of exactly its size, or from memory, which HIP gives no size of."""
        if by_file:
            path = Path(self.folder.name) / "code"
            path.write_bytes(code)
            return self.hip.hipModuleLoad(byref(module), os.fsencode(path))
        size = max(len(code), 1)
        with mmap.mmap(-1, (size + 4095) // 4096 * 4096) as memory:
            memory.write(code)
            view = (ctypes.c_char * len(memory)).from_buffer(memory)
            error = self.hip.hipModuleLoadData(byref(module), view)
            del view
        return error

    def _launch(self, case: Case, kernel: c_void_p, ordinal: int) -> None:
        raw = b"".join(self._dword(value, at) for at, value in enumerate(case.arguments))
        buffer = ctypes.create_string_buffer(raw * 64, len(raw) * 64)
        size = c_size_t(len(buffer))
        extra = (c_void_p * 5)(1, ctypes.addressof(buffer), 2, ctypes.addressof(size), 3)
        lds = c_uint(case.dynamic_lds)
        error = self.hip.hipModuleLaunchKernel(kernel, *case.grid, *case.block, lds, None, None, extra)
        text = ctypes.create_string_buffer(1 << 20)
        assert self.hip.hkcReports(ordinal, text, c_size_t(len(text)), 1) >= 0
        assert self.hip.hkcLastTrap(ordinal, text, c_size_t(len(text))) >= 0
        self._note(case, {0: "ran", 700: "faulted", 719: "trapped"}.get(error, "not launched"))

    def _dword(self, value: int, at: int) -> bytes:
        """Small values stand for addresses: a pair of dwords that begins at an even one."""
        if value < 8:
            address = self.buffers[value % 3] + (0, 0, 4, _BUFFER - 64, _BUFFER, 1, 64, 256)[value]
            value = address >> (32 if at % 2 else 0)
        return (value & 0xFFFFFFFF).to_bytes(4, "little")

    def _note(self, case: Case, result: str) -> None:
        self.results[f"{case.kind}: {result}"] += 1


def main(library: str, seed: int, first: int, seconds: float, count: int) -> None:
    device = Device(library)
    end = time.monotonic() + seconds
    number = first
    while number < first + count and time.monotonic() < end:
        print(f"case {number}", flush=True)
        device.run(case(seed, number))
        number += 1
    for what, times in sorted(device.results.items()):
        print(f"{times:8} {what}")
    print(f"done {number - first}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4]), int(sys.argv[5]))
