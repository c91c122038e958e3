"""Random numbers: known words, unrelated streams, distributions, the same bits everywhere.

Seeds are fixed, so that a test of a distribution says the same in every run; its threshold is what
a true generator misses once in a thousand times.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import scipy.stats
from catalogue import squares
from evaluating import of

import photic as ph
from photic.base.errors import BadArgument, DtypeMismatch
from photic.targets.c.pool import set_threads
from photic.tensor.random import words

COUNT = 200_000
RARE = 1e-3  # the share of true generators that fails a test of a distribution
RANDOM = ph.random

Draw = Callable[[ph.Tensor], ph.Tensor]


def integers(*values: int) -> ph.Tensor:
    return ph.constant(np.array(values, np.uint64).astype(np.int64))


# --- words ----------------------------------------------------------------------------------

# Published with implementations of the paper: counters 0, 1, ... of its example's key.
KNOWN = (0x36D88366, 0x944716E0, 0xC8A8F4E0, 0x35CC666A, 0x7094EAB1, 0xA2A1B6F5, 0xD884957D)


def test_the_words_are_the_published_ones() -> None:
    key = integers(0x548C9DECBCE65297)[0]
    assert of(words(key, ph.arange(len(KNOWN)))).tolist() == list(KNOWN)


def test_words_are_those_of_unsigned_arithmetic_for_any_key_and_counter() -> None:
    random = np.random.default_rng(0)
    ends = np.array([0, 1, 2, 2**31, 2**32 - 1, 2**32, 2**63 - 1, 2**63, 2**64 - 1], np.uint64)
    keys, counters = (
        np.concatenate([random.permutation(ends), random.integers(0, 2**64, 60, np.uint64)])
        for _ in range(2)
    )
    got = of(words(ph.constant(keys.astype(np.int64)), ph.constant(counters.astype(np.int64))))
    np.testing.assert_array_equal(got, squares.words(keys, counters).astype(np.int64))


# --- keys -----------------------------------------------------------------------------------


def test_neighbouring_seeds_and_children_have_keys_of_their_own() -> None:
    seeds = ph.arange(10_000)
    root = RANDOM.key(0)
    keys = of(RANDOM.fold_in(root, seeds))
    assert len(np.unique(keys)) == len(keys)
    assert (keys % 2 == 1).all()
    # bits of neighbours differ half of the time: 63 bits, the lowest is always 1
    flips = np.bitwise_count((keys[1:] ^ keys[:-1]).view(np.uint64))
    assert scipy.stats.binomtest(int(flips.sum()), 63 * len(flips)).pvalue > RARE


def test_split_gives_the_keys_of_fold_in_and_a_longer_one_begins_with_the_shorter() -> None:
    key = RANDOM.key(3)
    five = of(RANDOM.split(key, 5))
    assert of(RANDOM.split(key)).tolist() == five[:2].tolist()
    assert of(RANDOM.fold_in(key, 4)) == five[4]
    first, second = RANDOM.split(key)
    assert of(first) != of(second)


def test_streams_of_different_keys_do_not_correlate() -> None:
    keys = RANDOM.split(RANDOM.key(1), 40)
    rows = np.stack([of(RANDOM.uniform(keys[k], 5000)) for k in range(40)])
    together = np.corrcoef(rows)[np.triu_indices(40, 1)] * np.sqrt(rows.shape[1])
    assert scipy.stats.kstest(together, "norm").pvalue > RARE
    first = np.concatenate([of(RANDOM.uniform(keys[k], 1))[:1] for k in range(40)])
    assert scipy.stats.kstest(first, "uniform").pvalue > RARE


def test_a_longer_draw_begins_with_the_shorter_one_and_shapes_do_not_matter() -> None:
    key = RANDOM.key(0)
    for draw in (RANDOM.uniform, RANDOM.normal, RANDOM.exponential, RANDOM.gumbel):
        long = of(draw(key, 100))
        np.testing.assert_array_equal(of(draw(key, 7)), long[:7])
        np.testing.assert_array_equal(of(draw(key, (4, 25))).ravel(), long)


def test_symbolic_shapes_give_what_plain_ones_give() -> None:
    n = ph.dim("n", 0, 3000)
    key = RANDOM.key(0)
    for size in (0, 1, 2, 57, 2999):
        for draw in (RANDOM.uniform, RANDOM.normal):
            got = of(draw(key, (n, 3)), n=size)
            np.testing.assert_array_equal(got, of(draw(key, (size, 3))))
        got = of(RANDOM.permutation(key, n), n=size)
        np.testing.assert_array_equal(got, squares.permutation(squares.key_of(0), size))


# --- distributions --------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    ("draw", "distribution"),
    [
        (RANDOM.uniform, "uniform"),
        (RANDOM.normal, "norm"),
        (RANDOM.exponential, "expon"),
        (RANDOM.gumbel, "gumbel_r"),
    ],
)
def test_a_draw_has_its_distribution(
    draw: Callable[..., ph.Tensor], distribution: str, dtype: str
) -> None:
    for seed in (0, 1):
        got = of(draw(RANDOM.key(seed), COUNT, dtype=dtype)).astype(np.float64)
        assert scipy.stats.kstest(got, distribution).pvalue > RARE


def test_truncated_normal_numbers_have_their_distribution_and_stay_inside() -> None:
    for low, high in ((-1.0, 2.0), (3.0, 4.0), (-9.0, -3.5), (0.0, 9.0)):
        got = of(RANDOM.truncated_normal(RANDOM.key(2), low, high, COUNT)).astype(np.float64)
        assert low <= got.min()
        assert got.max() <= high
        assert scipy.stats.kstest(got, "truncnorm", args=(low, high)).pvalue > RARE


def test_each_bit_and_each_byte_of_uniform_numbers_is_even() -> None:
    (word,) = squares.drawn(squares.key_of(5), COUNT, 1)
    np.testing.assert_array_equal(
        of(RANDOM.uniform(RANDOM.key(5), COUNT)), (word >> np.uint64(8)) / 2**24
    )
    for place in range(32):
        ones = int(((word >> np.uint64(place)) & np.uint64(1)).sum())
        assert scipy.stats.binomtest(ones, COUNT).pvalue > RARE / 32
    for place in range(0, 32, 8):
        counts = np.bincount(
            ((word >> np.uint64(place)) & np.uint64(255)).astype(int), minlength=256
        )
        assert scipy.stats.chisquare(counts).pvalue > RARE / 4
    pairs = np.bincount(
        ((word[:-1] >> np.uint64(28) << np.uint64(4)) | (word[1:] >> np.uint64(28))).astype(int)
    )
    assert scipy.stats.chisquare(pairs).pvalue > RARE


def test_integers_and_choices_come_as_often_as_they_should() -> None:
    key = RANDOM.key(4)
    counts = np.bincount(of(RANDOM.randint(key, 0, 7, COUNT)), minlength=7)
    assert scipy.stats.chisquare(counts).pvalue > RARE
    shares = np.array([0.1, 0.2, 0.3, 0.4])
    rows = ph.broadcast_to(np.log(shares).astype(np.float32), (COUNT, 4))
    counts = np.bincount(of(RANDOM.categorical(key, rows)), minlength=4)
    assert scipy.stats.chisquare(counts, shares * COUNT).pvalue > RARE
    hits = int(of(RANDOM.bernoulli(key, 0.3, COUNT)).sum())
    assert scipy.stats.binomtest(hits, COUNT, 0.3).pvalue > RARE
    kept = of(RANDOM.dropout(ph.ones(COUNT), 0.3, key))
    assert set(np.unique(kept)) == {0.0, np.float32(1 / 0.7)}


@pytest.mark.parametrize("count", [2, 3, 4, 5])
def test_every_order_of_a_few_numbers_is_as_likely(count: int) -> None:
    orders = [squares.permutation(squares.key_of(seed), count) for seed in range(3000)]
    got = of(RANDOM.permutation(RANDOM.key(17), count))
    np.testing.assert_array_equal(got, orders[17])
    _, counts = np.unique(np.stack(orders) @ count ** np.arange(count), return_counts=True)
    assert scipy.stats.chisquare(counts).pvalue > RARE


def test_a_permutation_has_every_number_once_and_few_in_their_places() -> None:
    for count in (0, 1, 9, 10, 1000, 10_007):
        got = of(RANDOM.permutation(RANDOM.key(0), count))
        np.testing.assert_array_equal(np.sort(got), np.arange(count))
    fixed = [
        (squares.permutation(squares.key_of(seed), 100) == np.arange(100)).sum()
        for seed in range(500)
    ]
    # so many stay in their place: a Poisson number of mean 1
    counts = np.bincount(fixed, minlength=5)
    wanted = scipy.stats.poisson(1).pmf(np.arange(4)) * 500
    assert (
        scipy.stats.chisquare([*counts[:4], counts[4:].sum()], [*wanted, 500 - wanted.sum()]).pvalue
        > RARE
    )


# --- the same everywhere --------------------------------------------------------------------


@pytest.fixture
def restored_threads() -> Iterator[None]:
    yield
    set_threads(0)


DRAWS: dict[str, Draw] = {
    "uniform": lambda key: RANDOM.uniform(key, 5003),
    "uniform64": lambda key: RANDOM.uniform(key, 5003, dtype="float64"),
    "normal": lambda key: RANDOM.normal(key, 5003),
    "normal64": lambda key: RANDOM.normal(key, 5003, "float64"),
    "exponential": lambda key: RANDOM.exponential(key, 5003),
    "gumbel": lambda key: RANDOM.gumbel(key, 5003),
    "truncated": lambda key: RANDOM.truncated_normal(key, -2, 2, 5003),
    "randint": lambda key: RANDOM.randint(key, -10, 10**12, 5003),
    "permutation": lambda key: RANDOM.permutation(key, 5003),
}


def test_compiled_draws_have_the_evaluators_bits_for_every_key_and_number_of_threads(
    restored_threads: None,
) -> None:
    seed = ph.input("seed", (), "int64")
    results = {name: draw(RANDOM.key(seed)) for name, draw in DRAWS.items()}
    program = ph.compile(results, search=0)
    for number in (0, 1, -5):
        given = np.array(number, np.int64)
        wanted = {name: of(one, {"seed": given}) for name, one in results.items()}
        for threads in (1, 2, 3):
            set_threads(threads)
            got = program(seed=given)
            for name, array in got.items():
                np.testing.assert_array_equal(array, wanted[name], err_msg=name)


def test_calls_in_threads_give_what_calls_in_a_row_give() -> None:
    seed = ph.input("seed", (), "int64")
    program = ph.compile({"x": RANDOM.normal(RANDOM.key(seed), 1000)}, search=0)

    def drawn(number: int) -> np.ndarray:
        return program(seed=np.array(number, np.int64))["x"]

    with ThreadPoolExecutor(4) as threads:
        together = list(threads.map(drawn, range(8)))
    for number, array in enumerate(together):
        np.testing.assert_array_equal(array, drawn(number))


# --- what is refused ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: RANDOM.uniform(0, 3), BadArgument),  # type: ignore[arg-type]
        (lambda: RANDOM.uniform(ph.ones(()), 3), DtypeMismatch),
        (lambda: RANDOM.uniform(RANDOM.split(RANDOM.key(0)), 3), BadArgument),
        (lambda: RANDOM.uniform(RANDOM.key(0), 3, dtype="int32"), DtypeMismatch),
        (lambda: RANDOM.normal(RANDOM.key(0), 3, "int32"), DtypeMismatch),
        (lambda: RANDOM.randint(RANDOM.key(0), 3, 3), BadArgument),
        (lambda: RANDOM.randint(RANDOM.key(0), 0, 300, dtype="uint8"), BadArgument),
        (lambda: RANDOM.randint(RANDOM.key(0), 0, 3, dtype="float32"), DtypeMismatch),
        (lambda: RANDOM.randint(RANDOM.key(0), 0.0, 3), DtypeMismatch),
        (lambda: RANDOM.truncated_normal(RANDOM.key(0), 2, 1), BadArgument),
        (lambda: RANDOM.truncated_normal(RANDOM.key(0), 1, 2, dtype="int8"), DtypeMismatch),
        (lambda: RANDOM.dropout(ph.ones(3), 1.5, RANDOM.key(0)), BadArgument),
        (lambda: RANDOM.key(0.5), DtypeMismatch),
        (lambda: RANDOM.fold_in(RANDOM.key(0), True), DtypeMismatch),
    ],
)
def test_what_is_no_key_or_makes_no_sense_is_refused(
    call: Callable[[], ph.Tensor], error: type[Exception]
) -> None:
    with pytest.raises(error):
        call()
