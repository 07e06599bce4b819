"""The values of the language as Python objects: what the elaborator and the builder compute with.

Compile-time constants are plain Python values (see :mod:`hkc.lang.folding`); the rest wraps an MLIR value.
Operators on them (``a + b``, ``a @ b``, ``x.T``) make ops, so a builder program reads like the language.
"""

from __future__ import annotations

from typing import Any

from mlir import ir

from hkc.dialect.locations import make_loc, name_of, span_of
from hkc.dialect.types import LdsType, TileType, TokenType, ViewType, parse_type
from hkc.dtypes import DType
from hkc.errors import InternalError
from hkc.lang.emit import CURSOR


class Value:
    """A run-time value: ``ir`` is the MLIR value, ``type`` its dataclass, ``serial`` tells fresh ones from old."""

    __slots__ = ("ir", "serial", "type")
    type: Any

    def __init__(self, value: ir.Value, type_: Any = None) -> None:
        self.ir = value
        self.type = type_ if type_ is not None else parse_type(value.type)
        self.serial = CURSOR.count

    def named(self, name: str) -> Any:
        """Gives the value its name in the source; returns it."""
        operation = self.ir.owner
        if isinstance(self.ir, ir.BlockArgument):
            self.ir.set_location(make_loc(span_of(self.ir), name))
        elif isinstance(operation, ir.Operation | ir.OpView):
            operation.operation.location = make_loc(span_of(operation.operation), name)
        return self

    @property
    def name(self) -> str | None:
        """The name in the source, if it has one."""
        return name_of(self.ir)

    def __bool__(self) -> bool:
        from hkc.errors import HkcError
        from hkc.lang.emit import here

        raise HkcError(
            "this value is known only when the kernel runs", here(), hint="use `with builder.when(condition)`"
        )


class Operators:
    """Python's operators, as those of the language."""

    __slots__ = ()

    def _do(self, operator: str, other: Any, swap: bool = False) -> Any:
        from hkc.lang.operations import binary

        return binary(operator, other, self) if swap else binary(operator, self, other)

    def __add__(self, other: Any) -> Any:
        return self._do("+", other)

    def __radd__(self, other: Any) -> Any:
        return self._do("+", other, swap=True)

    def __sub__(self, other: Any) -> Any:
        return self._do("-", other)

    def __rsub__(self, other: Any) -> Any:
        return self._do("-", other, swap=True)

    def __mul__(self, other: Any) -> Any:
        return self._do("*", other)

    def __rmul__(self, other: Any) -> Any:
        return self._do("*", other, swap=True)

    def __truediv__(self, other: Any) -> Any:
        return self._do("/", other)

    def __rtruediv__(self, other: Any) -> Any:
        return self._do("/", other, swap=True)

    def __floordiv__(self, other: Any) -> Any:
        return self._do("//", other)

    def __rfloordiv__(self, other: Any) -> Any:
        return self._do("//", other, swap=True)

    def __mod__(self, other: Any) -> Any:
        return self._do("%", other)

    def __rmod__(self, other: Any) -> Any:
        return self._do("%", other, swap=True)

    def __lt__(self, other: Any) -> Any:
        return self._do("<", other)

    def __le__(self, other: Any) -> Any:
        return self._do("<=", other)

    def __gt__(self, other: Any) -> Any:
        return self._do(">", other)

    def __ge__(self, other: Any) -> Any:
        return self._do(">=", other)

    def __eq__(self, other: object) -> Any:
        return self._do("==", other)

    def __ne__(self, other: object) -> Any:
        return self._do("!=", other)

    __hash__ = object.__hash__

    def __neg__(self) -> Any:
        from hkc.lang.operations import unary

        return unary("-", self)

    def to(self, dtype: DType) -> Any:
        """The same value in another element type."""
        from hkc.lang.operations import to

        return to(self, dtype)


class Arithmetic(Operators, Value):
    """A scalar or tile."""

    __slots__ = ()


class Scalar(Arithmetic):
    """A scalar: i32, i64, f32 or i1, or a narrow float on its way into a tile."""

    __slots__ = ()
    type: DType

    def __and__(self, other: Any) -> Any:
        return self._do("and", other)

    def __or__(self, other: Any) -> Any:
        return self._do("or", other)

    def __invert__(self) -> Any:
        from hkc.lang.operations import unary

        return unary("not", self)


class Tile(Arithmetic):
    """A tile in registers. ``factors`` are a and b of a product ``a @ b`` that was added to nothing yet."""

    __slots__ = ("factors",)
    type: TileType

    def __init__(self, value: ir.Value, type_: Any = None) -> None:
        super().__init__(value, type_)
        self.factors: tuple[Tile, Tile] | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        """Extents, known at compile time."""
        return self.type.shape

    @property
    def dtype(self) -> DType:
        """Element type."""
        return self.type.dtype

    @property
    def T(self) -> Tile:
        """The transpose."""
        from hkc.lang.operations import transpose

        return transpose(self)

    def __matmul__(self, other: Any) -> Any:
        return self._do("@", other)

    def __add__(self, other: Any) -> Any:
        from hkc.lang.operations import accumulate

        fused = accumulate(self, other)
        return self._do("+", other) if fused is None else fused


class Spread(Operators):
    """A vector as the columns (axis 0) or rows (axis 1) of the tile that it meets in an expression."""

    __slots__ = ("axis", "vector")

    def __init__(self, vector: Tile, axis: int) -> None:
        self.vector, self.axis = vector, axis


class View(Value):
    """A strided array in global memory."""

    __slots__ = ()
    type: ViewType

    @property
    def dtype(self) -> DType:
        """Element type."""
        return self.type.dtype

    def __getitem__(self, indices: Any) -> View:
        """The view at fixed indices along the first axes."""
        from hkc.lang.memory import subview

        given = indices if isinstance(indices, tuple) else (indices,)
        return subview(self, range(len(given)), given)


class Lds(Value):
    """Tiles in LDS, or (indexed) one of them."""

    __slots__ = ()
    type: LdsType

    @property
    def dtype(self) -> DType:
        """Element type."""
        return self.type.dtype

    @property
    def shape(self) -> tuple[int, ...]:
        """Extents: buffers, rows, columns; of one slot: rows, columns."""
        return self.type.shape

    def __getitem__(self, index: Any) -> Lds:
        from hkc.lang.operations import slot

        return slot(self, index)


class Token(Value):
    """An asynchronous copy or LDS write on its way."""

    __slots__ = ()
    type: TokenType


def wrap(value: ir.Value) -> Any:
    """The object for an MLIR value, by its type."""
    type_ = parse_type(value.type)
    kinds: dict[type, type[Value]] = {
        TileType: Tile,
        ViewType: View,
        LdsType: Lds,
        TokenType: Token,
        DType: Scalar,
    }
    kind = kinds.get(type(type_))
    if kind is None:
        raise InternalError(f"no value of type {value.type}")
    return kind(value, type_)


def describe_type(value: object) -> str:
    """What a value is, for messages: ``128x64 bf16 tile``, ``i32``, ``the int 3``."""
    if isinstance(value, Value):
        if isinstance(value, Scalar):
            return f"an {value.type.name} scalar" if value.type.name[0] in "ifaeou" else f"a {value.type.name} scalar"
        if isinstance(value, View):
            return f"a view of {value.type.dtype.name}"
        return f"a {value.type}"
    if isinstance(value, Spread):
        return f"a {'row' if value.axis else 'column'} of {value.vector.shape[0]} {value.vector.dtype.name}"
    if value is None:
        return "nothing"
    from hkc.lang.folding import describe

    return describe(value)
