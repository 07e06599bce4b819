"""Every conversion between element types, its result met by tiles that were loaded and computed as that type."""

from __future__ import annotations

from pathlib import Path

import pytest

from hkc.cli import main

TYPES = ("f64", "f32", "f16", "bf16", "i64", "i32", "i16", "i8")


def program(source: str) -> str:
    """For each type T: C_T = A.to(T) + B_T, through a branch and a loop, whose results have one layout too."""
    views = [f"B_{t}: view[M, N, {t}], C_{t}: view[M, N, {t}]" for t in TYPES]
    lines = ["m = block(0) * 32", "a = A[m : m + 32, 0 : 64]"]
    for t in TYPES:
        x, part = f"x_{t}", "m : m + 32, 0 : 64"
        lines += [
            f"{x} = " + (f"a.to({t})" if t != source else "a"),
            f"if turns > 1 {{ {x} = {x} + B_{t}[{part}] }} else {{ {x} = B_{t}[{part}] }}",
            f"for i in range(0, turns) {{ {x} = where({x} < B_{t}[{part}], {x}, {x} - 1) }}",
            f"C_{t}[{part}] = {x}",
        ]
    body = "\n".join(f"    {line}" for line in lines)
    return f"kernel f(A: view[M, N, {source}], {', '.join(views)}, turns: i32) grid (cdiv(M, 32))\n{{\n{body}\n}}\n"


@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
@pytest.mark.parametrize("source", TYPES)
def test_conversions_meet_tiles_of_their_type(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, source: str, arch: str
) -> None:
    monkeypatch.setenv("HKC_DEVICE", "emulator")
    path = tmp_path / "f.tile"
    path.write_text(program(source))
    code = main(["run", str(path), "--arch", arch, "-D", "M=40", "-D", "N=61", "-D", "turns=2", "--check"])
    out, err = capsys.readouterr()
    assert (code, err) == (0, "")
    assert out.count("PASS") == len(TYPES)
