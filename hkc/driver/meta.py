"""What a launch needs to know of a kernel besides its code object."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from mlir import ir


@dataclass(frozen=True)
class Parameter:
    """A kernel parameter: a view, or a scalar (``dims`` empty).

    ``dims`` are symbols or fixed sizes; ``loaded`` and ``stored`` tell whether the kernel reads and writes
    the view.
    """

    name: str
    kind: Literal["view", "scalar"]
    dtype: str
    dims: tuple[str | int, ...] = ()
    loaded: bool = False
    stored: bool = False


@dataclass(frozen=True)
class KernelMeta:
    """Launch data of one kernel, kept beside its code object.

    ``grid`` are expressions over dimension symbols and scalar arguments (:mod:`hkc.lang.gridexpr`),
    ``block`` is in lanes, ``constants`` are the compile-time constants as text. A parameter is ``stored``
    if the kernel writes it.
    """

    name: str
    arch: str
    parameters: tuple[Parameter, ...]
    grid: tuple[str, ...]
    block: int = 0
    dynamic_lds: int = 0
    constants: dict[str, str] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Plain data for ``json.dumps``."""
        return asdict(self)

    @staticmethod
    def from_json(data: dict[str, Any]) -> KernelMeta:
        """The inverse of :meth:`to_json`, after a trip through JSON."""
        parameters = tuple(Parameter(**{**p, "dims": tuple(p["dims"])}) for p in data["parameters"])
        return KernelMeta(**{**data, "parameters": parameters, "grid": tuple(data["grid"])})


# Ops that access a view, with the position of the view among their operands.
_LOADS = {"tile.load": 0, "tile.buffer_load": 0, "tile.masked_load": 0, "tile.copy": 0}
_STORES = {"tile.store": 1, "tile.buffer_store": 1, "tile.masked_store": 1}


def describe(module: ir.Module, arch: str, constants: dict[str, str] | None = None) -> KernelMeta | None:
    """The launch data of a module's first kernel, None once the module is lowered past the tile dialect."""
    from hkc.dialect.types import ViewType, parse_type

    function = kernel_function(module)
    if function is None:
        return None
    loaded, stored = _accessed(function, _LOADS), _accessed(function, _STORES)
    parameters = []
    arguments = list(function.regions[0].blocks[0].arguments)
    # MLIR drops the attribute when there are no arguments.
    described = function.attributes["arg_attrs"] if arguments else ()
    for argument, attributes in zip(arguments, described, strict=True):
        name, type_ = attributes["tile.name"].value, parse_type(argument.type)
        if isinstance(type_, ViewType):
            number = argument.arg_number
            access = number in loaded, number in stored
            parameters.append(Parameter(name, "view", type_.dtype.name, type_.dims, *access))
        else:
            parameters.append(Parameter(name, "scalar", str(type_)))
    grid = tuple(entry.value for entry in function.attributes["tile.grid"])
    symbol = function.attributes["sym_name"].value
    return KernelMeta(symbol, arch, tuple(parameters), grid, constants=constants or {})


def kernel_function(module: ir.Module) -> ir.Operation | None:
    """The module's first tile kernel."""
    for op in module.body.operations:
        if op.operation.name == "func.func" and "tile.kernel" in op.operation.attributes:
            return op.operation
    return None


def _accessed(function: ir.Operation, accesses: dict[str, int]) -> set[int]:
    """The numbers of the arguments that ops of these names access."""
    from mlir import ir

    from hkc.dialect.verify import walk

    views = [_whole(op.operands[accesses[op.name]]) for op in walk(function) if op.name in accesses]
    return {view.arg_number for view in views if isinstance(view, ir.BlockArgument)}


def _whole(view: ir.Value) -> ir.Value:
    """The argument that a view is part of."""
    from mlir import ir

    while not isinstance(view, ir.BlockArgument) and view.owner.name == "tile.subview":
        view = view.owner.operation.operands[0]
    return view
