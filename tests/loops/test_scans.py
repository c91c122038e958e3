"""Scans in generated code: no trip, one, many; nested; what the body reads and gives."""

from __future__ import annotations

import numpy as np
import pytest
from fuzz.agreement import require_meaning

import photic as ph
from photic.ir.program import Repeat
from photic.loops.lower import lower
from photic.tensor.compiling import graph_of
from photic.tensor.tensor import Tensor

WIDTH = 19
ROWS = np.random.default_rng(0).standard_normal((9, WIDTH)).astype(np.float32)
RTOL = 1e-5

Step = tuple[list[Tensor], list[Tensor]]


@pytest.mark.parametrize("trips", [0, 1, 2, 9])
def test_the_last_values_and_all_outputs_are_right_for_any_number_of_trips(trips: int) -> None:
    n = ph.dim("n", 0, 20)
    x, start = ph.input("x", (n, WIDTH)), ph.input("start", (WIDTH,))

    def body(carried: tuple[Tensor, ...], sliced: tuple[Tensor, ...]) -> Step:
        total = carried[0] * 0.5 + sliced[0]
        return [total], [total, ph.flip(carried[0], 0), ph.sum(total)]

    (last,), outputs = ph.scan(body, [start], [x])
    named = {"last": last, **{f"out{k}": one for k, one in enumerate(outputs)}}
    given = {"x": ROWS[:trips], "start": np.ones(WIDTH, np.float32)}
    require_meaning(named, given, sizes={"n": trips}, rtol=RTOL)


def test_carried_values_change_places_without_loss() -> None:
    a, b = ph.input("a", (WIDTH,)), ph.input("b", (WIDTH,))
    (c, d, e), _ = ph.scan(lambda c, s: ((c[1], c[0], c[2]), ()), [a, b, a], trips=3)
    require_meaning({"c": c, "d": d, "e": e}, {"a": ROWS[0], "b": ROWS[1]})


def test_scans_stand_inside_scans() -> None:
    x, weight = ph.input("x", (4, 3, WIDTH)), ph.input("w", (WIDTH,))

    def outer(carried: tuple[Tensor, ...], sliced: tuple[Tensor, ...]) -> Step:
        def inner(own: tuple[Tensor, ...], rows: tuple[Tensor, ...]) -> Step:
            following = own[0] * weight + rows[0] + carried[0]
            return [following], [following - sliced[0][0]]

        (last,), (each,) = ph.scan(inner, [carried[0]], [sliced[0]])
        none, _ = ph.scan(inner, [last], [sliced[0][:0]])
        return [none[0]], [each, last]

    (last,), (each, lasts) = ph.scan(outer, [weight], [x])
    data = np.random.default_rng(1).standard_normal((4, 3, WIDTH)).astype(np.float32)
    require_meaning(
        {"last": last, "each": each, "lasts": lasts}, {"x": data, "w": ROWS[0] / 4}, rtol=1e-4
    )


def test_the_body_reads_what_is_computed_outside_and_views_of_sequences() -> None:
    x, w = ph.input("x", (9, WIDTH)), ph.input("w", (WIDTH, WIDTH))
    outside = ph.softmax(ph.matmul(x, w))
    sequences = [ph.flip(x, 0), ph.pad(x, ((2, 0), (0, 0)))[:9], ph.arange(9), outside * 2.0]

    def body(carried: tuple[Tensor, ...], sliced: tuple[Tensor, ...]) -> Step:
        back, padded, number, soft = sliced
        following = ph.matmul(carried[0], w) * 0.1 + back - padded + number.astype("float32")
        return [following], [following + soft + outside[3], number]

    (last,), outputs = ph.scan(body, [x[0]], sequences)
    w_data = np.random.default_rng(2).standard_normal((WIDTH, WIDTH)).astype(np.float32) / 8
    named = {"last": last, "all": outputs[0], "numbers": outputs[1]}
    require_meaning(named, {"x": ROWS, "w": w_data}, rtol=1e-4)


def test_a_scan_reads_and_updates_states() -> None:
    state, x = ph.state("s", (WIDTH,)), ph.input("x", (9, WIDTH))
    (last,), (each,) = ph.scan(lambda c, s: ((c[0] + s[0] * state,), (c[0],)), [state], [x])
    outputs = {"each": each, "sum": ph.sum(state)}
    require_meaning(outputs, {"x": ROWS}, updates={state: last}, states={"s": ROWS[3]}, rtol=1e-4)


def test_every_dtype_is_carried() -> None:
    for dtype in ("bool", "uint8", "int8", "int64", "float16", "bfloat16", "float64"):
        x = ph.input("x", (5, 9), "bool")
        start = ph.zeros((9,), dtype)
        (last,), (each,) = ph.scan(
            lambda c, s: ((c[0] + s[0].astype(c[0].dtype),), (c[0],)), [start], [x]
        )
        data = np.random.default_rng(3).integers(0, 2, (5, 9)).astype(bool)
        require_meaning({"last": last, "each": each}, {"x": data})


def test_one_value_given_twice_by_a_body_is_computed_once() -> None:
    x, w = ph.input("x", (6, WIDTH)), ph.input("w", (WIDTH, WIDTH))

    def body(carried: tuple[Tensor, ...], sliced: tuple[Tensor, ...]) -> Step:
        following = ph.tanh(ph.matmul(carried[0], w) + sliced[0])
        return [following], [following]

    (last,), (each,) = ph.scan(body, [ph.zeros((WIDTH,))], [x])
    program = lower(graph_of({"last": last, "each": each}, {}))
    stores = [store for one in program.functions.values() for store in one.stores]
    assert sum("sum" in str(store.value) for store in stores) == 1
    given = {"x": ROWS[:6], "w": np.eye(WIDTH, dtype=np.float32)}
    require_meaning({"last": last, "each": each}, given, rtol=RTOL)


def test_equal_scans_one_after_another_share_their_kernels() -> None:
    value = ph.input("x", (6, WIDTH))
    for _ in range(4):
        _, (value,) = ph.scan(
            lambda c, s: ((c[0] + s[0],), (c[0] * s[0],)), [ph.zeros((WIDTH,))], [value]
        )
    program = lower(graph_of({"y": value}, {}))
    repeats = [step for step in program.steps if isinstance(step, Repeat)]
    assert len(repeats) == 4
    assert len(program.functions) <= 5
    require_meaning(value, {"x": ROWS[:6] / 4}, rtol=RTOL)


def test_a_body_may_read_what_an_equal_scan_gave() -> None:
    x = ph.input("x", (6, WIDTH))
    start = [ph.zeros((WIDTH,))]
    (first,), (each,) = ph.scan(lambda c, s: ((c[0] + s[0],), (c[0],)), start, [x])
    (last,), _ = ph.scan(lambda c, s: ((c[0] * 0.5 + s[0] + first + each[2],), ()), start, [x])
    require_meaning({"first": first, "last": last}, {"x": ROWS[:6]}, rtol=RTOL)


def test_the_text_of_a_program_does_not_depend_on_what_was_built_before() -> None:
    def build() -> str:
        x = ph.input("x", (6, WIDTH))
        (last,), _ = ph.scan(lambda c, s: ((c[0] + s[0],), ()), [ph.zeros((WIDTH,))], [x])
        return ph.compile({"y": last}).artifact.source

    first = build()
    ph.exp(ph.input("other", (3,)))
    assert build() == first


def test_two_loops_with_one_body_are_two_loops() -> None:
    def running(x: ph.Tensor) -> ph.Tensor:
        def body(carried: tuple[ph.Tensor, ...], row: tuple[ph.Tensor, ...]) -> object:
            total = carried[0] + row[0]
            return (total,), (total,)

        return ph.scan(body, (ph.zeros((2,)),), (x,))[1][0]

    x = ph.input("x", (3, 2))
    program = ph.compile({"y": running(x), "z": running(x * 2.0)}, search=0)
    given = np.arange(6, dtype="f").reshape(3, 2)
    found = program(x=given)
    assert np.array_equal(found["y"], np.cumsum(given, 0))
    assert np.array_equal(found["z"], np.cumsum(2 * given, 0))


def test_a_carried_choice_of_several_axes_needs_no_store() -> None:
    values, start, lengths = (ph.input("v", (4, 3, 5)), ph.input("s", (3, 5)), ph.input("n", (3,)))

    def body(carried: tuple[ph.Tensor, ...], row: tuple[ph.Tensor, ...]) -> object:
        return (ph.where((lengths < 2)[:, None], row[0] + carried[0], 0.0),), ()

    (last,), _ = ph.scan(body, (start,), (values,))
    v, s = np.ones((4, 3, 5), "f"), np.ones((3, 5), "f")
    found = ph.compile({"y": last}, search=0)(v=v, s=s, n=np.array([1, 2, 0], "f"))["y"]
    assert np.array_equal(found, np.array([5, 0, 5], "f")[:, None].repeat(5, 1))
