"""``hkc emulate --coverage``: which opcodes the emulated device executes."""

from __future__ import annotations

import json
from typing import Any

from hkc.errors import HkcError


def print_coverage(arch: str | None, *, as_json: bool) -> None:
    """Prints every opcode row of one target, or of all; as JSON with the counts of each target.

    :raises HkcError: if there is no such target.
    """
    from hkc.runtime import hip

    tables = hip.emulator().coverage()
    if arch is not None:
        if arch not in tables:
            raise HkcError(f"unknown target '{arch}'", expected=" or ".join(tables))
        tables = {arch: tables[arch]}
    if as_json:
        print(json.dumps({name: _counts(rows) | {"opcodes": rows} for name, rows in tables.items()}, indent=2))
        return
    for name, rows in tables.items():
        _print_target(name, rows)


def _counts(rows: list[dict[str, Any]]) -> dict[str, int]:
    executed = sum(row["executed"] for row in rows)
    return {"rows": len(rows), "executed": executed, "not_executed": len(rows) - executed}


def _print_target(arch: str, rows: list[dict[str, Any]]) -> None:
    print(f"{arch}: {_counts(rows)['executed']} of {len(rows)} opcodes are executed")
    for family in dict.fromkeys(row["family"] for row in rows):
        members = [row for row in rows if row["family"] == family]
        print(f"  {family}: {_counts(members)['executed']} of {len(members)}")
        for row in members:
            print(f"    {row['opcode']:4} {row['mnemonic']}{'' if row['executed'] else '  (not executed)'}")
