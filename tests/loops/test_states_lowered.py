"""States and outputs in generated code: what is read is old, whatever is written where."""

from __future__ import annotations

import numpy as np
import pytest
from fuzz.agreement import require_meaning

import photic as ph
from photic.ir.program import Copy
from photic.loops.lower import lower
from photic.tensor.compiling import graph_of

SIZE = 37
A = np.arange(SIZE, dtype=np.float32)
B = A[::-1] * 3


def pair() -> tuple[ph.Tensor, ph.Tensor]:
    return ph.state("a", (SIZE,)), ph.state("b", (SIZE,))


def test_states_that_need_each_others_old_values_get_them() -> None:
    a, b = pair()
    held = {"a": A, "b": B}
    for updates in (
        {a: b, b: a},
        {a: a + b, b: a - b},
        {a: b * 2.0, b: ph.flip(a, 0)},
        {a: ph.flip(a, 0) + b, b: a + 1.0},
        {a: a, b: a},
    ):
        after = require_meaning({"y": a + b}, updates=updates, states=held)
        assert set(after) == {"a", "b", "y"}


def test_a_state_may_be_an_output_before_and_after() -> None:
    a, b = pair()
    following = a + b
    outputs = {"old": a, "new": following, "again": following, "sum": ph.sum(following)}
    outputs |= {"reversed": ph.flip(following, 0), "old_reversed": ph.flip(a, 0)}
    require_meaning(outputs, updates={a: following}, states={"a": A, "b": B}, rtol=1e-6)


def test_one_value_may_be_the_next_of_two_states() -> None:
    a, b = pair()
    following = a * b
    require_meaning({"y": following}, updates={a: following, b: following}, states={"a": A, "b": B})


def test_a_state_that_reads_itself_elsewhere_is_written_aside() -> None:
    a = ph.state("a", (SIZE,))
    for following in (ph.flip(a, 0), ph.roll(a, 5), ph.flip(a, 0) + a):
        graph = graph_of({"y": a}, {a: following})
        assert any(isinstance(step, Copy) for step in lower(graph).steps)
        require_meaning({"y": a}, updates={a: following}, states={"a": A}, rtol=1e-5)


def test_a_state_is_written_in_place_where_each_element_reads_itself() -> None:
    a, x = ph.state("a", (SIZE,)), ph.input("x", (SIZE,))
    for following in (a + x, ph.where(a < x, a, x), a * ph.sum(x), ph.update(a, x[:5], 3, 0)):
        graph = graph_of({}, {a: following})
        assert not any(isinstance(step, Copy) for step in lower(graph).steps)
        require_meaning({}, {"x": B}, updates={a: following}, states={"a": A}, rtol=1e-5)


@pytest.mark.parametrize("place", [0, 3, 32])
def test_a_cache_keeps_all_but_the_rows_written(place: int) -> None:
    p = ph.dim("p", 0, SIZE - 5)
    cache, new = ph.state("cache", (2, SIZE, 3)), ph.input("new", (2, 5, 3))
    following = ph.update(cache, new, p, 1)
    held = np.arange(2 * SIZE * 3, dtype=np.float32).reshape(2, SIZE, 3)
    fresh = -np.ones((2, 5, 3), np.float32)
    outputs = {"sum": ph.sum(following, axis=1), "old": ph.sum(cache, axis=1)}
    after = require_meaning(
        outputs,
        {"new": fresh},
        updates={cache: following},
        states={"cache": held},
        sizes={"p": place},
        rtol=1e-6,
    )
    held[:, place : place + 5] = fresh
    np.testing.assert_array_equal(after["cache"], held)


def test_outputs_may_be_inputs_constants_views_and_each_other() -> None:
    x, c = ph.input("x", (5, 7)), ph.constant(np.arange(35, dtype=np.float32).reshape(5, 7))
    y = x + c
    outputs = {
        "input": x,
        "constant": c,
        "scalar": ph.constant(np.float32(2.5)),
        "place": ph.arange(9),
        "view": x[::2, ::-1],
        "y": y,
        "again": y,
        "turned": ph.swapaxes(y, 0, 1),
        "spread": ph.broadcast_to(y[:, :1], (5, 3)),
        "empty": x[:0],
    }
    require_meaning(outputs, {"x": np.ones((5, 7), np.float32)})


def test_an_output_in_use_elsewhere_is_whole() -> None:
    x = ph.input("x", (SIZE,))
    first = ph.exp2(x)
    second = ph.sum(first) + first
    require_meaning(
        {"first": first, "second": second, "third": second * first}, {"x": A / 8}, rtol=1e-5
    )
