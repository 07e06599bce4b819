"""`hkc disasm`: objects of hkc and of other compilers against llvm-objdump, and damaged files."""

from __future__ import annotations

import json
import random
import re
import shutil
import subprocess
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest

from hkc.cli import main

ROOT = Path(__file__).parents[2]
OWN = [
    f"{path}:{name}"
    for path in sorted((ROOT / "examples").glob("*.tile"))
    for name in re.findall(r"^kernel (\w+)", path.read_text(encoding="utf-8"), re.MULTILINE)
]
FOREIGN = sorted((ROOT / "tests" / "foreign" / "data").rglob("*.hsaco"))
OBJDUMP = shutil.which("llvm-objdump-22")
LINE = re.compile(r"\t(.*?)\s*// ([0-9A-F]{12}): ([0-9A-F ]+?)(?: <(.*)>)?")
Run = Callable[..., tuple[int, str, str]]

needs_objdump = pytest.mark.skipif(OBJDUMP is None, reason="llvm-objdump-22 is not installed")


@pytest.fixture
def hkc(capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs a command line; gives exit code, stdout, stderr."""

    def run(*arguments: object) -> tuple[int, str, str]:
        code = main([str(a) for a in arguments])
        out, err = capsys.readouterr()
        assert "Traceback" not in err
        return code, out, err

    return run


def instructions(text: str) -> list[tuple[str, ...]]:
    """Address, words, text and branch target of each line, and the labels between them."""
    result: list[tuple[str, ...]] = []
    for line in text.splitlines():
        if match := LINE.fullmatch(line):
            result.append((match[2], match[3], match[1], match[4] or ""))
        elif re.fullmatch(r"[0-9a-f]{16} <.*>:", line):
            result.append((line,))
        elif line.strip() == "...":
            result.append(("...",))
    return result


def check_against_objdump(hkc: Run, file: Path) -> None:
    assert OBJDUMP is not None
    reference = subprocess.run(
        [OBJDUMP, "-d", "--disassemble-zeroes", file], capture_output=True, text=True, check=True
    ).stdout
    code, out, err = hkc("disasm", file)
    assert (code, err) == (0, "")
    expected = instructions(reference)
    assert len(expected) > 20
    assert instructions(out) == expected


@needs_objdump
@pytest.mark.parametrize("file", FOREIGN, ids=lambda path: path.name)
def test_foreign_objects(hkc: Run, file: Path) -> None:
    check_against_objdump(hkc, file)


@needs_objdump
@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
@pytest.mark.parametrize("kernel", OWN, ids=lambda kernel: kernel.rpartition("/")[2])
def test_own_kernels(hkc: Run, tmp_path: Path, arch: str, kernel: str) -> None:
    target = tmp_path / "out.hsaco"
    assert hkc("compile", kernel, "--arch", arch, "-o", target)[0] == 0
    check_against_objdump(hkc, target)


def test_json(hkc: Run) -> None:
    code, out, _ = hkc("disasm", FOREIGN[0], "--json")
    report = json.loads(out)
    assert code == 0 and report["arch"] in FOREIGN[0].name
    (section,) = report["sections"]
    assert section["name"] == ".text" and section["labels"]
    lines = section["lines"]
    assert all(b["address"] == a["address"] + 4 * len(a["words"]) for a, b in pairwise(lines))
    assert {"text", "target"} <= set(lines[0])
    ends = [line for line in lines if line["text"] == "s_endpgm"]
    assert ends and ends[0]["words"] == [0xBF810000]


def test_bad_words_are_shown_as_data(hkc: Run, tmp_path: Path) -> None:
    data = FOREIGN[0].read_bytes()
    end = bytes.fromhex("000081bf")
    changed = tmp_path / "changed.hsaco"
    changed.write_bytes(data.replace(end, bytes.fromhex("ffffffff")))
    assert end in data
    code, out, _ = hkc("disasm", changed)
    assert code == 0 and ".long 0xffffffff" in out and "s_endpgm" not in out


def test_damaged_files_are_exit_2(hkc: Run, tmp_path: Path) -> None:
    """Cut off anywhere and with bits flipped: a message, or the text of what is left."""
    data, source, file = FOREIGN[0].read_bytes(), random.Random(5), tmp_path / "damaged.hsaco"
    file.write_bytes(b"not an object")
    code, _, err = hkc("disasm", file)
    assert code == 2 and "error" in err
    for round_ in range(60):
        damaged = bytearray(data)
        if round_ % 2:
            del damaged[source.randrange(len(data)) :]
        for _ in range(round_ % 7 + 1):
            if damaged:
                damaged[source.randrange(min(len(damaged), 4096))] ^= 1 << source.randrange(8)
        file.write_bytes(damaged)
        code, _, err = hkc("disasm", file)
        assert code in (0, 2)
        assert (code == 2) == bool(err)


def test_a_missing_file(hkc: Run, tmp_path: Path) -> None:
    code, _, err = hkc("disasm", tmp_path / "none.hsaco")
    assert code == 2 and "none.hsaco" in err
