"""The text form: prints every kind of node, parses back to the same nodes, refuses the rest."""

from __future__ import annotations

import ast
from contextlib import suppress
from functools import cache
from random import Random

import numpy as np
import pytest
from fuzz.graphs import random_graph
from fuzz.sizes import ATOMS, PAIRS, Pair
from hypothesis import given, settings
from hypothesis import strategies as st

from photic.base.errors import PhoticError
from photic.forms.errors import BadText
from photic.forms.graph_text import (
    NAMED_FROM,
    constants_of,
    parse_dim,
    parse_graph,
    print_graph,
    shape_text,
    type_text,
)
from photic.forms.movement import pad
from photic.ir.dim import Dim, Symbol, floordiv, mod, symbol, var
from photic.ir.dtype import DTYPES, FLOAT32, FLOAT64, INT64, DType
from photic.ir.graph import (
    Graph,
    Node,
    Operand,
    Payload,
    binary,
    constant_node,
    input_node,
    operand,
    scan,
    state_node,
)
from photic.ir.view import identity

SYMBOLS = {"n": Symbol("n", 1, 7), "m": Symbol("m", 0, 5)}
EXTENTS: dict[str, Dim] = {"i0": 4, "i1": ATOMS["n"], "i2": 3 * ATOMS["n"]}
N = symbol("n", 1, 7)

EXAMPLE = """\
n = size(1, 7)
v0: float32[4] = state('h')
v1: float32[n, 4] = input('x')
v2: float32[4] = constant([0.5, -0.0, 1e999, 1.0])
v3: float32[n, 4] = add(v1, v2.view(shape=(n, 4), index=(i1,)))
with scan(n) as v4:
    v5: float32[4] = carried('total', v0)
    v6: float32[4] = sliced('row', v3)
    v7: float32[4] = add(v5, v6)
    give(v7)
    give(v7)
v8: float32[n, 4] = item(v4, 1)
v9: float32[4] = item(v4, 0)
output('y', v8.view(shape=(1 + n, 4), index=(-1 + i0, i1), bounds=((-1 + i0, n),)))
update(v0, v9)
"""


def round_trip(graph: Graph) -> Graph:
    return parse_graph(print_graph(graph), constants_of(graph))


def test_the_example_is_printed_as_it_was_parsed() -> None:
    graph = parse_graph(EXAMPLE, {})
    assert print_graph(graph) == EXAMPLE
    assert graph.outputs[0][1].shape == (N + 1, 4)
    assert graph.updates[0][0].op == "state"


# --- sizes ----------------------------------------------------------------------------------


@settings(max_examples=250, deadline=None)
@given(PAIRS)
def test_a_size_is_parsed_back_to_itself(pair: Pair) -> None:
    assert parse_dim(str(pair.dim), SYMBOLS, EXTENTS) == pair.dim


@pytest.mark.parametrize(
    "text",
    ["", "k", "n +", "n ** 2", "n / 2", "n // 0", "n % 0", "1.5", "'n'", "f(n)", "True", "n\nn"],
)
def test_what_is_no_size_is_refused(text: str) -> None:
    with pytest.raises(BadText):
        parse_dim(text, SYMBOLS, EXTENTS)


def test_deep_nesting_is_refused_and_does_not_crash() -> None:
    for text in ("(" * 5000 + "n" + ")" * 5000, "-" * 100_000 + "n", "n + " * 50_000 + "n"):
        with pytest.raises(BadText):
            parse_graph(f"v0: float32[{text}] = input('x')\n", {})


def test_shapes_and_types_print_as_python() -> None:
    assert (shape_text(()), shape_text((N,)), shape_text((N, 2))) == ("()", "(n,)", "(n, 2)")
    assert type_text(FLOAT32, ()) == "float32"
    assert type_text(FLOAT64, (N, N * 2 - 1)) == "float64[n, -1 + 2*n]"


# --- constants ------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES.values(), ids=str)
@pytest.mark.parametrize("shape", [(), (3,), (2, 0), (2, 2), (NAMED_FROM,)])
def test_constants_keep_every_bit(dtype: DType, shape: tuple[int, ...]) -> None:
    random = np.random.default_rng(1)
    raw = random.integers(0, 256, int(np.prod(shape)) * dtype.bytes, np.uint8).tobytes()
    array = np.frombuffer(raw, dtype.numpy if dtype.name != "bool" else np.uint8)
    array = (array % 2 == 1 if dtype.name == "bool" else array).reshape(shape)
    graph = Graph((("c", operand(constant_node(array))),))
    back = round_trip(graph)
    assert back == graph
    payload = back.outputs[0][1].node.attribute
    assert isinstance(payload, Payload)
    assert payload.array.tobytes() == array.tobytes()


def test_special_numbers_print_readably_and_a_nan_as_bytes() -> None:
    def text(items: list[float]) -> str:
        return print_graph(Graph((("c", operand(constant_node(np.array(items, np.float32)))),)))

    assert "constant([1e999, -1e999, -0.0, 0.5])" in text([np.inf, -np.inf, -0.0, 0.5])
    assert "constant(b'" in text([np.nan])


def test_large_constants_are_named_and_stand_beside_the_text() -> None:
    arrays = [np.arange(1000.0), np.zeros(NAMED_FROM, np.int32), np.zeros(NAMED_FROM, np.float32)]
    nodes = [constant_node(one) for one in arrays]
    graph = Graph(tuple((f"y{k}", operand(node)) for k, node in enumerate(nodes)))
    assert list(constants_of(graph)) == ["c0", "c1", "c2"]
    assert "v1: int32[64] = constant(c1)" in print_graph(graph)
    assert round_trip(graph) == graph
    with pytest.raises(BadText, match="no constant 'c0'"):
        parse_graph(print_graph(graph), {})
    with pytest.raises(BadText, match="not float64"):
        parse_graph(print_graph(graph), {**constants_of(graph), "c0": np.zeros(999)})


# --- graphs ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["x y", "it's", "0", "a\nb", "é", 'b"\\', "model.0.weight"])
def test_names_may_be_any_text(name: str) -> None:
    state = state_node(name, (2,), FLOAT32)
    value = operand(binary("add", operand(state), operand(input_node(name, (2,), FLOAT32))))
    graph = Graph(((name, value),), ((state, value),))
    assert round_trip(graph) == graph


def test_views_with_divisions_and_bounds_round_trip() -> None:
    x = input_node("x", (N, 6), INT64)
    view = pad(identity((N, 6)), 1, N, 3)
    flat = var("i0", N * 12)
    odd = type(view)((N * 12,), (floordiv(flat, 12), floordiv(mod(flat, 12), 2)), ())
    graph = Graph((("y", Operand(x, view)), ("z", Operand(x, odd))))
    assert round_trip(graph) == graph


def nested_scans(depth: int) -> Node:
    """A scan in a scan in a scan: each adds what the one around it carries."""

    def level(outer: Operand, left: int) -> Operand:
        slot = input_node(f"slot{left}", (2,), FLOAT32)
        following = operand(binary("add", operand(slot), outer))
        if left:
            following = level(following, left - 1)
        return operand(scan(N, [outer], [], [slot], [], [following])[0])

    return level(operand(input_node("x", (2,), FLOAT32)), depth).node


def test_scans_within_scans_round_trip() -> None:
    graph = Graph((("y", operand(nested_scans(4))),))
    assert print_graph(graph).count("with scan(n)") == 5
    assert round_trip(graph) == graph


def test_the_text_does_not_depend_on_the_order_in_which_nodes_were_built() -> None:
    text = print_graph(Graph((("y", operand(nested_scans(2))),)))
    early = [parse_graph(text, {}) for _ in range(2)]
    assert print_graph(early[0]) == print_graph(early[1]) == text


def test_a_deep_graph_is_printed_and_parsed() -> None:
    value = operand(input_node("x", (2,), FLOAT32))
    for _ in range(3000):
        value = operand(binary("add", value, value))
    graph = Graph((("y", value),))
    assert round_trip(graph) == graph


BROKEN = [
    ("v1: float32[4] = input('x')\nv1: float32[4] = input('z')", 2, "taken"),
    ("v1: float32[3] = exp2(v0)", 1, "not a value defined above"),
    ("v0: float32[3] = input('x')\nv1: float32[4] = exp2(v0)", 2, r"not float32\[4\]"),
    ("v0: float32[3] = input('x')\nv1: int32[3] = exp2(v0)", 2, r"not int32\[3\]"),
    ("v0: float32[3] = input('x')\nv1: float32 = sum(v0, axis=1)", 2, "not a value"),
    ("v0: float32[3] = input('x')\nv1: float32 = sum(v0)", 2, "not a value"),
    ("v0: float32[3] = tanh('x')", 1, "not a value"),
    ("v0: float31[3] = input('x')", 1, "not a type"),
    ("v0: float32[k] = input('x')", 1, "not a size"),
    ("v0: float32[3] = input(x)", 1, "not of type str"),
    ("v0: float32[3] = constant([1.0, 2.0])", 1, "reshape"),
    ("v0: uint8[1] = constant([300])", 1, "out of bounds"),
    ("v0: int32[1] = constant([0.5])", 1, "not a list of int32"),
    ("v0: bool[1] = constant([1])", 1, "not a list of bool"),
    ("v0: float32[1] = constant(b'abc')", 1, "buffer size"),
    ("v0: float32[3] = input('x')\noutput('y', v0.view(shape=(3,)))", 2, "not a value"),
    ("v0: float32[3] = input('x')\noutput('y', v0.view(shape=(3,), index=()))", 2, "0 indices"),
    ("v0: float32[3] = input('x')\noutput('y', v0.view(shape=(3,), index=(i1,)))", 2, "not a size"),
    ("v0: float32[3] = input('x')\nupdate(v0.view(shape=(3,), index=(i0,)))", 2, "neither"),
    ("n = size(5, 2)", 0, "range"),
    ("n = size(1, 2)\nn = size(1, 3)", 2, "neither"),
    ("i0 = size(1, 2)", 0, "name"),
    ("with scan(3) as v0:\n    give(v1)", 2, "not a value defined above"),
    (
        "v0: float32 = input('x')\nwith scan(3) as v1:\n    v2: float32 = carried('c', v0)",
        2,
        "scan",
    ),
    ("v0: float32[2] = input('x')\nv1: float32 = item(v0, 0)", 2, "not a value"),
    ("import os", 1, "neither"),
    ("output('y', __import__('os'))", 1, "not a value"),
    ("v0: float32[3] = input('x'", 1, "never closed"),
    ("v0: float32[3] = input('\0')", 1, "null"),
    ("  v0: float32[3] = input('x')", 1, "indent"),
]


@pytest.mark.parametrize("text, line, problem", BROKEN, ids=[row[0][-40:] for row in BROKEN])
def test_bad_text_is_refused_with_its_line(text: str, line: int, problem: str) -> None:
    with pytest.raises(PhoticError, match=problem) as caught:
        parse_graph(text, {})
    if isinstance(caught.value, BadText):
        assert caught.value.fields["line"] == line


@cache
def texts() -> tuple[str, ...]:
    return tuple(print_graph(random_graph(seed).graph) for seed in range(60))


PIECES = ["(", ")", ",", "[", "]", "0", "-1", "v0", "i0", "n", "'", "\n", " ", ":", "=", "//", "b'"]


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 2**32))
def test_mutated_text_raises_only_errors_of_ours(seed: int) -> None:
    random = Random(seed)
    text = random.choice(texts())
    for _ in range(random.randint(1, 3)):
        start = random.randrange(len(text) + 1)
        end = min(len(text), start + random.choice([0, 0, 1, 2, 10]))
        text = text[:start] + random.choice([*PIECES, text[end : end + 9]]) + text[end:]
    with suppress(PhoticError):
        parse_graph(text, {})


def test_parsing_runs_nothing_of_the_text(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*given_: object) -> None:
        raise AssertionError(f"ran {given_}")

    monkeypatch.setattr("builtins.eval", refuse)
    monkeypatch.setattr("builtins.exec", refuse)
    assert isinstance(ast.parse(EXAMPLE), ast.Module)
    assert print_graph(parse_graph(EXAMPLE, {})) == EXAMPLE
