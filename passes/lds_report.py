"""What `insert-buffer-loads` tells of the LDS tiles: kept on the module for the report."""

from __future__ import annotations

from mlir import ir

from hkc.driver.lds_tile import LdsAccess, LdsTile
from hkc.passes import scalars as s

LDS_TILES = "tile.lds_tiles"


def keep_lds_tiles(module: ir.Module, tiles: list[LdsTile]) -> None:
    """Records the tiles on the module."""

    def text(value: str) -> ir.Attribute:
        return ir.StringAttr.get(value)

    def access(found: LdsAccess) -> ir.Attribute:
        numbers = {"bytes": found.bytes, "cycles": found.cycles, "least": found.least}
        noted = {name: ir.IntegerAttr.get(s.i64(), number) for name, number in numbers.items()}
        return ir.DictAttr.get({"kind": text(found.kind), **noted})

    entries = [
        ir.DictAttr.get(
            {
                "name": text(tile.name),
                "type": text(tile.type),
                "layout": text(tile.layout),
                "accesses": ir.ArrayAttr.get([access(found) for found in tile.accesses]),
            }
        )
        for tile in tiles
    ]
    module.operation.attributes[LDS_TILES] = ir.ArrayAttr.get(entries)


def lds_tiles_of(module: ir.Module) -> tuple[LdsTile, ...]:
    """The tiles that were recorded, in the order of their allocation; none before `insert-buffer-loads`."""
    if LDS_TILES not in module.operation.attributes:
        return ()

    def access(entry: ir.Attribute) -> LdsAccess:
        found = ir.DictAttr(entry)
        return LdsAccess(found["kind"].value, *(found[name].value for name in ("bytes", "cycles", "least")))

    return tuple(
        LdsTile(e["name"].value, e["type"].value, e["layout"].value, tuple(map(access, e["accesses"])))
        for e in (ir.DictAttr(entry) for entry in module.operation.attributes[LDS_TILES])
    )
