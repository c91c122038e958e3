"""Each line of docs/numbers.md, checked by the evaluator; a test is named by the line it checks."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Callable
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from evaluating import of, spread, ulps, value

import photic as ph
from photic.base.errors import BadArgument, DtypeMismatch
from photic.ir.dtype import DTYPES, dtype_of
from photic.tensor.primitive import masked

PAGE = Path(__file__).resolve().parents[2] / "docs" / "numbers.md"
NAN, INF = math.nan, math.inf
INTEGERS = ("int64", "int32", "int16", "int8", "uint8")
FLOATS = ("float64", "float32", "float16", "bfloat16")

Check = Callable[[], None]
LINES: dict[str, Check] = {}


def line(name: str) -> Callable[[Check], Check]:
    def keep(check: Check) -> Check:
        assert name not in LINES
        LINES[name] = check
        return check

    return keep


def f32(*values: float) -> np.ndarray:
    return np.array(values, np.float32)


def same(got: object, want: object) -> None:
    """Equal in shape, values and the signs of zeros; nan equals nan."""
    a, b = np.asarray(got), np.asarray(want)
    assert a.shape == b.shape
    np.testing.assert_array_equal(a.astype(np.float64), b.astype(np.float64))
    np.testing.assert_array_equal(
        np.signbit(a.astype(np.float64)) & (a == 0), np.signbit(b.astype(np.float64)) & (b == 0)
    )


def meet(left: str, right: str) -> str:
    return str((ph.zeros(1, left) + ph.zeros(1, right)).dtype)


# --- dtypes and how they meet ---------------------------------------------------------------


@line("promote.kind")
def _() -> None:
    assert meet("int64", "float32") == "float32"
    assert meet("int64", "float16") == "float16"
    assert meet("bool", "int8") == "int8"
    assert meet("bool", "bfloat16") == "bfloat16"


@line("promote.size")
def _() -> None:
    assert meet("int8", "int32") == "int32"
    assert meet("float16", "float32") == "float32"
    assert meet("float32", "float64") == "float64"


@line("promote.halves")
def _() -> None:
    assert meet("float16", "bfloat16") == "float32"


@line("promote.uint8")
def _() -> None:
    assert [meet("uint8", other) for other in ("int8", "int16", "int64")] == [
        "int16",
        "int16",
        "int64",
    ]


@line("promote.scalar")
def _() -> None:
    def dtype(name: str, number: float) -> str:
        return str((ph.zeros(1, name) * number).dtype)

    assert dtype("float16", 2.5) == dtype("float16", 2) == "float16"
    assert dtype("int8", 2) == "int8"
    assert dtype("int64", 2.5) == dtype("bool", 2.5) == "float32"
    assert dtype("bool", 2) == "int64"
    assert dtype("float32", float(np.float64(2.5))) == "float32"


@line("promote.scalar-range")
def _() -> None:
    with pytest.raises(BadArgument, match=r"0\.\.255"):
        ph.zeros(1, "uint8") + 256
    with pytest.raises(BadArgument, match="-128"):
        ph.less(ph.zeros(1, "int8"), -129)


@line("promote.default")
def _() -> None:
    given = (1.5, 1, True, np.zeros(1), np.zeros(1, np.int16), [1.5], [1])
    found = [str(ph.constant(one).dtype) for one in given]
    assert found == ["float32", "int64", "bool", "float64", "int16", "float32", "int64"]


@line("promote.to-float")
def _() -> None:
    for dtype in (*INTEGERS, "bool"):
        x = ph.ones(3, dtype)
        for one in (x / x, x.mean(), ph.exp(x), ph.sqrt(x), ph.softmax(x), ph.tanh(x), ph.gelu(x)):
            assert str(one.dtype) == "float32"
    same(value(lambda x, y: x / y, np.array([1, 3]), np.array([2, 4])), f32(0.5, 0.75))


@line("promote.bool-arithmetic")
def _() -> None:
    a, b = np.array([False, False, True, True]), np.array([False, True, False, True])
    same(value(lambda x, y: x + y, a, b), a | b)
    same(value(lambda x, y: x * y, a, b), a & b)
    x = ph.ones(2, "bool")
    for refused in (lambda: x - x, lambda: x // x, lambda: x % x, lambda: -x):
        with pytest.raises(DtypeMismatch):
            refused()


# --- casts ----------------------------------------------------------------------------------


def cast(array: np.ndarray, dtype: str) -> np.ndarray:
    return value(lambda x: x.astype(dtype), array)


@line("cast.nearest-even")
def _() -> None:
    same(cast(f32(65504, 65519, 65520, 1 + 2**-12), "float16"), [65504, 65504, INF, 1])
    same(cast(np.array([2**24 + 1, 2**24 + 3], np.int32), "float32"), [2**24, 2**24 + 4])
    same(cast(f32(1 + 2**-8, 1 + 3 * 2**-8, 3.4e38), "bfloat16"), [1, 1 + 2**-6, INF])


@line("cast.subnormal")
def _() -> None:
    same(cast(f32(2.0**-24, 2.0**-149, 1e-40), "float64"), f32(2.0**-24, 2.0**-149, 1e-40))
    same(cast(f32(2.0**-24, 2.0**-25, 1e-8), "float16"), [2.0**-24, 0, 0])
    same(cast(np.array([2.0**-149, 2.0**-151]), "float32"), [2.0**-149, 0])
    same(cast(f32(2.0**-133), "bfloat16"), [2.0**-133])


@line("cast.once")
def _() -> None:
    # by way of float32 the last bit would be lost first, and the tie would go to even
    same(cast(np.array([1 + 2**-8 + 2**-30]), "bfloat16"), [1 + 2**-7])
    same(cast(np.array([1 + 2**-11 + 2**-40]), "float16"), [1 + 2**-10])
    same(cast(np.array([2**40 + 2**32 + 1]), "bfloat16"), [2**40 + 2**33])


@line("cast.float-to-integer")
def _() -> None:
    x = f32(1.9, -1.9, 300, -300, INF, -INF, NAN, 3e9, -3e9)
    same(cast(x, "int8"), [1, -1, 127, -128, 127, -128, 0, 127, -128])
    same(cast(x, "uint8"), [1, 0, 255, 0, 255, 0, 0, 255, 0])
    low, high = -(2**31), 2**31 - 1
    same(cast(x, "int32"), [1, -1, 300, -300, high, low, 0, high, low])
    assert cast(np.array([1e300, -1e300]), "int64").tolist() == [2**63 - 1, -(2**63)]


@line("cast.integer-wraps")
def _() -> None:
    same(cast(np.array([300, -1, 256, 129], np.int32), "uint8"), [44, 255, 0, 129])
    same(cast(np.array([300, 128, -129], np.int64), "int8"), [44, -128, 127])


@line("cast.bool")
def _() -> None:
    same(cast(f32(0, -0.0, 1e-45, NAN, -3), "bool"), [False, False, True, True, True])
    same(cast(np.array([True, False]), "float16"), [1, 0])


@line("cast.narrow-stays")
def _() -> None:
    def there_and_back(dtype: str, *numbers: float) -> list[float]:
        x = f32(*numbers)
        return value(lambda y: y.astype(dtype).astype("float32"), x).tolist()  # type: ignore[no-any-return]

    assert there_and_back("float16", 65536, 1 + 2**-12, 1e-8) == [INF, 1, 0]
    assert there_and_back("bfloat16", 1 + 2**-9) == [1]
    assert there_and_back("int8", 300.7) == [127]


# --- masks ----------------------------------------------------------------------------------


@line("mask.false")
def _() -> None:
    x = f32(NAN, INF, -INF, 2, -0.0)
    same(value(lambda y: masked(ph.zeros(5, "bool"), y), x), [-0.0] * 5)
    same(value(lambda y: masked(ph.ones(5, "bool"), y), x), x)
    same(value(lambda y: masked(ph.zeros(2, "bool"), y), np.array([7, -7])), [0, 0])


@line("mask.where")
def _() -> None:
    special = f32(NAN, INF, -INF, 0.0, -0.0, 1.5)
    a, b = np.repeat(special, 6), np.tile(special, 6)
    for c in (a < b, np.zeros(36, bool), np.ones(36, bool)):
        same(value(ph.where, c, a, b), np.where(c, a, b))


@line("mask.user")
def _() -> None:
    same(value(lambda c, x: c * x, np.array([False, True]), f32(INF, INF)), [NAN, INF])
    same(value(lambda c, x: x * c, np.array([False, True]), f32(NAN, -1)), [NAN, -1])


@line("mask.padding")
def _() -> None:
    for function in (ph.exp, ph.cos, ph.sigmoid, lambda x: x + 1.0):
        padded = value(lambda x, f=function: ph.pad(f(x), 1), f32(0, 0))
        same(padded[[0, -1]], [0.0, 0.0])
    same(value(lambda x: ph.pad(x, ((1, 2),), 7.5), f32(NAN, -0.0)), [7.5, NAN, -0.0, 7.5, 7.5])
    same(value(lambda x: ph.pad(x, 1, -0.0), f32(1)), [-0.0, 1, -0.0])


@line("mask.joining")
def _() -> None:
    a, b = f32(NAN, -0.0, INF), f32(0.0, -INF)
    same(value(lambda x, y: ph.concat([x, y, x]), a, b), np.concatenate([a, b, a]))


# --- integers -------------------------------------------------------------------------------


def edges(dtype: str) -> tuple[np.ndarray, np.ndarray]:
    """All pairs of an integer dtype's ends and small numbers."""
    record = dtype_of(dtype)
    near = [record.low, record.low + 1, record.high - 1, record.high, 0, 1, 2, 3, 7]
    near += [-1, -2, -3, -7] if record.signed else []
    line_of = np.array(near).astype(dtype)
    return np.repeat(line_of, len(line_of)), np.tile(line_of, len(line_of))


@line("integer.wrap")
def _() -> None:
    for dtype in INTEGERS:
        a, b = edges(dtype)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            same(value(lambda x, y: x + y, a, b), a + b)
            same(value(lambda x, y: x - y, a, b), a - b)
            same(value(lambda x, y: x * y, a, b), a * b)
            same(value(lambda x: -x, a), -a)
            same(value(lambda x: x**5, a), a**5)
    same(value(lambda x: (x + x).astype("int16"), np.array([128], np.uint8)), [0])


@line("integer.floor-division")
def _() -> None:
    random = np.random.default_rng(1)
    for dtype in INTEGERS:
        a, b = edges(dtype)
        info = np.iinfo(dtype)
        wide = random.integers(info.min, info.max, (2, 2000), dtype=dtype, endpoint=True)
        for p, q in ((a, b), (wide[0], wide[1]), (wide[0], wide[1] % 11)):
            p, q = p[q != 0], q[q != 0]
            with np.errstate(over="ignore"):
                assert (value(lambda x, y: x // y, p, q) == p // q).all()
            assert (value(lambda x, y: x % y, p, q) == p % q).all()
        for divisor in (1, 2, 3, 16, 127):
            same(value(lambda x, d=divisor: x // d, a), a // np.dtype(dtype).type(divisor))


@line("integer.by-zero")
def _() -> None:
    for dtype in INTEGERS:
        a, _ = edges(dtype)
        same(value(lambda x: x // ph.zeros_like(x), a), np.zeros_like(a))
        same(value(lambda x: x % ph.zeros_like(x), a), np.zeros_like(a))
        same(value(lambda x: x // 0, a), np.zeros_like(a))


@line("integer.lowest-by-minus-one")
def _() -> None:
    for dtype in INTEGERS[:-1]:
        low = np.array([dtype_of(dtype).low], dtype)
        minus = np.array([-1], dtype)
        assert value(lambda x, y: x // y, low, minus) == low
        assert value(lambda x, y: x % y, low, minus) == 0


@line("integer.lowest-abs")
def _() -> None:
    for dtype in INTEGERS[:-1]:
        low = np.array([dtype_of(dtype).low, -5], dtype)
        assert value(ph.abs, low).tolist() == [low[0], 5]


@line("integer.sum")
def _() -> None:
    for dtype in (*INTEGERS, "bool"):
        x = np.full((3, 200), 1 if dtype == "bool" else 127).astype(dtype)
        for ours, theirs in ((ph.sum, np.sum), (ph.prod, np.prod), (ph.cumsum, np.cumsum)):
            got = value(lambda y, f=ours: f(y, axis=1), x)
            assert got.dtype == np.int64
            same(got, theirs(x.astype(np.int64), axis=1))


@line("integer.power")
def _() -> None:
    base = np.array([0, 1, -1, 2, -3], np.int32)
    same(value(lambda x: x**0, base), [1] * 5)
    same(value(lambda x, y: x**y, base, np.full(5, 3, np.int32)), base**3)
    same(value(lambda x, y: x**y, base, np.full(5, -3, np.int32)), [0, 1, -1, 0, 0])
    same(value(lambda x, y: x**y, base, np.full(5, -2, np.int32)), [0, 1, 1, 0, 0])
    with pytest.raises(BadArgument):
        ph.ones(1, "int32") ** -1


@line("integer.bits")
def _() -> None:
    for dtype in INTEGERS:
        a, b = edges(dtype)
        same(value(lambda x, y: x & y, a, b), a & b)
        same(value(lambda x, y: x | y, a, b), a | b)
        same(value(lambda x, y: x ^ y, a, b), a ^ b)
        same(value(lambda x: ~x, a), ~a)
        same(value(lambda x: x & 15, a), a & 15)
        for places in range(8 * a.itemsize):
            same(value(lambda x, n=places: ph.left_shift(x, n), a), np.left_shift(a, places))
            same(value(lambda x, n=places: ph.right_shift(x, n), a), np.right_shift(a, places))


# --- float arithmetic -----------------------------------------------------------------------


@line("float.not-simplified")
def _() -> None:
    same(value(lambda x: x * 0.0, f32(INF, NAN, 1)), [NAN, NAN, 0])
    same(value(lambda x: x - x, f32(INF, NAN, 1)), [NAN, NAN, 0])
    same(value(lambda x, y: x + y * 0.0, f32(1, 1), f32(NAN, 2)), [NAN, 1])
    same(value(lambda x: x / x, f32(0, INF, 2)), [NAN, NAN, 1])


@line("float.minus-zero")
def _() -> None:
    same(value(lambda x: x + -0.0, f32(0.0, -0.0)), [0.0, -0.0])
    same(value(lambda x: x + 0.0, f32(0.0, -0.0)), [0.0, 0.0])
    same(value(lambda x: -x, f32(0.0, -0.0)), [-0.0, 0.0])


@line("float.halves")
def _() -> None:
    for dtype in (np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16)):
        x = np.linspace(-3, 3, 101).astype(dtype)
        wide = x.astype(np.float32)
        same(value(lambda y: y * y, x), (wide * wide).astype(dtype))
        same(value(lambda y: y / 3, x), (wide * (np.float32(1) / np.float32(3))).astype(dtype))
        same(value(ph.tanh, x), value(ph.tanh, wide).astype(dtype))
        same(value(ph.softmax, x), value(ph.softmax, wide).astype(dtype))


@line("float.division")
def _() -> None:
    a, b = spread(np.float32, 4000), spread(np.float32, 4000)[::-1]
    normal = (np.abs(b) >= 2.0**-126) & (np.abs(b) <= 2.0**126)
    a, b = a[normal], b[normal]
    exact = a.astype(np.float64) / b.astype(np.float64)
    # a subnormal quotient has fewer digits, and the product is rounded to them too
    assert ulps(value(lambda x, y: x / y, a, b), exact).max() <= 2
    same(value(lambda x, y: x / y, f32(1, -1, 0, INF), f32(0, 0, 0, INF)), [INF, -INF, NAN, NAN])
    same(value(lambda x: x / 0, f32(1, -1, 0)), [INF, -INF, NAN])


@line("float.tiny-divisor")
def _() -> None:
    same(value(lambda x, y: x / y, f32(1e-40), f32(1e-40)), [INF])


@line("float.floor-division")
def _() -> None:
    same(value(lambda x, y: x // y, f32(1, 0.5, 6), f32(0.1, 0.1, 0.2)), [9, 4, 29])
    special = [0.0, -0.0, 1, -1, 0.5, -0.5, 6, 0.1, 1e-30, 1e30, INF, -INF, NAN]
    for dtype in (np.float32, np.float64):
        a, b = np.repeat(special, 13).astype(dtype), np.tile(special, 13).astype(dtype)
        with np.errstate(all="ignore"):
            want = np.floor_divide(a, b)
        got = value(lambda x, y: x // y, a, b)
        exact = ~(np.isfinite(want) & (np.abs(want) >= 2**23))  # NumPy itself rounds beyond
        same(got[exact], want[exact])


@line("float.modulo")
def _() -> None:
    a, b = f32(5.5, -5.5, 5.5, -5.5, 1, INF), f32(3, 3, -3, -3, 0, 2)
    same(value(lambda x, y: x % y, a, b), [2.5, 0.5, -0.5, -2.5, NAN, NAN])


@line("float.square-root")
def _() -> None:
    x = spread(np.float32, 4000)
    with np.errstate(invalid="ignore"):
        same(value(ph.sqrt, x), np.sqrt(x))
    same(value(ph.sqrt, f32(-0.0, -1, INF)), [-0.0, NAN, INF])


@line("float.reciprocal")
def _() -> None:
    x = spread(np.float32, 4000)
    with np.errstate(divide="ignore", over="ignore"):
        same(value(ph.reciprocal, x), np.float32(1) / x)
    same(value(ph.reciprocal, f32(0.0, -0.0, INF, -INF)), [INF, -INF, 0.0, -0.0])


# --- comparisons ----------------------------------------------------------------------------


@line("compare.nan")
def _() -> None:
    for dtype in FLOATS:
        special = np.array([NAN, INF, -INF, 0, -0.0, 1]).astype(dtype_of(dtype).numpy)
        a, b = np.repeat(special, 6), np.tile(special, 6)
        p, q = a.astype(np.float64), b.astype(np.float64)
        same(value(lambda x, y: x == y, a, b), p == q)
        same(value(lambda x, y: x != y, a, b), p != q)
        same(value(lambda x, y: x < y, a, b), p < q)
        same(value(lambda x, y: x <= y, a, b), p <= q)
        same(value(lambda x, y: x > y, a, b), p > q)
        same(value(lambda x, y: x >= y, a, b), p >= q)
        same(value(lambda x: x == 1, a), p == 1)
        same(value(lambda x: x <= NAN, a), np.zeros(36, bool))


@line("compare.zeros")
def _() -> None:
    same(value(lambda x, y: x == y, f32(-0.0), f32(0.0)), [True])
    same(value(lambda x, y: x < y, f32(-0.0), f32(0.0)), [False])


@line("compare.bool")
def _() -> None:
    a, b = np.array([False, False, True, True]), np.array([False, True, False, True])
    same(value(lambda x, y: x < y, a, b), [False, True, False, False])


@line("compare.special")
def _() -> None:
    x = f32(NAN, INF, -INF, 1, 0, 3.4e38)
    same(value(ph.isnan, x), np.isnan(x))
    same(value(ph.isinf, x), np.isinf(x))
    same(value(ph.isfinite, x), np.isfinite(x))
    whole = np.array([1, 2])
    same(value(ph.isnan, whole), [False, False])
    same(value(ph.isinf, whole), [False, False])
    same(value(ph.isfinite, whole), [True, True])


# --- largest and smallest -------------------------------------------------------------------


@line("max.nan")
def _() -> None:
    for n in range(1, 41):
        rows = np.ones((n, n), np.float32)
        np.fill_diagonal(rows, NAN)
        assert np.isnan(value(lambda x: x.max(1), rows)).all()
        assert np.isnan(value(lambda x: x.min(1), rows)).all()
    a, b = f32(NAN, 1, 2), f32(1, NAN, 1)
    same(value(ph.maximum, a, b), [NAN, NAN, 2])
    same(value(ph.minimum, a, b), [NAN, NAN, 1])
    same(value(ph.relu, f32(NAN, -1, 1, INF)), [NAN, 0, 1, INF])
    same(value(lambda x: ph.clip(x, 0, 1), f32(NAN, -1, 3)), [NAN, 0, 1])
    same(value(lambda x: ph.clip(x, NAN, 1), f32(0, 3)), [NAN, NAN])


@line("max.zeros")
def _() -> None:
    assert value(ph.maximum, f32(0.0), f32(-0.0)) == 0
    assert value(ph.minimum, f32(0.0), f32(-0.0)) == 0
    assert value(lambda x: x.max(), np.full(8193, -0.0, np.float32)) == 0


@line("max.infinite")
def _() -> None:
    same(value(lambda x: x.max(), f32(-INF, -INF)), -INF)
    same(value(lambda x: x.min(), f32(INF, INF)), INF)


@line("max.nothing")
def _() -> None:
    for dtype in DTYPES.values():
        empty = np.zeros((2, 0), dtype.numpy)
        low, high = (-INF, INF) if dtype.kind == "float" else (dtype.low, dtype.high)
        assert value(lambda x: x.max(1), empty).tolist() == [low, low]
        assert value(lambda x: x.min(1), empty).tolist() == [high, high]


@line("argmax.first")
def _() -> None:
    for row in (f32(0, 1, 2, 2), np.ones(61, np.float32), np.array([3, -3, 3, -3], np.int8)):
        assert value(lambda x: x.argmax(), row) == np.argmax(row)
        assert value(lambda x: x.argmin(), row) == np.argmin(row)


@line("argmax.nan")
def _() -> None:
    for row in (f32(1, NAN, 3), f32(NAN, NAN), f32(INF, NAN), f32(-INF, NAN, NAN)):
        assert value(lambda x: x.argmax(), row) == np.argmax(row)
        assert value(lambda x: x.argmin(), row) == np.argmin(row)


@line("argmax.nothing")
def _() -> None:
    with pytest.raises(BadArgument):
        ph.zeros((2, 0)).argmax(1)
    n = ph.dim("n", 0, 4)
    assert of(ph.zeros((2, n)).argmax(1), n=0).tolist() == [-1, -1]


# --- sums, products, means ------------------------------------------------------------------


@line("sum.nothing")
def _() -> None:
    empty = np.zeros((2, 0), np.float32)
    same(value(lambda x: x.sum(1), empty), [0.0, 0.0])
    same(value(lambda x: x.prod(1), empty), [1, 1])
    same(value(lambda x: x.mean(1), empty), [NAN, NAN])
    same(value(lambda x: x.any(1), empty), [False, False])
    same(value(lambda x: x.all(1), empty), [True, True])
    n = ph.dim("n", 0, 4)
    for name, want in (("sum", 0.0), ("prod", 1.0), ("mean", NAN), ("max", -INF), ("min", INF)):
        same(of(getattr(ph.zeros((n, 2)), name)(0), n=0), [want, want])


@line("sum.halves")
def _() -> None:
    for dtype in (np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16)):
        ones = np.ones((64, 64), dtype)  # beyond 2048 a float16 sum would stand still
        same(value(lambda x: x.sum(), ones), np.array(4096, dtype))
        same(value(lambda x: x.mean(), ones), np.array(1, dtype))
        same(value(lambda x: ph.cumsum(x, 1)[0, -1], ones), np.array(64, dtype))


@line("sum.order")
def _() -> None:
    x = spread(np.float32, 1000)
    x = x[np.abs(x) < 1e30]
    total, size = x.astype(np.float64).sum(), np.abs(x).astype(np.float64).sum()
    # any order of n additions errs by less than n/2 ulp of the sum of magnitudes
    assert abs(value(lambda y: y.sum(), x) - total) <= len(x) * 2.0**-24 * size


@line("mean.integer")
def _() -> None:
    same(value(lambda x: x.mean(), np.full(300, 127, np.int8)), np.float32(127))


@line("var.passes")
def _() -> None:
    x = (1e6 + np.arange(64) % 4).astype(np.float32)
    assert abs(value(ph.var, x) - 1.25) < 1e-3
    assert abs(value(lambda y: ph.std(y, ddof=1), x) - np.sqrt(1.25 * 64 / 63)) < 1e-3


@line("cumsum.order")
def _() -> None:
    x = np.ones(40, np.float32)
    x[17] = NAN
    same(np.isnan(value(ph.cumsum, x)), np.arange(40) >= 17)
    y = np.arange(1, 50)
    same(value(ph.cumsum, y), np.cumsum(y))


# --- whole numbers and signs ----------------------------------------------------------------


@line("round.half-even")
def _() -> None:
    x = np.arange(-9, 9, 0.5).astype(np.float32)
    same(value(ph.round, x), np.round(x))
    same(value(ph.round, f32(0.49999997, 8388607.5)), [0, 8388608])


@line("round.sign")
def _() -> None:
    for dtype in (np.float32, np.float64, np.float16):
        x = np.array([0.0, -0.0, 0.3, -0.3, 0.5, -0.5, 0.7, -0.7, 1e-8, -1e-8], dtype)
        for name in ("floor", "ceil", "trunc", "round"):
            same(value(getattr(ph, name), x), getattr(np, name)(x))


@line("round.large")
def _() -> None:
    x = np.concatenate([spread(np.float32, 4000), f32(INF, -INF, NAN)])
    for name in ("floor", "ceil", "trunc", "round"):
        same(value(getattr(ph, name), x), getattr(np, name)(x))


@line("sign.values")
def _() -> None:
    same(value(ph.sign, f32(-0.0, 0.0, -2, 3, NAN, -INF)), [0.0, 0.0, -1, 1, NAN, -1])
    same(value(ph.abs, f32(-0.0, 0.0, -2, NAN, -INF)), [0.0, 0.0, 2, NAN, INF])
    same(value(ph.sign, np.array([-5, 0, 5], np.int8)), [-1, 0, 1])


# --- elementary functions -------------------------------------------------------------------


def worst(
    function: Callable[..., ph.Tensor], exact: Callable[..., np.ndarray], x: np.ndarray
) -> float:
    """The largest error in ulps, against float64."""
    with np.errstate(all="ignore"):
        want = exact(x.astype(np.float64))
    return float(ulps(value(function, x), want).max())


@line("ulp.primitive")
def _() -> None:
    x = spread(np.float32, 100_000)
    # the evaluator's exp2 is NumPy's, which errs by 2.4 ulp near 2**127
    assert worst(ph.exp2, np.exp2, x) <= 2.5
    assert worst(ph.log2, np.log2, np.abs(x)) <= 2
    assert worst(ph.sin, np.sin, x) <= 2


def error_function(x: np.ndarray) -> np.ndarray:
    return np.array([math.erf(one) for one in x.ravel()])


COMPOSED: tuple[tuple[str, Callable[..., np.ndarray]], ...] = (
    ("exp", np.exp),
    ("expm1", np.expm1),
    ("log", np.log),
    ("log10", np.log10),
    ("log1p", np.log1p),
    ("cos", np.cos),
    ("tan", np.tan),
    ("tanh", np.tanh),
    ("sinh", np.sinh),
    ("cosh", np.cosh),
    ("erf", error_function),
    ("sigmoid", lambda x: np.where(x < 0, np.exp(x) / (1 + np.exp(x)), 1 / (1 + np.exp(-x)))),
    ("softplus", lambda x: np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))),
    ("rsqrt", lambda x: 1 / np.sqrt(x)),
)


@line("ulp.composed")
def _() -> None:
    x = spread(np.float32, 100_000)
    for name, exact in COMPOSED:
        kept = x[np.abs(x) < 2.0**127] if name == "cos" else x
        assert worst(getattr(ph, name), exact, kept) <= 4, name
    positive = np.abs(x[x != 0])
    for exponent in (2.5, float(np.float32(-0.3)), 3, 7, -2, 40.0):
        error = worst(lambda y, n=exponent: y**n, lambda y, n=exponent: y**n, positive)
        assert error <= 4, exponent


@line("ulp.huge-cos")
def _() -> None:
    x = np.linspace(1.7014e38, 3.4e38, 2001).astype(np.float32)
    x = np.concatenate([x, -x])
    x = x[np.abs(x) >= 2.0**127]
    assert np.abs(value(ph.cos, x) - np.cos(x.astype(np.float64))).max() <= 2.0**-22


@line("ulp.halves")
def _() -> None:
    for dtype in (np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16)):
        x = np.linspace(-9, 9, 2001).astype(dtype)
        for name, _exact in COMPOSED:
            function = getattr(ph, name)
            same(value(function, x), value(function, x.astype(np.float32)).astype(dtype))


@line("ulp.gates")
def _() -> None:
    x = np.linspace(-20, 20, 20_001).astype(np.float32)
    wide = x.astype(np.float64)
    exact = wide * 0.5 * (1 + error_function(wide * math.sqrt(0.5)))
    assert (np.abs(value(ph.gelu, x) - exact) <= 2.0**-22 * np.abs(wide)).all()
    assert worst(ph.silu, lambda y: y / (1 + np.exp(-y)), x) <= 4


@line("exp.ends")
def _() -> None:
    for function in (ph.exp, ph.exp2):
        same(value(function, f32(-INF, INF, NAN, 0, 1e38, -1e38)), [0, INF, NAN, 1, INF, 0])
    tiny = value(ph.exp, f32(-103, -90))
    assert (tiny > 0).all() and (tiny < 1.2e-38).all()
    assert 0 < value(ph.sigmoid, f32(-100)) < 1e-43
    same(value(ph.sigmoid, f32(-INF, INF, NAN)), [0, 1, NAN])


@line("log.ends")
def _() -> None:
    for function in (ph.log, ph.log2, ph.log10):
        same(value(function, f32(0, -0.0, -1, INF)), [-INF, -INF, NAN, INF])
    same(value(ph.log1p, f32(-1, -2, INF, NAN)), [-INF, NAN, INF, NAN])


@line("zero.sign")
def _() -> None:
    for name in ("sin", "tan", "tanh", "sinh", "expm1", "log1p", "erf", "sqrt"):
        same(value(getattr(ph, name), f32(0.0, -0.0)), [0.0, -0.0])


@line("wave.infinite")
def _() -> None:
    for function in (ph.sin, ph.cos, ph.tan):
        same(value(function, f32(INF, -INF, NAN)), [NAN, NAN, NAN])
    x = np.concatenate([spread(np.float32, 100_000), np.float32(np.pi) * np.arange(999)])
    assert np.abs(value(ph.cos, x.astype(np.float32))).max() <= 1
    same(value(ph.cos, f32(0.0, -0.0, 1e-40)), [1, 1, 1])


@line("gate.infinite")
def _() -> None:
    same(value(ph.silu, f32(-INF, INF)), [NAN, INF])
    same(value(ph.gelu, f32(-INF, INF)), [NAN, INF])
    same(value(ph.softplus, f32(-INF, INF, NAN)), [0, INF, NAN])


@line("power.special")
def _() -> None:
    special = [0.0, -0.0, 1, -1, 2, -2, 3, -3, 0.5, -0.5, 1.5, INF, -INF, NAN, 1e30, -1e30]
    a, b = np.repeat(special, 16), np.tile(special, 16)
    with np.errstate(all="ignore"):
        want = np.power(a, b)
    got = value(lambda x, y: x**y, a, b)
    # float64 powers are right to about 1e-13; special values to the bit
    np.testing.assert_allclose(got, want, rtol=1e-13, atol=0)
    same(np.copysign(1, got[~np.isnan(want)]), np.copysign(1, want[~np.isnan(want)]))


# --- rows and attention ---------------------------------------------------------------------


@line("softmax.masked-row")
def _() -> None:
    same(value(ph.softmax, f32(-INF, -INF)), [NAN, NAN])
    same(value(ph.softmax, f32(-INF, 0)), [0, 1])


@line("softmax.infinite")
def _() -> None:
    same(value(ph.softmax, f32(INF, 0)), [NAN, NAN])
    same(value(ph.softmax, f32(NAN, 0)), [NAN, NAN])


@line("softmax.large")
def _() -> None:
    x = ((np.arange(16) - 7) * np.float32(1.3e9)).astype(np.float32)
    got = value(lambda y: ph.softmax(y * (1 / 3)), x)
    assert np.isfinite(got).all() and got[-1] == 1
    assert abs(got.sum() - 1) <= 1e-6


@line("logsumexp.masked-row")
def _() -> None:
    same(value(ph.logsumexp, f32(-INF, -INF)), -INF)
    same(value(ph.logsumexp, f32(INF, 0)), INF)
    same(value(ph.logsumexp, np.zeros(0, np.float32)), -INF)


def attend(q: np.ndarray, k: np.ndarray, v: np.ndarray, seen: np.ndarray) -> np.ndarray:
    """Attention by its definition in float64; rows that see nothing are nan."""
    scores = np.einsum("hid,hjd->hij", *(x.astype(np.float64) for x in (q, k)))
    scores = np.where(seen, scores / math.sqrt(q.shape[-1]), -INF)
    with np.errstate(invalid="ignore"):
        weights = np.exp(scores - scores.max(-1, keepdims=True))
    return np.einsum("hij,hjd->hid", weights / weights.sum(-1, keepdims=True), v)


@line("attention.causal")
def _() -> None:
    random = np.random.default_rng(2)
    for rows, keys in ((1, 6), (3, 6), (5, 5), (5, 2)):
        q = random.normal(size=(2, rows, 8)).astype(np.float32)
        k, v = random.normal(size=(2, 2, keys, 8)).astype(np.float32)
        seen = np.arange(keys) <= np.arange(rows)[:, None] + keys - rows
        got = value(lambda a, b, c: ph.attention(a, b, c, causal=True), q, k, v)
        np.testing.assert_allclose(got, attend(q, k, v, seen), rtol=1e-5, atol=1e-6)


@line("attention.no-key")
def _() -> None:
    random = np.random.default_rng(3)
    q, k, v = random.normal(size=(3, 1, 8, 8)).astype(np.float32)
    seen = np.zeros((8, 8), bool)
    seen[:4, :4] = True
    added = np.where(seen, 0, -INF).astype(np.float32)
    for mask in (seen, added):
        got = value(lambda a, b, c, m: ph.attention(a, b, c, m), q, k, v, mask)
        assert np.isnan(got[:, 4:]).all()
        alone = attend(q[:, :4], k[:, :4], v[:, :4], np.ones((4, 4), bool))
        np.testing.assert_allclose(got[:, :4], alone, rtol=1e-5, atol=1e-6)


# --- places ---------------------------------------------------------------------------------


@line("place.negative")
def _() -> None:
    x = np.arange(12.0, dtype=np.float32).reshape(3, 4)
    same(value(lambda y: y[-1, -2], x), x[-1, -2])
    same(value(lambda y, i: ph.take(y, i, 1), x, np.array([-1, 0, -4])), x[:, [-1, 0, -4]])
    index = np.array([[-1], [0], [-4]])
    got = value(lambda y, i: ph.take_along_axis(y, i, 1), x, index)
    same(got, np.take_along_axis(x, index, 1))


@line("place.outside")
def _() -> None:
    x, want = np.ones((3, 2), np.float32), [[0, 0], [0, 0], [1, 1]]
    got = value(lambda y, i: ph.take(y, i, 0), x, np.array([3, -4, 2]))
    np.testing.assert_array_equal(got, want)
    got = value(lambda i, y: ph.embedding(i, y), np.array([3, -1, 2]), x)
    np.testing.assert_array_equal(got, want)


@line("place.exact")
def _() -> None:
    x = f32(NAN, -0.0, INF, 5, -INF)
    for k in range(5):
        same(value(lambda y, i: ph.take(y, i), x, np.array([k])), x[[k]])
    for dtype in DTYPES.values():
        table = np.arange(5).astype(dtype.numpy)
        same(value(lambda y, i: ph.take(y, i), table, np.array([4, 0])), table[[4, 0]])


@line("slice.integer")
def _() -> None:
    x = np.arange(7.0)
    for part in (slice(10), slice(-3, None), slice(-100, 3), slice(5, 1), slice(None, None, -2)):
        same(value(lambda y, s=part: y[s], x), x[part])
    n = ph.dim("n", 1, 9)
    with pytest.raises(BadArgument, match="surely"):
        ph.input("x", (n,))[:5]
    same(of(ph.input("x", (n,))[-1], {"x": f32(1, 2, 3)}, n=3), np.float32(3))


@line("slice.symbolic")
def _() -> None:
    past = ph.dim("past", 0, 9)
    x = ph.constant(f32(1, 2, 3, 4))
    assert of(x[past : past + 2], past=1).tolist() == [2, 3]
    assert of(x[past : past + 2], past=3).tolist() == [4, 0]


@line("update.outside")
def _() -> None:
    start = ph.dim("start", 0, 9)
    old, new = ph.constant(np.arange(5.0)), ph.constant(np.array([-1.0, -2.0]))
    changed = ph.update(old, new, start, 0)
    assert of(changed, start=1).tolist() == [0, -1, -2, 3, 4]
    assert of(changed, start=4).tolist() == [0, 1, 2, 3, -1]
    assert of(changed, start=9).tolist() == [0, 1, 2, 3, 4]


# --- the page and this file -----------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(LINES))
def test_the_line_of_the_page_holds(name: str) -> None:
    LINES[name]()


def test_every_line_of_the_page_has_a_test_and_every_test_a_line() -> None:
    named = re.findall(r"^- `([^`]+)`:", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert len(named) == len(set(named))
    assert set(named) == set(LINES)
