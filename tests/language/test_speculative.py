"""Drafts: the longest ending that stands earlier, by an oracle that tries every length."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from photic.language.speculative import LONGEST, SHORTEST, draft

TEXTS = st.lists(st.integers(0, 2), max_size=40)


def expected(ids: Sequence[int], limit: int) -> tuple[int, ...]:
    """Lengths from the longest, places from the last; what follows goes round in a loop."""
    for length in range(len(ids) - 1, SHORTEST - 1, -1):
        ending = list(ids[-length:])
        for end in range(len(ids) - 1, length - 1, -1):
            if list(ids[end - length : end]) == ending:
                text = list(ids)
                for _ in range(min(limit, length - 1)):
                    text.append(text[end + len(text) - len(ids)])
                return tuple(text[len(ids) :])
    return ()


@given(TEXTS, st.integers(0, 7))
def test_a_draft_is_what_followed_the_longest_repeat(ids: list[int], limit: int) -> None:
    got = draft(ids, limit)
    # a draft that runs into the end of the text goes on with its own tokens
    assert got == (expected(ids, limit) if limit else ())


@pytest.mark.parametrize("ids", [[], [1], [1, 1], [1, 2, 3, 1]])
def test_without_a_repeat_of_two_tokens_nothing_is_drafted(ids: list[int]) -> None:
    assert draft(ids, 4) == ()


def test_a_loop_is_gone_round() -> None:
    assert draft([9, *(1, 2) * 4], 5) == (1, 2, 1, 2, 1)


@pytest.mark.parametrize("repeated", [2, 3, 4, 9])
def test_a_longer_repeat_gives_a_longer_draft(repeated: int) -> None:
    run = [*range(10, 10 + repeated)]
    assert draft([*run, *range(20, 40), 1, *run], 6) == tuple(range(20, 20 + min(6, repeated - 1)))


def test_the_last_of_several_places_counts() -> None:
    assert draft([1, 2, 3, 0, 1, 2, 4, 0, 1, 2], 1) == (4,)


def test_of_repeats_longer_than_the_limit_the_last_counts() -> None:
    run = list(range(10, 10 + LONGEST))
    ids = [1, *run, 5, 2, *run, 6, 1, *run]
    assert draft(ids, 1) == (6,)
