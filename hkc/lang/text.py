"""`.tile` text to the surface syntax tree."""

from __future__ import annotations

from hkc.errors import HkcError, Span
from hkc.lang import grammar
from hkc.lang.syntax import KernelDef
from hkc.lang.validate import validate


def parse_text(source: str, filename: str) -> list[KernelDef]:
    """The kernels of a `.tile` file, in order.

    Raises HkcError with the place and what was expected there; also when there is no kernel, or two of one name.
    """
    from lark.exceptions import UnexpectedToken

    from hkc.lang import syntaxerrors
    from hkc.lang.lexer import LexerError
    from hkc.lang.treebuilder import build

    # A byte order mark is no text, and "\r\n" would count as a column at the end of each line.
    text = source.removeprefix("\ufeff").replace("\r\n", "\n")
    try:
        tree = grammar.parser().parse(text)
    except UnexpectedToken as error:
        raise syntaxerrors.token_error(error, text, filename) from None
    except LexerError as error:
        raise syntaxerrors.lexer_error(error, filename) from None
    kernels = build(tree, filename)
    seen: dict[str, Span] = {}
    for kernel in kernels:
        if kernel.name in seen:
            raise HkcError(
                f"there are two kernels named {kernel.name}",
                kernel.span,
                notes=[("the first is here", seen[kernel.name])],
            )
        seen[kernel.name] = kernel.span
        validate(kernel)
    return kernels
