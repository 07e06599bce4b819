"""The documentation's programs compile, and its tables name every function."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import hkc as hk
from hkc.dtypes import DTYPES
from hkc.lang.elaborate import elaborate
from hkc.lang.functions import USAGE
from hkc.lang.lexer import KEYWORDS
from hkc.lang.text import parse_text

PATH = Path(__file__).resolve().parents[2] / "docs" / "language.md"
TEXT = PATH.read_text(encoding="utf-8")
BLOCKS = re.findall(r"```(\w+)\n(.*?)```", TEXT, re.DOTALL)


@pytest.mark.parametrize("program", [text for kind, text in BLOCKS if kind == "tile"])
def test_text_programs(program: str) -> None:
    (kernel,) = parse_text(program, "language.md")
    elaborate(kernel, {})


def test_python_and_builder_programs_are_the_same(tmp_path: Path) -> None:
    path = tmp_path / "program.py"
    path.write_text("\n".join(text for kind, text in BLOCKS if kind == "python"))
    space: dict[str, Any] = {}
    exec(compile(path.read_text(), str(path), "exec"), space)
    assert isinstance(space["scale"], hk.Kernel)
    assert str(elaborate(space["scale"].definition, {})) == str(space["module"])


def test_everything_is_documented() -> None:
    for name in USAGE:
        assert f"`{name}(" in TEXT or f" {name}(" in TEXT, name
    keywords = TEXT.split("`for in ")[1].split("`")[0].split()
    assert {"for", "in", *keywords} == KEYWORDS
    listed = set(TEXT.split("Element types: `")[1].split("`")[0].split())
    assert listed == set(DTYPES)
