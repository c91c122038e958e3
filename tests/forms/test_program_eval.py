"""A program means the same to the evaluator, after text, and as C: every step, and a recurrence."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest
from forms.programs import COLLECTIVE, EVERY_STEP, Array, every_step

from photic.compiler.passes import Compilation
from photic.forms import eval as meaning
from photic.forms.graph_check import check_graph
from photic.forms.program_check import check_program
from photic.forms.program_eval import evaluate_program
from photic.forms.program_text import parse_program, print_program
from photic.ir.dim import symbol
from photic.ir.dtype import DTYPES, FLOAT32, DType
from photic.ir.graph import Graph, binary, input_node, operand, reduce, scan, state_node
from photic.ir.program import Branch, Collective, Copy, Kernel, Program, Repeat, all_steps
from photic.loops.lower import lower
from photic.targets.combine import combined
from photic.targets.registry import target_named
from photic.tensor.artifacts import finished, make_artifact
from photic.tensor.program import Program as Compiled

X = np.array([1.5, -2.0, 3.0, 0.0, -0.5], np.float32)
H = np.array([1.0, -1.0, 0.25], np.float32)


def compiled(program: Program) -> Compiled:
    target = target_named("c")
    state = Compilation(Graph(()), target, target.machine(), combined(program))
    artifact = finished(state)
    return Compiled(artifact, target.load(target.build(artifact.source)))


def test_the_program_of_every_step_is_printed_as_it_was_parsed_and_sound() -> None:
    program = parse_program(EVERY_STEP, {})
    assert print_program(program) == EVERY_STEP
    kinds = {type(step) for step in all_steps(program.steps)}
    assert kinds == {Kernel, Copy, Repeat, Branch, Collective}
    check_program(program)


@pytest.mark.parametrize("flag", [True, False])
@pytest.mark.parametrize("n", [0, 1, 5])
def test_every_step_means_the_same_to_the_evaluator_and_in_c(flag: bool, n: int) -> None:
    program, x = parse_program(EVERY_STEP, {}), X[:n]
    y, h = every_step(x, flag, H)
    inputs = {"x": x, "flag": np.array(flag)}
    outputs, states = evaluate_program(program, inputs, {"h": H}, {"n": n}, widen=False)
    run = compiled(program)
    run.states["h"][...] = H
    for got, after in ((outputs, states), (run(**inputs), run.states)):
        assert np.array_equal(got["y"], y)
        assert np.array_equal(got["z"], y)
        assert np.array_equal(after["h"], h)


def test_what_an_evaluation_returns_shares_storage_with_nothing() -> None:
    program, x, h = parse_program(EVERY_STEP, {}), X.copy(), H.copy()
    inputs = {"x": x, "flag": np.array(True)}
    outputs, states = evaluate_program(program, inputs, {"h": h}, {"n": 5}, widen=False)
    for array in (*outputs.values(), *states.values()):
        array[...] = 7
    assert np.array_equal(x, X)
    assert np.array_equal(h, H)


def test_a_state_that_is_not_given_is_zeros_and_widened_floats_are_float64() -> None:
    program = parse_program(EVERY_STEP, {})
    inputs = {"x": X.astype(np.float64), "flag": np.array(True)}
    outputs, states = evaluate_program(program, inputs, {}, {"n": 5}, widen=True)
    assert outputs["y"].dtype == states["h"].dtype == np.float64
    assert np.array_equal(states["h"], [3, 3, 3])


def random_array(dtype: DType, seed: int) -> Array:
    random = np.random.default_rng(seed)
    return random.integers(0, 2 if dtype.kind == "bool" else 100, (5, 2)).astype(dtype.numpy)


@pytest.mark.parametrize("op", ["sum", "max"])
@pytest.mark.parametrize("dtype", DTYPES.values(), ids=str)
def test_a_collective_gives_every_buffer_the_combination_of_all(dtype: DType, op: str) -> None:
    text = COLLECTIVE.replace("DTYPE", dtype.name).replace("OP", op)
    program = parse_program(text, {})
    check_program(program)
    inputs = {name: random_array(dtype, seed) for seed, name in enumerate("xyz")}
    whole = np.stack([one.astype(np.float64) for one in inputs.values()])
    if dtype.kind == "bool":
        want: Array = whole.any(axis=0)
    else:
        want = (whole.sum(axis=0) if op == "sum" else whole.max(axis=0)).astype(np.int64)
        want = want.astype(dtype.numpy)  # integers wrap; sums of halves below 300 are exact
    for outputs in (
        evaluate_program(program, inputs, {}, {}, widen=False)[0],
        compiled(program)(**inputs),
    ):
        for got in outputs.values():
            assert got.dtype == dtype.numpy
            assert np.array_equal(got, want)


# --- a recurrence ---------------------------------------------------------------------------


def recurrence() -> Graph:
    """Two steps of ``h = h*w + x[t]``: both, and the sum of the last; h is kept between calls."""
    x, w = input_node("x", (2, 3), FLOAT32), input_node("w", (3,), FLOAT32)
    state = state_node("h", (3,), FLOAT32)
    slot, row = input_node("slot", (3,), FLOAT32), input_node("row", (3,), FLOAT32)
    scaled = binary("mul", operand(slot), operand(w))
    following = operand(binary("add", operand(scaled), operand(row)))
    last, stacked = scan(2, [operand(state)], [operand(x)], [slot], [row], [following, following])
    total = reduce("sum", operand(last), 0)
    outputs = (("steps", operand(stacked)), ("total", operand(total)))
    return Graph(outputs, ((state, operand(last)),))


def test_a_recurrence_means_the_same_as_graph_as_program_after_text_and_in_c() -> None:
    graph = recurrence()
    check_graph(graph)
    program = lower(graph)
    check_program(program)
    again = parse_program(print_program(program), {})
    assert again == program
    target = target_named("c")
    artifact = make_artifact(graph, target)
    run = Compiled(artifact, target.load(target.build(artifact.source)))
    whole = compiled(program)
    states: Mapping[str, Array] = {"h": H}
    run.states["h"][...] = whole.states["h"][...] = H
    random = np.random.default_rng(0)
    for _ in range(3):
        inputs = {
            "x": random.normal(size=(2, 3)).astype(np.float32),
            "w": random.normal(size=3).astype(np.float32),
        }
        want, after = meaning.evaluate(graph, inputs, states, {}, widen=False)
        first = states["h"] * inputs["w"] + inputs["x"][0]
        assert np.array_equal(want["steps"], [first, first * inputs["w"] + inputs["x"][1]])
        results = [
            evaluate_program(again, inputs, states, {}, widen=False),
            (run(**inputs), run.states),
            (whole(**inputs), whole.states),
        ]
        for outputs, kept in results:
            assert np.array_equal(outputs["steps"], want["steps"])
            assert np.array_equal(kept["h"], after["h"])
            # three terms, in any order: within two roundings of the largest partial sum
            room = 2 * np.spacing(np.abs(after["h"]).sum())
            assert abs(outputs["total"] - want["total"]) <= room
        states = after


@pytest.mark.parametrize(
    "name", ["left", "int", "a0", "k0", "v0", "p0", "item", "end", "buffers", "sizes", "begin"]
)
def test_a_size_may_have_any_name(name: str) -> None:
    size = symbol(name, 1, 9)
    x = operand(input_node("x", (size, 3), FLOAT32))
    graph = Graph((("y", operand(reduce("sum", operand(binary("mul", x, x)), 0))),))
    array = np.arange(15, dtype=np.float32).reshape(5, 3)
    target = target_named("c")
    artifact = make_artifact(graph, target)
    run = Compiled(artifact, target.load(target.build(artifact.source)))
    assert np.array_equal(run(x=array)["y"], (array * array).sum(axis=0))
