"""The command line: what it writes, and what bad input gives."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from hkc.cli import main

from .conftest import TILE

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def hkc(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs a command line in an empty folder; gives exit code, stdout, stderr."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: object) -> tuple[int, str, str]:
        try:
            code = main([str(a) for a in arguments])
        except SystemExit as stop:  # argparse
            code = int(stop.code or 0)
        out, err = capsys.readouterr()
        assert "Traceback" not in err
        return code, out, err

    return run


def test_compile_writes_a_code_object(hkc: Run, tile_file: Path, tmp_path: Path) -> None:
    assert hkc("compile", tile_file, "--arch", "gfx942") == (0, "", "")
    assert (tmp_path / "scale.hsaco").read_bytes().startswith(b"\x7fELF")
    code, out, _ = hkc("compile", tile_file, "-o", "named.hsaco", "--report")
    assert code == 0
    assert out.startswith("kernel        scale (gfx950, ")
    assert (tmp_path / "named.hsaco").exists()


def test_a_compile_goes_without_numpy(tile_file: Path, tmp_path: Path) -> None:
    """Whose import costs a tenth of the time; whoever wants it afterwards gets it."""
    script = """
import sys
from hkc.cli import main
assert main(["compile", sys.argv[1], "-o", sys.argv[2]]) == 0
assert "mlir.ir" in sys.modules and "numpy" not in sys.modules
import numpy
assert numpy.zeros(1) == 0
"""
    environment = os.environ | {"HKC_CACHE_DIR": str(tmp_path / "cache")}
    command = [sys.executable, "-c", script, str(tile_file), str(tmp_path / "out.hsaco")]
    subprocess.run(command, check=True, env=environment)


@pytest.mark.parametrize(
    ("stage", "sign"),
    [("tile", "kernel scale("), ("mlir", "tile.kernel"), ("llvm", "amdgpu_kernel"), ("asm", "s_endpgm")],
)
def test_emit_text(hkc: Run, tile_file: Path, tmp_path: Path, stage: str, sign: str) -> None:
    code, out, err = hkc("compile", tile_file, "--emit", stage)
    assert (code, err) == (0, "")
    assert sign in out
    assert hkc("compile", tile_file, "--emit", stage, "-o", "out.txt")[:2] == (0, "")
    assert (tmp_path / "out.txt").read_text() == out


def test_emit_object(hkc: Run, tile_file: Path, tmp_path: Path) -> None:
    assert hkc("compile", tile_file, "--emit", "obj")[0] == 0
    assert (tmp_path / "scale.o").read_bytes().startswith(b"\x7fELF")


def test_json_is_all_that_stdout_gets(hkc: Run, tile_file: Path) -> None:
    for emit in ("hsaco", "asm"):
        code, out, _ = hkc("compile", tile_file, "--emit", emit, "--json")
        report = json.loads(out)
        assert code == 0
        assert report["resources"]["name"] == "scale"
        assert report["lds_limit"] == 163840


def test_constants_and_dumps(hkc: Run, tile_file: Path, tmp_path: Path) -> None:
    assert hkc("compile", tile_file, "-D", "BM=32", "-D", "BN=32", "--dump-ir", tmp_path / "new" / "dump")[0] == 0
    text = (tmp_path / "new" / "dump" / "00_tile.tile").read_text()
    assert "32" in text
    assert "64" not in text


def dumped(folder: Path, name: str) -> Path:
    """A step's file, whatever its number."""
    [file] = (folder / "dump").glob(f"[0-9][0-9]_{name}")
    return file


def test_opt_runs_passes_and_the_result_resumes(hkc: Run, tile_file: Path, tmp_path: Path) -> None:
    assert hkc("compile", tile_file, "-o", "whole.hsaco", "--dump-ir", "dump")[0] == 0
    passes = "choose-schedules,infer-layouts,assign-wave-roles"
    code, out, _ = hkc("opt", "dump/00_tile.mlir", "--passes", passes, "--arch", "gfx950")
    assert code == 0
    assert out == dumped(tmp_path, "assign-wave-roles.mlir").read_text()
    (tmp_path / "half.mlir").write_text(out)
    assert hkc("compile", "half.mlir", "-o", "half.hsaco")[0] == 0
    assert (tmp_path / "half.hsaco").read_bytes() == (tmp_path / "whole.hsaco").read_bytes()
    assert hkc("compile", str(dumped(tmp_path, "llvm.ll")), "-o", "llvm.hsaco")[0] == 0
    assert (tmp_path / "llvm.hsaco").read_bytes() == (tmp_path / "whole.hsaco").read_bytes()


def test_a_dump_changed_to_another_target_is_the_users_fault(hkc: Run, tmp_path: Path) -> None:
    gemm = str(Path(__file__).parents[2] / "examples" / "01_gemm.tile")
    assert hkc("compile", gemm, "--arch", "gfx950", "-o", "gemm.hsaco", "--dump-ir", "dump")[0] == 0
    text = next((tmp_path / "dump").glob("*_map-mfma.mlir")).read_text()
    (tmp_path / "edited.mlir").write_text(text.replace("gfx950", "gfx942"))
    code, out, err = hkc("compile", "edited.mlir", "-o", "edited.hsaco")
    assert (code, out) == (2, "") and "edited.mlir: LLVM can't generate code for it" in err
    assert not (tmp_path / "edited.hsaco").exists()


@pytest.mark.parametrize(
    ("dump", "passes", "message"),
    [
        ("tile", "assign-wave-roles", "assign-wave-roles comes too early: the module has not been through infer"),
        ("tile", "infer-layouts,map-mfma", "map-mfma comes too early: the module has not been through assign"),
        ("insert-fences", "lower-to-rocdl", "lower-to-rocdl comes too early: the module has not been through map"),
        ("assign-wave-roles", "verify-sync", "verify-sync comes too early: the module has not been through insert-"),
        ("tile", "lower-to-rocdl", "--passes infer-layouts,assign-wave-roles,insert-buffer-loads,insert-fences,"),
        ("lower-to-rocdl", "map-mfma", "map-mfma comes too late: the module has been through lower-to-rocdl"),
    ],
)
def test_passes_out_of_order(hkc: Run, tile_file: Path, tmp_path: Path, dump: str, passes: str, message: str) -> None:
    assert hkc("compile", tile_file, "--dump-ir", "dump")[0] == 0
    code, out, err = hkc("opt", str(dumped(tmp_path, f"{dump}.mlir")), "--passes", passes, "--arch", "gfx950")
    assert (code, out) == (2, "")
    assert message in err


WEAK = """kernel weak(A: view[M, K, bf16], C: view[64, 64, f32])
    grid (1)
{
    sA = lds(1, 64, 64, bf16)
    sB = lds(1, 64, 64, bf16)
    ta = copy(A[0 : 64, 0 : 64], sA[0])
    tb = copy(A[0 : 64, 0 : 64], sB[0])
    waitcnt(vmcnt=3)
    barrier()
    C[0 : 64, 0 : 64] = read(sA[0]) @ read(sB[0]).T
}
"""


def test_a_wait_by_hand_that_is_too_weak(hkc: Run, tmp_path: Path) -> None:
    """A copy is two instructions: 64x64 bf16 by four wavefronts of 64 lanes of 16 bytes."""
    (tmp_path / "weak.tile").write_text(WEAK)
    code, out, err = hkc("compile", "weak.tile", "--arch", "gfx950")
    assert (code, out) == (2, "")
    assert not (tmp_path / "weak.hsaco").exists()
    assert (
        err
        == """weak.tile:10:25: error: this read may see bytes that the same wavefront is still copying
        C[0 : 64, 0 : 64] = read(sA[0]) @ read(sB[0]).T
                            ^
  expected: a wait that leaves at most vmcnt=2 in between
  got: a wait that is too weak
weak.tile:6:10: note: the copy, of slot 0 of sA
        ta = copy(A[0 : 64, 0 : 64], sA[0])
             ^
weak.tile:8:5: note: this wait is too weak: vmcnt=3 leaves it in flight, vmcnt=2 is enough
        waitcnt(vmcnt=3)
        ^
  hint: put waitcnt(vmcnt=2), or wait(...) on its token, before this read
"""
    )
    (tmp_path / "weak.tile").write_text(WEAK.replace("vmcnt=3", "vmcnt=2"))
    code, _, err = hkc("compile", "weak.tile", "--arch", "gfx950")
    assert code == 2 and "vmcnt=0 is enough" in err
    (tmp_path / "weak.tile").write_text(WEAK.replace("vmcnt=3", "vmcnt=0"))
    assert hkc("compile", "weak.tile", "--arch", "gfx950")[0] == 0


def test_a_dump_is_proved_alone(hkc: Run, tmp_path: Path) -> None:
    (tmp_path / "right.tile").write_text(WEAK.replace("vmcnt=3", "vmcnt=0"))
    assert hkc("compile", "right.tile", "--arch", "gfx950", "--dump-ir", "dump")[0] == 0
    fenced = dumped(tmp_path, "insert-fences.mlir")
    code, out, _ = hkc("opt", str(fenced), "--passes", "verify-sync")
    assert code == 0
    assert out == dumped(tmp_path, "verify-sync.mlir").read_text()
    (tmp_path / "edited.mlir").write_text(fenced.read_text().replace("vmcnt = 0", "vmcnt = 1"))
    code, _, err = hkc("opt", "edited.mlir", "--passes", "verify-sync")
    assert (code, "right.tile:8:5: note: this wait is too weak: vmcnt=1" in err) == (2, True)
    early = dumped(tmp_path, "insert-buffer-loads.mlir")
    lines = early.read_text()
    assert 'tile.wait"' not in lines
    assert hkc("opt", str(early), "--passes", "verify-sync")[0] == 0


def test_one_of_several_kernels(hkc: Run, tmp_path: Path) -> None:
    (tmp_path / "two.tile").write_text(TILE + TILE.replace("kernel scale", "kernel other"))
    code, _, err = hkc("compile", "two.tile")
    assert code == 2
    assert "two.tile defines 2 kernels" in err
    assert "two.tile:scale" in err
    assert hkc("compile", "two.tile:other", "-o", "o.hsaco")[0] == 0
    code, _, err = hkc("compile", "two.tile:third")
    assert (code, "has no kernel 'third'" in err, "scale or other" in err) == (2, True, True)


def test_a_python_file(hkc: Run, tmp_path: Path) -> None:
    (tmp_path / "k.py").write_text(
        "from __future__ import annotations\n"
        "import hkc as hk\n"
        "@hk.kernel(grid=lambda N: (hk.cdiv(N, 64),))\n"
        'def twice(X: hk.View["N", hk.f32], Y: hk.View["N", hk.f32]):\n'
        "    n = hk.block(0) * 64\n"
        "    x = X[n : n + 64]\n"
        "    Y[n : n + 64] = x + x\n"
    )
    code, out, err = hkc("compile", "k.py", "--emit", "tile")
    assert (code, err) == (0, "")
    assert "kernel twice(" in out


@pytest.mark.parametrize(
    ("arguments", "messages"),
    [
        (["missing.tile"], ["cannot read missing.tile: No such file"]),
        (["."], ["unknown kind of file"]),
        (["latin.tile"], ["latin.tile:2:", "not UTF-8 text"]),
        (["empty.tile"], ["empty.tile"]),
        (["scale.tile", "--arch", "gfx90a"], ["--arch gfx90a: there is no such target", "gfx942 or gfx950"]),
        (["scale.tile", "-D", "BM"], ["-D BM: not a definition", "-D NAME=VALUE"]),
        (["scale.tile", "-D", "BM=x"], ["BM=x is not an int"]),
        (["scale.tile", "-D", "BQ=3"], ["nothing named BQ", "BM, BN"]),
        (["scale.tile", "-D", "M=3"], ["-D M: a size is known when the kernel runs", "hkc run"]),
        (["scale.tile", "-D", "BM=1", "-D", "BM=2"], ["-D BM is given twice"]),
        (["scale.tile", "-o", "no/such/folder/out"], ["cannot write no/such/folder/out: No such file"]),
        (["scale.tile", "-o", "."], ["cannot write .: "]),
        (["scale.tile", "--dump-ir", "scale.tile/x"], ["cannot write scale.tile/x/00_tile.mlir"]),
        (["scale.txt"], ["scale.txt: unknown kind of file", ".tile, .py, .mlir, .ll"]),
        (["bad.ll"], ["bad.ll: not valid LLVM IR"]),
        (["bad.mlir"], ["bad.mlir:1:", "error"]),
        (["none.py"], ["none.py defines no kernel"]),
        (["raises.py"], ["raises.py:2:1: error: the Python program stopped with ValueError: oh no"]),
        (["syntax.py"], ["syntax.py:1:", "Python can't read this"]),
        (["bare.py"], ["bare.py:2:1: error: a kernel needs its grid", "hint: @hk.kernel(grid="]),
        (["async.py"], ["async.py:2:1: error: the kernel f is an async function"]),
        (["empty.mlir"], ["the module holds no kernel", "hint: "]),
    ],
)
def test_bad_input_is_exit_2_with_a_message(
    hkc: Run, tmp_path: Path, tile_file: Path, arguments: list[str], messages: list[str]
) -> None:
    (tmp_path / "latin.tile").write_bytes(b"// fine\n// caf\xe9\n")
    (tmp_path / "empty.tile").write_text("")
    (tmp_path / "scale.txt").write_text(TILE)
    (tmp_path / "bad.ll").write_text("define garbage")
    (tmp_path / "bad.mlir").write_text("module { what }")
    (tmp_path / "none.py").write_text("import hkc\n")
    (tmp_path / "raises.py").write_text("import hkc\nraise ValueError('oh no')\n")
    (tmp_path / "syntax.py").write_text("def f(:\n")
    (tmp_path / "bare.py").write_text("import hkc as hk\n@hk.kernel\ndef f(): pass\n")
    (tmp_path / "async.py").write_text("import hkc as hk\n@hk.kernel(grid=(1,))\nasync def f(): pass\n")
    (tmp_path / "empty.mlir").write_text("")
    before = sorted(tmp_path.rglob("*"))
    code, out, err = hkc("compile", *arguments)
    assert (code, out) == (2, "")
    for message in messages:
        assert message in err
    assert sorted(tmp_path.rglob("*")) == before, "nothing is left behind"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["opt", "m.mlir", "--passes", "no-such-pass"], "unknown pass 'no-such-pass'"),
        (["opt", "m.mlir", "--passes", "infer-layouts"], "the module names no arch"),
        (["opt", "m.mlir"], "required: --passes"),
        (["run", "scale.tile", "--seed", "-1"], "--seed: -1 is not a number"),
        (["compile"], "required: FILE"),
        (["compile", "scale.tile", "--emit", "pdf"], "invalid choice: 'pdf'"),
        (["paint"], "invalid choice: 'paint'"),
        ([], "required: COMMAND"),
    ],
)
def test_bad_command_lines_are_exit_2(hkc: Run, tmp_path: Path, arguments: list[str], message: str) -> None:
    (tmp_path / "m.mlir").write_text("module {}")
    code, _, err = hkc(*arguments)
    assert code == 2
    assert message in err


def test_an_unreadable_file(hkc: Run, tile_file: Path) -> None:
    if os.geteuid() == 0:
        pytest.skip("root reads everything")
    tile_file.chmod(0)
    code, _, err = hkc("compile", tile_file)
    assert (code, "Permission denied" in err) == (2, True)


def test_a_failed_write_keeps_the_old_file(
    hkc: Run, tile_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "out.hsaco").write_bytes(b"before")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    monkeypatch.setenv("HKC_CACHE", "0")
    code, _, err = hkc("compile", tile_file, "-o", "out.hsaco")
    assert (code, "cannot write out.hsaco: No space left" in err) == (2, True)
    assert (tmp_path / "out.hsaco").read_bytes() == b"before"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.hsaco", "scale.tile"]


def test_a_closed_pipe_is_no_traceback(tile_file: Path) -> None:
    command = f"{sys.executable} -m hkc.cli compile {tile_file} --emit llvm | true"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert "Traceback" not in done.stderr
    assert "BrokenPipe" not in done.stderr


@pytest.mark.parametrize(
    ("stdout", "code", "message"),
    [(">&-", 0, ""), (">/dev/full", 2, "error: cannot write the output: No space left on device\n")],
)
def test_stdout_that_takes_nothing(tile_file: Path, stdout: str, code: int, message: str) -> None:
    command = f"{sys.executable} -m hkc.cli compile {tile_file} --emit mlir {stdout}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (code, message)


def test_programs_are_utf_8_in_any_locale(tile_file: Path) -> None:
    tile_file.write_text(tile_file.read_text().replace("x", "\u00e9"), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "hkc.cli", "compile", str(tile_file), "--emit", "tile"],
        env=os.environ | {"PYTHONIOENCODING": "ascii"},
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert "\u00e9 = X[" in done.stdout.decode("utf-8") or "\u00e9 = A[" in done.stdout.decode("utf-8")


def test_a_kernel_without_arguments(hkc: Run, tmp_path: Path) -> None:
    (tmp_path / "none.tile").write_text("kernel none() grid (2) {\n    pass\n}\n")
    assert hkc("run", "none.tile", "--check", "--device", "emulator")[0] == 0


def test_a_python_file_with_a_byte_order_mark(hkc: Run, tmp_path: Path) -> None:
    text = 'import hkc as hk\n@hk.kernel(grid=(1,))\ndef f(X: hk.View["N", hk.f32]):\n    X[0:64] = X[0:64] + 1\n'
    (tmp_path / "bom.py").write_text("\ufeff" + text, encoding="utf-8")
    assert hkc("compile", "bom.py", "--emit", "tile")[0] == 0


def test_ctrl_c_is_no_traceback(tmp_path: Path) -> None:
    (tmp_path / "slow.py").write_text("import time\nprint('started', flush=True)\ntime.sleep(60)\n")
    process = subprocess.Popen(
        [sys.executable, "-m", "hkc.cli", "compile", str(tmp_path / "slow.py")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "started\n"
    time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=20)
    assert (process.returncode, err) == (130, "interrupted\n")


def test_a_fault_of_hkc_itself_is_exit_3(hkc: Run, tile_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("nobody thought of this")

    monkeypatch.setattr("hkc.driver.compile.compile_kernel", broken)
    code, _, err = hkc("compile", tile_file)
    assert code == 3
    assert "internal error: ZeroDivisionError: nobody thought of this (test_cli.py:" in err
    saved = Path(err.rpartition("the traceback is in ")[2].strip())
    assert "Traceback" in saved.read_text()
    saved.unlink()


@pytest.mark.parametrize(
    ("definitions", "words"),
    [
        (["SCHEDULE=zigzag"], ["unknown schedule 'zigzag'", "expected: auto or "]),
        (["BM=256", "BN=256", "STAGES=4"], ["4 stages need 262144 bytes of LDS", "hint: stages=2"]),
        (["BM=16", "BN=16", "SCHEDULE=pingpong"], ["16x16 does not divide over", "hint: a tile of "]),
    ],
)
def test_a_schedule_that_does_not_fit(hkc: Run, definitions: list[str], words: list[str]) -> None:
    gemm = Path(__file__).parents[2] / "examples" / "01_gemm.tile"
    options = [word for definition in definitions for word in ("-D", definition)]
    code, out, err = hkc("compile", str(gemm), "--arch", "gfx950", *options, "-o", "x.hsaco")
    line = 1 + next(i for i, row in enumerate(gemm.read_text().splitlines()) if "for k in range" in row)
    assert (code, out) == (2, "")
    assert f"01_gemm.tile:{line}:5: error: " in err
    assert all(word in err for word in words), err
