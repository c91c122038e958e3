"""The picture of a graph: chains fold, boxes never overlap, lines join what reads what."""

from __future__ import annotations

import random
from itertools import combinations

import pytest

from photic.cli.graph_boxes import EARLIER, MOST_BOXES, OUTPUT, boxes_of, parts_of
from photic.cli.graph_layout import HEIGHT, WIDTH, layout
from photic.storage.making import GraphNode, Making


def node(op: str, *reads: int, label: str = "") -> GraphNode:
    return GraphNode(op, f"float32[{len(reads)}]", label, reads)


def test_a_chain_is_one_box_and_numbers_stand_in_it() -> None:
    nodes = (
        node("input", label="x"),
        node("constant", label="1.4426950408889634"),
        node("mul", 0, 1),
        node("exp2", 2),
        node("sum", 3, label="axis 0"),
        node("recip", 4),
    )
    source, chain, result = boxes_of(Making(nodes, (("y", 5),)))
    assert (source.first, source.kind) == ("input x", "source")
    assert chain.first == "mul 1.443, exp2, sum axis 0, 1 more"
    assert (chain.kind, chain.reads) == ("reduce", (0,))
    assert "mul 1.4426950408889634" in chain.title and chain.title.count("\n") == 3
    assert (result.kind, result.first, result.reads) == (OUTPUT, "y", (1,))


def test_what_two_read_or_what_is_an_output_ends_a_chain() -> None:
    nodes = (node("input", label="x"), node("exp2", 0), node("sin", 1), node("recip", 1))
    assert [one.first for one in boxes_of(Making(nodes, (("a", 2), ("b", 3))))] == [
        "input x",
        "exp2",
        "sin",
        "recip",
        "a",
        "b",
    ]
    nodes = (node("input", label="x"), node("exp2", 0), node("sin", 1))
    assert [one.first for one in boxes_of(Making(nodes, (("a", 1), ("b", 2))))][1:3] == [
        "exp2",
        "sin",
    ]


def test_a_large_graph_is_cut_into_parts_that_name_what_they_read() -> None:
    count = 3 * MOST_BOXES
    nodes = [node("input", label="x")]
    nodes += [node("add", 0, max(0, k - 1)) for k in range(1, count)]
    parts = parts_of(Making(tuple(nodes), (("y", count - 1),)))
    assert len(parts) == 4  # the last for the output
    for part in parts[1:]:
        stubs = [one for one in part if one.kind == EARLIER]
        assert stubs and all(not one.reads for one in stubs)
        assert stubs == list(part[: len(stubs)])
    for part in parts:
        assert all(read < number for number, one in enumerate(part) for read in one.reads)


def test_nothing_makes_an_empty_drawing() -> None:
    assert parts_of(Making()) == []
    assert layout([]).corners == ()


@pytest.mark.parametrize("seed", range(12))
def test_boxes_never_overlap_and_lines_go_down_from_box_to_box(seed: int) -> None:
    rng = random.Random(seed)
    count = rng.choice([1, 2, 10, 60])
    reads = [
        tuple({rng.randrange(k) for _ in range(rng.randrange(3))}) if k else ()
        for k in range(count)
    ]
    drawn = layout(reads)
    for (x, y), (other, height) in combinations(drawn.corners, 2):
        assert y != height or abs(x - other) >= WIDTH - 1e-6
    for x, y in drawn.corners:
        assert -1e-6 <= x <= drawn.width - WIDTH + 1e-6 and 0 <= y <= drawn.height - HEIGHT
    pairs = [(one, number) for number, ones in enumerate(reads) for one in ones]
    for (upper, lower), line in zip(pairs, drawn.lines, strict=True):
        (x, y), (a, b) = drawn.corners[upper], drawn.corners[lower]
        assert line[0] == pytest.approx((x + WIDTH / 2, y + HEIGHT))
        assert line[-1] == pytest.approx((a + WIDTH / 2, b))
        heights = [height for _, height in line]
        assert heights == sorted(heights)


def test_the_same_boxes_give_the_same_drawing() -> None:
    reads = [(), (), (0, 1), (0,), (2, 3), (1, 4)]
    assert layout(reads) == layout(reads)
