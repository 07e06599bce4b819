"""Writes data/disassembly.txt.xz from LLVM 22's output (needs libLLVM.so.22.1): python make_disassembly_sample.py"""

from __future__ import annotations

import importlib.util
import lzma
import random
import struct
import sys
from pathlib import Path
from types import ModuleType

HERE = Path(__file__).parent
ORACLE = HERE.parents[2] / "tools" / "isa_syntax" / "probe_oracle.py"
WORDS = 12_000  # a target
SEED = 17


def module(name: str, path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    loaded = importlib.util.module_from_spec(spec)
    sys.modules[name] = loaded
    spec.loader.exec_module(loaded)
    return loaded


def main() -> None:
    """Accepted words are kept, and one in four of the others; only as many dwords as are looked at."""
    oracle = module("probe_oracle", ORACLE)
    drawn = module("disassembly_words", HERE / "disassembly_words.py")
    lines = []
    for arch, disassembler in oracle.load("libLLVM.so.22.1").items():
        source, kept = random.Random(SEED), 0
        for _, words in drawn.draws(10 * WORDS, SEED):
            if kept == WORDS:
                break
            if oracle.undefined(sum(word << 32 * i for i, word in enumerate(words)), arch):
                continue
            size, text = disassembler.decode(struct.pack("<4I", *words))
            if "/*" in text:
                size, text = 0, ""
            if not size and source.random() > 0.25:
                continue
            dwords = size // 4 or 2
            again, _ = disassembler.decode(struct.pack("<4I", *words)[: 4 * dwords])
            if again != size:
                dwords = 4
            shown = " ".join(f"{word:x}" for word in words[:dwords])
            lines.append(f"{arch}\t{shown}\t{size // 4}\t{text}\n")
            kept += 1
    (HERE / "data" / "disassembly.txt.xz").write_bytes(lzma.compress("".join(lines).encode(), preset=9))


if __name__ == "__main__":
    main()
