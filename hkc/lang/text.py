"""`.tile` text to the surface syntax tree."""

from __future__ import annotations

from hkc.errors import HkcError, Span
from hkc.lang import grammar
from hkc.lang.syntax import MAX_DEPTH, KernelDef
from hkc.lang.validate import validate


def parse_text(source: str, filename: str) -> list[KernelDef]:
    """The kernels of a `.tile` file, in order.

    Raises HkcError with the place and what was expected there; also when there is no kernel, or two of one name.
    """
    from lark.exceptions import UnexpectedCharacters, UnexpectedToken

    from hkc.lang import syntaxerrors
    from hkc.lang.treebuilder import build

    # "\r\n" would count as a column at the end of each line.
    text = source.replace("\r\n", "\n")
    try:
        tree = grammar.parser().parse(text)
    except UnexpectedToken as error:
        raise syntaxerrors.token_error(error, text, filename) from None
    except UnexpectedCharacters as error:
        raise syntaxerrors.character_error(error, text, filename) from None
    except grammar.NestingError as error:
        raise HkcError(
            "the brackets are nested too deeply",
            Span(filename, error.token.line or 1, error.token.column or 1),
            expected=f"at most {MAX_DEPTH} levels",
            hint="give parts of the expression names of their own",
        ) from None
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
