"""Every MFMA of both targets against numpy: layout element by element, random and adversarial values, accumulation
registers, broadcasts and MODE.

Products are compared with double precision. The order of summation and the width of the sum are nowhere documented:
a result may differ from the exact one by the rounding errors of any order in the accumulator's type.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from hkc.driver.compile import compile_llvm
from hkc.runtime import Module, open_device

from ...formats import e8m0
from .mfma import F32, MIXED, Element, Mfma, instructions, mixed_instructions

Array = npt.NDArray[Any]
PLAIN = [(arch, mfma) for arch in ("gfx942", "gfx950") for mfma in instructions(arch)]
MIXED_PAIRS = [("gfx950", mfma) for mfma in mixed_instructions()]
SAME_TYPES = [(arch, mfma) for arch, mfma in PLAIN + MIXED_PAIRS if mfma.a is mfma.b]


def cases(pairs: Iterable[tuple[str, Mfma]]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize(("arch", "mfma"), [pytest.param(*p, id=f"{p[0]}-{p[1].name}") for p in pairs])


every = cases(PLAIN + MIXED_PAIRS)

REGISTERS = ["aaaa", "vvaa", "aavv", "vavv"]  # Of A, B, C and D.
# The scale bytes that the scaled kernels choose, of A and of B.
SELECTIONS = [(0, 0), (1, 2), (2, 3), (3, 1)]


def kernel(
    name: str,
    mfma: Mfma,
    arguments: str = "",
    flags: str = "i32 0, i32 0, i32 0",
    before: str = "",
    registers: str = "",
) -> str:
    """IR: each workgroup of one wave loads its registers of A, B and C, multiplies, and stores those of D.

    ``arguments`` follow C in an f8f6f4 intrinsic, ``flags`` (cbsz, abid, blgp) in the others. ``registers`` are the
    kinds of register, v or a, of A, B, C and D.
    """
    a, b, c = mfma.dwords(mfma.a), mfma.dwords(mfma.b), mfma.result_dwords
    if mfma.mixed:
        types = [f"<{n} x i32>" for n in (a, b)]
        call = f"@llvm.amdgcn.mfma.scale.f32.{mfma.intrinsic}.v{a}i32.v{b}i32"
    else:
        types = [mfma.operand_type] * 2
        call = f"@llvm.amdgcn.mfma.{mfma.intrinsic}"
    element = "double" if mfma.double else "i32" if mfma.integer else "float"
    count = c // 2 if mfma.double else c
    out = element if count == 1 else f"<{count} x {element}>"
    lines = [*_begin(name, a, b, c), before]
    casts = zip("abc", (*types, out), (a, b, c), strict=True)
    for (n, kind, count), where in zip(casts, registers or "   ", strict=False):
        lines.append(f"  %x{n} = bitcast <{count} x i32> %{n} to {kind}")
        if registers:
            lines.append(_pin(f"y{n}", f"x{n}", kind, where))
    x = "y" if registers else "x"
    lines.append(f"  %r = call {out} {call}({types[0]} %{x}a, {types[1]} %{x}b, {out} %{x}c, {arguments or flags})")
    if registers:
        lines.append(_pin("yr", "r", out, registers[3]))
    lines.append(f"  %d = bitcast {out} %{'yr' if registers else 'r'} to <{c} x i32>")
    return "\n".join([*lines, *_end(c)])


def _pin(result: str, value: str, kind: str, where: str) -> str:
    """No instruction, but its operand is in a register of kind ``where``."""
    if kind.startswith("<6"):  # No register class.
        return f"  %{result} = bitcast {kind} %{value} to {kind}"
    return f'  %{result} = call {kind} asm sideeffect "", "={where},0"({kind} %{value})'


def _begin(name: str, a: int, b: int, c: int) -> list[str]:
    lines = [
        f'define amdgpu_kernel void @"{name}"(ptr addrspace(1) %pa, ptr addrspace(1) %pb, ptr addrspace(1) %pc,'
        " ptr addrspace(1) %ps, ptr addrspace(1) %pt, ptr addrspace(1) %pd) #0 {",
        "  %group = call i32 @llvm.amdgcn.workgroup.id.x()",
        "  %lane = call i32 @llvm.amdgcn.workitem.id.x()",
        "  %first = mul i32 %group, 64",
        "  %i = add i32 %first, %lane",
    ]
    for n, count in (("a", a), ("b", b), ("c", c)):
        lines.append(f"  %q{n} = getelementptr [{count} x i32], ptr addrspace(1) %p{n}, i32 %i")
        lines.append(f"  %{n} = load <{count} x i32>, ptr addrspace(1) %q{n}, align 4")
    for n in "st":
        lines.append(f"  %q{n} = getelementptr i32, ptr addrspace(1) %p{n}, i32 %i")
        lines.append(f"  %{n} = load i32, ptr addrspace(1) %q{n}, align 4")
    return lines


def _end(c: int) -> list[str]:
    return [
        f"  %qd = getelementptr [{c} x i32], ptr addrspace(1) %pd, i32 %i",
        f"  store <{c} x i32> %d, ptr addrspace(1) %qd, align 4",
        "  ret void",
        "}",
    ]


def formats(mfma: Mfma) -> str:
    return f"i32 {MIXED.index(mfma.a)}, i32 {MIXED.index(mfma.b)}"


def module(kernels: Iterable[str], attributes: str = "") -> str:
    head = ["declare i32 @llvm.amdgcn.workgroup.id.x()", "declare i32 @llvm.amdgcn.workitem.id.x()"]
    text = "\n".join(kernels)
    # Intrinsics are declared by their first call.
    declared = {}
    for line in text.splitlines():
        if "call" in line and "@llvm.amdgcn.mfma" in line:
            result, _, rest = line.split("call ", 1)[1].partition(" @")
            name, _, arguments = rest.partition("(")
            kinds = ", ".join(a.strip().rpartition(" ")[0] for a in arguments.rstrip(")").split(", "))
            declared[name] = f"declare {result} @{name}({kinds})"
    if "llvm.amdgcn.s.setreg" in text:
        head.append("declare void @llvm.amdgcn.s.setreg(i32 immarg, i32)")
    end = f'attributes #0 = {{ "amdgpu-flat-work-group-size"="64,64" {attributes} }}'
    return "\n".join([*head, *declared.values(), text, end])


def scaled(mfma: Mfma, selections: tuple[int, int]) -> str:
    return f"{formats(mfma)}, i32 {selections[0]}, i32 %s, i32 {selections[1]}, i32 %t"


def load(arch: str, text: str) -> Module:
    return open_device(f"emulator:{arch}").load(compile_llvm(text, arch, "mfma.ll").hsaco)


@cache
def code_object(arch: str, kind: str) -> Module:
    """One code object for each ``kind`` of test."""
    plain, mixed = instructions(arch), mixed_instructions() if arch == "gfx950" else []
    if kind == "plain":
        texts = [kernel(m.name, m) for m in plain]
        texts += [kernel(m.name, m, f"{formats(m)}, i32 0, i32 0, i32 0, i32 0") for m in mixed]
    elif kind == "scaled":
        texts = [
            kernel(f"{m.name}.{n}", m, scaled(m, selected))
            for m in mixed
            for n, selected in enumerate(SELECTIONS if m.a is m.b else SELECTIONS[:1])
        ]
    elif kind in REGISTERS:
        texts = [kernel(m.name, m, registers=kind) for m in plain]
        same = [m for m in mixed if m.a is m.b]
        texts += [kernel(m.name, m, f"{formats(m)}, i32 0, i32 0, i32 0, i32 0", registers=kind) for m in same]
    elif kind == "broadcast":
        texts = [
            kernel(f"{m.name}.{cbsz}.{abid}", m, flags=f"i32 {cbsz}, i32 {abid}, i32 0")
            for m in plain
            if m.B > 1 and not m.double
            for cbsz, abid in broadcasts(m)
        ]
    else:
        texts = [kernel(f"{m.name}.{n}", m, flags=f"i32 0, i32 0, i32 {n}") for m in plain for n in range(1, 8)]
    return load(arch, module(texts))


def broadcasts(mfma: Mfma) -> list[tuple[int, int]]:
    size = mfma.B.bit_length() - 1
    return [(cbsz, abid) for cbsz in range(1, size + 1) for abid in sorted({0, 1, (1 << cbsz) - 1})]


def run(code: Module, name: str, mfma: Mfma, a: Array, b: Array, c: Array, *scales: Array) -> Array:
    """D (waves, B, M, N) of codes A (waves, B, M, K) and B (waves, B, N, K), and values C."""
    device, waves = code.device, len(a)
    registers = mfma.pack_result(c)
    s, t = scales or (np.zeros((waves, 64), np.uint32),) * 2
    inputs = (mfma.pack(a, mfma.a), mfma.pack(b, mfma.b), registers, s, t)
    buffers = [device.alloc(x.nbytes).write(x) for x in inputs]
    out = device.alloc(registers.nbytes)
    code.function(name).launch(waves, 64, [*buffers, out])
    device.synchronize()
    return mfma.unpack_result(out.read(np.uint32, registers.shape))


def accumulators(mfma: Mfma, rng: np.random.Generator, waves: int) -> Array:
    shape = (waves, mfma.B, mfma.M, mfma.N)
    if mfma.integer:
        return rng.integers(-(2**31), 2**31, shape).astype(np.int32)
    return rng.standard_normal(shape).astype(np.float64 if mfma.double else np.float32)


def check(mfma: Mfma, got: Array, x: Array, y: Array, c: Array) -> None:
    """``got`` is x @ y.T + c within the error of any order of summation; x and y are values (waves, B, rows, K)."""
    with np.errstate(invalid="ignore", over="ignore"):
        y = y.swapaxes(2, 3)
        if mfma.integer:
            assert np.array_equal(got, (x @ y + c).astype(np.int32))
            return
        exact = x @ y + c
        scale = np.nan_to_num(np.abs(x) @ np.abs(y) + np.abs(c), posinf=0)
        info = np.finfo(got.dtype)
        steps = mfma.K + (mfma.K if mfma.double else 1)  # numpy's own errors, in double precision.
        bound = steps * (info.eps / 2 * scale + float(info.smallest_subnormal))
        expected = exact.astype(got.dtype)
        finite = np.isfinite(expected)
        assert np.array_equal(got[~finite], expected[~finite], equal_nan=True)
        assert np.all(np.abs(got[finite] - exact[finite]) <= bound[finite])


def draw(mfma: Mfma, rng: np.random.Generator, waves: int) -> tuple[Array, Array]:
    shape = (waves, mfma.B, mfma.M, mfma.K)
    return mfma.a.usual(rng, shape), mfma.b.usual(rng, shape)


@every
def test_layout(arch: str, mfma: Mfma) -> None:
    """With a single one in each row of A, rows of D are rows of B; and the other way round. All (i, k) and (k, j)."""
    rng = np.random.default_rng(1)
    k = mfma.K
    wave, row = np.arange(k)[:, None], np.arange(mfma.M)
    for swap in (False, True):
        a, b = draw(mfma, rng, k)
        ones, others = (b, a) if swap else (a, b)
        element: Element = mfma.b if swap else mfma.a
        ones[...] = 0
        for block in range(mfma.B):
            ones[wave, block, row, (row + wave + block) % k] = element.one
        c = np.zeros(
            (k, mfma.B, mfma.M, mfma.N), mfma.unpack_result(np.zeros((1, 64, mfma.result_dwords), np.uint32)).dtype
        )
        got = run(code_object(arch, "plain"), mfma.name, mfma, a, b, c)
        values = (mfma.a if swap else mfma.b).decode(others)
        for block in range(mfma.B):
            chosen = (row + wave + block) % k
            expected = values[wave[:, :, None], block, np.arange(mfma.M)[None, None], chosen[:, :, None]]
            assert np.array_equal(got[:, block].swapaxes(1, 2) if swap else got[:, block], expected)


@every
def test_random(arch: str, mfma: Mfma) -> None:
    rng = np.random.default_rng(2)
    a, b = draw(mfma, rng, 6)
    c = accumulators(mfma, rng, 6)
    got = run(code_object(arch, "plain"), mfma.name, mfma, a, b, c)
    check(mfma, got, mfma.a.decode(a), mfma.b.decode(b), c)


@every
def test_special_values(arch: str, mfma: Mfma) -> None:
    """Infinities, NaNs, zeros of both signs and numbers without a leading one, among usual numbers."""
    rng = np.random.default_rng(3)
    a, b = draw(mfma, rng, 8)
    for codes, element in ((a, mfma.a), (b, mfma.b)):
        odd = [*element.special, *element.tiny]
        if odd:
            where = rng.random(codes.shape) < 2 / mfma.K
            codes[where] = rng.choice(np.array(odd, np.uint64), where.sum())
    c = accumulators(mfma, rng, 8)
    if not mfma.integer:
        where = rng.random(c.shape) < 0.2
        tiny = np.finfo(c.dtype).smallest_subnormal
        c[where] = rng.choice(np.array([np.inf, -np.inf, np.nan, 0.0, -0.0, tiny, 9 * tiny], c.dtype), where.sum())
    got = run(code_object(arch, "plain"), mfma.name, mfma, a, b, c)
    check(mfma, got, mfma.a.decode(a), mfma.b.decode(b), c)


@every
def test_denormals(arch: str, mfma: Mfma) -> None:
    """Products and sums below the normal numbers of every type are kept."""
    rng = np.random.default_rng(4)
    waves = 4
    a, b = draw(mfma, rng, waves)
    if not mfma.a.tiny:
        a[:2] = 0
    else:
        a[:2] = rng.choice(np.array(mfma.a.tiny, np.uint64), a[:2].shape)
    if mfma.b.tiny:
        b[2:] = rng.choice(np.array(mfma.b.tiny, np.uint64), b[2:].shape)
    c = np.zeros_like(accumulators(mfma, rng, waves))
    if not mfma.integer:
        c[1::2] = np.finfo(c.dtype).smallest_subnormal * rng.integers(-9, 9, c[1::2].shape)
    got = run(code_object(arch, "plain"), mfma.name, mfma, a, b, c)
    x, y = mfma.a.decode(a), mfma.b.decode(b)
    check(mfma, got, x, y, c)
    if x[:2].any() and not mfma.mixed:
        assert np.count_nonzero(got[:2]) > got[:2].size // 4


@every
def test_largest_values(arch: str, mfma: Mfma) -> None:
    """Sums of the largest products, of either sign: infinite where the accumulator's type ends; integers wrap."""
    waves = 2
    shape = (waves, mfma.B, mfma.M, mfma.K)
    a, b = np.full(shape, mfma.a.largest, np.uint64), np.full(shape, mfma.b.largest, np.uint64)
    if mfma.integer:
        a[1] = 128
    else:
        a[1] |= np.uint64(1 << (mfma.a.bits - 1))
    c = np.zeros_like(accumulators(mfma, np.random.default_rng(5), waves))
    if mfma.integer:
        c[0], c[1] = 2**31 - 5, -(2**31)
    got = run(code_object(arch, "plain"), mfma.name, mfma, a, b, c)
    check(mfma, got, mfma.a.decode(a), mfma.b.decode(b), c)


@pytest.mark.parametrize("registers", REGISTERS)
@cases(SAME_TYPES)
def test_accumulation_registers(arch: str, mfma: Mfma, registers: str) -> None:
    """A, B, C and D in vector (v) or accumulation (a) registers; C and D are of one kind."""
    rng = np.random.default_rng(6)
    a, b = draw(mfma, rng, 2)
    c = accumulators(mfma, rng, 2)
    got = run(code_object(arch, registers), mfma.name, mfma, a, b, c)
    check(mfma, got, mfma.a.decode(a), mfma.b.decode(b), c)


@cases((arch, mfma) for arch, mfma in PLAIN if mfma.B > 1 and not mfma.double)
def test_broadcast_of_a(arch: str, mfma: Mfma) -> None:
    """cbsz and abid: each 2^cbsz blocks take A from the one of them that abid names."""
    rng = np.random.default_rng(7)
    a, b = draw(mfma, rng, 2)
    c = accumulators(mfma, rng, 2)
    x, y = mfma.a.decode(a), mfma.b.decode(b)
    for cbsz, abid in broadcasts(mfma):
        got = run(code_object(arch, "broadcast"), f"{mfma.name}.{cbsz}.{abid}", mfma, a, b, c)
        block = (np.arange(mfma.B) & -(1 << cbsz)) + abid
        check(mfma, got, x[:, block], y, c)


@cases(PLAIN)
def test_blgp(arch: str, mfma: Mfma) -> None:
    """blgp: lanes of B are broadcast or rotated (CDNA3 ISA guide, table 29); in double precision signs change."""
    rng = np.random.default_rng(8)
    a, b = draw(mfma, rng, 2)
    c = accumulators(mfma, rng, 2)
    x, y = mfma.a.decode(a), mfma.b.decode(b)
    lane = np.arange(64)
    choices = [lane, lane % 32, lane % 32 + 32, (lane + 16) % 64, *(lane % 16 + n for n in (0, 16, 32, 48))]
    place, item = mfma.operand_place(mfma.b)
    for blgp in range(1, 8):
        got = run(code_object(arch, "blgp"), f"{mfma.name}.{blgp}", mfma, a, b, c)
        if mfma.double:
            signs = [-1 if blgp >> n & 1 else 1 for n in range(3)]
            check(mfma, got, signs[0] * x, signs[1] * y, signs[2] * c)
            continue
        items = np.zeros((2, 64, int(item.max()) + 1), y.dtype)
        items[:, place, item] = y
        check(mfma, got, x, items[:, choices[blgp]][:, place, item], c)


def scale_registers(rng: np.random.Generator, mfma: Mfma, scales: Array, selected: int) -> Array:
    """Registers with the scales (waves, rows, blocks of 32 k) in byte ``selected`` and others in the other bytes."""
    registers = rng.integers(0, 256, (len(scales), 64, 4), np.uint8)
    row, block = np.meshgrid(np.arange(mfma.M), np.arange(mfma.K // 32), indexing="ij")
    registers[:, row + mfma.M * block, selected] = scales
    return registers.view(np.uint32)[..., 0]


def check_scaled(mfma: Mfma, n: int, low: int, high: int) -> None:
    rng = np.random.default_rng(9)
    waves = 4
    a, b = draw(mfma, rng, waves)
    c = accumulators(mfma, rng, waves)
    shape = (waves, mfma.M, mfma.K // 32)
    sa, sb = (rng.integers(low, high, shape, np.uint8) for _ in range(2))
    registers = [scale_registers(rng, mfma, s, selected) for s, selected in zip((sa, sb), SELECTIONS[n], strict=True)]
    got = run(code_object("gfx950", "scaled"), f"{mfma.name}.{n}", mfma, a, b, c, *registers)
    x, y = (
        element.decode(codes) * np.repeat(e8m0(s), 32, axis=2)[:, None]
        for element, codes, s in ((mfma.a, a, sa), (mfma.b, b, sb))
    )
    check(mfma, got, x, y, c)


@cases(MIXED_PAIRS)
def test_scales(arch: str, mfma: Mfma) -> None:
    check_scaled(mfma, 0, 118, 137)


@pytest.mark.parametrize("n", range(4))
@cases((arch, mfma) for arch, mfma in SAME_TYPES if mfma.mixed)
def test_extreme_scales(arch: str, mfma: Mfma, n: int) -> None:
    """All scales, NaN included, from every byte: their product may leave single precision where the result does not."""
    check_scaled(mfma, n, 0, 256)


def test_scales_cancel() -> None:
    """2^127 times 2^-127 is one."""
    for mfma in mixed_instructions():
        if mfma.a is not mfma.b:
            continue
        rng = np.random.default_rng(10)
        a, b = draw(mfma, rng, 2)
        c = accumulators(mfma, rng, 2)
        high, low = (np.full((2, 64), n, np.uint32) for n in (254, 0))
        got = run(code_object("gfx950", "scaled"), f"{mfma.name}.0", mfma, a, b, c, high, low)
        check(mfma, got, mfma.a.decode(a), mfma.b.decode(b), c)


def in_mode(arch: str, mfma: Mfma, attributes: str, before: str) -> Callable[[Array, Array, Array], Array]:
    arguments = f"{formats(mfma)}, i32 0, i32 0, i32 0, i32 0" if mfma.mixed else ""
    text = module([kernel(mfma.name, mfma, arguments, before=before)], attributes)
    code = load(arch, text)
    return lambda a, b, c: run(code, mfma.name, mfma, a, b, c)


@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
def test_single_precision_obeys_the_denormal_mode(arch: str) -> None:
    """A and B are flushed, C and D are not."""
    mfma = next(m for m in instructions(arch) if m.a is F32 and m.B == 1)
    multiply = in_mode(arch, mfma, '"denormal-fp-math-f32"="preserve-sign,preserve-sign"', "")
    shape = (1, 1, mfma.M, mfma.K)
    tiny, one = np.full(shape, F32.tiny[0], np.uint64), np.full(shape, F32.one, np.uint64)
    c = np.full((1, 1, mfma.M, mfma.N), F32.decode(np.array([F32.tiny[2]]))[0], np.float32)
    assert np.array_equal(multiply(tiny, one, c), c)
    assert np.array_equal(multiply(one, tiny, c), c)


@cases((arch, mfma) for arch, mfma in SAME_TYPES if mfma.B == 1 and not mfma.double)
def test_overflow_mode(arch: str, mfma: Mfma) -> None:
    """MODE.FP16_OVFL: a sum too large is the largest number; what is infinite before stays so."""
    set_bit = "  call void @llvm.amdgcn.s.setreg(i32 1473, i32 1)"  # hwreg(HW_REG_MODE, 23, 1)
    multiply = in_mode(arch, mfma, "", set_bit)
    shape = (4, 1, mfma.M, mfma.K)
    a, b = np.full(shape, mfma.a.largest, np.uint64), np.full(shape, mfma.b.largest, np.uint64)
    limit = 2**31 - 1 if mfma.integer else np.finfo(np.float32).max
    c = np.full((4, 1, mfma.M, mfma.N), limit, np.int32 if mfma.integer else np.float32)
    sign = np.uint64(128 if mfma.integer else mfma.a.largest | 1 << (mfma.a.bits - 1))
    a[1:3] = sign
    c[1:3] = -limit
    if not mfma.integer:
        c[2, 0, 3, 5], c[3, 0, 1, 1] = -np.inf, np.nan
    got = multiply(a, b, c)
    x, y = (e.decode(v).astype(np.float64) for e, v in ((mfma.a, a), (mfma.b, b)))
    with np.errstate(over="ignore"):
        exact = x @ y.swapaxes(2, 3) + c
    rounded = np.clip(exact, -limit - 1 if mfma.integer else -limit, limit)
    expected = rounded.astype(c.dtype) if mfma.integer else np.where(np.isfinite(c), rounded, c).astype(np.float32)
    assert np.array_equal(got, expected, equal_nan=True)
    if not mfma.integer and (infinity := [s for s in mfma.a.special if np.isposinf(mfma.a.decode(np.array([s]))[0])]):
        a[3, 0, 2, 0] = infinity[0]
        assert np.all(np.isposinf(multiply(a, b, np.zeros_like(c))[3, 0, 2]))
