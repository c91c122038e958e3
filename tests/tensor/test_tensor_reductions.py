"""Reductions, products, running values and scans against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from evaluating import of, value, widened

import photic as ph
from photic.base.errors import BadArgument, ShapeMismatch

AXES = [None, 0, 1, -1, (0, 2), (1, 2, 0), ()]
# any order of at most 105 float32 additions, and a quotient: far below this
RTOL = 1e-5


@pytest.mark.parametrize("shape", [(3, 5, 7), (1, 1, 1), (2, 0, 3), (0, 1, 2)])
@pytest.mark.parametrize("axis", AXES, ids=str)
@pytest.mark.parametrize("keepdims", [False, True])
def test_a_reduction_is_numpys(
    shape: tuple[int, ...], axis: tuple[int, ...], keepdims: bool, rng: np.random.Generator
) -> None:
    x = rng.normal(size=shape).astype(np.float32)
    names = ["sum", "prod", "any", "all"]
    if 0 not in shape:
        names += ["max", "min", "mean", "var", "std"]
    for name in names:
        got = value(lambda y, f=name: getattr(ph, f)(y, axis=axis, keepdims=keepdims), x)
        want = getattr(np, name)(x, axis=axis, keepdims=keepdims)
        assert got.dtype == want.dtype
        np.testing.assert_allclose(got, want, rtol=RTOL, atol=1e-6)


@pytest.mark.parametrize(
    "dtype", ["float64", "float16", "int64", "int32", "int16", "int8", "uint8"]
)
def test_the_largest_and_smallest_and_their_places_hold_for_each_dtype(
    dtype: str, rng: np.random.Generator
) -> None:
    x = rng.integers(0, 6, (4, 5, 6)).astype(dtype)
    if dtype != "uint8":
        x = -x
    for axis in (None, 0, 1, -1):
        for name in ("max", "min", "argmax", "argmin"):
            got = value(lambda y, f=name, k=axis: getattr(ph, f)(y, k), x)
            np.testing.assert_array_equal(got, getattr(np, name)(x, axis))


@pytest.mark.parametrize("n", [0, 1, 2, 3, 5, 9])
def test_reductions_hold_for_a_symbolic_size(n: int, rng: np.random.Generator) -> None:
    size = ph.dim("n", 0, 9)
    a = rng.normal(size=(2, n)).astype(np.float32)
    x = ph.input("x", (2, size))
    for name in ("sum", "prod", "any", "all", *(("max", "min", "mean", "argmax") if n else ())):
        want = getattr(np, name)(a, axis=1)
        np.testing.assert_allclose(of(getattr(ph, name)(x, 1), {"x": a}, n=n), want, rtol=RTOL)
    for name in ("cumsum", "cumprod"):
        want = getattr(np, name)(a, axis=1)
        got = of(getattr(ph, name)(x, 1), {"x": a}, n=n)
        np.testing.assert_allclose(got, want, rtol=RTOL, atol=1e-6)
    if n > 2:
        np.testing.assert_allclose(of(ph.var(x, 1, ddof=1), {"x": a}, n=n), a.var(1, ddof=1), RTOL)


def test_a_variance_of_too_few_is_not_a_number_as_numpys() -> None:
    size = ph.dim("n", 0, 3)
    for n in (0, 1):
        got = of(ph.var(ph.ones((size,)), ddof=1), n=n)
        assert np.isnan(got)


@pytest.mark.parametrize("name", ["cumsum", "cumprod"])
@pytest.mark.parametrize("axis", [None, 0, -1])
def test_running_values_are_numpys(name: str, axis: int | None, rng: np.random.Generator) -> None:
    for shape in ((3, 7), (1, 1), (4, 64), (3, 0)):
        x = rng.uniform(0.5, 1.5, shape).astype(np.float32)
        got = value(lambda y: getattr(ph, name)(y, axis), x)
        np.testing.assert_allclose(got, getattr(np, name)(x, axis), rtol=RTOL)
        whole = rng.integers(-3, 4, shape)
        got = value(lambda y: getattr(ph, name)(y, axis), whole)
        np.testing.assert_array_equal(got, getattr(np, name)(whole, axis))


def test_a_product_does_not_go_through_logarithms() -> None:
    x = np.array([3, 5, 7, 11, 13], np.float32)
    assert value(ph.prod, x) == 15015
    assert value(ph.prod, np.arange(1, 21)) == 2432902008176640000


def test_exponentials_of_rows_are_right(rng: np.random.Generator) -> None:
    x = (rng.normal(size=(3, 4, 5)) * 20).astype(np.float32)
    wide = x.astype(np.float64)
    for axis in (-1, 0, (1, 2)):
        shifted = wide - wide.max(axis, keepdims=True)
        total = np.exp(shifted).sum(axis, keepdims=True)
        pairs = [
            (ph.softmax, np.exp(shifted) / total, 0),
            (ph.log_softmax, shifted - np.log(total), 1e-6),
            (
                lambda y, k: ph.logsumexp(y, k, keepdims=True),
                np.log(np.exp(wide).sum(axis, keepdims=True)),
                0,
            ),
        ]
        for ours, want, absolute in pairs:
            got = value(lambda y, f=ours, k=axis: f(y, k), x)
            # exp2((x - max)*log2 e): one rounding of an argument up to 2**7 is 2**7 half ulps
            np.testing.assert_allclose(got, want, rtol=2e-5, atol=absolute)
    assert value(lambda y: ph.logsumexp(y, 1), x).shape == (3, 5)


def test_softmax_is_the_plain_exponential_form() -> None:
    """The search knows ``exp2((x - max)*c)`` over its sum; another form would not be found."""
    x = ph.input("x", (4,))
    top = ph.stop_gradient(x.max(-1, keepdims=True))
    weights = ph.exp2((x - top) * 1.4426950408889634)
    plain = weights * ph.reciprocal(weights.sum(-1, keepdims=True))
    assert ph.softmax(x).operand == plain.operand


def test_judged_in_float64_the_functions_stay_themselves(rng: np.random.Generator) -> None:
    """Rounding tricks must not change what a function means when nothing is rounded."""
    x = rng.uniform(-5, 5, 200)
    for name in ("exp", "expm1", "cos", "tan", "tanh", "sinh", "cosh", "floor", "ceil", "round"):
        got = widened(getattr(ph, name), x.astype(np.float32))
        want = getattr(np, name)(x.astype(np.float32).astype(np.float64))
        # series with float32's number of terms stop at 2**-26
        np.testing.assert_allclose(got, want, rtol=2e-8)


# --- scan -----------------------------------------------------------------------------------


def test_a_scan_carries_and_stacks(rng: np.random.Generator) -> None:
    rows = rng.normal(size=(6, 3)).astype(np.float32)
    n = ph.dim("n", 0, 9)
    x = ph.input("x", (n, 3))
    weight = ph.constant(np.float32([0.5, 0.25, 2]))

    def body(carried: tuple[ph.Tensor, ...], slices: tuple[ph.Tensor, ...]) -> tuple[list, list]:
        (h,), (row,) = carried, slices
        following = h * weight + row
        return [following], [following * 2.0, row]

    (last,), (doubled, copied) = ph.scan(body, [ph.zeros(3)], [x])
    for count in (0, 1, 6):
        h, outputs = np.zeros(3, np.float32), []
        for row in rows[:count]:
            h = h * np.float32([0.5, 0.25, 2]) + row
            outputs.append(h * 2)
        given = {"x": rows[:count]}
        np.testing.assert_array_equal(of(last, given, n=count), h)
        np.testing.assert_array_equal(
            of(doubled, given, n=count), np.array(outputs, np.float32).reshape(count, 3)
        )
        np.testing.assert_array_equal(of(copied, given, n=count), rows[:count])


def test_scans_nest() -> None:
    x = ph.input("x", (3, 4))

    def outer(carried: tuple[ph.Tensor, ...], slices: tuple[ph.Tensor, ...]) -> tuple[list, list]:
        def inner(c: tuple[ph.Tensor, ...], s: tuple[ph.Tensor, ...]) -> tuple[list, list]:
            return [c[0] + s[0] * carried[0]], []

        (total,), _ = ph.scan(inner, [ph.zeros(())], [slices[0]])
        return [carried[0] + 1.0], [total]

    _, (sums,) = ph.scan(outer, [ph.ones(())], [x])
    a = np.arange(12.0, dtype=np.float32).reshape(3, 4)
    assert of(sums, {"x": a}).tolist() == (a.sum(1) * [1, 2, 3]).tolist()


def test_a_scan_that_does_not_fit_is_refused() -> None:
    zero = ph.zeros(())
    with pytest.raises(BadArgument, match="trips"):
        ph.scan(lambda c, s: (c, ()), [zero])
    with pytest.raises(ShapeMismatch):
        ph.scan(lambda c, s: (c, ()), [zero], [ph.ones(3), ph.ones(4)])
    with pytest.raises(ShapeMismatch):
        ph.scan(lambda c, s: ((ph.ones(2),), ()), [zero], trips=3)
    with pytest.raises(BadArgument):
        ph.scan(lambda c, s: ((), ()), [zero], trips=3)
