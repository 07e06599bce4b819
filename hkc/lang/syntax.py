"""The surface syntax tree, the same for `.tile` text and for Python functions.

Every node has the span of its source; spans do not take part in comparisons, so two trees are equal when the
programs are.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, dataclass_transform

from hkc.dtypes import DType
from hkc.errors import HkcError, Span

# The evaluator recurses over expressions and blocks; this bound keeps it far from the interpreter's own limit.
MAX_DEPTH = 80


@dataclass_transform(frozen_default=True)
class _Record:
    """Immutable records by their annotations. Made by hand rather than with dataclasses, whose making costs more
    time than parsing a kernel."""

    fields: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls) -> None:
        annotations = cls.__annotations__ if "__annotations__" in vars(cls) else {}
        cls.fields = tuple(name for name in annotations if name != "span")

    def __init__(self, span: Span, *values: object) -> None:
        contents = self.__dict__
        contents["span"] = span
        if len(values) < len(self.fields):
            values += tuple(getattr(type(self), name) for name in self.fields[len(values) :])
        contents.update(zip(self.fields, values, strict=True))

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__} is immutable")

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and all(getattr(self, name) == getattr(other, name) for name in self.fields)

    def __hash__(self) -> int:
        return hash((type(self), *(getattr(self, name) for name in self.fields)))

    def __repr__(self) -> str:
        inside = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.fields)
        return f"{type(self).__name__}({inside})"


class Node(_Record):
    """Anything with a place in the source."""

    span: Span


class Literal(Node):
    """A number, a string, True or False."""

    value: int | float | bool | str

    def __eq__(self, other: object) -> bool:
        # 1 == 1.0 == True in Python; as programs they differ.
        return (
            isinstance(other, Literal)
            and type(self.value) is type(other.value)
            and repr(self.value) == repr(other.value)
        )

    def __hash__(self) -> int:
        return hash((type(self.value), self.value))


class Name(Node):
    """A variable, constant, parameter, dimension symbol or element type."""

    name: str


class Unary(Node):
    """``operator`` is ``-``, ``+`` or ``not``."""

    operator: str
    operand: Expression


class Binary(Node):
    """Arithmetic, comparisons, ``and`` and ``or``."""

    operator: str
    left: Expression
    right: Expression


class Conditional(Node):
    """``then if test else otherwise``."""

    test: Expression
    then: Expression
    otherwise: Expression


class Keyword(Node):
    """``name=value`` in a call."""

    name: str
    value: Expression


class Call(Node):
    """A call of a function of the language."""

    function: str
    arguments: tuple[Expression, ...]
    keywords: tuple[Keyword, ...] = ()


class MethodCall(Node):
    """``base.method(arguments)``."""

    base: Expression
    method: str
    arguments: tuple[Expression, ...]


class Attribute(Node):
    """``base.name``."""

    base: Expression
    name: str


class Slice(Node):
    """``low : high : step`` in an index; any part may be absent."""

    low: Expression | None
    high: Expression | None
    step: Expression | None = None


class Index(Node):
    """``base[items]``."""

    base: Expression
    items: tuple[Expression | Slice, ...]


Expression = Literal | Name | Unary | Binary | Conditional | Call | MethodCall | Attribute | Index


class Assign(Node):
    """``a, b = x, y``: as many values as targets; a target is a Name or (for a store) an Index."""

    targets: tuple[Expression, ...]
    values: tuple[Expression, ...]


class AugmentedAssign(Node):
    """``target op= value``."""

    target: Expression
    operator: str
    value: Expression


class Evaluate(Node):
    """An expression as a statement."""

    value: Expression


class For(Node):
    """``for variable in iterable: body``."""

    variable: Name
    iterable: Expression
    body: tuple[Statement, ...]


class If(Node):
    """``if test: then else: otherwise``."""

    test: Expression
    then: tuple[Statement, ...]
    otherwise: tuple[Statement, ...]


class Pass(Node):
    """Nothing."""


Statement = Assign | AugmentedAssign | Evaluate | For | If | Pass

ConstantValue = int | float | bool | str | DType


class Parameter(Node):
    """A run-time argument; ``annotation`` is ``view[...]``, a choice of views, or a scalar type."""

    name: str
    annotation: Expression

    @property
    def is_view(self) -> bool:
        """Whether the argument is an array."""
        return not isinstance(self.annotation, Name)


class Constant(Node):
    """A compile-time constant.

    ``default`` is None when it must be given, an expression where it depends on sizes (:mod:`hkc.lang.defaults`);
    ``choices`` are the values that it may take, if it lists them.
    """

    name: str
    default: ConstantValue | Expression | None
    choices: tuple[ConstantValue, ...] = ()


class KernelDef(Node):
    """A kernel as written."""

    name: str
    parameters: tuple[Parameter, ...]
    constants: dict[str, Constant]
    grid: tuple[Expression, ...]
    waves: tuple[Expression, ...] | None
    body: tuple[Statement, ...]

    __hash__ = None  # type: ignore[assignment]


def children(node: Node) -> Iterator[Node]:
    """The nodes directly inside ``node``."""
    for name in node.fields:
        value = getattr(node, name)
        if isinstance(value, Node):
            yield value
        elif isinstance(value, tuple):
            yield from (v for v in value if isinstance(v, Node))


def check_depth(roots: tuple[Node, ...]) -> None:
    """Raises HkcError where the nesting is deeper than :data:`MAX_DEPTH`."""
    stack: list[tuple[Node, int]] = [(root, 0) for root in reversed(roots)]
    while stack:
        node, depth = stack.pop()
        if depth > MAX_DEPTH:
            raise HkcError(
                "this is nested too deeply",
                node.span,
                expected=f"at most {MAX_DEPTH} levels",
                hint="give parts of it names of their own",
            )
        stack += [(child, depth + 1) for child in reversed(list(children(node)))]
