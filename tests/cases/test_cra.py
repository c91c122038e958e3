"""CRA and NUM-07: division that must not trap, places past 2**31, constants to the bit.

What ``test_num_tensor.py`` and ``test_memory_compiled.py`` leave: every integer dtype, vectors with
tails, windows over long axes, an input of two thousand million bytes, bit patterns in the source.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from cases.test_num_tensor import NAN, Run, by_evaluator, by_program, inputs

import photic as ph
from photic.forms import movement
from photic.tensor.shapes import moved

INTEGERS = (np.int64, np.int32, np.int16, np.int8, np.uint8)


@pytest.fixture(params=[by_evaluator, by_program], ids=["evaluator", "c"])
def run(request: pytest.FixtureRequest) -> Run:
    answer: Run = request.param
    return answer


# --- CRA-01, NUM-07: division ---------------------------------------------------------------


def floored(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The quotient and the rest, both 0 for a divisor of 0, by Python's integers."""
    pairs = [(int(x), int(y)) for x, y in zip(a, b, strict=True)]
    found = [(x // y, x % y) if y else (0, 0) for x, y in pairs]
    quotient, rest = np.array(found, object).reshape(-1, 2).T
    bits = 8 * a.dtype.itemsize
    wrapped = [(int(x) + 2 ** (bits - 1)) % 2**bits - 2 ** (bits - 1) for x in quotient]
    return np.array(wrapped if a.dtype.kind == "i" else quotient, a.dtype), rest.astype(a.dtype)


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("length", [1, 16, 67])
def test_cra_01_no_divisor_traps_in_vectors_or_their_tails(
    run: Run, dtype: type, length: int
) -> None:
    info = np.iinfo(dtype)
    chosen = np.array([info.min, info.max, 15, 8, 22, 4, 1, 0, *(-1, -8) * (info.min < 0)], dtype)
    random = np.random.default_rng(length)
    a, b = random.choice(chosen, (2, length))
    a[-1], b[-1] = info.min, 0 if info.min == 0 else -1
    given = {"a": a, "b": b}
    x, y = inputs(given)
    p, q = ph.constant(a), ph.constant(b)
    got = run({"x": x // y, "r": x % y, "p": p // q, "s": p % q, "m": x // q, "n": p % y}, given)
    quotient, rest = floored(a, b)
    for name in ("x", "p", "m"):
        np.testing.assert_array_equal(got[name], quotient)
    for name in ("r", "s", "n"):
        np.testing.assert_array_equal(got[name], rest)


def test_num_07_a_loop_divides_as_the_unrolled_code_does(run: Run) -> None:
    steps = np.array([2, -3, 5])
    given = {"first": np.array([2, -7, 7, 100]), "steps": steps}
    first, by = inputs(given)

    def folded(start: ph.Tensor, divisors: ph.Tensor) -> ph.Tensor:
        (last,), _ = ph.scan(lambda c, s: ((c[0] // s[0],), ()), (start,), (divisors,))
        return last

    def unrolled(start: ph.Tensor, divisors: ph.Tensor) -> ph.Tensor:
        for k in range(len(steps)):
            start = start // divisors[k]
        return start

    constants = ph.constant(given["first"]), ph.constant(steps)
    outputs = {
        f"{name}{k}": function(*pair)
        for k, pair in enumerate([(first, by), constants])
        for name, function in (("loop", folded), ("unrolled", unrolled))
    }
    want = given["first"] // 2 // -3 // 5
    assert (np.array([2]) // 2 // -3).tolist() == [-1]
    for one in run(outputs, given).values():
        assert one.tolist() == want.tolist()


def test_num_07_remainders_of_both_kinds_are_one_for_constants_and_inputs(run: Run) -> None:
    given = {
        "a": np.array([-5, 5, -5, 5]),
        "b": np.array([3, -3, -3, 3]),
        "c": np.array([-5.5, 5.5, -5.5], np.float32),
        "d": np.array([3, -3, -3], np.float32),
    }
    handles = inputs(given)
    outputs = {}
    for kind, (a, b, c, d) in (("input", handles), ("constant", map(ph.constant, given.values()))):
        outputs |= {f"floor_{kind}": ph.mod(a, b), f"rest_{kind}": ph.mod(c, d)}
        outputs |= {f"trunc_{kind}": ph.fmod(a, b), f"left_{kind}": ph.fmod(c, d)}
    got = run(outputs, given)
    for kind in ("input", "constant"):
        assert got[f"floor_{kind}"].tolist() == [1, -1, -2, 2]
        assert got[f"trunc_{kind}"].tolist() == [-2, 2, -2, 2]
        assert got[f"rest_{kind}"].tolist() == [0.5, -0.5, -2.5]
        assert got[f"left_{kind}"].tolist() == [-2.5, 2.5, -2.5]


# --- CRA-02: places past 2**31 --------------------------------------------------------------


def test_cra_02_a_window_reads_places_past_two_to_the_31() -> None:
    size, step = 2**33 + 5, 2**30
    view = moved(ph.arange(size), movement.windows, 0, 3, step, 1)
    got = ph.compile({"y": view})()["y"]
    want = np.arange(0, size - 2, step)[:, None] + np.arange(3)
    np.testing.assert_array_equal(got, want)


def test_cra_02_an_input_of_more_than_two_to_the_31_bytes_is_read_to_its_end() -> None:
    size = 2**31 + 3
    n = ph.dim("n", 1, 2**32)
    x = ph.input("x", (n,), "int8")
    program = ph.compile({"sum": ph.sum(x), "last": x[n - 1], "place": ph.argmax(x)})
    array = np.zeros(size, np.int8)  # pages of zeros take no memory before they are written
    array[-1] = 1
    got = program(x=array)
    assert (got["sum"], got["last"], got["place"]) == (1, 1, size - 1)


# --- CRA-04: constants ----------------------------------------------------------------------

WORDS = {"float64": np.uint64, "float32": np.uint32, "float16": np.uint16}


@pytest.mark.parametrize("dtype", WORDS)
def test_cra_04_numbers_reach_the_source_to_the_bit(run: Run, dtype: str) -> None:
    words = WORDS[dtype]
    random = np.random.default_rng(4)
    info = np.finfo(dtype)
    ends = [0.1, -0.0, math.inf, -math.inf, 2.0**63, info.smallest_subnormal, info.tiny, -info.max]
    with np.errstate(over="ignore"):
        drawn = random.integers(0, np.iinfo(words).max, 40, words, endpoint=True).view(dtype)
        values = np.concatenate([drawn[np.isfinite(drawn)], np.array(ends).astype(dtype)])
    given = {"chosen": np.array([True, False])}
    (chosen,) = inputs(given)
    outputs = {f"y{k}": ph.where(chosen, np.asarray(one), 0) for k, one in enumerate(values)}
    got = run(outputs, given)
    for k, one in enumerate(values):
        assert got[f"y{k}"].dtype == dtype
        assert got[f"y{k}"][:1].view(words) == one.view(words), one


def test_cra_04_nan_in_every_constant_is_no_trouble(run: Run) -> None:
    # atan2(1, 1) is below 1, its logarithm negative, of which there is no inverse of cosh
    quarter = ph.atan2(ph.ones((2, 2)), ph.ones((2, 2)))
    x = ph.input("x", (2,))
    low, high = (ph.constant(np.array(one)) for one in (-(2**63), 2**63 - 1))
    outputs = {
        "softmax": ph.softmax(ph.acosh(ph.log2(quarter))),
        "low": ph.clip(x, NAN, NAN),
        "least": ph.minimum(x, ph.constant(np.float32(NAN))),
        "chosen": ph.where(ph.constant(NAN) > 0, low, high),
        "both": ph.where(ph.constant(NAN) <= 0, low, low + high),
        "power": ph.constant(NAN) ** 0,
    }
    got = run(outputs, {"x": np.array([1, 2], np.float32)})
    for name in ("softmax", "low", "least"):
        assert np.isnan(got[name]).all(), name
    assert got["softmax"].shape == (2, 2)
    assert (got["chosen"], got["both"], got["power"]) == (2**63 - 1, -1, 1)
