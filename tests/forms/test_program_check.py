"""The checker of programs finds each planted fault; lowered graphs pass and mean the same."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from forms.programs import EVERY_STEP
from fuzz.graphs import RandomCase, random_graph

from photic.forms.errors import BrokenGraph
from photic.forms.program_check import check_program
from photic.forms.program_eval import evaluate_program
from photic.forms.program_text import parse_program
from photic.ir import index as form
from photic.ir.dim import Dim, Symbol, Var, data, floordiv, mod, symbol, var
from photic.ir.dtype import BOOL, FLOAT32, FLOAT64, INT64
from photic.ir.graph import Graph, constant_node, operand, payload_of
from photic.ir.index import Access, Buffer, Expr, Literal, Over, Position, Store
from photic.ir.program import ROW_MAJOR, Function, Kernel, Place, Program, Repeat
from photic.loops.lower import lower

SEEDS = range(400)


@cache
def cases() -> tuple[tuple[RandomCase, Program], ...]:
    found = [random_graph(seed) for seed in SEEDS]
    return tuple((one, lower(one.graph)) for one in found)


def test_lowered_random_graphs_pass() -> None:
    for _, program in cases():
        check_program(program)


def test_lowered_random_graphs_mean_what_the_graphs_mean() -> None:
    for case, program in cases():
        got = evaluate_program(program, case.inputs, case.states, case.sizes, widen=False)
        assert case.faults(*got) == []


# --- steps and places: faults planted in the text -----------------------------------------------

PLANTED = [
    ("Copy('out_y', 't1')", "Copy('out_y', 't9')", "does not exist"),
    ("Kernel('k0', ('t0', 'in_x'))", "Kernel('k9', ('t0', 'in_x'))", "does not exist"),
    ("Kernel('k0', ('t0', 'in_x'))", "Kernel('k0', ('t0', 'in_flag'))", "arguments differ"),
    ("Kernel('k0', ('t0', 'in_x'))", "Kernel('k0', ('t0', 'state_h'))", "arguments differ"),
    ("Kernel('k0', ('t0', 'in_x'))", "Kernel('k0', ('t0',))", "arguments differ"),
    ("Kernel('k0', ('t0', 'in_x'))", "Kernel('k0', ('t0', 't0'))", "stands twice"),
    ("Kernel('k0', ('t0', 'in_x'))", "Kernel('k0', ('t0', 't1'))", "'t1'.*before it is written"),
    ("Kernel('k0', ('t0', 'in_x')),", "", "'t0'.*before it is written"),
    ("Kernel('k0', ('t0', 'in_x'))", "Kernel('k0', ('in_x', 't0'))", "before it is written"),
    ("Kernel('k1', ('t1', 'in_x'))", "Kernel('k1', ('in_x', 't0'))", "must not be written"),
    ("Copy('out_y', 't1')", "Copy('out_y', 'state_h')", "differ"),
    ("Copy('out_y', 't1'),", "", "never written"),
    ("{'y': 'out_y'", "{'y': 'out_x'", "never written"),
    ("Collective('sum', ('t0', 't1'))", "Collective('sum', ('t0', 'state_h'))", "differ"),
    ("Collective('sum', ('t0', 't1'))", "Collective('sum', ('t0', 'in_x'))", "must not be"),
    ("Collective('sum', ('t0', 't1'))", "Collective('sum', ('t0', 't0'))", "stands twice"),
    ("Collective('sum', ('t0', 't1'))", "Collective('sum', ())", "or none"),
    ("            'in_flag',", "            't0',", "not one bool"),
    ("            'in_flag',", "            't7',", "before it is written"),
    ("Repeat(trip, 3", "Repeat(trip, 4", "does not hold"),
    ("Repeat(trip, 3", "Repeat(trip, n", "does not hold"),
    ("Repeat(trip, 3", "Repeat(n, 3", "name is taken"),
    ("Repeat(trip, 3", "Repeat(trip, trip", "trips are unknown"),
    ("Symbol('trip', 0, 2)", "Symbol('trip', 1, 3)", "does not hold"),
    ("Repeat(trip, 3, (Kernel('k2', ('state_h',)),))", "Kernel('k2', ('state_h',))", "unknown"),
    ("    (n,),", "    (),", "no size"),
    ("    (n,),", "    (n, n),", "taken"),
    ("'in_x': Place(in_x", "'in_y': Place(in_x", "name"),
    ("Place(in_x, 'input', 'c:0'", "Place(in_x, 'output', 'c:0'", "name"),
    ("Place(t1, 'temporary', 'c:0'", "Place(t1, 'constant', 'c:0'", "array"),
    ("Place(t1, 'temporary', 'c:0'", "Place(t1, 'temporary', 'c:1'", "several devices"),
    (
        "Place(t1, 'temporary', 'c:0', Layout(0, 1)",
        "Place(t1, 'temporary', 'c:0', Layout(0, 4)",
        "",
    ),
    (
        "Place(t1, 'temporary', 'c:0', Layout(0, 1)",
        "Place(t1, 'temporary', 'c:0', Layout(1, 1)",
        "",
    ),
    (
        "Place(t1, 'temporary', 'c:0', Layout(0, 1)",
        "Place(t1, 'temporary', 'c:0', Layout(0, 0)",
        "",
    ),
]


@pytest.mark.parametrize("old, new, problem", PLANTED, ids=[row[1] or row[0] for row in PLANTED])
def test_a_fault_in_a_step_or_a_place_is_found(old: str, new: str, problem: str) -> None:
    assert old in EVERY_STEP
    with pytest.raises(BrokenGraph, match=f"program check failed.*{problem}"):
        check_program(parse_program(EVERY_STEP.replace(old, new), {}))


def test_what_only_one_side_of_a_branch_writes_is_not_written() -> None:
    text = EVERY_STEP.replace("Copy('out_z', 't0'),", "")
    text = text.replace("(Collective('max', ('t0', 't1')),)", "(Copy('out_z', 't0'),)")
    with pytest.raises(BrokenGraph, match="never written"):
        check_program(parse_program(text, {}))


@pytest.mark.parametrize("array", [np.zeros(3), np.zeros(2, np.float32), None])
def test_a_constant_whose_array_does_not_fit_is_found(array: np.ndarray | None) -> None:
    program = lower(Graph((("y", operand(constant_node(np.zeros(3, np.float32)))),)))
    check_program(program)
    (name,) = program.constants
    held = {} if array is None else {name: payload_of(array)}
    with pytest.raises(BrokenGraph, match="array"):
        check_program(replace(program, constants=held))


# --- stores -------------------------------------------------------------------------------------

N, TRIP = symbol("n", 0, 9), symbol("t", 0, 8)
Y, X = Buffer("p0", (N, 4), FLOAT32), Buffer("p1", (N, 4), FLOAT32)
ROW, IDS = Buffer("p2", (4,), FLOAT32), Buffer("p3", (N, 4), INT64)
MASK = Buffer("p4", (N, 4), BOOL)
BUFFERS = (Y, X, ROW, IDS, MASK)
A, B = Var("a0", N), Var("a1", 4)
I, J = var("a0", N), var("a1", 4)
K = Var("k0", 4)
ZERO = form.zero(FLOAT32)


def program_of(store: Store) -> Program:
    """A program that does one store inside a loop of ``n`` trips over ``t``."""
    names = {"p0": "state_y", "p1": "in_x", "p2": "in_row", "p3": "in_ids", "p4": "in_mask"}
    places: dict[str, Place] = {}
    for one in BUFFERS:
        buffer = replace(one, name=names[one.name])
        places[buffer.name] = Place(buffer, "state" if one is Y else "input", "c:0", ROW_MAJOR)
    functions = {"k0": Function("k0", BUFFERS, (store,))}
    loop = Repeat(Symbol("t", 0, 8), N, (Kernel("k0", tuple(names.values())),))
    return Program((Symbol("n", 0, 9),), places, functions, (loop,), {"y": "state_y"}, {})


def stored(value: Expr, index: tuple[Dim, ...] = (I, J), axes: tuple[Var, ...] = (A, B)) -> Store:
    return Store(Y, axes, index, value)


def loaded(*index: Dim) -> Expr:
    return form.load(X, index)


def where(condition: Expr, yes: Expr, no: Expr = ZERO) -> Expr:
    return form.select(condition, yes, no)


AT = data(form.load(IDS, (I, J)), -(2**63), 2**63 - 1)
SHIFTED = form.load(MASK, (I - 1, J))
LEFT = form.less(0, I)
SOUND: dict[str, Store] = {
    "an element": stored(loaded(I, J)),
    "the last row": stored(loaded(N - 1 - I, 3 - J)),
    "the row of the trip": stored(loaded(TRIP, J)),
    "the rows backwards by trips": stored(loaded(N - 1 - TRIP, J)),
    "one row of the target": Store(Y, (B,), (TRIP, J), loaded(TRIP, J)),
    "a row before, guarded": stored(where(LEFT, loaded(I - 1, J))),
    "a row before, in the other case": stored(where(form.less(I, 1), ZERO, loaded(I - 1, J))),
    "guarded twice": stored(where(form.inside(I + J - 2, N), loaded(I + J - 2, J))),
    "a guarded index from data": stored(where(form.inside(AT, 4), form.load(ROW, (AT,)))),
    "a condition guarded by one before": stored(where(form.both(LEFT, SHIFTED), loaded(I, J))),
    "its own element": stored(form.binary("add", form.load(Y, (I, J)), loaded(I, J))),
    "tiles": Store(
        Buffer("p0", (N, 4), FLOAT32),
        (A, Var("a1", 2), Var("a2", 2)),
        (I, var("a1", 2) * 2 + var("a2", 2)),
        ZERO,
    ),
    "divisions that cancel": stored(loaded(I, mod(J * 5, 4))),
    "a sum": stored(form.reduce("sum", K, form.load(ROW, (var("k0", 4),)))),
}
BROKEN: dict[str, tuple[Store, str]] = {
    "a row too far": (stored(loaded(I + 1, J)), "outside"),
    "a row before": (stored(loaded(I - 1, J)), "outside"),
    "a column too far": (stored(loaded(I, J + 1)), "outside"),
    "the row after the trip": (stored(loaded(TRIP + 1, J)), "outside"),
    "a guard off by one": (stored(where(form.less(I, N), loaded(I + 1, J))), "outside"),
    "a guard of another row": (stored(where(LEFT, loaded(I - 2, J))), "outside"),
    "the wrong side of a guard": (stored(where(LEFT, ZERO, loaded(I - 1, J))), "outside"),
    "a guard by data alone": (
        stored(where(form.load(MASK, (I, J)), loaded(I - 1, J))),
        "outside",
    ),
    "an index from data": (stored(form.load(ROW, (AT,))), "outside"),
    "half a guard of data": (stored(where(form.less(AT, 4), form.load(ROW, (AT,)))), "outside"),
    "a condition that nothing guards": (stored(where(SHIFTED, loaded(I, J))), "outside"),
    "a store too far": (stored(ZERO, (I + 1, J)), "outside"),
    "a store at the wrong axis": (Store(Y, (B,), (J, 0), ZERO), "outside"),
    "two points at one place": (stored(ZERO, (I, 0)), "two points"),
    "halves of an axis": (stored(ZERO, (I, floordiv(J, 2))), "two points"),
    "tiles that overlap": (
        Store(Y, (A, Var("a1", 2), Var("a2", 3)), (I, var("a1", 2) + var("a2", 3)), ZERO),
        "two points",
    ),
    "another element of its own": (stored(form.load(Y, (N - 1 - I, J))), "its own buffer"),
    "a free variable": (stored(loaded(I, var("a7", 4))), "free"),
    "a free variable in the target": (stored(ZERO, (I, var("a7", 4))), "free"),
    "a variable outside its sum": (stored(form.load(ROW, (var("k0", 4),))), "free"),
    "a name twice": (stored(form.reduce("max", Var("a0", 4), loaded(0, var("a0", 4)))), "name"),
    "a size's name": (Store(Y, (Var("n", N), B), (var("n", N), J), ZERO), "name"),
    "an unknown size": (stored(where(form.less(symbol("m", 0, 4), J), loaded(I, J))), "unknown"),
    "another dtype": (stored(form.cast(loaded(I, J), FLOAT64)), "dtype"),
    "another buffer": (stored(form.load(Buffer("p9", (N, 4), FLOAT32), (I, J))), "no parameter"),
    "another shape": (stored(form.load(Buffer("p1", (N, 5), FLOAT32), (I, J))), "no parameter"),
    "too few indices": (stored(form.load(X, (I,))), "another rank"),
    "dtypes that differ": (
        stored(form.make("add", (loaded(I, J), form.load(IDS, (I, J))), form.PLAIN, FLOAT32)),
        "does not fit",
    ),
    "one operand too few": (
        stored(form.make("add", (loaded(I, J),), form.PLAIN, FLOAT32)),
        "does not fit",
    ),
    "an unknown operation": (
        stored(form.make("tanh", (loaded(I, J),), form.PLAIN, FLOAT32)),
        "does not fit",
    ),
    "a sum over nothing": (
        stored(form.make("sum", (loaded(I, J),), form.PLAIN, FLOAT32)),
        "does not fit",
    ),
    "an operation over an axis": (
        stored(form.make("exp2", (loaded(I, J),), Over(K), FLOAT32)),
        "does not fit",
    ),
    "a load of another dtype": (stored(form.make("load", (), Access(IDS, (I, J)), FLOAT32)), "fit"),
    "a position that is a float": (stored(form.make("iota", (), Position(I), FLOAT32)), "fit"),
    "a number that is none": (stored(form.make("number", (), Literal("1,5"), FLOAT32)), "fit"),
    "a condition that is a number": (
        stored(form.make("select", (loaded(I, J), ZERO, ZERO), form.PLAIN, FLOAT32)),
        "does not fit",
    ),
}


@pytest.mark.parametrize("name", SOUND)
def test_a_sound_store_passes(name: str) -> None:
    check_program(program_of(SOUND[name]))


@pytest.mark.parametrize("name", BROKEN)
def test_a_fault_in_a_store_is_found(name: str) -> None:
    store, problem = BROKEN[name]
    with pytest.raises(BrokenGraph, match=f"program check failed.*{problem}"):
        check_program(program_of(store))
