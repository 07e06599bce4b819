"""The disassembler against LLVM 22's: a committed sample, and live where LLVM 22 is installed."""

from __future__ import annotations

import importlib.util
import lzma
import struct
import sys
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from types import ModuleType

import pytest

from hkc.errors import HkcError
from hkc.runtime.disassembly import disassemble, disassemble_words

from .disassembly_words import FAMILIES, draws

SAMPLE = Path(__file__).parent / "data" / "disassembly.txt.xz"
ORACLE = Path(__file__).parents[3] / "tools" / "isa_syntax" / "probe_oracle.py"
LIBRARY = "libLLVM.so.22.1"
WORDS = 1_000_000  # a target
CHUNK, CHUNKS = 50_000, 21  # a few words, which LLVM 22 may crash on, are not compared

# A sample line: target, words in hexadecimal, dwords of the instruction (0: rejected), text.
Row = tuple[str, tuple[int, ...], int, str]


def sample() -> Iterator[Row]:
    for line in lzma.decompress(SAMPLE.read_bytes()).decode().splitlines():
        arch, words, length, text = line.split("\t")
        yield arch, tuple(int(word, 16) for word in words.split()), int(length), text


def oracle_module() -> ModuleType:
    spec = importlib.util.spec_from_file_location("probe_oracle", ORACLE)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["probe_oracle"] = module
    spec.loader.exec_module(module)
    return module


def test_sample_of_llvm() -> None:
    rows = list(sample())
    counts = Counter((arch, length > 0) for arch, _, length, _ in rows)
    assert len(rows) >= 20_000
    assert min(counts[arch, valid] for arch in ("gfx942", "gfx950") for valid in (False, True)) >= 3_000
    wrong = [row for row in rows if disassemble_words(row[1], row[0]) != (row[2], row[3])]
    assert not wrong, f"{len(wrong)} of {len(rows)}: {wrong[:5]}"


def test_sample_has_every_family() -> None:
    mnemonics = {text.split(" ")[0] for _, _, length, text in sample() if length}
    parts = ("s_", "v_", "ds_", "flat_", "global_", "scratch_", "buffer_", "tbuffer_", "v_mfma_", "v_mfma_scale_")
    for part in (*parts, "v_smfmac_", "v_pk_", "v_accvgpr_", "s_buffer_", "s_atomic_", "v_cmpx_", "v_cvt_scalef32_"):
        assert any(m.startswith(part) for m in mnemonics), part
    for suffix in ("_e32", "_e64", "_sdwa", "_dpp"):
        assert any(m.endswith(suffix) for m in mnemonics), suffix


Disagreement = tuple[str, str, str, str]


def _compare(arch: str, chunk: int) -> tuple[int, list[Disagreement]]:
    """How many words of a chunk were compared, and those that LLVM takes for something else."""
    module = oracle_module()
    oracle = module.load(LIBRARY)[arch]
    compared, wrong = 0, []
    for family, words in draws(CHUNK, chunk):
        if module.undefined(sum(word << 32 * i for i, word in enumerate(words)), arch):
            continue
        size, text = oracle.decode(struct.pack("<4I", *words))
        expected = (0, "") if "/*" in text else (size // 4, text)
        got = disassemble_words(words, arch)
        compared += 1
        if got != expected:
            wrong.append((family, " ".join(f"{word:08x}" for word in words), str(expected), str(got)))
    return compared, wrong


@pytest.mark.long
@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
def test_a_million_words(arch: str) -> None:
    try:
        oracle_module().load(LIBRARY)
    except (OSError, AttributeError) as problem:
        pytest.skip(f"LLVM 22 is not installed: {problem}")
    with ProcessPoolExecutor(2) as pool:
        found = list(pool.map(_compare, [arch] * CHUNKS, range(CHUNKS)))
    assert sum(compared for compared, _ in found) >= WORDS
    wrong = [one for _, chunk in found for one in chunk]
    families = Counter(family for family, *_ in wrong)
    assert not wrong, f"{families}: {wrong[:5]}"


def test_draws_are_even() -> None:
    count = 600 * len(FAMILIES)
    per_family = Counter(family for family, _ in draws(count, 1))
    assert set(per_family.values()) == {600}
    opcodes = Counter(words[0] >> 18 & 127 for family, words in draws(128 * len(FAMILIES), 1) if family == "MUBUF")
    assert set(opcodes.values()) == {1}


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ((0x7E0002F9, 0x00070604), "SDWA selection 7 is reserved"),
        ((0x7E0002F9, 0x00061E04), "dst_unused 3 is reserved"),
        ((0xE0501000, 0xFF010804), "soffset is no literal"),
        ((0xD01000FF, 0x00020501), "a destination is no literal"),
        ((0xD3AD0000, 0x044210C1), "a constant as an f8f6f4 matrix"),
        ((0xDC5C8000, 0x05000001), "an odd register pair"),
        ((0xFFFFFFFF,), "no encoding"),
    ],
)
def test_reserved_words_are_rejected(words: tuple[int, ...], why: str) -> None:
    assert disassemble_words(words, "gfx950") == (0, ""), why


@pytest.mark.parametrize("count", range(5))
def test_cut_off_instructions(count: int) -> None:
    """The words of an instruction that lacks its last ones are no instruction, or a shorter one."""
    words = (0xD3AC0000, 0x0802B35B, 0xD3AE0820, 0x0482CD86)[:count]
    length, text = disassemble_words(words, "gfx950")
    assert length <= count
    assert text == (
        {2: "v_mfma_ld_scale_b32 v91, v89 op_sel_hi:[1,0]", 3: "v_mfma_ld_scale_b32 v91, v89 op_sel_hi:[1,0]"}
        | {4: "v_mfma_scale_f32_32x32x64_f8f6f4 v[32:47], v[134:141], v[102:109], v[32:47], v91, v89 op_sel_hi:[1,0,0]"}
    ).get(count, "")


def test_a_constant_of_its_own_is_printed_as_encoded() -> None:
    assert disassemble_words((0x30080108, 0x80), "gfx942") == (2, "v_fmaak_f32 v4, v8, v0, 0x80")


def test_lines_have_branch_targets() -> None:
    lines = list(disassemble([0xBF82FFFF, 0xFFFFFFFF, 0xBF840001], "gfx942", 0x100))
    assert [(line.address, line.text, line.target) for line in lines] == [
        (0x100, "s_branch 65535", 0x100),
        (0x104, None, None),
        (0x108, "s_cbranch_scc0 1", 0x110),
    ]


def test_unknown_targets() -> None:
    with pytest.raises(HkcError, match="gfx90a"):
        disassemble_words([0xBF810000], "gfx90a")
