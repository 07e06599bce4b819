"""A thin shim over one shared library with HIP's C API: the real ``libamdhip64.so`` or the emulator's.

Only ``hip*`` functions are used, and the emulator's few ``hkc*`` functions where the library has them, so a
test on the emulated device is a test of the path that a GPU user takes.
"""

from __future__ import annotations

import ctypes
import json
from collections.abc import Iterator
from contextlib import contextmanager
from ctypes import POINTER, c_char_p, c_float, c_int, c_long, c_size_t, c_uint, c_ulonglong, c_void_p
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

from hkc import knobs
from hkc.errors import HkcError, Span

EMULATOR_LIBRARY = "libhkc_emulator.so"
HIP_LIBRARY = "libamdhip64.so"

# hipMemcpyKind and the attributes used here (hip/driver_types.h, hip/hip_runtime_api.h).
HOST_TO_DEVICE, DEVICE_TO_HOST = 1, 2
ATTRIBUTE_MAX_LDS_PER_WORKGROUP = 74

# hipDeviceProp_tR0600: its size, with room to spare, and where gcnArchName is.
_PROPERTIES_BYTES = 4096
_ARCH_NAME_AT, _ARCH_NAME_BYTES = 1160, 256

_SIGNATURES: dict[str, tuple[Any, ...]] = {
    "hipInit": (c_uint,),
    "hipGetDeviceCount": (POINTER(c_int),),
    "hipSetDevice": (c_int,),
    "hipGetDevice": (POINTER(c_int),),
    "hipGetDevicePropertiesR0600": (c_void_p, c_int),
    "hipDeviceGetAttribute": (POINTER(c_int), c_int, c_int),
    "hipDeviceGetName": (c_char_p, c_int, c_int),
    "hipDeviceSynchronize": (),
    "hipMemGetInfo": (POINTER(c_size_t), POINTER(c_size_t)),
    "hipMalloc": (POINTER(c_void_p), c_size_t),
    "hipFree": (c_void_p,),
    "hipMemcpy": (c_void_p, c_void_p, c_size_t, c_int),
    "hipMemset": (c_void_p, c_int, c_size_t),
    "hipModuleLoadData": (POINTER(c_void_p), c_void_p),
    "hipModuleUnload": (c_void_p,),
    "hipModuleGetFunction": (POINTER(c_void_p), c_void_p, c_char_p),
    "hipModuleLaunchKernel": (c_void_p, *(c_uint,) * 7, c_void_p, POINTER(c_void_p), POINTER(c_void_p)),
    "hipModuleOccupancyMaxActiveBlocksPerMultiprocessor": (POINTER(c_int), c_void_p, c_int, c_size_t),
    "hipEventCreate": (POINTER(c_void_p),),
    "hipEventRecord": (c_void_p, c_void_p),
    "hipEventSynchronize": (c_void_p,),
    "hipEventElapsedTime": (POINTER(c_float), c_void_p, c_void_p),
    "hipEventDestroy": (c_void_p,),
}
_EXTRAS: dict[str, tuple[Any, ...]] = {
    "hkcSetMode": (c_int, c_int),
    "hkcGetMode": (c_int,),
    "hkcSetThreads": (c_int, c_uint),
    "hkcSetInstructionBudget": (c_int, c_ulonglong),
    "hkcReports": (c_int, c_char_p, c_size_t, c_int),
    "hkcWaits": (c_int, c_char_p, c_size_t),
    "hkcLastTrap": (c_int, c_char_p, c_size_t),
    "hkcCounters": (c_int, c_char_p, c_size_t, c_int),
    "hkcErrorDetail": (c_char_p, c_size_t),
    "hkcCoverage": (c_char_p, c_size_t),
}
_TEXT_FUNCTIONS = ("hkcReports", "hkcWaits", "hkcLastTrap", "hkcCounters", "hkcErrorDetail", "hkcCoverage")


class HipError(HkcError, RuntimeError):
    """A HIP function failed; ``code`` and ``name`` are HIP's, ``function`` is what was called.

    After a trap or memory fault on the emulated device ``span`` is the faulting instruction's source line.
    """

    def __init__(self, function: str, code: int, name: str, text: str, span: Span | None = None) -> None:
        super().__init__(f"{text} ({function}: {name})", span)
        self.function = function
        self.code = code
        self.name = name


class HipLibrary:
    """The functions of one HIP library. Each call gives HIP's result or raises :class:`HipError`.

    :raises HkcError: if the library cannot be loaded or lacks a function.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        try:
            self._library = ctypes.CDLL(path)
            self._functions = {name: self._bind(name, types) for name, types in _SIGNATURES.items()}
        except (OSError, AttributeError) as problem:
            raise HkcError(f"cannot use the HIP library {path}: {problem}") from None
        self._error_name = self._library.hipGetErrorName
        self._error_string = self._library.hipGetErrorString
        for function in (self._error_name, self._error_string):
            function.argtypes, function.restype = (c_int,), c_char_p
        #: True for the emulated device's library.
        self.emulated = hasattr(self._library, "hkcVersion")
        if self.emulated:
            extras = {name: types for name, types in _EXTRAS.items() if hasattr(self._library, name)}
            self._functions |= {name: self._bind(name, types) for name, types in extras.items()}
        self.call("hipInit", 0)

    def _bind(self, name: str, types: tuple[Any, ...]) -> Any:
        function = getattr(self._library, name)
        function.argtypes = types
        function.restype = c_long if name in _TEXT_FUNCTIONS else c_int
        return function

    def call(self, name: str, *args: Any) -> None:
        """Calls a function by name.

        :raises HipError: if it does not give hipSuccess.
        """
        code = self._functions[name](*args)
        if code != 0:
            raise self._error(name, code)

    def _error(self, function: str, code: int) -> HipError:
        text = self._error_string(code).decode()
        if detail := self._text("hkcErrorDetail"):
            text = f"{text}: {detail}"
        return HipError(function, code, self._error_name(code).decode(), text)

    def _text(self, name: str, *args: Any, clear: bool | None = None) -> str:
        """The text of an ``hkc*`` function; empty where the library has none."""
        if not self.emulated:
            return ""
        flags = () if clear is None else (int(clear),)
        size = 1 << 12
        while True:
            buffer = ctypes.create_string_buffer(size)
            length = self._functions[name](*args, buffer, size, *flags)
            if length < size:
                return buffer.raw[: max(length, 0)].decode("utf-8", "replace")
            size = length + 1

    def device_count(self) -> int:
        count = c_int()
        self.call("hipGetDeviceCount", ctypes.byref(count))
        return count.value

    def arch(self, ordinal: int) -> str:
        """The device's target without its features, as in ``gfx942``."""
        properties = ctypes.create_string_buffer(_PROPERTIES_BYTES)
        self.call("hipGetDevicePropertiesR0600", properties, ordinal)
        name = properties.raw[_ARCH_NAME_AT : _ARCH_NAME_AT + _ARCH_NAME_BYTES].split(b"\0")[0]
        return name.decode("ascii", "replace").split(":")[0]

    def name(self, ordinal: int) -> str:
        text = ctypes.create_string_buffer(256)
        self.call("hipDeviceGetName", text, len(text), ordinal)
        return text.value.decode("utf-8", "replace")

    def attribute(self, attribute: int, ordinal: int) -> int:
        value = c_int()
        self.call("hipDeviceGetAttribute", ctypes.byref(value), attribute, ordinal)
        return value.value

    @contextmanager
    def selected(self, ordinal: int) -> Iterator[None]:
        """Makes ``ordinal`` the thread's device for a while; other users of the library keep theirs."""
        before = c_int()
        self.call("hipGetDevice", ctypes.byref(before))
        if before.value == ordinal:
            yield
            return
        self.call("hipSetDevice", ordinal)
        try:
            yield
        finally:
            self.call("hipSetDevice", before.value)

    def mode(self, ordinal: int) -> int:
        """1 if the emulated device's launches are checked, else 0."""
        return self._functions["hkcGetMode"](ordinal)

    def reports(self, ordinal: int, *, clear: bool) -> list[dict[str, Any]]:
        """Checked mode's reports of the emulated device; none on a GPU."""
        return json.loads(self._text("hkcReports", ordinal, clear=clear) or "[]")

    def waits(self, ordinal: int) -> list[dict[str, int]]:
        """What the waits and barriers of the last checked launch completed; none on a GPU."""
        return json.loads(self._text("hkcWaits", ordinal) or "[]")

    def counters(self, ordinal: int, *, clear: bool) -> dict[str, int]:
        """Instruction counts of the emulated device; none on a GPU."""
        return json.loads(self._text("hkcCounters", ordinal, clear=clear) or "{}")

    def vector_variant(self) -> str:
        """The vector instructions that the emulated device uses (``base``, ``avx2``, ``avx512``); empty on a GPU."""
        if not self.emulated:
            return ""
        function = self._library.hkcVectorVariant
        function.restype = c_char_p
        return function().decode()

    def coverage(self) -> dict[str, list[dict[str, Any]]]:
        """The emulated device's opcode rows by target (``family``, ``opcode``, ``mnemonic``, ``executed``)."""
        return json.loads(self._text("hkcCoverage") or "{}")


@cache
def emulator() -> HipLibrary:
    """The emulated device's library.

    :raises HkcError: if this installation has none.
    """
    beside = Path(__file__).with_name(EMULATOR_LIBRARY)
    if beside.is_file():
        return HipLibrary(str(beside))
    try:  # an editable install keeps built files where it was installed, not beside the sources
        installed = Path(str(metadata.distribution("hkc").locate_file(f"hkc/runtime/{EMULATOR_LIBRARY}")))
    except metadata.PackageNotFoundError:
        installed = beside
    if not installed.is_file():
        raise HkcError(f"hkc's emulated device is not built: {installed} does not exist", hint="install hkc with pip")
    return HipLibrary(str(installed))


@cache
def gpu() -> HipLibrary | None:
    """ROCm's HIP library with at least one device; None where there is no GPU."""
    for path in (_loaded_hip(), str(knobs.rocm_path() / "lib" / HIP_LIBRARY), HIP_LIBRARY):
        if path is None:
            continue
        try:
            library = HipLibrary(path)
            if not library.emulated and library.device_count() > 0:
                return library
        except HkcError:
            continue
    return None


def _loaded_hip() -> str | None:
    """The HIP library that this process has loaded already: a second one would not share its memory."""
    try:
        maps = Path("/proc/self/maps").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    for line in maps.splitlines():
        path = line.partition("/")[2]
        if Path(path).name.startswith(HIP_LIBRARY):
            return f"/{path}"
    return None
