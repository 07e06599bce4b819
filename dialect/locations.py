"""Source places and names in MLIR locations.

A value that the program named carries ``NameLoc("acc", FileLineColLoc)``; a temporary only the file location.
"""

from __future__ import annotations

from typing import TypeAlias

from mlir import ir

from hkc.errors import Span

Located: TypeAlias = ir.Location | ir.Value | ir.Operation | ir.OpView


def make_loc(span: Span | None, name: str | None = None) -> ir.Location:
    """The location of ``span``, in the current context, with the source program's ``name`` for the value."""
    place = ir.Location.file(span.file, span.line, span.column) if span else ir.Location.unknown()
    return ir.Location.name(name, childLoc=place) if name else place


def location_of(thing: Located) -> ir.Location:
    """The MLIR location of an op or value."""
    if isinstance(thing, ir.Location):
        return thing
    if isinstance(thing, ir.Value) and not isinstance(thing, ir.BlockArgument):
        owner = thing.owner
        return owner.location
    return thing.location


def place_of(thing: Located, name: str | None = None) -> ir.Location:
    """The place in the source without the program's name (or with another), for ops that a pass adds."""
    location = location_of(thing)
    while location.is_a_name() or location.is_a_fused():
        location = location.child_loc if location.is_a_name() else location.locations[0]
    return ir.Location.name(name, childLoc=location) if name else location


def span_of(thing: Located) -> Span | None:
    """The place in the user's source, None when it is not known."""
    location = location_of(thing)
    while location.is_a_name():
        location = location.child_loc
    if location.is_a_fused():
        spans = [span_of(part) for part in location.locations]
        return next((s for s in spans if s), None)
    if not location.is_a_file() or not location.start_line:
        return None
    return Span(location.filename, location.start_line, location.start_col)


def name_of(thing: Located) -> str | None:
    """The name that the source program gave, None for temporaries."""
    location = location_of(thing)
    return location.name_str if location.is_a_name() else None
