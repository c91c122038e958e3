"""The check of candidates: right ones pass however they sum, planted faults are found.

Candidates are NumPy functions here, or C in a worker process; meanings are lowered graphs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

import photic as ph
from photic.forms import candidate_check as checking
from photic.forms.candidate_check import Arrays, Meaning, Right, Sizes, Wrong, check, sizes_to_try
from photic.forms.eval import Array, Run, convert
from photic.ir import index as form
from photic.ir.dim import Atom, Dim, Symbol, var
from photic.ir.dtype import FLOAT16, FLOAT32
from photic.ir.graph import Graph
from photic.ir.index import Over, Store
from photic.ir.program import Kernel
from photic.loops.lower import lower
from photic.targets.measure import Crashed, Slot, Trial
from photic.targets.process import Remote

Candidate = Callable[..., Array]
ROWS, COLUMNS, DEPTH = 37, 45, 61


def meaning(*, is_finite: bool = False, **outputs: ph.Tensor) -> Meaning:
    """The stores of a graph on the program's buffers."""
    program = lower(Graph(tuple((name, one.operand) for name, one in outputs.items())))
    stores = []
    for step in program.steps:
        assert isinstance(step, Kernel)
        function = program.functions[step.function]
        given = [program.places[name].buffer for name in step.arguments]
        buffers = dict(zip(function.parameters, given, strict=True))
        for one in function.stores:
            bound = {
                e.attribute.axis for e in form.walk(one.value) if isinstance(e.attribute, Over)
            }
            axes: dict[Atom, Dim] = {a: var(a.name, a.extent) for a in (*one.axes, *bound)}
            value = form.renamed(one.value, axes, buffers)
            stores.append(Store(buffers[one.buffer], one.axes, one.index, value))
    wanted = tuple(program.places[program.outputs[name]].buffer for name in outputs)
    return Meaning(tuple(stores), wanted, {}, is_finite)


def verdict(
    what: Meaning, candidate: Candidate, sizes: Sizes | None = None, seed: int = 0
) -> Right | Wrong:
    """Check a function of inputs by name that returns the only output."""

    def call(arrays: Arrays, _: Sizes) -> Arrays | str:
        with np.errstate(all="ignore"):
            found = candidate(**{name.removeprefix("in_"): one for name, one in arrays.items()})
        return {what.outputs[0].name: np.asarray(found)}

    return check(what, sizes or {}, call, seed)


def product() -> Meaning:
    x, w = ph.input("x", (ROWS, DEPTH)), ph.input("w", (DEPTH, COLUMNS))
    return meaning(y=x @ w)


def one_by_one(x: Array, w: Array) -> Array:
    """Each sum from the first term to the last."""
    total = np.zeros((x.shape[0], w.shape[1]), np.float32)
    for k in range(x.shape[1]):
        total += x[:, k, None] * w[None, k]
    return total


def shares(x: ph.Tensor) -> ph.Tensor:
    return ph.softmax(x, axis=1)


def share(x: Array) -> Array:
    power = np.exp(x - x.max(axis=1, keepdims=True))
    return power / power.sum(axis=1, keepdims=True)


# --- right ones -----------------------------------------------------------------------------


def test_a_product_summed_in_any_order_is_right() -> None:
    assert isinstance(verdict(product(), lambda x, w: x @ w), Right)
    assert isinstance(verdict(product(), one_by_one), Right)


@pytest.mark.parametrize("seed", range(10))
def test_one_long_sum_is_right_whatever_the_luck(seed: int) -> None:
    what = meaning(y=ph.sum(ph.input("x", (ROWS, DEPTH))))
    assert isinstance(verdict(what, lambda x: np.cumsum(x)[-1], seed=seed), Right)


def test_streaming_shares_are_right_when_their_meaning_says_finite() -> None:
    x = ph.input("x", (ROWS, DEPTH))

    def streaming(x: Array) -> Array:
        largest = np.full((ROWS, 1), -np.inf, np.float32)
        total = np.zeros((ROWS, 1), np.float32)
        for k in range(DEPTH):
            new = np.maximum(largest, x[:, k : k + 1])
            rescale = np.where(new == largest, np.float32(1), np.exp(largest - new))
            power = np.where(x[:, k : k + 1] == -np.inf, 0, np.exp(x[:, k : k + 1] - new))
            total, largest = total * rescale + power, new
        return np.exp(x - largest) / (total + (largest - largest))

    assert isinstance(verdict(meaning(is_finite=True, y=shares(x)), streaming), Right)


def test_halves_are_judged_by_their_own_rounding() -> None:
    x, w = ph.input("x", (8, DEPTH), "float16"), ph.input("w", (DEPTH, 9), "float16")
    what = meaning(y=x @ w)

    def wide(x: Array, w: Array) -> Array:
        return (x.astype(np.float32) @ w.astype(np.float32)).astype(np.float16)

    assert what.outputs[0].dtype == FLOAT16
    assert isinstance(verdict(what, wide), Right)


def test_integers_are_asked_for_only_where_rounding_cannot_move_them() -> None:
    x = ph.input("x", (999,))
    what = meaning(y=(x * (1 / 3) * 3).astype("int32"))
    assert isinstance(verdict(what, lambda x: convert(x, np.dtype(np.int32))), Right)
    off = lambda x: convert(x * np.float32(1.0001), np.dtype(np.int32))  # noqa: E731
    assert isinstance(verdict(what, off), Wrong)


def test_where_the_meaning_itself_overflows_nothing_is_asked() -> None:
    x = ph.input("x", (8, 9))
    what = meaning(y=ph.exp(x * 1000.0) / ph.exp(x * 1000.0))
    assert isinstance(verdict(what, lambda x: np.where(np.isnan(x), x, 1)), Right | Wrong)
    found = verdict(what, lambda x: np.where(abs(x) * 1000 < 87, 1, np.nan).astype(np.float32))
    assert isinstance(found, Right)


def test_dropped_contributions_need_not_repeat_nan_without_influence() -> None:
    x, v = ph.input("x", (8, 9)), ph.input("v", (9, 5))
    seen = ph.arange(9) < 6
    weight = shares(ph.where(seen, x, -np.inf))

    def skipping(x: Array, v: Array) -> Array:
        return share(x[:, :6]) @ v[:6]

    assert isinstance(verdict(meaning(is_finite=True, y=weight @ v), skipping), Right)
    found = verdict(meaning(is_finite=False, y=weight @ v), skipping)
    assert isinstance(found, Wrong) and found.case.endswith("in in_v")


@pytest.mark.parametrize("shape", [(), (1,), (0, 3), (2, 3, 5)])
def test_inputs_of_any_shape_are_tried(shape: tuple[int, ...]) -> None:
    what = meaning(y=ph.input("x", shape) * 2.0)
    assert isinstance(verdict(what, lambda x: x * 2), Right)
    found = verdict(what, lambda x: x * np.float32(2.1))
    assert isinstance(found, Right if 0 in shape else Wrong)


@pytest.mark.parametrize("size", [0, 1, 2, 7])
def test_symbolic_sizes_are_checked_at_each_size(size: int) -> None:
    n = ph.dim("n", 0, 64)
    what = meaning(y=ph.input("x", (n, 3)) + 1.0)
    assert isinstance(verdict(what, lambda x: x + 1, {"n": size}), Right)


def test_several_outputs_and_values_between_are_checked() -> None:
    x = ph.input("x", (ROWS, DEPTH))
    total = ph.sum(x, axis=1)
    what = meaning(a=total, b=ph.exp(total) + 1.0)

    def call(arrays: Arrays, _: Sizes) -> Arrays | str:
        sums = arrays["in_x"].sum(axis=1)
        return {"out_a": sums, "out_b": np.exp(sums) + shift}

    with np.errstate(all="ignore"):
        shift = np.float32(1)
        assert isinstance(check(what, {}, call, 0), Right)
        shift = np.float32(1.01)
        found = check(what, {}, call, 0)
    assert isinstance(found, Wrong) and found.where.startswith("out_b")


def test_sizes_to_try_hold_the_ends_of_ranges_and_odd_ones() -> None:
    n, m, k = Symbol("n", 0, 4096), Symbol("m", 3, 5), Symbol("k", 500, 900)
    tried = sizes_to_try([n, m, k])
    assert {one["n"] for one in tried} == {0, 1, 2, 7, 33, 101, 130}
    assert {one["m"] for one in tried} == {3, 5} and {one["k"] for one in tried} == {500}
    assert {(one["n"], one["m"]) for one in tried if one["n"] > 7} == {(33, 5), (101, 3), (130, 5)}
    assert sizes_to_try([]) == [{}]


def test_integers_must_be_equal_also_beside_what_is_not_finite() -> None:
    x, n = ph.input("x", (9, 5)), ph.input("n", (9, 5), "int32")
    what = meaning(is_finite=True, y=ph.sum(n + ph.isnan(x).astype("int32"), axis=1))
    right = lambda x, n: (n + np.isnan(x)).sum(axis=1).astype(np.int64)  # noqa: E731
    assert what.outputs[0].dtype.name == "int64" and isinstance(verdict(what, right), Right)
    wrong = lambda x, n: n.sum(axis=1).astype(np.int64)  # noqa: E731
    assert isinstance(verdict(what, wrong), Wrong)


# --- planted faults -------------------------------------------------------------------------


def off_in_the_tail(x: Array, w: Array) -> Array:
    y = x @ w
    y[-1, -1] = 0
    return y


def off_a_little_in_the_tail(x: Array, w: Array) -> Array:
    y = x @ w
    y[-1, -1] *= np.float32(1.0001)
    return y


def short_of_the_last_term(x: Array, w: Array) -> Array:
    return x[:, :-1] @ w[:-1]


def in_half_precision(x: Array, w: Array) -> Array:
    return (x.astype(np.float16) @ w.astype(np.float16)).astype(np.float32)


def without_nan(x: Array, w: Array) -> Array:
    y = x @ w
    return np.where(np.isnan(y), 0, y).astype(np.float32)


def without_infinity(x: Array, w: Array) -> Array:
    return np.clip(x @ w, -1e38, 1e38).astype(np.float32)


def always_nan(x: Array, w: Array) -> Array:
    return np.full((ROWS, COLUMNS), np.nan, np.float32)


PRODUCT_FAULTS: list[Candidate] = [
    off_in_the_tail,
    off_a_little_in_the_tail,
    short_of_the_last_term,
    in_half_precision,
    without_nan,
    without_infinity,
    always_nan,
]


@pytest.mark.parametrize("fault", PRODUCT_FAULTS, ids=lambda one: one.__name__)
def test_a_wrong_product_is_found(fault: Candidate) -> None:
    assert isinstance(verdict(product(), fault), Wrong)


def test_the_place_and_the_values_of_a_fault_are_told() -> None:
    found = verdict(product(), off_in_the_tail)
    assert isinstance(found, Wrong)
    assert found.where == f"out_y[{ROWS - 1}, {COLUMNS - 1}]" and found.case == "plain"
    assert found.got == 0 and abs(found.expected) > found.limit > 0


def no_nan_on_empty_rows(x: Array) -> Array:
    y = share(x)
    return np.where(np.all(x == -np.inf, axis=1, keepdims=True), 0, y).astype(np.float32)


def leaking_nan(x: Array) -> Array:
    return (share(x) + 0 * x.sum()).astype(np.float32)


def without_the_maximum(x: Array) -> Array:
    power = np.exp(x)
    return power / power.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("is_finite", [False, True])
@pytest.mark.parametrize("fault", [no_nan_on_empty_rows, leaking_nan, without_the_maximum])
def test_wrong_shares_are_found(fault: Candidate, is_finite: bool) -> None:
    what = meaning(is_finite=is_finite, y=shares(ph.input("x", (ROWS, DEPTH))))
    assert isinstance(verdict(what, share), Right)
    assert isinstance(verdict(what, fault), Wrong)


def test_a_sum_of_squares_minus_a_square_is_found_where_it_cancels() -> None:
    what = meaning(y=ph.var(ph.input("x", (ROWS, DEPTH)) + 100.0, axis=1))

    def cheap(x: Array) -> Array:
        x = x + np.float32(100)
        return (x * x).mean(axis=1) - x.mean(axis=1) ** 2

    assert isinstance(verdict(what, lambda x: np.var(x + np.float32(100), axis=1)), Right)
    assert isinstance(verdict(what, cheap), Wrong)


def test_an_argmax_that_takes_the_last_of_equals_is_found() -> None:
    what = meaning(y=ph.argmax(ph.input("x", (ROWS, DEPTH)), axis=1))
    dtype = what.outputs[0].dtype.numpy
    assert isinstance(verdict(what, lambda x: np.argmax(x, axis=1).astype(dtype)), Right)

    def last(x: Array) -> Array:
        place = DEPTH - 1 - np.argmax(x[:, ::-1], axis=1)
        return np.where(np.isnan(x).any(axis=1), np.argmax(x, axis=1), place).astype(dtype)

    assert isinstance(verdict(what, last), Wrong)


def test_a_sum_that_loses_what_cancels_is_found() -> None:
    what = meaning(y=ph.sum(ph.input("x", (ROWS, 64)), axis=1))
    squared = lambda x: np.sqrt(np.abs(x.sum(axis=1)) ** 2) * np.sign(x.sum(axis=1))  # noqa: E731
    assert isinstance(verdict(what, squared), Right | Wrong)
    rounded = lambda x: (x + np.float32(3)).sum(axis=1) - np.float32(3 * 64)  # noqa: E731
    assert isinstance(verdict(what, rounded), Wrong)


def test_known_constants_are_used_as_they_are() -> None:
    x, scale = ph.input("x", (8, 9)), ph.input("scale", (9,))
    what = meaning(y=x * scale)
    ones = replace(what, constants={"in_scale": np.ones(9, np.float32)})
    assert isinstance(verdict(ones, lambda x, scale: x), Right)
    assert isinstance(verdict(what, lambda x, scale: x), Wrong)


def test_a_candidate_that_fails_to_run_is_wrong() -> None:
    found = check(product(), {}, lambda arrays, sizes: str(Crashed("SIGSEGV")), 0)
    assert found == Wrong("plain", "Crashed(how='SIGSEGV')", *found_values(found))


def found_values(found: Right | Wrong) -> tuple[float, float, float]:
    assert isinstance(found, Wrong)
    return found.got, found.expected, found.limit


# --- large ones -----------------------------------------------------------------------------

LARGE = 700


def large_product() -> Meaning:
    return meaning(y=ph.input("x", (LARGE, LARGE)) @ ph.input("w", (LARGE, LARGE)))


@pytest.mark.parametrize("row", [0, LARGE - 1])
@pytest.mark.parametrize("column", [0, LARGE - 1])
def test_the_borders_of_a_large_result_are_judged(row: int, column: int) -> None:
    def fault(x: Array, w: Array) -> Array:
        y = x @ w
        y[row, column] += 1
        return y

    found = verdict(large_product(), fault)
    assert isinstance(found, Wrong) and found.where == f"out_y[{row}, {column}]"


def test_a_large_result_that_is_right_passes() -> None:
    assert isinstance(verdict(large_product(), lambda x, w: x @ w), Right)


def test_a_fault_inside_a_result_of_which_few_points_can_be_judged_is_found() -> None:
    x = ph.input("x", (LARGE, 2, 2, LARGE))
    what = meaning(y=ph.sum(x * x[:, :, :, ::-1], axis=(0, 3)))

    def fault(x: Array) -> Array:
        y = (x * x[:, :, :, ::-1]).sum(axis=(0, 3))
        y[1, 0] += 1
        return y

    assert isinstance(verdict(what, fault), Wrong)


def test_an_axis_that_is_reduced_elsewhere_is_not_sampled() -> None:
    x = ph.input("x", (LARGE, LARGE))
    what = meaning(y=ph.softmax(x @ x, axis=1))
    sampled, points = checking._sampled(what.stores, Run({}, False), np.random.default_rng(0))
    assert [len(store.axes) for store in sampled] == [len(store.axes) for store in what.stores]
    assert len(points) == 1  # rows; columns are reduced
    candidate = lambda x: share(x @ x)  # noqa: E731
    assert isinstance(verdict(what, candidate), Right)


# --- C in a worker --------------------------------------------------------------------------

COUNT = 1000
SOURCE = """\
void photic_entry(void *const *buffers, long long *sizes, char *arena, char *scratch, void *pool) {{
  const float *x = buffers[0];
  float *y = buffers[1];
  for (int i = 0; i < {count}; i++) y[i] = {value};
}}
"""
KERNELS = {
    "(x[i] < 0 ? 0 : x[i]) + 1": Right,  # keeps NaN
    "(x[i] > 0 ? x[i] : 0) + 1": Wrong,  # loses NaN
    "i < 992 ? (x[i] < 0 ? 0 : x[i]) + 1 : x[i] + 1": Wrong,  # forgets the tail
}


def test_kernels_in_a_worker_are_checked() -> None:
    what = meaning(y=ph.relu(ph.input("x", (COUNT,))) + 1.0)
    slot = Slot(FLOAT32, COUNT, 0, 0, False)
    trials = [
        Trial(SOURCE.format(count=COUNT, value=value), (slot, slot), (), 0, 0) for value in KERNELS
    ]
    with Remote("photic.targets.c.worker") as remote:
        assert remote.build(trials, 600.0) == [None] * len(trials)
        found = []
        for trial in trials:

            def call(arrays: Arrays, _: Sizes, trial: Trial = trial) -> Arrays | str:
                buffers = {0: arrays["in_x"], 1: np.empty(COUNT, np.float32)}
                results = remote.run(trial, buffers, (), (1,), 60.0)
                return {"out_y": results[1]} if isinstance(results, dict) else str(results)

            found.append(type(check(what, {}, call, 0)))
    assert found == list(KERNELS.values())
