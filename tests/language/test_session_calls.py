"""What caches hold: rows given up, calls planned again, texts that begin alike."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from photic.language.session_calls import Call, beginning, chunks, held_of, rows_of, whole

IDS = st.lists(st.integers(0, 1), max_size=12)


@given(IDS, st.integers(1, 5))
def test_chunks_are_the_text_again(ids: list[int], size: int) -> None:
    calls = chunks(ids, size)
    assert [one for call in calls for one in call.ids] == ids
    assert rows_of(calls) == len(ids)
    assert all(len(call.ids) == size for call in calls[:-1])


def test_calls_with_the_same_tokens_need_not_be_made_again() -> None:
    calls = [whole((1, 2)), whole((3,))]
    assert held_of([*calls, whole((4,))], calls) == 2
    assert held_of([whole((1,)), whole((2, 3))], calls) == 0


def test_rows_given_up_are_no_longer_held() -> None:
    assert held_of([whole((1, 2))], [Call((1, 2), 1)]) == 0
    assert held_of([Call((1, 2), 1)], [Call((1, 2), 1)]) == 1


def test_what_came_after_a_row_that_is_given_up_is_not_held() -> None:
    planned = [Call((1, 2), 1), whole((3,))]
    assert held_of(planned, [whole((1, 2)), whole((3,))]) == 1


@given(IDS, IDS, st.integers(1, 4), st.integers(0, 3))
def test_a_beginning_is_the_longest_that_is_common(
    ids: list[int], other: list[int], size: int, spare: int
) -> None:
    # every call was made with more tokens than count
    held = [Call((*call.ids, *(7,) * spare), call.rows) for call in chunks(other, size)]
    common = next(
        (at for at, pair in enumerate(zip(ids, other)) if pair[0] != pair[1]),
        min(len(ids), len(other)),
    )
    found = beginning(held, ids)
    assert rows_of(found) == common
    assert held_of(found, held) == len(found)
