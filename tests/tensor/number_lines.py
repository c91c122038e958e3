"""The lines of docs/numbers.md that are checked: a table that the files of checks fill."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

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
