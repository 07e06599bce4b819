"""Loads that only go into a store take its way: part of `insert-buffer-loads`.

A residual is loaded, added and stored again. With a branch of its own for the load (wide or element by element) all of
it would be in registers where the branches meet, beside the accumulator. In one branch for both it goes in pieces.
"""

from __future__ import annotations

from dataclasses import replace

from mlir import ir
from mlir.dialects import scf

from hkc.dialect.locations import location_of, place_of
from hkc.dialect.ops import (
    BufferLoad,
    BufferStore,
    Load,
    MaskedLoad,
    MaskedStore,
    Part,
    ScheduleBarrier,
    Store,
    SubView,
    op_class,
)
from hkc.dialect.types import TileType, tile_type, try_parse_type
from hkc.dialect.verify import walk
from hkc.passes import scalars as s
from hkc.passes.access import may_be_wide
from hkc.passes.layouts import distribute

Pair = tuple[int, int]
# Pieces whose loads are in flight together: enough to hide latency, few enough for their registers.
AT_A_TIME = 8


def fuse_stores(function: ir.Operation) -> None:
    """Gives each load that only goes into one store, through ops element by element, the store's branches."""
    for load in list(walk(function)):
        if load.name == Load.name and tile_type(load.results[0]).rank > 1:
            chain = _way_to_store(load)
            if chain is not None:
                _fuse(load, *chain)


def _way_to_store(load: ir.Operation) -> tuple[list[ir.Operation], ir.Operation] | None:
    """The ops between a load and the store that is all its use, and the store; None if there is no such way."""
    chain: list[ir.Operation] = []
    value = load.results[0]
    while True:
        uses = list(value.uses)
        if len(uses) != 1:
            return None
        user = uses[0].owner.operation
        if user.block != load.block:
            return None
        if user.name == Store.name:
            return (chain, user) if _apart(load, user) and _nothing_written(load, user) else None
        if not _element_by_element(user):
            return None
        chain.append(user)
        value = user.results[0]


def _apart(load: ir.Operation, store: ir.Operation) -> bool:
    """Whether no piece of the store writes what a later piece of the load reads: they are of two arrays, or at one
    place."""
    source, target = load.operands[0], store.operands[1]
    begins = ([s.known(v) for v in offsets] for offsets in (list(load.operands)[1:], list(store.operands)[2:]))
    same_place = source == target and next(begins) == next(begins)
    return same_place or _whole(source) != _whole(target)


def _whole(view: ir.Value) -> ir.Value:
    """The argument that a view is part of."""
    while not isinstance(view, ir.BlockArgument) and view.owner.name == SubView.name:
        view = view.owner.operation.operands[0]
    return view


def _element_by_element(op: ir.Operation) -> bool:
    """Whether the op makes of tiles in one layout another one of it."""
    cls = op_class(op)
    if cls is None or cls.memory != "none" or len(op.results) != 1 or op.name in ("tile.transpose", "tile.mma"):
        return False
    types = [try_parse_type(v.type) for v in (*op.operands, *op.results)]
    tiles = [t for t in types if isinstance(t, TileType)]
    return len(tiles) == len(types) and len({(t.shape, t.layout) for t in tiles}) == 1


def _nothing_written(first: ir.Operation, last: ir.Operation) -> bool:
    """Whether only loads and arithmetic stand between two ops of a block."""
    inside = False
    for op in first.block.operations:
        operation = op.operation
        if operation == last:
            return True
        if inside:
            cls = op_class(operation)
            if operation.regions or (cls is not None and cls.memory in ("write", "sync")):
                return False
        inside = inside or operation == first
    return False


def _fuse(load: ir.Operation, chain: list[ir.Operation], store: ir.Operation) -> None:
    source, *offsets = list(load.operands)
    _, target, *places = list(store.operands)
    loaded, stored = tile_type(load.results[0]), tile_type(store.operands[0])
    with ir.InsertionPoint(store), place_of(store):
        inside = s.both([may_be_wide(source, offsets, loaded), may_be_wide(target, places, stored)])
    with ir.InsertionPoint(store), location_of(store):
        branch = scf.IfOp(inside, [], has_else=True)
    pieces = distribute(loaded.layout or "", loaded.shape).grid()
    part = replace(loaded, shape=tuple(e // count for e, count in zip(loaded.shape, pieces, strict=True)))
    # Column by column: what addresses a column is needed for its pieces only, there being more columns than rows.
    order = [(row, column) for column in range(pieces[1]) for row in range(pieces[0])]
    for block, wide in ((branch.then_block, True), (branch.else_block, False)):
        with ir.InsertionPoint(block):
            for number, piece in enumerate(order):
                with location_of(load):
                    if wide:
                        value = BufferLoad.build(source, offsets, part, None, pieces, piece)
                    else:
                        value = MaskedLoad.build(source, offsets, part, pieces, piece)
                value = _copied(chain, load.results[0], value, pieces, piece)
                with location_of(store):
                    (BufferStore if wide else MaskedStore).build(value, target, places, pieces, piece)
                    if wide and number % AT_A_TIME == AT_A_TIME - 1:
                        ScheduleBarrier.build()
            with location_of(store):
                scf.YieldOp([])
    for op in (store, *reversed(chain), load):
        op.erase()


def _copied(chain: list[ir.Operation], old: ir.Value, new: ir.Value, pieces: Pair, piece: Pair) -> ir.Value:
    """Copies, of one piece, of ops that lead from ``old`` to a result, led on from ``new``."""
    for op in chain:
        with location_of(op):
            operands = [new if v == old else Part.build(v, pieces, piece) for v in op.operands]
            type_ = replace(tile_type(op.results[0]), shape=tile_type(new).shape)
            names = [named if isinstance(named, str) else named.name for named in op.attributes]
            attributes = {name: op.attributes[name] for name in names}
            copy = ir.Operation.create(op.name, results=[type_.mlir()], operands=operands, attributes=attributes)
        old, new = op.results[0], copy.result
    return new
