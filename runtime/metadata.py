"""What a code object says about its kernels: the AMDGPU metadata note.

Source: LLVM AMDGPUUsage, "Code Object Metadata".
"""

from __future__ import annotations

import re
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hkc.errors import HkcError
from hkc.runtime.elf import ElfFile, truncated
from hkc.runtime.msgpack import unpack

NT_AMDGPU_METADATA = 32
POINTER_BYTES = 8
_BUNDLE_MAGIC = b"__CLANG_OFFLOAD_BUNDLE__"
_COMPRESSED_MAGIC = b"CCOB"


@dataclass(frozen=True)
class KernelArgument:
    """One argument, ``offset`` and ``size`` in bytes of the kernarg segment; ``name`` may be empty."""

    name: str
    offset: int
    size: int
    value_kind: str

    @property
    def hidden(self) -> bool:
        """True if the runtime fills it in."""
        return self.value_kind.startswith("hidden_")

    @property
    def pointer(self) -> bool:
        """True for a pointer to global memory."""
        return self.value_kind == "global_buffer"


@dataclass(frozen=True)
class KernelInfo:
    """A kernel's resources: segment sizes in bytes, registers per lane (VGPRs include AGPRs)."""

    name: str
    args: tuple[KernelArgument, ...]
    vgpr_count: int
    agpr_count: int
    sgpr_count: int
    vgpr_spills: int
    sgpr_spills: int
    group_segment: int
    private_segment: int
    kernarg_size: int
    max_flat_workgroup_size: int

    @property
    def explicit_args(self) -> tuple[KernelArgument, ...]:
        """The arguments that a launch passes, in order."""
        return tuple(a for a in self.args if not a.hidden)


@dataclass(frozen=True)
class CodeObjectInfo:
    """``arch`` is ``gfx942`` or ``gfx950`` (or another machine's name); ``kernels`` are keyed by name."""

    arch: str
    kernels: Mapping[str, KernelInfo]


def read_code_object(data: bytes) -> CodeObjectInfo:
    """Reads the kernels of a linked code object.

    :raises HkcError: if ``data`` is not a code object, or is truncated or damaged.
    """
    file = ElfFile(data)
    note = file.note("AMDGPU", NT_AMDGPU_METADATA)
    if note is None:
        raise HkcError("the code object has no AMDGPU metadata note")
    try:
        metadata = unpack(note)
    except ValueError as problem:
        raise HkcError(f"the code object's metadata note is damaged: {problem}") from None
    entries = metadata.get("amdhsa.kernels") if isinstance(metadata, dict) else None
    if not isinstance(entries, list):
        raise HkcError("the code object's metadata lists no kernels")
    kernels = [_kernel(_Fields(entry, "a kernel")) for entry in entries]
    return CodeObjectInfo(file.arch, {kernel.name: kernel for kernel in kernels})


def unbundle(data: bytes, arch: str) -> bytes:
    """The code object for ``arch`` if ``data`` is an offload bundle (``hipcc --genco``), else ``data``.

    :raises HkcError: if the bundle has none, is damaged, or is compressed.
    """
    if data.startswith(_COMPRESSED_MAGIC):
        raise HkcError("the offload bundle is compressed", hint="build it with --no-offload-compress")
    if not data.startswith(_BUNDLE_MAGIC):
        return data
    targets = []
    try:
        at = len(_BUNDLE_MAGIC) + 8
        for _ in range(struct.unpack_from("<Q", data, len(_BUNDLE_MAGIC))[0]):
            offset, size, length = struct.unpack_from("<QQQ", data, at)
            target = data[at + 24 : at + 24 + length].decode("utf-8", "replace")
            at += 24 + length
            targets.append(target)
            # "hipv4-amdgcn-amd-amdhsa--gfx942:sramecc+:xnack-"; the devices have sramecc+ and xnack-.
            named = re.search(r"-(gfx[^:]+)", target)
            fits = "xnack+" not in target and "sramecc-" not in target
            if named and named.group(1) == arch and fits:
                if offset + size > len(data):
                    raise truncated("a bundled code object")
                return data[offset : offset + size]
    except struct.error:
        raise truncated("the offload bundle's table") from None
    raise HkcError(f"the offload bundle has no code object for {arch}", got=", ".join(targets) or "none")


class _Fields:
    """A metadata map whose entries are checked as they are read."""

    def __init__(self, entry: Any, what: str) -> None:
        if not isinstance(entry, dict):
            raise HkcError(f"the code object's metadata is damaged: {what} is not a map")
        self.entry = entry
        self.what = what

    def text(self, key: str, default: str | None = None) -> str:
        value = self.entry.get(key, default)
        if not isinstance(value, str):
            raise HkcError(f"the code object's metadata is damaged: {self.what} has no valid {key}")
        return value

    def number(self, key: str, default: int | None = None) -> int:
        value = self.entry.get(key, default)
        if not isinstance(value, int) or not 0 <= value < 2**32:
            raise HkcError(f"the code object's metadata is damaged: {self.what} has no valid {key}")
        return value


def _kernel(fields: _Fields) -> KernelInfo:
    name = fields.text(".name")
    fields.what = f"kernel '{name}'"
    size = fields.number(".kernarg_segment_size")
    entries = fields.entry.get(".args", [])
    if not isinstance(entries, list):
        raise HkcError(f"the code object's metadata is damaged: {fields.what} has no valid .args")
    return KernelInfo(
        name=name,
        args=tuple(_argument(_Fields(entry, f"an argument of kernel '{name}'"), size) for entry in entries),
        vgpr_count=fields.number(".vgpr_count", 0),
        agpr_count=fields.number(".agpr_count", 0),
        sgpr_count=fields.number(".sgpr_count", 0),
        vgpr_spills=fields.number(".vgpr_spill_count", 0),
        sgpr_spills=fields.number(".sgpr_spill_count", 0),
        group_segment=fields.number(".group_segment_fixed_size"),
        private_segment=fields.number(".private_segment_fixed_size"),
        kernarg_size=size,
        max_flat_workgroup_size=fields.number(".max_flat_workgroup_size"),
    )


def _argument(fields: _Fields, kernarg_size: int) -> KernelArgument:
    argument = KernelArgument(
        fields.text(".name", ""), fields.number(".offset"), fields.number(".size"), fields.text(".value_kind")
    )
    if argument.size == 0 or (argument.pointer and argument.size != POINTER_BYTES):
        raise HkcError(f"the code object's metadata is damaged: {fields.what} has no valid .size")
    if argument.offset + argument.size > kernarg_size:
        raise HkcError(f"the code object's metadata is damaged: {fields.what} leaves the kernarg segment")
    return argument
