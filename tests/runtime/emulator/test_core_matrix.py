"""MFMA shapes and types against numpy, with the register layout of the CDNA3 and CDNA4 ISA guides, 7.1.4.

LLVM compiles one kernel a shape: each lane loads its registers of A, B and C and stores its registers of D.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from hkc.runtime import Device

from .conftest import launch

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Shape:
    """One instruction: M x N x K in B blocks; ``operand`` is the LLVM type of A and B, ``kind`` of their elements."""

    name: str
    m: int
    n: int
    k: int
    b: int
    operand: str
    kind: str
    only: str | None = None

    @property
    def items(self) -> int:
        """Elements of A that a lane holds."""
        return self.k * self.m * self.b // 64

    @property
    def result(self) -> str:
        return {"i8": "i32", "f64": "double"}.get(self.kind, "float")

    @property
    def results(self) -> int:
        return self.m * self.n * self.b // 64

    def place_a(self, b: int, i: int, k: int) -> tuple[int, int]:
        """Lane and item of A[b, i, k]; of B[b, k, j] with j for i."""
        return i + self.m * (b + self.b * (k // self.items)), k % self.items

    def place_d(self, b: int, i: int, j: int) -> tuple[int, int]:
        """Lane and item of D[b, i, j]."""
        height = 1 if self.kind == "f64" else 4
        b_i = -(-64 * height // (self.n * self.m))
        m_i = 64 // b_i // self.n
        g = self.m // (height * m_i)
        item = i % height + height * (i // (height * m_i) + g * (b // b_i))
        return j + self.n * (b % b_i + b_i * ((i // height) % m_i)), item


SHAPES = [
    Shape("f32.32x32x2f32", 32, 32, 2, 1, "float", "f32"),
    Shape("f32.16x16x4f32", 16, 16, 4, 1, "float", "f32"),
    Shape("f32.32x32x1f32", 32, 32, 1, 2, "float", "f32"),
    Shape("f32.16x16x1f32", 16, 16, 1, 4, "float", "f32"),
    Shape("f32.4x4x1f32", 4, 4, 1, 16, "float", "f32"),
    Shape("f32.32x32x8f16", 32, 32, 8, 1, "<4 x half>", "f16"),
    Shape("f32.16x16x16f16", 16, 16, 16, 1, "<4 x half>", "f16"),
    Shape("f32.32x32x4f16", 32, 32, 4, 2, "<4 x half>", "f16"),
    Shape("f32.16x16x4f16", 16, 16, 4, 4, "<4 x half>", "f16"),
    Shape("f32.4x4x4f16", 4, 4, 4, 16, "<4 x half>", "f16"),
    Shape("f32.32x32x8bf16.1k", 32, 32, 8, 1, "<4 x i16>", "bf16"),
    Shape("f32.16x16x16bf16.1k", 16, 16, 16, 1, "<4 x i16>", "bf16"),
    Shape("f32.32x32x4bf16.1k", 32, 32, 4, 2, "<4 x i16>", "bf16"),
    Shape("f32.16x16x4bf16.1k", 16, 16, 4, 4, "<4 x i16>", "bf16"),
    Shape("f32.4x4x4bf16.1k", 4, 4, 4, 16, "<4 x i16>", "bf16"),
    Shape("i32.32x32x16.i8", 32, 32, 16, 1, "i64", "i8"),
    Shape("i32.16x16x32.i8", 16, 16, 32, 1, "i64", "i8"),
    Shape("i32.32x32x4i8", 32, 32, 4, 2, "i32", "i8"),
    Shape("i32.16x16x4i8", 16, 16, 4, 4, "i32", "i8"),
    Shape("i32.4x4x4i8", 4, 4, 4, 16, "i32", "i8"),
    Shape("f64.16x16x4f64", 16, 16, 4, 1, "double", "f64"),
    Shape("f64.4x4x4f64", 4, 4, 4, 4, "double", "f64"),
    Shape("f32.32x32x16.f16", 32, 32, 16, 1, "<8 x half>", "f16", "gfx950"),
    Shape("f32.16x16x32.f16", 16, 16, 32, 1, "<8 x half>", "f16", "gfx950"),
    Shape("f32.32x32x16.bf16", 32, 32, 16, 1, "<8 x bfloat>", "bf16", "gfx950"),
    Shape("f32.16x16x32.bf16", 16, 16, 32, 1, "<8 x bfloat>", "bf16", "gfx950"),
    Shape("i32.32x32x32.i8", 32, 32, 32, 1, "<4 x i32>", "i8", "gfx950"),
    Shape("i32.16x16x64.i8", 16, 16, 64, 1, "<4 x i32>", "i8", "gfx950"),
]

IR = """
declare i32 @llvm.amdgcn.workitem.id.x()
declare {d} @llvm.amdgcn.mfma.{name}({a}, {a}, {d}, i32, i32, i32)
define amdgpu_kernel void @mfma(ptr addrspace(1) %a, ptr addrspace(1) %b, ptr addrspace(1) %c) #0 {{
  %t = call i32 @llvm.amdgcn.workitem.id.x()
  %pa = getelementptr {a}, ptr addrspace(1) %a, i32 %t
  %pb = getelementptr {a}, ptr addrspace(1) %b, i32 %t
  %pc = getelementptr {d}, ptr addrspace(1) %c, i32 %t
  %va = load {a}, ptr addrspace(1) %pa
  %vb = load {a}, ptr addrspace(1) %pb
  %vc = load {d}, ptr addrspace(1) %pc
  %r = call {d} @llvm.amdgcn.mfma.{name}({a} %va, {a} %vb, {d} %vc, i32 0, i32 0, i32 0)
  store {d} %r, ptr addrspace(1) %pc
  ret void
}}
attributes #0 = {{ "amdgpu-flat-work-group-size"="64,64" "amdgpu-agpr-alloc"="{agprs}" }}
"""


def make_operand(kind: str, shape: tuple[int, ...], rng: np.random.Generator) -> tuple[Array, Array]:
    """Random elements as they lie in memory, and their values."""
    if kind == "i8":
        raw = rng.integers(-128, 128, shape).astype(np.int8)
        return raw, raw.astype(np.int64)
    values = rng.standard_normal(shape)
    if kind == "bf16":
        raw = (values.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
        return raw, (raw.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    raw = values.astype({"f16": np.float16, "f32": np.float32, "f64": np.float64}[kind])
    return raw, raw.astype(np.float64)


@pytest.mark.parametrize("agprs", [0, 32], ids=["vgpr", "agpr"])
@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
def test_mfma(device: Device, arch: str, llvm: Callable[[str], bytes], shape: Shape, agprs: int) -> None:
    if shape.only not in (None, arch):
        pytest.skip(f"an instruction of {shape.only}")
    rng = np.random.default_rng(shape.m * shape.k)
    raw_a, a = make_operand(shape.kind, (shape.b, shape.m, shape.k), rng)
    raw_b, b = make_operand(shape.kind, (shape.b, shape.n, shape.k), rng)
    lanes_a = np.zeros((64, shape.items), raw_a.dtype)
    lanes_b = np.zeros((64, shape.items), raw_b.dtype)
    for place in np.ndindex(raw_a.shape):
        lanes_a[shape.place_a(*place)] = raw_a[place]
        lanes_b[shape.place_a(*place)] = raw_b[place]
    dtype = {"i32": np.int32, "double": np.float64, "float": np.float32}[shape.result]
    lanes_d = (rng.standard_normal((64, shape.results)) * 8).astype(dtype)
    before = lanes_d.copy()
    vector = shape.result if shape.results == 1 else f"<{shape.results} x {shape.result}>"
    text = IR.format(name=shape.name, a=shape.operand, d=vector, agprs=agprs)
    launch(device, llvm(text), "mfma", [lanes_a, lanes_b, lanes_d])
    product = a @ b.transpose(0, 2, 1)
    for place in np.ndindex(shape.b, shape.m, shape.n):
        expected = product[place] + before[shape.place_d(*place)]
        assert lanes_d[shape.place_d(*place)] == pytest.approx(expected, rel=2e-6, abs=2e-5), place
