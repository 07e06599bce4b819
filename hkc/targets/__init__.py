"""Hardware facts per target, as data: one module a target, each number with its source."""

from __future__ import annotations

from hkc.errors import HkcError
from hkc.targets import gfx942, gfx950
from hkc.targets.target import LdsPhases, MfmaShape, Target

TARGETS: dict[str, Target] = {t.arch: t for t in (gfx942.TARGET, gfx950.TARGET)}


# XCDs of every target: what runs without a target (the interpreter) orders grids the same way.
(COMMON_XCDS,) = {target.xcds for target in TARGETS.values()}


def get_target(arch: str) -> Target:
    """The facts of ``arch``.

    Raises HkcError for an unknown name.
    """
    if arch not in TARGETS:
        raise HkcError(f"unknown arch {arch!r}", expected=" or ".join(TARGETS), got=arch)
    return TARGETS[arch]


__all__ = ["COMMON_XCDS", "TARGETS", "LdsPhases", "MfmaShape", "Target", "get_target"]
