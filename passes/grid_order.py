"""The order in which workgroups take the tiles of a grid: what `tile.ordered_block` computes.

Workgroup t of a plane of the grid (t = x + y * rows: axis 0 counts fastest) runs on XCD t mod X. Two steps:

1. Chunks: C tiles in a row go to one XCD, whose L2 they share. Write t = (b * C + l) * X + x with 0 <= x < X,
   0 <= l < C; it takes place b * X * C + x * C + l. That swaps two digits of a mixed-radix number, so it permutes the
   X * C places of each block b; what is left behind the last whole block keeps its place.
2. Windows: places run down W rows before they go to the next column, so that tiles at work together share rows of one
   operand and columns of the other. A place p = q * columns + c lies in the window of W rows that begins at row
   f = q - q mod W, as number r = (q - f) * columns + c of its W * columns tiles; it becomes row f + r mod W, column
   r div W. For a whole window that is division with remainder by W, hence one-to-one between [0, W * columns) and
   [0, W) x [0, columns). Rows behind the last whole window stay row by row: (q, c).

Both are permutations for every grid, and so is their composition. C and W are at most what is asked for, and powers of
two that fit the grid (C <= tiles / X, W <= rows), so that all but one division are shifts.

The defaults are those with which HipKittens' GEMMs run best at 4096 to 8192 (kernels/gemm/bf16fp32: C = 64, W = 8).
"""

from __future__ import annotations

from mlir import ir
from mlir.dialects import arith, llvm, rocdl

from hkc.dialect.irdl import get_int
from hkc.passes import scalars as s

DEFAULT_CHUNK = 64
DEFAULT_WINDOW = 8
_WORD = 32
# Hidden kernel arguments of code object version 5: hidden_block_count_x, _y (LLVM AMDGPUUsage, kernarg layout).
_BLOCK_COUNT = {0: 0, 1: 4}
_CONSTANT_SPACE = 4


def position(
    tile: s.Scalar, rows: s.Scalar, columns: s.Scalar, xcds: int, chunk: int, window: int
) -> tuple[s.Scalar, s.Scalar]:
    """Row and column of the tile that workgroup ``tile`` of a plane of fewer than 2^31 takes.

    ``xcds``, ``chunk`` and ``window`` are powers of two. All-int arguments give ints.
    """
    place = _chunked(tile, s.mul(rows, columns), xcds.bit_length() - 1, chunk.bit_length() - 1)
    along = s.smin(_log2(rows), window.bit_length() - 1)
    row = _quotient(place, columns)
    column = s.sub(place, s.mul(row, columns))
    first = _shift_left(_shift_right(row, along), along)
    number = s.add(s.mul(s.sub(row, first), columns), column)
    height = _shift_left(1, along)
    whole = s.holds("sle", s.add(first, height), rows)
    down, across = s.add(first, _low_bits(number, height)), _shift_right(number, along)
    return _choose(whole, down, row), _choose(whole, across, column)


def _chunked(tile: s.Scalar, tiles: s.Scalar, xcd_bits: int, chunk_bits: int) -> s.Scalar:
    """Step 1 of the module's text."""
    chunk = s.smin(_log2(s.smax(_shift_right(tiles, xcd_bits), 1)), chunk_bits)
    block = s.add(chunk, xcd_bits)
    begin = _shift_left(_shift_right(tile, block), block)
    xcd, local = s.bits(tile, 0, xcd_bits), _low_bits(_shift_right(tile, xcd_bits), _shift_left(1, chunk))
    moved = s.add(begin, s.add(_shift_left(xcd, chunk), local))
    whole = _shift_left(_shift_right(tiles, block), block)
    return _choose(s.holds("slt", tile, whole), moved, tile)


def _choose(condition: s.Condition, a: s.Scalar, b: s.Scalar) -> s.Scalar:
    if isinstance(condition, bool):
        return a if condition else b
    return s.select(condition, a, b)


def _shift_left(a: s.Scalar, by: s.Scalar) -> s.Scalar:
    return a << by if isinstance(a, int) and isinstance(by, int) else arith.ShLIOp(s.value(a), s.value(by)).result


def _shift_right(a: s.Scalar, by: s.Scalar) -> s.Scalar:
    return a >> by if isinstance(a, int) and isinstance(by, int) else arith.ShRUIOp(s.value(a), s.value(by)).result


def _low_bits(a: s.Scalar, limit: s.Scalar) -> s.Scalar:
    """``a`` modulo a power of two."""
    mask = s.sub(limit, 1)
    return a & mask if isinstance(a, int) and isinstance(mask, int) else arith.AndIOp(s.value(a), s.value(mask)).result


def _quotient(a: s.Scalar, b: s.Scalar) -> s.Scalar:
    return a // b if isinstance(a, int) and isinstance(b, int) else arith.DivUIOp(s.value(a), s.value(b)).result


def _log2(a: s.Scalar) -> s.Scalar:
    """The number of the highest bit of a positive number."""
    if isinstance(a, int):
        return a.bit_length() - 1
    poison = {"is_zero_poison": ir.BoolAttr.get(False)}
    zeros = ir.Operation.create("llvm.intr.ctlz", results=[a.type], operands=[a], attributes=poison).result
    return s.sub(_WORD - 1, zeros)


def options(op: ir.Operation) -> tuple[int, int]:
    """Chunk and window that the op asks for, or the defaults."""
    return get_int(op, "chunk") or DEFAULT_CHUNK, get_int(op, "window") or DEFAULT_WINDOW


def ordered_block(op: ir.Operation, xcds: int) -> ir.Value:
    """The op as scalar instructions."""
    rows, columns = (_block_count(axis) for axis in (0, 1))
    tile = s.add(rocdl.workgroup_id_x(s.i32()), s.mul(rocdl.workgroup_id_y(s.i32()), rows))
    found = position(tile, rows, columns, xcds, *options(op))
    # The division is made of vector instructions; the result is the same in all lanes.
    return rocdl.readfirstlane(s.i32(), s.value(found[get_int(op, "axis") or 0]))


def _block_count(axis: int) -> ir.Value:
    """The grid's extent in workgroups, as it was launched."""
    space = llvm.PointerType.get(_CONSTANT_SPACE)
    name = ir.StringAttr.get("llvm.amdgcn.implicitarg.ptr")
    sizes = ir.DenseI32ArrayAttr.get([0, 0])
    attributes = {
        "intrin": name,
        "operandSegmentSizes": sizes,
        "op_bundle_sizes": ir.DenseI32ArrayAttr.get([]),
    }
    base = ir.Operation.create("llvm.call_intrinsic", [space], [], attributes=attributes).result
    at = ir.Operation.create(
        "llvm.getelementptr",
        results=[space],
        operands=[base],
        attributes={
            "rawConstantIndices": ir.DenseI32ArrayAttr.get([_BLOCK_COUNT[axis]]),
            "elem_type": ir.TypeAttr.get(ir.IntegerType.get_signless(8)),
        },
    ).result
    return llvm.load(s.i32(), at)
