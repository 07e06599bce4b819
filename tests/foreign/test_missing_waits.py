"""Machine code with a wait or barrier missing: checked mode says so whenever it can matter.

Each wait and barrier of the matrix and attention kernels, foreign and hkc's own, is weakened alone (mutations.py). What
is not reported must fall under one of that module's rules.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import hkc as hk
from hkc.runtime import Device, open_device

from ..examples.conftest import load_example
from ..formats import BF16, E2M1, E2M3, E3M2, E4M3, E5M2, F16
from . import test_clang_matrix as clang_matrix
from . import test_triton as triton
from .conftest import Runner
from .mutations import Experiment, Mutation, mutations, recorded, smaller_mutations, survey

Work = Callable[[Device], object]
BOTH = ("gfx942", "gfx950")
CASES: dict[str, tuple[Work, tuple[str, ...]]] = {}


def case(name: str, work: Work, archs: tuple[str, ...] = BOTH) -> None:
    CASES[name] = work, archs


def every(test: Callable[..., None], *calls: tuple[Any, ...]) -> Work:
    return lambda device: [test(device, *call) for call in calls]


# What hkc's GEMMs are launched with: M, N, K and how much further the rows are apart. Odd pitches send all of K through
# the loop for what is not aligned.
OWN_SIZES = [
    (64, 64, 32, 0),
    (70, 72, 192, 0),
    (64, 64, 166, 0),
    (64, 64, 192, 1),
    (64, 130, 193, 1),
    (33, 65, 70, 0),
    (8, 8, 0, 8),
]

# No, one and several steps of K, ragged and whole tiles.
SIZES = [(32, 32, 0), (144, 48, 80), (16, 144, 336), (48, 16, 16), (32, 48, 32), (128, 128, 128), (256, 256, 640)]
for name in ("gemm_bf16_nn", "gemm_bf16_tn", "gemm_bf16_pp", "gemm_f16", "gemm_fp8"):
    case(f"triton {name}", every(triton.test_gemm, *((name, *size) for size in SIZES)))
case("triton mx_fp8", every(triton.test_mx_gemm, *((128, 128, k, 2) for k in (128, 256, 384, 768))))
case("triton fa_f16_64", every(triton.test_attention, (1, 16), (1, 80), (1, 128), (1, 400)))

DEPTHS = (1, 2, 5)


def floating(file: str, kernel: str, fmt: Any, m: int, n: int, k: int, tile: int) -> Work:
    return every(clang_matrix.check_float, *((file, kernel, fmt, (m, n, d * k), tile) for d in DEPTHS))


def sized(test: Callable[..., None], m: int, n: int, k: int, *rest: Any) -> Work:
    return every(test, *(((m, n, d * k), *rest) for d in DEPTHS))


case("clang gemm_bf16_32x32x8", floating("gemm", "gemm_bf16_32x32x8", BF16, 128, 128, 32, 128))
case("clang gemm_bf16_16x16x16", floating("gemm", "gemm_bf16_16x16x16", BF16, 16, 32, 16, 16))
case("clang gemm_f16_16x16x16", floating("gemm", "gemm_f16_16x16x16", F16, 16, 32, 16, 16))
case("clang gemm_bf16_16x16x32", floating("g950", "gemm_bf16_16x16x32", BF16, 16, 32, 32, 16), ("gfx950",))
case("clang gemm_f16_32x32x16", floating("g950", "gemm_f16_32x32x16", F16, 32, 64, 16, 32), ("gfx950",))
case("clang gemm_fp8_32", sized(clang_matrix.test_fp8_32x32x16, 32, 64, 16))
case("clang gemm_fp8", sized(clang_matrix.test_fp8_and_bf8_16x16x32, 16, 32, 32))
case("clang gemm_f32", sized(clang_matrix.test_f32, 32, 64, 2))
case("clang gemm_xf32", sized(clang_matrix.test_xf32, 16, 32, 8, True), ("gfx942",))
case("clang gemm_f64", sized(clang_matrix.test_f64, 16, 32, 4))
case("clang gemm_i8", sized(clang_matrix.test_i8_16x16x32, 16, 32, 32))
case("clang gemm_i8_64", every(clang_matrix.test_i8_16x16x64, (64,), (128,), (320,)), ("gfx950",))
for name, left, right in [
    ("mx_fp8", E4M3, E4M3),
    ("mx_bf8", E5M2, E5M2),
    ("mx_fp6", E2M3, E2M3),
    ("mx_bf6", E3M2, E3M2),
    ("mx_fp4", E2M1, E2M1),
    ("mx_fp4_fp8", E2M1, E4M3),
]:
    calls = [(name, left, right, k) for k in (128, 256, 640)]
    case(f"clang {name}", every(clang_matrix.test_scaled, *calls), ("gfx950",))
case("clang mx32_fp4", every(clang_matrix.test_f8f6f4_32x32x64, (64,), (128,), (320,)), ("gfx950",))


def own(example: str, kernel: str, **settings: Any) -> Work:
    """One of hkc's GEMMs: aligned and not, one tile and several, K of no, one and several steps and a rest."""

    def work(device: Device) -> None:
        compiled = getattr(load_example(example), kernel).compile(arch=device.arch, DTYPE=hk.f16, **settings)
        random = np.random.default_rng(0)
        transposed = settings.get("TRANS", "nt")[1] == "t"
        for m, n, k, pad in OWN_SIZES:
            a = random.standard_normal((m, k + pad)).astype(np.float16)
            rows, columns = (n, k) if transposed else (k, n)
            b = random.standard_normal((rows, columns + pad)).astype(np.float16)
            c = np.zeros((m, n), np.float16)
            run = Runner(device, compiled.hsaco, kernel)
            views = [a, m, k, k + pad, 1, b, rows, columns, columns + pad, 1, c, m, n, n, 1]
            run((-(-m // 64), -(-n // 64)), compiled.resources.workgroup, *views)
            right = b[:, :columns].T if transposed else b[:, :columns]
            assert np.allclose(c, a[:, :k].astype(np.float32) @ right.astype(np.float32), atol=0.1, rtol=0.01)

    return work


for trans in ("nt", "nn"):
    for stages in (1, 2, 3):
        settings = {"BM": 64, "BN": 64, "BK": 32, "STAGES": stages, "TRANS": trans}
        case(f"hkc gemm {trans} {stages}", own("01_gemm", "gemm", **settings))
case("hkc gemm_by_hand", own("02_gemm_by_hand", "gemm_by_hand", BM=64, BN=64, BK=32))

ALL = [pytest.param(name, arch, id=f"{name} {arch}") for name, (_, archs) in CASES.items() for arch in archs]


def weaken(name: str, arch: str, mutants: Callable[[bytes, str], Iterator[Mutation]]) -> dict[str, list[str]]:
    """The verdicts over the mutants of a case; none may be missed or out of reach."""
    device = open_device(f"emulator:{arch}")
    with recorded() as launches:
        CASES[name][0](device)
    experiment = Experiment(device, launches)
    verdicts = survey(experiment, mutants(experiment.code, experiment.kernel))
    for verdict, which in verdicts.items():
        print(verdict, *which, sep="\n  ")
    assert not [verdict for verdict in verdicts if verdict.startswith("MISSED")]
    assert "not reached by the launches" not in verdicts
    return verdicts


@pytest.mark.parametrize(("name", "arch"), ALL)
def test_every_missing_wait_is_reported_or_shown_needless(name: str, arch: str) -> None:
    verdicts = weaken(name, arch, mutations)
    assert len(verdicts.get("reported", [])) >= 2


@pytest.mark.long
@pytest.mark.parametrize(("name", "arch"), ALL)
def test_waits_one_step_higher(name: str, arch: str) -> None:
    verdicts = weaken(name, arch, smaller_mutations)
    assert len(verdicts.get("reported", [])) >= 2
