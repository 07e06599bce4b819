"""Random kernels as `.tile` text, over all of the language's ops, types and control flow.

A name's first letter tells its type, so whatever is assigned to a name in any branch or loop has one type.
"""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

HEADER = (
    "kernel random(A: view[M, K, bf16], B: view[N, K, bf16], C: view[M, N, f32], I: view[M, N, i32], V: view[N, f32],"
    " P: view[L, M, N, f32], Q: view[L, 8, M, K, bf16], n: i32, w: i64,"
    " alpha: f32)\n    grid (cdiv(M, 16), max(N // 32, 1)) waves (2, 2)\n"
)
SHAPES = [(16, 32), (32, 16), (16, 16), (32, 32), (64,)]
VIEWS = {("bf16", 2): ["A", "B", "Q"], ("f32", 2): ["C", "P"], ("i32", 2): ["I"], ("f32", 1): ["V", "C", "P"]}
RANKS = {"A": 2, "B": 2, "C": 2, "I": 2, "V": 1, "P": 3, "Q": 4}
DTYPES = ["bf16", "f32", "i32"]
MATH = [*("exp", "exp2", "log", "log2", "sqrt", "rsqrt", "abs", "tanh", "erf", "sigmoid", "silu", "gelu", "relu")]

Type = Any  # "i32", "i64", "f32", "i1", "token", or (shape, dtype)


def names_of(type_: Type) -> list[str]:
    """The names that variables of a type have."""
    if isinstance(type_, tuple):
        shape, dtype = type_
        base = f"{dtype[0]}{'x'.join(map(str, shape))}"
        return [f"t{base}", f"u{base}"]
    return {
        "i32": ["x", "y"],
        "i64": ["l", "w"],
        "f32": ["f", "alpha"],
        "i1": ["b", "c"],
        "token": ["p", "q"],
    }[type_]


class Generator:
    """Draws one kernel; ``visible`` are the names bound so far."""

    def __init__(self, draw: Any) -> None:
        self.draw = draw

    def pick(self, options: list[Any]) -> Any:
        return options[self.draw(st.integers(0, len(options) - 1))]

    def bound(self, type_: Type, visible: set[str]) -> list[str]:
        return [n for n in names_of(type_) if n in visible]

    def expression(self, type_: Type, visible: set[str], depth: int) -> str:
        bound = self.bound(type_, visible)
        if bound and (depth <= 0 or self.draw(st.booleans())):
            return self.pick(bound)
        method = {"i32": self.i32, "i64": self.i64, "f32": self.f32, "i1": self.i1, "token": self.token}
        return self.tile(type_, visible, depth) if isinstance(type_, tuple) else method[type_](visible, depth)

    def size(self) -> str:
        """An i32 that is known only at run time."""
        return self.pick(
            [
                "M",
                "N",
                "K",
                "block(0)",
                "ordered_block(1)",
                "ordered_block(0, window=4)",
                "wave()",
                "A.shape[0]",
                "V.shape[0]",
            ]
        )

    def i32(self, visible: set[str], depth: int) -> str:
        if depth <= 0:
            return self.pick([self.size(), str(self.draw(st.integers(0, 99))), "n"])
        a, b = (self.expression("i32", visible, depth - 1) for _ in range(2))
        positive = str(self.draw(st.integers(1, 9)))
        return self.pick(
            [
                f"({a}) + ({b})",
                f"({a}) - {b}" if " " not in b else f"{b} - ({a})",
                f"({a}) * {self.size()}",
                f"({a}) // {positive}",
                f"({a}) % {self.size()}",
                f"({a}) % {positive}",
                f"cdiv({a}, {positive})",
                f"min({a}, {b})",
                f"max({a}, {b})",
                f"-({a})",
                f"(({self.runtime(visible)}) and ({self.expression('i1', visible, 0)})).to(i32)",
                f"({self.expression('i64', visible, 0)}).to(i32)",
                f"(({a}) if {self.runtime(visible)} else ({b}))",
            ]
        )

    def i64(self, visible: set[str], depth: int) -> str:
        if depth <= 0:
            return self.pick(["w", f"({self.draw(st.integers(-9, 9))}).to(i64)", f"({self.size()}).to(i64)"])
        a, b = (self.expression("i64", visible, depth - 1) for _ in range(2))
        literal = str(self.draw(st.integers(1, 9)))
        return self.pick([f"({a}) + ({b})", f"({a}) - {literal}", f"{literal} * w", f"({a}) // {literal}", f"-({a})"])

    def f32(self, visible: set[str], depth: int) -> str:
        literal = repr(self.draw(st.floats(0.5, 100, width=32)))
        if depth <= 0:
            return self.pick([literal, "alpha", "-inf", "0.1"])
        a, b = (self.expression("f32", visible, depth - 1) for _ in range(2))
        return self.pick(
            [
                f"({a}) + alpha",
                f"({a}) - ({b})" if "inf" not in a + b else f"alpha - ({b})",
                f"({a}) * {literal}",
                f"({a}) / {literal}",
                f"min({a}, {b})",
                f"-({a})",
                f"({self.size()}).to(f32)",
                f"({a} if {self.runtime(visible)} else ({b}))",
            ]
        )

    def i1(self, visible: set[str], depth: int) -> str:
        if depth <= 0:
            return self.pick(["aligned(A)", "True", "False", self.runtime(visible)])
        a, b = (self.expression("i1", visible, depth - 1) for _ in range(2))
        return self.pick([self.runtime(visible), f"not ({a})", f"({a}) and ({b})", f"({a}) or {self.size()} < 3"])

    def runtime(self, visible: set[str]) -> str:
        """A condition that is known only at run time."""
        sign = self.pick(["<", "<=", ">", ">=", "==", "!="])
        type_ = self.pick(["i32", "i32", "f32", "i64"])
        left = {"i32": self.size(), "f32": "alpha * 2.0", "i64": "w + 1"}[type_]
        return f"({left} {sign} {self.expression(type_, visible, 0)})"

    def offset(self, visible: set[str]) -> str:
        literal = str(self.draw(st.integers(0, 9)))
        return self.pick([literal, f"{self.size()} * 16 + ({self.expression('i32', visible, 1)})", self.size()])

    def region(self, view: str, shape: tuple[int, ...], visible: set[str]) -> str:
        parts = []
        for extent in shape:
            low = self.offset(visible)
            parts.append(self.pick([f"{low} : {low} + {extent}", f"({low}) : {extent} + ({low})"]))
        indices = [self.index(visible) for _ in range(RANKS[view] - len(shape))]
        if not indices or self.draw(st.booleans()):
            return f"{view}{''.join(f'[{i}]' for i in indices)}[{', '.join(parts)}]"
        for index in indices:
            parts.insert(self.draw(st.integers(0, len(parts))), index)
        return f"{view}[{', '.join(parts)}]"

    def index(self, visible: set[str]) -> str:
        return self.pick(["0", "3", "block(0)", f"({self.expression('i32', visible, 1)})"])

    def leaf(self, type_: Type, visible: set[str]) -> str:
        shape, dtype = type_
        options = [f"zeros({', '.join(map(str, shape))}, {dtype})"]
        literal = "3" if dtype == "i32" else self.pick(["1.5", "-inf", "2"])
        options.append(f"full({literal}, {', '.join(map(str, shape))}, {dtype})")
        options += [self.region(view, shape, visible) for view in VIEWS.get((dtype, len(shape)), [])]
        if type_ == ((16, 32), "bf16"):
            options.append(f"read(s[{self.pick(['0', '1', 'block(0) % 2'])}])")
        return self.pick(options)

    def tile(self, type_: Type, visible: set[str], depth: int) -> str:
        if depth <= 0:
            return self.leaf(type_, visible)
        shape, dtype = type_
        a, b = (self.expression(type_, visible, depth - 1) for _ in range(2))
        scalar = {"i32": "7", "bf16": self.pick(["0.5", "alpha.to(bf16)"]), "f32": self.expression("f32", visible, 1)}
        options = [
            self.leaf(type_, visible),
            f"({a}) + ({b})",
            f"({a}) - ({b})",
            f"({scalar[dtype]}) - ({a})",
            f"({a}) * ({scalar[dtype]})",
            f"max({a}, {scalar[dtype]})",
            f"min({a}, {b})",
            f"where(({a}) < ({b}), {a}, {scalar[dtype]})",
            f"where(({a}) != ({scalar[dtype]}), {scalar[dtype]}, {b})",
            f"({self.expression((shape, self.pick(DTYPES)), visible, depth - 1)}).to({dtype})",
        ]
        if dtype != "i32":
            options += [f"fmax({a}, {scalar[dtype]})", f"fma({a}, {b}, {scalar[dtype]})"]
            options += [f"-({a})", f"{self.pick(MATH)}({a})", f"({a}) / ({b})"]
        options += self.lines(shape, dtype, a, visible)
        if len(shape) == 2:
            options.append(f"({self.expression((shape[::-1], dtype), visible, depth - 1)}).T")
        if dtype == "f32" and len(shape) == 2:
            options += self.matmuls(shape, a, visible, depth)
        return self.pick(options)

    def lines(self, shape: tuple[int, ...], dtype: str, tile: str, visible: set[str]) -> list[str]:
        """Reductions to a vector, vectors beside a tile, indices."""
        kind = self.pick(["sum", "prod", "max", "min"])
        if len(shape) == 1:
            other = (16, *shape)
            options = [
                f"col_{kind}({self.leaf((other, dtype), visible)})",
                f"row_{kind}({self.leaf((other[::-1], dtype), visible)})",
            ]
            return [*options, "index(64)"] if dtype == "i32" else options
        rows, columns = (self.leaf(((extent,), dtype), visible) for extent in shape)
        options = [f"({tile}) * col({rows})", f"row({columns}) + ({tile})", f"min({tile}, {columns})"]
        options += [f"col({rows}, {shape[1]})", f"row({columns}, {shape[0]})", f"col({rows}) - row({columns})"]
        options.append(f"where(({tile}) < col({rows}), {tile}, row({columns}))")
        if dtype != "i32":
            options.append(f"rescale({tile}, {rows})")
        if dtype == "i32":
            options += [f"{line}_index({shape[0]}, {shape[1]})" for line in ("row", "col")]
        return options

    def matmuls(self, shape: tuple[int, ...], acc: str, visible: set[str], depth: int) -> list[str]:
        k, dtype = self.pick([16, 32]), self.pick(["bf16", "f32"])
        a = self.expression(((shape[0], k), dtype), visible, depth - 1)
        b = self.expression(((k, shape[1]), dtype), visible, depth - 1)
        product = f"({a}) @ ({b})"
        return [product, f"({acc}) + {product}", f"{product} + ({acc})", f"2.0 + {product}", f"{product} - ({acc})"]

    def token(self, visible: set[str], depth: int) -> str:
        slot = f"s[{self.pick(['0', '1', '(block(0) + n) % 2'])}]"
        source = self.region(self.pick(["A", "B"]), (16, 32), visible)
        guard = self.pick(["", f", when={self.expression('i1', visible, 1)}"])
        tile = self.expression(((16, 32), "bf16"), visible, 1)
        return self.pick([f"copy({source}, {slot}{guard})", f"write({tile}, {slot})"])

    # Statements

    def type(self) -> Type:
        tile = (self.pick(SHAPES), self.pick(DTYPES))
        return self.pick(["i32", "i64", "f32", "i1", "token", tile, tile, tile])

    def block(self, visible: set[str], depth: int, indent: str) -> list[str]:
        lines: list[str] = []
        for _ in range(self.draw(st.integers(1, 4))):
            lines += self.statement(visible, depth, indent)
        return lines

    def statement(self, visible: set[str], depth: int, indent: str) -> list[str]:
        kind = self.draw(st.integers(0, 13 if depth > 0 else 9))
        if kind <= 4:
            type_ = self.type()
            name = self.pick(names_of(type_))
            text = self.expression(type_, visible, 2)
            visible.add(name)
            return [f"{indent}{name} = {text}"]
        if kind == 5:
            return self.augmented(visible, indent)
        if kind == 6:
            return self.swap(visible, indent)
        if kind == 7:
            view, dtype, shape = self.pick(
                [
                    ("C", "f32", (16, 16)),
                    ("P", "f32", (16, 16)),
                    ("P", "f32", (64,)),
                    ("I", "i32", (16, 32)),
                    ("V", "f32", (64,)),
                ]
            )
            value = self.pick([self.expression((shape, dtype), visible, 2), "1"])
            sign = self.pick(["=", "=", "+=", "-="])
            return [f"{indent}{self.region(view, shape, visible)} {sign} {value}"]
        if kind == 8:
            tokens = [self.expression("token", visible, 0) for _ in range(self.draw(st.integers(1, 3)))]
            return [f"{indent}wait({', '.join(tokens)})"]
        if kind == 9:
            options = [
                "barrier()",
                "waitcnt(vmcnt=3)",
                "waitcnt(vmcnt=0, lgkmcnt=1)",
                "set_priority(1)",
                "schedule_barrier()",
                "interleave()",
                "pass",
                self.token(visible, 1),
            ]
            return [indent + self.pick(options)]
        if kind <= 11:
            return self.loop(visible, depth, indent)
        return self.choice(visible, depth, indent)

    def augmented(self, visible: set[str], indent: str) -> list[str]:
        name = self.pick(sorted(visible & {"x", "f", "alpha", "n", "w", "tf16x16", "uf32x32", "tb16x32"}))
        if name in ("x", "n"):
            return [f"{indent}{name} {self.pick(['+=', '-='])} {self.expression('i32', visible, 1)}"]
        if name in ("f", "alpha"):
            return [f"{indent}{name} {self.pick(['*=', '+='])} 1.5"]
        if name == "w":
            return [f"{indent}w {self.pick(['//=', '%='])} 3"]
        if name == "tb16x32":
            return [f"{indent}{name} *= {name}"]
        size = int(name[-2:])
        options = [
            self.expression(((size, size), "f32"), visible, 1),
            *self.matmuls((size, size), "0.5", visible, 1)[:1],
        ]
        return [f"{indent}{name} += {self.pick(options)}"]

    def swap(self, visible: set[str], indent: str) -> list[str]:
        type_ = self.type()
        bound = self.bound(type_, visible)
        if len(bound) == 2:
            a, b = bound
            return [indent + self.pick([f"{a}, {b} = {b}, {a}", f"{a} = {b}", f"{b} = {a}", f"{a} = {a}"])]
        return [f"{indent}pass"]

    def loop(self, visible: set[str], depth: int, indent: str) -> list[str]:
        variable = f"i{depth}"
        bounds = self.pick([self.size(), f"{self.offset(visible)}, K", f"0, {self.expression('i32', visible, 1)}, 16"])
        options = self.pick(["", ", stages=3", ', stages=2, schedule="uniform"'])
        inner = set(visible) | {variable}
        lines = self.block(inner, depth - 1, indent + "    ")
        return [f"{indent}for {variable} in range({bounds}{options}) {{", *lines, f"{indent}}}"]

    def choice(self, visible: set[str], depth: int, indent: str) -> list[str]:
        test = self.pick([self.runtime(visible), f"not {self.runtime(visible)}", "1 < 2", "aligned(B)"])
        then, otherwise = set(visible), set(visible)
        lines = [f"{indent}if {test} {{", *self.block(then, depth - 1, indent + "    ")]
        if self.draw(st.booleans()):
            lines += [f"{indent}}} else {{", *self.block(otherwise, depth - 1, indent + "    ")]
        visible |= then if test == "1 < 2" else then & otherwise
        return [*lines, f"{indent}}}"]


@st.composite
def kernels(draw: Any) -> str:
    """The text of a kernel."""
    generator = Generator(draw)
    visible = {"n", "w", "alpha"}
    lines = ["    s = lds(2, 16, 32, bf16)", *generator.block(visible, 2, "    ")]
    lines += generator.block(visible, 2, "    ")
    return HEADER + "{\n" + "\n".join(lines) + "\n}\n"
