"""Kernels whose items need only what the same item made are one; others stay apart."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import pytest
from tensor.evaluating import widened

import photic as ph
from photic.forms.item_parts import own_part, touches
from photic.forms.joined_nests import Limits, joined
from photic.ir import index as form
from photic.ir.dim import Dim, Var, var
from photic.ir.dtype import FLOAT32
from photic.ir.index import Buffer, Expr, Store
from photic.ir.nest import Fit, Lanes, Loop, Nest, Part, Tile
from photic.ir.program import ROW_MAJOR

LIMITS = Limits(4, 1 << 16)
ROWS, COLUMNS = Var("i", 8), Var("j", 10)


def at(*axes: Var) -> tuple[Dim, ...]:
    return tuple(var(axis.name, axis.extent) for axis in axes)


def buffer(name: str, *shape: Dim) -> Buffer:
    return Buffer(name, shape, FLOAT32)


X, T, Y = buffer("x", 8, 10), buffer("t", 8), buffer("y", 8, 10)


def nest(name: str, store: Store, *loops: Var) -> Nest:
    """Parallel loops around a store of one element; its other axes are serial loops."""
    body: tuple[Part, ...] = (
        Tile(Store(store.buffer, (), store.index, store.value), (), None, frozenset()),
    )
    for one in reversed([one for one in store.axes if one not in loops]):
        body = (Loop(one, "serial", body),)
    for one in reversed(loops):
        body = (Loop(one, "parallel", body),)
    parameters = (store.buffer, *sorted(form.buffers_read(store), key=lambda b: b.name))
    return Nest(name, parameters, (ROW_MAJOR,) * len(parameters), body, 1)


def summed() -> Nest:
    k = Var("k", 10)
    value = form.reduce("sum", k, form.load(X, at(ROWS, k)))
    return nest("sums", Store(T, (ROWS,), at(ROWS), value), ROWS)


def scaled(place: Dim, *loops: Var) -> Nest:
    value: Expr = form.binary("mul", form.load(X, at(ROWS, COLUMNS)), form.load(T, (place,)))
    return nest("scaled", Store(Y, (ROWS, COLUMNS), at(ROWS, COLUMNS), value), *loops)


def members(*nests: Nest) -> list[tuple[int, ...]]:
    return [one for one, _ in joined(nests, {"t"}, LIMITS)]


def test_what_only_an_item_needs_is_its_scratch() -> None:
    ((numbers, made),) = joined([summed(), scaled(at(ROWS)[0], ROWS)], {"t"}, LIMITS)
    assert numbers == (0, 1)
    assert [one.name for one in made.parameters] == ["x", "y"]
    assert made.scratch == (buffer("t", 1),)


def test_what_others_read_stays_a_buffer() -> None:
    ((_, made),) = joined([summed(), scaled(at(ROWS)[0], ROWS)], set(), LIMITS)
    assert [one.name for one in made.parameters] == ["t", "x", "y"]
    assert made.scratch == ()


def test_an_item_that_reads_what_another_made_stays_apart() -> None:
    (i,) = at(ROWS)
    assert members(summed(), scaled(7 - i, ROWS)) == [(0,), (1,)]
    assert members(summed(), scaled(0, ROWS)) == [(0,), (1,)]


def test_other_loops_share_what_digits_they_can() -> None:
    (i,) = at(ROWS)
    assert members(summed(), scaled(i, ROWS, COLUMNS)) == [(0, 1)]
    assert members(summed(), scaled(i, COLUMNS, ROWS)) == [(0, 1)]
    few = Limits(9, 1 << 16)
    assert len(joined([summed(), scaled(i, ROWS, COLUMNS)], {"t"}, few)) == 2


def test_a_nest_passes_others_that_it_has_nothing_to_do_with() -> None:
    z = buffer("z", 8)
    other = nest("other", Store(z, (ROWS,), at(ROWS), form.load(buffer("w", 8), at(ROWS))), ROWS)
    assert members(summed(), other, scaled(at(ROWS)[0], ROWS)) == [(0, 2), (1,)]
    clash = nest("clash", Store(X, (ROWS,), (7 - at(ROWS)[0], 0), form.load(z, at(ROWS))), ROWS)
    assert members(summed(), clash, scaled(at(ROWS)[0], ROWS)) == [(0,), (1,), (2,)]


def test_nests_that_read_much_again_and_again_stay_apart() -> None:
    k = Var("k", 10)

    def product(source: Buffer, weights: str, target: Buffer) -> Nest:
        w = buffer(weights, 10, 10)
        loads = form.load(source, at(ROWS, k)), form.load(w, at(k, COLUMNS))
        value = form.reduce("sum", k, form.binary("mul", *loads))
        return nest(weights, Store(target, (ROWS, COLUMNS), at(ROWS, COLUMNS), value), ROWS)

    two = [product(X, "v", Y), product(Y, "w", buffer("z", 8, 10))]
    assert len(joined(two, (), Limits(4, 2 * 400))) == 1
    assert len(joined(two, (), Limits(4, 2 * 400 - 1))) == 2


def test_borders_of_tiles_are_proven_by_what_holds_there() -> None:
    tiles, lane = Var("t", 3), Var("v", 4)
    (i,), (t,), (v,) = at(ROWS), at(tiles), at(lane)
    place = 4 * t + v
    whole = Lanes(lane, 4, 1, None, False)
    part = Lanes(lane, 4, 1, 10 - 4 * t, False)

    def tile(lanes: Lanes) -> Tile:
        return Tile(Store(Y, (), (i, place), form.load(X, (i, place))), (), lanes, frozenset())

    bordered = Loop(tiles, "serial", (Fit(4 * t + 4, 10, (tile(whole),), (tile(part),)),))
    for parts, is_own in (((bordered,), True), ((Loop(tiles, "serial", (tile(whole),)),), False)):
        found = [one for one in touches(parts) if one.access.buffer == Y]
        assert (own_part(found, [ROWS]) is not None) is is_own


# --- in programs ----------------------------------------------------------------------------


def rows(rows: Dim, columns: int) -> ph.Tensor:
    return ph.input("x", (rows, columns))


PROGRAMS: Mapping[str, tuple[Callable[[ph.Tensor], ph.Tensor], int]] = {
    "softmax": (ph.softmax, 1),
    "layer norm": (lambda x: ph.layer_norm(x, ph.constant(np.arange(x.shape[1], dtype="f4"))), 1),
    "rows of the other axis": (lambda x: ph.softmax(x, axis=0), 0),
    "sums and all rows": (lambda x: x - ph.flip(ph.sum(x, axis=1, keepdims=True), 0), 2),
}


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("columns", [1, 7, 100, 1024])
def test_programs_are_right(name: str, columns: int) -> None:
    make, kernels = PROGRAMS[name]
    n = ph.dim("n", 1, 100)
    program = ph.compile({"y": make(rows(n, columns))})
    if kernels and columns >= 100:  # lanes run along the rows of shorter ones
        assert len(program.report.kernels) == kernels
    for count in (1, 3, 33):
        x = np.random.default_rng(count).standard_normal((count, columns), np.float32)
        np.testing.assert_allclose(program(x=x)["y"], widened(make, x), 1e-5, 1e-5)


@pytest.mark.parametrize("shape", [(3, 0, 12), (0, 40), (40, 0)])
def test_what_is_empty_stays_apart(shape: tuple[int, ...]) -> None:
    x = ph.input("x", shape)
    y = ph.exp(x - ph.max(x, axis=-1, keepdims=True)) if shape[-1] else ph.exp(x)
    z = ph.pad(ph.sqrt(x)[1:], ((0, 1), *((0, 0),) * (len(shape) - 1))) if shape[0] else y
    program = ph.compile({"y": y, "z": z})
    for one in program(x=np.zeros(shape, np.float32)).values():
        assert one.shape == shape


def test_what_is_between_takes_no_memory() -> None:
    program = ph.compile({"y": ph.softmax(rows(1000, 512))})
    assert program.peak_bytes < 1000 * 512
