"""A GEMM's waits and barriers, each weakened in turn, and what the device and `verify-sync` say of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from mlir import ir

from hkc.dialect.context import parse_module
from hkc.dialect.irdl import get_int
from hkc.dialect.ops import Waitcnt
from hkc.dialect.verify import walk
from hkc.driver.compile import compile_module
from hkc.errors import HkcError
from hkc.passes.pipelines import DONE, arch_of, find_pass
from hkc.passes.rebuild import kernel_of
from hkc.passes.roles import roles_of
from hkc.runtime import open_device
from hkc.runtime.device import Report

from .conftest import EXAMPLES, compile_to

WAVEFRONT = 64
COUNTERS = tuple(Waitcnt.LIMITS)


@dataclass(frozen=True)
class Kernel:
    """An example's GEMM on its way through the passes."""

    arch: str
    example: str = "01_gemm"
    definitions: tuple[tuple[str, object], ...] = field(default=())

    def module(self, last: str = "insert-fences") -> ir.Module:
        source = (EXAMPLES / f"{self.example}.tile").read_text(encoding="utf-8")
        return compile_to(source, self.arch, last, **dict(self.definitions))

    def __str__(self) -> str:
        return "-".join([self.arch, self.example, *(f"{name}{value}" for name, value in self.definitions)])


@dataclass(frozen=True)
class Mutation:
    """One wait or barrier made weaker: ``change`` is `removed`, or the counter that was raised by one or removed."""

    index: int
    change: str

    def apply(self, module: ir.Module) -> ir.Operation | None:
        """Weakens the module; the op, if it is still there."""
        op = fences(module)[self.index]
        counter, _, how = self.change.partition(" ")
        if self.change == "removed" or (
            how == "removed" and all(get_int(op, c) is None for c in COUNTERS if c != counter)
        ):
            op.erase()
            return None
        if how == "removed":
            del op.attributes[counter]
        else:
            count = get_int(op, counter) or 0
            op.attributes[counter] = ir.IntegerAttr.get(ir.IntegerType.get_signless(64, module.context), count + 1)
        return op


def fences(module: ir.Module) -> list[ir.Operation]:
    return [op for op in walk(kernel_of(module)) if op.name in ("tile.waitcnt", "tile.barrier")]


def mutations(module: ir.Module) -> Iterator[Mutation]:
    """Every single weakening."""
    for index, op in enumerate(fences(module)):
        if op.name == "tile.barrier":
            yield Mutation(index, "removed")
        for counter in COUNTERS:
            count = get_int(op, counter)
            if count is not None:
                yield Mutation(index, f"{counter} removed")
                if count < Waitcnt.LIMITS[counter]:
                    yield Mutation(index, f"{counter} raised")


def verdict(module: ir.Module) -> HkcError | None:
    """What `verify-sync` has against a module; it is not changed."""
    try:
        find_pass("verify-sync")(parse(module))
    except HkcError as error:
        return error
    return None


def parse(module: ir.Module) -> ir.Module:
    """A copy through text, as a person would make it who edits a dump."""
    return parse_module(module.operation.get_asm(enable_debug_info=True), "dump.mlir")


def run_unproved(module: ir.Module, problems: list[tuple[int, int, int, int]]) -> list[Report]:
    """Compiles the rest without `verify-sync`, runs it in checked mode on (m, n, k, padding of rows) each."""
    copy, arch = parse(module), arch_of(module)
    lanes = roles_of(kernel_of(module)).total * WAVEFRONT
    with copy.context:
        passed = list(ir.ArrayAttr(copy.operation.attributes[DONE]))
        copy.operation.attributes[DONE] = ir.ArrayAttr.get([*passed, ir.StringAttr.get("verify-sync")])
    compiled = compile_module(lambda: copy, arch)
    return [r for problem in problems for r in launch(arch, compiled.name, compiled.hsaco, lanes, problem)]


def launch(arch: str, name: str, code_object: bytes, lanes: int, problem: tuple[int, int, int, int]) -> list[Report]:
    """What checked mode reports of one workgroup of C = A.B^T."""
    m, n, k, pad = problem
    random = np.random.default_rng(0)
    a, b = (random.integers(0, 1 << 14, (rows, k + pad)).astype(np.uint16) for rows in (m, n))
    device = open_device(f"emulator:{arch}")
    with (
        device.sanitize(),
        device.load(code_object) as loaded,
        device.alloc(a.nbytes) as left,
        device.alloc(b.nbytes) as right,
        device.alloc(m * n * 2) as out,
    ):
        left.write(a)
        right.write(b)
        arguments = [left, m, k, k + pad, 1, right, n, k, k + pad, 1, out, m, n, n, 1]
        loaded.function(name).launch(grid=(1, 1, 1), block=(lanes, 1, 1), args=arguments)
        device.synchronize()
        return device.reports()
