"""What `verify-sync` says: each fault names the access, the other party, the wait that is too weak or where a barrier
belongs, and what would be enough."""

from __future__ import annotations

from mlir import ir

from hkc.dialect.locations import name_of, span_of
from hkc.errors import HkcError, Span
from hkc.passes.sync_program import Role
from hkc.passes.verify_sync_code import Access, Fetch, Head, Meet
from hkc.passes.verify_sync_state import Flight

_DOING = {"copy": "still copying", "write": "still writing", "read": "still reading"}
_THE = {"copy": "the copy", "write": "the write", "read": "the read"}
Note = tuple[str, Span | None]


def _what(step: Access) -> str:
    return f"this {step.mode}"


def _may(step: Access, other: Access) -> str:
    verb = "overwrite" if step.writes else "see"
    return f"{_what(step)} may {verb} bytes that {{}} {_DOING[other.mode]}"


def _bytes_of(flight: Flight) -> str:
    """Names a slot, for notes."""
    step = flight.step
    assert isinstance(step, Access) and flight.place is not None
    name = name_of(_allocation(step.op))
    _, index = flight.place
    slot = "a slot that can't be followed, so it may be any" if index is None else f"slot {index}"
    return f"{slot} of {name}" if name else slot


def _allocation(op: ir.Operation) -> ir.Value:
    return next(v for v in op.operands if _is_slot(v)).owner.operands[0]


def _is_slot(value: ir.Value) -> bool:
    return not isinstance(value, ir.BlockArgument) and value.owner.name == "tile.lds_slot"


def _counter(flight: Flight) -> str:
    return "vmcnt" if isinstance(flight.step, Fetch) or flight.step.mode == "copy" else "lgkmcnt"


def _enough(flight: Flight, least: int) -> tuple[str, list[Note]]:
    """What would end an access, and a note at the wait that does not."""
    counter = _counter(flight)
    if flight.weak is None:
        return f"waitcnt({counter}={least})", []
    waits, enough = flight.weak
    given = waits.vmcnt if counter == "vmcnt" else waits.lgkmcnt
    text = f"this wait is too weak: {counter}={given} leaves it in flight, {counter}={enough} is enough"
    return f"waitcnt({counter}={enough})", [(text, span_of(waits.op))]


def _wait_hint(flight: Flight, wanted: str, where: str) -> str:
    step = flight.step
    token = step.mode != "read" if isinstance(step, Access) else False
    return f"put {wanted}{', or wait(...) on its token,' if token else ''} {where}"


def own_fault(at: Access, other: Flight, least: int) -> HkcError:
    """A wavefront that has not waited for its own access."""
    assert isinstance(other.step, Access)
    wanted, notes = _enough(other, least)
    counter = _counter(other)
    return HkcError(
        _may(at, other.step).format("the same wavefront is"),
        span_of(at.op),
        expected=f"a wait that leaves at most {counter}={(other.weak[1] if other.weak else least)} in between",
        got="no wait that ends it" if other.weak is None else "a wait that is too weak",
        notes=[(f"{_THE[other.step.mode]}, of {_bytes_of(other)}", span_of(other.step.op)), *notes],
        hint=_wait_hint(other, wanted, f"before {_what(at)}"),
    )


def race_fault(at: Flight, other: Flight, waves: tuple[int, int], least: int) -> HkcError:
    """Two wavefronts of which one may touch what the other is not done with; ``other`` comes first, or may still be in
    flight from before the last barrier."""
    assert isinstance(at.step, Access) and isinstance(other.step, Access)
    notes: list[Note] = [(f"{_THE[other.step.mode]}, of {_bytes_of(other)}", span_of(other.step.op))]
    who = f"(wavefronts {waves[0]} and {waves[1]})"
    if other.crossed is not None:
        wanted, weak = _enough(other, least)
        counter = _counter(other)
        notes += [*weak, ("this barrier is passed while it is in flight", span_of(other.crossed.op))]
        expected = f"a wait that leaves at most {counter}={(other.weak[1] if other.weak else least)} before the barrier"
        got = "no wait that ends it" if other.weak is None else "a wait that is too weak"
        hint = _wait_hint(other, wanted, "before the barrier")
    else:
        expected, got = "a barrier in between", "none"
        first = {"copy": "a wait for the copy and then ", "write": "a wait for the write and then ", "read": ""}
        hint = f"put {first[other.step.mode]}barrier() before {_what(at.step)}"
    message = _may(at.step, other.step).format("another wavefront is")
    return HkcError(f"{message} {who}", span_of(at.step.op), expected=expected, got=got, notes=notes, hint=hint)


def unloaded_fault(at: Access, fetch: Flight) -> HkcError:
    """An LDS write of registers whose load was not waited for."""
    wanted, notes = _enough(fetch, 0)
    return HkcError(
        "this write may store registers that are still being loaded",
        span_of(at.op),
        expected=f"a wait that leaves at most vmcnt={fetch.weak[1] if fetch.weak else 0} in between",
        got="no wait that ends the load" if fetch.weak is None else "a wait that is too weak",
        notes=[("the load", span_of(fetch.step.op)), *notes],
        hint=f"put {wanted} before this write",
    )


def unwritten_fault(at: Flight) -> HkcError:
    """A read of what nobody has written yet, on some path."""
    assert isinstance(at.step, Access)
    return HkcError(
        f"this read may come before anything was written to {_bytes_of(at)}",
        span_of(at.step.op),
        expected="a copy or write of all that is read, on every path to it",
        got="a path without one (a loop may run no iteration)",
        hint="start the copy before the loop, and wait(...) on its token: where copies go through registers, "
        "the wait is what writes them to LDS",
    )


def unbalanced_fault(at: Meet, waiting: Role, ended: Role) -> HkcError:
    """A barrier that some wavefronts reach when others are done."""
    return HkcError(
        "not all wavefronts pass the same number of barriers",
        span_of(at.op),
        expected=f"wavefronts {_waves(ended)} at a barrier too",
        got=f"wavefronts {_waves(waiting)} here, the others at the kernel's end",
        hint="give each branch on wave() as many barriers as the other",
    )


def _waves(role: Role) -> str:
    first, last = role.waves[0], role.waves[-1]
    if len(role.waves) == 1:
        return str(first)
    return f"{first}-{last}" if len(role.waves) == last - first + 1 else ", ".join(map(str, role.waves))


def endless_fault(head: Head | None) -> HkcError:
    """Slots rotate, or roles run apart, in too many ways to follow."""
    return HkcError(
        "the LDS slots of this loop rotate in too many ways to prove its waits and barriers",
        span_of(head.op) if head is not None else None,
        hint="rotate the slot index by a constant, modulo the number of buffers, and let all wavefronts pass the "
        "same barriers in each iteration",
    )
