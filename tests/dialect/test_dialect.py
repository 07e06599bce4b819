"""The dialect in MLIR: types as text, IRDL checks while parsing, the Python verifier after."""

from __future__ import annotations

import pytest
from mlir import ir

from hkc.dialect.context import make_context, parse_module
from hkc.dialect.locations import make_loc, name_of, place_of, span_of
from hkc.dialect.ops import OPS, op_class
from hkc.dialect.types import LdsType, TileType, TokenType, ViewType, parse_type
from hkc.dialect.verify import verify_module, walk
from hkc.dtypes import DTYPES
from hkc.errors import HkcError, Span

BF16 = DTYPES["bf16"]


@pytest.mark.parametrize(
    "type_",
    [
        ViewType(("M", 64, "K"), BF16),
        ViewType((), DTYPES["f32"]),
        TileType((128, 64), BF16),
        TileType((256,), DTYPES["i1"]),
        TileType((128, 64), BF16, "a(16x16x32*1) by 2/2,1/1"),
        LdsType((2, 128, 64), DTYPES["fp8e4m3"], "xor(0,7,0)"),
        TokenType(),
        *DTYPES.values(),
    ],
)
def test_types_round_trip_through_mlir(type_: object) -> None:
    with make_context():
        made = type_.mlir_type() if hasattr(type_, "mlir_type") else type_.mlir()  # type: ignore[attr-defined]
        assert parse_type(made) == type_
        assert ir.Type.parse(str(made)) == made


def module(body: str) -> ir.Module:
    return parse_module(
        f'func.func @f(%v: !tile.view<"[M, N] f32">, %i: i32, %x: f32) {{\n{body}\nreturn\n}}', "f.mlir"
    )


FULL = '%t = "tile.full"(%x) : (f32) -> !tile.tile<"[8, 8] f32">\n'
HALF = FULL + '%h = "tile.cast"(%t) : (!tile.tile<"[8, 8] f32">) -> !tile.tile<"[8, 8] f16">\n'

PARSE_ERRORS = [
    ('"tile.dim"(%i) {axis = 0} : (i32) -> i32', "view"),
    ('"tile.block_id"() : () -> i32', "axis"),
    ('"tile.full"(%x, %x) : (f32, f32) -> !tile.tile<"[8, 8] f32">', "operand"),
    ('"tile.barrier"() : () -> i32', "result"),
    ('"tile.nonsense"() : () -> ()', "nonsense"),
]


@pytest.mark.parametrize(("body", "says"), PARSE_ERRORS)
def test_irdl_refuses_while_parsing(body: str, says: str) -> None:
    with pytest.raises(HkcError, match=says) as caught:
        module(body)
    assert caught.value.span is not None
    assert caught.value.span.file == "f.mlir"


VERIFIER_ERRORS = [
    ('"tile.block_id"() {axis = 3} : () -> i32', "axes 0, 1 and 2"),
    ('"tile.dim"(%v) {axis = 2} : (!tile.view<"[M, N] f32">) -> i32', "no axis 2"),
    ('"tile.dim"(%v) {axis = "x"} : (!tile.view<"[M, N] f32">) -> i32', "not of kind int"),
    ('"tile.dim"(%v) {axis = 0, extra = 1} : (!tile.view<"[M, N] f32">) -> i32', "no attribute extra"),
    ('"tile.waitcnt"() : () -> ()', "needs a counter"),
    ('"tile.waitcnt"() {vmcnt = 64} : () -> ()', "vmcnt is out of range"),
    ('"tile.set_priority"() {level = 4} : () -> ()', "a priority is 0 to 3"),
    ('"tile.full"(%i) : (i32) -> !tile.tile<"[8, 8] f32">', "not the tile's"),
    ('"tile.full"(%x) : (f32) -> !tile.tile<"rubbish">', "malformed type"),
    ('"tile.load"(%v, %i) : (!tile.view<"[M, N] f32">, i32) -> !tile.tile<"[8, 8] f32">', "takes 2 slices"),
    (
        '"tile.load"(%v, %i, %i) : (!tile.view<"[M, N] f32">, i32, i32) -> !tile.tile<"[8, 8] f16">',
        "element type is not the view's",
    ),
    (
        HALF + '"tile.add"(%t, %h) : (!tile.tile<"[8, 8] f32">, !tile.tile<"[8, 8] f16">) -> !tile.tile<"[8, 8] f32">',
        "different element types",
    ),
    (
        FULL + '"tile.transpose"(%t) : (!tile.tile<"[8, 8] f32">) -> !tile.tile<"[8, 4] f32">',
        "swaps the extents",
    ),
    ('"tile.lds_alloc"() : () -> !tile.lds<"[128, 64] bf16">', "buffers x rows x columns"),
]


@pytest.mark.parametrize(("body", "says"), VERIFIER_ERRORS)
def test_verifier_refuses(body: str, says: str) -> None:
    with pytest.raises(HkcError, match=says):
        verify_module(module(body))


def test_matmul_shapes_that_differ_name_both_dimensions() -> None:
    body = """
    %a = "tile.full"(%x) : (f32) -> !tile.tile<"[16, 32] f32">
    %b = "tile.full"(%x) : (f32) -> !tile.tile<"[16, 16] f32">
    %r = "tile.mma"(%a, %b, %b) : (!tile.tile<"[16, 32] f32">, !tile.tile<"[16, 16] f32">,
         !tile.tile<"[16, 16] f32">) -> !tile.tile<"[16, 16] f32">"""
    with pytest.raises(HkcError, match="32 columns against 16 rows"):
        verify_module(module(body))


def test_every_op_is_documented_registered_and_found() -> None:
    names = [cls.name for cls in OPS]
    assert len(set(names)) == len(names)
    for cls in OPS:
        assert cls.__doc__
        assert cls.name.startswith("tile.")
    found = [op_class(op) for op in walk(module(FULL).operation)]
    assert [cls.name for cls in found if cls] == ["tile.full"]


def test_locations_carry_names_and_places() -> None:
    span = Span("a.tile", 3, 7)
    with make_context():
        location = make_loc(span, "acc")
        assert (name_of(location), span_of(location)) == ("acc", span)
        assert (name_of(place_of(location)), span_of(place_of(location))) == (None, span)
        assert name_of(place_of(location, "slot")) == "slot"
        assert span_of(make_loc(None)) is None
        assert span_of(ir.Location.fused([make_loc(None), location])) == span
