"""CAC-02 of graphs: two that differ in one number, dtype, stride or shape never share an entry.

One cache serves all of them, with and without tuning records, and each must compute what it says.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import photic as ph
from photic.ir.graph import Graph
from photic.loops.lower import lower
from photic.storage import files
from photic.targets.c import toolchain
from photic.tuning.partition import partition

Make = Callable[[ph.Tensor], ph.Tensor]
X = np.arange(24, dtype=np.float32).reshape(4, 6) / 7 - 1
TABLE = np.arange(6, dtype=np.float32)
NEXT = 1 + 2.0**-23
ROUNDING = 1e-6  # some roundings of float32; what is told apart differs by far more


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cache folder of this test's own, about which this process knows nothing."""
    monkeypatch.setattr(files, "_folders", files._Folders())
    monkeypatch.setattr(toolchain, "_sweep", toolchain._Sweep())
    monkeypatch.setenv("PHOTIC_CACHE", str(tmp_path / "cache"))


def normed(x: np.ndarray, epsilon: float) -> np.ndarray:
    return x / np.sqrt(np.mean(x.astype(np.float64) ** 2, axis=-1, keepdims=True) + epsilon)


def cast(x: np.ndarray, dtype: type) -> np.ndarray:
    """Truncated and saturated, or rounded, as float32 again."""
    kind = np.dtype(dtype)
    if kind.kind == "i":
        x = np.trunc(x).clip(np.iinfo(kind).min, np.iinfo(kind).max)
    return x.astype(kind).astype(np.float32)


ALIKE: dict[str, list[tuple[Make, np.ndarray]]] = {
    "a number": [(lambda x: x * 3.0, X * 3), (lambda x: x * 3.25, X * 3.25)],
    "a number's last bit": [
        (lambda x: (x + 1.0) - x, (X + 1) - X),
        (lambda x: (x + NEXT) - x, (X + np.float32(NEXT)) - X),
    ],
    "a constant": [
        (lambda x: x + ph.constant(TABLE), X + TABLE),
        (lambda x: x + ph.constant(TABLE[::-1]), X + TABLE[::-1]),
    ],
    "epsilon": [
        (lambda x: ph.rms_norm(x, eps=1e-5), normed(X, 1e-5)),
        (lambda x: ph.rms_norm(x, eps=1e-2), normed(X, 1e-2)),
    ],
    "a dtype": [
        (lambda x: (x * 100.0).astype("int8").astype("float32"), cast(X * 100, np.int8)),
        (lambda x: (x * 100.0).astype("int16").astype("float32"), cast(X * 100, np.int16)),
        (lambda x: (x * 100.0).astype("float16").astype("float32"), cast(X * 100, np.float16)),
    ],
    "a stride": [
        (lambda x: ph.sum(x[:, ::2], axis=1), X[:, ::2].sum(1)),
        (lambda x: ph.sum(x[:, 1::2], axis=1), X[:, 1::2].sum(1)),
        (lambda x: ph.sum(x[:, :3], axis=1), X[:, :3].sum(1)),
    ],
    "an order": [
        (lambda x: ph.reshape(x.T, (4, 6)) + 1.0, X.T.reshape(4, 6) + 1),
        (lambda x: ph.reshape(x, (4, 6)) + 1.0, X + 1),
    ],
    "an axis": [
        (lambda x: ph.max(x, axis=0, keepdims=True) + x, X.max(0, keepdims=True) + X),
        (lambda x: ph.max(x, axis=1, keepdims=True) + x, X.max(1, keepdims=True) + X),
    ],
}


@pytest.mark.parametrize("what", ALIKE)
def test_cac_02_graphs_that_differ_in_one_thing_never_share(what: str) -> None:
    x = ph.input("x", X.shape)
    for search in (0.0, 0.3, 0.0):  # without records, making them, with them
        for make, want in ALIKE[what]:
            got = ph.compile({"y": make(x)}, search=search)(x=X)["y"]
            np.testing.assert_allclose(got, want, ROUNDING, ROUNDING)


def record_texts(y: ph.Tensor) -> list[str]:
    """What the keys of a graph's tuning records are made of."""
    program = lower(Graph((("y", y.operand),)))
    return [group.work.text() for group in partition(program)[1]]


def product(values: np.ndarray, rows: int = 4) -> ph.Tensor:
    return ph.input("x", (rows, values.shape[0]), values.dtype) @ ph.constant(values)


def test_cac_02_records_are_shared_by_graphs_that_differ_in_a_constants_values_only() -> None:
    ones, others = np.ones((6, 5), np.float32), np.full((6, 5), 2, np.float32)
    assert record_texts(product(ones)) == record_texts(product(others))
    for different in (
        product(ones.astype(np.float64)),
        product(ones, rows=8),
        product(np.ones((6, 7), np.float32)),
        ph.input("x", (4, 6)) @ ph.constant(np.ones((5, 6), np.float32)).T,
        product(ones) + 1.0,
    ):
        assert record_texts(product(ones)) != record_texts(different)
