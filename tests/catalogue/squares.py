"""Random numbers by their definitions, in unsigned 64-bit arithmetic: what photic's must equal.

Written from the paper (Widynski 2020, arXiv 2004.06278) and from what ``photic/tensor/random.py``
promises of keys and draws, not from its code. Arrays are uint64.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.special

Words = npt.NDArray[np.uint64]
Floats = npt.NDArray[np.float64]

HALF = np.uint64(32)
LOW = np.uint64(0xFFFF_FFFF)
ODD = np.uint64(1)
ROOTS = np.uint64(0x548C9DECBCE65297), np.uint64(0xC58EFD154CE32F6D)
ROUNDS, ROUNDS_OF_FEW, FEW = 6, 12, 64
UNIFORM_BITS = {"float64": 53, "float32": 24, "float16": 11, "bfloat16": 8}


def words(key: Any, counters: Words) -> Words:
    """Four rounds of squaring and of exchanging halves; the upper half of the last."""
    with np.errstate(over="ignore"):
        y = counters * key
        z = y + key
        x = y
        for other in (y, z, y):
            x = x * x + other
            x = (x >> HALF) | (x << HALF)
        return (x * x + z) >> HALF


def folded(key: Any, data: Words) -> Words:
    """The keys of ``fold_in``: two words of two streams, made odd."""
    with np.errstate(over="ignore"):
        upper, lower = (words(key * root, data) for root in ROOTS)
    return (upper << HALF) | lower | ODD


def key_of(seed: Any) -> np.uint64:
    """The key of a seed, an integer of any sign."""
    return np.uint64(folded(ROOTS[0], np.array([int(seed) % 2**64], np.uint64))[0])


def drawn(key: Any, count: int, each: int) -> list[Words]:
    """The words of ``count`` places, ``each`` of them."""
    places = np.arange(count * each, dtype=np.uint64).reshape(count, each)
    return list(words(key, places).T)


def uniform(key: Any, count: int, dtype: str) -> Floats:
    """The leading bits as a fraction."""
    bits = UNIFORM_BITS[dtype]
    if bits > 32:
        first, second = drawn(key, count, 2)
        return ((first << HALF | second) >> np.uint64(64 - bits)).astype(np.float64) / 2**bits
    (only,) = drawn(key, count, 1)
    return (only >> np.uint64(32 - bits)).astype(np.float64) / 2**bits


def sides(key: Any, count: int, dtype: str) -> tuple[Floats, Floats]:
    """An odd fraction of 32 bits (64 for float64) and its difference from 1, each rounded once."""
    if dtype == "float64":
        first, second = drawn(key, count, 2)
        whole, end = (first << HALF) | second | ODD, 2.0**-64
    else:
        whole, end = drawn(key, count, 1)[0] | ODD, 2.0**-32
    rest = (np.uint64(0) - whole) & (LOW if end == 2.0**-32 else ~np.uint64(0))
    return whole.astype(np.float64) * end, rest.astype(np.float64) * end


def exponential(key: Any, count: int, dtype: str) -> Floats:
    p, rest = sides(key, count, dtype)
    return np.where(p < 0.5, -np.log1p(-p), -np.log(rest))


def normal(key: Any, count: int, dtype: str) -> Floats:
    p, rest = sides(key, count, dtype)
    return np.where(p < rest, scipy.special.ndtri(p), -scipy.special.ndtri(rest))


def integers(key: Any, count: int, low: int, high: int) -> npt.NDArray[np.int64]:
    """The whole part of the span times a fraction of 96 bits, in Python's integers."""
    parts = [[int(word) for word in many] for many in drawn(key, count, 3)]
    fractions = [(a << 64) | (b << 32) | c for a, b, c in zip(*parts)]
    return np.array([low + ((high - low) * one >> 96) for one in fractions], np.int64)


def permutation(key: Any, count: int) -> npt.NDArray[np.int64]:
    """The network on a grid, followed on from places outside the numbers."""
    rows = max(2, math.isqrt(count))
    rows += rows % 2
    columns = max(1, -(-count // rows))
    place = np.arange(rows * columns, dtype=np.uint64)
    row, column = np.divmod(place, np.uint64(columns))
    for k in range(ROUNDS_OF_FEW if count <= FEW else ROUNDS):
        for odd in (0, 1):
            first = np.uint64((2 * k + odd) << 40)
            size = np.uint64((rows, columns)[odd])
            step = words(key, (row if odd else column) + first) * size >> HALF
            if odd:
                column = (column + step) % size
            else:
                row = (row + step) % size
    network = (row * np.uint64(columns) + column).astype(np.int64)
    found = network[:count]
    while (found >= count).any():
        found = np.where(found >= count, network[found], found)
    return found
