"""The gradient of each operation, as a table: a rule, or why there is none.

A rule gets a node and the gradient of its value, and gives terms for what the node reads. Two
choices keep gradients finite where functions composed of primitives are smooth: at an edge of its
domain, where its slope is infinite, a primitive passes nothing (``sqrt`` at 0, ``log2`` at 0 and
below, ``recip`` at 0, ``exp2`` where it overflows), while nan passes nan; and a factor of a product
that is infinite or nan counts as 0 for the other one, where it may be so by how it is composed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from photic.autograd import build, term
from photic.autograd.facts import Facts, Sign, is_below_own_max, is_stop
from photic.autograd.term import Term
from photic.ir import dim as dims
from photic.ir.dtype import BOOL, FLOAT32, FLOAT64, DType
from photic.ir.graph import Along, Node, Operand, operand
from photic.ir.view import identity

Found = Iterable[tuple[Operand, Term]]
Pull = Callable[[Node, Term, Facts], Found]


@dataclass(frozen=True, slots=True)
class Rule:
    """How the gradient of an operation is taken, or why it has none."""

    pull: Pull | None
    why: str


# --- one operand ----------------------------------------------------------------------------


def _exp2(node: Node, given: Term, facts: Facts) -> Found:
    """``2**x * ln 2``; nothing where it overflows."""
    (x,), y = node.operands, operand(node)
    if not is_below_own_max(x):
        given = term.where(given, build.negated(build.is_infinite(y)))
    yield x, term.scaled(term.times(given, y), math.log(2))


def _log2(node: Node, given: Term, facts: Facts) -> Found:
    """``1/(x * ln 2)``; nothing at 0 and below."""
    (x,) = node.operands
    if facts.sign(x) < Sign.POSITIVE:
        given = term.where(given, build.negated(build.is_not_above_0(x)))
    yield x, term.scaled(term.times(given, build.unary("recip", x)), 1 / math.log(2))


def _sin(node: Node, given: Term, facts: Facts) -> Found:
    """The cosine as ``1 - 2*sin(x/2)**2``: right to a few units of the last place of 1."""
    (x,) = node.operands
    half = build.unary("sin", build.scaled(x, 0.5))
    lost = build.scaled(build.times(half, half), -2.0)
    yield x, term.times(given, build.plus(lost, build.number(1.0, x.dtype, x.shape)))


def _sqrt(node: Node, given: Term, facts: Facts) -> Found:
    """``1/(2*sqrt(x))``; nothing at 0: the slope of a norm there is any up to 1."""
    (x,), y = node.operands, operand(node)
    if facts.sign(x) < Sign.POSITIVE:
        given = term.where(given, build.negated(build.is_not_above_0(x)))
    yield x, term.scaled(term.times(given, build.unary("recip", y)), 0.5)


def _recip(node: Node, given: Term, facts: Facts) -> Found:
    """``-1/x**2``; nothing where 1/x is infinite."""
    (x,), y = node.operands, operand(node)
    if facts.sign(x) < Sign.POSITIVE:
        is_infinite = build.is_infinite(y)
        if facts.sign(x) < Sign.NOT_NEGATIVE:
            is_infinite = build.plus(is_infinite, build.is_infinite(build.scaled(y, -1.0)))
        given = term.where(given, build.negated(is_infinite))
    yield x, term.scaled(term.times(term.times(given, y), y), -1.0)


def _copy(node: Node, given: Term, facts: Facts) -> Found:
    (x,) = node.operands
    if x.dtype.kind == "float" and not is_stop(node):
        yield x, term.in_dtype(given, x.dtype)


# --- two operands ---------------------------------------------------------------------------

# Adding this and taking it away again rounds to a whole number: a step, whose slope is 0.
ROUNDERS: dict[DType, float] = {FLOAT32: 1.5 * 2.0**23, FLOAT64: 1.5 * 2.0**52}


def _add(node: Node, given: Term, facts: Facts) -> Found:
    left, right = node.operands
    rounder = ROUNDERS.get(node.dtype)
    for one, other in ((left, right), (right, left)):
        value = build.value_of(other)
        if rounder is None or value is None or abs(value) != rounder:
            yield one, given


def _mul(node: Node, given: Term, facts: Facts) -> Found:
    left, right = node.operands
    if left.dtype == BOOL:
        yield right, term.where(given, left)
        return
    yield left, term.times(given, _finite(right, facts))
    yield right, term.times(given, _finite(left, facts))


def _finite(x: Operand, facts: Facts) -> Operand:
    """A factor, 0 where it is infinite or nan, if it may be so."""
    if not facts.may_blow_up(x) or build.value_of(x) is not None:
        return x
    plain = operand(x.node)
    return Operand(build.masked(_is_finite(plain, facts), plain).node, x.view)


def _is_finite(x: Operand, facts: Facts) -> Operand:
    """True where a float is neither nan nor infinite."""
    below = build.less_number(x, math.inf)
    if facts.sign(x) >= Sign.NOT_NEGATIVE:
        return below
    return build.times(below, build.less_number(-math.inf, x))


def _mod(node: Node, given: Term, facts: Facts) -> Found:
    """1, and for the divisor minus how often it goes into the other."""
    x, y = node.operands
    yield x, given
    whole = build.plus(x, build.scaled(operand(node), -1.0))
    yield y, term.scaled(term.times(term.times(given, whole), build.unary("recip", y)), -1.0)


# --- reductions -----------------------------------------------------------------------------


def _axis(node: Node) -> int:
    assert isinstance(node.attribute, Along)
    return node.attribute.axis


def _sum(node: Node, given: Term, facts: Facts) -> Found:
    (x,), axis, settled = node.operands, _axis(node), term.settled(given)
    spread = build.repeated(settled.value, axis, x.shape[axis])
    yield x, Term((spread,), settled.number)


def _max(node: Node, given: Term, facts: Facts) -> Found:
    """Shared evenly by all that are equal to the maximum, also one over several axes."""
    pair = two_values(node)
    if pair is not None:
        yield from _larger(node, *pair, given, facts)
        return
    x, axes = _all_axes(node)
    settled = term.settled(given)

    def spread(one: Operand) -> Operand:
        for axis in axes:
            one = build.repeated(one, axis, x.shape[axis])
        return one

    is_top = build.negated(build.less(x, spread(operand(node))))
    count = dims.bounds(dims.product(x.shape[axis] for axis in axes))[1]
    counter = FLOAT64 if count > EXACT_IN_FLOAT32 or node.dtype == FLOAT64 else FLOAT32
    ties = build.in_dtype(is_top, counter)
    for axis in reversed(axes):
        ties = build.reduced("sum", ties, axis)
    share = build.times(build.in_dtype(settled.value, counter), build.unary("recip", ties))
    yield x, Term((spread(build.in_dtype(share, node.dtype)),), settled.number, (is_top,))


EXACT_IN_FLOAT32 = 2**24  # whole numbers up to here


def _all_axes(node: Node) -> tuple[Operand, list[int]]:
    """What a maximum of maxima is of, and over which of its axes, in their order."""
    (x,), axes = node.operands, [_axis(node)]
    while x.node.op == "max" and x.view == identity(x.node.shape) and two_values(x.node) is None:
        below = _axis(x.node)
        axes = sorted([below, *(axis + (axis >= below) for axis in axes)])
        (x,) = x.node.operands
    return x, axes


def _larger(node: Node, left: Operand, right: Operand, given: Term, facts: Facts) -> Found:
    """The larger of two: each half where they are equal, but a constant then takes all.

    Beside a constant the result itself tells where it is larger: what it is of need not be kept.
    """
    is_beside = facts.is_fixed(left) or facts.is_fixed(right)
    for one, other in ((left, right), (right, left)):
        yield one, term.where(given, build.less(other, operand(node) if is_beside else one))
    if not is_beside:
        is_tie = build.times(
            build.negated(build.less(left, right)), build.negated(build.less(right, left))
        )
        for one in (left, right):
            yield one, term.scaled(term.where(given, is_tie), 0.5)


def two_values(node: Node) -> tuple[Operand, Operand] | None:
    """What a maximum over an axis of two is of, if each place holds one value; None if not."""
    (x,), axis = node.operands, _axis(node)
    if x.shape[axis] != 2 or x.node.op != "add" or x.view != identity(x.node.shape):
        return None
    parts = [[build.selected(one, axis, at) for at in range(2)] for one in x.node.operands]
    for first, second in (parts, reversed(parts)):
        if _is_outside(first[1]) and _is_outside(second[0]):
            return first[0], second[1]
    return None


def _is_outside(x: Operand) -> bool:
    """True if a view surely reads nothing."""
    return any(
        dims.at_most(one.value + 1, 0) or dims.at_most(one.extent, one.value)
        for one in x.view.bounds
    )


# --- the table ------------------------------------------------------------------------------

_SOURCE = "it reads nothing"

# fmt: off
RULES: dict[str, Rule] = {
    "exp2": Rule(_exp2, "d 2**x = 2**x * ln 2 * dx"),
    "log2": Rule(_log2, "d log2 x = dx / (x * ln 2)"),
    "sin": Rule(_sin, "d sin x = cos x * dx"),
    "sqrt": Rule(_sqrt, "d sqrt x = dx / (2 * sqrt x)"),
    "recip": Rule(_recip, "d 1/x = -dx / x**2"),
    "add": Rule(_add, "d (x + y) = dx + dy; rounding by adding a large number is a step"),
    "mul": Rule(_mul, "d x*y = y*dx + x*dy; a mask masks the gradient"),
    "mod": Rule(_mod, "d (x mod y) = dx - floor(x/y) * dy"),
    "less_than": Rule(None, "its result is a bool, which changes by steps"),
    "sum": Rule(_sum, "the gradient is repeated along the axis"),
    "max": Rule(_max, "the gradient goes to the largest, shared evenly by equal ones"),
    "contiguous": Rule(_copy, "between floats the identity; of or to other kinds, a step"),
    "input": Rule(None, _SOURCE),
    "state": Rule(None, _SOURCE),
    "constant": Rule(None, _SOURCE),
    "iota": Rule(None, _SOURCE),
    "item": Rule(None, "its gradient is that of the scan, which takes all its results together"),
    "scan": Rule(None, "a scan over the trips from last to first, see loops.py"),
}
# fmt: on
