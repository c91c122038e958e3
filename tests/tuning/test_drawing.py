"""What is drawn first: each way where nothing is known, else the likeliest option."""

from __future__ import annotations

import random
from collections.abc import Sequence

from photic.search.choosing import Choose
from photic.search.tree import Drawn, Tree
from photic.tuning.drawing import Likely, drawing, tree_search


def built(choose: Choose) -> tuple[str, ...]:
    """Two choices of which nothing is known, the second only after one of the first."""
    made: list[str] = []

    def take(key: str, options: Sequence[str]) -> str:
        made.append(options[choose(key, options)])
        return made[-1]

    if take("kernels", ["a", "b"]) == "b":
        take("innermost", ["x", "y", "z"])
    take("tile x", ["1", "64", "512"])
    take("v lanes", ["best", "other"])
    take("plan", ["Loop x", "Then 1", "Then 2"])
    take("plan/x", ["Tile 0", "Loop x"])
    return tuple(made)


def test_each_way_is_taken_once_where_options_are_alike_and_the_likeliest_elsewhere() -> None:
    found = [built(one) for one in Likely(99)]
    rest = ("64", "best", "Loop x", "Tile 0")
    assert found == [("a", *rest), *(("b", one, *rest) for one in "xyz")]


def test_no_more_are_drawn_than_said() -> None:
    assert len([built(one) for one in Likely(2)]) == 2


def test_the_search_begins_with_the_likeliest_and_walks_on_from_them() -> None:
    def described(made: object) -> tuple[str, float]:
        return str(made), 1.0 if made == ("b", "z", "64", "best", "Loop x", "Tile 0") else 2.0

    draw = drawing(built, described)
    drawn = tree_search(random.Random(0)).propose(draw)
    assert isinstance(drawn, Drawn) and drawn.predicted_seconds == 1.0
    assert Tree(random.Random(0)).propose(draw) is not None  # without any, it walks at once
