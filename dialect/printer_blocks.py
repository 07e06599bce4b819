"""Statements of the `.tile` printer: assignments, loops and ifs, rebuilt from values in SSA form.

The text is made while following what each variable holds, as the parser will. Where a value is still needed when its
name is assigned anew, a second name for it (`x_1 = x`) is written first, which the parser turns into nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mlir import ir

from hkc.dialect.irdl import get_int, get_str
from hkc.dialect.locations import name_of
from hkc.dialect.printer_expr import ExpressionPrinter
from hkc.dialect.printer_names import Names, TextScope, result_names, usable
from hkc.dialect.printer_plan import Plan, layout_of
from hkc.dialect.types import LdsType, TileType, TokenType, try_parse_type

_NO_TEXT = frozenset({"func.return", "scf.yield"})


class BlockPrinter:
    """Prints the blocks of one kernel."""

    def __init__(self, plan: Plan, names: Names) -> None:
        self.plan = plan
        self.names = names
        self.scope = TextScope()
        self.expressions = ExpressionPrinter(plan, self.variable, lambda name: name in self.scope.holds)

    def variable(self, value: ir.Value) -> str:
        """A name that holds the value."""
        return next(self.scope.variables(value), None) or self.names.fresh("unknown")

    def block(self, block: ir.Block) -> Iterator[str]:
        """The lines of a block, without those that its terminator needs."""
        for op in block.operations:
            operation = op.operation
            if operation.name in _NO_TEXT or operation in self.plan.inlined or self.plan.free(operation):
                continue
            yield from self.statement(operation)

    def statement(self, op: ir.Operation) -> Iterator[str]:
        if op.name == "scf.for" and len(op.regions[0].blocks) == 1:
            yield from self.loop(op)
        elif op.name == "scf.if":
            yield from self.choice(op)
        elif op.name == "tile.store":
            yield self.store(op)
        elif op.regions:
            yield from self.foreign(op)
        else:
            yield from self.assignment(op)

    def store(self, op: ir.Operation) -> str:
        tile, view, *offsets = op.operands
        type_ = try_parse_type(tile.type)
        assert isinstance(type_, TileType)
        target = self.expressions.slices(view, offsets, type_.shape)
        return f"{target} = {self.expressions.splat(tile, op, 0)}"

    def assignment(self, op: ir.Operation) -> Iterator[str]:
        text = self.expressions.operation(op)[0]
        results = list(op.results)
        unused_token = len(results) == 1 and not list(results[0].uses) and name_of(op) is None
        if not results or (unused_token and isinstance(try_parse_type(results[0].type), TokenType)):
            yield text
            return
        given: Sequence[str | None] = result_names(op) or [None] * len(results)
        position = self.plan.index[op]
        chosen = [self._choose(v, n) for v, n in zip(results, given, strict=True)]
        if self.plan.lowered:
            chosen = [self._unneeded(name, position, self.plan.block_end[op]) for name in chosen]
        for name in chosen:
            yield from self.keep(name, position, self.plan.block_end[op], chosen)
        augmented = self.expressions.augmented(op, chosen[0]) if len(chosen) == 1 else None
        line = augmented or f"{', '.join(chosen)} = {text}"
        for name, value in zip(chosen, results, strict=True):
            self.scope.bind(name, value)
        yield line + self._layout_comment(results)

    def _layout_comment(self, results: Sequence[ir.Value]) -> str:
        layouts = [layout for v in results if (layout := layout_of(v))]
        return f"  # {', '.join(layouts)}" if layouts else ""

    def _choose(self, value: ir.Value, given: str | None) -> str:
        """A name for a new value: the source's, the variable that it is for, or a fresh one."""
        name = given or self._purpose(value)
        if name is None or not usable(name):
            return self.names.fresh(_base(value))
        return self.names.fresh(name) if name in self.scope.barred else name

    def _purpose(self, value: ir.Value) -> str | None:
        """The variable of a loop or an if that a nameless value is for."""
        users = [u.owner.operation for u in value.uses]
        if len(users) == 1 and users[0].name == "scf.yield":
            parent = users[0].parent.operation
            index = list(users[0].operands).index(value)
            return self._result_name(parent, index)
        if len(users) == 1 and users[0].name == "scf.for" and value in list(users[0].operands)[3:]:
            return self._result_name(users[0], list(users[0].operands).index(value) - 3)
        return None

    def _result_name(self, op: ir.Operation, index: int) -> str | None:
        names = result_names(op)
        if op.name == "scf.for" and names is None:
            return name_of(op.regions[0].blocks[0].arguments[index + 1])
        if names is None and op.name == "scf.if":
            return self._yielded_name(op, index)
        return names[index] if names and index < len(names) else None

    @staticmethod
    def _yielded_name(op: ir.Operation, index: int) -> str | None:
        for region in op.regions:
            for block in region.blocks:
                value = list(block.operations)[-1].operation.operands[index]
                if not isinstance(value, ir.BlockArgument) and (name := name_of(value)):
                    return name
        return None

    def _unneeded(self, name: str, after: int, until: int) -> str:
        """The name, or a fresh one while it holds what later text needs: passes give many values one name."""
        old = self.scope.holds.get(name)
        needed = old is not None and self.plan.used_between(old, after, until)
        return self.names.fresh(name) if needed else name

    def keep(self, name: str, after: int, until: int, losing: Sequence[str]) -> Iterator[str]:
        """A second name for what ``name`` holds, if that is needed in the given part of the text and no name
        but those in ``losing``, which are about to be assigned, holds it."""
        old = self.scope.holds.get(name)
        if old is None or not self.plan.used_between(old, after, until):
            return
        if any(other not in losing for other in self.scope.variables(old)):
            return
        second = self.names.fresh(name)
        self.scope.bind(second, old)
        yield f"{second} = {name}"

    # Loops

    def loop(self, op: ir.Operation) -> Iterator[str]:
        low, high, step, *inits = op.operands
        body = op.regions[0].blocks[0]
        arguments, yields = list(body.arguments)[1:], list(list(body.operations)[-1].operation.operands)
        bounds = self._bounds(low, high, step)
        carried = self._carried_names(op, len(arguments))
        position, until = self.plan.index[op], self.plan.block_end[op]
        for name, init in zip(carried, inits, strict=True):
            if not self.scope.has(name, init):
                text = self.expressions.text(init)
                yield from self.keep(name, position - 1, until, [name])
                self.scope.bind(name, init)
                yield f"{name} = {text}"
        for name in carried:
            yield from self.keep(name, position, until, carried)
        variable = self._loop_variable(body.arguments[0], carried)
        yield f"for {variable} in range({bounds}{self._loop_options(op)}) {{"
        outer = self.scope
        self.scope = outer.inner(outer.barred.union(outer.holds) - set(carried))
        self.scope.bind(variable, body.arguments[0])
        for name, argument in zip(carried, arguments, strict=True):
            self.scope.bind(name, argument)
        self.scope.assigned.clear()
        lines = list(self.block(body))
        lines += self._finish(carried, yields, all_assigned=True)
        yield from ("    " + line for line in lines or ["pass"])
        yield "}" + self._layout_comment(list(op.results))
        self.scope = outer
        for name, result in zip(carried, op.results, strict=True):
            self.scope.bind(name, result)

    def _bounds(self, low: ir.Value, high: ir.Value, step: ir.Value) -> str:
        text = self.expressions.text
        parts = [text(low), text(high)]
        if text(step) != "1":
            parts.append(text(step))
        return ", ".join(parts)

    def _loop_options(self, op: ir.Operation) -> str:
        stages, schedule = get_int(op, "tile.stages"), get_str(op, "tile.schedule")
        load_waves = get_int(op, "tile.load_waves")
        options = f", stages={stages}" if stages is not None else ""
        options += f', schedule="{schedule}"' if schedule is not None else ""
        return options + (f", load_waves={load_waves}" if load_waves is not None else "")

    def _carried_names(self, op: ir.Operation, count: int) -> list[str]:
        chosen: list[str] = []
        for index in range(count):
            name = self._result_name(op, index)
            if name is None or not usable(name) or name in chosen or name in self.scope.barred:
                name = self.names.fresh(name if name and usable(name) else _base(op.results[index]))
            chosen.append(name)
        return chosen

    def _loop_variable(self, value: ir.Value, carried: Sequence[str]) -> str:
        name = name_of(value)
        if name is None or not usable(name) or name in self.scope.holds or name in self.scope.barred:
            return self.names.fresh(name if name and usable(name) else "i")
        return self.names.fresh(name) if name in carried else name

    def _finish(self, names: Sequence[str], values: Sequence[ir.Value], all_assigned: bool) -> list[str]:
        """Assignments that leave each name with its value at the end of a block."""
        pending = [
            (n, v)
            for n, v in zip(names, values, strict=True)
            if not self.scope.has(n, v) or (all_assigned and n not in self.scope.assigned)
        ]
        texts = [self.expressions.text(v) for _, v in pending]
        targets = [n for n, _ in pending]
        for name, value in pending:
            self.scope.bind(name, value)
        if len(pending) > 1 and any(t in targets and t != n for t, n in zip(texts, targets, strict=True)):
            return [f"{', '.join(targets)} = {', '.join(texts)}"]
        return [f"{n} = {t}" for n, t in zip(targets, texts, strict=True)]

    # Ifs

    def choice(self, op: ir.Operation) -> Iterator[str]:
        test = self.expressions.text(op.operands[0])
        names = self._carried_names(op, len(op.results))
        for name in names:
            yield from self.keep(name, self.plan.last[op], self.plan.block_end[op], names)
        outer = self.scope
        barred = outer.barred.union(outer.holds) - set(names)
        branches: list[list[str]] = []
        assigned: set[str] = set()
        for region in op.regions:
            if not len(region.blocks):
                continue
            block = region.blocks[0]
            self.scope = outer.inner(barred | (assigned - set(names)))
            lines = list(self.block(block))
            values = list(list(block.operations)[-1].operation.operands)
            lines += self._finish(names, values, all_assigned=False)
            assigned |= self.scope.assigned
            branches.append(lines)
        # The parser takes an if's results from what its branches assign.
        branches[0] += [f"{n} = {n}" for n in names if n not in assigned]
        self.scope = outer
        for name, result in zip(names, op.results, strict=True):
            self.scope.bind(name, result)
        yield f"if {test} {{"
        yield from ("    " + line for line in branches[0] or ["pass"])
        if len(branches) > 1 and branches[1]:
            yield "} else {"
            yield from ("    " + line for line in branches[1])
        yield "}"

    # Ops of other dialects with regions

    def foreign(self, op: ir.Operation) -> Iterator[str]:
        text = self.expressions.generic(op)
        names = [self._choose(v, None) for v in op.results]
        yield f"{', '.join(names)}{' = ' if names else ''}{text[0]} {{"
        outer = self.scope
        for region in op.regions:
            for block in region.blocks:
                self.scope = outer.inner(outer.barred.union(outer.holds))
                for argument in block.arguments:
                    self.scope.bind(self.names.fresh(_base(argument)), argument)
                yield from ("    " + line for line in self.block(block))
        self.scope = outer
        for name, value in zip(names, op.results, strict=True):
            self.scope.bind(name, value)
        yield "}"


def _base(value: ir.Value) -> str:
    """What a nameless value is called."""
    type_ = try_parse_type(value.type)
    if isinstance(type_, TokenType):
        return "token"
    if isinstance(type_, LdsType):
        return "slot"
    return "t" if isinstance(type_, TileType) else "v"
