"""`hkc run`, `hkc emulate` and kernels called from Python, on the emulated device."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import hkc as hk
from hkc.cli import main
from hkc.dtypes import DTYPES
from hkc.numerics import decode, encode

from .conftest import LLVM_IR, TILE
from .test_compile import GEMM

Run = Callable[..., tuple[int, str, str]]
ARCHES = ("gfx942", "gfx950")


@pytest.fixture
def hkc(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs a command line in a folder with scale.tile and gemm.tile; gives exit code, stdout, stderr."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HKC_DEVICE", "emulator")
    (tmp_path / "scale.tile").write_text(TILE)
    (tmp_path / "gemm.tile").write_text(GEMM)

    def run(*arguments: object) -> tuple[int, str, str]:
        code = main([str(a) for a in arguments])
        out, err = capsys.readouterr()
        assert "Traceback" not in err
        return code, out, err

    return run


@pytest.mark.parametrize("arch", ARCHES)
@pytest.mark.parametrize("sizes", [(64, 64, 64), (70, 33, 130), (1, 1, 1), (65, 64, 40)])
def test_check_passes(hkc: Run, arch: str, sizes: tuple[int, int, int]) -> None:
    m, n, k = sizes
    code, out, err = hkc("run", "gemm.tile", "--arch", arch, "-D", f"M={m}", "-D", f"N={n}", "-D", f"K={k}", "--check")
    assert (code, err) == (0, "")
    first, second = out.splitlines()
    assert first.startswith(f"gemm M={m} K={k} N={n} on {arch} emulator: {-(-m // 64)}x{-(-n // 64)}x1 workgroups of ")
    assert second.startswith("C: max error ")
    assert second.endswith(": PASS")


def test_a_wrong_result_is_exit_1(hkc: Run, tmp_path: Path) -> None:
    # The machine gets the code of another program; --check knows the one that was asked for.
    sizes = ("-D", "M=40", "-D", "N=40", "-D", "alpha=2")
    assert hkc("run", "scale.tile", *sizes, "--check")[0] == 0
    text = TILE.replace("x * alpha", "x * (alpha + 1.0)")
    broken = hk.compile(_file(tmp_path, "broken.tile", text), arch="gfx950")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("hkc.driver.compile.compile_kernel", lambda *_, **__: broken)
        code, out, _ = hkc("run", "scale.tile", *sizes, "--check")
    assert code == 1
    assert "FAIL" in out
    assert "1600 of 1600 elements are beyond their bound" in out


def _file(folder: Path, name: str, text: str) -> Path:
    (folder / name).write_text(text)
    return folder / name


def test_an_element_left_unwritten_or_a_byte_outside_fails() -> None:
    from hkc.cli.check import compare
    from hkc.cli.inputs import make_host_array
    from hkc.interp import View

    reference = View(np.ones((5, 3)), DTYPES["f32"], (3, 1))
    host = make_host_array((5, 3), DTYPES["f32"], np.ones((5, 3)), tail=True)
    assert compare("Y", host, reference).passed
    assert make_host_array((5, 3), DTYPES["f32"], None, tail=True).changed_outside() == 0
    unwritten = compare("Y", make_host_array((5, 3), DTYPES["f32"], None, tail=True), reference)
    assert (unwritten.passed, unwritten.wrong) == (False, 15)
    host.raw()[2, 1] = np.float32(1.25).view(np.uint32)
    assert compare("Y", host, reference).text().splitlines()[1].endswith("the worst, Y[2, 1], is 1.25, expected 1")
    host.memory[3 * 4] ^= 1  # the first byte after the first row
    assert compare("Y", host, reference).outside == 1


def test_sizes_are_not_part_of_the_cache_key(hkc: Run, cache_folder: Path) -> None:
    for size in (16, 100, 257):
        assert hkc("run", "scale.tile", "-D", f"M={size}", "-D", "N=8", "-D", "alpha=1.5")[0] == 0
    assert len(list(cache_folder.glob("*.hkc"))) == 1


def test_inputs_and_outputs(hkc: Run, tmp_path: Path) -> None:
    x = np.arange(35, dtype=np.float64).reshape(5, 7)
    np.save(tmp_path / "x.npy", x)
    code, out, _ = hkc("run", "scale.tile", "--input", "X=x.npy", "-D", "alpha=-2", "--output", "Y=y.npy", "--check")
    assert code == 0
    assert "M=5 N=7" in out
    y = np.load(tmp_path / "y.npy")
    assert y.dtype == np.float32
    np.testing.assert_array_equal(y, -2 * x)


def test_the_seed_decides_the_inputs(hkc: Run, tmp_path: Path) -> None:
    saved = []
    for seed in (1, 1, 2):
        hkc("run", "scale.tile", "-D", "M=9", "-D", "N=9", "-D", "alpha=1", "--seed", seed, "--output", "X=x.npy")
        saved.append(np.load(tmp_path / "x.npy"))
    np.testing.assert_array_equal(saved[0], saved[1])
    assert (saved[0] != saved[2]).any()


def test_json(hkc: Run) -> None:
    code, out, _ = hkc(
        "run", "scale.tile", "-D", "M=9", "-D", "N=9", "-D", "alpha=1", "--json", "--check", "--sanitize", "--report"
    )
    found = json.loads(out)
    assert code == 0
    assert (found["kernel"], found["device"], found["grid"]) == ("scale", "emulator", [1, 1, 1])
    assert found["sizes"] == {"M": 9, "N": 9, "alpha": 1.0}
    assert [(c["name"], c["passed"]) for c in found["check"]] == [("Y", True)]
    assert found["sanitizer"] == []
    assert found["report"]["cached"] is False
    assert found["report"]["resources"]["name"] == "scale"


@pytest.mark.parametrize("arch", ARCHES)
def test_sanitize_finds_nothing_in_a_correct_kernel(hkc: Run, arch: str) -> None:
    code, out, _ = hkc("run", "gemm.tile", "--arch", arch, "-D", "M=70", "-D", "N=70", "-D", "K=130", "--sanitize")
    assert (code, out.splitlines()[-1]) == (0, "sanitizer: no reports")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "kernel scale needs a value of its argument alpha"),
        (["-D", "alpha=1"], "kernel scale needs the sizes M, N"),
        (["-D", "alpha=x", "-D", "M=1", "-D", "N=1"], "-D alpha=x: not a number"),
        (["-D", "alpha=1", "-D", "M=1.5", "-D", "N=1"], "-D M=1.5: not an integer"),
        (["-D", "alpha=1", "-D", "M=-1", "-D", "N=1"], "-D M: not a size"),
        (["-D", "alpha=1", "-D", "M=1", "-D", "N=1", "-D", "Q=2"], "kernel scale has nothing named Q"),
        (["-D", "alpha=1", "--input", "Z=x.npy"], "--input Z: kernel scale has no such array"),
        (["-D", "alpha=1", "--input", "X"], "--input X: not an assignment"),
        (["-D", "alpha=1", "--input", "X=none.npy"], "cannot read none.npy"),
        (["-D", "alpha=1", "--input", "X=scale.tile"], "scale.tile is not a .npy file"),
        (["-D", "alpha=1", "--input", "X=one.npy"], "--input X has another shape"),
        (["-D", "alpha=1", "-D", "M=4", "--input", "X=x.npy"], "--input X has another shape"),
        (["-D", "alpha=1", "--input", "X=text.npy"], "--input X: wrong element type"),
        (["-D", "alpha=1", "--input", "X=x.npy", "--output", "Y=no/y.npy"], "cannot write no/y.npy"),
        (["-D", "alpha=1", "--input", "X=x.npy", "--device", "abacus"], "unknown device 'abacus'"),
        (["-D", "alpha=1", "--input", "X=x.npy", "--arch", "gfx1"], "gfx942 or gfx950"),
        (["-D", "alpha=1", "-D", "M=2000000000", "-D", "N=2000000000"], "does not fit into memory"),
    ],
)
def test_bad_input_is_exit_2(hkc: Run, tmp_path: Path, arguments: list[str], message: str) -> None:
    np.save(tmp_path / "x.npy", np.zeros((3, 2), np.float32))
    np.save(tmp_path / "one.npy", np.zeros(3, np.float32))
    np.save(tmp_path / "text.npy", np.array([["a", "b"]]))
    code, out, err = hkc("run", "scale.tile", *arguments)
    assert code == 2
    assert message in err
    assert out == ""


@pytest.mark.parametrize("arch", ARCHES)
def test_calling_a_kernel_on_arrays(arch: str, tile_file: Path) -> None:
    scale = hk.load(tile_file)
    x = np.arange(600, dtype=np.float32).reshape(20, 30)
    y = np.zeros((20, 30), np.float32)
    scale(x, y, 0.5, device=f"emulator:{arch}")
    np.testing.assert_array_equal(y, x / 2)
    big = np.full((40, 60), -1, np.float32)
    scale(X=x[::-1, ::-1], Y=big[::2, ::2], alpha=2, BM=32, device=f"emulator:{arch}")
    np.testing.assert_array_equal(big[::2, ::2], 2 * x[::-1, ::-1])
    assert (big[1::2] == -1).all()
    assert (big[:, 1::2] == -1).all()
    scale(np.broadcast_to(x[0], (20, 30)), y, 1.0, device=f"emulator:{arch}")
    np.testing.assert_array_equal(y, np.broadcast_to(x[0], (20, 30)))
    scale(x[:0], y[:0], 3.0, device=f"emulator:{arch}")


def test_calling_with_torch_and_wrapped_bf16(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    gemm = hk.load(_file(tmp_path, "gemm.tile", GEMM))
    bf16 = DTYPES["bf16"]
    a, b = torch.randn(50, 48).bfloat16(), torch.randn(48, 40).bfloat16().t()
    c = torch.full((40, 50), float("nan")).t()
    gemm(a, b, c, device="emulator:gfx950")
    expected = a.double() @ b.double().t()
    assert torch.allclose(c.double(), expected, atol=1e-4)
    bits = [hk.array(encode(t.double().numpy(), bf16), bf16) for t in (a, b)]
    d = np.zeros((50, 40), np.float32)
    gemm(*bits, d, device="emulator:gfx950")
    np.testing.assert_array_equal(d, c.numpy())
    assert decode(bits[0].data, bf16).shape == (50, 48)


@pytest.mark.parametrize(
    ("arguments", "named", "message"),
    [
        (3, {}, "kernel scale needs its argument alpha"),
        (4, {}, None),
        (5, {}, "kernel scale takes 3 arguments"),
        (4, {"BQ": 1}, "kernel scale has no argument or constant BQ"),
        (4, {"alpha": 1}, "argument alpha of kernel scale is given twice"),
        (4, {"BM": "x"}, "BM"),
        (4, {"device": "emulator:gfx942", "arch": "gfx950"}, "the device is gfx942"),
    ],
)
def test_a_wrong_call_is_named(tile_file: Path, arguments: int, named: dict[str, object], message: str | None) -> None:
    scale = hk.load(tile_file)
    values = (np.zeros((2, 2), np.float32), np.zeros((2, 2), np.float32), 1.0, 1.0)[: arguments - 1]
    if message is None:
        scale(*values, device="emulator:gfx950")
        return
    with pytest.raises(hk.HkcError, match=message):
        scale(*values, **{"device": "emulator:gfx950", **named})


def test_emulate(hkc: Run, tmp_path: Path) -> None:
    _file(tmp_path, "add.ll", LLVM_IR)
    assert hkc("compile", "add.ll", "-o", "add.hsaco")[0] == 0
    np.save(tmp_path / "p.npy", np.arange(64, dtype=np.float32))
    code, out, _ = hkc(
        "emulate", "add.hsaco", "--arg", "buf:p.npy", "--arg", "f32:1.5", "--output", "0=q.npy", "--sanitize"
    )
    assert (code, out) == (0, "sanitizer: no reports\n")
    np.testing.assert_array_equal(np.load(tmp_path / "q.npy"), np.arange(64) + np.float32(1.5))
    code, out, _ = hkc("emulate", "add.hsaco", "--arg", "zeros:128", "--arg", "f32:1", "--sanitize")
    assert code == 1
    assert "add.tile:" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--kernel", "other"], "has no kernel other"),
        (["--grid", "0"], "--grid 0: not an extent"),
        (["--grid", "1,2,3,4"], "--grid 1,2,3,4: not an extent"),
        (["--arg", "buf:none.npy"], "cannot read none.npy"),
        (["--arg", "zeros:x"], "--arg zeros:x (argument 0): not a number of bytes"),
        (["--arg", "i32:99999999999"], "it does not fit 32 bits"),
        (["--arg", "f32:x"], "--arg f32:x (argument 0)"),
        (["--arg", "what:1"], "unknown kind of argument"),
        (["--arg", "null"], "takes 2 arguments"),
        (["--arg", "i32:1", "--arg", "f32:1"], "wrong value for argument 0"),
        (["--arg", "null", "--arg", "f32:1", "--output", "7=x.npy"], "--output 7=x.npy: not an assignment"),
        (["--arg", "zeros:256", "--arg", "f32:1", "--block", "128"], "at most 64"),
    ],
)
def test_emulate_bad_input(hkc: Run, tmp_path: Path, arguments: list[str], message: str) -> None:
    _file(tmp_path, "add.ll", LLVM_IR)
    assert hkc("compile", "add.ll", "-o", "add.hsaco")[0] == 0
    code, _, err = hkc("emulate", "add.hsaco", *arguments)
    assert code == 2
    assert message in err


def test_emulate_what_is_no_code_object(hkc: Run) -> None:
    assert hkc("emulate", "scale.tile")[0] == 2
    assert hkc("emulate", "none.hsaco")[0] == 2


@pytest.mark.parametrize("arch", ARCHES)
def test_a_kernel_in_place_is_checked_against_its_inputs(hkc: Run, tmp_path: Path, arch: str) -> None:
    _file(
        tmp_path,
        "square.tile",
        "kernel square(X: view[M, N, bf16]) grid (cdiv(M, 16)) {\n"
        "    i = block(0) * 16\n"
        "    X[i : i + 16, 0 : 64] = X[i : i + 16, 0 : 64] * X[i : i + 16, 0 : 64]\n"
        "}\n",
    )
    code, out, _ = hkc("run", "square.tile", "--arch", arch, "-D", "M=33", "-D", "N=40", "--check")
    assert (code, out.endswith("PASS\n")) == (0, True)
    assert hkc("run", "square.tile", "-D", "M=0", "-D", "N=40", "--check")[0] == 0


def test_a_dump_with_tiles_can_be_run_and_checked(hkc: Run, tmp_path: Path) -> None:
    def dumped(step: str) -> str:
        [file] = (tmp_path / "dump").glob(f"[0-9][0-9]_{step}.mlir")
        return str(file)

    sizes = ("-D", "M=70", "-D", "N=70", "-D", "K=70")
    assert hkc("compile", "gemm.tile", "-o", "gemm.hsaco", "--dump-ir", "dump")[0] == 0
    for step in ("tile", "assign-wave-roles", "insert-fences"):
        code, out, _ = hkc("run", dumped(step), *sizes, "--check")
        assert (code, out.endswith("PASS\n")) == (0, True), step
    code, _, err = hkc("run", dumped("map-mfma"), *sizes, "--check")
    assert (code, "before map-mfma" in err) == (2, True)
    code, _, err = hkc("run", dumped("lower-to-rocdl"), *sizes)
    assert (code, "below the tile program" in err) == (2, True)


def test_a_device_of_another_target_is_refused(hkc: Run) -> None:
    sizes = ("-D", "M=4", "-D", "N=4", "-D", "alpha=1")
    assert "on gfx942 emulator" in hkc("run", "scale.tile", *sizes, "--device", "emulator:gfx942")[1]
    code, _, err = hkc("run", "scale.tile", *sizes, "--device", "emulator:gfx942", "--arch", "gfx950")
    assert (code, "the device is gfx942" in err) == (2, True)


@pytest.mark.parametrize(
    ("sizes", "tile"),
    [((16, 200, 70), "16x64"), ((100, 16, 70), "64x16"), ((100, 130, 33), "64x64"), ((512, 600, 8), "128x128")],
)
def test_gemm_picks_its_tile_by_size(hkc: Run, sizes: tuple[int, int, int], tile: str) -> None:
    gemm = str(Path(__file__).parents[2] / "examples" / "01_gemm.tile")
    given = [f"-D{name}={size}" for name, size in zip("MNK", sizes, strict=True)]
    code, out, err = hkc("run", gemm, *given, "--check", "--json")
    assert (code, err) == (0, "")
    m, n = (int(extent) for extent in tile.split("x"))
    assert json.loads(out)["grid"] == [-(-sizes[0] // m), -(-sizes[1] // n), 1]


PIPELINE = """kernel halves(X: view[M, 64, f32], T: view[M, 64, f32], f: f32; BM = 16) grid (cdiv(M, BM))
{
    m = block(0) * BM
    T[m : m + BM, 0 : 64] = X[m : m + BM, 0 : 64] * f
}
kernel squares(T: view[M, 64, f32], Y: view[M, 64, f32]; BN = 32) grid (cdiv(M, BN))
{
    m = block(0) * BN
    t = T[m : m + BN, 0 : 64]
    Y[m : m + BN, 0 : 64] = t * t
}
"""


def test_kernels_of_a_file_run_in_order_on_shared_arrays(hkc: Run, tmp_path: Path) -> None:
    file = _file(tmp_path, "pipeline.tile", PIPELINE)
    x = np.random.default_rng(0).standard_normal((40, 64)).astype(np.float32)
    np.save(tmp_path / "x.npy", x)
    given = ["-D", "f=0.5", "-D", "BN=16", "--input", f"X={tmp_path / 'x.npy'}", "--output", f"Y={tmp_path / 'y.npy'}"]
    code, out, err = hkc("run", file, *given, "--check", "--sanitize")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0].startswith("halves M=40 f=0.5 on")
    assert lines[1].startswith("squares M=40 f=0.5 on")
    assert [line.split(":")[0] for line in lines[-2:]] == ["T", "Y"]
    np.testing.assert_array_equal(np.load(tmp_path / "y.npy"), (x * np.float32(0.5)) ** 2)
    code, out, _ = hkc("run", file, *given, "--json", "--check", "--dump-ir", str(tmp_path / "d"))
    found = json.loads(out)
    assert [(k["kernel"], k["grid"]) for k in found["kernels"]] == [("halves", [3, 1, 1]), ("squares", [3, 1, 1])]
    assert sorted(p.name for p in (tmp_path / "d").iterdir()) == ["halves", "squares"]


def test_sizes_that_one_kernel_tells_are_known_to_all(hkc: Run, tmp_path: Path) -> None:
    """The second kernel has no array that was given, and a default that depends on its size."""
    text = PIPELINE.replace("BN = 32", "BN = 16 if M < 64 else 128")
    file = _file(tmp_path, "pipeline.tile", text)
    np.save(tmp_path / "x.npy", np.ones((40, 64), np.float32))
    code, out, _ = hkc("run", file, "-D", "f=2", "--input", f"X={tmp_path / 'x.npy'}", "--check", "--json")
    assert code == 0
    assert [k["grid"][0] for k in json.loads(out)["kernels"]] == [3, 3]


def test_one_kernel_of_a_file_runs_by_name(hkc: Run, tmp_path: Path) -> None:
    file = _file(tmp_path, "pipeline.tile", PIPELINE)
    code, out, err = hkc("run", f"{file}:squares", "-D", "M=5", "--check")
    assert (code, err) == (0, "")
    assert out.splitlines()[0].startswith("squares M=5 on")


@pytest.mark.parametrize(
    ("change", "given", "messages"),
    [
        (
            ("T: view[M, 64, f32], Y", "T: view[N, 64, f32], Y"),
            [],
            ["share T by name", "view[N, 64, f32]", "FILE:kernel"],
        ),
        (("", ""), ["-D", "Q=3", "-D", "f=1"], ["kernel halves, squares has nothing named Q", "M, f, BM, BN"]),
        (("", ""), [], ["kernel halves, squares needs a value of its argument f"]),
        (("", ""), ["-D", "f=1"], ["kernel halves, squares needs the size M"]),
        (("", ""), ["-D", "f=1", "-D", "M=3", "--input", "Z=z.npy"], ["z.npy"]),
    ],
)
def test_pipelines_say_what_is_wrong(
    hkc: Run, tmp_path: Path, change: tuple[str, str], given: list[str], messages: list[str]
) -> None:
    file = _file(tmp_path, "pipeline.tile", PIPELINE.replace(*change) if change[0] else PIPELINE)
    code, _, err = hkc("run", file, *given)
    assert code == 2
    assert all(message in err for message in messages), err
