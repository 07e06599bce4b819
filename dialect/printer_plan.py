"""Which values of a kernel the `.tile` printer writes inside expressions, and where that puts their operands' uses."""

from __future__ import annotations

from mlir import ir

from hkc.dialect.locations import name_of
from hkc.dialect.ops import op_class
from hkc.dialect.types import TileType, try_parse_type

# Ops that read well inside an expression; all others are statements.
EXPRESSIONS = frozenset(
    {
        *(f"arith.{n}" for n in ("addi", "addf", "subi", "subf", "muli", "mulf", "divf")),
        *(f"arith.{n}" for n in ("floordivsi", "ceildivsi", "minsi", "maxsi", "minimumf", "maximumf", "negf")),
        *(f"arith.{n}" for n in ("andi", "ori", "xori", "select", "cmpi", "cmpf")),
        *(f"arith.{n}" for n in ("extsi", "extui", "trunci", "sitofp", "uitofp", "fptosi", "extf", "truncf")),
        *(
            f"tile.{n}"
            for n in (
                "block_id",
                "ordered_block",
                "dim",
                "subview",
                "aligned",
                "wave_id",
                "full",
                "load",
                "mma",
                "transpose",
                "cast",
            )
        ),
        *(f"tile.{n}" for n in ("add", "sub", "mul", "div", "max", "min", "neg", "abs", "exp", "exp2", "log", "log2")),
        *(
            f"tile.{n}"
            for n in (
                "sqrt",
                "rsqrt",
                "tanh",
                "erf",
                "sigmoid",
                "silu",
                "gelu",
                "compare",
                "select",
                "lds_alloc",
                "lds_slot",
                "lds_read",
            )
        ),
        *(
            "tile.copy",
            "tile.lds_write",
            "tile.fmax",
            "tile.fmin",
            "tile.fma",
            "tile.narrow",
            "tile.rescale",
            "tile.reduce",
            "tile.broadcast",
            "tile.index",
        ),
    }
)
SPLATTED = frozenset(
    f"tile.{n}" for n in ("add", "sub", "mul", "div", "max", "min", "fmax", "fmin", "compare", "select", "store")
)
STATEMENTS = frozenset(
    {
        *("tile.store", "tile.wait", "tile.waitcnt", "tile.barrier", "arith.constant"),
        *("tile.set_priority", "tile.schedule_barrier", "tile.interleave"),
        *("scf.for", "scf.if", "scf.yield", "func.return", "func.func"),
    }
)
# Expressions of the front ends may be as deep as the parser takes them; those of later steps are cut to be read.
MAX_NESTING = 60
MAX_NESTING_LOWERED = 6

Modulo = tuple[ir.Value, ir.Value]


def defining(value: ir.Value) -> ir.Operation | None:
    """The op that makes a value, None for a block argument."""
    return None if isinstance(value, ir.BlockArgument) else value.owner.operation


def effect(op: ir.Operation) -> str:
    """``none``, ``read`` or ``write`` (which sync counts as), over all regions inside."""
    cls = op_class(op)
    if cls is not None:
        return {"none": "none", "read": "read"}.get(cls.memory, "write")
    dialect = op.name.split(".")[0]
    if dialect in ("arith", "math"):
        return "none"
    inner = [effect(o.operation) for r in op.regions for b in r.blocks for o in b.operations]
    if op.name in ("scf.for", "scf.if", "scf.yield", "func.return"):
        return "write" if "write" in inner else "read" if "read" in inner else "none"
    return "write"


class Plan:
    """The plan for one kernel function."""

    def __init__(self, function: ir.Operation) -> None:
        self.index: dict[ir.Operation, int] = {}
        self.last: dict[ir.Operation, int] = {}
        self.writes: dict[ir.Operation, int] = {}
        self.before: dict[ir.Operation, ir.Operation | None] = {}
        self.block_end: dict[ir.Operation, int] = {}
        self.inlined: dict[ir.Operation, ir.Operation] = {}
        self.level: dict[ir.Operation, int] = {}
        self.modulo: dict[ir.Operation, Modulo] = {}
        self.parts: dict[ir.Operation, ir.Operation] = {}
        self.scalar_splats: set[ir.Operation] = set()
        self.met: set[ir.Operation] = set()
        self._number(function)
        self.lowered = any(op.name not in EXPRESSIONS and op.name not in STATEMENTS for op in self.index)
        for op in list(self.index):
            self._find_modulo(op)
        for op in list(self.index):
            self._find_splats(op)
            self._find_met(op)
        for op in reversed(list(self.index)):
            self._decide(op)

    def _number(self, op: ir.Operation) -> None:
        self.index[op] = len(self.index)
        for region in op.regions:
            for block in region.blocks:
                writes = 0
                previous: ir.Operation | None = None
                for inner in block.operations:
                    operation = inner.operation
                    self.before[operation], previous = previous, operation
                    self.writes[operation] = writes
                    self._number(operation)
                    writes += effect(operation) == "write"
                if previous is not None:
                    self.block_end.update((o.operation, self.index[previous]) for o in block.operations)
        self.last[op] = len(self.index) - 1

    # Remainders: a - (a // b) * b

    def _find_modulo(self, op: ir.Operation) -> None:
        if op.name != "arith.subi":
            return
        a, product = op.operands
        multiply = defining(product)
        if multiply is None or multiply.name != "arith.muli" or not self._temporary(multiply):
            return
        divide, b = defining(multiply.operands[0]), multiply.operands[1]
        if divide is None or divide.name != "arith.floordivsi" or not self._temporary(divide):
            return
        if list(divide.operands) == [a, b]:
            self.modulo[op] = (a, b)
            self.parts[multiply] = self.parts[divide] = op

    @staticmethod
    def _temporary(op: ir.Operation) -> bool:
        return name_of(op) is None and len(list(op.results[0].uses)) == 1

    def uses(self, value: ir.Value) -> list[ir.Operation]:
        """The ops that the printed text of which mentions the value, once for each mention."""
        found = []
        for use in value.uses:
            user = use.owner.operation
            if user in self.parts:
                if user.name == "arith.floordivsi":
                    continue  # the remainder mentions its operands once
                user = self.parts[user]
            found.append(user)
        return found

    # Scalars that became tiles

    def _find_splats(self, op: ir.Operation) -> None:
        """Finds the tile.full operands of ``op`` that the text writes as plain scalars: those made right before
        it, as the front end does when a scalar meets a tile."""
        if op.name not in SPLATTED:
            return
        candidates = [d for v in op.operands if (d := defining(v)) is not None and self._splat_before(d, op)]
        # Of two, the one made last: the other's place tells that it was a tile before the two met.
        latest = sorted(candidates, key=self.index.__getitem__)[-1:]
        if op.name == "tile.store":
            wanted = [d for d in candidates if d == defining(op.operands[0])]
        elif op.name == "tile.select":
            branches = [d for d in candidates if d in (defining(op.operands[1]), defining(op.operands[2]))]
            both = len(branches) == 2 and self.index[branches[0]] < self.index[branches[1]]
            wanted = branches if both and any(_natural(d.operands[0]) for d in branches) else latest
        else:
            wanted = latest  # one side must be a tile
        self.scalar_splats.update(wanted)

    def _splat_before(self, full: ir.Operation, op: ir.Operation) -> bool:
        if full.name != "tile.full" or not self._temporary(full) or full.block != op.block:
            return False
        made = {full, op}
        for value in op.operands:
            inner = defining(value)
            if inner is not None and inner.name == "tile.full":
                made.add(inner)
        between = self.before[op]
        while between is not None and between != full and (between in made or between.name == "arith.constant"):
            between = self.before[between]
        return between is not None and between == full

    # Vectors that became tiles

    def _find_met(self, op: ir.Operation) -> None:
        """Finds the tile.broadcast operands of ``op`` that the text writes without an extent: those made right before
        it, as the front end does when a vector meets a tile."""
        if op.name not in SPLATTED or op.name == "tile.store":
            return
        at = self.before[op]
        while at is not None and (at in self.scalar_splats or at.name == "arith.constant"):
            at = self.before[at]
        found = []
        for value in reversed(list(op.operands)):
            made = defining(value)
            if made is not None and made.name == "tile.broadcast" and self._temporary(made):
                if made != at:
                    break
                found.append(made)
                at = self.before[made]
        vectors = self.scalar_splats.union(found)
        tiles = [v for v in op.operands if (made := defining(v)) is None or made not in vectors]
        if tiles or {int(d.attributes["axis"]) for d in found} == {0, 1}:
            self.met.update(found)

    def meets_a_tile(self, op: ir.Operation, user: ir.Operation) -> bool:
        """Whether another operand of ``user`` is a 2-D tile by itself, so that the vector of ``op`` is a row of it."""
        others = (defining(v) for v in user.operands if v != op.results[0])
        return any(made is None or made not in self.met | self.scalar_splats for made in others)

    # Inlining

    def free(self, op: ir.Operation) -> bool:
        """Nameless constants and sizes, written wherever they are used."""
        if op.name == "arith.constant":
            return self.lowered or name_of(op) is None
        return op.name == "tile.dim" and name_of(op) is None

    def _decide(self, op: ir.Operation) -> None:
        if op in self.parts:
            self.inlined[op] = self.parts[op]
            self.level[op] = self.level.get(self.parts[op], 0)
            return
        if self.free(op) or not _is_expression(op) or len(op.results) != 1:
            return
        users = self.uses(op.results[0])
        if len(users) != 1 or users[0].block != op.block or users[0].name == "scf.yield":
            return
        user = users[0]
        name = name_of(op)
        # Passes give all that they make of an op its name; the last of it is what the name is for.
        if name is not None and not (self.lowered and name == name_of(user)):
            return
        level = self.level.get(user, 0) + 1
        limit = MAX_NESTING_LOWERED if self.lowered else MAX_NESTING
        if level > limit or not self._may_move(op, user):
            return
        if user.name == "tile.add" and self.is_product(op) and not self._beside_scalar(op, user):
            return  # x + a @ b would read as one op
        self.inlined[op] = user
        self.level[op] = level

    def is_product(self, op: ir.Operation) -> bool:
        """Whether the op is ``a @ b`` alone: a matmul onto zeros that were made right before it."""
        zeros = defining(op.operands[2]) if op.name == "tile.mma" else None
        if zeros is None or zeros.name != "tile.full" or self.before[op] != zeros or not self._temporary(zeros):
            return False
        scalar = defining(zeros.operands[0])
        return scalar is not None and self.free(scalar) and str(scalar.attributes["value"]) == "0.000000e+00 : f32"

    def _beside_scalar(self, op: ir.Operation, add: ir.Operation) -> bool:
        others = [defining(v) for v in add.operands if v != op.results[0]]
        return any(o in self.scalar_splats for o in others if o is not None)

    def _may_move(self, op: ir.Operation, user: ir.Operation) -> bool:
        """Whether computing the op where its user's statement stands reads and writes the same."""
        kind = effect(op)
        if kind == "none":
            return True
        if kind == "read":
            # A write inside of a statement keeps its place among effects, so the read may stand in its operands.
            anchor = user
            while anchor in self.inlined and effect(anchor) != "write":
                anchor = self.inlined[anchor]
            return self.writes[anchor] == self.writes[op]
        if user.name != "tile.wait":
            return False
        between = self.writes[user] - self.writes[op]
        operands = list(user.operands)
        later = operands[operands.index(op.results[0]) + 1 :]
        after = {d for v in later if (d := defining(v)) is not None and d in self.inlined}
        return between - 1 == len([d for d in after if self.index[d] > self.index[op]])

    def root(self, op: ir.Operation) -> ir.Operation:
        """The statement that the op's text is part of."""
        while op in self.inlined:
            op = self.inlined[op]
        return op

    def positions(self, op: ir.Operation) -> list[int]:
        """Where the text of the op stands, as indices of statements."""
        if self.free(op):
            return [p for user in self.uses(op.results[0]) for p in self.positions(user)]
        return [self.index[self.root(op)]]

    def used_between(self, value: ir.Value, after: int, until: int) -> bool:
        """Whether text after the statement ``after``, up to the statement ``until``, mentions the value."""
        return any(after < p <= until for user in self.uses(value) for p in self.positions(user))


def _is_expression(op: ir.Operation) -> bool:
    return op.name in EXPRESSIONS or op.name.startswith(("arith.", "math."))


def _natural(value: ir.Value) -> bool:
    """Whether a splatted scalar alone tells the tile's element type."""
    op = defining(value)
    return op is None or op.name != "arith.constant" or str(value.type) in ("i32", "f32", "i1")


def layout_of(value: ir.Value) -> str | None:
    """The layout in a value's type, if it has one."""
    type_ = try_parse_type(value.type)
    return getattr(type_, "layout", None) if isinstance(type_, TileType) else None
