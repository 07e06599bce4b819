"""Nothing in data/ is left out."""

from __future__ import annotations

from pathlib import Path

import pytest

from hkc.runtime import read_code_object

from .conftest import DATA

OBJECTS = sorted(path.relative_to(DATA) for path in DATA.glob("*/*.hsaco"))
TESTS = "".join(path.read_text() for path in Path(__file__).parent.glob("test_*.py"))


@pytest.mark.parametrize("path", OBJECTS, ids=str)
def test_every_kernel_has_a_test(path: Path) -> None:
    kernels = read_code_object((DATA / path).read_bytes()).kernels
    assert kernels
    file, arch = path.name.split(".")[:2]
    assert (DATA / path).with_name(f"{file}.{arch}.json").exists() or path.parent.name == "clang"
    wanted = list(kernels) if path.parent.name == "clang" else [file]
    assert [name for name in wanted if f'"{name}"' not in TESTS] == []
