"""``--check``: a kernel's results against the fp64 interpreter of the program as written."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from hkc.cli.inputs import HostArray
from hkc.cli.progress import progress
from hkc.driver.meta import KernelMeta

if TYPE_CHECKING:
    from mlir import ir

    from hkc.interp import View

# The reference's own rounding (IEEE 754 binary64) is 2^-29 of the f32 rounding that each bound allows for.
_SLACK = 1 + 2.0**-20


@dataclass(frozen=True)
class Comparison:
    """One output against its reference.

    ``max_error`` is the largest error and ``bound`` the bound there, ``wrong`` how many elements are beyond
    theirs, ``outside`` how many bytes around the array have changed. ``worst`` is the element with the
    largest error relative to its bound.
    """

    name: str
    max_error: float
    bound: float
    wrong: int
    elements: int
    worst: tuple[int, ...]
    got: float
    expected: float
    outside: int

    @property
    def passed(self) -> bool:
        return self.wrong == 0 and self.outside == 0

    def to_json(self) -> dict[str, Any]:
        """Plain data; JSON has no NaN or infinity, so those are strings."""
        plain = {name: v if math.isfinite(v) else str(v) for name, v in asdict(self).items() if isinstance(v, float)}
        return asdict(self) | plain | {"passed": self.passed}

    def text(self) -> str:
        """One line, two when it failed."""
        verdict = "PASS" if self.passed else "FAIL"
        line = f"{self.name}: max error {self.max_error:.3g}, bound {self.bound:.3g} at that element: {verdict}"
        if self.wrong:
            at = ", ".join(map(str, self.worst))
            line += (
                f"\n  {self.wrong} of {self.elements} elements are beyond their bound;"
                f" the worst, {self.name}[{at}], is {self.got:.9g}, expected {self.expected:.9g}"
            )
        if self.outside:
            line += f"\n  {self.outside} bytes outside {self.name} were changed"
        return line


def reference(
    kernels: Iterable[tuple[ir.Module, tuple[int, ...]]],
    meta: KernelMeta,
    arrays: dict[str, HostArray],
    scalars: dict[str, int | float],
) -> dict[str, View]:
    """Run the interpreter on the arrays as they were, over each module's grid in order; gives the views that are
    written."""
    from hkc.interp import View, run

    views = {name: View(host.values_before(), host.array.dtype, host.array.strides) for name, host in arrays.items()}
    with progress("computing the reference") as state:
        for module, grid in kernels:
            run(module, {**views, **scalars}, grid, state.update)
    return {parameter.name: views[parameter.name] for parameter in meta.parameters if parameter.stored}


def compare(name: str, host: HostArray, view: View) -> Comparison:
    """Compare an output of the machine with the reference, element by element."""
    got, expected = host.values().astype(np.float64), view.values.astype(np.float64)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        error = np.abs(got - expected)
        # Equal infinities differ by NaN, and a NaN is right where the reference has one.
        same = (got == expected) | (np.isnan(got) & np.isnan(expected))
        error = np.where(same, 0.0, np.where(np.isnan(error), np.inf, error))
        bound = view.errors * _SLACK
        wrong = ~same & ~(error <= bound)
        excess = np.where(same, 0.0, error / np.maximum(bound, np.finfo(np.float64).tiny))
    outside = host.changed_outside()
    if not got.size:
        return Comparison(name, 0.0, 0.0, 0, 0, (), 0.0, 0.0, outside)
    largest, worst = _argmax(error), _argmax(excess)
    return Comparison(
        name=name,
        max_error=float(error[largest]),
        bound=float(bound[largest]),
        wrong=int(np.count_nonzero(wrong)),
        elements=got.size,
        worst=tuple(int(i) for i in worst),
        got=float(got[worst]),
        expected=float(expected[worst]),
        outside=outside,
    )


def _argmax(values: npt.NDArray) -> tuple[np.intp, ...]:
    return np.unravel_index(int(np.argmax(values)), values.shape)
