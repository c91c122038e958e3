"""What is exact: dtypes, casts, masks and integers."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from evaluating import value
from number_lines import INF, INTEGERS, NAN, f32, line, same

import photic as ph
from photic.base.errors import BadArgument, DtypeMismatch
from photic.ir.dtype import dtype_of
from photic.tensor.primitive import masked


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
        return value(lambda y: y.astype(dtype).astype("float32"), x).tolist()

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
    same(
        value(lambda x: ph.pad(x, ((1, 2),), constant_values=7.5), f32(NAN, -0.0)),
        [7.5, NAN, -0.0, 7.5, 7.5],
    )
    same(value(lambda x: ph.pad(x, 1, constant_values=-0.0), f32(1)), [-0.0, 1, -0.0])


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
