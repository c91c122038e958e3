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
from photic.ir.dtype import BOOL, FLOAT32, INT64
from photic.ir.index import Expr

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


RELATIVE: dict[str, Relative] = {
    "relative: a power of two of the distance": power,
    "relative: a power of the distance": scaled,
    "relative: a power of the scaled distance": twice_scaled,
    "relative: a power of the distance to a finite maximum": finite,
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


# --- the table ------------------------------------------------------------------------------


def constants(*values: float) -> Callable[[Draw], Expr]:
    return lambda d: most(J, d.mul(d.number(d.rng.choice(values)), d.value(I, J)))


def of_integers(op: str) -> Callable[[Draw], Expr]:
    return lambda d: form.reduce(op, J, d.add(d.leaf(I, J, dtype=INT64), d.leaf(I, dtype=INT64)))


SWAP = "swap two sums where a factor leaves the inner one"
MOVE = "move into a factor that is a sum where part of it leaves the outer one"
DISTRIBUTE = "distribute over an addend that loses the axis"

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
    **{name: folding(relative) for name, relative in RELATIVE.items()},
    "relative: a product": folding(scaled),
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
    **{name: (other_extremum(relative), wrong_power) for name, relative in RELATIVE.items()},
    "relative: a product": (wrong_product,),
    "fold": (wrong_sum, other_extremum(power)),
    **RANGE_MISSES,
}


def truth(d: Draw) -> Expr:
    return form.binary("less_than", d.leaf(J), d.leaf(J)) if d.coin() else d.leaf(J, dtype=BOOL)
