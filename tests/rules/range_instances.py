"""Random values for the rules that say where a value takes no part in a reduction.

Each is a reduction, so that what is known of its body can be judged; see ``instances.py``.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from rules.draw import Draw, I, J, K, Make, N, most, total

from photic.ir import index as form
from photic.ir.dim import var
from photic.ir.dtype import BOOL, FLOAT32, FLOAT64, INT64
from photic.ir.index import Expr

_I, _J, _K = (var(axis.name, axis.extent) for axis in (I, J, K))


def condition(d: Draw) -> Expr:
    """An index condition over i and j, at times as a comparison of whole numbers."""
    shift = int(d.rng.integers(2))
    pairs = ((_I + shift, _J), (_J, _I + shift + 1), (shift, _J), (_J, shift + 1))
    low, high = pairs[d.rng.integers(len(pairs))]
    if d.coin():
        return form.less(low, high)
    more = form.binary("add", form.iota(high), form.number(1, INT64))
    return form.binary("less_than", form.iota(low + 1), more)


def truth(d: Draw) -> Expr:
    """A condition on data."""
    return d.leaf(I, J, dtype=BOOL) if d.coin() else form.binary("less_than", d.leaf(J), d.leaf(I))


def zero(d: Draw) -> Expr:
    return d.number(0.0 if d.coin() else -0.0)


def lowest(d: Draw) -> Expr:
    return d.number(-np.inf)


def masked(d: Draw, c: Expr) -> Expr:
    """0 where the condition does not hold."""
    return form.select(c, d.value(I, J), zero(d))


def lowered(d: Draw, c: Expr) -> Expr:
    """-inf where the condition does not hold."""
    return form.select(c, d.value(I, J), lowest(d))


def otherwise(d: Draw, c: Expr) -> Expr:
    """True where the condition does not hold, on data elsewhere."""
    return form.either(form.negation(c), truth(d))


def neither(one: Expr, other: Expr) -> Expr:
    """``not (one and other)`` as one negation of a conjunction."""
    return form.negation(form.both(one, other))


def over(reduction: Callable[..., Expr], *parts: Callable[[Draw, Expr], Expr]) -> Make:
    """A reduction of a product of parts that see one condition."""

    def make(d: Draw) -> Expr:
        c = condition(d)
        return reduction(J, d.mul(*(part(d, c) for part in parts)))

    return make


def where(chosen: Callable[[Draw, Expr], Expr], keep: Callable[[Draw, Expr], Expr]) -> Make:
    """Sums that leave out what is chosen where the condition does not hold."""

    def make(d: Draw) -> Expr:
        c = condition(d)
        return total(J, form.select(chosen(d, c), keep(d, c), d.value(I, J)))

    return make


def alike(d: Draw) -> Expr:
    c = condition(d)
    sides = form.either(form.both(c, truth(d)), form.both(c, truth(d)))
    kinds = (
        lambda: total(J, d.add(masked(d, c), masked(d, c))),
        lambda: most(J, form.binary("maximum", lowered(d, c), lowered(d, c))),
        lambda: total(J, form.binary("maximum", masked(d, c), masked(d, c))),
        lambda: total(J, form.select(sides, d.value(I, J), zero(d))),
    )
    return kinds[d.rng.integers(len(kinds))]()


def unlike(d: Draw) -> Expr:
    c = condition(d)
    kinds = (
        lambda: total(J, d.add(masked(d, c), d.leaf(I, J))),
        lambda: most(J, form.binary("maximum", lowered(d, c), masked(d, c))),
        lambda: most(J, form.binary("maximum", lowered(d, c), d.leaf(J))),
        lambda: total(J, form.binary("add", masked(d, c), lowered(d, c))),
    )
    return kinds[d.rng.integers(len(kinds))]()


def on_data(d: Draw) -> Expr:
    """The condition is one on data: nothing is known of where it holds."""
    if d.coin():
        return total(J, form.select(truth(d), d.value(I, J), zero(d)))
    return most(J, form.select(truth(d), d.value(I, J), lowest(d)))


def product_of_integers(d: Draw) -> Expr:
    c = condition(d)
    counted = form.select(c, form.iota(_J + 1), form.number(0, INT64))
    if d.coin():
        return total(J, form.binary("mul", counted, d.leaf(I, J, dtype=INT64)))
    return total(J, form.select(form.both(c, truth(d)), d.value(I, J), zero(d)))


def cast_of_zero(d: Draw) -> Expr:
    c = condition(d)
    if d.coin():
        return total(J, form.cast(form.both(c, truth(d)), FLOAT32))
    return total(J, form.cast(d.mul(masked(d, c), d.leaf(I, J)), FLOAT64))


def inner(reduction: Callable[..., Expr], part: Callable[[Draw, Expr], Expr]) -> Make:
    return lambda d: reduction(
        J, reduction(K, form.binary("mul", part(d, condition(d)), d.leaf(I, J, K)))
    )


def _one(d: Draw, c: Expr) -> Expr:
    return d.number(1.0)


def _value(d: Draw, c: Expr) -> Expr:
    return d.value(I, J)


def _positive(d: Draw, c: Expr) -> Expr:
    return d.positive()


NEGATION_OF_FALSE, NEGATION_OF_TRUE = "negation of what is false", "negation of what holds"
PRODUCT, CONJUNCTION = "a product of floats with zero", "a product or conjunction with zero"
POWER, REDUCTION = "a power with the exponent minus infinity", "a reduction over another axis"

RANGE_HITS: dict[str, Make] = {
    "a condition where it does not hold": over(total, masked),
    "zero anywhere": over(total, masked),
    "minus infinity anywhere": over(most, lowered),
    NEGATION_OF_FALSE: where(lambda d, c: neither(c, truth(d)), lambda d, c: zero(d)),
    NEGATION_OF_TRUE: lambda d: _with_negation(d, condition(d)),
    "one of two holds": where(otherwise, lambda d, c: zero(d)),
    "both of two hold": where(
        lambda d, c: form.both(otherwise(d, c), otherwise(d, c)), lambda d, c: zero(d)
    ),
    "two operands alike": alike,
    PRODUCT: over(total, masked, _value),
    CONJUNCTION: product_of_integers,
    "a sum with minus infinity": over(most, lambda d, c: d.add(lowered(d, c), d.value(I, J))),
    "a positive factor of minus infinity": over(most, lowered, _positive),
    POWER: over(total, lambda d, c: form.unary("exp2", lowered(d, c))),
    "a cast of zero": cast_of_zero,
    "a cast of minus infinity": over(most, lambda d, c: form.cast(lowered(d, c), FLOAT64)),
    "a choice that is not made": over(total, masked),
    "a choice that is made": where(lambda d, c: form.negation(c), lambda d, c: zero(d)),
    "a choice of two alike": over(
        total, lambda d, c: form.select(truth(d), masked(d, c), masked(d, c))
    ),
    REDUCTION: inner(total, masked),
}


def _with_negation(d: Draw, c: Expr) -> Expr:
    left_out = neither(otherwise(d, c), otherwise(d, c))
    return total(J, form.select(left_out, d.value(I, J), zero(d)))


def _bools(make: Callable[[Draw, Expr], Expr]) -> Make:
    return lambda d: total(J, form.select(make(d, condition(d)), d.value(I, J), d.number(1.0)))


RANGE_MISSES: dict[str, tuple[Make, ...]] = {
    "a condition where it does not hold": (on_data,),
    "zero anywhere": (on_data,),
    "minus infinity anywhere": (on_data,),
    NEGATION_OF_FALSE: (
        _bools(lambda d, c: form.binary("less_than", masked(d, c), d.number(1.0))),
        _bools(lambda d, c: neither(truth(d), truth(d))),
    ),
    NEGATION_OF_TRUE: (
        _bools(lambda d, c: neither(c, truth(d))),
        _bools(lambda d, c: neither(truth(d), truth(d))),
    ),
    "one of two holds": (
        _bools(lambda d, c: form.both(form.negation(c), truth(d))),
        _bools(lambda d, c: form.either(truth(d), truth(d))),
    ),
    "both of two hold": (
        _bools(lambda d, c: form.both(form.negation(c), truth(d))),
        _bools(otherwise),
    ),
    "two operands alike": (unlike,),
    PRODUCT: (
        over(total, _value, lowered),
        over(total, lambda d, c: form.select(c, d.value(I, J), d.number(1.0)), _value),
        over(total, lambda d, c: form.binary("maximum", masked(d, c), d.leaf(I, J))),
    ),
    CONJUNCTION: (
        _bools(lambda d, c: form.either(c, truth(d))),
        _bools(otherwise),
        over(total, masked, _value),
    ),
    "a sum with minus infinity": (
        over(most, lambda d, c: d.add(masked(d, c), d.value(I, J))),
        over(most, lambda d, c: form.binary("maximum", lowered(d, c), d.leaf(I, J))),
        over(most, lambda d, c: d.mul(lowered(d, c), d.leaf(I, J))),
    ),
    "a positive factor of minus infinity": (
        over(most, lowered, lambda d, c: d.number(-0.5)),
        over(most, lowered, lambda d, c: d.number(d.rng.choice([0.0, -0.0, np.inf, np.nan]))),
        over(most, lowered, lambda d, c: d.leaf(I)),
        over(most, masked, _positive),
    ),
    POWER: (
        over(total, lambda d, c: form.unary("exp2", masked(d, c))),
        over(total, lambda d, c: form.unary("sin", lowered(d, c))),
    ),
    "a cast of zero": (
        over(total, lambda d, c: form.cast(form.select(c, d.leaf(I), d.number(1.0)), FLOAT64)),
        over(total, lambda d, c: form.cast(lowered(d, c), FLOAT64)),
    ),
    "a cast of minus infinity": (
        lambda d: most(J, form.cast(lowered(d, condition(d)), INT64)),
        over(most, lambda d, c: form.cast(form.select(c, d.leaf(I), d.number(1.0)), FLOAT64)),
    ),
    "a choice that is not made": (
        over(total, lambda d, c: form.select(truth(d), d.value(I, J), zero(d))),
        over(total, lambda d, c: form.select(c, zero(d), d.value(I, J))),
        over(total, lambda d, c: form.select(c, d.value(I, J), d.number(1.0))),
    ),
    "a choice that is made": (
        over(total, lambda d, c: form.select(truth(d), zero(d), d.value(I, J))),
        over(total, masked),
        over(total, lambda d, c: form.select(form.negation(c), d.number(1.0), d.leaf(J))),
    ),
    "a choice of two alike": (
        over(total, lambda d, c: form.select(truth(d), masked(d, c), d.value(I, J))),
        over(most, lambda d, c: form.select(truth(d), masked(d, c), lowered(d, c))),
    ),
    REDUCTION: (
        lambda d: total(J, total(K, form.select(form.less(_K, _J), d.leaf(J, K), zero(d)))),
        inner(total, lowered),
        lambda d: total(J, most(K, form.select(condition(d), d.leaf(J, K), zero(d)))),
        lambda d: total(J, total(N, d.leaf(J, N))),
    ),
}
