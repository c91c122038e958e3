"""Marks of users' characters. Capitals are users', so a result's letters tell its marks."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from photic.language import marked

# Own characters and users', with spaces and line ends of both.
OWN, USERS = "ab, \n", "AB;\t\r"
TEXT = st.text(OWN + USERS, max_size=12)
PART = st.text(OWN + USERS, min_size=1, max_size=2)


def by_letter(text: str) -> str:
    """``text`` marked as its own characters say."""
    return marked.marked(text, bytes(one in USERS for one in text))


def check(result: object, expected: object) -> None:
    """The text that ``str`` gives, each character still marked as it says."""
    if isinstance(expected, list | tuple):
        assert isinstance(result, list | tuple)
        assert len(result) == len(expected)
        for one, other in zip(result, expected):
            check(one, other)
        return
    assert isinstance(result, str)
    assert str.__str__(result) == expected
    assert marked.marks(result) == bytes(one in USERS for one in result)


@given(TEXT, st.sampled_from([None, "a", "aA", " \t", "\r\n"]))
@pytest.mark.parametrize("name", ["strip", "lstrip", "rstrip"])
def test_trimming_keeps_marks(name: str, text: str, characters: str | None):
    check(getattr(marked, name)(by_letter(text), characters), getattr(text, name)(characters))


@given(TEXT, PART | st.none(), st.integers(-1, 3))
@pytest.mark.parametrize("name", ["split", "rsplit"])
def test_splitting_keeps_marks(name: str, text: str, separator: str | None, count: int):
    expected = getattr(text, name)(separator, count)
    check(getattr(marked, name)(by_letter(text), separator, count), expected)


@given(TEXT, st.booleans())
def test_lines_keep_marks(text: str, keep: bool):
    check(marked.splitlines(by_letter(text), keep), text.splitlines(keep))


@given(TEXT, PART)
@pytest.mark.parametrize("name", ["partition", "rpartition", "removeprefix", "removesuffix"])
def test_cutting_at_a_text_keeps_marks(name: str, text: str, part: str):
    check(getattr(marked, name)(by_letter(text), part), getattr(text, name)(part))


@given(TEXT, PART, TEXT, st.integers(-1, 3))
def test_replacing_keeps_marks(text: str, old: str, new: str, count: int):
    result = marked.replace(by_letter(text), old, by_letter(new), count)
    check(result, text.replace(old, new, count))


@given(TEXT, TEXT)
def test_replacing_nothing_marks_all_or_none(text: str, new: str):
    result = marked.replace(by_letter(text), "", by_letter(new))
    assert result == text.replace("", new)
    assert set(marked.marks(result)) <= {int(any(one in USERS for one in text + new))}


@given(TEXT, st.lists(TEXT, max_size=5))
def test_joining_keeps_marks(separator: str, parts: list[str]):
    result = marked.join(by_letter(separator), [by_letter(one) for one in parts])
    check(result, separator.join(parts))


@given(TEXT, st.integers(-2, 3))
def test_repeating_keeps_marks(text: str, count: int):
    check(marked.repeat(by_letter(text), count), text * count)


@given(TEXT, st.slices(12))
def test_slices_and_characters_keep_marks(text: str, part: slice):
    whole = by_letter(text)
    check(whole[part], text[part])
    check(list(whole), list(text))
    for place in range(-len(text), len(text)):
        check(whole[place], text[place])


@pytest.mark.parametrize("change", [str.upper, str.title, str.swapcase])
def test_changing_case_keeps_marks(change: Callable[[str], str]):
    text = marked.join("", ["ab", marked.users("cd")])
    assert marked.marks(marked.recased(change)(text)) == b"\0\0\1\1"


def test_changing_case_marks_all_where_the_length_changes():
    text = marked.join("", ["a", marked.users("ß")])
    assert marked.marks(marked.recased(str.upper)(text)) == b"\1\1\1"
    assert marked.marks(marked.recased(str.upper)("aß")) == b"\0\0\0"


def test_marked_text_is_the_same_text():
    text = marked.users("role")
    assert text == "role" and {text: 1}["role"] == 1 and hash(text) == hash("role")
    assert str(text) is text


def test_a_character_outside_is_an_index_error():
    with pytest.raises(IndexError):
        marked.users("ab")[2]
