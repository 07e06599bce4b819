"""Kernels as Python objects: ``@hk.kernel``, compiling, and calling them on arrays.

::

    @hk.kernel(grid=lambda M, N, BM, BN: (hk.cdiv(M, BM), hk.cdiv(N, BN)))
    def gemm(A: hk.View["M", "K"], B: hk.View["N", "K"], C: hk.View["M", "N"], *, BM=128, BN=128, BK=64): ...

    gemm(a, b, c)                                # NumPy arrays or torch CPU tensors; c is written in place
    gemm(a, b, c, BM=64, device="emulator:gfx942")
    hk.compile(gemm, arch="gfx950", BM=64).report
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hkc import knobs
from hkc.errors import HkcError, Span

if TYPE_CHECKING:
    from hkc.driver.compile import CompiledKernel
    from hkc.dtypes import DType
    from hkc.lang.syntax import KernelDef
    from hkc.runtime.device import Device, Function

_OPTIONS = ("arch", "device")


class Kernel:
    """A kernel, from a decorated Python function or from a :class:`~hkc.lang.syntax.KernelDef`."""

    def __init__(
        self,
        source: Callable[..., Any] | KernelDef,
        grid: Callable[..., Any] | tuple[Any, ...] | None = None,
        waves: tuple[int, int] | None = None,
    ) -> None:
        if not callable(source) and not hasattr(source, "parameters"):
            raise HkcError(
                "@hk.kernel takes a function", expected="a function written with def", got=f"a {type(source).__name__}"
            )
        self._source = source
        self._grid = grid
        self._waves = waves
        self._functions: dict[tuple[Any, ...], tuple[CompiledKernel, Function]] = {}
        if callable(source):
            functools.update_wrapper(self, source)

    @functools.cached_property
    def definition(self) -> KernelDef:
        """The kernel as a syntax tree. Raises a located HkcError if the function is not a kernel."""
        if not callable(self._source):
            return self._source
        from hkc.lang.pyfront import kernel_from_function

        return kernel_from_function(self._source, self._grid, self._waves)

    @property
    def name(self) -> str:
        return self._source.__name__ if callable(self._source) else self._source.name

    def defined_in(self, path: Path) -> bool:
        """Whether the kernel is a function of that file."""
        code = getattr(self._source, "__code__", None)
        return code is not None and Path(code.co_filename).resolve() == path.resolve()

    def compile(
        self, arch: str | None = None, dtypes: Mapping[str, DType] | None = None, **constants: Any
    ) -> CompiledKernel:
        """Compile for ``arch`` (default: ``HKC_ARCH``, else gfx950) with the given compile-time constants.

        ``dtypes`` gives the element types of views that the kernel leaves open. Sizes on which defaults of constants
        depend may be given like constants; without, the defaults are those for the largest sizes. Raises HkcError for
        a fault of the kernel, located, and for a constant that it does not have.
        """
        from hkc.driver.compile import compile_kernel
        from hkc.lang.constants import complete, given_sizes
        from hkc.lang.defaults import used_sizes

        sizes = {name: constants.pop(name) for name in sorted(used_sizes(self.definition) & constants.keys())}
        complete_constants = complete(self.definition, constants, given_sizes(sizes))
        return compile_kernel(self.definition, arch or knobs.arch(), complete_constants, dtypes or {})

    def __call__(self, *arguments: Any, arch: str | None = None, device: str | None = None, **named: Any) -> None:
        """Run the kernel on arrays and scalars; arrays that it stores to are written in place.

        Arguments go by position or name, compile-time constants by name. ``device`` is as for
        :func:`hkc.runtime.open_device`. An empty grid does nothing. Raises HkcError that names the argument.
        """
        from hkc.arguments import bind_arguments
        from hkc.driver.launch import launch

        values, constants = self._sort(arguments, named)
        opened = _device(device or knobs.device(), arch)
        compiled, function = self._specialise(opened, values, constants)
        assert compiled.meta is not None
        launch(function, compiled.meta, bind_arguments(compiled.meta, values))

    def _sort(self, arguments: tuple[Any, ...], named: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """Arguments by parameter name, and constants."""
        parameters = [p.name for p in self.definition.parameters]
        if len(arguments) > len(parameters):
            raise HkcError(
                f"kernel {self.name} takes {len(parameters)} arguments",
                expected=", ".join(parameters),
                got=f"{len(arguments)} arguments",
                hint="constants are given by name",
            )
        values = dict(zip(parameters, arguments, strict=False))
        constants = {}
        for name, value in named.items():
            if name in values:
                raise HkcError(f"argument {name} of kernel {self.name} is given twice")
            if name in parameters:
                values[name] = value
            elif name in self.definition.constants:
                constants[name] = value
            else:
                raise HkcError(
                    f"kernel {self.name} has no argument or constant {name}",
                    expected=", ".join([*parameters, *self.definition.constants, *_OPTIONS]),
                )
        missing = [name for name in parameters if name not in values]
        if missing:
            raise HkcError(
                f"kernel {self.name} needs its argument{'s' * (len(missing) > 1)} {', '.join(missing)}",
                expected=", ".join(parameters),
            )
        return values, constants

    def _specialise(
        self, device: Device, values: dict[str, Any], constants: dict[str, Any]
    ) -> tuple[CompiledKernel, Function]:
        """The kernel for these constants and element types, loaded on the device."""
        from hkc.arguments import convert_array
        from hkc.driver.compile import compile_kernel
        from hkc.lang.constants import complete, integers
        from hkc.lang.defaults import sizes_of_shapes

        arrays = {p.name: convert_array(p.name, values[p.name]) for p in self.definition.parameters if p.is_view}
        shapes = {name: array.shape for name, array in arrays.items()}
        sizes = {**sizes_of_shapes(self.definition, constants, shapes), **integers(_scalars(values))}
        complete_constants = complete(self.definition, constants, sizes)
        dtypes = {name: array.dtype for name, array in arrays.items()}
        key = (id(device), tuple(complete_constants.items()), tuple(dtypes.items()))
        if key not in self._functions:
            compiled = compile_kernel(self.definition, device.arch, complete_constants, dtypes)
            self._functions[key] = compiled, device.load(compiled.hsaco).function(compiled.name)
        return self._functions[key]

    def __repr__(self) -> str:
        return f"<kernel {self.name}>"


def _scalars(values: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments that are integers, of Python or NumPy."""
    return {name: int(v) for name, v in values.items() if hasattr(v, "__index__") and not hasattr(v, "__len__")}


@functools.cache
def _device(spec: str | None, arch: str | None) -> Device:
    from hkc.driver.launch import open_device

    return open_device(spec, arch)


def kernel(
    function: None = None,
    /,
    *,
    grid: Callable[..., Any] | tuple[Any, ...] | None = None,
    waves: tuple[int, int] | None = None,
) -> Callable[[Callable[..., Any]], Kernel]:
    """Make a Python function a kernel.

    ``grid`` gives 1 to 3 numbers of workgroups from dimension symbols,
    scalar arguments and constants; ``waves`` is how many wavefronts share a tile, rows and columns.
    Raises HkcError without a grid (and so for a bare ``@hk.kernel``).
    """
    if function is not None or grid is None:
        code = getattr(function, "__code__", None)
        raise HkcError(
            "a kernel needs its grid",
            Span(code.co_filename, code.co_firstlineno, 1) if code is not None else None,
            expected="the number of workgroups along 1 to 3 axes",
            hint="@hk.kernel(grid=lambda M, BM: hk.cdiv(M, BM))",
        )
    return lambda function: Kernel(function, grid, waves)


def load(program: str | Path) -> Kernel:
    """The kernel in a file: ``"FILE.tile"`` or ``"FILE.py"``, with ``:name`` to pick one of several."""
    from hkc.driver.source import open_source

    source = open_source(str(program))
    if source.kernel is None:
        raise HkcError(f"{source.path} is not a program of the language", expected="a .tile or .py file")
    return Kernel(source.kernel)


def compile(
    kernel: Kernel | str | Path,
    *,
    arch: str | None = None,
    dtypes: Mapping[str, DType] | None = None,
    **constants: Any,
) -> CompiledKernel:
    """Compile a kernel, or one in a file (see :func:`load`), and give its texts, code object and report.

    See :meth:`Kernel.compile`.
    """
    if isinstance(kernel, str | Path):
        kernel = load(kernel)
    if not isinstance(kernel, Kernel):
        raise HkcError(
            "hk.compile takes a kernel",
            expected="a function decorated with @hk.kernel(...), or the name of a file",
            got=f"a value of type {type(kernel).__name__}",
        )
    return kernel.compile(arch, dtypes, **constants)
