"""For every rule random small values that it must rewrite, and some that it must not.

``HITS`` and ``MISSES`` map a rule's name to functions of a ``Draw``. A miss has the shape of the
rule's left side with a guard broken.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from rules.draw import Draw, I, J, K, Make, N, most, total
from rules.range_instances import RANGE_HITS, RANGE_MISSES

from photic.ir import index as form
from photic.ir.dim import var
from photic.ir.dtype import (
    BFLOAT16,
    BOOL,
    FLOAT16,
    FLOAT32,
    FLOAT64,
    INT8,
    INT32,
    INT64,
    DType,
)
from photic.ir.index import TRUE, Expr

# --- folds ----------------------------------------------------------------------------------

Relative = Callable[[Draw, Expr, Expr], Expr]


def power(d: Draw, a: Expr, r: Expr) -> Expr:
    return form.unary("exp2", d.minus(a, r))


def scaled(d: Draw, a: Expr, r: Expr) -> Expr:
    return form.unary("exp2", d.mul(d.positive(), d.minus(a, r)))


def twice_scaled(d: Draw, a: Expr, r: Expr) -> Expr:
    inner = form.binary("mul", d.minus(a, r), d.positive())
    return form.unary("exp2", form.binary("mul", d.positive(), inner))


def finite(d: Draw, a: Expr, r: Expr, instead: float = 0.0) -> Expr:
    low, high = (d.number(sign * np.inf) for sign in (-1, 1))
    is_finite = form.both(form.binary("less_than", r, high), form.binary("less_than", low, r))
    return form.unary(
        "exp2", d.mul(d.positive(), d.minus(a, form.select(is_finite, r, d.number(instead))))
    )


def rounded(d: Draw, a: Expr, r: Expr) -> Expr:
    half = (FLOAT16, BFLOAT16)[d.rng.integers(2)]
    return form.cast(form.cast(scaled(d, a, r), half), FLOAT32)


def is_number(d: Draw, x: Expr) -> Expr:
    return form.either(
        form.binary("less_than", x, d.number(1)), form.binary("less_than", d.number(0), x)
    )


def tie(d: Draw, a: Expr, r: Expr) -> Expr:
    """``a == r``: neither is less, both are numbers."""
    found = TRUE
    for one, other in ((a, r), (r, a)):
        found = form.both(found, form.negation(form.binary("less_than", one, other)))
    for one in (a, r):
        found = form.both(found, is_number(d, one))
    return form.cast(found, FLOAT32)


def is_most(a: Expr, r: Expr) -> Expr:
    """a is not below r."""
    return form.negation(form.binary("less_than", a, r))


def place(d: Draw, a: Expr, r: Expr, dtype: DType = FLOAT32) -> Expr:
    """``a`` is r; where r is nan, only nan is."""
    found = form.either(is_number(d, r), form.negation(is_number(d, a)))
    return form.cast(form.both(is_most(a, r), found), dtype)


RELATIVE: dict[str, Relative] = {
    "relative: a power of two of the distance": power,
    "relative: a power of the distance": scaled,
    "relative: a power of the scaled distance": twice_scaled,
    "relative: a power of the distance to a finite maximum": finite,
    "relative: a rounded power of the distance": rounded,
    "relative: a tie with the maximum": tie,
    "relative: a tie of the maximum": lambda d, a, r: tie(d, r, a),
    "relative: the place of a maximum": place,
}


def operand(d: Draw) -> Expr:
    """A value over i and j, masked at times, so that whole tiles and rows may be -inf."""
    value = d.value(I, J)
    if d.coin():
        return value
    condition = form.less(var("i", I.extent), var("j", J.extent))
    if d.coin():
        condition = form.binary("less_than", d.leaf(I, J), d.leaf(I))
    return form.select(condition, value, form.lowest(FLOAT32))


def folding(relative: Relative) -> Callable[[Draw], Expr]:
    def make(d: Draw) -> Expr:
        a = operand(d)
        p = relative(d, a, most(J, a))
        return total(J, d.mul(p, d.value(J, N)) if d.coin() else p)

    return make


def whole_places(d: Draw) -> Expr:
    """The sum of values where whole numbers are greatest."""
    a = d.leaf(I, J, dtype=INT64)
    p = form.cast(is_most(a, most(J, a)), FLOAT32)
    return total(J, d.mul(p, d.value(J, N)))


def other_whole_places(d: Draw) -> Expr:
    a, b = (d.leaf(I, J, dtype=INT64) for _ in range(2))
    wrong = (
        is_most(a, most(J, b)),
        is_most(most(J, a), a),
        form.binary("less_than", a, most(J, a)),
    )
    p = form.cast(wrong[d.rng.integers(len(wrong))], FLOAT32)
    return total(J, d.mul(p, d.value(J, N)))


def widened_places(d: Draw) -> Expr:
    """What is relative and widened is no half."""
    a = operand(d)
    p = form.cast(place(d, a, most(J, a), (INT8, INT32)[d.rng.integers(2)]), FLOAT32)
    return total(J, d.mul(p, d.value(J, N)))


_J = var("j", J.extent)


def ranked(d: Draw, first: int = 0, dtype: DType = INT32) -> Expr:
    """Places counted from one of the ends, from so many on."""
    at = _J if d.coin() else J.extent - 1 - _J
    return form.cast(form.iota(at + first), dtype)


def chosen(d: Draw, rank: Expr, dtype: DType = INT32) -> Expr:
    """The ranks of places where a value over i and j is greatest, others 0."""
    a = operand(d)
    p = place(d, a, most(J, a), dtype)
    return form.binary("mul", *((p, rank) if d.coin() else (rank, p)))


def greatest_place(d: Draw) -> Expr:
    return most(J, chosen(d, ranked(d, int(d.rng.integers(500)))))


def greatest_of_wrong_places(d: Draw) -> Expr:
    """Ranks that may be negative, or that a cast may have made so; other reductions."""
    a = operand(d)
    wrong = (
        most(J, chosen(d, ranked(d, -1))),
        most(J, chosen(d, d.leaf(J, dtype=INT32))),
        most(J, chosen(d, ranked(d, 2**31))),
        most(J, chosen(d, form.cast(ranked(d, 200, INT64), INT8), INT8)),
        most(J, d.mul(place(d, a, most(J, a)), d.value(J, N))),
    )
    return wrong[d.rng.integers(len(wrong))]


def other_extremum(relative: Relative) -> Callable[[Draw], Expr]:
    """Near misses of a pair (h, w)."""

    def make(d: Draw) -> Expr:
        a, b = operand(d), operand(d)
        wrong = (
            most(I, a),  # over another axis
            most(J, b),  # of something else
            most(J, form.binary("add", a, d.leaf(I, J))),
            total(J, a),
            d.leaf(I),
        )
        return total(J, d.mul(relative(d, a, wrong[d.rng.integers(len(wrong))]), d.value(J, N)))

    return make


def wrong_power(d: Draw) -> Expr:
    """Constants of the wrong sign, another sign between a and r, another function."""
    a = operand(d)
    r = most(J, a)
    wrong = (
        form.unary("exp2", d.mul(d.number(-0.7), d.minus(a, r))),
        form.unary("exp2", d.mul(d.number(np.inf), d.minus(a, r))),
        form.unary("exp2", d.mul(d.leaf(I), d.minus(a, r))),
        form.unary("exp2", d.minus(a, r, -2.0)),
        form.unary("exp2", d.minus(r, a)),
        form.unary("exp2", d.add(a, r)),
        form.unary("sin", d.minus(a, r)),
        form.unary("exp2", d.minus(a, form.binary("maximum", r, d.leaf(I)))),
        finite(d, a, r, instead=1.0),
        d.mul(a, form.unary("recip", r)),
        form.cast(form.binary("less_than", a, r), FLOAT32),
        form.cast(form.negation(form.binary("less_than", a, r)), FLOAT32),  # nan ties with all
    )
    return total(J, d.mul(wrong[d.rng.integers(len(wrong))], d.value(J, N)))


def wrong_product(d: Draw) -> Expr:
    """The other factor depends on the maximum too."""
    a = operand(d)
    r = most(J, a)
    p = power(d, a, r)
    wrong = (
        p,
        r,
        form.unary("recip", total(J, p)),
        form.binary("add", p, d.leaf(J)),
        d.minus(a, r),
    )
    return total(J, form.binary("mul", p, wrong[d.rng.integers(len(wrong))]))


def wrong_sum(d: Draw) -> Expr:
    """A reduction of a relative value, but not the sum over the axis of the maximum."""
    a = operand(d)
    p = power(d, a, most(J, a))
    v = d.mul(p, d.leaf(J)) if d.coin() else p
    wrong = (total(I, v), most(J, v), most(I, v), form.unary("sin", v))
    return wrong[d.rng.integers(len(wrong))]


# --- powers ---------------------------------------------------------------------------------


def apart(d: Draw, whole: float, powers: int) -> Expr:
    """A sum of a power of which h was taken off: ``c*(a + b) = whole`` and so many ``2**h``."""
    c = 2.0 ** int(d.rng.integers(-1, 2))
    a = float(d.rng.integers(-8, 9)) / 8
    h = d.value(I, J)
    inner = d.add(d.value(I, J), form.binary("mul", h, d.number(a)))
    inner = d.add(inner, form.binary("mul", d.number(whole / c - a), h))
    power = form.unary("exp2", form.binary("mul", inner, d.number(c)))
    return total(J, d.mul(power, *[form.unary("exp2", h)] * powers, d.value(J)))


def of_another(d: Draw) -> Expr:
    """What was taken off is not what is given back."""
    z, h = d.leaf(I, J), d.leaf(I, J)
    inner = d.add(d.minus(z, h, -1.5), d.mul(h, d.number(-0.5)))
    powers = [form.unary("exp2", one) for one in (inner, d.leaf(I, J), h)]
    return total(J, d.mul(*powers))


def limited(d: Draw, limit: float, factor: float, is_above: bool) -> Expr:
    """``2**(factor*x)`` in float64 with x kept on one side of a limit; x lies on both sides."""
    x = form.binary("mul", d.leaf(I, J, dtype=FLOAT64), form.number(2000.0, FLOAT64))
    edge, c = form.number(limit, FLOAT64), form.number(factor, FLOAT64)
    operands = (edge, x) if is_above else (x, edge)
    kept = form.select(form.binary("less_than", *operands), edge, x)
    return form.unary("exp2", form.binary("mul", c, kept))


def below(d: Draw) -> Expr:
    c = d.rng.uniform(0.5, 2.0)
    return limited(d, -1076.0 / c * d.rng.uniform(1.0, 1.5), c, False)


def above(d: Draw) -> Expr:
    c = d.rng.uniform(0.5, 2.0)
    return limited(d, 1025.0 / c * d.rng.uniform(1.0, 1.5), c, True)


def wrong_limit(sign: float) -> tuple[Make, ...]:
    """Limits that are seen, on the other side, under a factor that turns them, of other values."""
    is_above = sign > 0

    def of_other(d: Draw) -> Expr:
        x, y = d.leaf(I, J), d.leaf(I, J)
        operands = (d.number(2000.0), y) if is_above else (y, d.number(-2000.0))
        kept = form.select(form.binary("less_than", *operands), d.number(sign * 2000.0), x)
        return form.unary("exp2", form.binary("mul", d.number(1.0), kept))

    return (
        lambda d: limited(d, sign * 1000.0, 1.0, is_above),
        lambda d: limited(d, sign * 2000.0, 1.0, not is_above),
        lambda d: limited(d, sign * 2000.0, -1.0, is_above),
        of_other,
    )


# --- the table ------------------------------------------------------------------------------


def constants(*values: float) -> Callable[[Draw], Expr]:
    return lambda d: most(J, d.mul(d.number(d.rng.choice(values)), d.value(I, J)))


def of_integers(op: str) -> Callable[[Draw], Expr]:
    return lambda d: form.reduce(op, J, d.add(d.leaf(I, J, dtype=INT64), d.leaf(I, dtype=INT64)))


SWAP = "swap two sums where a factor leaves the inner one"
MOVE = "move into a factor that is a sum where part of it leaves the outer one"
DISTRIBUTE = "distribute over an addend that loses the axis"

PLACES = ("relative: a choice", "nothing or more", "a cast of a small number", "fold of places")

HITS: dict[str, Make] = {
    "product in a sum": lambda d: total(J, d.mul(d.value(I, J), d.value(J))),
    "flatten a product in a sum": lambda d: total(
        J, d.mul(d.value(I, J), d.value(J), d.value(I), d.value(J, N))
    ),
    "product of one in a sum": lambda d: total(J, d.mul(d.value(I, J), d.value(I, N))),
    "factors out of a sum": lambda d: total(
        J, d.mul(d.value(I, J), *(d.value(I) for _ in range(d.rng.integers(1, 3))), d.value(J))
    ),
    DISTRIBUTE: lambda d: total(J, d.mul(d.add(d.value(I, J), d.value(I)), d.value(J, N))),
    "sum of two addends": lambda d: total(J, d.add(d.value(I, J), d.value(J))),
    SWAP: lambda d: total(K, total(J, d.mul(d.value(I, J), d.value(J, K)))),
    MOVE: lambda d: total(J, d.mul(d.value(I, J), total(K, d.mul(d.value(J, K), d.value(K, N))))),
    "positive factor out of a maximum": lambda d: most(J, d.mul(d.positive(), d.value(I, J))),
    "addend out of a maximum": lambda d: most(J, d.add(d.value(I, J), d.value(I, N))),
    "a power taken apart": lambda d: apart(d, -2.0, 2),
    "a limit below a power": below,
    "a limit above a power": above,
    **{name: folding(relative) for name, relative in RELATIVE.items()},
    "relative: the place of a whole maximum": whole_places,
    "relative: a product": folding(scaled),
    "relative: a half in float32": folding(rounded),
    **dict.fromkeys(PLACES, greatest_place),
    "fold": folding(power),
    **RANGE_HITS,
}

MISSES: dict[str, tuple[Make, ...]] = {
    "product in a sum": (
        lambda d: most(J, d.mul(d.value(I, J), d.value(J))),
        lambda d: d.mul(d.value(I, J), d.value(J)),
        lambda d: total(J, form.select(truth(d), d.mul(d.value(J), d.value(J)), d.number(1.0))),
    ),
    "flatten a product in a sum": (
        lambda d: d.mul(d.value(I, J), d.value(J), d.value(I)),
        lambda d: most(J, d.mul(d.value(I, J), d.value(J), d.value(I))),
        lambda d: total(J, form.unary("sin", d.mul(d.value(I, J), d.value(J), d.value(I)))),
        lambda d: total(J, d.mul(d.value(I, J), d.add(d.value(J), d.mul(d.value(I), d.value(I))))),
    ),
    "product of one in a sum": (lambda d: total(J, d.mul(d.value(I, J), d.value(J, N))),),
    "factors out of a sum": (
        lambda d: total(J, d.mul(d.value(I, J), d.value(J))),
        lambda d: most(J, d.mul(d.value(I, J), d.value(I))),
        lambda d: total(J, d.add(d.value(I, J), d.mul(d.value(I), d.value(I)))),
    ),
    DISTRIBUTE: (
        lambda d: total(J, d.mul(d.add(d.leaf(I, J), d.leaf(J)), d.leaf(J))),
        lambda d: most(J, d.mul(d.add(d.leaf(I, J), d.leaf(I)), d.leaf(J))),
        lambda d: total(J, d.mul(form.binary("maximum", d.leaf(I, J), d.leaf(I)), d.leaf(J))),
    ),
    "sum of two addends": (
        lambda d: most(J, d.add(d.value(I, J), d.value(J))),
        lambda d: total(J, form.binary("maximum", d.leaf(I, J), d.leaf(J))),
        of_integers("sum"),
    ),
    SWAP: (
        lambda d: total(K, total(J, d.mul(d.value(J, K), d.value(J, K)))),
        lambda d: most(K, total(J, d.mul(d.value(I, J), d.value(J, K)))),
        lambda d: total(K, most(J, d.mul(d.value(I, J), d.value(J, K)))),
    ),
    MOVE: (
        lambda d: total(J, d.mul(d.value(I, J), total(K, d.mul(d.value(J, K), d.value(J, K))))),
        lambda d: total(J, d.mul(d.value(I, J), most(K, d.mul(d.value(J, K), d.value(K, N))))),
        lambda d: most(J, d.mul(d.value(I, J), total(K, d.mul(d.value(J, K), d.value(K, N))))),
    ),
    "positive factor out of a maximum": (
        constants(-1.0, 0.0, -0.0, np.inf, np.nan, -np.inf),
        lambda d: most(J, d.mul(d.value(I), d.value(I, J))),
        lambda d: most(J, d.add(d.positive(), d.value(I, J))),
    ),
    "addend out of a maximum": (
        lambda d: most(J, d.add(d.value(I, J), d.value(J))),
        lambda d: most(J, d.mul(d.value(I, J), d.value(I))),
        of_integers("max"),
    ),
    "a power taken apart": (
        lambda d: apart(d, -1.0, 2),
        lambda d: apart(d, 2.0, 2),
        lambda d: apart(d, -2.0, 1),
        of_another,
    ),
    "a limit below a power": wrong_limit(-1.0),
    "a limit above a power": wrong_limit(1.0),
    **{name: (other_extremum(relative), wrong_power) for name, relative in RELATIVE.items()},
    "relative: the place of a whole maximum": (other_whole_places,),
    "relative: a product": (wrong_product,),
    "relative: a half in float32": (widened_places,),
    "relative: a choice": (lambda d: most(J, chosen(d, form.cast(most(J, d.leaf(I, J)), INT32))),),
    "nothing or more": (
        lambda d: most(J, chosen(d, ranked(d, -1))),
        lambda d: most(J, form.binary("mul", ranked(d), ranked(d))),
    ),
    "a cast of a small number": (
        lambda d: most(J, chosen(d, ranked(d, -1))),
        lambda d: most(J, chosen(d, ranked(d, 2**31))),
        lambda d: most(J, ranked(d, 200, INT8)),
    ),
    "fold of places": (greatest_of_wrong_places,),
    "fold": (wrong_sum, other_extremum(power)),
    **RANGE_MISSES,
}


def truth(d: Draw) -> Expr:
    return form.binary("less_than", d.leaf(J), d.leaf(J)) if d.coin() else d.leaf(J, dtype=BOOL)
