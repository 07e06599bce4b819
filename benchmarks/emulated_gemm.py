"""A bf16 GEMM of 1024 x 1024 x 1024 on the emulated device (fast mode), beside NumPy's float32 matmul."""

from __future__ import annotations

import os
from collections.abc import Callable
from time import perf_counter

import numpy as np

import hkc as hk
from benchmarks import GEMM
from hkc.numerics import encode

_SIZE = 1024
_RUNS = 3


def _best(work: Callable[[], object]) -> float:
    seconds = []
    for _ in range(_RUNS):
        start = perf_counter()
        work()
        seconds.append(perf_counter() - start)
    return min(seconds)


def run() -> None:
    """Print the best of a few runs of each, after one that compiles."""
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal((_SIZE, _SIZE), np.float32) for _ in range(2))
    bits = [hk.array(encode(x.astype(np.float64), hk.bf16), hk.bf16) for x in (a, b)]
    out = hk.array(np.zeros((_SIZE, _SIZE), np.uint16), hk.bf16)
    gemm = hk.load(GEMM)
    matmul = _best(lambda: a @ b.T)
    operations = 2 * _SIZE**3
    print(f"GEMM of {_SIZE} x {_SIZE} x {_SIZE} on {os.cpu_count()} cores, best of {_RUNS}:")
    print(f"  NumPy float32          {matmul:8.3f} s  {operations / matmul / 1e9:8.1f} GFLOP/s")
    for arch in ("gfx942", "gfx950"):
        device = f"emulator:{arch}"
        gemm(*bits, out, device=device)
        emulated = _best(lambda device=device: gemm(*bits, out, device=device))  # type: ignore[misc]
        rate = operations / emulated / 1e9
        print(f"  emulated {arch} bf16   {emulated:8.3f} s  {rate:8.1f} GFLOP/s   {emulated / matmul:.0f} x NumPy")
