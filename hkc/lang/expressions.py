"""Evaluation of expressions: constants fold, the rest becomes ops."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from hkc.errors import HkcError
from hkc.lang import consteval, functions, linear, memory, operations, syntax
from hkc.lang.emit import CURSOR, at
from hkc.lang.scope import Scope
from hkc.lang.values import Lds, Scalar, Tile, View, describe_type


class Expressions:
    """Evaluates syntax in ``scope``.

    ``axes`` gives for each dimension symbol the argument and axis that stand for it.
    """

    def __init__(self, axes: Mapping[str, tuple[int, int]]) -> None:
        self.axes = axes
        self.arguments: list[Any] = []
        self.scope = Scope()

    def value(self, node: syntax.Expression) -> Any:
        """The value of an expression: a constant, a value, or None for a call that gives none."""
        handler = _HANDLERS[type(node)]
        return handler(self, node)

    def static_lookup(self, node: syntax.Name) -> object:
        """A name's value if it is a constant; raises NotConstant otherwise."""
        binding = self.scope.names.get(node.name)
        if binding is None:
            if node.name in consteval.NAMED and node.name not in self.axes and node.name not in self.scope.hidden:
                return consteval.NAMED[node.name]
        elif operations.is_constant(binding.value):
            return binding.value
        raise consteval.NotConstant(node)

    def constant(self, node: syntax.Expression) -> Any:
        """The value of an expression that must be a constant."""
        try:
            return consteval.evaluate(node, self.static_lookup)
        except consteval.NotConstant as error:
            raise HkcError("this must be known at compile time", error.node.span) from None

    def condition(self, node: syntax.Expression) -> bool | Scalar:
        """A test."""
        value = self.value(node)
        CURSOR.span = node.span
        return operations.condition(value)

    def store(self, target: syntax.Index, value: Any) -> None:
        """``A[...] = value``."""
        if value is None:
            raise HkcError("the right side has no value", target.span)
        base = self.value(target.base)
        if not isinstance(base, View):
            hint = "use write(x, s[0]) for LDS" if isinstance(base, Lds) else None
            raise HkcError(
                f"{describe_type(base)} can't be stored to",
                target.span,
                expected="a slice of a view",
                hint=hint,
            )
        part = self.region(target, base)
        CURSOR.span = target.span
        memory.store(part, value)

    def region(self, node: syntax.Index, view: View) -> memory.Region:
        """A slice of a view: its offsets become values, its extents are constants. Axes without a slice are indexed,
        before the slices are looked at."""
        if len(node.items) != view.type.rank:
            CURSOR.span = node.span
            raise memory.wrong_count(view, len(node.items))
        indexed = [axis for axis, item in enumerate(node.items) if not isinstance(item, syntax.Slice)]
        if indexed:
            view = self.part(node, view, indexed)
        slices = [item for item in node.items if isinstance(item, syntax.Slice)]
        offsets, extents = [], []
        for axis, item in enumerate(slices):
            offset, extent = self._slice(item, view, axis)
            offsets.append(offset)
            extents.append(extent)
        CURSOR.span = node.span
        return memory.region(view, offsets, extents)

    def part(self, node: syntax.Index, view: View, axes: Sequence[int]) -> View:
        """The view at the node's indices along ``axes``."""
        indices = []
        for axis in axes:
            item = node.items[axis]
            assert not isinstance(item, syntax.Slice)
            index = self.value(item)
            with at(item.span):
                indices.append(operations.as_i32(index, "an index of a view") if index is None else index)
        CURSOR.span = node.span
        return memory.subview(view, axes, indices)

    def _slice(self, item: syntax.Slice, view: View, axis: int) -> tuple[Any, int]:
        if item.step is not None:
            raise HkcError("a slice of a view has no step", item.step.span)
        size = view.type.dims[axis]
        low = item.low if item.low is not None else syntax.Literal(item.span, 0)
        high = item.high
        if high is None and isinstance(size, int):
            high = syntax.Literal(item.span, size)
        extent = None if high is None else linear.difference(high, low, self.static_lookup)
        if extent is None:
            raise HkcError(
                "the extent of this slice is not known at compile time",
                item.span,
                expected="low : low + EXTENT, with a constant EXTENT",
            )
        offset = self.value(low)
        if operations.is_constant(offset) and type(offset) is int and offset < 0:
            raise HkcError("a slice can't begin before the view", low.span, got=str(offset))
        CURSOR.span = item.span
        return offset, memory.extent(extent, "the slice")

    # One method a kind of node

    def literal(self, node: syntax.Literal) -> Any:
        return node.value

    def name(self, node: syntax.Name) -> Any:
        name = node.name
        if (binding := self.scope.names.get(name)) is not None:
            return binding.value
        if name in self.scope.hidden:
            what, span = self.scope.hidden[name]
            raise HkcError(
                f"{name} may be undefined here",
                node.span,
                hint=f"assign {name} before the {'loop' if what == 'loop' else 'if'}",
                notes=[(f"it is bound only inside a {what}", span)],
            )
        if name in self.axes:
            argument, axis = self.axes[name]
            CURSOR.span = node.span
            return memory.dim(self.arguments[argument], axis)
        if name in consteval.NAMED:
            return consteval.NAMED[name]
        known = [*self.scope.names, *self.axes, *consteval.NAMED]
        raise HkcError(f"unknown name {name}", node.span, hint=functions.suggestion(name, known))

    def unary(self, node: syntax.Unary) -> Any:
        value = self.value(node.operand)
        CURSOR.span = node.span
        return operations.unary(node.operator, value)

    def binary(self, node: syntax.Binary) -> Any:
        if node.operator in ("and", "or"):
            return self._logical(node)
        if node.operator == "+" and (_matmul(node.left) or _matmul(node.right)):
            return self._accumulate(node)
        left, right = self.value(node.left), self.value(node.right)
        CURSOR.span = node.span
        return operations.binary(node.operator, left, right)

    def _accumulate(self, node: syntax.Binary) -> Any:
        """``acc + a @ b`` (in either order) is one op."""
        if (product := _matmul(node.right)) is not None:
            acc = self.value(node.left)
            a, b = self.value(product.left), self.value(product.right)
        else:
            product = _matmul(node.left)
            assert product is not None
            a, b = self.value(product.left), self.value(product.right)
            acc = self.value(node.right)
        CURSOR.span = product.span
        if isinstance(acc, Tile):
            return operations.mma(a, b, acc)
        matmul = operations.binary("@", a, b)
        CURSOR.span = node.span
        sides = (acc, matmul) if product is node.right else (matmul, acc)
        return operations.binary("+", *sides)

    def _logical(self, node: syntax.Binary) -> Any:
        left = self.value(node.left)
        if operations.is_constant(left):
            with at(node.left.span):
                decided = operations.truth(left) == (node.operator == "or")
            if decided:
                return operations.truth(left)
            right = self.value(node.right)
            with at(node.right.span):
                return operations.condition(right)
        right = self.value(node.right)
        CURSOR.span = node.span
        if operations.is_constant(right):
            right = operations.truth(right)
        return operations.binary(node.operator, left, right)

    def conditional(self, node: syntax.Conditional) -> Any:
        test = self.condition(node.test)
        if isinstance(test, bool):
            return self.value(node.then if test else node.otherwise)
        then, otherwise = self.value(node.then), self.value(node.otherwise)
        CURSOR.span = node.span
        return operations.choose(test, then, otherwise)

    def call(self, node: syntax.Call) -> Any:
        if node.function == "range":
            raise HkcError("a range is no value", node.span, expected="for name in range(low, high, step)")
        if node.function not in functions.FUNCTIONS:
            raise functions.unknown_function(node.function, node.span)
        if node.function in ("zeros", "full", "lds") and node.arguments:
            self._element_type(node.arguments[-1])
        arguments = [self._argument(node, i) for i in range(len(node.arguments))]
        keywords: dict[str, Any] = {}
        for keyword in node.keywords:
            if keyword.name in keywords:
                raise HkcError(f"{keyword.name} is given twice", keyword.span)
            keywords[keyword.name] = self.value(keyword.value)
        CURSOR.span = node.span
        return functions.call(node.function, arguments, keywords)

    def _element_type(self, node: syntax.Expression) -> None:
        """Raises HkcError for an unknown name where an element type stands."""
        if isinstance(node, syntax.Name) and node.name not in {*self.scope.names, *self.axes, *consteval.NAMED}:
            if node.name not in self.scope.hidden:
                raise functions.unknown_dtype(node.name, node.span)

    def _argument(self, call: syntax.Call, index: int) -> Any:
        node = call.arguments[index]
        if call.function == "copy" and index == 0 and isinstance(node, syntax.Index):
            base = self.value(node.base)
            if isinstance(base, View):
                return self.region(node, base)
        value = self.value(node)
        if value is None:
            raise HkcError("this argument has no value", node.span)
        return value

    def method(self, node: syntax.MethodCall) -> Any:
        if node.method != "to" or len(node.arguments) != 1:
            hint = "write x.T" if node.method in ("T", "transpose") else functions.suggestion(node.method, ["to"])
            if node.method in functions.FUNCTIONS and not node.arguments:
                hint = f"write {node.method}(x)"
            raise HkcError(
                f"there is no method .{node.method}() like this", node.span, expected=".to(dtype)", hint=hint
            )
        self._element_type(node.arguments[0])
        base, dtype = self.value(node.base), self.value(node.arguments[0])
        CURSOR.span = node.span
        return operations.to(base, dtype)

    def attribute(self, node: syntax.Attribute) -> Any:
        if node.name == "T":
            base = self.value(node.base)
            CURSOR.span = node.span
            return operations.transpose(base)
        if node.name == "dtype":
            base = self._named(node)
            if isinstance(base, View | Tile | Lds):
                return base.dtype
            if isinstance(base, Scalar):
                return base.type
        if node.name == "shape":
            raise HkcError("a shape is used one axis at a time", node.span, expected="A.shape[0]")
        raise HkcError(
            f"there is no attribute .{node.name} of this",
            node.span,
            expected=".T, .dtype, .shape[axis], .to(dtype)",
            hint=functions.suggestion(node.name, ("T", "dtype", "shape", "to")),
        )

    def _named(self, node: syntax.Attribute) -> Any:
        """The value whose property is asked for; a name, so that asking computes nothing."""
        if not isinstance(node.base, syntax.Name):
            raise HkcError(f".{node.name} is asked of a name", node.span, hint="give the expression a name first")
        return self.value(node.base)

    def index(self, node: syntax.Index) -> Any:
        if isinstance(node.base, syntax.Attribute) and node.base.name == "shape":
            return self._shape(node, node.base)
        base = self.value(node.base)
        if isinstance(base, View):
            if len(node.items) < base.type.rank and not any(isinstance(i, syntax.Slice) for i in node.items):
                return self.part(node, base, range(len(node.items)))
            part = self.region(node, base)
            CURSOR.span = node.span
            return memory.load(part)
        if isinstance(base, Lds) and len(node.items) == 1 and not isinstance(node.items[0], syntax.Slice):
            index = self.value(node.items[0])
            CURSOR.span = node.span
            return operations.slot(base, index)
        hint = "slice the view instead, or store the tile to LDS" if isinstance(base, Tile) else None
        raise HkcError(f"{describe_type(base)} can't be indexed like this", node.span, hint=hint)

    def size_symbol(self, node: syntax.Expression) -> str | None:
        """The symbol of ``A.shape[axis]`` if that is what the node is."""
        if not (isinstance(node, syntax.Index) and isinstance(node.base, syntax.Attribute)):
            return None
        if node.base.name != "shape" or not isinstance(node.base.base, syntax.Name):
            return None
        size = self._size(node, node.base)
        return size if isinstance(size, str) else None

    def _shape(self, node: syntax.Index, shape: syntax.Attribute) -> Any:
        size = self._size(node, shape)
        if isinstance(size, int):
            return size
        argument, first = self.axes[size]
        CURSOR.span = node.span
        return memory.dim(self.arguments[argument], first)

    def _size(self, node: syntax.Index, shape: syntax.Attribute) -> int | str:
        """A symbol, or the size where it is a constant."""
        base = self._named(shape)
        axes = base.type.dims if isinstance(base, View) else base.shape if isinstance(base, Tile | Lds) else None
        if axes is None:
            raise HkcError(f"{describe_type(base)} has no shape", node.span)
        axis = None
        if len(node.items) == 1 and not isinstance(node.items[0], syntax.Slice):
            axis = self.constant(node.items[0])
        if type(axis) is not int or not -len(axes) <= axis < len(axes):
            raise HkcError("no such axis", node.span, expected=f"0 to {len(axes) - 1}")
        return axes[axis]


def _matmul(node: syntax.Expression) -> syntax.Binary | None:
    return node if isinstance(node, syntax.Binary) and node.operator == "@" else None


_HANDLERS: dict[type, Callable[[Expressions, Any], Any]] = {
    syntax.Literal: Expressions.literal,
    syntax.Name: Expressions.name,
    syntax.Unary: Expressions.unary,
    syntax.Binary: Expressions.binary,
    syntax.Conditional: Expressions.conditional,
    syntax.Call: Expressions.call,
    syntax.MethodCall: Expressions.method,
    syntax.Attribute: Expressions.attribute,
    syntax.Index: Expressions.index,
}
