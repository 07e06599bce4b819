"""Expressions of the `.tile` printer: an op's text, with the parentheses that it needs and no more."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable

from mlir import ir

from hkc.dialect.irdl import get_int, get_ints, get_str
from hkc.dialect.ops import op_class
from hkc.dialect.printer_plan import Plan, defining
from hkc.dialect.types import LdsType, TileType, ViewType, parse_type, try_parse_type
from hkc.dtypes import DType

# Binding strengths, as in Python.
CONDITIONAL, OR, AND, NOT, COMPARISON, SUM, TERM, UNARY, POSTFIX, ATOM = range(10)

Text = tuple[str, int]

_BINARY: dict[str, tuple[str, int]] = {
    **dict.fromkeys(("arith.addi", "arith.addf", "tile.add"), ("+", SUM)),
    **dict.fromkeys(("arith.subi", "arith.subf", "tile.sub"), ("-", SUM)),
    **dict.fromkeys(("arith.muli", "arith.mulf", "tile.mul"), ("*", TERM)),
    **dict.fromkeys(("arith.divf", "tile.div"), ("/", TERM)),
    "arith.floordivsi": ("//", TERM),
}
_CALLS = {
    "arith.ceildivsi": "cdiv",
    **dict.fromkeys(("arith.minsi", "arith.minimumf"), "min"),
    **dict.fromkeys(("arith.maxsi", "arith.maximumf"), "max"),
    **{f"tile.{name}": name for name in ("abs", "exp", "exp2", "log", "log2", "sqrt", "rsqrt")},
    **{f"tile.{name}": name for name in ("tanh", "erf", "sigmoid", "silu", "gelu")},
}
_CONVERSIONS = frozenset(
    f"arith.{n}" for n in ("extsi", "extui", "trunci", "sitofp", "uitofp", "fptosi", "extf", "truncf")
)
# arith.cmpi and arith.cmpf predicates: MLIR ArithBase.td, CmpIPredicateAttr and CmpFPredicateAttr.
_INT_PREDICATES = {0: "==", 1: "!=", 2: "<", 3: "<=", 4: ">", 5: ">="}
_FLOAT_PREDICATES = {1: "==", 2: ">", 3: ">=", 4: "<", 5: "<=", 13: "!="}
_TILE_PREDICATES = {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!="}


def float_text(value: float, dtype: str) -> str:
    """A float literal: the shortest that gives the same f32, all digits for other types."""
    if math.isnan(value):
        return "nan"
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    text = repr(value)
    if dtype == "f32":
        for digits in range(1, 10):
            short = float(f"{value:.{digits}g}")
            try:
                same = struct.pack("f", short) == struct.pack("f", value)
            except OverflowError:
                continue
            if same:
                text = repr(short)
                break
    return text if "." in text or "e" in text else text + ".0"


class ExpressionPrinter:
    """Writes ops as expressions; ``variable`` gives the name that holds a value, ``shadowed`` tells whether a
    dimension's symbol is a variable's name by now."""

    def __init__(self, plan: Plan, variable: Callable[[ir.Value], str], shadowed: Callable[[str], bool]) -> None:
        self.plan = plan
        self.variable = variable
        self.shadowed = shadowed

    def text(self, value: ir.Value, level: int = CONDITIONAL) -> str:
        """A value's text, in parentheses if it binds less than ``level``."""
        op = defining(value)
        if op is None or not (op in self.plan.inlined or self.plan.free(op)):
            return self.variable(value)
        return _wrap(self.operation(op), level)

    def operation(self, op: ir.Operation) -> Text:
        """The text of an op that has one, and how strongly it binds."""
        name = op.name
        if op in self.plan.modulo:
            a, b = self.plan.modulo[op]
            return f"{self.text(a, TERM)} % {self._other(b, a, UNARY)}", TERM
        if name in _BINARY:
            return self._binary(op)
        if name in _CALLS:
            first = op.operands[0]
            rest = [self._other(v, first, CONDITIONAL) for v in list(op.operands)[1:]]
            left = self._other(first, op.operands[-1], CONDITIONAL) if rest else self.text(first)
            return f"{_CALLS[name]}({', '.join([left, *rest])})", POSTFIX
        if name in _CONVERSIONS and (target := try_parse_type(op.results[0].type)) is not None:
            return f"{self.text(op.operands[0], POSTFIX)}.to({target})", POSTFIX
        method = getattr(self, "_" + name.replace(".", "_"), None)
        return method(op) if method is not None else self.generic(op)

    def augmented(self, op: ir.Operation, name: str) -> str | None:
        """``name += ...`` when the op's left operand is what ``name`` holds, else None."""
        if op in self.plan.modulo:
            (left, right), sign = self.plan.modulo[op], "%"
        elif op.name in _BINARY:
            (left, right), sign = op.operands, _BINARY[op.name][0]
        elif op.name == "tile.mma":
            left, right, sign = op.operands[2], None, "+"
        else:
            return None
        made = defining(left)
        if made is not None and (made in self.plan.inlined or self.plan.free(made)):
            return None
        if self.variable(left) != name:
            return None
        if right is None:
            a, b = list(op.operands)[:2]
            rest = f"{self.text(a, TERM)} @ {self.text(b, UNARY)}"
        elif op.name.startswith("tile."):
            rest = self.splat(right, op, CONDITIONAL)
        else:
            rest = self._other(right, left, CONDITIONAL)
        return f"{name} {sign}= {rest}"

    def generic(self, op: ir.Operation) -> Text:
        """``dialect.op(operands) {attributes}`` for ops that the language has no words for."""
        operands = ", ".join(self._bare(v) for v in op.operands)
        return f"{op.name}({operands}){attributes_text(op)}", POSTFIX

    def _bare(self, value: ir.Value) -> str:
        op = defining(value)
        literal = op is not None and op.name == "arith.constant" and self.plan.free(op)
        return self.constant(op, bare=True)[0] if literal and op is not None else self.text(value)

    # Constants

    def _arith_constant(self, op: ir.Operation) -> Text:
        return self.constant(op, bare=False)

    def constant(self, op: ir.Operation, bare: bool) -> Text:
        """A literal; with its type unless that is the literal's own, or (``bare``) clear from the other side."""
        attribute, type_ = op.attributes["value"], str(op.results[0].type)
        text, plain = None, type_ in ("i32", "f32", "i1")
        if type_ == "i1":
            text = "True" if ir.IntegerAttr(attribute).value else "False"
        elif isinstance(attribute, ir.IntegerAttr):
            text = str(attribute.value)
        elif isinstance(attribute, ir.FloatAttr):
            text = float_text(attribute.value, type_)
        if text is None:
            return f"arith.constant({attribute})", POSTFIX
        if not plain and not bare:
            dtype = try_parse_type(op.results[0].type)
            return f"({text}).to({dtype if dtype is not None else type_})", POSTFIX
        return text, UNARY if text.startswith("-") else ATOM

    def _other(self, value: ir.Value, beside: ir.Value, level: int) -> str:
        """An operand whose type the value ``beside`` it tells."""
        op, other = defining(value), defining(beside)
        bare = not (other is not None and other.name == "arith.constant" and self.plan.free(other))
        if bare and op is not None and op.name == "arith.constant" and self.plan.free(op):
            return _wrap(self.constant(op, bare=True), level)
        return self.text(value, level)

    # Arithmetic

    def _binary(self, op: ir.Operation) -> Text:
        sign, level = _BINARY[op.name]
        left, right = op.operands
        if op.name == "arith.subi" and self._is_zero(left):
            return f"-{self.text(right, UNARY)}", UNARY
        if op.name.startswith("tile."):
            return f"{self.splat(left, op, level)} {sign} {self.splat(right, op, level + 1)}", level
        return f"{self._other(left, right, level)} {sign} {self._other(right, left, level + 1)}", level

    def _is_zero(self, value: ir.Value) -> bool:
        op = defining(value)
        return (
            op is not None
            and op.name == "arith.constant"
            and self.plan.free(op)
            and ir.IntegerAttr(op.attributes["value"]).value == 0
        )

    def splat(self, value: ir.Value, user: ir.Operation, level: int) -> str:
        """An operand of a tile op; a splatted scalar as the scalar."""
        op = defining(value)
        if op is not None and op in self.plan.scalar_splats and op in self.plan.inlined:
            scalar = op.operands[0]
            inner = defining(scalar)
            if inner is not None and inner.name == "arith.constant" and self.plan.free(inner):
                return _wrap(self.constant(inner, bare=True), level)
            return self.text(scalar, level)
        if op is not None and op in self.plan.met and op in self.plan.inlined:
            if get_int(op, "axis") and self.plan.meets_a_tile(op, user):
                return self.text(op.operands[0], level)
            return f"{'row' if get_int(op, 'axis') else 'col'}({self.text(op.operands[0])})"
        return self.text(value, level)

    def _arith_negf(self, op: ir.Operation) -> Text:
        return f"-{self.text(op.operands[0], UNARY)}", UNARY

    def _tile_neg(self, op: ir.Operation) -> Text:
        return f"-{self.text(op.operands[0], UNARY)}", UNARY

    def _logical(self, op: ir.Operation, word: str, level: int) -> Text:
        if str(op.results[0].type) != "i1":
            return self.generic(op)
        left, right = op.operands
        return f"{self.text(left, level)} {word} {self.text(right, level + 1)}", level

    def _arith_andi(self, op: ir.Operation) -> Text:
        return self._logical(op, "and", AND)

    def _arith_ori(self, op: ir.Operation) -> Text:
        return self._logical(op, "or", OR)

    def _arith_xori(self, op: ir.Operation) -> Text:
        other = defining(op.operands[1])
        if str(op.results[0].type) == "i1" and other is not None and other.name == "arith.constant":
            return f"not {self.text(op.operands[0], NOT)}", NOT
        return self.generic(op)

    def _arith_select(self, op: ir.Operation) -> Text:
        test, then, otherwise = op.operands
        if isinstance(try_parse_type(then.type), DType):
            left, right = self._other(then, otherwise, OR), self._other(otherwise, then, CONDITIONAL)
            return f"{left} if {self.text(test, OR)} else {right}", CONDITIONAL
        return self.generic(op)

    def _compare(self, op: ir.Operation, sign: str | None) -> Text:
        if sign is None:
            return self.generic(op)
        left, right = op.operands
        return f"{self._other(left, right, SUM)} {sign} {self._other(right, left, SUM)}", COMPARISON

    def _arith_cmpi(self, op: ir.Operation) -> Text:
        return self._compare(op, _INT_PREDICATES.get(get_int(op, "predicate") or 0))

    def _arith_cmpf(self, op: ir.Operation) -> Text:
        return self._compare(op, _FLOAT_PREDICATES.get(get_int(op, "predicate") or 0))

    def _tile_compare(self, op: ir.Operation) -> Text:
        sign = _TILE_PREDICATES[get_str(op, "predicate") or ""]
        left, right = op.operands
        return f"{self.splat(left, op, SUM)} {sign} {self.splat(right, op, SUM)}", COMPARISON

    # Tiles

    def _tile_min(self, op: ir.Operation) -> Text:
        return self._extreme(op, "min")

    def _tile_max(self, op: ir.Operation) -> Text:
        return self._extreme(op, "max")

    def _tile_fmin(self, op: ir.Operation) -> Text:
        return self._extreme(op, "fmin")

    def _tile_fmax(self, op: ir.Operation) -> Text:
        return self._extreme(op, "fmax")

    def _tile_fma(self, op: ir.Operation) -> Text:
        return self._extreme(op, "fma")

    def _extreme(self, op: ir.Operation, name: str) -> Text:
        return f"{name}({', '.join(self.splat(v, op, CONDITIONAL) for v in op.operands)})", POSTFIX

    def _tile_select(self, op: ir.Operation) -> Text:
        test, then, otherwise = op.operands
        sides = (self.text(test), self.splat(then, op, CONDITIONAL), self.splat(otherwise, op, CONDITIONAL))
        return f"where({', '.join(sides)})", POSTFIX

    def _tile_full(self, op: ir.Operation) -> Text:
        type_ = parse_type(op.results[0].type)
        assert isinstance(type_, TileType)
        shape = ", ".join(map(str, (*type_.shape, type_.dtype)))
        inner = defining(op.operands[0])
        if inner is not None and inner.name == "arith.constant" and self.plan.free(inner):
            text, _ = self.constant(inner, bare=True)
            if text in ("0", "0.0", "False"):
                return f"zeros({shape})", POSTFIX
            return f"full({text}, {shape})", POSTFIX
        return f"full({self.text(op.operands[0])}, {shape})", POSTFIX

    def _tile_reduce(self, op: ir.Operation) -> Text:
        name = f"{'row' if get_int(op, 'axis') else 'col'}_{get_str(op, 'kind')}"
        return f"{name}({self.text(op.operands[0])})", POSTFIX

    def _tile_narrow(self, op: ir.Operation) -> Text:
        type_ = parse_type(op.results[0].type)
        assert isinstance(type_, TileType)
        return f"narrow({self.text(op.operands[0])}, {type_.dtype})", POSTFIX

    def _tile_rescale(self, op: ir.Operation) -> Text:
        source, factors = op.operands
        return f"rescale({self.text(source)}, {self.text(factors)})", POSTFIX

    def _tile_broadcast(self, op: ir.Operation) -> Text:
        axis, type_ = get_int(op, "axis") or 0, parse_type(op.results[0].type)
        assert isinstance(type_, TileType)
        return f"{'row' if axis else 'col'}({self.text(op.operands[0])}, {type_.shape[1 - axis]})", POSTFIX

    def _tile_index(self, op: ir.Operation) -> Text:
        type_ = parse_type(op.results[0].type)
        assert isinstance(type_, TileType)
        name = "index" if type_.rank == 1 else ("col_index" if get_int(op, "axis") else "row_index")
        return f"{name}({', '.join(map(str, type_.shape))})", POSTFIX

    def _tile_transpose(self, op: ir.Operation) -> Text:
        return f"{self.text(op.operands[0], POSTFIX)}.T", POSTFIX

    def _tile_cast(self, op: ir.Operation) -> Text:
        type_ = parse_type(op.results[0].type)
        assert isinstance(type_, TileType)
        return f"{self.text(op.operands[0], POSTFIX)}.to({type_.dtype})", POSTFIX

    def _tile_mma(self, op: ir.Operation) -> Text:
        a, b, acc = op.operands
        product = f"{self.text(a, TERM)} @ {self.text(b, UNARY)}"
        made = defining(acc)
        if made is None or made not in self.plan.inlined:
            return f"{self.text(acc, SUM)} + {product}", SUM
        if self.plan.is_product(op):
            return product, TERM
        inputs = [d for v in (a, b) if (d := defining(v)) is not None and d in self.plan.inlined]
        if inputs and self.plan.index[made] > self.plan.index[inputs[-1]] and not self.plan.is_product(made):
            return f"{product} + {self.text(acc, TERM)}", SUM
        return f"{self.text(acc, SUM)} + {product}", SUM

    # Views, LDS, synchronization

    def _tile_block_id(self, op: ir.Operation) -> Text:
        return f"block({get_int(op, 'axis')})", POSTFIX

    def _tile_ordered_block(self, op: ir.Operation) -> Text:
        given = [(n, get_int(op, n)) for n in ("chunk", "window")]
        options = "".join(f", {name}={size}" for name, size in given if size is not None)
        return f"ordered_block({get_int(op, 'axis')}{options})", POSTFIX

    def _tile_wave_id(self, op: ir.Operation) -> Text:
        return "wave()", POSTFIX

    def _tile_aligned(self, op: ir.Operation) -> Text:
        return f"aligned({self.text(op.operands[0])})", POSTFIX

    def _tile_dim(self, op: ir.Operation) -> Text:
        view, axis = op.operands[0], get_int(op, "axis") or 0
        type_ = parse_type(view.type)
        symbol = type_.dims[axis] if isinstance(type_, ViewType) else None
        if isinstance(symbol, str) and not self.shadowed(symbol):
            return symbol, ATOM
        return f"{self.text(view, POSTFIX)}.shape[{axis}]", POSTFIX

    def slices(self, view: ir.Value, offsets: list[ir.Value], extents: tuple[int, ...]) -> str:
        """``A[m : m + 128, k : k + 64]``; with indices where the view is part of another, ``A[b, m : m + 128]``."""
        parts = []
        for offset, extent in zip(offsets, extents, strict=True):
            made = defining(offset)
            if made is not None and made.name == "arith.constant" and self.plan.free(made):
                low = ir.IntegerAttr(made.attributes["value"]).value
                parts.append(f"{low} : {low + extent}")
            else:
                parts.append(f"{self.text(offset, SUM)} : {self.text(offset, SUM)} + {extent}")
        part = defining(view)
        if part is not None and part.name == "tile.subview" and part in self.plan.inlined:
            view, *indices = list(part.operands)
            for axis, index in zip(get_ints(part, "axes") or (), indices, strict=True):
                parts.insert(axis, self.text(index))
        return f"{self.text(view, POSTFIX)}[{', '.join(parts)}]"

    def _tile_subview(self, op: ir.Operation) -> Text:
        view, *indices = list(op.operands)
        if get_ints(op, "axes") != tuple(range(len(indices))):
            return self.generic(op)
        return f"{self.text(view, POSTFIX)}[{', '.join(self.text(i) for i in indices)}]", POSTFIX

    def _tile_load(self, op: ir.Operation) -> Text:
        type_ = parse_type(op.results[0].type)
        assert isinstance(type_, TileType)
        return self.slices(op.operands[0], list(op.operands)[1:], type_.shape), POSTFIX

    def _tile_lds_alloc(self, op: ir.Operation) -> Text:
        type_ = parse_type(op.results[0].type)
        assert isinstance(type_, LdsType)
        return f"lds({', '.join(map(str, (*type_.shape, type_.dtype)))})", POSTFIX

    def _tile_lds_slot(self, op: ir.Operation) -> Text:
        return f"{self.text(op.operands[0], POSTFIX)}[{self.text(op.operands[1])}]", POSTFIX

    def _tile_lds_read(self, op: ir.Operation) -> Text:
        return f"read({self.text(op.operands[0])})", POSTFIX

    def _tile_lds_write(self, op: ir.Operation) -> Text:
        return f"write({self.text(op.operands[0])}, {self.text(op.operands[1])})", POSTFIX

    def _tile_copy(self, op: ir.Operation) -> Text:
        cls = op_class(op)
        assert cls is not None
        groups = cls.groups(op)
        slot = groups["slot"][0]
        type_ = parse_type(slot.type)
        assert isinstance(type_, LdsType)
        source = self.slices(groups["view"][0], groups["offsets"], type_.shape)
        guard = f", when={self.text(groups['when'][0])}" if groups["when"] else ""
        return f"copy({source}, {self.text(slot)}{guard})", POSTFIX

    def _tile_wait(self, op: ir.Operation) -> Text:
        return f"wait({', '.join(self.text(t) for t in op.operands)})", POSTFIX

    def _tile_waitcnt(self, op: ir.Operation) -> Text:
        counts = [(n, get_int(op, n)) for n in ("vmcnt", "lgkmcnt")]
        return f"waitcnt({', '.join(f'{n}={c}' for n, c in counts if c is not None)})", POSTFIX

    def _tile_barrier(self, op: ir.Operation) -> Text:
        return "barrier()", POSTFIX

    def _tile_set_priority(self, op: ir.Operation) -> Text:
        return f"set_priority({get_int(op, 'level')})", POSTFIX

    def _tile_schedule_barrier(self, op: ir.Operation) -> Text:
        return "schedule_barrier()", POSTFIX

    def _tile_interleave(self, op: ir.Operation) -> Text:
        return "interleave()", POSTFIX


def attributes_text(op: ir.Operation, known: tuple[str, ...] = ()) -> str:
    """`` {name = value, ...}`` of the attributes not in ``known``."""
    entries = []
    for named in op.attributes:
        name = named if isinstance(named, str) else named.name
        if name not in known and name != "operandSegmentSizes":
            entries.append(f"{name} = {op.attributes[name]}")
    return f" {{{', '.join(entries)}}}" if entries else ""


def _wrap(text: Text, level: int) -> str:
    return f"({text[0]})" if text[1] < level else text[0]
