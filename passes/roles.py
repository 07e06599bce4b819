"""The wavefronts of a workgroup by what they do: the kernel's attribute `tile.waves`."""

from __future__ import annotations

from dataclasses import dataclass

from mlir import ir

from hkc.dialect.irdl import get_int, get_ints

WAVES = "tile.waves"


@dataclass(frozen=True)
class Roles:
    """``rows`` x ``columns`` wavefronts compute, with the lowest numbers; ``load_waves`` further ones only copy."""

    rows: int = 1
    columns: int = 1
    load_waves: int = 0

    @property
    def grid(self) -> tuple[int, int]:
        """The computing wavefronts that tiles are spread over."""
        return self.rows, self.columns

    @property
    def computing(self) -> int:
        return self.rows * self.columns

    @property
    def total(self) -> int:
        return self.computing + self.load_waves

    @property
    def copying(self) -> int:
        """The wavefronts that share a pipelined copy."""
        return self.load_waves or self.computing


def copying_waves(copy: ir.Operation, roles: Roles) -> int:
    """How many wavefronts share a copy: those that its `tile.waves` counts, numbered consecutively, else all."""
    return get_int(copy, WAVES) or roles.total


def roles_of(function: ir.Operation) -> Roles:
    """The roles that a kernel's `tile.waves` names: rows, columns, and load waves if there are any."""
    return Roles(*(get_ints(function, WAVES) or (1, 1)))
