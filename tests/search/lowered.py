"""Regions for tests: from tensors to lowered stores, and what stores and statements evaluate to.

``run_region`` runs folds as a nest would: in one pass over tiles of the fold's axis, with running
values, weights and rescaled accumulators. Everything is float64.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

import photic as ph
from photic.forms.eval import Array
from photic.forms.index_eval import evaluate_store
from photic.ir import index as form
from photic.ir.dim import Atom, Dim, Var, add, substitute, var
from photic.ir.graph import Graph
from photic.ir.index import Buffer, Expr, Over, Store
from photic.ir.program import Kernel
from photic.loops.lower import lower
from photic.loops.statements import Region, Statement
from photic.search.extract import choose, region_of, runnable, stored_by_default
from photic.search.region import shared_axes
from photic.search.rules import rules_without
from photic.search.run import LIMITS, EGraph, saturate

RULES = rules_without()
PATIENT = replace(LIMITS, seconds=60.0)  # a busy machine must not change what is found


def stores_of(**outputs: ph.Tensor) -> tuple[list[Store], set[str]]:
    """The lowered stores of some outputs, and the names of the temporaries."""
    program = lower(Graph(tuple((name, one.operand) for name, one in outputs.items())))
    stores = []
    for step in program.steps:
        assert isinstance(step, Kernel)
        function = program.functions[step.function]
        arguments = [program.places[name].buffer for name in step.arguments]
        buffers = dict(zip(function.parameters, arguments, strict=True))
        stores += [_concrete(one, buffers) for one in function.stores]
    return stores, {name for name, one in program.places.items() if one.role == "temporary"}


def _concrete(store: Store, buffers: Mapping[Buffer, Buffer]) -> Store:
    bound = [
        one.attribute.axis for one in form.walk(store.value) if isinstance(one.attribute, Over)
    ]
    table: dict[Atom, Dim] = {one: var(one.name, one.extent) for one in (*store.axes, *bound)}
    value = form.renamed(store.value, table, buffers)
    return Store(buffers[store.buffer], store.axes, store.index, value)


def region_stores(**outputs: ph.Tensor) -> tuple[Store, ...]:
    """The roots of some outputs over shared axes."""
    return shared_axes(*stores_of(**outputs))


def saturated(stores: Sequence[Store]) -> EGraph:
    """The e-graph of the stores' values under all rules."""
    return saturate([one.value for one in stores], RULES, PATIENT)


def extracted(graph: EGraph, stores: Sequence[Store], seed: int, spread: float) -> Region:
    """A region of statements; seed and spread of the costs choose which."""
    choice = runnable(graph, choose(graph, random.Random(seed), spread, {}))
    return region_of(graph, choice, stored_by_default(graph, choice), stores)


# --- evaluation -----------------------------------------------------------------------------


def run_stores(stores: Sequence[Store], inputs: Mapping[str, Array]) -> dict[str, Array]:
    """All buffers after the stores ran in order."""
    buffers = {name: _wide(array) for name, array in inputs.items()}
    for store in stores:
        _ensure(store, buffers)
        evaluate_store(_bound_apart(store), buffers, {}, widen=True)
    return buffers


def _bound_apart(store: Store) -> Store:
    """The store with a variable of its own for each reduction, as the evaluator wants it."""
    done: dict[Expr, Expr] = {}
    for one in form.walk(store.value):
        children = tuple(done[child] for child in one.children)
        if isinstance(one.attribute, Over):
            axis = one.attribute.axis
            fresh = Var(f"bound{len(done)}", axis.extent)
            inner = form.substitute_expr(children[0], {axis: var(fresh.name, fresh.extent)})
            done[one] = form.reduce(one.op, fresh, inner)
        else:
            done[one] = form.rebuilt(one, children, lambda dim: dim)
    return Store(store.buffer, store.axes, store.index, done[store.value])


def _wide(array: Array) -> Array:
    return array.astype(np.float64, copy=False) if array.dtype.kind == "f" else array


def _ensure(store: Store, buffers: dict[str, Array]) -> None:
    if store.buffer.name not in buffers:
        dtype = np.float64 if store.buffer.dtype.kind == "float" else store.buffer.dtype.numpy
        buffers[store.buffer.name] = np.full(store.buffer.shape, 77, dtype)


@np.errstate(all="ignore")
def run_region(region: Region, inputs: Mapping[str, Array], tile: int) -> dict[str, Array]:
    """All buffers after the statements ran; folds over tiles of so many points."""
    buffers = {name: _wide(array) for name, array in inputs.items()}
    done: set[str] = set()
    for one in region.statements:
        if one.target.name not in done:
            family = [each for each in region.statements if each.running == one.target.name]
            if family:
                _run_fold(one, family, buffers, tile)
            else:
                assert not one.running
                _do(one, one.value, one.index, one.axes, buffers)
            done |= {each.target.name for each in (one, *family)}
    return buffers


def _do(
    statement: Statement,
    value: Expr,
    index: tuple[Dim, ...],
    axes: tuple[Var, ...],
    buffers: dict[str, Array],
) -> None:
    store = Store(statement.target, axes, index, value)
    _ensure(store, buffers)
    evaluate_store(store, buffers, {}, widen=True)


def _run_fold(
    extremum: Statement, family: list[Statement], buffers: dict[str, Array], tile: int
) -> None:
    assert isinstance(extremum.value.attribute, Over)
    axis, name = extremum.value.attribute.axis, extremum.target.name
    assert isinstance(axis.extent, int)
    _do(extremum, form.lowest(extremum.target.dtype), extremum.index, extremum.axes, buffers)
    sums = [one for one in family if one.weight is not None]
    for one in sums:
        empty = form.zero if one.value.op == "sum" else form.lowest
        _do(one, empty(one.target.dtype), one.index, one.axes, buffers)
    for low in range(0, axis.extent, tile):
        inner = Var("inner", min(tile, axis.extent - low))
        at: dict[Atom, Dim] = {axis: add(var(inner.name, inner.extent), low)}
        before = buffers[name].copy()
        part = _tile(extremum, axis, inner, at)
        _do(extremum, part, extremum.index, extremum.axes, buffers)
        buffers[name] = np.maximum(before, buffers[name])
        for one in family:
            if one.weight is None:
                value = form.substitute_expr(one.value, at)
                index = tuple(substitute(k, at) for k in one.index)
                kept = tuple(
                    inner if k == axis else k for k in one.axes if k != axis or inner.extent > 1
                )
                _do(one, value, index, kept, buffers)
            else:
                total = buffers[one.target.name].copy()
                _do(one, _tile(one, axis, inner, at), one.index, one.axes, buffers)
                factor = _weight(one, extremum, before, buffers)
                join = np.add if one.value.op == "sum" else np.maximum
                buffers[one.target.name] = join(total * factor, buffers[one.target.name])


def _tile(statement: Statement, axis: Var, inner: Var, at: dict[Atom, Dim]) -> Expr:
    """The reduction over one tile of the axis."""
    assert statement.value.attribute == Over(axis)
    body = form.substitute_expr(statement.value.children[0], at)
    return body if inner.extent == 1 else form.reduce(statement.value.op, inner, body)


def _weight(one: Statement, extremum: Statement, before: Array, buffers: dict[str, Array]) -> Array:
    """The weight at every element of an accumulator."""
    assert one.weight is not None
    known: dict[Expr, Expr] = {}
    for name, given in ((one.weight.old, "before"), (one.weight.new, "after")):
        target = Buffer(given, extremum.target.shape, extremum.target.dtype)
        known[form.load(name, ())] = form.load(target, extremum.index)
    value = _replaced(one.weight.value, known)
    store = Store(
        Buffer("w", extremum.target.shape, one.target.dtype), extremum.axes, extremum.index, value
    )
    given = {"before": before, "after": buffers[extremum.target.name], "w": np.empty(before.shape)}
    evaluate_store(store, given, {}, widen=True)
    shape = [n if axis in extremum.axes else 1 for axis, n in zip(one.axes, one.target.shape)]
    assert [axis for axis in one.axes if axis in extremum.axes] == list(extremum.axes)
    return given["w"].reshape(shape)


def _replaced(value: Expr, known: dict[Expr, Expr]) -> Expr:
    if value not in known:
        children = tuple(_replaced(child, known) for child in value.children)
        known[value] = form.rebuilt(value, children, lambda dim: dim)
    return known[value]
