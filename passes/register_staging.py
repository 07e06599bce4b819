"""Copies without LDS-direct loads: part of `insert-buffer-loads`.

Where the target can't load 16 bytes a lane straight into LDS, a copy becomes a buffer load into registers, and the
LDS write happens where its token is waited on; so the tile travels with the token, through loops too.
"""

from __future__ import annotations

from dataclasses import dataclass

from mlir import ir

from hkc.dialect.locations import place_of, span_of
from hkc.dialect.ops import BufferLoad, Copy, LdsSlot, LdsWrite, Wait
from hkc.dialect.types import TileType, TokenType, lds_type, try_parse_type
from hkc.dialect.verify import walk
from hkc.errors import HkcError
from hkc.passes import scalars as s
from hkc.passes.access import WHOLE
from hkc.passes.infer_layouts import Classes
from hkc.passes.lds_orientation import staged_type
from hkc.passes.rebuild import Rebuilder, kernel_of, rebuild_body
from hkc.passes.roles import Roles, copying_waves
from hkc.passes.staged import goes_direct
from hkc.targets import Target


@dataclass(frozen=True)
class Carried:
    """What a register-staged token stands for: a register tile on its way to a slot of an LDS allocation."""

    lds: ir.Value
    tile: TileType


def slot_source(slot: ir.Value) -> tuple[ir.Value, ir.Value]:
    """The allocation and index of an LDS slot."""
    owner = None if isinstance(slot, ir.BlockArgument) else slot.owner.operation
    if owner is None or owner.name != LdsSlot.name:
        raise HkcError("an LDS slot can't be carried", span_of(slot), hint="carry its index instead: s[i]")
    return owner.operands[0], owner.operands[1]


def _is_token(value: ir.Value) -> bool:
    return isinstance(try_parse_type(value.type), TokenType)


def _token_classes(function: ir.Operation) -> Classes:
    classes = Classes()
    for op in walk(function):
        groups: list[tuple[ir.Value, ...]] = []
        if op.name == "scf.for":
            block = op.regions[0].blocks[0]
            end = list(block.operations)[-1]
            groups = list(zip(list(op.operands)[3:], list(block.arguments)[1:], end.operands, op.results, strict=True))
        elif op.name == "scf.if" and op.results:
            ends = [list(region.blocks[0].operations)[-1] for region in op.regions]
            groups = list(zip(op.results, *(end.operands for end in ends), strict=True))
        for group in groups:
            if _is_token(group[0]):
                for other in group[1:]:
                    classes.unite(group[0], other)
    return classes


class _Stager(Rebuilder):
    def __init__(self, function: ir.Operation, roles: Roles, target: Target) -> None:
        super().__init__({Copy.name: _Stager.copy, Wait.name: _Stager.wait})
        self.roles, self.target = roles, target
        self.classes = _token_classes(function)
        self.carried: dict[ir.Value, Carried] = {}
        for op in walk(function):
            if op.name == Copy.name:
                self._learn(op)
        for value in list(self.carried):
            self._check_single_use(value)

    def _learn(self, op: ir.Operation) -> None:
        slot = Copy.groups(op)["slot"][0]
        lds, _ = slot_source(slot)
        type_ = lds_type(slot)
        waves = copying_waves(op, self.roles)
        if goes_direct(type_, waves, self.target):
            return
        carried = Carried(lds, staged_type(lds, waves, self.target))
        root, _ = self.classes.find(op.results[0])
        if self.carried.setdefault(root, carried) != carried:
            raise HkcError(
                "one token stands for copies to two LDS tiles",
                span_of(op),
                hint="carry one token for each LDS tile",
            )

    def _check_single_use(self, root: ir.Value) -> None:
        for value in {root, *self.classes.parent}:
            if _is_token(value) and self.classes.find(value)[0] == root and len(list(value.uses)) > 1:
                raise HkcError(
                    "a copy's token is used twice",
                    span_of(value),
                    hint="wait on each token once, and carry only tokens that were not waited on",
                )

    def staged(self, value: ir.Value) -> Carried | None:
        """What a token carries, None if it is a plain token."""
        return self.carried.get(self.classes.find(value)[0]) if _is_token(value) else None

    def convert(self, value: ir.Value) -> list[ir.Type]:
        carried = self.staged(value)
        return [carried.tile.mlir(), s.i32()] if carried else [value.type]

    def copy(self, op: ir.Operation) -> list[ir.Value]:
        carried = self.staged(op.results[0])
        if carried is None:
            return list(self.clone(op).results)
        groups = Copy.groups(op)
        _, index = slot_source(groups["slot"][0])
        when = [self.one(v) for v in groups["when"]]
        offsets = [self.one(v) for v in groups["offsets"]]
        tile = BufferLoad.build(self.one(groups["view"][0]), offsets, carried.tile, when[0] if when else None)
        if WHOLE in op.attributes:
            tile.owner.operation.attributes[WHOLE] = op.attributes[WHOLE]
        return [tile, self.one(index)]

    def wait(self, op: ir.Operation) -> None:
        tokens: list[ir.Value] = []
        for token in op.operands:
            carried = self.staged(token)
            if carried is None:
                tokens.append(self.one(token))
            else:
                tile, index = self.get(token)
                with place_of(op):
                    slot = LdsSlot.build(self.one(carried.lds), index)
                tokens.append(LdsWrite.build(tile, slot))
        Wait.build(tokens)


def stage_through_registers(module: ir.Module, roles: Roles, target: Target) -> None:
    """Rewrites every copy that can't go straight to LDS."""
    function = kernel_of(module)
    stager = _Stager(function, roles, target)
    if stager.carried:
        rebuild_body(function, stager)
