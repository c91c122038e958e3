"""Scatters: a reduction whose terms each count at one place of an output axis runs over its terms.

Before: ``y[j] = sum i: select(j == e(i), v(i), -0)``, every j for every i. After: every ``y[j]`` is
filled with what no term gives, then for one i after another ``y[e(i)] = y[e(i)] + v(i)``. Exact:
terms come in the same order, and those left out are the identity. It is the dual of a lookup
(``one_point``), where the reduced axis is the one that goes.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass

from photic.ir import index as form
from photic.ir.dim import Atom, Dim, Var, bounds, data, product, substitute, variables
from photic.ir.dtype import INT64
from photic.ir.index import Expr, Position, Store

JOIN = {"sum": "add", "max": "maximum"}


@dataclass(frozen=True, slots=True)
class Scatter:
    """``places`` of the output are first filled by ``fill``; then ``update`` for each of ``terms``.

    Both are stores over the other output axes.
    """

    places: tuple[Var, ...]
    fill: Store
    terms: tuple[Var, ...]
    update: Store


def scatter_of(store: Store) -> Scatter | None:
    """How to run a store over the terms of its reduction, if that is a scatter."""
    terms, inner = _reduction(store.value)
    rest, pins = _pins(inner, store.axes) if terms else ([], {})
    if not pins or bounds(product(axis.extent for axis in pins))[0] < 1:
        return None
    table: dict[Atom, Dim] = dict(pins.items())
    condition = form.TRUE
    checks = (form.inside(at, axis.extent) for axis, at in pins.items())
    first = [one for one in rest if not one.free & pins.keys()]
    for one in (*first, *checks, *(form.substitute_expr(one, table) for one in rest)):
        condition = form.both(condition, one)
    for axis, at in pins.items():
        place = form.select(condition, form.iota(at), form.number(0, INT64))
        table[axis] = data(place, 0, max(0, bounds(axis.extent)[1] - 1))
    index = tuple(substitute(one, table) for one in store.index)
    miss = inner.children[2]
    term = form.select(condition, form.substitute_expr(inner.children[1], table), miss)
    old = form.load(store.buffer, index)
    nothing = form.reduce(store.value.op, Var("nothing", 0), miss)
    fill = form.select(form.positive(product(one.extent for one in terms)), miss, nothing)
    axes = tuple(one for one in store.axes if one not in pins)
    update = Store(store.buffer, axes, index, form.binary(JOIN[store.value.op], old, term))
    return Scatter(tuple(pins), Store(store.buffer, axes, store.index, fill), terms, update)


def is_scatter(value: Expr, index: Iterable[Dim]) -> bool:
    """True if a value at an index of the node that it belongs to is one if stored by itself."""
    terms, inner = _reduction(value)
    axes = dict.fromkeys(axis for one in index for axis in sorted(variables(one), key=str))
    return bool(terms and _pins(inner, axes)[1])


def _reduction(value: Expr) -> tuple[tuple[Var, ...], Expr]:
    """The axes of a reduction of which a condition leaves out terms, and what is reduced."""
    terms, inner = form.reduction(value)
    is_some = inner.op == "select" and _is_identity(value.op, *inner.children[1:])
    return (terms if is_some else ()), inner


def _is_identity(op: str, term: Expr, miss: Expr) -> bool:
    """True if where the condition fails nothing is added, or no more than any term gives."""
    if op == "sum":
        return miss is form.zero(miss.dtype)
    if not isinstance(term.attribute, Position) or miss.op != "number":
        return miss is form.lowest(miss.dtype)
    return form.value_of(miss) <= bounds(term.attribute.index)[0]


def _pins(inner: Expr, axes: Iterable[Var]) -> tuple[list[Expr], dict[Var, Dim]]:
    """The output axes that a term's condition pins, with their places, and its other conditions."""
    rest = form.conjuncts(inner.children[0]) if inner.op == "select" else []
    pins: dict[Var, Dim] = {}
    used: set[Var] = set()
    for axis in axes:
        for low, high in itertools.product(rest, rest):
            at = form.pinned(axis, low, high)
            if at is not None and not variables(at) & pins.keys() and axis not in used:
                used |= variables(at)
                pins[axis] = at
                rest = [one for one in rest if one not in (low, high)]
                break
    return rest, pins
