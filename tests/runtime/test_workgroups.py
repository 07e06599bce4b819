"""How workgroups are spread over threads: each runs once, in bounded memory, with the same bits on every processor."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from hkc.runtime import Device, open_device

DATA = Path(__file__).parent / "data"
FOREIGN = Path(__file__).parent.parent / "foreign" / "data" / "triton"


@pytest.fixture
def threaded(device: Device) -> Iterator[Device]:
    yield device
    device.set_threads(0)


@pytest.mark.parametrize("threads", [1, 2, 3, 7])
@pytest.mark.parametrize("groups", [1, 5, 64, 4097])
def test_each_workgroup_runs_once(threaded: Device, code: bytes, threads: int, groups: int) -> None:
    """`add` in place: an item that ran twice, or never, is off by its addend."""
    n = 64 * groups
    start, step = np.arange(n, dtype=np.float32), np.arange(1, n + 1, dtype=np.float32)
    threaded.set_threads(threads)
    with threaded.load(code) as module, threaded.alloc(4 * n) as x, threaded.alloc(4 * n) as y:
        x.write(start)
        y.write(step)
        module.function("add").launch(groups, 64, [x, y, x, n])
        assert np.array_equal(x.read(np.float32), start + step)
        assert threaded.counters()["global_stores"] == groups


MANY = """
import resource, sys
from pathlib import Path
from hkc.runtime import open_device
device = open_device("emulator:gfx942")
with device.load(Path(sys.argv[1]).read_bytes()) as module, device.alloc(4096) as x:
    peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    run = lambda groups: module.function("add").launch(groups, 64, [x, x, x, 0])
    run(1000)
    before = peak()
    run(1 << 20)
    print(peak() - before)
"""


def test_a_million_workgroups_take_no_more_memory_than_a_thousand() -> None:
    code = str(DATA / "device.gfx942.hsaco")
    done = subprocess.run([sys.executable, "-c", MANY, code], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 1024, "KiB more than for the first thousand"


VARIANT = """
import hashlib, json, sys
from pathlib import Path
import numpy as np
from hkc.runtime import open_device
folder = Path(sys.argv[1])
digest = hashlib.sha256()
rng = np.random.default_rng(7)
for name in ("gemm_bf16_tn", "gemm_f16", "gemm_fp8"):
    info = json.loads((folder / f"{name}.gfx950.json").read_text())
    device = open_device("emulator:gfx950")
    values = {"M": 144, "N": 144, "K": 80, "sam": 80, "sbn": 80, "sbk": 144, "scm": 144}
    buffers = {"A": device.alloc(144 * 80 * 2), "B": device.alloc(144 * 80 * 2), "C": device.alloc(144 * 144 * 4)}
    for buffer in buffers.values():
        buffer.write(rng.integers(0, 256, buffer.nbytes).astype(np.uint8))  # every exponent, inf and nan too
    grid = -(-144 // int(info["consts"]["BM"])) * -(-144 // int(info["consts"]["BN"]))
    args = [(buffers | values)[name] for name, kind in info["sig"].items() if kind != "constexpr"]
    with device.load((folder / f"{name}.gfx950.hsaco").read_bytes()) as module:
        module.function(info["kernel"]).launch(grid, 64 * info["num_warps"], [*args, None, None], info["shared"])
    digest.update(buffers["C"].read().tobytes())
print(json.dumps([device._library.vector_variant(), digest.hexdigest()]))
"""


def run_variant(name: str) -> list[str]:
    environment = os.environ | {"HKC_EMULATOR_VECTOR": name}
    command = [sys.executable, "-c", VARIANT, str(FOREIGN)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def test_every_set_of_vector_instructions_gives_the_same_bits() -> None:
    best, expected = run_variant("")
    tried = {best}
    for name in ("base", "avx2", "avx512"):
        ran, digest = run_variant(name)
        assert digest == expected, f"{ran} differs from {best}"
        tried.add(ran)
    flags = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    assert "base" in tried
    assert ("avx2" in tried) >= (" avx2 " in flags and " fma " in flags and " f16c " in flags)
    assert ("avx512" in tried) >= (" avx512vl " in flags and " avx512bw " in flags and " avx512dq " in flags)
    assert hashlib.sha256().hexdigest() != expected


def test_one_thread_is_deterministic(code: bytes, arch: str) -> None:
    """With one thread, even what depends on the order of workgroups and on clocks is the same every time."""
    device = open_device(f"emulator:{arch}")
    device.set_threads(1)
    try:
        results = []
        for _ in range(2):
            with device.load(code) as module, device.alloc(4) as out:
                for _ in range(3):
                    module.function("count").launch(50, 1, [out])
                results.append(int(out.read(np.int32)[0]))
        assert results == [7 + 150, 7 + 150]
    finally:
        device.set_threads(0)
