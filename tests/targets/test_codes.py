"""Codes as bytes: what is proven of four terms, and what is not taken for bytes."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from photic.ir import index as form
from photic.ir.dtype import FLOAT32, INT8, INT64, UINT8
from photic.ir.index import Buffer, Expr
from photic.targets.c.codes import TERMS, bytes_of

BYTES, OTHERS = Buffer("p", (64,), UINT8), Buffer("q", (64,), UINT8)
SIGNED, WIDE = Buffer("s", (64,), INT8), Buffer("w", (64,), INT64)

Make = Callable[[int], Expr]


def at(k: int, buffer: Buffer = BYTES) -> Expr:
    return form.load(buffer, (k,))


def rest(value: Expr, size: int) -> Expr:
    return form.binary("mod", value, form.number(size, UINT8))


def real(value: Expr) -> Expr:
    return form.cast(value, FLOAT32)


def plus(left: Expr, right: Expr | float) -> Expr:
    right = right if isinstance(right, Expr) else form.number(right, left.dtype)
    return form.binary("add", left, right)


def times(left: Expr, right: float) -> Expr:
    return form.binary("mul", left, form.number(right, left.dtype))


def over(value: Expr, part: Expr, factor: float) -> Expr:
    return times(plus(real(value), times(real(part), -1.0)), factor)


def flag(k: int) -> Expr:
    bit = form.number((1 << k) - 1, UINT8)
    above = rest(at(9), 2 << k) if k < 3 else at(9)
    return form.binary("less_than", bit, above)


def chosen(k: int) -> Expr:
    return form.select(flag(k), form.number(16.0, FLOAT32), form.zero(FLOAT32))


def unless(k: int) -> Expr:
    return form.select(form.negation(flag(k)), form.number(-4.0, FLOAT32), form.zero(FLOAT32))


@pytest.mark.parametrize(
    ("make", "low", "high"),
    [
        (at, 0, 255),
        (lambda k: rest(at(k), 16), 0, 15),
        (lambda k: real(rest(at(k), 16)), 0, 15),
        (lambda k: over(at(k), rest(at(k), 16), 1 / 16), 0, 15),
        (lambda k: over(rest(at(k), 64), rest(at(k), 4), 1 / 4), 0, 15),
        (lambda k: plus(real(at(k, SIGNED)), 128.0), 0, 255),
        (lambda k: plus(times(real(rest(at(k), 4)), 16.0), real(rest(at(k, OTHERS), 16))), 0, 63),
        (chosen, 0, 16),
        (lambda k: plus(real(rest(at(k), 16)), chosen(k)), 0, 31),
        (lambda k: plus(plus(real(rest(at(k), 16)), -8.0), 8.0), 0, 15),
        (lambda k: plus(plus(real(rest(at(k), 4)), unless(k)), 4.0), 0, 7),
    ],
    ids=[
        *("byte", "low bits", "as a float", "high bits", "middle bits", "signed", "two parts"),
        *("bit by bit", "fifth bit", "there and back", "no bit"),
    ],
)
def test_codes_are_proven_with_their_range(make: Make, low: int, high: int) -> None:
    found = bytes_of(tuple(form.cast(make(k), UINT8) for k in range(TERMS)))
    assert found is not None
    assert (found.low, found.high) == (low, high) and found.is_byte


@pytest.mark.parametrize(
    "make",
    [
        lambda k: over(at(k), rest(at(k), 8), 1 / 16),
        lambda k: over(at(k), rest(at(k, OTHERS), 16), 1 / 16),
        lambda k: over(rest(at(k), 8), rest(at(k), 16), 1 / 4),
        lambda k: rest(at(k), 24),
        lambda k: times(real(at(k)), 0.5),
        lambda k: plus(real(at(k)), 0.5),
        lambda k: plus(real(at(k)), 1.0),
        lambda k: real(at(k, SIGNED)),
        lambda k: at(k, WIDE),
        lambda k: at(k) if k else form.number(3, UINT8),
        lambda k: at(k, SIGNED if k == 2 else BYTES),
        lambda k: plus(real(rest(at(k), 16)), float("nan")),
        lambda k: real(form.negation(flag(k))),
        lambda k: real(flag(k)),
        lambda k: plus(real(plus(at(k), 1)), -1.0),
    ],
    ids=[
        *("less taken", "another byte", "more taken", "no power of two", "half", "a fraction"),
        *(
            "too large",
            "negative",
            "wide",
            "not alike",
            "of two types",
            "nan",
            "a truth",
            "a mask",
            "wraps",
        ),
    ],
)
def test_what_may_be_no_byte_is_not_taken_for_one(make: Make) -> None:
    assert bytes_of(tuple(form.cast(make(k), UINT8) for k in range(TERMS))) is None
