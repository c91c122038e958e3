"""Constants in generated code: of any strides and order of bytes, exact to the bit, shared."""

from __future__ import annotations

from pathlib import Path
from random import Random

import numpy as np
import pytest
from fuzz.agreement import require_meaning
from fuzz.choices import scramble

import photic as ph

LINE = np.arange(12_000, dtype=np.float32)
SQUARE = LINE.reshape(100, 120)
ARRAYS = {
    "reversed": LINE[::-1],
    "steps both ways": SQUARE[::3, ::-7],
    "columns first": np.asfortranarray(SQUARE),
    "spread": np.broadcast_to(np.float32(3), (60, 70)),
    "unaligned": np.frombuffer(b"\0" + LINE.tobytes(), np.uint8)[1:].view(np.float32),
    "big bytes first": LINE.astype(">f4"),
    "few, big bytes first": LINE[:3].astype(">f4"),
    "empty": LINE[:0],
}


@pytest.mark.parametrize("name", ARRAYS)
def test_constants_are_read_as_they_mean(name: str) -> None:
    array = ARRAYS[name]
    constant = ph.constant(array)
    program = ph.compile({"as_is": constant, "used": constant * ph.input("x", ())})
    result = program(x=np.float32(1))
    np.testing.assert_array_equal(result["as_is"], array)
    np.testing.assert_array_equal(result["used"], array)


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16", "int64", "int8"])
def test_numbers_reach_the_code_to_the_bit(dtype: str) -> None:
    if dtype.startswith("int"):
        info = np.iinfo(dtype)
        numbers = [info.min, info.min + 1, -1, 0, 1, info.max]
    else:
        numbers = [0.1, 1 / 3, 1e-45, 5e-324, 1e-300, 65504.0, 3.4e38, -0.0]
        numbers += [np.inf, -np.inf, np.nan]
    with np.errstate(all="ignore"):
        scalars = [ph.constant(np.array(one)).astype(dtype) for one in numbers]
    nothing = ph.input("x", (3,), dtype) * ph.constant(False)  # a mask that leaves the number alone
    outputs = {f"y{k}": ph.broadcast_to(one, (3,)) + nothing for k, one in enumerate(scalars)}
    outputs |= {f"z{k}": one for k, one in enumerate(scalars)}
    given = {"x": np.ones(3).astype(ph.input("x", (3,), dtype).dtype.numpy)}
    require_meaning(outputs, given)


def test_two_kernels_that_want_a_constant_laid_out_differently_share_it() -> None:
    weight = ph.constant(np.random.default_rng(0).standard_normal((33, 48)).astype(np.float32))
    x, y = ph.input("x", (5, 33)), ph.input("y", (7, 48))
    outputs = {"xw": ph.matmul(x, weight), "yw": ph.matmul(y, weight.T), "w": weight}
    outputs |= {"row": weight[ph.input("p", (2,), "int64")], "sum": ph.sum(weight, axis=0)}
    given = {"x": SQUARE[:5, :33] / 9999, "y": SQUARE[:7, :48] / 9999, "p": np.array([3, -1])}
    require_meaning(outputs, given, rtol=1e-5)
    random = Random(0)
    for _ in range(3):
        require_meaning(outputs, given, rtol=1e-5, change=lambda state: scramble(random, state))


def test_dumps_of_shared_values_stay_small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PHOTIC_DUMP", str(tmp_path))
    value = ph.input("x", (7,))
    for _ in range(100):
        value = ph.exp2(value + value)
    program = ph.compile({"y": value})
    assert sum(one.stat().st_size for one in tmp_path.iterdir()) < 1 << 20
    assert sum(len(one.nest) for one in program.report.kernels) < 1 << 18
