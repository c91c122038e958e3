"""Bugs that other systems had with ONNX models, as small models: right answers by NumPy or by hand.

What the functions beneath do is in ``tests/cases``; here the operators, with versions and
attributes, come to the same.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import onnx
import pytest
from frontends.onnx.onnx_models import (
    graph_proto,
    model_proto,
    node,
    one_node,
    port,
    read,
    run,
    session,
)

from photic.base.errors import PhoticError
from photic.frontends.onnx.model import as_model
from photic.frontends.onnx.session import Session

R = np.random.default_rng(0)
# float32 exponentials and sums of at most 24 terms
CLOSE = 1e-6


def f32(*numbers: float) -> Any:
    return np.array(numbers, np.float32)


# --- OPS-01: versions -----------------------------------------------------------------------


def softmax(x: Any, axis: int) -> Any:
    powers = np.exp(x.astype(np.float64) - x.max(axis, keepdims=True))
    return powers / powers.sum(axis, keepdims=True)


def log_softmax(x: Any, axis: int) -> Any:
    return np.log(softmax(x, axis))


def hardmax(x: Any, axis: int) -> Any:
    return np.arange(x.shape[axis]) == x.argmax(axis)[..., None]


FUNCTIONS = {"Softmax": softmax, "LogSoftmax": log_softmax, "Hardmax": hardmax}


@pytest.mark.parametrize("op", FUNCTIONS)
@pytest.mark.parametrize("axis", [None, 0, 1, -1])
def test_ops_01_before_13_all_axes_from_one_on_count_together(op: str, axis: int | None) -> None:
    x = R.standard_normal((2, 3, 4)).astype(np.float32)
    given = {} if axis is None else {"axis": axis}
    (old,) = one_node(op, [x], opset=11, **given)
    rows = int(np.prod(x.shape[: (1 if axis is None else axis) % 3]))
    flat = FUNCTIONS[op](x.reshape(rows, -1), -1)
    np.testing.assert_allclose(old, flat.reshape(x.shape), rtol=CLOSE, atol=CLOSE)


@pytest.mark.parametrize("op", FUNCTIONS)
@pytest.mark.parametrize("axis", [None, 0, 1, -1])
def test_ops_01_from_13_on_one_axis_counts(op: str, axis: int | None) -> None:
    x = R.standard_normal((2, 3, 4)).astype(np.float32)
    given = {} if axis is None else {"axis": axis}
    (new,) = one_node(op, [x], opset=13, **given)
    place = -1 if axis is None else axis
    moved = np.moveaxis(x, place, -1)
    expected = np.moveaxis(FUNCTIONS[op](moved, -1), -1, place)
    np.testing.assert_allclose(new, expected, rtol=CLOSE, atol=CLOSE)


def test_ops_01_the_first_scatter_takes_fewer_places_than_data() -> None:
    data, places = np.zeros((3, 3), np.float32), np.array([[1, 0, 2], [0, 2, 1]])
    values = f32(1, 1.1, 1.2, 2, 2.1, 2.2).reshape(2, 3)
    (y,) = one_node("Scatter", [data, places, values], opset=9)
    assert y.tolist() == f32(2, 1.1, 0, 1, 0, 2.2, 0, 2.1, 1.2).reshape(3, 3).tolist()


@pytest.mark.parametrize("opset", [6, 11])
def test_ops_01_bounds_are_attributes_and_later_inputs(opset: int) -> None:
    x = f32(-3, 0.5, 3)
    if opset < 11:
        (y,) = one_node("Clip", [x], opset=opset, min=-1.0, max=1.0)
    else:
        (y,) = one_node("Clip", [x, np.float32(-1), np.float32(1)], opset=opset)
    assert y.tolist() == [-1, 0.5, 1]


def test_ops_01_axes_are_an_attribute_and_later_an_input() -> None:
    x = R.standard_normal((2, 3)).astype(np.float32)
    (old,) = one_node("ReduceSum", [x], opset=11, axes=[1], keepdims=0)
    (new,) = one_node("ReduceSum", [x, np.array([1])], opset=13, keepdims=0)
    (all_axes,) = one_node("ReduceSum", [x], opset=13, keepdims=0)
    (none,) = one_node("ReduceSum", [x], opset=13, noop_with_empty_axes=1)
    np.testing.assert_allclose(old, x.sum(1), rtol=CLOSE)
    assert old.tolist() == new.tolist() and none.tolist() == x.tolist()
    np.testing.assert_allclose(all_axes, x.sum(), rtol=CLOSE)


# --- NUM-07: division -----------------------------------------------------------------------


def divided(op: str, a: Any, b: Any, known: bool, **attributes: Any) -> Any:
    """The result, of arrays that the file holds or that are fed."""
    made = node(op, ["a", "b"], ["y"], **attributes)
    if known:
        return run(graph_proto([made], [], [port("y", None)], a=a, b=b))[0]
    code = onnx.helper.np_dtype_to_tensor_dtype(a.dtype)
    ports = [port("a", a.shape, code), port("b", b.shape, code)]
    return run(graph_proto([made], ports, [port("y", None)]), a=a, b=b)[0]


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("dtype", [np.int64, np.int32])
def test_num_07_quotients_of_integers_are_rounded_to_0(known: bool, dtype: type) -> None:
    a, b = np.array([8, -8, 7, -7], dtype), np.array([-3, 3, -2, 2], dtype)
    assert divided("Div", a, b, known).tolist() == [-2, -2, -3, -3]


@pytest.mark.parametrize("known", [True, False])
def test_num_07_the_rest_has_the_sign_of_the_divisor_or_with_fmod_of_the_dividend(
    known: bool,
) -> None:
    a, b = np.array([8, -8, 7, -7, -5]), np.array([-3, 3, -2, 2, 3])
    assert divided("Mod", a, b, known).tolist() == [-1, 1, -1, 1, 1]
    assert divided("Mod", a, b, known, fmod=1).tolist() == [2, -2, 1, -1, -2]
    assert divided("Mod", f32(-5.5), f32(3), known, fmod=1).tolist() == [-2.5]


# --- SPA-03, SPA-04, SPA-05: windows, sizes, padding ----------------------------------------


def test_spa_03_a_window_past_the_end_divides_by_what_it_holds() -> None:
    x = np.arange(9, dtype=np.float32).reshape(1, 1, 3, 3)
    (y,) = one_node("AveragePool", [x], kernel_shape=[2, 2], strides=[2, 2], ceil_mode=1)
    assert y[0, 0].tolist() == [[2, 3.5], [6.5, 8]]


def test_spa_03_padding_counts_but_not_what_lies_past_it() -> None:
    line = f32(2.0903, 4.6493, 1.632, -3.2051, 4.6975, 4.7296, 3.3653, -1.5815, -2.3832)
    windows = {"kernel_shape": [7], "strides": [3], "pads": [3, 3]}
    (y,) = one_node(
        "AveragePool", [line.reshape(1, 1, 9)], **windows, ceil_mode=1, count_include_pad=1
    )
    np.testing.assert_allclose(y[0, 0], [0.73807, 2.56556, 0.80323, -0.09990], atol=6e-6)


def test_spa_03_padding_of_the_same_size_begins_at_the_start() -> None:
    x = np.arange(12, dtype=np.float32).reshape(1, 1, 6, 2)
    attributes = {"kernel_shape": [5, 1], "auto_pad": "SAME_LOWER", "count_include_pad": 1}
    (y,) = one_node("AveragePool", [x], opset=19, **attributes)
    expected = [[1.2, 1.8], [2.4, 3.2], [4, 5], [6, 7], [5.6, 6.4], [4.8, 5.4]]
    np.testing.assert_allclose(y[0, 0], expected, rtol=CLOSE)


def test_spa_03_no_window_lies_wholly_in_the_padding() -> None:
    x = R.standard_normal((1, 2, 3, 6, 5)).astype(np.float32)
    windows = {"kernel_shape": [3] * 3, "strides": [3] * 3, "pads": [1] * 6}
    (y,) = one_node("MaxPool", [x], **windows, ceil_mode=1)
    assert y.shape == (1, 2, 2, 3, 2) and y.min() >= x.min()
    wide = {"kernel_shape": [1, 2], "strides": [5, 1], "pads": [0, 1, 0, 1]}
    (z,) = one_node("AveragePool", [np.ones((1, 1, 10, 8), np.float32)], **wide)
    assert z.shape == (1, 1, 2, 9)


def resized(x: Any, sizes: list[int], **attributes: Any) -> Any:
    lined = x.reshape((1,) * (2 - x.ndim) + x.shape)
    sizes = [1] * (2 - len(sizes)) + sizes
    return one_node("Resize", [lined, None, None, np.array(sizes)], **attributes)[0]


def test_spa_04_ties_are_exact() -> None:
    """By float32 the second would be 4 in some systems: the ratio is a fraction here."""
    line = np.arange(20, dtype=np.float32)
    found = resized(line, [6], mode="nearest", nearest_mode="round_prefer_ceil")
    assert found[0].tolist() == [1, 5, 8, 11, 15, 18]


def test_spa_04_no_place_before_the_first_is_read() -> None:
    x = np.arange(16, dtype=np.float32).reshape(4, 4)
    found = resized(x, [8, 8], mode="nearest", nearest_mode="floor")
    places = [0, 0, 0, 1, 1, 2, 2, 3]
    assert found.tolist() == x[np.ix_(places, places)].tolist()


@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
@pytest.mark.parametrize("corners", ["half_pixel", "align_corners", "asymmetric"])
def test_spa_04_sizes_of_1_are_among_the_values(mode: str, corners: str) -> None:
    line = np.arange(7, dtype=np.float32)
    given = {"mode": mode, "coordinate_transformation_mode": corners}
    assert resized(line[:1], [7], **given).tolist() == [[0] * 7]
    assert 0 <= float(resized(line, [1], **given)[0, 0]) <= 6


STRETCH = Fraction(3, 5)
NEAREST = {
    "round_prefer_floor": lambda x: math.ceil(x - Fraction(1, 2)),
    "round_prefer_ceil": lambda x: math.floor(x + Fraction(1, 2)),
    "floor": math.floor,
    "ceil": math.ceil,
}


def stretched(line: Any, **attributes: Any) -> tuple[list[float], list[Fraction]]:
    """A line at 0.6 of its length, and the places that its numbers come from: in fifths."""
    scales = np.array([1, float(STRETCH)], np.float32)
    (y,) = one_node("Resize", [line[None], None, scales], **attributes)
    half = Fraction(1, 2)
    return y[0].tolist(), [(k + half) / STRETCH - half for k in range(y.shape[1])]


@pytest.mark.parametrize("rounding", NEAREST)
def test_spa_04_a_ratio_that_is_no_fraction_of_few_digits_takes_the_nearest(rounding: str) -> None:
    line = np.arange(10, dtype=np.float32)
    found, places = stretched(line, mode="nearest", nearest_mode=rounding)
    assert found == [min(max(NEAREST[rounding](one), 0), 9) for one in places]


@pytest.mark.parametrize("mode", ["linear", "cubic"])
def test_spa_04_a_ratio_that_is_no_fraction_of_few_digits_keeps_a_ramp(mode: str) -> None:
    """Away from the ends, where the cubic's four numbers are all inside."""
    found, places = stretched(np.arange(10, dtype=np.float32), mode=mode, cubic_coeff_a=-0.5)
    np.testing.assert_allclose(found[1:5], [float(one) for one in places[1:5]], rtol=CLOSE)


def test_spa_05_reflections_longer_than_the_axis_are_numpys_or_refused() -> None:
    x = f32(1, 1.2, 2.3, 3.4, 4.5, 5.7).reshape(3, 2)
    widths = np.array([0, 2, 0, 0])
    try:
        (y,) = one_node("Pad", [x, widths], mode="reflect")
    except PhoticError as error:
        assert "Pad" in str(error)
    else:
        assert y.tolist() == np.pad(x, ((0, 0), (2, 0)), "reflect").tolist()


@pytest.mark.parametrize("count", [2, 5, 100])
def test_spa_05_what_is_left_after_cutting_is_reflected_or_refused(count: int) -> None:
    x, cut = np.arange(count, dtype=np.float32), count - 1
    try:
        (y,) = one_node("Pad", [x, np.array([-cut, cut])], mode="reflect")
    except PhoticError as error:
        assert "Pad" in str(error)
    else:
        assert y.tolist() == np.pad(x[cut:], (0, cut), "reflect").tolist()


def test_spa_05_padding_and_cutting_at_once() -> None:
    x = np.ones((1, 1, 4, 4), np.float32)
    (y,) = one_node("Pad", [x, np.array([0, 0, 4, 1, 0, 0, -4, -1])], mode="constant")
    assert y.shape == (1, 1, 4, 4) and not y.any()


# --- IDX-03, IDX-04, TIM-03: places ---------------------------------------------------------


def test_idx_03_values_for_one_place_are_added() -> None:
    data, places = np.full((4, 3), 2, np.float32), np.array([[0, 2, 3], [0, 2, 3]])
    values = f32(3, 5, 7, 11, 13, 17).reshape(2, 3)
    (y,) = one_node("ScatterElements", [data, places, values], axis=0, reduction="add")
    assert y.tolist() == [[16, 2, 2], [2, 2, 2], [2, 20, 2], [2, 2, 26]]


TIES = {
    "a pair": f32(0, 1, 2, 2),
    "all": np.ones(61, np.float32),
    "many": np.tile(f32(3, 1, 3, 2), (3, 4, 5)),
}


@pytest.mark.parametrize("name", TIES)
def test_idx_04_the_first_of_equal_ones_unless_the_last_is_asked(name: str) -> None:
    x = TIES[name]
    (first,) = one_node("ArgMax", [x], axis=-1, keepdims=0)
    (last,) = one_node("ArgMax", [x], axis=-1, keepdims=0, select_last_index=1)
    (hard,) = one_node("Hardmax", [x], axis=-1)
    values, places = one_node("TopK", [x, np.array([2])], 2, axis=-1)
    assert np.array_equal(first, x.argmax(-1))
    assert np.array_equal(last, x.shape[-1] - 1 - x[..., ::-1].argmax(-1))
    assert np.array_equal(hard.argmax(-1), x.argmax(-1)) and np.all(hard.sum(-1) == 1)
    order = np.argsort(-x, -1, kind="stable")[..., :2]
    assert np.array_equal(places, order)
    assert np.array_equal(values, np.take_along_axis(x, order, -1))


def test_idx_04_nan_is_the_largest() -> None:
    x = f32(1, np.nan, 3)
    values, places = one_node("TopK", [x, np.array([2])], 2)
    assert places.tolist() == [1, 2] and np.isnan(values[0]) and values[1] == 3
    assert one_node("ArgMax", [x], keepdims=0)[0].tolist() == 1


def test_tim_03_slices_are_written_at_once() -> None:
    data, places = np.zeros((1, 8, 16), np.float32), np.zeros((1, 4, 1, 3), np.int64)
    places[0, :, 0, 1] = [1, 3, 5, 7]
    places[0, :, 0, 2] = [2, 4, 6, 8]
    values = R.standard_normal((1, 4, 1)).astype(np.float32)
    (y,) = one_node("ScatterND", [data, places, values])
    expected = data.copy()
    expected[tuple(places.reshape(-1, 3).T)] = values.reshape(-1)
    assert np.array_equal(y, expected)


# --- SIZ-01: nothing ------------------------------------------------------------------------

OF_NOTHING = {
    "ReduceSum": 0.0,
    "ReduceProd": 1.0,
    "ReduceMax": -np.inf,
    "ReduceMin": np.inf,
    "ReduceMean": np.nan,
}


@pytest.mark.parametrize("op", OF_NOTHING)
@pytest.mark.parametrize("keepdims", [0, 1])
@pytest.mark.parametrize(("shape", "axis"), [((0, 4), 0), ((3, 0, 4), 1)])
def test_siz_01_reductions_of_nothing(
    op: str, keepdims: int, shape: tuple[int, ...], axis: int
) -> None:
    x = np.zeros(shape, np.float32)
    (y,) = one_node(op, [x, np.array([axis])], keepdims=keepdims)
    assert y.shape == x.sum(axis, keepdims=bool(keepdims)).shape
    assert np.array_equal(y, np.full(y.shape, OF_NOTHING[op]), equal_nan=True)


@pytest.mark.parametrize("keepdims", [0, 1])
def test_siz_01_the_place_of_the_largest_of_nothing_is_refused_by_name(keepdims: int) -> None:
    with pytest.raises(PhoticError, match="ArgMax"):
        one_node("ArgMax", [np.zeros((0, 4), np.float32)], axis=0, keepdims=keepdims)


def test_siz_01_a_size_of_the_call_may_be_nothing() -> None:
    nodes = [node(op, ["x", "first"], [op], keepdims=0) for op in OF_NOTHING]
    outputs = [port(op, None) for op in OF_NOTHING]
    graph = graph_proto(nodes, [port("x", ["n", 2])], outputs, first=np.array([0]))
    program = as_model(read(model_proto(graph)), {"n": (0, 8)}, {}).compile(search=0)
    found = program(x=np.zeros((0, 2), np.float32))
    for op, one in OF_NOTHING.items():
        assert np.array_equal(found[op], np.full(2, one, np.float32), equal_nan=True), op
    x = f32(3, -5)[None]
    assert all(np.array_equal(one, x[0]) for one in program(x=x).values())


# --- DYN-02, DYN-03: sizes and results at run time ------------------------------------------


def test_dyn_02_a_size_counts_as_it_is_not_as_it_could_be() -> None:
    nodes = [
        node("Softmax", ["x"], ["soft"], axis=-1),
        node("ReduceMean", ["x", "last"], ["mean"], keepdims=0),
        node("ReduceLogSumExp", ["x", "last"], ["logs"], keepdims=0),
        node("ArgMax", ["x"], ["best"], axis=-1, keepdims=0),
        node("MeanVarianceNormalization", ["x"], ["spread"], axes=[1]),
    ]
    names = ("soft", "mean", "logs", "best", "spread")
    outputs = [port(name, None) for name in names]
    graph = graph_proto(nodes, [port("x", [3, "n"])], outputs, last=np.array([-1]))
    program = as_model(read(model_proto(graph)), {"n": (1, 64)}, {}).compile(search=0)
    for n in (1, 10, 31, 32, 33):
        wide = np.full((3, 64), np.nan, np.float32)
        wide[:, :n] = 1
        found = program(x=wide[:, :n])
        np.testing.assert_allclose(found["soft"], np.full((3, n), 1 / n), rtol=CLOSE)
        np.testing.assert_allclose(found["mean"], np.ones(3), rtol=CLOSE)
        np.testing.assert_allclose(found["logs"], np.full(3, 1 + np.log(n)), rtol=CLOSE)
        assert found["best"].tolist() == [0, 0, 0] and not found["spread"].any()


def test_dyn_03_results_keep_their_numbers() -> None:
    graph = graph_proto([node("Add", ["x", "one"], ["y"])], [port("x", [1])], [port("y", None)])
    held = onnx.numpy_helper.from_array(f32(1), "one")
    graph.initializer.append(held)
    ours = Session.of(read(model_proto(graph)))
    results = [ours.run(None, {"x": f32(k)})[0] for k in range(5)]
    view = results[0][:]
    assert [float(one[0]) for one in results] == [1, 2, 3, 4, 5] and view[0] == 1


def test_dyn_03_an_output_that_is_an_input_is_a_copy() -> None:
    graph = graph_proto([node("Identity", ["x"], ["y"])], [port("x", [2])], [port("y", None)])
    x = f32(1, 2)
    (y,) = session(graph).run(None, {"x": x})
    (z,) = Session.of(read(model_proto(graph))).run(None, {"x": x})
    x[0] = 5
    assert z.tolist() == [1, 2] and y.shape == (2,)


# --- QNT-01: rounding -----------------------------------------------------------------------


@pytest.mark.parametrize(("dtype", "last"), [(np.int8, -2), (np.uint8, 0)])
def test_qnt_01_ties_go_to_the_even_number(dtype: type, last: int) -> None:
    x = f32(0.25, 0.75, 1.25, 1.75, -0.25, -0.75)
    (y,) = one_node("QuantizeLinear", [x, np.float32(0.5), dtype(0)])
    assert y.dtype == dtype and y.tolist() == [0, 2, 2, 4, 0, last]


def test_qnt_01_what_is_too_large_is_the_largest() -> None:
    x = f32(-129, -128, -127, 127, 128, 300)
    (y,) = one_node("QuantizeLinear", [x, np.float32(1), np.int8(0)])
    assert y.tolist() == [-128, -128, -127, 127, 127, 127]


def test_qnt_01_halves_are_divided_in_float32() -> None:
    x, scale = np.float16([0.05002, -0.05002]), np.float16(0.09998)
    (y,) = one_node("QuantizeLinear", [x, scale, np.int8(0)])
    assert y.tolist() == [1, -1]
    (shifted,) = one_node("QuantizeLinear", [f32(200, -20), np.float32(1), np.uint8(10)])
    assert shifted.tolist() == [210, 0]


# --- Pow: exponents that are numbers --------------------------------------------------------


@pytest.mark.parametrize("exponent", [2.0, 3.0, -1.0, 0.5, 1.5, 0.0])
@pytest.mark.parametrize("shape", [(), (1,), (1, 1)])
def test_a_power_with_a_number_is_that_of_numpy(exponent: float, shape: tuple[int, ...]) -> None:
    x = f32(0.0, -0.0, 1.5, 3.0, np.inf, np.nan)
    held, result = np.full(shape, exponent, np.float32), onnx.ValueInfoProto(name="y")
    inputs = [port("x", x.shape, onnx.TensorProto.FLOAT)]
    graph = graph_proto([node("Pow", ["x", "e"], ["y"])], inputs, [result], e=held)
    found = run(graph, x=x)[0]
    with np.errstate(divide="ignore"):
        expected = np.power(x, held)
    np.testing.assert_allclose(found, expected, rtol=CLOSE)
    assert found.shape == expected.shape
