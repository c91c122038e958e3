"""The meaning of stores: what guards allow, what data may index, and where nothing is read."""

from __future__ import annotations

import numpy as np
import pytest
from fuzz.movements import Array

from photic.forms.errors import BrokenGraph
from photic.forms.index_eval import evaluate_store
from photic.ir import index as form
from photic.ir.dim import Dim, Var, data, symbol, var
from photic.ir.dtype import BFLOAT16, BOOL, FLOAT16, FLOAT32, INT64
from photic.ir.index import Buffer, Expr, Store

N = symbol("n", 0, 9)
Y, X = Buffer("y", (N,), FLOAT32), Buffer("x", (N,), FLOAT32)
IDS, MASK = Buffer("ids", (N,), INT64), Buffer("mask", (N,), BOOL)
A, I = Var("a", N), var("a", N)
ZERO = form.zero(FLOAT32)
AT = data(form.load(IDS, (I,)), -(2**63), 2**63 - 1)
IDS_GIVEN = np.array([2, -1, 0, 7])


def stored(value: Expr, index: Dim = I, **given: Array) -> Array:
    """``y`` after ``y[index] = value`` for all i, of four elements that were 9."""
    buffers = {"y": np.full(4, 9, np.float32), "x": np.arange(4, dtype=np.float32)}
    buffers |= {"ids": IDS_GIVEN, "mask": np.array([False, True, False, False]), **given}
    evaluate_store(Store(Y, (A,), (index,), value), buffers, {"n": 4}, widen=False)
    return buffers["y"]


def loaded(index: Dim) -> Expr:
    return form.load(X, (index,))


def test_a_guarded_load_outside_reads_nothing() -> None:
    value = form.select(form.less(0, I), loaded(I - 1), ZERO)
    assert np.array_equal(stored(value), [-0.0, 0, 1, 2])
    opposite = form.select(form.less(I, 1), ZERO, loaded(I - 1))
    assert np.array_equal(stored(opposite), [-0.0, 0, 1, 2])


def test_a_condition_may_guard_another() -> None:
    shifted = form.load(MASK, (I - 1,))
    guarded = form.select(form.both(form.less(0, I), shifted), loaded(I), ZERO)
    assert np.array_equal(stored(guarded), [0, 0, 2, 0])
    with pytest.raises(BrokenGraph, match="outside"):
        stored(form.select(shifted, loaded(I), ZERO))


@pytest.mark.parametrize("index", [I - 1, I + 1, I * 2, 4, -1], ids=str)
def test_a_load_outside_is_an_error(index: Dim) -> None:
    with pytest.raises(BrokenGraph, match="outside"):
        stored(loaded(index))
    with pytest.raises(BrokenGraph, match="outside"):  # also where a sum takes it in
        stored(form.make("sum", (loaded(index),), form.Over(Var("k", 2)), FLOAT32))


def test_a_store_outside_is_an_error() -> None:
    with pytest.raises(BrokenGraph, match="outside"):
        stored(ZERO, I + 1)


def test_indices_are_read_from_data() -> None:
    value = form.select(form.inside(AT, N), loaded(AT), ZERO)
    assert np.array_equal(stored(value), [2, 0, 0, 0])
    with pytest.raises(BrokenGraph, match="outside"):
        stored(loaded(AT))


def test_a_store_scatters_by_data() -> None:
    ids = np.array([2, 0, 3, 1])
    assert np.array_equal(stored(loaded(I), AT, ids=ids), [1, 3, 0, 2])


def test_all_is_read_before_anything_is_written() -> None:
    value = form.binary("add", form.load(Y, (N - 1 - I,)), loaded(I))
    old = np.array([10, 20, 30, 40], np.float32)
    assert np.array_equal(stored(value, y=old), [40, 31, 22, 13])


def test_reductions_of_nothing_give_their_identities() -> None:
    y, e = Buffer("y", (), FLOAT32), Buffer("e", (N,), FLOAT32)
    for op, expected in (("sum", 0.0), ("max", -np.inf)):
        element = form.load(e, (var("k", N),))
        value = form.make(op, (element,), form.Over(Var("k", N)), FLOAT32)
        buffers = {"y": np.full((), 9, np.float32), "e": np.zeros(0, np.float32)}
        evaluate_store(Store(y, (), (), value), buffers, {"n": 0}, widen=False)
        assert buffers["y"] == expected
        assert not np.signbit(buffers["y"]) or op == "max"


def test_a_reduction_counts_what_does_not_depend_on_its_axis() -> None:
    value = form.make("sum", (loaded(I),), form.Over(Var("k", 3)), FLOAT32)
    assert np.array_equal(stored(value), [0, 3, 6, 9])


def test_two_reductions_side_by_side_may_bind_one_variable() -> None:
    k = form.load(X, (var("k", N),))
    sums = [form.make(op, (k,), form.Over(Var("k", N)), FLOAT32) for op in ("sum", "max")]
    assert np.array_equal(stored(form.binary("add", *sums)), [9, 9, 9, 9])


def test_the_sum_of_an_empty_one_hot_is_plus_zero_and_of_a_missed_one_minus_zero() -> None:
    y, table = Buffer("y", (), FLOAT32), Buffer("t", (N,), FLOAT32)
    place = var("k", N)
    hit = form.inside(place - 2, 1)
    value = form.reduce("sum", Var("k", N), form.select(hit, form.load(table, (place,)), ZERO))
    assert value.op == "select"  # taken at its one point
    for n, sign in ((0, False), (1, True)):
        buffers = {"y": np.full((), 9, np.float32), "t": np.ones(n, np.float32)}
        evaluate_store(Store(y, (), (), value), buffers, {"n": n}, widen=False)
        assert buffers["y"] == 0
        assert np.signbit(buffers["y"]) == sign


def test_halves_are_computed_in_float32_and_rounded_once() -> None:
    for dtype in (FLOAT16, BFLOAT16):
        y, x = Buffer("y", (2,), dtype), Buffer("x", (2, 300), dtype)
        element = form.load(x, (var("a", 2), var("k", 300)))
        value = form.make("sum", (element,), form.Over(Var("k", 300)), dtype)
        given = np.full((2, 300), 1 + 2.0**-7, dtype.numpy)
        buffers = {"y": np.zeros(2, dtype.numpy), "x": given}
        evaluate_store(Store(y, (Var("a", 2),), (var("a", 2),), value), buffers, {}, widen=False)
        exact = given.astype(np.float32).sum(axis=1).astype(dtype.numpy)
        assert np.array_equal(buffers["y"], exact)
