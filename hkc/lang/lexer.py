"""The words of `.tile` text.

By hand, with one regular expression: what is a word hardly depends on the parser, and this is many times faster than
a regular expression for each of the parser's states.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from lark import Token
from lark.lexer import Lexer

from hkc.lang.syntax import MAX_DEPTH

if TYPE_CHECKING:
    from lark.common import LexerConf

OPENING = {"LPAR": "RPAR", "LSQB": "RSQB", "LBRACE": "RBRACE"}
CLOSING = frozenset(OPENING.values())
KEYWORDS = frozenset({"for", "in", "if", "else", "and", "or", "not", "True", "False", "pass"})
# Keywords between kernels and their bodies only; names elsewhere.
HEADER_WORDS = frozenset({"kernel", "grid", "waves"})
OPERATORS = {
    **dict.fromkeys(("+=", "-=", "*=", "/=", "//=", "%=", "@="), "AUGMENTED"),
    **dict.fromkeys(("==", "!=", "<", "<=", ">", ">="), "COMPARISON"),
    **{"**": "POWER", "//": "FLOORDIV", "+": "PLUS", "-": "MINUS", "*": "STAR", "/": "SLASH", "%": "PERCENT"},
    **{"@": "AT", ":": "COLON", "=": "EQUAL", ",": "COMMA", ";": "SEMICOLON", ".": "DOT"},
    **{"(": "LPAR", ")": "RPAR", "[": "LSQB", "]": "RSQB", "{": "LBRACE", "}": "RBRACE"},
}
# After these, `//` divides.
VALUE_ENDS = frozenset({"NAME", "INTEGER", "FLOAT", "STRING", "TRUE", "FALSE", "RPAR", "RSQB"})

_WORD = re.compile(
    r"(?P<BLANK>[ \t\r\f]+|\#[^\n]*)"
    r"|(?P<NEWLINE>\n)"
    r"|(?P<FLOAT>(?:\d[\d_]*\.[\d_]*|\.\d[\d_]*)(?:[eE][+-]?\d+)?|\d[\d_]*[eE][+-]?\d+)"
    r"|(?P<INTEGER>0[xX][0-9a-fA-F_]+|\d[\d_]*)"
    r"|(?P<NAME>[^\W\d]\w*)"
    r"|(?P<STRING>\"[^\"\n\\]*\"|'[^'\n\\]*')"
    r"|(?P<OPERATOR>//=|\*\*|//|[=!<>+\-*/%@]=|[-+*/%@<>:=,;.()\[\]{}])"
)


class LexerError(Exception):
    """A character that begins no word, or brackets that are nested too deeply."""

    def __init__(self, line: int, column: int, character: str | None) -> None:
        super().__init__()
        self.line = line
        self.column = column
        self.character = character


class TileLexer(Lexer):
    """Lark's interface: ``lex`` gives the tokens of a text."""

    def __init__(self, conf: LexerConf) -> None:
        pass

    def lex(self, text: Any) -> Iterator[Token]:  # type: ignore[override]
        return words(text)


def words(text: str) -> Iterator[Token]:
    """The tokens of a text.

    Raises LexerError.
    """
    brackets: list[str] = []
    newline: Token | None = None
    last = ""
    line, line_start, position = 1, 0, 0
    while position < len(text):
        match = _WORD.match(text, position)
        column = position - line_start + 1
        if match is None:
            raise LexerError(line, column, text[position])
        kind, word = match.lastgroup or "", match.group()
        start, position = position, match.end()
        if kind == "BLANK":
            continue
        if kind == "NEWLINE":
            newline = newline or Token("_NEWLINE", "\n", start, line, column, line + 1, 1, position)
            line, line_start = line + 1, position
            continue
        inside = brackets[-1] if brackets else ""
        type_ = _type(kind, word, inside, last)
        if type_ == "FLOORDIV" and (last not in VALUE_ENDS or (newline and inside not in ("LPAR", "LSQB"))):
            position = (text.find("\n", position) + len(text) + 1) % (len(text) + 1)
            continue
        if newline is not None:
            if inside == "LBRACE" and type_ != "ELSE":
                yield newline
            newline = None
        if type_ in OPENING:
            brackets.append(type_)
            if len(brackets) > MAX_DEPTH:
                raise LexerError(line, column, None)
        elif type_ in CLOSING and brackets:
            brackets.pop()
        last = type_
        yield Token(type_, word, start, line, column, line, column + len(word), position)


def _type(kind: str, word: str, inside: str, last: str) -> str:
    """The terminal of a word."""
    if kind == "OPERATOR":
        return OPERATORS[word]
    if kind == "NAME" and (word in KEYWORDS or (word in HEADER_WORDS and not inside and last != "KERNEL")):
        return word.upper()
    return kind
