"""The emulated device executes what the disassembler accepts, and traps on what it rejects."""

from __future__ import annotations

import numpy as np
import pytest

from hkc.runtime.disassembly import disassemble_words
from hkc.runtime.hip import HipError

from .conftest import Words

INPUTS = np.arange(64 * 8, dtype=np.uint32).reshape(64, 8)


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ((0x7E1802F9, 0x00070604), "SDWA selection 7 is reserved"),
        ((0x7E1802FA, 0xFF010004), "DPP control 0x100 is reserved"),
        ((0xD280000D, 0x00020904), "an odd pair of destination registers"),
        ((0xDC5C8000, 0x0D060001), "an odd quadruple of destination registers"),
        ((0xD10F0C0C, 0x00020904), "modifiers of an integer operation"),
    ],
)
def test_invalid_words_trap(run_words: Words, arch: str, words: tuple[int, ...], why: str) -> None:
    assert disassemble_words(words, arch) == (0, ""), why
    with pytest.raises(HipError, match="invalid operand"):
        run_words(words, INPUTS)


def test_operands_share_one_literal(run_words: Words) -> None:
    # s_orn2_b32 s8, 0x12345, 0x12345;  v_mov_b32_e32 v12, s8;  v_mov_b32_e32 v14, 0;
    # v_fmamk_f32 v13, lit(2.0), 2.0, v14;  v_mov_b32_e32 v15, 1
    words = (0x8A08FFFF, 0x00012345, 0x7E180208, 0x7E1C0280, 0x2E1A1CFF, 0x40000000, 0x7E1E0281)
    result = run_words(words, INPUTS)
    assert np.all(result[:, 0] == 0xFFFFFFFF)
    assert np.all(result[:, 1].view(np.float32) == 4)
    assert np.all(result[:, 3] == 1)  # what follows is decoded where it begins
