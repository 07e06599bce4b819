"""Devices, modules and kernels: what the rest of hkc runs code objects with.

A :class:`Device` is one HIP device of one library; see :mod:`hkc.runtime.hip` for which libraries there are.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any

from hkc import knobs
from hkc.errors import HkcError, Span
from hkc.runtime import hip
from hkc.runtime.arguments import pack_arguments
from hkc.runtime.buffer import Buffer
from hkc.runtime.hip import HipError, HipLibrary
from hkc.runtime.metadata import KernelInfo, read_code_object, unbundle

if TYPE_CHECKING:
    from types import TracebackType

ARCHES = ("gfx942", "gfx950")


@dataclass(frozen=True)
class Party:
    """The instruction on the other side of a finding: what wrote, read or is still loading."""

    instruction: str
    pc: int
    workgroup: tuple[int, int, int]
    wave: int
    file: str
    line: int
    column: int

    @property
    def span(self) -> Span | None:
        """The source line, if the code object has debug lines."""
        return Span(self.file, self.line, max(self.column, 1)) if self.line else None


@dataclass(frozen=True)
class Report:
    """One finding of checked mode. ``lane`` is -1 if it is the whole wave's; ``line`` is 0 if not known."""

    kind: str
    message: str
    instruction: str
    pc: int
    workgroup: tuple[int, int, int]
    wave: int
    lane: int
    address: int
    file: str
    line: int
    column: int
    other: Party | None = None

    @property
    def span(self) -> Span | None:
        """The source line, if the code object has debug lines."""
        return Span(self.file, self.line, max(self.column, 1)) if self.line else None

    def __str__(self) -> str:
        where = f"{self.span}: " if self.span else ""
        return f"{where}{self.kind}: {self.message}"


class Device:
    """One device: memory, code objects and, on the emulated device, checked mode."""

    def __init__(self, library: HipLibrary, ordinal: int) -> None:
        self._library = library
        self.ordinal = ordinal
        #: The target, ``gfx942`` or ``gfx950``.
        self.arch = library.arch(ordinal)
        self.emulated = library.emulated

    @property
    def name(self) -> str:
        """The product's name."""
        return self._library.name(self.ordinal)

    @property
    def lds_bytes(self) -> int:
        """The most LDS that one workgroup may have."""
        return self._library.attribute(hip.ATTRIBUTE_MAX_LDS_PER_WORKGROUP, self.ordinal)

    def load(self, code_object: bytes) -> Module:
        """Loads a linked code object (or an offload bundle that has one for this device).

        :raises HkcError: if the bytes are no code object, are truncated, or are for another target.
        """
        return Module(self, bytes(code_object))

    def alloc(self, nbytes: int) -> Buffer:
        """New device memory with undefined content.

        :raises HipError: if there is not enough.
        """
        return Buffer(self._library, self.ordinal, nbytes)

    def synchronize(self) -> None:
        """Waits for everything submitted.

        :raises HipError: if a kernel failed.
        """
        self.call("hipDeviceSynchronize")

    def sanitize(self, on: bool = True) -> AbstractContextManager[Device]:
        """Turns checked mode on (or off) for the launches that follow; as a context manager, until its end.

        :raises HkcError: on a GPU.
        """
        self._need_emulator("checked mode")
        before = self.sanitizing
        self.call("hkcSetMode", self.ordinal, int(on))
        return self._restore_mode(before)

    @contextmanager
    def _restore_mode(self, before: bool) -> Iterator[Device]:
        try:
            yield self
        finally:
            self.call("hkcSetMode", self.ordinal, int(before))

    @property
    def sanitizing(self) -> bool:
        """Whether launches run in checked mode."""
        return self.emulated and self._library.mode(self.ordinal) == 1

    def set_threads(self, threads: int) -> None:
        """How many host threads the emulated device uses; 0 means all cores.

        With 1 every run is the same: workgroups run in order, and the clocks that a kernel reads count instructions.

        :raises HkcError: on a GPU.
        """
        self._need_emulator("a thread count")
        if threads < 0:
            raise HkcError("a thread count is not negative", got=str(threads))
        self.call("hkcSetThreads", self.ordinal, threads)

    def set_instruction_budget(self, instructions: int) -> None:
        """Stops and reports a wave of the emulated device after so many instructions (about); 0 means no limit.

        :raises HkcError: on a GPU.
        """
        self._need_emulator("an instruction budget")
        if not 0 <= instructions < 2**64:
            raise HkcError("an instruction budget is not negative", got=str(instructions))
        self.call("hkcSetInstructionBudget", self.ordinal, instructions)

    def reports(self) -> list[Report]:
        """Checked mode's findings since the last call; none on a GPU."""
        return self._reports(clear=True)

    def _reports(self, *, clear: bool) -> list[Report]:
        return [_report(entry) for entry in self._library.reports(self.ordinal, clear=clear)]

    def waits(self) -> list[dict[str, int]]:
        """The ``s_waitcnt`` and ``s_barrier`` that the last checked launch passed; empty on a GPU.

        ``offset``: bytes from the kernel's first instruction. ``passed``: by how many waves, how often.
        ``vector_loads``, ``vector_stores``, ``lds``, ``scalar``: the operations that it completed.
        """
        return self._library.waits(self.ordinal)

    @property
    def vector_variant(self) -> str:
        """The vector instructions that the emulated device runs on; empty on a GPU."""
        return self._library.vector_variant()

    def counters(self) -> dict[str, int]:
        """Wave-instructions executed since the last call, by kind, and ``launches``; empty on a GPU."""
        return self._library.counters(self.ordinal, clear=True)

    def call(self, function: str, *args: Any) -> None:
        """Calls a function of the library with this device selected.

        :raises HipError: if it fails.
        """
        with self._library.selected(self.ordinal):
            self._library.call(function, *args)

    def _need_emulator(self, what: str) -> None:
        if not self.emulated:
            raise HkcError(f"{what} needs the emulated device", hint=f'open_device("emulator:{self.arch}")')

    def __repr__(self) -> str:
        return f"<Device {'emulator' if self.emulated else 'hip'}:{self.ordinal} {self.arch}>"


def _report(entry: dict[str, Any]) -> Report:
    other = entry.get("other")
    party = Party(**other | {"workgroup": tuple(other["workgroup"])}) if other else None
    return Report(**entry | {"workgroup": tuple(entry["workgroup"]), "other": party})


class Module:
    """A loaded code object.

    Unloaded by :meth:`unload`, at the end of a ``with``, or when nothing refers to it any more.
    """

    def __init__(self, device: Device, code_object: bytes) -> None:
        self.device = device
        self._handle: ctypes.c_void_p | None = None
        image = unbundle(code_object, device.arch)
        #: What the code object says about itself.
        self.info = read_code_object(image)
        if self.info.arch in ARCHES and self.info.arch != device.arch:
            raise HkcError(
                f"the code object is for {self.info.arch}, the device is {device.arch}",
                hint=f'compile it for {device.arch}, or open_device("emulator:{self.info.arch}")',
            )
        handle = ctypes.c_void_p()
        device.call("hipModuleLoadData", ctypes.byref(handle), image)
        self._handle = handle

    @property
    def kernels(self) -> Mapping[str, KernelInfo]:
        """The kernels by name."""
        return self.info.kernels

    def function(self, name: str) -> Function:
        """A kernel.

        :raises KeyError: listing the kernels, if there is none of this name.
        :raises HkcError: if the module has been unloaded.
        """
        if name not in self.kernels:
            raise KeyError(f"no kernel '{name}'; the code object has: {', '.join(self.kernels) or 'none'}")
        if self._handle is None:
            raise HkcError("the module has been unloaded")
        handle = ctypes.c_void_p()
        self.device.call("hipModuleGetFunction", ctypes.byref(handle), self._handle, name.encode())
        return Function(self, self.kernels[name], handle)

    def unload(self) -> None:
        """Unloads the code; its functions can no longer be launched. A second call does nothing."""
        handle, self._handle = self._handle, None
        if handle is not None:
            self.device.call("hipModuleUnload", handle)

    def __enter__(self) -> Module:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.unload()

    def __del__(self) -> None:
        # The library may be gone already when the interpreter ends; nobody is left to tell.
        try:
            self.unload()
        except Exception:
            self._handle = None


class Function:
    """A kernel that can be launched; keeps its module loaded."""

    def __init__(self, module: Module, info: KernelInfo, handle: ctypes.c_void_p) -> None:
        self.module = module
        self.info = info
        self._handle = handle

    @property
    def name(self) -> str:
        return self.info.name

    def launch(
        self,
        grid: int | Sequence[int],
        block: int | Sequence[int],
        args: Sequence[Any] = (),
        dynamic_lds: int = 0,
        stream: int | None = None,
    ) -> None:
        """Launches ``grid`` workgroups of ``block`` work-items.

        ``args`` are the explicit arguments: a buffer, ``None`` or ``ctypes.c_void_p`` for a pointer; an int,
        a ctypes scalar or bytes for a value. ``dynamic_lds`` is in bytes. ``stream`` is a ``hipStream_t``, as
        torch's ``cuda_stream`` gives it. On a GPU the kernel may still run when this returns.

        :raises HkcError: on a wrong launch shape or argument.
        :raises HipError: if the kernel traps or faults; on a GPU, from a later call.
        """
        grid3, block3 = _extent("grid", grid), _extent("block", block)
        self._check(block3, dynamic_lds)
        packed = pack_arguments(self.info, args, Buffer)
        values = [ctypes.create_string_buffer(raw, len(raw)) for raw in packed]
        pointers = (ctypes.c_void_p * max(len(values), 1))(*map(ctypes.addressof, values))
        try:
            self.module.device.call(
                "hipModuleLaunchKernel", self._handle, *grid3, *block3, dynamic_lds, stream, pointers, None
            )
        except HipError as error:
            raise self._with_source(error) from None

    def occupancy(self, block_size: int, dynamic_lds: int = 0) -> int:
        """Workgroups of ``block_size`` work-items that fit on a compute unit at once."""
        count = ctypes.c_int()
        function = "hipModuleOccupancyMaxActiveBlocksPerMultiprocessor"
        self.module.device.call(function, ctypes.byref(count), self._handle, block_size, dynamic_lds)
        return count.value

    def _check(self, block: tuple[int, int, int], dynamic_lds: int) -> None:
        limit = self.info.max_flat_workgroup_size
        if prod(block) > limit:
            raise HkcError(
                f"kernel '{self.name}' was compiled for workgroups of at most {limit} work-items",
                got=f"a block of {'x'.join(map(str, block))}",
            )
        if not 0 <= dynamic_lds < 2**32:
            raise HkcError("dynamic_lds is a number of bytes", got=str(dynamic_lds))
        available = self.module.device.lds_bytes
        if self.info.group_segment + dynamic_lds > available:
            raise HkcError(
                f"kernel '{self.name}' needs more LDS than {self.module.device.arch} has",
                expected=f"at most {available} bytes",
                got=f"{self.info.group_segment} static and {dynamic_lds} dynamic",
            )

    def _with_source(self, error: HipError) -> HipError:
        """The same error, with the source line of the fault where the device reported one."""
        faults = [r for r in self.module.device._reports(clear=False) if r.kind == "memory-fault"]
        if faults and faults[-1].span:
            error.span = faults[-1].span
        return error


def _extent(what: str, extent: int | Sequence[int]) -> tuple[int, int, int]:
    axes = (extent,) if isinstance(extent, int) else tuple(extent)
    valid = 1 <= len(axes) <= 3 and all(isinstance(n, int) and 0 < n < 2**32 for n in axes)
    if not valid:
        raise HkcError(f"a launch's {what} is one to three positive numbers", got=repr(extent))
    x, y, z = (*axes, 1, 1)[:3]
    return x, y, z


def open_device(spec: str | None = None, *, arch: str | None = None) -> Device:
    """Opens ``"emulator:gfx942"``, ``"emulator:gfx950"``, ``"emulator"``, ``"hip"`` or ``"hip:0"``.

    Without ``spec``, ``HKC_DEVICE`` decides; without that, the first GPU that runs ``arch`` (any of hkc's
    targets if None), else the emulated device of ``arch`` (``HKC_ARCH`` if None).

    :raises HkcError: if there is no such device.
    """
    spec = spec or knobs.device()
    if arch is not None and arch not in ARCHES:
        raise HkcError(f"unknown target '{arch}'", expected=" or ".join(ARCHES))
    if spec is None:
        return _first_gpu(arch) or _emulated(arch or knobs.arch())
    kind, _, which = spec.partition(":")
    if kind == "emulator":
        return _emulated(which or arch or knobs.arch())
    if kind == "hip":
        return _gpu(which)
    raise HkcError(f"unknown device '{spec}'", expected="emulator:gfx942, emulator:gfx950, emulator, hip or hip:N")


def _emulated(arch: str) -> Device:
    library = hip.emulator()
    for ordinal in range(library.device_count()):
        if library.arch(ordinal) == arch:
            return Device(library, ordinal)
    raise HkcError(f"the emulated device has no target '{arch}'", expected=" or ".join(ARCHES))


def _first_gpu(arch: str | None) -> Device | None:
    library = hip.gpu()
    if library is None:
        return None
    for ordinal in range(library.device_count()):
        if library.arch(ordinal) in (ARCHES if arch is None else (arch,)):
            return Device(library, ordinal)
    return None


def _gpu(which: str) -> Device:
    library = hip.gpu()
    if library is None:
        raise HkcError("no GPU that HIP can use was found", hint='open_device("emulator:gfx950") needs none')
    count = library.device_count()
    if which and not (which.isdecimal() and int(which) < count):
        raise HkcError(f"no GPU number '{which}'", expected=f"0 to {count - 1}")
    device = Device(library, int(which or 0))
    if device.arch not in ARCHES:
        raise HkcError(f"the GPU is {device.arch}, which hkc has no target for", expected=" or ".join(ARCHES))
    return device
