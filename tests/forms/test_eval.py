"""The evaluator, operation by operation: special values, reductions, casts, exact masks."""

from __future__ import annotations

from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest
from forms.small import FLOATS, SPECIAL, elements, inf, nan, run, same, value
from hypothesis import example, given, settings
from hypothesis import strategies as st

from photic.forms import movement
from photic.forms.eval import MEANING, convert
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
from photic.ir.graph import (
    Operand,
    binary,
    cast,
    constant_node,
    iota_node,
    operand,
    reduce,
    unary,
)
from photic.ir.ops import PRIMITIVE
from photic.ir.view import identity

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


@settings(max_examples=150, deadline=None)
@given(st.one_of(MODERATE, CLOSE_TO_TIES))
@example(1 + 2.0**-8 + 2.0**-40)
@example(2.0**-25 * (1 + 2.0**-40))
@pytest.mark.parametrize("half", [FLOAT16, BFLOAT16], ids=str)
def test_float64_to_half_is_rounded_once(half: DType, x: float) -> None:
    got = convert(np.array([x]), half.numpy).astype(np.float64)[0]
    if abs(x) < 65504:
        assert got == nearest(Fraction(x), half)


@settings(max_examples=150, deadline=None)
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
    return Operand(node, movement.expand(identity(()), like.shape))


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
    at = Operand(at.node, movement.expand(movement.reshape(at.view, (len(places), 1)), shape))
    row = Operand(iota_node(len(table)), movement.expand(identity((len(table),)), shape))
    differ = binary(
        "add", operand(binary("less_than", at, row)), operand(binary("less_than", row, at))
    )
    one_hot = invert(operand(differ)).node
    mask = movement.expand(movement.reshape(identity(shape), (*shape, 1)), (*shape, 3))
    rows = movement.expand(identity((3, 3)), (*shape, 3))
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
    padded = Operand(exp, movement.pad(identity((2,)), 0, 1, 1))
    assert same(run(padded), [-0.0, 1, 1, -0.0])
    assert run(reduce("sum", padded, 0)) == 2
    mask = Operand(constant_node(np.array([True])), movement.pad(identity((1,)), 0, 1, 0))
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


def test_every_primitive_has_one_meaning() -> None:
    assert set(MEANING) == set(PRIMITIVE)
    assert dtype_of(np.dtype(ml_dtypes.bfloat16)) == BFLOAT16
