"""What `--report` tells of each LDS tile: its layout, and the bank conflicts of those who read and write it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class LdsAccess:
    """One kind of access: ``read`` or ``write``, bytes a lane, cycles of one instruction by the target's bank phase
    tables, and the fewest that its bytes can take."""

    kind: str
    bytes: int
    cycles: int
    least: int

    @property
    def ways(self) -> float:
        """The degree: how many times the fewest cycles it takes; 1 is free of conflicts."""
        return self.cycles / self.least

    def __str__(self) -> str:
        return f"{self.ways:g}-way in {self.kind}s of {self.bytes} bytes a lane"


@dataclass(frozen=True)
class LdsTile:
    """An LDS allocation by its name in the program, ``layout`` as the solver or the program chose it."""

    name: str
    type: str
    layout: str
    accesses: tuple[LdsAccess, ...]

    @property
    def ways(self) -> float:
        """The worst access's degree."""
        return max((access.ways for access in self.accesses), default=1)

    def __str__(self) -> str:
        conflicts = [str(access) for access in self.accesses if access.ways > 1]
        found = "bank conflicts " + ", ".join(conflicts) if conflicts else "no bank conflicts"
        return f"{self.name}: {self.type}, {self.layout}: {found}"

    @staticmethod
    def from_json(data: dict[str, Any]) -> LdsTile:
        """The inverse of ``dataclasses.asdict``, after a trip through JSON."""
        return LdsTile(
            data["name"], data["type"], data["layout"], tuple(LdsAccess(**access) for access in data["accesses"])
        )
