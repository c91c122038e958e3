"""The text form of programs: prints every record, parses back an equal one, refuses the rest."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from functools import cache
from random import Random

import numpy as np
import pytest
from forms.programs import EVERY_STEP, Array
from fuzz.graphs import random_graph
from hypothesis import given, settings
from hypothesis import strategies as st

from photic.base.errors import PhoticError
from photic.forms.errors import BadText
from photic.forms.program_text import parse_program, print_program
from photic.ir import index as form
from photic.ir.dim import Var, data, floordiv, mod, symbol, var
from photic.ir.dtype import FLOAT32, INT64
from photic.ir.graph import Graph, binary, constant_node, operand
from photic.ir.index import Buffer, Expr, Store
from photic.ir.program import Function, Layout, Place, Program
from photic.loops.lower import lower


def arrays(program: Program) -> dict[str, Array]:
    return {name: payload.array for name, payload in program.constants.items()}


def round_trip(program: Program) -> Program:
    return parse_program(print_program(program), arrays(program))


def program_of(store: Store, *parameters: Buffer) -> Program:
    """A program whose only function is one store."""
    return Program((), {}, {"k0": Function("k0", parameters, (store,))}, (), {}, {})


def test_lowered_random_graphs_round_trip() -> None:
    for seed in range(300):
        program = lower(random_graph(seed).graph)
        assert round_trip(program) == program, seed


def test_constants_stand_beside_the_text() -> None:
    value = np.arange(6, dtype=np.float32).reshape(2, 3)
    node = operand(constant_node(value))
    program = lower(Graph((("y", operand(binary("add", node, node))),)))
    assert len(program.constants) == 1
    assert round_trip(program) == program
    assert parse_program(print_program(program), {}) == replace(program, constants={})


def test_values_are_parsed_back_to_the_same_objects() -> None:
    program = lower(random_graph(3).graph)
    again = round_trip(program)
    assert len(program.functions) > 1
    for name, function in program.functions.items():
        pairs = zip(function.stores, again.functions[name].stores, strict=True)
        assert all(one.value is two.value for one, two in pairs)


def test_a_shared_value_is_printed_once() -> None:
    buffer, other = Buffer("p0", (4,), FLOAT32), Buffer("p1", (4,), FLOAT32)
    value = form.load(other, (var("a0", 4),))
    for _ in range(2000):  # 2**2000 values as a tree
        value = form.binary("add", value, value)
    store = Store(buffer, (Var("a0", 4),), (var("a0", 4),), value)
    program = program_of(store, buffer, other)
    assert print_program(program).count("\n") < 2100
    assert round_trip(program) == program


def test_numbers_keep_every_bit() -> None:
    buffer = Buffer("p0", (), FLOAT32)
    for number in (0.1, -0.0, 1e300, 5e-324, float("inf"), float("-inf"), float("nan")):
        program = program_of(Store(buffer, (), (), form.number(number, FLOAT32)), buffer)
        assert round_trip(program) == program


def indices() -> list[Expr]:
    n = symbol("n", 1, 9)
    ids = Buffer("p1", (n,), INT64)
    i = var("a0", n)
    at = data(form.load(ids, (i,)), -5, 7)
    table = Buffer("p2", (n, n), FLOAT32)
    pairs = [(i, at), (floordiv(i + n, 3), mod(i * 5, n)), (at * 2 + i, 3), (at * i, mod(at, 4))]
    return [form.load(table, pair) for pair in pairs]


@pytest.mark.parametrize("value", indices(), ids=str)
def test_indices_with_divisions_and_data_round_trip(value: Expr) -> None:
    n = symbol("n", 1, 9)
    buffer = Buffer("p0", (n,), FLOAT32)
    store = Store(buffer, (Var("a0", n),), (var("a0", n),), value)
    others = sorted(form.buffers_read(store), key=str)
    program = program_of(store, buffer, *others)
    assert round_trip(program) == program


def test_things_of_one_name_are_told_apart() -> None:
    n = symbol("a0", 1, 9)  # a size with the name of a variable, buffers with that of both
    buffer, other = Buffer("a0", (n,), FLOAT32), Buffer("p1", (n, 2), FLOAT32)
    value = form.load(other, (var("a0", n) + n - 1, var("a1", 2)))
    store = Store(buffer, (Var("a0", n), Var("a1", 2)), (var("a0", n),), value)
    assert round_trip(program_of(store, buffer, other)) == program_of(store, buffer, other)


@pytest.mark.parametrize("name", ["x y", "it's", "0", "a\nb", "é", 'b"\\', "model.0.weight", "if"])
def test_names_may_be_any_text(name: str) -> None:
    place = Place(Buffer(f"in_{name}", (2,), FLOAT32), "input", "c:0", Layout(0, 2))
    program = Program((), {f"in_{name}": place}, {}, (), {name: f"in_{name}"}, {})
    assert round_trip(program) == program


HEAD = "b = Buffer('in_x', (2,), float32)\n"
TAIL = "Program((), {}, {}, (), {}, {})\n"


@pytest.mark.parametrize(
    "text, line, problem",
    [
        ("", 1, "no program"),
        ("1 +", 1, "invalid syntax"),
        ("b = 3", 1, "neither"),
        ("import os", 1, "neither"),
        ("b = exec('1')", 1, "no record"),
        ("b = Buffer('in_x', (2,), float33)", 1, "not of type"),
        ("b = Buffer('in_x', 2, float32)", 1, "not of type"),
        ("b = Buffer(in_x, (2,), float32)", 1, "not of type"),
        ("b = Buffer('in_x', (2,))", 1, "no record"),
        ("b = Buffer('in_x', (n,), float32)", 1, "not a size"),
        ("n = Symbol('n', 1, True)", 1, "not of type"),
        ("n = Symbol('n', 1, 2.0)", 1, "not of type"),
        (HEAD + "Program((), {'in_x': b}, {}, (), {})", 2, "not of type"),
        (
            HEAD + "Program((), {'in_x': Place(b, 'inputs', 'c', Layout(0, 1))}, {}, (), {})",
            2,
            "type",
        ),
        (HEAD + "Program((), {3: Place(b, 'input', 'c', Layout(0, 1))}, {}, (), {})", 2, "type"),
        ("Program((), {}, {}, (Kernel('k0', 'x'),), {})", 1, "not of type"),
        ("Program((), {}, {}, (Copy('x', 3),), {})", 1, "not of type"),
        ("Program((), {}, {}, (Layout(0, 1),), {})", 1, "not of type"),
        ("Program((), {}, {}, (Collective('mean', ('x',)),), {})", 1, "not of type"),
        ("Program((), {}, {}, (), {})\nLayout(0, 1)", 1, "no program"),
    ],
)
def test_bad_text_is_refused_with_its_line(text: str, line: int, problem: str) -> None:
    with pytest.raises(BadText, match=problem) as caught:
        parse_program(text, {})
    assert caught.value.fields["line"] == line


def test_deep_nesting_is_refused_and_does_not_crash() -> None:
    text = f"Program((), {{}}, {{}}, {'(' * 5000}{')' * 5000}, {{}})"
    with pytest.raises(BadText):
        parse_program(text, {})
    branch = "Branch('x', (" * 80 + "),())" * 80
    with suppress(BadText):
        parse_program(f"Program((), {{}}, {{}}, ({branch},), {{}})", {})


@cache
def texts() -> tuple[str, ...]:
    return (EVERY_STEP, *(print_program(lower(random_graph(seed).graph)) for seed in range(40)))


PIECES = [
    "(",
    ")",
    ",",
    "[",
    "]",
    "0",
    "-1",
    "v0",
    "a0",
    "n",
    "'",
    "\n",
    " ",
    "=",
    "//",
    "Program(",
]


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 2**32))
def test_mutated_text_raises_only_errors_of_ours(seed: int) -> None:
    random = Random(seed)
    text = random.choice(texts())
    for _ in range(random.randint(1, 3)):
        start = random.randrange(len(text) + 1)
        end = min(len(text), start + random.choice([0, 0, 1, 2, 10]))
        text = text[:start] + random.choice([*PIECES, text[end : end + 9]]) + text[end:]
    with suppress(PhoticError):
        parse_program(text, {})
