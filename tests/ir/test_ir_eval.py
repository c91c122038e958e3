"""The evaluator: special values of each primitive, casts, scans, states, and what it refuses."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from fractions import Fraction

import ml_dtypes
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from photic.base.errors import (
    BrokenGraph,
    InputDtype,
    InputMissing,
    InputShape,
    SizeMissing,
    SizeOutOfRange,
)
from photic.ir import eval as evaluator
from photic.ir import view as views
from photic.ir.dim import Dim, symbol
from photic.ir.dtype import (
    BFLOAT16,
    BOOL,
    DTYPES,
    FLOAT16,
    FLOAT32,
    FLOAT64,
    INT8,
    INT16,
    INT32,
    INT64,
    UINT8,
    DType,
    dtype_of,
)
from photic.ir.eval import MEANING, convert, evaluate, evaluate_operand
from photic.ir.graph import (
    Graph,
    Node,
    Operand,
    binary,
    cast,
    constant_node,
    input_node,
    iota_node,
    operand,
    reduce,
    scan,
    state_node,
    unary,
)
from photic.ir.ops import PRIMITIVE
from photic.ir.view import View, identity

Array = npt.NDArray[np.generic]
inf, nan = np.inf, np.nan
SPECIAL = [nan, inf, -inf, 0.0, -0.0, 1.5, -2.0, 1e-40]
FLOATS = [one for one in DTYPES.values() if one.kind == "float"]
N = symbol("n", 0, 9)


def value(items: object, dtype: DType) -> Operand:
    return operand(constant_node(np.array(items, dtype.numpy)))


def run(node: Node | Operand) -> Array:
    return evaluate_operand(node if isinstance(node, Operand) else operand(node), {})


def elements(items: object, dtype: DType, op: str, *others: Operand) -> list[float]:
    """The result of an elementwise op on constants, as Python numbers."""
    build = unary if not others else binary
    return run(build(op, value(items, dtype), *others)).astype(np.float64).tolist()


def same(got: object, expected: object) -> bool:
    """Equal to the bit, but for the bits of a nan."""
    a, b = np.asarray(got, np.float64), np.asarray(expected, np.float64)
    return np.array_equal(a, b, equal_nan=True) and np.array_equal(
        np.signbit(a) & ~np.isnan(a), np.signbit(b) & ~np.isnan(b)
    )


# --- elementwise ----------------------------------------------------------------------------

UNARY = [
    ("exp2", [-inf, inf, nan, 0, -0.0, 10, -149], [0, inf, nan, 1, 1, 1024, 2.0**-149]),
    ("log2", [0, -0.0, -1, inf, nan, 8], [-inf, -inf, nan, inf, nan, 3]),
    ("sin", [inf, -inf, nan, 0, -0.0], [nan, nan, nan, 0, -0.0]),
    ("sqrt", [-1, -0.0, 0, inf, nan, 4], [nan, -0.0, 0, inf, nan, 2]),
    ("recip", [0, -0.0, inf, -inf, nan, 4], [inf, -inf, 0, -0.0, nan, 0.25]),
]


@pytest.mark.parametrize("op, given_, expected", UNARY, ids=[row[0] for row in UNARY])
def test_unary_special_values(op: str, given_: list[float], expected: list[float]) -> None:
    assert same(elements(given_, FLOAT32, op), expected)


BINARY = [
    (
        "add",
        FLOAT32,
        [inf, -0.0, 0.0, -0.0, nan],
        [-inf, -0.0, -0.0, 0.0, 1],
        [nan, -0.0, 0, 0, nan],
    ),
    ("mul", FLOAT32, [0, inf, -0.0, nan], [inf, 0, 5, 0], [nan, nan, -0.0, nan]),
    ("add", INT32, [2**31 - 1], [2**31 - 1], [-2]),
    ("add", UINT8, [128], [128], [0]),
    ("mul", INT8, [64, -128], [2, -1], [-128, -128]),
    ("mul", INT64, [2**62], [2], [-(2**63)]),
    ("add", BOOL, [0, 0, 1, 1], [0, 1, 0, 1], [0, 1, 1, 1]),
    ("mul", BOOL, [0, 0, 1, 1], [0, 1, 0, 1], [0, 0, 0, 1]),
    ("mod", INT64, [8, -8, 7, -7], [-3, 3, -2, 2], [-1, 1, -1, 1]),
    ("mod", INT32, [5, -5, 0, -(2**31)], [0, 0, 0, -1], [0, 0, 0, 0]),
    ("mod", UINT8, [200, 7], [7, 0], [4, 0]),
    ("mod", FLOAT32, [inf, -inf, 5, nan, 5], [3, 3, 0, 3, nan], [nan, nan, nan, nan, nan]),
    ("mod", FLOAT32, [-1, 1, 5, -0.0, 3], [3, -3, inf, 3, -3], [2, -2, 5, 0, -0.0]),
    ("mod", FLOAT32, [-5.5, 5.5, -1], [3, -3, inf], [0.5, -0.5, inf]),
    ("less_than", FLOAT32, [nan, 1, nan, -0.0, -inf], [1, nan, nan, 0, inf], [0, 0, 0, 0, 1]),
    ("less_than", BOOL, [0, 0, 1, 1], [0, 1, 0, 1], [0, 1, 0, 0]),
    ("less_than", UINT8, [250], [4], [0]),
]


@pytest.mark.parametrize(
    "op, dtype, left, right, expected",
    BINARY,
    ids=[f"{r[0]}-{r[1]}-{k}" for k, r in enumerate(BINARY)],
)
def test_binary_special_values(
    op: str, dtype: DType, left: list[float], right: list[float], expected: list[float]
) -> None:
    assert same(elements(left, dtype, op, value(right, dtype)), expected)


@pytest.mark.parametrize("dtype", [one for one in DTYPES.values() if one != BOOL], ids=str)
def test_a_mask_gives_the_value_or_the_identity_of_add(dtype: DType) -> None:
    items = SPECIAL if dtype.kind == "float" else [dtype.low, dtype.high, 1]
    kept = value(items, dtype)
    whole = run(kept).astype(np.float64)
    for truth, expected in ((True, whole), (False, np.full(len(items), -0.0))):
        node = binary("mul", value([truth] * len(items), BOOL), kept)
        assert node.dtype == dtype
        assert same(run(node), expected if dtype.kind == "float" else expected + 0.0)


@pytest.mark.parametrize("op", ["exp2", "log2", "sin", "sqrt", "recip"])
@pytest.mark.parametrize("dtype", [FLOAT16, BFLOAT16], ids=str)
def test_halves_are_computed_in_float32_and_rounded_once(op: str, dtype: DType) -> None:
    bits = np.arange(0, 2**16, 7, dtype=np.uint16)
    items = bits.view(dtype.numpy)
    with np.errstate(all="ignore"):
        expected = run(unary(op, operand(constant_node(items.astype(np.float32)))))
        assert same(elements(items, dtype, op), expected.astype(dtype.numpy))


# --- reductions -----------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES.values(), ids=str)
def test_the_sum_and_max_of_nothing(dtype: DType) -> None:
    empty = value(np.zeros((2, 0, 3)), dtype)
    lowest = -inf if dtype.kind == "float" else dtype.low
    assert same(run(reduce("sum", empty, 1)), np.zeros((2, 3)))
    assert same(run(reduce("max", empty, 1)), np.full((2, 3), lowest))
    assert run(reduce("sum", empty, 0)).shape == (0, 3)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_a_sum_of_minus_zeros_is_minus_zero(dtype: DType) -> None:
    assert same(run(reduce("sum", value([-0.0] * 3, dtype), 0)), -0.0)


def test_integers_and_bools_are_summed_in_their_own_dtype() -> None:
    assert run(reduce("sum", value([100, 100], INT8), 0)) == -56
    assert run(reduce("sum", value([200, 200, 56, 56], UINT8), 0)) == 0
    assert run(reduce("sum", value([True, True], BOOL), 0)).tolist() is True
    assert run(reduce("sum", value([2**63 - 1, 1], INT64), 0)) == -(2**63)


@pytest.mark.parametrize("dtype", [FLOAT16, BFLOAT16], ids=str)
def test_halves_are_summed_in_float32(dtype: DType) -> None:
    assert run(reduce("sum", value(np.ones(4096), dtype), 0)) == 4096


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_max_lets_a_nan_through_at_every_place(dtype: DType) -> None:
    for length in range(1, 41):
        rows = np.ones((length, length))
        np.fill_diagonal(rows, nan)
        assert np.isnan(run(reduce("max", value(rows, dtype), 1)).astype(np.float32)).all()


@pytest.mark.parametrize("length", [8192, 8193])
def test_the_max_of_minus_zeros_is_zero(length: int) -> None:
    assert run(reduce("max", value([-0.0] * length, FLOAT32), 0)) == 0


def test_the_max_of_a_row_of_minus_infinities_is_minus_infinity() -> None:
    assert run(reduce("max", value([-inf] * 5, FLOAT32), 0)) == -inf
    assert run(reduce("max", value([False, True], BOOL), 0)).tolist() is True


# --- casts ----------------------------------------------------------------------------------

CASTS = [
    (FLOAT32, FLOAT16, [65504, 65519, 65520, 65536, 1e-8], [65504, 65504, inf, inf, 0]),
    (FLOAT32, FLOAT16, [1 + 2**-12, 2.0**-24, 3 * 2.0**-25], [1, 2.0**-24, 2.0**-23]),
    (FLOAT32, BFLOAT16, [1 + 2**-8, 1 + 3 * 2**-8, nan, -inf], [1, 1 + 2**-6, nan, -inf]),
    (FLOAT64, BFLOAT16, [1 + 2**-8 + 2**-40, 1e300, 1e-300], [1 + 2**-7, inf, 0]),
    (INT32, UINT8, [300, -1, 256], [44, 255, 0]),
    (INT32, FLOAT32, [2**24 + 1, 2**24 + 3], [2**24, 2**24 + 4]),
    (INT64, BFLOAT16, [2**40 + 2**32 + 1, 257, -(2**63)], [2**40 + 2**33, 256, -(2.0**63)]),
    (INT64, FLOAT16, [65519, 65520, -(2**40)], [65504, inf, -inf]),
    (FLOAT32, INT8, [127.9, 128, -128.9, -129, 300, nan, -0.5], [127, 127, -128, -128, 127, 0, 0]),
    (FLOAT32, UINT8, [255.9, 256, -0.9, -1, nan, inf, -inf], [255, 255, 0, 0, 0, 255, 0]),
    (FLOAT32, INT32, [2.0**31, -(2.0**31), 1e10, -1e10, 1.9], [2**31 - 1, -(2**31)] * 2 + [1]),
    (BFLOAT16, INT16, [1e30, -1e30, 3.75, nan], [2**15 - 1, -(2**15), 3, 0]),
    (FLOAT64, BOOL, [0, -0.0, nan, 1e-320, inf], [0, 0, 1, 1, 1]),
    (INT64, BOOL, [0, 256, -1], [0, 1, 1]),
    (BOOL, FLOAT16, [False, True], [0, 1]),
    (BOOL, UINT8, [False, True], [0, 1]),
]


@pytest.mark.parametrize(
    "source, target, given_, expected",
    CASTS,
    ids=[f"{r[0]}-{r[1]}-{k}" for k, r in enumerate(CASTS)],
)
def test_casts(source: DType, target: DType, given_: list[float], expected: list[float]) -> None:
    result = run(cast(value(given_, source), target))
    assert result.dtype == target.numpy
    assert same(result, expected)


def test_float_to_int64_saturates_exactly() -> None:
    given_ = [2.0**63, -(2.0**63), 2.0**63 - 1024, -inf, inf, nan, -(2.0**64)]
    result = run(cast(value(given_, FLOAT64), INT64)).tolist()
    low, high = -(2**63), 2**63 - 1
    assert result == [high, low, 2**63 - 1024, low, high, 0, low]


def nearest(x: Fraction, half: DType) -> float:
    """The finite half nearest to x, ties to the even one, by trying all of them."""
    with np.errstate(invalid="ignore"):
        numbers = np.arange(2**15, dtype=np.uint16).view(half.numpy).astype(np.float64)
    numbers = numbers[np.isfinite(numbers)]
    place = int(np.searchsorted(numbers, float(abs(x))))
    near = [k for k in range(place - 2, place + 3) if 0 <= k < len(numbers)]
    best = min(near, key=lambda k: (abs(Fraction(float(numbers[k])) - abs(x)), k % 2))
    return float(numbers[best]) * (-1 if x < 0 else 1)


MODERATE = st.floats(-60000, 60000, allow_nan=False)
CLOSE_TO_TIES = st.builds(
    lambda k, place, offset: (1 + k * 2.0**-11) * 2.0**place + offset * 2.0 ** (place - 45),
    st.integers(0, 2**11),
    st.integers(-30, 15),
    st.integers(-3, 3),
)


@settings(max_examples=300, deadline=None)
@given(st.one_of(MODERATE, CLOSE_TO_TIES))
@example(1 + 2.0**-8 + 2.0**-40)
@example(2.0**-25 * (1 + 2.0**-40))
@pytest.mark.parametrize("half", [FLOAT16, BFLOAT16], ids=str)
def test_float64_to_half_is_rounded_once(half: DType, x: float) -> None:
    got = convert(np.array([x]), half.numpy).astype(np.float64)[0]
    if abs(x) < 65504:
        assert got == nearest(Fraction(x), half)


@settings(max_examples=300, deadline=None)
@given(st.integers(-(2**63), 2**63 - 1), st.integers(0, 62))
@example(2**40 + 2**32 + 1, 0)
def test_int64_to_bfloat16_is_rounded_once(x: int, shift: int) -> None:
    x >>= shift
    got = convert(np.array([x], np.int64), np.dtype(ml_dtypes.bfloat16)).astype(np.float64)[0]
    assert got == nearest(Fraction(x), BFLOAT16)


def test_the_other_casts_are_numpys() -> None:
    draw = np.random.default_rng(0)
    for source in DTYPES.values():
        array = draw.integers(0, 100, 50).astype(source.numpy)
        for target in DTYPES.values():
            expected = array.astype(bool if target == BOOL else target.numpy)
            assert np.array_equal(convert(array, target.numpy), expected)


# --- exact masks: the rules that composed functions stand on ---------------------------------


def broadcast(scalar: object, dtype: DType, like: Operand) -> Operand:
    node = constant_node(np.array(scalar, dtype.numpy))
    return Operand(node, views.expand(identity(()), like.shape))


def invert(condition: Operand) -> Operand:
    return operand(binary("less_than", condition, broadcast(True, BOOL, condition)))


def where(condition: Operand, yes: Operand, no: Operand) -> Operand:
    left = operand(binary("mul", condition, yes))
    return operand(binary("add", left, operand(binary("mul", invert(condition), no))))


def test_where_is_exact_for_every_pair_of_values() -> None:
    yes, no = (grid.ravel() for grid in np.meshgrid(SPECIAL, SPECIAL))
    for truth in (False, True):
        chosen = where(value([truth] * len(yes), BOOL), value(yes, FLOAT32), value(no, FLOAT32))
        expected = np.float32(yes if truth else no)
        assert same(run(chosen), np.where(expected == 0, expected, expected))


def test_a_relu_keeps_nan_and_drops_minus_infinity() -> None:
    x = value([nan, -1, 0, 1, inf, -inf], FLOAT32)
    zero = broadcast(0.0, FLOAT32, x)
    result = where(operand(binary("less_than", x, zero)), zero, x)
    assert same(run(result), [nan, 0, 0, 1, inf, 0])


def test_a_gather_by_one_hot_is_a_load() -> None:
    table = np.array([[nan, inf, 1], [-inf, -0.0, 2], [3, 4, nan]], np.float32)
    places = np.array([2, 0, 1, 1, 7, -1])
    shape = (len(places), len(table))
    at = operand(constant_node(places))
    at = Operand(at.node, views.expand(views.reshape(at.view, (len(places), 1)), shape))
    row = Operand(iota_node(len(table)), views.expand(identity((len(table),)), shape))
    differ = binary(
        "add", operand(binary("less_than", at, row)), operand(binary("less_than", row, at))
    )
    one_hot = invert(operand(differ)).node
    mask = views.expand(views.reshape(identity(shape), (*shape, 1)), (*shape, 3))
    rows = views.expand(identity((3, 3)), (*shape, 3))
    product = binary("mul", Operand(one_hot, mask), Operand(constant_node(table), rows))
    expected = np.concatenate([table[places[:4]], np.full((2, 3), -0.0)])
    assert same(run(reduce("sum", operand(product), 1)), expected)


def test_times_zero_and_minus_itself_keep_nan() -> None:
    x = value([inf, nan], FLOAT32)
    minus = operand(binary("mul", x, broadcast(-1.0, FLOAT32, x)))
    assert np.isnan(run(binary("mul", x, broadcast(0.0, FLOAT32, x)))).all()
    assert np.isnan(run(binary("add", x, minus))).all()


def test_a_padding_is_the_identity_of_add_whatever_is_padded() -> None:
    exp = unary("exp2", value([0.0, 0.0], FLOAT32))
    padded = Operand(exp, views.pad(identity((2,)), 0, 1, 1))
    assert same(run(padded), [-0.0, 1, 1, -0.0])
    assert run(reduce("sum", padded, 0)) == 2
    mask = Operand(constant_node(np.array([True])), views.pad(identity((1,)), 0, 1, 0))
    assert run(mask).tolist() == [False, True]


def test_small_integers_do_not_widen_between_operations() -> None:
    x = value([128], UINT8)
    assert run(cast(operand(binary("add", x, x)), INT16)) == 0
    big = value([2**31 - 1], INT32)
    assert run(cast(operand(binary("add", big, big)), INT64)) == -2


def test_a_cast_pair_is_not_the_identity() -> None:
    x = value([65504, 65520, 65536, 1e-8], FLOAT32)
    there = cast(operand(cast(x, FLOAT16)), FLOAT32)
    assert same(run(there), [65504, inf, inf, 0])


# --- widened --------------------------------------------------------------------------------


def widened(node: Node, **inputs: Array) -> Array:
    return evaluate(Graph((("y", operand(node)),)), inputs, {}, {}, widen=True)[0]["y"]


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_widened_floats_are_float64_and_casts_between_them_do_not_round(dtype: DType) -> None:
    x = input_node("x", (3,), FLOAT32)
    third = np.array([1 / 3, 1e-60, 1e60])
    result = widened(cast(operand(cast(operand(x), dtype)), FLOAT16), x=third)
    assert result.dtype == np.float64
    assert same(result, third)


def test_widened_integers_stay_what_they_are() -> None:
    result = widened(binary("add", value([127], INT8), value([1], INT8)))
    assert result.dtype == np.int8 and result == -128
    assert widened(cast(value([300.7, nan], FLOAT16), UINT8)).tolist() == [255, 0]


def test_widened_inputs_and_constants_may_be_any_float() -> None:
    x = input_node("x", (2,), FLOAT32)
    total = binary("add", operand(x), value([0.5, 0.5], FLOAT32))
    for dtype in (np.float16, np.float32, np.float64):
        assert widened(total, x=np.array([1, 2], dtype)).tolist() == [1.5, 2.5]


# --- inputs, states, sizes ------------------------------------------------------------------

X = input_node("x", (N, 2), FLOAT32)
STATE = state_node("h", (2,), FLOAT32)
TOTAL = reduce("sum", operand(X), 0)
COUNTER = Graph(
    (("total", operand(TOTAL)), ("old", operand(STATE))),
    ((STATE, operand(binary("add", operand(STATE), operand(TOTAL)))),),
)


def rows(count: int) -> Array:
    return np.arange(2 * count, dtype=np.float32).reshape(count, 2)


def test_a_state_starts_at_zero_and_has_one_next_value_a_call() -> None:
    state: dict[str, Array] = {}
    for call, expected_old in enumerate([0, 2, 4]):
        outputs, state = evaluate(COUNTER, {"x": rows(2)}, state, {"n": 2}, widen=False)
        assert outputs["old"].tolist() == [expected_old, 2 * expected_old], call
    assert state["h"].tolist() == [6, 12]


def test_a_state_without_an_update_keeps_its_value() -> None:
    graph = Graph((("y", operand(unary("exp2", operand(STATE)))),))
    given_ = np.array([1, 2], np.float32)
    assert evaluate(graph, {}, {"h": given_}, {}, widen=False)[1]["h"].tolist() == [1, 2]


def test_results_share_storage_with_nothing() -> None:
    graph = Graph((("a", operand(X)), ("b", operand(X))), ())
    given_ = rows(2)
    outputs = evaluate(graph, {"x": given_}, {}, {"n": 2}, widen=False)[0]
    outputs["a"][0, 0] = 99
    assert given_[0, 0] == outputs["b"][0, 0] == 0


@pytest.mark.parametrize(
    "inputs, sizes, error",
    [
        ({}, {"n": 2}, InputMissing),
        ({"x": rows(3)}, {"n": 2}, InputShape),
        ({"x": rows(2).astype(np.float64)}, {"n": 2}, InputDtype),
        ({"x": rows(2)}, {}, SizeMissing),
        ({"x": rows(10)}, {"n": 10}, SizeOutOfRange),
    ],
)
def test_what_does_not_fit_is_refused(
    inputs: dict[str, Array], sizes: dict[str, int], error: type[Exception]
) -> None:
    with pytest.raises(error):
        evaluate(COUNTER, inputs, {}, sizes, widen=False)


def faulty(view: View, items: object) -> Operand:
    return Operand(constant_node(np.array(items, np.float32)), view)


I = views.axis_variable(0, 4)


@pytest.mark.parametrize("index", [I + 1, I - 1, I * 2, 4, -1, (I + 1) // 1, (I * I)])
def test_a_view_that_reads_outside_is_refused_and_reads_nothing(index: Dim) -> None:
    with pytest.raises(BrokenGraph, match="outside axis 0"):
        run(faulty(View((4,), (index,)), [1, 2, 3, 4]))


def test_an_empty_source_may_be_seen_only_through_bounds() -> None:
    assert same(run(faulty(views.pad(identity((0,)), 0, 1, 2), [])), [-0.0] * 3)
    with pytest.raises(BrokenGraph):
        run(faulty(View((2,), (0,)), []))


def test_a_division_by_an_empty_extent_is_never_met() -> None:
    x = input_node("x", (3, N), FLOAT32)
    view = views.pad(views.reshape(identity(x.shape), (N * 3,)), 0, 2, 0)
    graph = Graph((("y", Operand(x, view)),))
    empty = np.zeros((3, 0), np.float32)
    assert same(evaluate(graph, {"x": empty}, {}, {"n": 0}, widen=False)[0]["y"], [-0.0] * 2)


# --- constants early ------------------------------------------------------------------------


def test_a_constant_part_is_computed_once_with_a_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []

    def counted(op: str) -> Callable[..., Array]:
        return lambda *given_: (calls.append(op), MEANING[op](*given_))[1]

    monkeypatch.setattr(evaluator, "MEANING", {op: counted(op) for op in MEANING})
    inner = unary("exp2", value([1.0, 2.0], FLOAT32))
    outer = unary("sqrt", operand(inner))
    cache: dict[Node, Array] = {}
    assert evaluate_operand(operand(inner), cache).tolist() == [2, 4]
    assert evaluate_operand(operand(outer), cache)[1] == 2
    flipped = Operand(outer, views.flip(identity((2,)), 0))
    assert evaluate_operand(flipped, cache)[0] == 2
    assert calls == ["exp2", "sqrt"]
    assert set(cache) == {inner, outer}


# --- scans ----------------------------------------------------------------------------------


def cumulative(trips: Dim, rows_: Operand, start: Operand) -> tuple[Node, ...]:
    shape, dtype = start.shape, start.dtype
    carried, sliced = input_node("carried", shape, dtype), input_node("sliced", shape, dtype)
    total = operand(binary("add", operand(carried), operand(sliced)))
    return scan(trips, [start], [rows_], [carried], [sliced], [total, total])


@pytest.mark.parametrize("n", [0, 1, 5])
def test_a_scan_over_a_symbolic_axis_is_a_cumulative_sum(n: int) -> None:
    items = cumulative(N, operand(X), value([1, 2], FLOAT32))
    graph = Graph(tuple((name, operand(one)) for name, one in zip(("last", "all"), items)))
    outputs = evaluate(graph, {"x": rows(n)}, {}, {"n": n}, widen=False)[0]
    expected = np.cumsum(np.concatenate([[[1, 2]], rows(n)]), 0)
    assert outputs["all"].shape == (n, 2)
    assert np.array_equal(outputs["all"], expected[1:])
    assert np.array_equal(outputs["last"], expected[-1])


def test_a_scan_inside_a_scan_reads_values_of_both_bodies() -> None:
    """Row by row: the sum of the powers 1, 2, 4 of the running total."""
    table = np.array([1.0, 2.0, 3.0], np.float32)
    total, item = input_node("total", (), FLOAT32), input_node("item", (), FLOAT32)
    power, sum_ = input_node("power", (), FLOAT32), input_node("sum", (), FLOAT32)
    following = operand(binary("add", operand(total), operand(item)))
    inner = scan(
        3,
        [following, value(0.0, FLOAT32)],
        [],
        [power, sum_],
        [],
        [
            operand(binary("mul", operand(power), operand(power))),
            operand(binary("add", operand(sum_), operand(power))),
        ],
    )
    outer = scan(
        3,
        [value(0.0, FLOAT32)],
        [operand(constant_node(table))],
        [total],
        [item],
        [following, operand(inner[1])],
    )
    running = np.cumsum(table)
    assert np.array_equal(run(outer[1]), running + running**2 + running**4)


def test_what_a_body_does_not_change_is_computed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []
    sin = MEANING["sin"]
    counted = {**MEANING, "sin": lambda x: (calls.append("sin"), sin(x))[1]}
    monkeypatch.setattr(evaluator, "MEANING", counted)
    carried = input_node("carried", (), FLOAT32)
    outside = unary("sin", value(1.0, FLOAT32))
    following = operand(binary("add", operand(carried), operand(outside)))
    (last,) = scan(50, [value(0.0, FLOAT32)], [], [carried], [], [following])
    assert run(last) == pytest.approx(50 * np.sin(1), rel=1e-5)
    assert calls == ["sin"]


def test_a_scan_keeps_the_dtype_of_what_it_carries() -> None:
    items = cumulative(3, value([[100], [100], [100]], INT8), value([0], INT8))
    assert run(items[1]).tolist() == [[100], [-56], [44]]


# --- memory ---------------------------------------------------------------------------------


def test_values_are_freed_after_their_last_use() -> None:
    x = input_node("x", (1 << 18,), FLOAT32)  # 1 MiB
    chain = operand(x)
    for _ in range(30):
        chain = operand(binary("add", chain, chain))
    array = np.ones(1 << 18, np.float32)
    tracemalloc.start()
    evaluate(Graph((("y", chain),)), {"x": array}, {}, {}, widen=False)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 6 * array.nbytes


def test_every_primitive_has_one_meaning() -> None:
    assert set(MEANING) == set(PRIMITIVE)
    assert dtype_of(np.dtype(ml_dtypes.bfloat16)) == BFLOAT16
