"""The emulated device's speed: a bf16 GEMM of 4096 beside NumPy's float32 matmul, threads, checked mode."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from time import perf_counter, process_time
from typing import Any

import numpy as np

import hkc as hk
from benchmarks import GEMM
from hkc.numerics import encode
from hkc.runtime import Device, open_device

_ARCH = "gfx950"
_SIZE, _CHECKED_SIZE = 4096, 512
_KERNELS: Mapping[str, Mapping[str, Any]] = {
    "256x256 pingpong": {"BM": 256, "BN": 256, "SCHEDULE": "pingpong"},
    "128x128 uniform": {"BM": 128, "BN": 128, "SCHEDULE": "uniform"},
}
_MOST_NUMPY, _LEAST_SCALING, _MOST_CHECKED = 15.0, 1.8, 20.0  # the targets
# OpenBLAS chooses its kernel itself: these settings of the environment would hold it back.
_OPENBLAS_SETTINGS = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")
_NUMPY = f"""
import json, time
import numpy as np
a, b = np.random.default_rng(0).standard_normal((2, {_SIZE}, {_SIZE}), np.float32)
times = []
for _ in range(4):
    start = time.perf_counter()
    a @ b.T
    times.append(time.perf_counter() - start)
print(json.dumps(min(times[1:])))
"""


@dataclass(frozen=True)
class Run:
    """One launch: seconds of the call, of its threads on the processor, and the wave-instructions it executed."""

    seconds: float
    processor: float
    instructions: int


def numpy_seconds() -> float:
    """NumPy's float32 matmul in a process of its own, the best of three after one."""
    environment = {name: value for name, value in os.environ.items() if name not in _OPENBLAS_SETTINGS}
    done = subprocess.run([sys.executable, "-c", _NUMPY], env=environment, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def _case(size: int, constants: Mapping[str, Any]) -> Callable[[], None]:
    """The kernel on random matrices, compiled and loaded."""
    kernel = hk.load(GEMM)
    device = f"emulator:{_ARCH}"

    def arrays(size: int) -> list[Any]:
        rng = np.random.default_rng(0)
        inputs = [hk.array(encode(rng.standard_normal((size, size)), hk.bf16), hk.bf16) for _ in range(2)]
        return [*inputs, hk.array(np.zeros((size, size), np.uint16), hk.bf16)]

    kernel(*arrays(256), device=device, **constants)  # constants that do not depend on the size: this compiles
    return partial(kernel, *arrays(size), device=device, **constants)


def _measure(device: Device, work: Callable[[], None]) -> Run:
    device.counters()
    start, processor = perf_counter(), process_time()
    work()
    seconds, processor = perf_counter() - start, process_time() - processor
    return Run(seconds, processor, device.counters()["instructions"])


def _verdict(value: float, bound: float, *, most: bool) -> str:
    good = value <= bound if most else value >= bound
    return f"{value:6.2f}   target {'<=' if most else '>='} {bound:g}   {'met' if good else 'MISSED'}"


def _best(device: Device, work: Callable[[], None]) -> dict[int, Run]:
    """The faster of two runs on one thread, on two, and on all cores (0), taken in turn."""
    counts = (1, 2) if os.cpu_count() == 2 else (1, 2, 0)
    runs: dict[int, list[Run]] = {count: [] for count in counts}
    for threads in counts * 2:
        device.set_threads(threads)
        runs[threads].append(_measure(device, work))
    device.set_threads(0)
    best = {threads: min(done, key=lambda run: run.seconds) for threads, done in runs.items()}
    return best | {0: best[counts[-1]]}


def _against_numpy(device: Device, cores: int) -> None:
    matmul = numpy_seconds()
    operations = 2 * _SIZE**3
    print(f"GEMM of {_SIZE} x {_SIZE} x {_SIZE} on {cores} cores; bf16, copies to the device and back included:")
    print(f"  NumPy float32           {matmul:8.2f} s  {operations / matmul / 1e9:8.1f} GFLOP/s")
    for name, constants in _KERNELS.items():
        best = _best(device, _case(_SIZE, constants))
        run = best[0]
        print(f"  {_ARCH} {name:16} {run.seconds:8.2f} s  {operations / run.seconds / 1e9:8.1f} GFLOP/s")
        print(f"    wave-instructions     {run.instructions / run.seconds / 1e6:8.2f} million/s")
        print(f"    MFMA, one core        {operations / best[1].seconds / 1e9:8.1f} GFLOP/s")
        print(f"    time / NumPy's        {_verdict(run.seconds / matmul, _MOST_NUMPY, most=True)}")
        print(f"    1 thread / 2 threads  {_verdict(best[1].seconds / best[2].seconds, _LEAST_SCALING, most=False)}")


def _checked(device: Device) -> None:
    work = _case(_CHECKED_SIZE, {})
    work()
    fast = min(_measure(device, work).processor for _ in range(10))
    with device.sanitize():
        checked = min(_measure(device, work).processor for _ in range(3))
    assert not device.reports()
    ratio = _verdict(checked / fast, _MOST_CHECKED, most=True)
    print(f"GEMM of {_CHECKED_SIZE} x {_CHECKED_SIZE} x {_CHECKED_SIZE}, defaults, processor time of all threads:")
    print(f"  fast {fast:.3f} s   checked {checked:.3f} s   checked / fast: {ratio}")


def run() -> None:
    """Print each measurement beside its target."""
    device = open_device(f"emulator:{_ARCH}")
    print(f"vector instructions: {device.vector_variant}")
    _checked(device)
    _against_numpy(device, os.cpu_count() or 1)
