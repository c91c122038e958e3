"""The greatest common divisor and the least common multiple of integers, by Euclid's steps.

As many steps are done as the dtype may need: each two of them halve the larger number.
"""

from __future__ import annotations

from photic.base.errors import DtypeMismatch
from photic.tensor.arithmetic import floor_divide
from photic.tensor.compare import equal
from photic.tensor.loops import Tensors, scan
from photic.tensor.primitive import mod, where
from photic.tensor.rounding import abs
from photic.tensor.tensor import Tensor, Value, together

STEPS_A_BIT = 1.45  # 1/log2 of the golden ratio, rounded up: Lame 1844


def _magnitudes(op: str, left: Value, right: Value) -> tuple[Tensor, Tensor]:
    a, b = together(op, left, right)
    if a.dtype.kind != "int":
        raise DtypeMismatch(op=op, given=a.dtype, expected="an integer dtype")
    return abs(a), abs(b)


def gcd(left: Value, right: Value) -> Tensor:
    """The largest integer that divides both, 0 or more; the other one beside 0. DtypeMismatch.

    The lowest integer has no magnitude in its dtype: with it the sign may be negative.
    """
    return _gcd(*_magnitudes("gcd", left, right))


def _gcd(a: Tensor, b: Tensor) -> Tensor:
    def body(carried: Tensors, _: Tensors) -> tuple[Tensors, Tensors]:
        first, second = carried
        is_done = equal(second, 0)
        return (where(is_done, first, second), where(is_done, second, mod(first, second))), ()

    steps = int(8 * a.dtype.bytes * STEPS_A_BIT) + 1
    return abs(scan(body, (a, b), trips=steps)[0][0])


def lcm(left: Value, right: Value) -> Tensor:
    """The smallest positive integer that both divide, 0 beside 0; wraps. DtypeMismatch."""
    a, b = _magnitudes("lcm", left, right)
    return abs(floor_divide(a, _gcd(a, b)) * b)
