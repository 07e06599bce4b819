"""Reading LLVM IR text, without LLVM."""

from __future__ import annotations

import re

from hkc.errors import HkcError

_TARGET_CPU = re.compile(r'"target-cpu"="([^"]+)"')


def arch_of(text: str, path: str) -> str:
    """The target that LLVM IR text names in its functions' ``target-cpu`` attribute.

    Raises HkcError when there is none, or more than one.
    """
    found = sorted(set(_TARGET_CPU.findall(text)))
    if len(found) == 1:
        return found[0]
    raise HkcError(
        f"{path}: the LLVM IR names {'several targets' if found else 'no target'}",
        expected='one "target-cpu" attribute, or --arch',
        got=", ".join(found) or None,
    )
