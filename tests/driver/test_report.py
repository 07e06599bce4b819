"""The main loop's mix, the floor, occupancy and limits."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from hkc.driver.assembly import main_loop
from hkc.driver.lds_tile import LdsAccess, LdsTile
from hkc.driver.remark import Remark
from hkc.driver.report import Resources, check_limits, check_spills, find_warnings, make_report, occupancy
from hkc.driver.workload import Workload
from hkc.errors import HkcError
from hkc.targets import get_target

ASSEMBLY = """\
	.text
other:
	s_mov_b32 s0, 0
.LBB0_9:
	v_mfma_f32_16x16x32_bf16 v[0:3], v[4:7], v[8:11], v[0:3]
	v_mfma_f32_16x16x32_bf16 v[0:3], v[4:7], v[8:11], v[0:3]
	v_mfma_f32_16x16x32_bf16 v[0:3], v[4:7], v[8:11], v[0:3]
	s_cbranch_scc1 .LBB0_9
.Lfunc_end0:
gemm:                                   ; @gemm
	s_load_dwordx2 s[0:1], s[2:3], 0x0
.LBB1_1:                                ; =>This Loop Header: Depth=1
	s_add_i32 s4, s4, 1
.LBB1_2:                                ;   Parent Loop
	ds_read_b128 v[4:7], v20
	buffer_load_dwordx4 v20, s[4:7], 0 offen lds
	buffer_load_dwordx4 v[8:11], v20, s[4:7], 0 offen
	s_waitcnt vmcnt(0)
	s_barrier
	v_mfma_f32_16x16x32_bf16 v[0:3], v[4:7], v[8:11], v[0:3]
	v_mfma_f32_16x16x32_bf16 v[0:3], v[4:7], v[8:11], v[0:3]
	v_add_u32_e32 v20, 16, v20
	s_cbranch_scc1 .LBB1_2
	s_cbranch_scc0 .LBB1_1
.LBB1_3:                                ; the masked form of the loop
	v_mfma_f32_16x16x32_bf16 v[0:3], v[4:7], v[8:11], v[0:3]
	v_mfma_f32_16x16x32_bf16 v[0:3], v[4:7], v[8:11], v[0:3]
	global_load_ushort v1, v[2:3], off
	v_cndmask_b32_e32 v1, v2, v3, vcc
	v_cndmask_b32_e32 v1, v2, v3, vcc
	v_cndmask_b32_e32 v1, v2, v3, vcc
	v_cndmask_b32_e32 v1, v2, v3, vcc
	v_cndmask_b32_e32 v1, v2, v3, vcc
	v_cndmask_b32_e32 v1, v2, v3, vcc
	s_cbranch_scc1 .LBB1_3
	s_endpgm
.Lfunc_end1:
"""
USED = Resources("gemm", 128, 0, 40, 0, 0, 0, 65536, 256)


def test_main_loop_is_the_kernels_innermost_with_most_mfma() -> None:
    mix = main_loop(ASSEMBLY, "gemm")
    assert mix is not None
    assert mix.mfma_shape == (16, 16, 32)
    assert mix.kinds == {
        "MFMA": 2,
        "LDS reads": 1,
        "loads to LDS": 1,
        "global loads": 1,
        "waits": 1,
        "barriers": 1,
        "branches": 1,
        "vector": 1,
    }
    assert mix.instructions == sum(mix.kinds.values())


def test_of_all_functions_the_one_with_most() -> None:
    mix = main_loop(ASSEMBLY)
    assert mix is not None
    assert mix.kinds["MFMA"] == 3


def test_no_loop() -> None:
    assert main_loop("gemm:\n\ts_endpgm\n", "gemm") is None


def test_floor_counts_steps_by_mfma() -> None:
    # 128x128x64 on 2x2 waves: a wave has 64x64x64, 32 MFMA of 16x16x32; it reads (64 + 64) x 64 x 2 bytes a
    # step, 1024 bytes an instruction; the workgroup loads (128 + 128) x 64 x 2 bytes with 4 waves.
    workload = Workload(((128, 128, 64),), 2, (2, 2))
    mix = main_loop(ASSEMBLY, "gemm")
    assert mix is not None
    two_steps = replace(mix, kinds={"MFMA": 64, "loads to LDS": 16})
    assert workload.floor(two_steps) == {"MFMA": 64, "LDS reads": 32, "loads": 16}
    staged = replace(mix, kinds={"MFMA": 32, "LDS writes": 8})
    assert workload.floor(staged) == {"MFMA": 32, "LDS reads": 16, "loads": 8, "LDS writes": 8}
    assert replace(workload, waves=None).floor(mix) is None


@pytest.mark.parametrize(
    ("vgprs", "lds", "workgroup", "waves", "limit"),
    [
        (64, 0, 256, 8, "the waves a SIMD holds"),
        (65, 0, 256, 7, "registers"),  # 72 a lane: 7 fit
        (128, 0, 512, 4, "registers"),
        (129, 0, 512, 2, "registers"),  # 136: 3 waves a SIMD, but a workgroup brings 2 to each
        (512, 0, 256, 1, "registers"),
        (64, 65536, 256, 2, "LDS"),
        (64, 15360, 64, 2.5, "LDS"),
        (64, 15361, 64, 2.25, "LDS"),  # LDS is handed out by 1280 bytes: 9 workgroups
        (8, 0, 64, 8, "the waves a SIMD holds"),
        (0, 0, 1, 8, "the waves a SIMD holds"),
    ],
)
def test_occupancy_on_gfx950(vgprs: int, lds: int, workgroup: int, waves: float, limit: str) -> None:
    found = occupancy(get_target("gfx950"), replace(USED, vgprs=vgprs, lds=lds, workgroup=workgroup))
    assert (found.waves, found.limit) == (waves, limit)


def test_report_text_and_json() -> None:
    workload = Workload(((16, 16, 32),), 2, (1, 1), (("acc", "16x16 f32 tile", 1024),))
    report = make_report("gfx950", USED, ASSEMBLY, workload, {"optimize": 0.25})
    text = report.text()
    assert "128 VGPR, 0 AGPR, 40 SGPR" in text
    assert "65536 of 163840 bytes" in text
    assert "2 waves a SIMD, limited by LDS" in text
    assert "9 instructions: 2 MFMA, 1 LDS reads" in text
    assert "250 ms: optimize 250" in text
    assert json.loads(json.dumps(report.to_json()))["occupancy"] == {"waves": 2.0, "limit": "LDS"}


def test_spills_are_warnings_that_name_the_costly_tiles() -> None:
    workload = Workload(tiles=(("acc", "16x16 f32 tile", 1024),))
    first, second = find_warnings(replace(USED, vgpr_spills=3, scratch=12), workload)
    assert "3 VGPRs and 0 SGPRs are spilled" in first
    assert "acc (16x16 f32 tile" in second
    assert find_warnings(USED, workload) == []


REMARKS = (Remark("schedule uniform; 300 registers a lane (256 for accumulators) of 256", "f.tile", 3, 5),)


@pytest.mark.parametrize("change", [{"vgpr_spills": 3, "scratch": 12}, {"scratch": 8}])
def test_spilled_vector_registers_are_an_error_with_the_plan(change: dict[str, int]) -> None:
    workload = Workload(tiles=(("acc", "256x256 f32 tile", 262144),))
    used = replace(USED, **change)
    with pytest.raises(HkcError, match="kernel gemm needs more registers than there are") as caught:
        check_spills(used, workload, REMARKS, None, lambda: "a tile of 128x256, or waves (4, 4)")
    error = caught.value
    assert (error.span.line if error.span else None) == 3
    assert error.hint == "a tile of 128x256, or waves (4, 4)"
    assert f"{used.scratch} bytes of scratch" in (error.got or "")
    assert error.notes[0][0].startswith("planned: schedule uniform; 300 registers a lane")
    assert "acc (256x256 f32 tile" in error.notes[1][0]


def test_what_may_be_spilled() -> None:
    workload = Workload()
    check_spills(replace(USED, sgpr_spills=4), workload, REMARKS, None, lambda: None)
    check_spills(replace(USED, vgpr_spills=4, scratch=16), None, (), None, lambda: None)  # the user's own LLVM IR


def test_remarks_are_in_text_and_json() -> None:
    report = make_report("gfx950", USED, ASSEMBLY, None, {}, REMARKS)
    assert "remark        f.tile:3:5: schedule uniform; 300 registers" in report.text()
    assert json.loads(json.dumps(report.to_json()))["remarks"][0]["line"] == 3


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"lds": 163841}, "over the LDS limit of gfx950"),
        ({"vgprs": 513}, "over the registers limit"),
        ({"workgroup": 1025}, "over the workgroup limit"),
    ],
)
def test_over_a_limit_is_an_error_that_names_the_tiles(change: dict[str, int], message: str) -> None:
    workload = Workload(tiles=(("acc", "256x256 f32 tile", 262144),))
    with pytest.raises(HkcError, match=message) as caught:
        check_limits(get_target("gfx950"), replace(USED, **change), workload)
    assert "acc (256x256 f32 tile" in str(caught.value)


def test_lds_tiles_are_named_with_their_conflicts() -> None:
    free = LdsAccess("read", 16, 8, 8)
    tiles = (
        LdsTile("a", "2 x 64x64 bf16", "blocks(128) turns()", (free,)),
        LdsTile("b", "2 x 64x16 bf16", "blocks(32) turns(2:1)", (free, LdsAccess("write", 8, 8, 4))),
    )
    report = replace(make_report("gfx942", USED, ASSEMBLY, None, {}), lds_tiles=tiles)
    lines = [line.split(None, 2)[2] for line in report.text().splitlines() if line.startswith("LDS tile")]
    assert lines == [
        "a: 2 x 64x64 bf16, blocks(128) turns(): no bank conflicts",
        "b: 2 x 64x16 bf16, blocks(32) turns(2:1): bank conflicts 2-way in writes of 8 bytes a lane",
    ]
    data = json.loads(json.dumps(report.to_json()))["lds_tiles"]
    assert [tile["ways"] for tile in data] == [1, 2]
    assert [LdsTile.from_json({k: v for k, v in tile.items() if k != "ways"}) for tile in data] == list(tiles)
