"""Several statements under shared tile loops: every plan means the same.

The region is attention with a causal mask as seven statements: a transposed copy of q, scores,
their maximum, weights relative to it, two sums and the quotient. Plans with a loop over keys around
the maximum and what depends on it run it as a fold.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

import numpy as np
import pytest

from photic.ir import index as form
from photic.ir.dim import Dim, Var, var
from photic.ir.dtype import FLOAT32
from photic.ir.index import Buffer, Expr, Store
from photic.ir.nest import Nest, Part, parallel_loops, tiles
from photic.ir.program import ROW_MAJOR, Function
from photic.loops.arrange import Arrangement, Leaf, Open, Plan, Then, arrange, faults
from photic.loops.build import serial
from photic.loops.plan import best_known, choose
from photic.loops.statements import Region, Statement, Weight
from photic.targets.c import device
from photic.targets.c.dialect import DIALECT
from photic.targets.c.pool import pool
from photic.targets.c.toolchain import build_kernels
from photic.tuning.candidate import candidate_source, scratch_of, table_of

HEADS, DEPTH = 3, 12
LOG2E = 1.4426950408889634
CACHE_LINE = 64

Sizes = tuple[int, int]


def at(*axes: Var) -> tuple[Dim, ...]:
    return tuple(var(one.name, one.extent) for one in axes)


def buffer(name: str, *axes: Var) -> Buffer:
    return Buffer(name, tuple(one.extent for one in axes), FLOAT32)


def number(value: float) -> Expr:
    return form.number(value, FLOAT32)


def product(left: Expr, right: Expr) -> Expr:
    return form.binary("mul", left, right)


def power(value: Expr, less: Expr) -> Expr:
    """exp(value - less), as exp2 of a multiple."""
    gap = form.binary("add", value, product(less, number(-1.0)))
    return form.unary("exp2", product(number(LOG2E), gap))


class Attention:
    """The region for so many queries and keys; query i sees keys up to i + keys - queries."""

    def __init__(self, queries: int, keys: int) -> None:
        self.h, self.i, self.j = Var("h", HEADS), Var("i", queries), Var("j", keys)
        self.d, self.v = Var("d", DEPTH), Var("w", DEPTH)
        h, i, j, d, v = self.h, self.i, self.j, self.d, self.v
        names = {"q": (h, i, d), "k": (h, j, d), "x": (h, j, v), "out": (h, i, v)}
        names |= {"qt": (h, i, d), "s": (h, i, j), "m": (h, i), "p": (h, i, j)}
        names |= {"l": (h, i), "o": (h, i, v)}
        self.buffers = {name: buffer(name, *axes) for name, axes in names.items()}
        self.axes = names
        scores = form.reduce("sum", d, product(self.load("qt"), self.load("k")))
        seen = form.less(at(j)[0], at(i)[0] + (keys - queries + 1))
        masked = form.select(seen, self.load("s"), number(float("-inf")))
        empty = form.negation(form.binary("less_than", number(float("-inf")), masked))
        weights = form.select(empty, number(0.0), power(masked, self.load("m")))
        # a row without keys summed nothing: h(m, m) makes it NaN, as it is without a fold
        share = product(self.load("o"), form.unary("recip", self.load("l")))
        share = product(share, power(self.load("m"), self.load("m")))
        mixed = product(self.load("p"), self.load("x"))
        self.region = Region(
            (
                self.statement("qt", product(self.load("q"), number(0.25))),
                self.statement("s", scores),
                self.statement("m", form.reduce("max", j, masked)),
                self.statement("p", weights, "m"),
                self.statement("l", form.reduce("sum", j, self.load("p")), "m", weight()),
                self.statement("o", form.reduce("sum", j, mixed), "m", weight()),
                self.statement("out", share),
            ),
            frozenset({"out"}),
        )

    def load(self, name: str) -> Expr:
        return form.load(self.buffers[name], at(*self.axes[name]))

    def statement(
        self, name: str, value: Expr, running: str = "", scaled: Weight | None = None
    ) -> Statement:
        axes = self.axes[name]
        return Statement(self.buffers[name], axes, at(*axes), value, running, scaled)


def weight() -> Weight:
    """exp(old - new), and 1 where they are equal."""
    old, new = Buffer("old", (), FLOAT32), Buffer("new", (), FLOAT32)
    a, b = form.load(old, ()), form.load(new, ())
    same = form.both(
        form.negation(form.binary("less_than", a, b)), form.negation(form.binary("less_than", b, a))
    )
    return Weight(form.select(same, number(1.0), power(a, b)), old, new)


def then(*plans: Plan) -> Plan:
    result = plans[-1]
    for one in reversed(plans[:-1]):
        result = Then(one, result)
    return result


def leaves(*numbers: int) -> list[Plan]:
    return [Leaf(number) for number in numbers]


def plans(a: Attention) -> dict[str, Plan]:
    """A fold in one kernel, no loop shared, kernels cut, loops inside out."""
    fold = Open(a.j, then(*leaves(1, 2, 3, 4, 5)))
    return {
        "one kernel": Open(a.h, Open(a.i, then(Leaf(0), fold, Leaf(6)))),
        "queries outside": Open(a.i, Open(a.h, then(Leaf(0), fold, Leaf(6)))),
        "fold around queries": Open(
            a.h, then(Leaf(0), Open(a.j, Open(a.i, then(*leaves(1, 2, 3, 4, 5)))), Leaf(6))
        ),
        "maximum first": Open(
            a.h,
            Open(a.i, then(*leaves(0, 1, 2), Open(a.j, then(*leaves(3, 4, 5))), Leaf(6))),
        ),
        "seven kernels": then(*leaves(0, 1, 2, 3, 4, 5, 6)),
        "two kernels": then(
            Open(a.h, then(*leaves(0, 1, 2))),
            Open(a.h, Open(a.i, then(*leaves(3, 4, 5, 6)))),
        ),
    }


def arranged(a: Attention, plan: Plan, sizes: Sizes, inner: Var) -> Arrangement:
    def tile(store: Store) -> tuple[Part, ...]:
        function = Function("t", (), (store,))
        return serial(choose(function, frozenset(), device.machine(), best_known, is_alone=False))

    return arrange(a.region, plan, {a.h: 1, a.i: sizes[0], a.j: sizes[1]}, inner, tile, tile)


def stored(made: Arrangement) -> list[str]:
    """What has a full-size buffer between kernels."""
    homes = made.homes.values()
    return [one.buffer.name for one in homes if not (one.outside or one.is_output)]


def nests(made: Arrangement) -> tuple[Nest, ...]:
    found = []
    for number_, kernel in enumerate(made.kernels):
        seen: dict[Buffer, None] = {}
        for one in tiles(kernel.body):
            seen |= dict.fromkeys([one.store.buffer])
            seen |= dict.fromkeys(access.buffer for access in form.loads(one.store.value))
        outside = tuple(one for one in seen if one not in kernel.scratch)
        lays = (ROW_MAJOR,) * len(outside)
        found.append(Nest(f"f{number_}", outside, lays, kernel.body, 1, kernel.scratch))
    return tuple(found)


def run(made: Arrangement, given: dict[str, np.ndarray]) -> np.ndarray:
    """The output of the compiled kernels; everything not given starts as NaN."""
    kernels = nests(made)
    loaded = device.load(build_kernels(candidate_source(kernels, (), DIALECT)))
    arrays = {
        one.name: given.get(one.name, np.full([int(n) for n in one.shape], np.nan, np.float32))
        for one in table_of(kernels)
    }
    table = (ctypes.c_void_p * len(arrays))(*(one.ctypes.data for one in arrays.values()))
    scratch = np.full(scratch_of(kernels) * pool().threads + CACHE_LINE, 255, np.uint8)
    start = scratch.ctypes.data + -scratch.ctypes.data % CACHE_LINE
    loaded.launch(ctypes.addressof(table), 0, 0, start, loaded.pool())
    return arrays["out"]


def inputs(queries: int, keys: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
    shapes = {"q": queries, "k": keys, "x": keys}
    return {
        name: rng.standard_normal((HEADS, rows, DEPTH)).astype(np.float32)
        for name, rows in shapes.items()
    }


def expected(given: dict[str, np.ndarray]) -> np.ndarray:
    """Attention in float64, as NumPy says it; NaN for a query that sees no key."""
    q, k, x = (given[name].astype(np.float64) for name in "qkx")
    scores = np.einsum("hid,hjd->hij", q * 0.25, k)
    rows, keys = scores.shape[1:]
    seen = np.arange(keys) <= np.arange(rows)[:, None] + keys - rows
    scores = np.where(seen, scores, -np.inf)
    with np.errstate(invalid="ignore"):
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        return np.einsum("hij,hjv->hiv", weights / weights.sum(-1, keepdims=True), x)


PLANS = tuple(plans(Attention(2, 2)))
TILES = ((1, 1), (4, 8), (16, 5), (64, 64))
LONG = (13, 21)
SHORT = (7, 3)  # the first four queries see no key


def test_no_plan_of_the_list_breaks_a_law() -> None:
    a = Attention(*LONG)
    assert [list(faults(a.region, plan)) for plan in plans(a).values()] == [[]] * len(PLANS)


@pytest.mark.parametrize("name", PLANS)
@pytest.mark.parametrize("sizes", TILES, ids=str)
@pytest.mark.parametrize("counts", (LONG, SHORT), ids=str)
def test_every_plan_computes_the_region(
    name: str, sizes: Sizes, counts: Sizes, rng: np.random.Generator
) -> None:
    a, given = Attention(*counts), inputs(*counts, rng)
    for inner in (a.i, a.j):
        result = run(arranged(a, plans(a)[name], sizes, inner), given)
        # float32 sums of 12 and 21 terms of size 1: a few units in the last place
        np.testing.assert_allclose(result, expected(given), rtol=2e-5, atol=2e-6)


def test_a_fold_in_one_kernel_keeps_no_matrix_of_scores() -> None:
    a = Attention(64, 64)
    made = arranged(a, plans(a)["one kernel"], (8, 16), a.i)
    assert len(made.kernels) == 1
    assert stored(made) == []
    largest = max(np.prod([int(n) for n in one.shape]) for one in made.kernels[0].scratch)
    assert largest == max(8 * 16, 8 * DEPTH)
    loops, _ = parallel_loops(nests(made)[0])
    assert [one.axis.name for one in loops] == ["h_o", "i_o"]


def test_a_cut_outside_all_loops_is_a_border_between_kernels() -> None:
    a = Attention(64, 64)
    made = arranged(a, plans(a)["two kernels"], (8, 16), a.i)
    assert len(made.kernels) == 2
    assert set(stored(made)) == {"s", "m"}


def open_fold(a: Attention) -> Sequence[Plan]:
    """Plans that leave a member of the fold outside its loop, or read too early."""
    return (
        Open(a.h, Open(a.i, then(Leaf(0), Open(a.j, then(*leaves(1, 2, 3, 4))), *leaves(5, 6)))),
        Open(a.h, Open(a.i, then(Leaf(0), Open(a.j, then(*leaves(1, 2, 3))), *leaves(4, 5, 6)))),
        Open(a.h, Open(a.i, then(Leaf(0), Open(a.j, then(*leaves(1, 3, 2, 4, 5))), Leaf(6)))),
        Open(a.h, Open(a.i, Open(a.j, then(*leaves(0, 1, 2, 3, 4, 5, 6))))),
    )


@pytest.mark.parametrize("number_", range(4))
def test_a_fold_that_is_not_closed_is_a_fault(number_: int) -> None:
    a = Attention(*LONG)
    assert list(faults(a.region, open_fold(a)[number_]))
