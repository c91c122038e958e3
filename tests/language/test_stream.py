"""Streaming text: whole characters, held-back stops, and independence of the tokens' borders."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from photic.language.errors import BadSampling
from photic.language.stream import TextStream


def stream_of(pieces: list[bytes], stops: list[str]) -> tuple[list[str], TextStream]:
    """What each of ``pieces``, fed as a token of its own, and the end give out."""
    stream = TextStream(lambda token: pieces[token], stops)
    given = [stream.feed(token) for token in range(len(pieces))]
    return [*given, stream.finish()], stream


def first_stop(text: str, stops: list[str]) -> str:
    """``text`` before the stop that is complete first, by trying every ending in turn."""
    for end in range(len(text) + 1):
        ending = [stop for stop in stops if text[:end].endswith(stop)]
        if ending:
            return text[: end - max(len(stop) for stop in ending)]
    return text


@st.composite
def cut_bytes(draw: st.DrawFn, data: st.SearchStrategy[bytes]) -> list[bytes]:
    whole = draw(data)
    places = sorted(draw(st.lists(st.integers(0, len(whole)), max_size=20)))
    return [whole[a:b] for a, b in zip([0, *places], [*places, len(whole)])]


LETTERS = st.text("abé👍", max_size=30)
BROKEN = st.lists(st.sampled_from([b"a", b"\xff", b"\xf0\x9f", b"\x91", b"\xc3\xa9", b"\xe2\x82"]))


@given(cut_bytes(LETTERS.map(str.encode)), st.lists(st.text("abé", min_size=1, max_size=4)))
def test_pieces_join_to_the_text_before_the_first_stop(pieces: list[bytes], stops: list[str]):
    given_out, stream = stream_of(pieces, stops)
    text = b"".join(pieces).decode()
    assert "".join(given_out) == first_stop(text, stops)
    assert (stream.stop is not None) == (first_stop(text, stops) != text or text in stops)


@given(cut_bytes(BROKEN.map(b"".join) | st.binary(max_size=40)))
def test_broken_bytes_join_to_what_decoding_them_at_once_gives(pieces: list[bytes]):
    given_out, _ = stream_of(pieces, [])
    assert "".join(given_out) == b"".join(pieces).decode("utf-8", errors="replace")


@given(cut_bytes(LETTERS.map(str.encode)), st.lists(st.text("abé", min_size=1, max_size=4)))
def test_all_is_shown_but_the_longest_ending_that_begins_a_stop(
    pieces: list[bytes], stops: list[str]
):
    stream = TextStream(lambda token: pieces[token], stops)
    shown = ""
    for token in range(len(pieces)):
        shown += stream.feed(token)
        if stream.stop is not None:
            return
        text = b"".join(pieces[: token + 1]).decode(errors="ignore")
        endings = [text[start:] for start in range(len(text))]
        held = [one for one in endings if any(stop.startswith(one) for stop in stops)]
        assert shown == text.removesuffix(max(held, key=len, default=""))


@pytest.mark.parametrize(
    ("pieces", "stops", "expected"),
    [
        (["one", " two", " three"], [" two"], ["one", "", "", ""]),
        (["one t", "wo", " three"], ["two"], ["one ", "", "", ""]),
        (["one t", "wist"], ["two"], ["one ", "twis", "t"]),
        (["ends on t"], ["two"], ["ends on ", "t"]),
        (["aa", "b"], ["aab"], ["", "", ""]),
        (["aa", "ab", "c"], ["aab"], ["", "a", "", ""]),
        (["before<end>after", "more"], ["<end>"], ["before", "", ""]),
        (["xab", "cd"], ["abc", "ab"], ["x", "", ""]),
        (["xab", "cd", "e"], ["abcde", "bcd"], ["x", "a", "", ""]),
        (["abcde"], ["abcde", "bcd"], ["a", ""]),
        (["xabc"], ["c", "abc"], ["x", ""]),
    ],
)
def test_stop_is_found_wherever_tokens_are_cut(
    pieces: list[str], stops: list[str], expected: list[str]
):
    assert stream_of([piece.encode() for piece in pieces], stops)[0] == expected


def test_the_stop_that_was_found_is_named():
    _, stream = stream_of([b"a User:", b" b"], ["Bot:", "User:"])
    assert stream.stop == "User:"


def test_empty_stop_is_refused():
    with pytest.raises(BadSampling, match="stop is an empty text"):
        TextStream(lambda token: b"", ["a", ""])


def test_tokens_without_text_change_nothing():
    assert stream_of([b"\xf0\x9f", b"", b"\x91\x8d", b""], ["x"])[0] == ["", "", "👍", "", ""]
