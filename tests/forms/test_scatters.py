"""Scatters: a reduction whose terms each count at one place of the output runs over its terms."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import photic as ph
from photic.tensor.creation import counted
from photic.tensor.primitive import masked, reduced
from photic.tensor.tensor import Tensor

PLACES, TERMS, WIDTH = 37, 211, 70


def hits(places: int, index: Tensor) -> Tensor:
    return counted(0, places)[:, None] == index[None, :]


def summed(places: int, index: Tensor, values: Tensor) -> Tensor:
    """The sum of the values (terms, ...) at each place."""
    mask, rest = hits(places, index), (None,) * (values.ndim - 1)
    shape = (places, *values.shape)
    return reduced("sum", masked(mask[(..., *rest)].expand(shape), values[None].expand(shape)), 1)


def winners(places: int, index: Tensor) -> Tensor:
    """The last term that hits each place, from 1; 0 where none does."""
    terms = index.shape[0]
    number = (counted(0, terms) + 1)[None].expand(places, terms)
    return reduced("max", masked(hits(places, index), number), 1)


def run(build: Callable[..., Tensor], *arrays: np.ndarray) -> tuple[np.ndarray, list[str]]:
    """The result on arrays, and the texts of the kernels."""
    names = [f"x{k}" for k in range(len(arrays))]
    made = build(*(ph.input(n, a.shape, a.dtype) for n, a in zip(names, arrays, strict=True)))
    program = ph.compile({"y": made}, search=0)
    texts = [one.source for one in program.report.kernels]
    return program(**dict(zip(names, arrays, strict=True)))["y"], texts


def drawn(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    index = rng.integers(-2, PLACES + 2, TERMS)
    return index, (index >= 0) & (index < PLACES), rng.normal(size=(TERMS, WIDTH)).astype("f")


def is_walked_once(texts: list[str]) -> bool:
    """True if no kernel has a loop over the places inside one over the terms, or around it."""
    nested = [text for text in texts if f"< {TERMS}ll" in text and f"< {PLACES}ll" in text]
    return all(text.count(f"< {TERMS}ll; ") == 1 for text in nested) and bool(nested)


@pytest.mark.parametrize("shape", [(TERMS,), (TERMS, WIDTH), (TERMS, 3, 5)])
def test_a_sum_at_places_is_that_of_one_term_after_another(shape: tuple[int, ...]) -> None:
    index, inside, _ = drawn(0)
    values = np.random.default_rng(1).normal(size=shape).astype("f")
    got, texts = run(lambda i, v: summed(PLACES, i, v), index, values)
    want = np.zeros((PLACES, *shape[1:]), "f")
    np.add.at(want, index[inside], values[inside])
    assert np.array_equal(got, want)
    assert is_walked_once(texts)


def test_a_scatter_in_the_middle_of_a_chain_is_stored_by_itself() -> None:
    index, inside, values = drawn(2)
    got, texts = run(lambda i, v: summed(PLACES, i, v) * 2.0 + 1.0, index, values)
    want = np.zeros((PLACES, WIDTH), "f")
    np.add.at(want, index[inside], values[inside])
    assert np.array_equal(got, want * 2 + 1)
    assert is_walked_once(texts)


def test_the_last_term_wins_and_nothing_is_as_large_as_the_table() -> None:
    index, _, values = drawn(3)

    def last(i: Tensor, v: Tensor) -> Tensor:
        won = winners(PLACES, i)
        return ph.where(won > 0, ph.take(v[:, 0], won - 1), 7.0)

    got, texts = run(last, index, values)
    want = np.full(PLACES, 7, "f")
    for place, value in zip(index, values[:, 0], strict=True):
        if 0 <= place < PLACES:
            want[place] = value
    assert np.array_equal(got, want)
    assert is_walked_once([texts[0]])


@pytest.mark.parametrize("dtype", ["float32", "float16", "int32"])
def test_the_largest_at_places(dtype: str) -> None:
    index, inside, values = drawn(4)
    column = (values[:, 0] * 50).astype(dtype)
    low = -np.inf if dtype[0] == "f" else np.iinfo(dtype).min

    def largest(i: Tensor, v: Tensor) -> Tensor:
        values = v.astype("float32") if dtype == "float16" else v
        lowest = np.asarray(low, values.dtype.numpy)
        spread = values[None].expand(PLACES, TERMS)
        return reduced("max", ph.where(hits(PLACES, i), spread, lowest), 1).astype(dtype)

    got, texts = run(largest, index, column)
    want = np.full(PLACES, low, dtype)
    np.maximum.at(want, index[inside], column[inside])
    assert np.array_equal(got, want)
    assert is_walked_once(texts)


def test_two_indices_pin_two_axes() -> None:
    rng = np.random.default_rng(5)
    rows, columns = rng.integers(0, 11, TERMS), rng.integers(0, 13, TERMS)
    values = rng.normal(size=TERMS).astype("f")

    def build(r: Tensor, c: Tensor, v: Tensor) -> Tensor:
        shape = (11, 13, TERMS)
        a = (counted(0, 11)[:, None, None] == r).expand(shape)
        b = (counted(0, 13)[None, :, None] == c).expand(shape)
        return reduced("sum", masked(a * b, v.expand(shape)), 2)

    got, texts = run(build, rows, columns, values)
    want = np.zeros((11, 13), "f")
    np.add.at(want, (rows, columns), values)
    assert np.array_equal(got, want)
    assert sum(text.count(f"< {TERMS}ll; ") for text in texts) == 1


def test_each_line_has_an_index_of_its_own() -> None:
    rng = np.random.default_rng(6)
    index = rng.integers(0, PLACES, (TERMS, 5))
    values = rng.normal(size=(TERMS, 5)).astype("f")

    def build(i: Tensor, v: Tensor) -> Tensor:
        shape = (PLACES, TERMS, 5)
        mask = counted(0, PLACES)[:, None, None] == i
        return reduced("sum", masked(mask, v[None].expand(shape)), 1)

    got, _ = run(build, index, values)
    want = np.zeros((PLACES, 5), "f")
    np.add.at(want, (index, np.arange(5)[None].repeat(TERMS, 0)), values)
    assert np.array_equal(got, want)


@pytest.mark.parametrize(("places", "terms"), [(0, 4), (3, 0), (1, 1), (5, 2)])
def test_sizes_of_a_call(places: int, terms: int) -> None:
    k, n = ph.dim("k", 0, 9), ph.dim("n", 0, 9)
    index, values = ph.input("i", (n,), "int64"), ph.input("v", (n,))
    like = ph.input("like", (k,))
    mask = counted(0, k)[:, None] == index[None]
    made = reduced("sum", masked(mask, values[None].expand(k, n)), 1) + like
    program = ph.compile({"y": made}, search=0)
    index_now = np.arange(terms) % max(1, places)
    got = program(i=index_now, v=np.ones(terms, "f"), like=np.zeros(places, "f"))["y"]
    want = np.zeros(places, "f")
    if places:
        np.add.at(want, index_now, 1)
    assert np.array_equal(got, want)


def test_a_lookup_whose_mask_others_share_stays_a_lookup() -> None:
    rng = np.random.default_rng(7)
    index, table = rng.integers(0, PLACES, TERMS), rng.normal(size=(PLACES, WIDTH)).astype("f")

    def build(i: Tensor, t: Tensor) -> Tensor:
        mask = i[:, None] == counted(0, PLACES)
        shape = (TERMS, WIDTH, PLACES)
        rows = reduced("sum", masked(mask[:, None].expand(shape), t.T[None].expand(shape)), 2)
        first = reduced("sum", masked(mask, t[:, 0][None].expand(TERMS, PLACES)), 1)
        return rows + first[:, None]

    got, texts = run(build, index, table)
    assert np.array_equal(got, table[index] + table[index][:, :1])
    assert not any(f"< {PLACES}ll" in text for text in texts)


def test_terms_of_two_axes_are_one_scatter() -> None:
    rng = np.random.default_rng(8)
    index, values = rng.integers(0, PLACES, (7, TERMS)), rng.normal(size=(7, TERMS)).astype("f")

    def build(i: Tensor, v: Tensor) -> Tensor:
        shape = (PLACES, 7, TERMS)
        spread = masked(counted(0, PLACES)[:, None, None] == i[None], v[None].expand(shape))
        return reduced("sum", reduced("sum", spread, 2), 1) + 1.0

    got, texts = run(build, index, values)
    want = np.zeros(PLACES, "f")
    np.add.at(want, index.ravel(), values.ravel())
    assert np.array_equal(got, want + 1)
    assert is_walked_once(texts)
