"""Sampling: each filter against its definition and against transformers, draws against chances."""

from __future__ import annotations

import math
from importlib.util import find_spec

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from photic.language.errors import BadSampling
from photic.language.sampling import RUN, Sampler, SamplingOptions, distribution

peers = pytest.mark.skipif(
    find_spec("torch") is None or find_spec("transformers") is None,
    reason="torch or transformers is missing: pip install '.[peers]'",
)


def some_logits(seed: int, size: int) -> NDArray[np.float32]:
    return (np.random.default_rng(seed).standard_normal(size) * 3).astype(np.float32)


def chances_of(logits: NDArray[np.float32], used: list[int], **options: float) -> dict[int, float]:
    """Token to chance, adding up to 1, without tokens that cannot be drawn."""
    chosen = SamplingOptions(**options)  # type: ignore[arg-type]
    tokens, chances = distribution(logits, used, chosen)
    total = chances.sum(dtype=np.float64)
    return {int(t): float(c / total) for t, c in zip(tokens, chances) if c > 0}


# --- greedy ---------------------------------------------------------------------------------


def test_temperature_zero_takes_the_likeliest():
    logits = some_logits(0, 1000)
    assert Sampler(SamplingOptions()).pick(logits, []) == int(np.argmax(logits))


def test_temperature_zero_takes_the_lowest_of_equal_tokens():
    assert Sampler(SamplingOptions()).pick(np.float32([0, 2, 1, 2]), []) == 1


def test_temperature_zero_heeds_the_repetition_penalty():
    options = SamplingOptions(repetition_penalty=2)
    assert Sampler(options).pick(np.float32([3, 2, -1]), [0, 0]) == 1
    assert Sampler(options).pick(np.float32([-3, -2, -5]), [1, 1]) == 0


@pytest.mark.parametrize("temperature", [0.0, 1.0])
@pytest.mark.parametrize(
    ("logits", "message"),
    [
        ([0, math.nan, 1], "a logit is NaN"),
        ([0, math.inf], "a logit is inf at best"),
        ([-math.inf, -math.inf], "a logit is -inf at best"),
        ([], "a logit is -inf at best"),
    ],
)
def test_useless_logits_are_refused(logits: list[float], message: str, temperature: float):
    with pytest.raises(BadSampling, match=message):
        Sampler(SamplingOptions(temperature=temperature)).pick(np.float32(logits), [])


# --- filters --------------------------------------------------------------------------------


def test_temperature_divides_logits():
    logits = np.float32([1, 2, 4])
    wanted = np.exp(logits.astype(np.float64) / 0.5)
    got = chances_of(logits, [], temperature=0.5)
    # float32 exp and one division: a few ulp of 6e-8
    np.testing.assert_allclose(list(got.values()), wanted / wanted.sum(), rtol=1e-6)


def test_the_smallest_temperature_is_as_greedy_as_zero():
    assert chances_of(np.float32([1, 1.0000001, 0]), [], temperature=5e-324) == {1: 1.0}


def test_a_huge_temperature_makes_all_tokens_alike():
    got = chances_of(some_logits(1, 50), [], temperature=1e30)
    np.testing.assert_allclose(list(got.values()), 1 / 50, rtol=1e-6)


def test_forbidden_tokens_are_never_candidates_with_a_chance():
    assert 1 not in chances_of(np.float32([0, -np.inf, 0]), [], temperature=9.0)


@given(st.integers(0, 10**6), st.integers(1, 400), st.integers(1, 500))
def test_top_k_keeps_the_k_best(seed: int, size: int, k: int):
    logits = some_logits(seed, size)
    kept = set(np.argsort(-logits, kind="stable")[:k].tolist())
    assert set(chances_of(logits, [], temperature=1.0, top_k=k)) == kept


def test_top_k_keeps_all_that_tie_with_the_last():
    got = chances_of(np.float32([1, 3, 2, 2, 2]), [], temperature=1.0, top_k=2)
    assert set(got) == {1, 2, 3, 4}


@given(st.integers(0, 10**6), st.integers(1, 2000), st.floats(0.01, 0.99))
def test_top_p_keeps_the_fewest_that_reach_the_mass(seed: int, size: int, p: float):
    got = chances_of(some_logits(seed, size), [], temperature=1.0, top_p=p)
    whole = chances_of(some_logits(seed, size), [], temperature=1.0)
    mass = sum(whole[token] for token in got)
    assert mass >= p * (1 - 1e-6)  # chances are float32
    assert mass - min(whole[token] for token in got) < p * (1 + 1e-6)
    assert min(whole[t] for t in got) >= max(
        (c for t, c in whole.items() if t not in got), default=0
    )


def test_top_p_takes_the_lowest_of_equal_tokens_at_its_edge():
    got = chances_of(np.zeros(1000, np.float32), [], temperature=1.0, top_p=0.0105)
    assert set(got) == set(range(11))


@given(st.integers(0, 10**6), st.integers(1, 400), st.floats(0.001, 1))
def test_min_p_keeps_what_is_near_the_best(seed: int, size: int, p: float):
    whole = chances_of(some_logits(seed, size), [], temperature=1.0)
    got = chances_of(some_logits(seed, size), [], temperature=1.0, min_p=p)
    best = max(whole.values())
    clear = {t for t, c in whole.items() if abs(c / best - p) > 1e-6 * p}
    assert set(got) & clear == {t for t in clear if whole[t] / best >= p}


def test_min_p_of_one_keeps_only_the_best():
    assert set(chances_of(np.float32([1, 3, 2, 3]), [], temperature=1.0, min_p=1.0)) == {1, 3}


@pytest.mark.peers
@peers
@settings(deadline=None, max_examples=60)
@given(
    st.integers(0, 10**6),
    st.sampled_from([0.3, 0.8, 1.0, 1.7]),
    st.sampled_from([0, 1, 5, 40, 5000]),
    st.sampled_from([1.0, 0.1, 0.5, 0.9, 0.99]),
    st.sampled_from([0.0, 0.01, 0.1, 0.5]),
    st.sampled_from([1.0, 1.1, 1.5, 0.8]),
)
def test_filters_together_equal_those_of_transformers(
    seed: int, temperature: float, top_k: int, top_p: float, min_p: float, penalty: float
):
    import torch
    from transformers.generation import logits_process as peer

    logits = some_logits(seed, 3000)
    used = np.random.default_rng(seed).integers(0, 3000, 50)
    steps: list[object] = [
        peer.RepetitionPenaltyLogitsProcessor(penalty),
        peer.TemperatureLogitsWarper(temperature),
        *([peer.TopKLogitsWarper(top_k)] if top_k else []),
        *([peer.TopPLogitsWarper(top_p)] if top_p < 1 else []),
        *([peer.MinPLogitsWarper(min_p)] if min_p else []),
    ]
    scores = torch.from_numpy(logits.copy())[None]
    for step in steps:
        scores = step(torch.from_numpy(used)[None], scores)  # type: ignore[operator]
    wanted = torch.softmax(scores.double(), -1)[0].numpy()
    got = np.zeros(3000)
    chances = chances_of(
        logits, used.tolist(), temperature=temperature, top_k=top_k, top_p=top_p, min_p=min_p,
        repetition_penalty=penalty,
    )  # fmt: skip
    got[list(chances)] = list(chances.values())
    # float32 scores up to 30: an ulp of them, 2e-6, is this much of a chance
    np.testing.assert_allclose(got, wanted, rtol=2e-5, atol=1e-9)


# --- draws ----------------------------------------------------------------------------------


def test_the_same_seed_draws_the_same_tokens():
    logits = some_logits(3, 5000)
    options = SamplingOptions(temperature=1.0, seed=17)
    first, second = Sampler(options), Sampler(options)
    assert [first.pick(logits, []) for _ in range(50)] == [
        second.pick(logits, []) for _ in range(50)
    ]


def test_different_seeds_draw_different_tokens():
    logits = np.zeros(5000, np.float32)
    drawn = {Sampler(SamplingOptions(temperature=1.0, seed=s)).pick(logits, []) for s in range(50)}
    assert len(drawn) > 40


def test_draws_are_as_frequent_as_their_chances():
    logits = np.log(
        np.float32([0.1, 0, 0.4, 0.2, 0.3]),
        where=np.arange(5) != 1,
        out=np.full(5, -np.inf, np.float32),
    )
    sampler = Sampler(SamplingOptions(temperature=1.0, seed=1))
    counts = np.bincount([sampler.pick(logits, []) for _ in range(20_000)], minlength=5)
    # four standard deviations of a count of 20,000 draws are below 0.014
    np.testing.assert_allclose(counts / 20_000, [0.1, 0, 0.4, 0.2, 0.3], atol=0.014)
    assert counts[1] == 0


@pytest.mark.parametrize("size", [1, RUN - 1, RUN, RUN + 1, 3 * RUN + 7])
def test_every_place_of_the_vocabulary_can_be_drawn(size: int):
    sampler = Sampler(SamplingOptions(temperature=1.0, seed=2))
    for token in {0, size // 2, size - 1}:
        logits = np.full(size, -np.inf, np.float32)
        logits[token] = 0
        assert sampler.pick(logits, []) == token


def test_draws_over_many_runs_equal_one_running_sum():
    logits = some_logits(5, 1000)
    tokens, chances = distribution(logits, [], SamplingOptions(temperature=1.0))
    sums = np.cumsum(chances, dtype=np.float64)
    bits = np.random.Philox(key=9)
    sampler = Sampler(SamplingOptions(temperature=1.0, seed=9))
    for _ in range(300):
        point = (int(bits.random_raw()) >> 11) * 2.0**-53 * sums[-1]
        assert sampler.pick(logits, []) == tokens[np.searchsorted(sums, point, side="right")]


def test_logits_are_not_changed():
    logits = some_logits(6, 100)
    before = logits.copy()
    options = SamplingOptions(temperature=0.7, top_k=9, top_p=0.9, min_p=0.1, repetition_penalty=2)
    Sampler(options).pick(logits, [1, 2, 3])
    np.testing.assert_array_equal(logits, before)


# --- options --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("option", "given"),
    [
        ("temperature", -0.1),
        ("temperature", math.inf),
        ("temperature", math.nan),
        ("temperature", "0"),
        ("temperature", True),
        ("top_k", -1),
        ("top_k", 1.5),
        ("top_p", 0),
        ("top_p", 1.1),
        ("top_p", math.nan),
        ("min_p", -0.1),
        ("min_p", 1.01),
        ("repetition_penalty", 0),
        ("repetition_penalty", math.inf),
        ("seed", -1),
        ("seed", 2**64),
        ("seed", 0.5),
        ("seed", None),
    ],
)
def test_senseless_option_is_refused_by_name(option: str, given: object):
    with pytest.raises(BadSampling, match=f"{option} is "):
        SamplingOptions(**{option: given})  # type: ignore[arg-type]


def test_options_take_numpy_numbers():
    given = {"temperature": np.float32(0.5), "top_k": np.int64(3), "seed": np.uint64(2**63)}
    SamplingOptions(**given)  # type: ignore[arg-type]
