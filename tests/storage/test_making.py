"""How a program came to be, as text: it comes back the same, and what is damaged is refused."""

from __future__ import annotations

import json

import pytest

from photic.storage.making import (
    READERS,
    GraphNode,
    Grown,
    Making,
    Placed,
    Tried,
    making_text,
    parsed_making,
)

MADE = Making(
    (GraphNode("input", "float32[4]", "x", ()), GraphNode("exp2", "float32[4]", "", (0,))),
    (("y", 1),),
    ("k0", "copy a to b"),
    (Placed("t0", 0, 64, 0, 1),),
    (("k0", "abcd0123", "values 0"),),
    (
        Tried("abcd0123", 0, 0.5, 1e-6, "as written", 2, "first", ""),
        Tried("abcd0123", 1, 0.75, None, "values 0", 1, "failed", "refused: ä"),
    ),
    (Grown("abcd0123", 1, 12, "saturated", (("fold", 2),)),),
    (("fold", 2),),
    1,
    2.5,
    "out of time",
)


@pytest.mark.parametrize("made", [Making(), MADE], ids=["nothing", "something"])
def test_it_comes_back_the_same(made: Making) -> None:
    assert parsed_making(making_text(made)) == made


@pytest.mark.parametrize("field", list(READERS))
@pytest.mark.parametrize("value", [None, {}, True, -1, [1], [[]], [["a", -1]], "\x00x"])
def test_a_field_of_another_kind_is_refused(field: str, value: object) -> None:
    table = json.loads(making_text(MADE)) | {field: value}
    if field == "stopped" and isinstance(value, str):
        return  # a text, as it should be
    with pytest.raises(ValueError, match=r"\w"):
        parsed_making(json.dumps(table))


@pytest.mark.parametrize(
    ("nodes", "outputs"),
    [
        ([["exp2", "float32", "", [0]]], []),
        ([["exp2", "float32", "", [1]], ["input", "float32", "x", []]], []),
        ([], [["y", 0]]),
    ],
)
def test_a_graph_that_names_what_is_not_there_is_refused(
    nodes: list[object], outputs: list[object]
) -> None:
    table = json.loads(making_text(Making())) | {"nodes": nodes, "outputs": outputs}
    with pytest.raises(ValueError, match="node"):
        parsed_making(json.dumps(table))


@pytest.mark.parametrize("text", ["", "[]", "{}", "[" * 100_000, '{"nodes": []}'])
def test_what_is_no_such_text_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        parsed_making(text)
