"""A pipelined loop as the choice of its schedule sees it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from mlir import ir

from hkc.dialect.irdl import get_int, get_str
from hkc.dialect.locations import span_of
from hkc.dialect.ops import LdsAlloc, Load, Mma, Transpose
from hkc.dialect.types import LdsType, TileType, lds_type, tile_type, try_parse_type
from hkc.dialect.verify import walk
from hkc.dtypes import DType
from hkc.errors import HkcError

Grid = tuple[int, int]  # rows x columns of wavefronts

# Buffers of a pipelined copy: more would only lengthen the prologue.
MOST_STAGES = 4

# Attributes of a scheduled loop, in the program's own words but for the last: its grid of computing wavefronts and the
# number of load waves.
SCHEDULE, STAGES, LOAD_WAVES, WAVE_GRID = "tile.schedule", "tile.stages", "tile.load_waves", "tile.wave_grid"


@dataclass(frozen=True)
class GemmLoop:
    """A loop with matmuls whose operands are copied ahead.

    ``m``, ``n``, ``k`` are of its largest matmul; ``operands`` the LDS tiles that one iteration reads, left one first;
    ``misfit`` says what keeps it from being a plain ``acc += a @ b`` (None if it is one); ``alone`` that it stands at
    the kernel's top level and no other loop uses LDS or barriers; ``lds_taken`` the bytes of LDS that the rest of the
    kernel uses; ``whole`` the axis of the accumulators that wavefronts had better not share, since another matmul sums
    over it.
    """

    m: int
    n: int
    k: int
    dtype: DType
    operands: tuple[LdsType, ...]
    misfit: str | None = None
    alone: bool = True
    lds_taken: int = 0
    whole: int | None = None

    @property
    def bytes(self) -> int:
        """LDS bytes of one iteration's tiles."""
        return sum(slot_bytes(slot) for slot in self.operands)

    @property
    def tile(self) -> str:
        """The accumulator's extents as text."""
        return f"{self.m}x{self.n}"


def check_options(op: ir.Operation, known: Iterable[str]) -> None:
    """Raises HkcError for a loop's schedule that is not ``known``, and numbers out of range."""
    schedule, stages, load_waves = get_str(op, SCHEDULE), get_int(op, STAGES), get_int(op, LOAD_WAVES)
    if schedule is not None and schedule not in known:
        raise HkcError(f"unknown schedule {schedule!r}", span_of(op), expected=" or ".join(known), got=schedule)
    if stages is not None and not 1 <= stages <= MOST_STAGES:
        raise HkcError(
            "a loop can't have that many stages",
            span_of(op),
            expected=f"1 to {MOST_STAGES}",
            got=str(stages),
            hint="stages counts LDS buffers of each staged tile",
        )
    if load_waves is not None and load_waves < 1:
        raise HkcError("load_waves counts wavefronts", span_of(op), expected="1 or more", got=str(load_waves))


def slot_bytes(slot: LdsType) -> int:
    """Bytes of LDS."""
    return slot.elements * slot.dtype.bytes


def lds_bytes(function: ir.Operation) -> int:
    """LDS that a kernel allocates so far."""
    return sum(slot_bytes(lds_type(op.results[0])) for op in walk(function) if op.name == LdsAlloc.name)


def slot_type(load: ir.Operation) -> LdsType:
    """The LDS tile that a load is staged in."""
    type_ = tile_type(load.results[0])
    return LdsType(type_.shape, type_.dtype)


def describe_loop(loop: ir.Operation, loads: list[ir.Operation], alone: bool, lds_taken: int) -> GemmLoop:
    """The loop, whose matmuls take the tiles of ``loads``."""
    matmuls = [op for op in _body(loop) if op.name == Mma.name]
    used = matmuls or _users(loads)
    shapes = [(tile_type(op.operands[0]).shape, tile_type(op.operands[1]).shape[1]) for op in used]
    (m, k), n = max(shapes, key=lambda s: s[0][0] * s[1])
    dtype = tile_type(used[0].operands[0]).dtype
    # The left operand first, whatever the order of the loads.
    ordered = sorted(loads, key=lambda load: _side(load.results[0]))
    slots, misfit = tuple(map(slot_type, ordered)), _misfit(loop, loads, matmuls)
    return GemmLoop(m, n, k, dtype, slots, misfit, alone, lds_taken, _summed_over(matmuls))


def _summed_over(matmuls: list[ir.Operation]) -> int | None:
    """The axis of an accumulator that another matmul sums over: columns where it becomes the left operand."""
    made = set(matmuls)
    for op in matmuls:
        for index in (0, 1):
            if _made_of(op.operands[index], made):
                return 1 - index
    return None


def _made_of(value: ir.Value, matmuls: set[ir.Operation]) -> bool:
    """Whether a tile is computed from a matmul's result in the same iteration."""
    op = None if isinstance(value, ir.BlockArgument) else value.owner.operation
    if op is None or not op.name.startswith(("tile.", "scf.if")):
        return False
    ends = [list(region.blocks[0].operations)[-1].operation for region in op.regions if len(region.blocks)]
    sources = [v for source in (op, *ends) for v in source.operands if _is_matrix(v)]
    return op in matmuls or any(_made_of(v, matmuls) for v in sources)


def _is_matrix(value: ir.Value) -> bool:
    type_ = try_parse_type(value.type)
    return isinstance(type_, TileType) and type_.rank == 2


def _side(value: ir.Value) -> int:
    """The operand number of a matmul's operand there, straight or transposed."""
    use = next(iter(value.uses))
    user = use.owner.operation
    return int(use.operand_number) if user.name == Mma.name else _side(user.results[0])


def _body(loop: ir.Operation) -> list[ir.Operation]:
    return [op.operation for op in list(loop.regions[0].blocks[0].operations)[:-1]]


def _users(values: list[ir.Operation]) -> list[ir.Operation]:
    """The matmuls that take these loads, straight or transposed, wherever they stand."""
    found = []
    for op in values:
        for use in op.results[0].uses:
            user = use.owner.operation
            found += [user] if user.name == Mma.name else _users([user])
    return found


def _misfit(loop: ir.Operation, loads: list[ir.Operation], matmuls: list[ir.Operation]) -> str | None:
    plain = all(op.name in (Mma.name, Load.name, Transpose.name, "arith.constant") for op in _body(loop))
    block = loop.regions[0].blocks[0]
    end = list(block.operations)[-1].operation
    if len(matmuls) != 1:
        return f"it has {len(matmuls)} matmuls" if matmuls else "its matmul stands in an inner block"
    if len(loads) != 2 or any(_users([load]) != matmuls for load in loads):
        return "its matmul's operands are not both loaded in the loop"
    if len(block.arguments) != 2 or matmuls[0].operands[2] != block.arguments[1]:
        return "it carries more than one accumulator"
    if list(end.operands) != list(matmuls[0].results):
        return "its accumulator is changed beside the matmul"
    return None if plain else "it computes more than the matmul"
