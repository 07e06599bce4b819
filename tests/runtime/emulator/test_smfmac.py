"""Every sparse MFMA (SMFMAC) of both targets against numpy: which k an index names, layout, index sets, extremes.

CDNA3 ISA guide, 7.4, and CDNA4 ISA guide, 7.5: two of each four consecutive k of A are stored; two bits of index say
which each is. A lane's stored values are those of the k that it holds of B, in order.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from hkc.driver.compile import compile_llvm
from hkc.runtime import Module, open_device

from .mfma import BFLOAT, EIGHT_BITS, HALF, I8, Element, Mfma
from .test_mfma import accumulators, check

Array = npt.NDArray[Any]
WAVES = 6


@dataclass(frozen=True)
class Smfmac:
    """D = A B + D: ``stored`` says how a lane holds A, ``dense`` how it holds B and D."""

    intrinsic: str
    stored: Mfma
    dense: Mfma

    @property
    def per_lane(self) -> int:
        """Stored values of A in a lane."""
        return self.stored.K * self.stored.M // 64

    @property
    def sets(self) -> int:
        """Sets of indices that a dword holds."""
        return 32 // (2 * self.per_lane)


def _made(m: int, k: int, a: Element, b: Element, suffix: str) -> Smfmac:
    out = "i32" if a is I8 else "f32"
    shape = f"{out}.{m}x{m}x{k}.{suffix}"
    return Smfmac(shape, *(Mfma(f"v_smfmac_{shape}", m, m, depth, 1, a, b, "", "") for depth in (k // 2, k)))


def smfmacs(arch: str) -> list[Smfmac]:
    """All of a target."""
    halves, bytes_ = [(16, 32), (32, 16)], [(16, 64), (32, 32)]
    if arch == "gfx950":
        halves, bytes_ = [*halves, (16, 64), (32, 32)], [*bytes_, (16, 128), (32, 64)]
    made = [_made(m, k, e, e, e.name) for m, k in halves for e in (HALF, BFLOAT)]
    for m, k in bytes_:
        made.append(_made(m, k, I8, I8, "i8"))
        for a, left in EIGHT_BITS[arch].items():
            made += [_made(m, k, left, right, f"{a}.{b}") for b, right in EIGHT_BITS[arch].items()]
    return made


ALL = [pytest.param(arch, s, id=f"{arch}-{s.intrinsic}") for arch in ("gfx942", "gfx950") for s in smfmacs(arch)]


def _type(element: Element, dwords: int) -> str:
    if element is HALF:
        return f"<{2 * dwords} x half>"
    if element is BFLOAT:
        return f"<{2 * dwords} x bfloat>"
    return f"<{dwords} x i32>"


def _kernel(name: str, s: Smfmac, cbsz: int, abid: int) -> str:
    a, b, c = s.stored.dwords(s.stored.a), s.dense.dwords(s.dense.b), s.dense.result_dwords
    # The instructions of gfx940 take bf16 as bits.
    bits = s.dense.a is BFLOAT and s.intrinsic in ("f32.16x16x32.bf16", "f32.32x32x16.bf16")
    types = [f"<{2 * n} x i16>" if bits else _type(s.dense.a, n) for n in (a, b)]
    out = f"<{c} x {'i32' if s.dense.integer else 'float'}>"
    lines = [
        f'define amdgpu_kernel void @"{name}"(ptr addrspace(1) %pa, ptr addrspace(1) %pb, ptr addrspace(1) %pc,'
        " ptr addrspace(1) %pi, ptr addrspace(1) %pd) #0 {",
        "  %group = call i32 @llvm.amdgcn.workgroup.id.x()",
        "  %lane = call i32 @llvm.amdgcn.workitem.id.x()",
        "  %first = mul i32 %group, 64",
        "  %i = add i32 %first, %lane",
    ]
    for n, count in (("a", a), ("b", b), ("c", c), ("i", 1)):
        lines.append(f"  %q{n} = getelementptr [{count} x i32], ptr addrspace(1) %p{n}, i32 %i")
        lines.append(f"  %{n} = load <{count} x i32>, ptr addrspace(1) %q{n}, align 4" if n != "i" else "")
    lines += [
        "  %index = load i32, ptr addrspace(1) %qi, align 4",
        f"  %xa = bitcast <{a} x i32> %a to {types[0]}",
        f"  %xb = bitcast <{b} x i32> %b to {types[1]}",
        f"  %xc = bitcast <{c} x i32> %c to {out}",
        f"  %r = call {out} @llvm.amdgcn.smfmac.{s.intrinsic}({types[0]} %xa, {types[1]} %xb, {out} %xc, i32 %index,"
        f" i32 {cbsz}, i32 {abid})",
        f"  %d = bitcast {out} %r to <{c} x i32>",
        f"  %qd = getelementptr [{c} x i32], ptr addrspace(1) %pd, i32 %i",
        f"  store <{c} x i32> %d, ptr addrspace(1) %qd, align 4",
        "  ret void",
        "}",
        f"declare {out} @llvm.amdgcn.smfmac.{s.intrinsic}({types[0]}, {types[1]}, {out}, i32, i32 immarg, i32 immarg)",
    ]
    return "\n".join(lines)


@cache
def code(arch: str, intrinsic: str) -> Module:
    """An instruction with each cbsz and abid that name another set of indices."""
    [s] = [s for s in smfmacs(arch) if s.intrinsic == intrinsic]
    kernels = [_kernel(f"k.{cbsz}.{abid}", s, cbsz, abid) for cbsz, abid in _choices(s)]
    declared = kernels[0].rpartition("declare")[2]
    text = "\n".join(kernel.rpartition("declare")[0] for kernel in kernels) + f"declare{declared}\n"
    text += "declare i32 @llvm.amdgcn.workgroup.id.x()\ndeclare i32 @llvm.amdgcn.workitem.id.x()\n"
    text += 'attributes #0 = { "amdgpu-flat-work-group-size"="64,64" }\n'
    return open_device(f"emulator:{arch}").load(compile_llvm(text, arch, "smfmac.ll").hsaco)


def _choices(s: Smfmac) -> list[tuple[int, int]]:
    """cbsz 0: abid names the set; else the first is taken."""
    return [*((0, abid) for abid in range(s.sets)), (1, s.sets - 1)]


def pairs(rng: np.random.Generator, m: int, k: int) -> Array:
    """Two different places of each four."""
    orders = np.argsort(rng.random((WAVES, 1, m, k // 4, 4)), axis=-1)
    return np.sort(orders[..., :2], axis=-1).reshape(WAVES, 1, m, k // 2)


def expand(s: Smfmac, stored: Array, places: Array) -> Array:
    """A with all its k: (waves, 1, M, K) values of (waves, 1, M, K / 2) stored ones at ``places`` (0 to 3) of four."""
    waves, _, rows, count = stored.shape
    whole = np.zeros((waves, 1, rows, 2 * count), stored.dtype)
    quads = np.arange(count) // 2 * 4
    w, r = np.ogrid[:waves, :rows]
    for n in range(count):
        whole[w, 0, r, quads[n] + places[:, 0, :, n]] = stored[:, 0, :, n]
    return whole


def indices(s: Smfmac, places: Array, chosen: int, rng: np.random.Generator) -> Array:
    """The dword of each lane: two bits a stored value in the chosen set, anything in the others."""
    lane, item = s.stored.operand_place(s.stored.a)
    words = rng.integers(0, 2**32, (len(places), 64), np.uint64)
    fields = np.zeros((len(places), 64, s.per_lane), np.uint64)
    fields[:, lane[0], item[0]] = places[:, 0]
    width = 2 * s.per_lane
    value = sum(fields[:, :, n] << np.uint64(2 * n) for n in range(s.per_lane))
    mask = np.uint64(((1 << width) - 1) << (width * chosen))
    return (words & ~mask | (value << np.uint64(width * chosen)) & mask).astype(np.uint32)


def run(arch: str, s: Smfmac, choice: tuple[int, int], a: Array, b: Array, c: Array, index: Array) -> Array:
    module, registers = code(arch, s.intrinsic), s.dense.pack_result(c)
    inputs = (s.stored.pack(a, s.stored.a), s.dense.pack(b, s.dense.b), registers, index)
    buffers = [module.device.alloc(x.nbytes).write(x) for x in inputs]
    out = module.device.alloc(registers.nbytes)
    module.function(f"k.{choice[0]}.{choice[1]}").launch(len(a), 64, [*buffers, out])
    module.device.synchronize()
    return s.dense.unpack_result(out.read(np.uint32, registers.shape))


@pytest.mark.parametrize(("arch", "s"), ALL)
def test_each_set_of_indices(arch: str, s: Smfmac) -> None:
    rng = np.random.default_rng(0)
    m, k = s.dense.M, s.dense.K
    for choice in _choices(s):
        a, b = s.stored.a.usual(rng, (WAVES, 1, m, k // 2)), s.dense.b.usual(rng, (WAVES, 1, m, k))
        places = pairs(rng, m, k)
        c = accumulators(s.dense, rng, WAVES)
        got = run(arch, s, choice, a, b, c, indices(s, places, 0 if choice[0] else choice[1], rng))
        check(s.dense, got, expand(s, s.stored.a.decode(a), places), s.dense.b.decode(b), c)


@pytest.mark.parametrize(("arch", "s"), ALL)
def test_layout_element_by_element(arch: str, s: Smfmac) -> None:
    """One stored value at a time meets a B whose every element is another number."""
    m, k = s.dense.M, s.dense.K
    rng = np.random.default_rng(1)
    spots = [(row, n) for row in range(0, m, 5) for n in range(k // 2)]
    a = np.zeros((len(spots), 1, m, k // 2), np.uint64)
    zero, one = (0, s.stored.a.one)
    a[...] = zero
    for wave, (row, n) in enumerate(spots):
        a[wave, 0, row, n] = one
    places = rng.integers(0, 4, a.shape)
    b = np.broadcast_to(s.dense.b.usual(rng, (1, 1, m, k)), (len(spots), 1, m, k))
    c = np.zeros((len(spots), 1, m, m), np.int32 if s.dense.integer else np.float32)
    got = run(arch, s, (0, 0), a, b, c, indices(s, places, 0, rng))
    values = s.dense.b.decode(b)
    for wave, (row, n) in enumerate(spots):
        met = n // 2 * 4 + places[wave, 0, row, n]
        expected = np.zeros((m, m))
        expected[row] = values[wave, 0, :, met]
        assert np.array_equal(got[wave, 0], expected)


@pytest.mark.parametrize(("arch", "s"), [p for p in ALL if p.values[1].dense.a is not I8])
def test_extremes(arch: str, s: Smfmac) -> None:
    rng = np.random.default_rng(2)
    m, k = s.dense.M, s.dense.K
    left, right = s.stored.a, s.dense.b
    # bf16's largest numbers would leave f32 on the way, in some order of summation.
    large = [] if left is BFLOAT else [left.largest]
    a = rng.choice([left.one, *large, *left.tiny, *left.special], (WAVES, 1, m, k // 2))
    b = rng.choice([right.one, right.largest, *right.tiny] if large else [right.one, *right.tiny], (WAVES, 1, m, k))
    places = pairs(rng, m, k)
    c = accumulators(s.dense, rng, WAVES)
    got = run(arch, s, (0, 0), a, b, c, indices(s, places, 0, rng))
    with np.errstate(invalid="ignore", over="ignore"):
        check(s.dense, got, expand(s, left.decode(a), places), right.decode(b), c)
