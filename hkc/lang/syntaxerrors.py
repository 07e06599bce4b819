"""Syntax errors of `.tile` text, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hkc.errors import HkcError, Span
from hkc.lang.syntax import MAX_DEPTH

if TYPE_CHECKING:
    from lark.exceptions import UnexpectedToken

    from hkc.lang.lexer import LexerError

WORDS = {
    "NAME": "a name",
    "STRING": "a string",
    "_NEWLINE": "the end of the line",
    "$END": "the end of the file",
    "KERNEL": "'kernel'",
    "COLON": "':'",
    "EQUAL": "'='",
    "COMMA": "','",
    "SEMICOLON": "';'",
    "LPAR": "'('",
    "RPAR": "')'",
    "LSQB": "'['",
    "RSQB": "']'",
    "LBRACE": "'{'",
    "RBRACE": "'}'",
    "DOT": "'.'",
    "AUGMENTED": "'+='",
}

# Groups of terminals that read better as one word: the word stands for what is left of the group when all of the
# second set may come.
GROUPS: tuple[tuple[str, set[str], set[str]], ...] = (
    ("a statement", {"FOR", "IF", "PASS"}, {"FOR", "IF", "PASS", "NAME"}),
    (
        "an expression",
        {"NAME", "INTEGER", "FLOAT", "STRING", "TRUE", "FALSE", "LPAR", "MINUS", "PLUS", "NOT"},
        {"NAME", "INTEGER", "LPAR"},
    ),
    (
        "an operator",
        {
            *("PLUS", "MINUS", "STAR", "SLASH", "FLOORDIV", "PERCENT", "AT", "POWER", "COMPARISON"),
            *("AND", "OR", "IF", "LSQB", "DOT", "AUGMENTED"),
        },
        {"PLUS"},
    ),
)

STATEMENT_HINTS = {
    "while": "there is only `for name in range(low, high, step) { ... }`",
    "elif": "write `else if`",
    "return": "a kernel returns nothing; store to a view: C[m : m + BM, n : n + BN] = x",
    "def": "a kernel is written `kernel name(A: view[M, N], ...; BM = 128) grid (...) { ... }`",
    "import": "a .tile file stands alone",
    "from": "a .tile file stands alone",
    "let": "write `name = value`",
    "var": "write `name = value`",
    "const": "constants of a kernel stand after `;` in its parameter list",
    "break": "loops run to their end",
    "continue": "guard the rest of the loop's body with `if`",
}

CHARACTER_HINTS = {
    "&": "write `and`",
    "|": "write `or`",
    "!": "write `not`",
    "?": "write `x if condition else y`",
    '"': "a string ends on the line where it begins and has no backslashes",
    "'": "a string ends on the line where it begins and has no backslashes",
    "\\": "inside ( ) and [ ] a line may simply go on",
}


def token_error(error: UnexpectedToken, text: str, filename: str) -> HkcError:
    """The error for a token that can't stand where it does."""
    token = error.token
    if token.type == "$END":
        return _end_error(error, text, filename)
    line, column = token.line or 1, token.column or 1
    source = text.splitlines()[line - 1] if token.type != "_NEWLINE" else ""
    if token.type == "_NEWLINE":
        got, end = "the end of the line", None
    else:
        got, end = f"'{token}'", column + len(token)
    return HkcError(
        f"unexpected {got}",
        Span(filename, line, column, end),
        expected=in_words(error.accepts or error.expected),
        hint=_hint(source, column, str(token)),
    )


def _hint(source: str, column: int, token: str) -> str | None:
    words = source.split()
    if words and (hint := STATEMENT_HINTS.get(words[0].strip("{}():"))):
        return hint
    if "//" in source[: column - 1]:
        return "after a value // divides; a comment there begins with #"
    if token == ":" and words and words[0] in ("for", "if", "else"):
        return "the body stands in { }"
    if token == "=" and words and words[0] in ("if", "for"):
        return "compare with =="
    if token in ("<", "<=", ">", ">=", "==", "!="):
        return "write a < b and b < c"
    return None


def lexer_error(error: LexerError, filename: str) -> HkcError:
    """The error for a character that begins no word, or for brackets that are nested too deeply."""
    span = Span(filename, error.line, error.column)
    character = error.character
    if character is None:
        return HkcError(
            "the brackets are nested too deeply",
            span,
            expected=f"at most {MAX_DEPTH} levels",
            hint="give parts of the expression names of their own",
        )
    shown = f"'{character}'" if character.isprintable() else f"character U+{ord(character):04X}"
    return HkcError(f"unexpected {shown}", span, hint=CHARACTER_HINTS.get(character))


def _end_error(error: UnexpectedToken, text: str, filename: str) -> HkcError:
    lines = text.splitlines() or [""]
    if not text.strip():
        return HkcError("the file has no kernel", Span(filename, 1, 1), expected="'kernel'")
    while len(lines) > 1 and not lines[-1].strip():
        lines.pop()
    return HkcError(
        "unexpected end of the file",
        Span(filename, len(lines), len(lines[-1].rstrip()) + 1),
        expected=in_words(error.accepts or error.expected),
    )


def in_words(terminals: set[str]) -> str | None:
    """What may stand there, most telling first; None when that is everything or nothing."""
    left = set(terminals)
    words: list[str] = []
    for word, members, needed in GROUPS:
        if needed <= left:
            words.append(word)
            left -= members
    words += sorted(WORDS.get(t, f"'{t.lower()}'") for t in left)
    if not words:
        return None
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"
