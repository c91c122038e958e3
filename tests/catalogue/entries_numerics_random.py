"""The catalogue's entries for random numbers: each draw against its definition, from seeds.

Words, and floats that are fractions of them, are equal to the bit; whether the numbers are random
is for ``tests/tensor/test_random.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.special
from catalogue import squares
from catalogue.entry import FLOATS, Array, Case, Dtype, Entry, Speed, gives
from catalogue.inputs import between, laid

import photic as ph

SEEDS = (0, 1, -1, 12345, -(2**63), 2**63 - 1)
SHAPE = (3, 7)
COUNT = 21
SEED_ONLY = "none: integers"
RANDOM = ph.random
MILLION = 1_000_000


def seeds(dtype: Dtype, random: np.random.Generator) -> Iterator[Case]:
    """Seeds of rank 0."""
    for seed in SEEDS:
        yield (np.array(seed, dtype),)


def draw(
    name: str,
    call: Callable[[ph.Tensor], Any],
    oracle: Callable[[Any], Array],
    dtype: str,
    **more: Any,
) -> Entry:
    """``call`` and ``oracle`` get the key of a seed."""
    return Entry(
        name,
        lambda seed: call(RANDOM.key(seed)),
        lambda seed: oracle(squares.key_of(seed)),
        seeds,
        ("int64",),
        result_dtype=gives(dtype),
        gradient=SEED_ONLY,
        **{"ulps": 0, **more},
    )


def signed(keys: Array) -> Array:
    return np.asarray(keys).astype(np.uint64).view(np.int64)


def peer(function: Callable[[Any], object]) -> Speed:
    """A million numbers; torch's ``function`` gets the module alone."""
    return Speed(
        lambda torch, seed: function(torch),
        lambda random: (np.array(7, np.int64),),
    )


def timed(speed: Speed, call: Callable[[ph.Tensor], Any]) -> Speed:
    return Speed(speed.peer, speed.arrays, lambda seed: call(RANDOM.key(seed)))


# --- keys and uniform numbers ---------------------------------------------------------------

KEYS = (
    Entry(
        "random.key",
        RANDOM.key,
        lambda seed: signed(squares.key_of(seed)),
        seeds,
        ("int64",),
        gradient=SEED_ONLY,
    ),
    draw(
        "random.split",
        lambda key: RANDOM.split(key, 5),
        lambda key: signed(squares.folded(key, np.arange(5, dtype=np.uint64))),
        "int64",
    ),
    draw(
        "random.fold_in",
        lambda key: RANDOM.fold_in(key, np.array([[3, -1], [2**40, -7]])),
        lambda key: signed(squares.folded(key, np.array([[3, -1], [2**40, -7]]).astype(np.uint64))),
        "int64",
    ),
)

UNIFORM = tuple(
    draw(
        f"random.uniform.{dtype}",
        lambda key, own=dtype: RANDOM.uniform(key, SHAPE, dtype=own),
        lambda key, own=dtype: squares.uniform(key, COUNT, own).reshape(SHAPE),
        dtype,
        onnx=("RandomUniform", "RandomUniformLike"),
        aten=("rand", "rand_like", "uniform"),
        speed=timed(
            peer(lambda torch: torch.rand(MILLION)), lambda key: RANDOM.uniform(key, MILLION)
        )
        if dtype == "float32"
        else None,
    )
    for dtype in FLOATS
)
BETWEEN = (
    draw(
        "random.uniform.between",
        lambda key: RANDOM.uniform(key, SHAPE, -2.5, 4.0),
        lambda key: squares.uniform(key, COUNT, "float32").reshape(SHAPE) * 6.5 - 2.5,
        "float32",
        ulps=0.5,
        atol=2.0**-21,
        why="a product and a sum of at most 4 are rounded",
    ),
    draw(
        "random.uniform.none",
        lambda key: (RANDOM.uniform(key), RANDOM.uniform(key, (2, 0))),
        lambda key: (squares.uniform(key, 1, "float32").reshape(()), np.zeros((2, 0))),
        "float32",
    ),
    draw(
        "random.bernoulli",
        lambda key: RANDOM.bernoulli(key, 0.3, SHAPE),
        lambda key: squares.uniform(key, COUNT, "float32").reshape(SHAPE) < np.float32(0.3),
        "bool",
        onnx=("Bernoulli",),
        aten=("bernoulli",),
        speed=timed(
            peer(lambda torch: torch.bernoulli(torch.full((MILLION,), 0.3))),
            lambda key: RANDOM.bernoulli(key, 0.3, MILLION),
        ),
    ),
    draw(
        "random.bernoulli.certain",
        lambda key: (
            RANDOM.bernoulli(key, 0.0, SHAPE),
            RANDOM.bernoulli(key, np.array([1.0, 0.25])),
        ),
        lambda key: (
            np.zeros(SHAPE, bool),
            np.array([True, squares.uniform(key, 2, "float64")[1] < 0.25]),
        ),
        "bool",
    ),
)


# --- integers and orders --------------------------------------------------------------------

SPANS = ((0, 2), (-3, 7), (0, 10**6), (-(2**63), 2**63 - 1), (5, 6), (0, 3 * 2**61))
INTEGERS = (
    draw(
        "random.randint",
        lambda key: tuple(RANDOM.randint(key, low, high, SHAPE) for low, high in SPANS),
        lambda key: tuple(
            squares.integers(key, COUNT, low, high).reshape(SHAPE) for low, high in SPANS
        ),
        "int64",
        aten=("randint",),
        speed=timed(
            peer(lambda torch: torch.randint(0, 1000, (MILLION,))),
            lambda key: RANDOM.randint(key, 0, 1000, MILLION),
        ),
    ),
    draw(
        "random.randint.bounds",
        lambda key: RANDOM.randint(key, np.array([[0], [-4]]), np.array([3, 100, -9])),
        lambda key: np.array(
            [
                [squares.integers(key, 6, 0, 3)[0], squares.integers(key, 6, 0, 100)[1], 0],
                [squares.integers(key, 6, -4, 3)[3], squares.integers(key, 6, -4, 100)[4], -4],
            ]
        ),
        "int64",
    ),
    draw(
        "random.randint.small",
        lambda key: RANDOM.randint(key, -128, 128, SHAPE, "int8"),
        lambda key: squares.integers(key, COUNT, -128, 128).reshape(SHAPE).astype(np.int8),
        "int8",
    ),
    draw(
        "random.permutation",
        lambda key: tuple(RANDOM.permutation(key, n) for n in (0, 1, 2, 3, 10, 1000)),
        lambda key: tuple(squares.permutation(key, n) for n in (0, 1, 2, 3, 10, 1000)),
        "int64",
        aten=("randperm",),
        speed=Speed(
            lambda torch, seed: torch.randperm(MILLION),
            lambda random: (np.array(7, np.int64),),
            lambda seed: RANDOM.permutation(RANDOM.key(seed), MILLION),
            why="twelve half rounds of a network, so that each place is computed by itself",
        ),
    ),
)


# --- other distributions --------------------------------------------------------------------


def continuous(
    name: str,
    call: Callable[..., ph.Tensor],
    oracle: Callable[[Any, int, str], Array],
    rtol: float,
    peers: Callable[[Any], object],
    **more: Any,
) -> tuple[Entry, ...]:
    return tuple(
        draw(
            f"random.{name}.{dtype}",
            lambda key, own=dtype: call(key, SHAPE, own),
            lambda key, own=dtype: oracle(key, COUNT, own).reshape(SHAPE),
            dtype,
            ulps=0.5,
            rtol=rtol,
            why="the function is right to a few units in the last place, not to half of one",
            speed=timed(peer(peers), lambda key: call(key, MILLION))
            if dtype == "float32"
            else None,
            **more,
        )
        for dtype in FLOATS
    )


CONTINUOUS = (
    *continuous(
        "normal",
        RANDOM.normal,
        squares.normal,
        2.0**-20,
        lambda torch: torch.randn(MILLION),
        onnx=("RandomNormal", "RandomNormalLike"),
        aten=("randn", "randn_like", "normal"),
        atol=2.0**-20,
    ),
    *continuous(
        "exponential",
        RANDOM.exponential,
        squares.exponential,
        2.0**-21,
        lambda torch: torch.empty(MILLION).exponential_(),
        aten=("exponential",),
    ),
    *continuous(
        "gumbel",
        RANDOM.gumbel,
        lambda key, count, dtype: -np.log(squares.exponential(key, count, dtype)),
        2.0**-20,
        lambda torch: -torch.empty(MILLION).exponential_().log(),
        atol=2.0**-20,
    ),
)


def _truncated(key: Any, low: float, high: float) -> Array:
    below, above = scipy.special.ndtr([low, high])
    p, rest = squares.sides(key, COUNT, "float64")
    return scipy.special.ndtri(p * above + rest * below).reshape(SHAPE)


def logits(dtype: Dtype, random: np.random.Generator) -> Iterator[Case]:
    """A seed, and rows of logits, some of them -inf."""
    for number, shape in enumerate(((3, 5), (1, 1), (2, 3, 7))):
        rows = between(dtype, shape, random, -2, 2)
        rows[..., : shape[-1] // 3] = -np.inf
        yield np.array(number, np.int64), laid(rows, number)


def _chosen(dtype: str) -> Callable[[Array, Array], Array]:
    """The places of maxima; near enough that no maximum of so few changes."""

    def oracle(seed: Array, rows: Array) -> Array:
        noise = -np.log(squares.exponential(squares.key_of(seed), rows.size, dtype))
        return np.argmax(rows + noise.reshape(rows.shape), -1)

    return oracle


def categorical(dtype: str) -> Entry:
    return Entry(
        f"random.categorical.{dtype}",
        lambda seed, rows: RANDOM.categorical(RANDOM.key(seed), rows),
        _chosen(dtype),
        logits,
        (dtype,),
        result_dtype=gives("int64"),
        gradient="none: a place",
        onnx=("Multinomial",),
        aten=("multinomial",),
        speed=Speed(
            lambda torch, seed, rows: torch.multinomial(torch.softmax(rows, -1), 1)[:, 0],
            lambda random: (np.array(7), random.normal(size=(1000, 1000)).astype(np.float32)),
        )
        if dtype == "float32"
        else None,
    )


def dropped(dtype: Dtype, random: np.random.Generator) -> Iterator[Case]:
    for number, shape in enumerate(((3, 5), (), (0, 2))):
        yield np.array(number, np.int64), laid(between(dtype, shape, random, -2, 2), number)


def _dropped(seed: Array, x: Array) -> Array:
    kept = squares.uniform(squares.key_of(seed), x.size, "float32") < np.float32(0.75)
    return np.where(kept.reshape(x.shape), x * (1 / 0.75), 0.0)


DERIVED = (
    draw(
        "random.truncated_normal",
        lambda key: (
            RANDOM.truncated_normal(key, -1.0, 2.0, SHAPE, "float64"),
            RANDOM.truncated_normal(key, 3.0, 4.0, SHAPE, "float64"),
        ),
        lambda key: (_truncated(key, -1.0, 2.0), -_truncated(key, -4.0, -3.0)),
        "float64",
        ulps=0.5,
        rtol=2.0**-16,
        why="probabilities are rounded in float64, and tails magnify that",
    ),
    categorical("float64"),
    categorical("float32"),
    Entry(
        "random.dropout",
        lambda seed, x: RANDOM.dropout(x, 0.25, RANDOM.key(seed)),
        _dropped,
        dropped,
        FLOATS,
        ulps=1,
        gradient="smooth",
        onnx=("Dropout",),
        aten=("dropout", "native_dropout"),
        speed=Speed(
            lambda torch, seed, x: torch.nn.functional.dropout(x, 0.25),
            lambda random: (np.array(7), random.normal(size=MILLION).astype(np.float32)),
        ),
    ),
    Entry(
        "random.shuffle",
        lambda seed, x: RANDOM.shuffle(RANDOM.key(seed), x, 1),
        lambda seed, x: x[:, squares.permutation(squares.key_of(seed), x.shape[1])],
        lambda dtype, random: (
            (np.array(k, np.int64), between(dtype, shape, random, -4, 4))
            for k, shape in enumerate(((2, 9), (1, 1), (3, 0), (2, 5, 2)))
        ),
        (*FLOATS, "int32"),
        sizes=("", "n m"),
    ),
)

ENTRIES = (*KEYS, *UNIFORM, *BETWEEN, *INTEGERS, *CONTINUOUS, *DERIVED)
