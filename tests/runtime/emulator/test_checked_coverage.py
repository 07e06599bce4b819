"""``hkc emulate --coverage``: its list, against what the emulated device does with the opcodes."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from hkc.cli import main
from hkc.runtime import HipError

Words = Callable[..., npt.NDArray[np.uint32]]


def coverage(capsys: pytest.CaptureFixture[str], *options: str) -> dict[str, Any]:
    assert main(["emulate", "--coverage", "--json", *options]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_counts_and_text(capsys: pytest.CaptureFixture[str]) -> None:
    found = coverage(capsys)
    assert set(found) == {"gfx942", "gfx950"}
    assert main(["emulate", "--coverage"]) == 0
    lines = capsys.readouterr().out.splitlines()
    for arch, table in found.items():
        executed = [row for row in table["opcodes"] if row["executed"]]
        assert table["rows"] == len(table["opcodes"]) == table["executed"] + table["not_executed"]
        assert table["executed"] == len(executed) > 300
        assert f"{arch}: {len(executed)} of {table['rows']} opcodes are executed" in lines
        slots = [(row["family"], row["opcode"]) for row in table["opcodes"]]
        assert len(slots) == len(set(slots))
    assert sum(line.endswith("(not executed)") for line in lines) == sum(t["not_executed"] for t in found.values())


def test_one_target(capsys: pytest.CaptureFixture[str]) -> None:
    names = {arch: {row["mnemonic"] for row in coverage(capsys, "--arch", arch)[arch]["opcodes"]}
             for arch in ("gfx942", "gfx950")}  # fmt: skip
    assert "v_mfma_f32_16x16x8_xf32" in names["gfx942"] - names["gfx950"]
    assert "v_mfma_f32_16x16x128_f8f6f4" in names["gfx950"] - names["gfx942"]
    assert main(["emulate", "--coverage", "--arch", "gfx90a"]) == 2
    assert "unknown target" in capsys.readouterr().err


def test_no_file(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["emulate"]) == 2
    assert "no code object" in capsys.readouterr().err


def test_listed_as_executed_or_traps(capsys: pytest.CaptureFixture[str], run_words: Words, arch: str) -> None:
    """Every SOP2 and SOPC opcode of the list runs or traps, as the list says."""
    rows = [row for row in coverage(capsys, "--arch", arch)[arch]["opcodes"] if row["family"] in ("SOP2", "SOPC")]
    assert len(rows) > 60
    inputs = np.zeros((64, 8), np.uint32)
    for row in rows:
        if row["mnemonic"] in ("s_cbranch_g_fork", "s_rfe_restore_b64"):  # they branch
            continue
        sop2 = row["family"] == "SOP2"
        word = 0x80080A08 | row["opcode"] << 23 if sop2 else 0xBF000A08 | row["opcode"] << 16  # s8, s[8:9], s[10:11]
        if row["executed"]:
            run_words([word], inputs)
        else:
            with pytest.raises(HipError, match=row["mnemonic"]):
                run_words([word], inputs)
