"""Every schedule with every stage count, target, transposition and type against a reference, in checked mode.

The whole product takes minutes (`make test-long`); the default tier draws a few sizes for a few of its cells.
"""

from __future__ import annotations

import pytest
import torch
from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st

import hkc as hk
from hkc.passes.schedules.choice import TRAITS
from hkc.runtime import open_device

from .conftest import load_example
from .test_gemm import reference

Three = tuple[int, int, int]

GEMM = load_example("01_gemm").gemm
ARCHS = ("gfx942", "gfx950")
TRANSPOSITIONS = ("nn", "nt", "tn", "tt")
TYPES = {"f16": (hk.f16, torch.float16, 10), "bf16": (hk.bf16, torch.bfloat16, 7)}
# All schedules take this tile; a depth of several K tiles, an odd number of them, and none are among the sizes.
TILE = {"BM": 64, "BN": 64, "BK": 32}
CELLS = [(name, stages) for name, traits in TRAITS.items() for stages in range(traits.stages[0], traits.stages[1] + 1)]

EXTENTS = st.one_of(st.integers(1, 40), st.sampled_from([63, 64, 65, 96, 128, 130]))
DEPTHS = st.one_of(st.integers(0, 40), st.sampled_from([63, 64, 65, 96, 97, 128, 160, 192, 250]))
SIZES = st.tuples(EXTENTS, EXTENTS, DEPTHS)
# Elements between the end of a row and the next: odd ones make rows that are not aligned.
PADS = st.sampled_from([0, 0, 0, 2, 1])


def operand(rows: int, columns: int, turned: bool, pad: int, dtype: torch.dtype) -> tuple[torch.Tensor, torch.Tensor]:
    """A matrix of values, and the array that holds it or its transpose, with NaN between its rows."""
    values = torch.randn(rows, columns).to(dtype)
    kept = values.T if turned else values
    whole = torch.full((kept.shape[0], kept.shape[1] + pad), float("nan"), dtype=dtype)
    view = whole[:, : kept.shape[1]]
    view.copy_(kept)
    return values, view


def check(
    arch: str,
    schedule: str,
    stages: int,
    trans: str,
    dtype: str,
    size: tuple[int, int, int],
    pads: tuple[int, int, int],
) -> None:
    """One launch in checked mode."""
    m, n, k = size
    torch.manual_seed(m * 1_000_003 + n * 1009 + k)
    tile_type, type_, bits = TYPES[dtype]
    left, a = operand(m, k, trans[0] == "t", pads[0], type_)
    right, b = operand(k, n, trans[1] == "t", pads[1], type_)
    whole = torch.full((m, n + pads[2]), float("nan"), dtype=type_)
    c = whole[:, :n]
    device = open_device(f"emulator:{arch}")
    with device.sanitize():
        options = {"SCHEDULE": schedule, "STAGES": stages, "TRANS": trans, "DTYPE": tile_type}
        GEMM(a, b, c, **TILE, **options, device=f"emulator:{arch}")
    assert device.reports() == []
    exact, bound = reference(left.double().numpy(), right.double().numpy(), bits)
    assert (abs(c.double().numpy() - exact) <= bound).all()
    assert bool(whole[:, n:].isnan().all()), "only C's elements are written"


def many(examples: int) -> settings:
    """So many sizes; a failing one is not shrunk, since each takes a launch or two."""
    return settings(
        max_examples=examples,
        deadline=None,
        phases=(Phase.explicit, Phase.generate),
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
    )


@pytest.mark.long
@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("trans", TRANSPOSITIONS)
@pytest.mark.parametrize(("schedule", "stages"), CELLS)
@many(40)
@given(size=SIZES, pads=st.tuples(PADS, PADS, PADS), dtype=st.sampled_from(sorted(TYPES)))
def test_whole_product(
    arch: str,
    trans: str,
    schedule: str,
    stages: int,
    size: tuple[int, int, int],
    pads: tuple[int, int, int],
    dtype: str,
) -> None:
    check(arch, schedule, stages, trans, dtype, size, pads)


# Each schedule, target and transposition twice at least.
SAMPLE = [
    (arch, schedule, stages, TRANSPOSITIONS[(index + at) % len(TRANSPOSITIONS)])
    for at, arch in enumerate(ARCHS)
    for index, (schedule, stages) in enumerate(CELLS)
]


@pytest.mark.parametrize(("arch", "schedule", "stages", "trans"), SAMPLE)
@many(2)
@given(size=SIZES, pads=st.tuples(PADS, PADS, PADS))
@example(size=(70, 65, 5 * 32 + 6), pads=(0, 0, 1))
@example(size=(64, 130, 3 * 32), pads=(2, 1, 0))
def test_sample(arch: str, schedule: str, stages: int, trans: str, size: Three, pads: Three) -> None:
    check(arch, schedule, stages, trans, "bf16", size, pads)


# Tiles of the decode and small problem kind, with what is chosen for them.
SMALL = [(128, 128), (64, 64), (32, 32), (16, 16), (16, 64), (16, 128), (64, 16), (128, 16)]


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("tile", SMALL)
def test_small_tiles_spill_nothing(arch: str, tile: tuple[int, int]) -> None:
    trans = TRANSPOSITIONS[SMALL.index(tile) % len(TRANSPOSITIONS)]
    resources = hk.compile(GEMM, arch=arch, BM=tile[0], BN=tile[1], TRANS=trans).report.resources
    assert (resources.vgpr_spills, resources.sgpr_spills, resources.scratch) == (0, 0, 0)


@pytest.mark.long
@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("dtype", [hk.bf16, hk.f16])
@pytest.mark.parametrize("trans", TRANSPOSITIONS)
@pytest.mark.parametrize("tile", [*SMALL, (256, 256), (64, 128), (16, 32), (32, 16)])
def test_tiles_spill_nothing(arch: str, tile: tuple[int, int], trans: str, dtype: hk.DType) -> None:
    resources = hk.compile(GEMM, arch=arch, BM=tile[0], BN=tile[1], TRANS=trans, DTYPE=dtype).report.resources
    assert (resources.vgpr_spills, resources.sgpr_spills, resources.scratch) == (0, 0, 0)


@pytest.mark.long
@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("trans", TRANSPOSITIONS)
@pytest.mark.parametrize("tile", [(128, 256), (256, 128)])
def test_other_tiles_use_no_scratch_or_say_what_does(arch: str, tile: tuple[int, int], trans: str) -> None:
    try:
        resources = hk.compile(GEMM, arch=arch, BM=tile[0], BN=tile[1], TRANS=trans).report.resources
    except hk.HkcError as error:
        assert "more registers than there are" in error.message and "a tile of" in (error.hint or "")
    else:
        assert (resources.vgpr_spills, resources.scratch) == (0, 0)
