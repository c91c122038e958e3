"""The algebra of sizes, against plain integers: it may not simplify, but never changes a value."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import pytest
from fuzz.sizes import (
    DIVISORS,
    ORIGIN,
    PAIRS,
    I,
    J,
    M,
    N,
    Pair,
    environments,
    joined,
    leaf,
    number,
    truth,
)
from hypothesis import assume, example, given, settings

from photic.base.errors import BadArgument, NoTruthValue
from photic.forms.dim_eval import number_of
from photic.ir.dim import (
    Data,
    Dim,
    Int,
    Symbol,
    Var,
    add,
    at_most,
    bounds,
    coefficient_of,
    exact_div,
    floordiv,
    is_within,
    mod,
    mul,
    product,
    substitute,
    symbol,
    symbols,
    var,
    variables,
)

MANY = settings(max_examples=200, deadline=None)


def lookup(env: Mapping[str, int]) -> Callable[[Symbol | Var | Data], int]:
    def find(atom: Symbol | Var | Data) -> int:
        assert not isinstance(atom, Data)
        return env[atom.name]

    return find


@MANY
@given(PAIRS, environments())
def test_the_normal_form_has_the_value_of_the_expression(pair: Pair, env: dict[str, int]) -> None:
    expected = truth(pair, env)
    assert number_of(pair.dim, lookup(env)) == expected


@MANY
@given(PAIRS, environments())
def test_bounds_contain_every_value(pair: Pair, env: dict[str, int]) -> None:
    low, high = bounds(pair.dim)
    assert low <= truth(pair, env) <= high


@MANY
@given(PAIRS, PAIRS, environments())
@example(number(0), joined("*", leaf("i0"), joined("//", number(-1), leaf("n"))), ORIGIN)
def test_at_most_never_lies(left: Pair, right: Pair, env: dict[str, int]) -> None:
    if at_most(left.dim, right.dim):
        assert truth(left, env) <= truth(right, env)


@MANY
@given(PAIRS, DIVISORS, environments())
def test_is_within_never_lies(value: Pair, extent: Pair, env: dict[str, int]) -> None:
    if is_within(value.dim, extent.dim):
        assert 0 <= truth(value, env) < truth(extent, env)


@MANY
@given(PAIRS, PAIRS, environments())
def test_substitution_is_evaluation_at_another_point(
    pair: Pair, other: Pair, env: dict[str, int]
) -> None:
    at = truth(other, env)
    assume(0 <= at < env["n"])
    expected = truth(pair, {**env, "i1": at})
    moved = substitute(pair.dim, {Var("i1", N): other.dim})
    assert number_of(moved, lookup(env)) == expected


@MANY
@given(PAIRS, environments())
def test_a_coefficient_is_the_slope(pair: Pair, env: dict[str, int]) -> None:
    expected = truth(pair, env)
    slope = coefficient_of(pair.dim, Var("i0", 4))
    if slope is not None:
        rest = substitute(pair.dim, {Var("i0", 4): 0})
        assert number_of(add(mul(slope, I), rest), lookup(env)) == expected


@MANY
@given(PAIRS, DIVISORS)
def test_an_exact_quotient_times_its_divisor_is_the_value(value: Pair, by: Pair) -> None:
    quotient = exact_div(value.dim, by.dim)
    if quotient is not None:
        assert mul(quotient, by.dim) == value.dim


@MANY
@given(PAIRS, PAIRS)
def test_sums_and_products_commute(left: Pair, right: Pair) -> None:
    assert add(left.dim, right.dim) == add(right.dim, left.dim)
    assert mul(left.dim, right.dim) == mul(right.dim, left.dim)


def test_a_reshape_there_and_back_is_seen_as_nothing() -> None:
    flat = add(mul(J, 4), I)
    assert (floordiv(flat, 4), mod(flat, 4)) == (J, I)
    whole = var("i0", mul(N, 12))
    assert add(mul(floordiv(whole, N), N), mod(whole, N)) == whole
    assert add(mul(floordiv(mod(whole, mul(N, 3)), N), N), mod(whole, N)) == mod(whole, mul(N, 3))


def test_constants_are_plain_integers() -> None:
    assert add(N, mul(N, -1)) == 0
    assert mul(N, 0) == 0
    assert floordiv(mul(N, 6), mul(N, 2)) == 3
    assert var("i0", 1) == 0
    assert product([]) == 1


def test_comparisons_are_decided_where_the_range_allows_it() -> None:
    assert isinstance(N, Int)
    assert N >= 1 and N < 8 and not N > 7
    with pytest.raises(NoTruthValue, match=r"n < 4"):
        bool(N < 4)


def test_a_symbolic_size_has_no_integer_value() -> None:
    with pytest.raises(NoTruthValue):
        range(N)  # type: ignore[arg-type]


@pytest.mark.parametrize("low, high", [(-1, 3), (4, 3), (0.5, 2)])
def test_a_range_that_is_none_is_refused(low: int, high: int) -> None:
    with pytest.raises(BadArgument, match="range"):
        symbol("n", low, high)


@pytest.mark.parametrize("name", ["", "a b", "1a", "i0", "i17", "if", "größe", "a.b"])
def test_a_name_that_the_text_form_cannot_hold_is_refused(name: str) -> None:
    with pytest.raises(BadArgument, match="name"):
        symbol(name, 0, 1)


@pytest.mark.parametrize("divisor", [0, -2, mul(N, -1), add(N, -3)])
@pytest.mark.parametrize("operation", [floordiv, mod])
def test_a_divisor_that_may_be_negative_is_refused(
    operation: Callable[[Dim, Dim], Dim], divisor: Dim
) -> None:
    with pytest.raises(BadArgument, match="divisor"):
        operation(add(I, 1), divisor)


def test_variables_and_symbols_are_found_inside_divisions() -> None:
    value = mod(add(I, floordiv(add(J, 5), M)), N)
    assert {one.name for one in variables(value)} == {"i0", "i1"}
    assert {one.name for one in symbols(value)} == {"n", "m"}


def test_a_part_below_what_divides_leaves_quotients_and_keeps_to_remainders() -> None:
    """As places of a long row read by pieces: no division of the pieces is left."""
    k, a = Var("k", 64), Var("a", 32)
    high, low = mul(var("k", 64), 32), var("a", 32)
    assert floordiv(add(high, low), 1024) == floordiv(var(k.name, 64), 32)
    assert mod(add(high, low), 1024) == add(mul(mod(var(k.name, 64), 32), 32), var(a.name, 32))
    assert mod(add(high, 3), 1024) == add(mul(mod(var(k.name, 64), 32), 32), 3)
    shared = add(mul(var("k", 64), 4), mul(var("a", 32), 6))
    assert str(floordiv(shared, 12)) == str(
        floordiv(add(mul(var("k", 64), 2), mul(var("a", 32), 3)), 6)
    )


def test_numbers_of_numpy_leave_plain_ones() -> None:
    four = np.int64(4)
    for made in (mul(four, 3), add(four, 3), floordiv(four, 3), mod(four, 3)):
        assert type(made) is int
    assert [type(mul(4, 3)), type(add(4, 3))] == [int, int]
