"""Cross-entropy of logits and class numbers."""

from __future__ import annotations

from typing import Any

from hkc.arguments import Array
from hkc.errors import HkcError
from hkc.kernels.operands import as_matrix, check_table, checked_rows, concrete, empty, is_torch, program, torch_op

_INT32 = range(-(2**31), 2**31)


def cross_entropy(x: Any, target: Any, *, ignore_index: int = -100) -> tuple[Any, Any]:
    """The losses log(sum(exp(x))) - x[target] of each row, and their log-sum-exp, both f32.

    ``x``: [rows, classes], f32, f16 or bf16; ``target``: [rows], i64. A row whose target is ``ignore_index``
    has the loss 0, one whose target is no class NaN. Raises HkcError that names the argument.
    """
    if not isinstance(ignore_index, int) or isinstance(ignore_index, bool) or ignore_index not in _INT32:
        raise HkcError(
            "cross_entropy: argument ignore_index must be an integer",
            expected="-2^31 to 2^31 - 1",
            got=repr(ignore_index),
            hint="-100, as in torch",
        )
    if concrete(x):
        _check(x, target)
    run = torch_op("cross_entropy") if is_torch(x) else _run
    losses, sums = run(x, target, ignore_index)
    return losses, sums


def _check(x: Any, target: Any) -> Array:
    array = checked_rows("cross_entropy", "x", x)
    if len(array.shape) != 2 or array.shape[1] == 0:
        raise HkcError(
            "cross_entropy: argument x has another shape",
            expected="[rows, classes] with at least one class",
            got=f"shape {list(array.shape)}",
            hint="x.reshape(-1, classes)",
        )
    check_table("cross_entropy", "target", target, x, "i64", array.shape[:1])
    return array


def _run(x: Any, target: Any, ignore_index: int) -> tuple[Any, Any]:
    array = _check(x, target)
    losses, sums = (empty(x, array.shape[:1]) for _ in range(2))
    if array.shape[0]:
        program("cross_entropy")(as_matrix(x), target, losses, sums, ignore_index, DTYPE=array.dtype)
    return losses, sums


RUN: dict[str, Any] = {"cross_entropy": _run}
