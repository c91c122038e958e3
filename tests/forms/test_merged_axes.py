"""Which axes of a store become one, and that the places stay what they were."""

from __future__ import annotations

from itertools import product

from photic.forms.merged_axes import merged
from photic.forms.places import place_of
from photic.ir import index as form
from photic.ir.dim import Atom, Dim, Var, substitute, symbol, var
from photic.ir.dtype import FLOAT32
from photic.ir.index import Access, Buffer, Expr, Store

I, J, K = Var("i", 3), Var("j", 5), Var("k", 7)


def at(*axes: Var) -> tuple[Dim, ...]:
    return tuple(var(axis.name, axis.extent) for axis in axes)


def load(name: str, *axes: Var) -> Expr:
    return form.load(Buffer(name, tuple(one.extent for one in axes), FLOAT32), at(*axes))


def store(value: Expr, *axes: Var) -> Store:
    target = Buffer("y", tuple(one.extent for one in axes), FLOAT32)
    return Store(target, axes, at(*axes), value)


def added(left: Expr, right: Expr) -> Expr:
    return form.binary("add", left, right)


def extents(made: Store) -> list[Dim]:
    return [one.extent for one in made.axes]


def test_axes_that_lie_side_by_side_everywhere_are_one() -> None:
    made = merged(store(added(load("x", I, J, K), load("z", I, J, K)), I, J, K), frozenset())
    assert extents(made) == [3 * 5 * 7]
    assert {one.buffer.shape for one in form.loads(made.value)} == {(3 * 5 * 7,)}


def test_each_place_is_written_with_what_was_read_for_it() -> None:
    plain = store(added(load("x", I, J, K), load("b", K)), I, J, K)
    made = merged(plain, frozenset())
    assert extents(made) == [15, 7]

    def places(one: Store) -> set[tuple[Dim, ...]]:
        target = Access(one.buffer, one.index)
        accesses = [target, *sorted(form.loads(one.value), key=lambda a: a.buffer.name)]
        found = set[tuple[Dim, ...]]()
        for point in product(*(range(int(axis.extent)) for axis in one.axes)):
            table: dict[Atom, Dim] = dict(zip(one.axes, point, strict=True))
            found.add(tuple(substitute(place_of(access), table) for access in accesses))
        return found

    assert places(made) == places(plain)


def test_an_axis_that_one_buffer_lacks_stays() -> None:
    assert extents(merged(store(added(load("x", I, J), load("b", J)), I, J), frozenset())) == [3, 5]
    assert extents(merged(store(added(load("x", I, J), load("b", I)), I, J), frozenset())) == [3, 5]


def test_axes_that_lie_in_another_order_stay() -> None:
    assert extents(merged(store(load("x", J, I), I, J), frozenset())) == [3, 5]


def test_an_axis_that_a_condition_counts_stays() -> None:
    seen = form.select(form.less(at(J)[0], 2), load("x", I, J), form.zero(FLOAT32))
    assert extents(merged(store(seen, I, J), frozenset())) == [3, 5]


def test_axes_of_a_buffer_that_is_kept_stay() -> None:
    assert extents(merged(store(load("x", I, J), I, J), frozenset({"x"}))) == [3, 5]


def test_a_store_without_elements_stays() -> None:
    none = Var("n", 0)
    plain = store(load("x", I, none), I, none)
    assert merged(plain, frozenset()) is plain


def test_symbolic_axes_are_merged_but_for_those_beside_a_reduction() -> None:
    rows = Var("r", symbol("rows", 1, 9))
    assert len(merged(store(load("x", rows, J), rows, J), frozenset()).axes) == 1
    summed = form.reduce("sum", K, load("x", rows, J, K))
    assert extents(merged(store(summed, rows, J), frozenset())) == [rows.extent, 5]
    summed = form.reduce("sum", K, load("x", I, J, K))
    assert extents(merged(store(summed, I, J), frozenset())) == [15]
