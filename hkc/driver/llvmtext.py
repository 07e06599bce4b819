"""Reading LLVM IR text, without LLVM."""

from __future__ import annotations

import re

_TARGET_CPU = re.compile(r'"target-cpu"="([^"]+)"')


def named_archs(text: str) -> list[str]:
    """The targets that the functions' ``target-cpu`` attributes name."""
    return sorted(set(_TARGET_CPU.findall(text)))
