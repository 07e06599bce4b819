"""The extent of a slice ``lo : hi`` from its syntax: ``hi - lo`` as a compile-time constant."""

from __future__ import annotations

from collections import Counter

from hkc.errors import HkcError
from hkc.lang import syntax
from hkc.lang.consteval import Lookup, NotConstant, evaluate

# A sum of syntax trees with integer factors; None stands for 1.
Terms = Counter[syntax.Expression | None]


def difference(high: syntax.Expression, low: syntax.Expression, lookup: Lookup) -> int | None:
    """``high - low`` if that is a constant whatever the variables in them are, else None.

    Both are taken apart as sums: m + BM : m gives BM, and so does (i + 1) * BM : i * BM.
    """
    total = _terms(high, lookup)
    total.subtract(_terms(low, lookup))
    constant = total.pop(None, 0)
    return None if any(total.values()) else constant


def _terms(node: syntax.Expression, lookup: Lookup) -> Terms:
    try:
        value = evaluate(node, lookup)
    except (NotConstant, HkcError):
        pass  # an error is reported where the expression is evaluated
    else:
        return Counter({None: value}) if type(value) is int else Counter({node: 1})
    if isinstance(node, syntax.Unary) and node.operator in "+-":
        return _scale(_terms(node.operand, lookup), -1 if node.operator == "-" else 1)
    if isinstance(node, syntax.Binary):
        left, right = (_terms(side, lookup) for side in (node.left, node.right))
        if node.operator in "+-":
            left.update(_scale(right, -1 if node.operator == "-" else 1))
            return left
        if node.operator == "*":
            for factor, other in ((left, right), (right, left)):
                if set(factor) <= {None}:
                    return _scale(other, factor[None])
    return Counter({node: 1})


def _scale(terms: Terms, factor: int) -> Terms:
    return Counter({term: count * factor for term, count in terms.items()})
