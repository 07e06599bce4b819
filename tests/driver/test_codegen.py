"""The code generation worker: bytes, determinism, and what its errors and death become."""

from __future__ import annotations

import os
import re
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from hkc.driver.codegen import Generated, Pool
from hkc.errors import HkcError, InternalError

from .conftest import LLVM_IR

# No AMDGPU instruction selects a pointer to a device function in this form: LLVM stops with a fatal error.
FATAL_IR = LLVM_IR.replace(
    "fadd float %v, %x", "call float @llvm.amdgcn.interp.inreg.p10(float %v, float %x, float %v)"
)
FATAL_IR += "declare float @llvm.amdgcn.interp.inreg.p10(float, float, float)\n"


@pytest.fixture
def pool() -> Iterator[Pool]:
    pool = Pool()
    yield pool
    pool.close()


def test_gives_object_assembly_and_times(pool: Pool) -> None:
    made = pool.generate(LLVM_IR, "gfx950")
    assert made.object.startswith(b"\x7fELF")
    assert made.assembly is not None
    assert "v_add_f32" in made.assembly
    assert "add_one" in made.assembly
    assert set(made.seconds) == {"optimize", "emit"}
    assert all(seconds > 0 for seconds in made.seconds.values())


def test_the_same_ir_gives_the_same_bytes(pool: Pool) -> None:
    first = pool.generate(LLVM_IR, "gfx950")
    other = pool.generate(LLVM_IR.replace("fadd", "fmul"), "gfx950")
    again = pool.generate(LLVM_IR, "gfx950")
    fresh = Pool()
    elsewhere = fresh.generate(LLVM_IR, "gfx950")
    fresh.close()
    assert first.object == again.object == elsewhere.object
    assert first.assembly == again.assembly == elsewhere.assembly
    assert other.object != first.object


def test_line_tables_survive(pool: Pool) -> None:
    assembly = pool.generate(LLVM_IR, "gfx950").assembly
    assert assembly is not None
    assert re.search(r'\.file\s+\d.*"add\.tile"', assembly)
    assert re.search(r"\.loc\s+\d+ 4 9", assembly)


def test_the_object_alone(pool: Pool) -> None:
    made = pool.generate(LLVM_IR, "gfx950", assembly=False)
    assert made.assembly is None
    assert made.object == pool.generate(LLVM_IR, "gfx950").object


def test_one_process_serves_many_compiles(pool: Pool) -> None:
    pool.prestart()
    (worker,) = pool._idle
    for _ in range(3):
        pool.generate(LLVM_IR, "gfx950")
    assert pool._idle == [worker]


def test_threads_compile_side_by_side(pool: Pool) -> None:
    made: list[Generated] = []
    threads = [threading.Thread(target=lambda: made.append(pool.generate(LLVM_IR, "gfx950"))) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 3
    assert len({m.object for m in made}) == 1


def test_a_killed_worker_is_replaced(pool: Pool) -> None:
    pool.prestart()
    os.kill(pool._idle[0].pid, signal.SIGKILL)
    pool._idle[0]._process.wait()
    assert pool.generate(LLVM_IR, "gfx950").object


def test_bad_ir_of_ours_is_an_internal_error_with_the_ir_saved(pool: Pool) -> None:
    with pytest.raises(InternalError, match="reading its own LLVM IR") as caught:
        pool.generate("define garbage", "gfx950")
    saved = _saved(caught.value)
    assert saved.read_text() == "define garbage"
    saved.unlink()
    assert pool.generate(LLVM_IR, "gfx950").object


def test_bad_ir_of_the_user_is_the_users_fault(pool: Pool) -> None:
    with pytest.raises(HkcError, match=r"mine\.ll: not valid LLVM IR") as caught:
        pool.generate("define garbage", "gfx950", source="mine.ll")
    assert caught.value.exit_code == 2


def test_a_fatal_error_of_llvm_does_not_end_this_process(pool: Pool) -> None:
    with pytest.raises(InternalError, match="LLVM stopped while generating code") as caught:
        pool.generate(FATAL_IR, "gfx950")
    assert caught.value.exit_code == 3
    assert "the process ended with" in str(caught.value)
    assert re.search("LLVM ERROR|error:", str(caught.value))
    saved = _saved(caught.value)
    assert saved.read_text() == FATAL_IR
    saved.unlink()
    assert pool.generate(LLVM_IR, "gfx950").object


def test_a_fatal_error_in_the_users_ir_is_the_users_fault(pool: Pool) -> None:
    with pytest.raises(HkcError, match=r"mine\.ll: LLVM can't generate code for it") as caught:
        pool.generate(FATAL_IR, "gfx950", source="mine.ll")
    assert caught.value.exit_code == 2


def _saved(error: InternalError) -> Path:
    match = re.search(r"the LLVM IR is in (\S+)", str(error))
    assert match is not None
    return Path(match[1])
