"""A compiled kernel: its code object, the texts it came from, and its report."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any

from hkc.driver import cache
from hkc.driver.lds_tile import LdsTile
from hkc.driver.meta import KernelMeta
from hkc.driver.remark import Remark
from hkc.driver.report import Report, Resources, find_warnings, make_report
from hkc.driver.workload import Workload


@dataclass(frozen=True)
class CompiledKernel:
    """A code object and the texts it came from.

    ``tile`` and ``mlir`` are the program before any pass, ``llvm`` the IR given to LLVM, ``obj`` the
    relocatable object, ``seconds`` the time of each stage. ``tile``, ``mlir``, ``meta`` and ``workload``
    are None for a compile that started below the tile dialect. ``cached`` tells whether it came from disk,
    under ``key``. ``assembly`` is LLVM's assembly if it was made along; :attr:`asm` makes it. ``remarks`` are the
    compiler's on what it chose, ``lds_tiles`` the LDS tiles with their layouts and bank conflicts.
    """

    arch: str
    hsaco: bytes
    obj: bytes
    llvm: str
    mlir: str | None
    tile: str | None
    meta: KernelMeta | None
    resources: Resources
    workload: Workload | None
    seconds: dict[str, float]
    assembly: str | None = None
    key: str | None = None
    cached: bool = False
    remarks: tuple[Remark, ...] = ()
    lds_tiles: tuple[LdsTile, ...] = ()

    @property
    def name(self) -> str:
        """The kernel's symbol."""
        return self.resources.name

    @cached_property
    def asm(self) -> str:
        """LLVM's assembly of the code; made, and kept in the cache, when first asked for."""
        if self.assembly is not None:
            return self.assembly
        from hkc.driver.codegen import POOL

        text = POOL.generate(self.llvm, self.arch).assembly or ""
        if self.key is not None:
            store(replace(self, assembly=text))
        return text

    @cached_property
    def report(self) -> Report:
        """Registers, LDS, occupancy, the main loop against its floor, compile times."""
        report = make_report(self.arch, self.resources, self.hsaco, self.workload, self.seconds, self.remarks)
        return replace(report, lds_tiles=self.lds_tiles)

    @property
    def warnings(self) -> list[str]:
        """What costs speed and should be known."""
        return find_warnings(self.resources, self.workload)


_TEXTS = ("assembly", "llvm", "mlir", "tile")


def store(compiled: CompiledKernel) -> None:
    """Put a kernel into the cache, under its key."""
    assert compiled.key is not None
    parts = {"hsaco": compiled.hsaco, "obj": compiled.obj}
    parts |= {name: text.encode() for name in _TEXTS if (text := getattr(compiled, name)) is not None}
    data = {
        "arch": compiled.arch,
        "meta": compiled.meta.to_json() if compiled.meta is not None else None,
        "resources": asdict(compiled.resources),
        "workload": asdict(compiled.workload) if compiled.workload is not None else None,
        "seconds": compiled.seconds,
        "remarks": [asdict(remark) for remark in compiled.remarks],
        "lds_tiles": [asdict(tile) for tile in compiled.lds_tiles],
    }
    cache.store(compiled.key, data, parts)


def load(key: str) -> CompiledKernel | None:
    """The kernel in the cache under ``key``, if there is an intact one."""
    entry = cache.load(key)
    if entry is None:
        return None
    data, parts = entry
    texts: dict[str, Any] = {name: parts[name].decode() if name in parts else None for name in _TEXTS}
    return CompiledKernel(
        arch=data["arch"],
        hsaco=parts["hsaco"],
        obj=parts["obj"],
        meta=KernelMeta.from_json(data["meta"]) if data["meta"] is not None else None,
        resources=Resources(**data["resources"]),
        workload=Workload.from_json(data["workload"]) if data["workload"] is not None else None,
        seconds=data["seconds"],
        remarks=tuple(Remark(**remark) for remark in data["remarks"]),
        lds_tiles=tuple(map(LdsTile.from_json, data["lds_tiles"])),
        key=key,
        cached=True,
        **texts,
    )
