"""A store that gives old elements back where a condition fails, as one that runs where it holds."""

from __future__ import annotations

from photic.ir import index as form
from photic.ir.dim import Atom, Dim, Var, at_most, coefficient_of, substitute, var
from photic.ir.index import Expr, Order, Store


def only_changes(store: Store) -> Store:
    """``x[i] = select(lo <= i < hi, v, x[i])`` for all i is ``x[i] = v`` for i in lo..hi."""
    value, old = store.value, form.load(store.buffer, store.index)
    if value.op != "select" or value.children[2] is not old:
        return store
    ranges: dict[Var, tuple[Dim, Dim]] = {axis: (0, axis.extent) for axis in store.axes}
    condition, table, axes = form.TRUE, dict[Atom, Dim](), list[Var]()
    for term in form.conjuncts(value.children[0]):
        if not _narrow(term, ranges):
            condition = form.both(condition, term)
    for axis, (low, high) in ranges.items():
        axes.append(Var(axis.name, high - low))
        if axes[-1] != axis:
            table[axis] = low + var(axis.name, axes[-1].extent)
    inner = form.substitute_expr(form.select(condition, value.children[1], old), table)
    index = tuple(substitute(one, table) for one in store.index)
    return Store(store.buffer, tuple(one for one in axes if one.extent != 1), index, inner)


def _narrow(term: Expr, ranges: dict[Var, tuple[Dim, Dim]]) -> bool:
    """Take a condition ``i < e`` or ``e <= i`` into the range of i, if e is provably inside."""
    gap = term.attribute.gap if isinstance(term.attribute, Order) else 0
    for axis, (low, high) in ranges.items():
        sign = coefficient_of(gap, axis)
        if sign not in (1, -1):
            continue
        rest = gap - var(axis.name, axis.extent) * sign
        limit = rest if sign == -1 else 1 - rest
        is_inside = at_most(low, limit) and at_most(limit, high)
        if is_inside and not form.dim_depends(rest, ranges):
            ranges[axis] = (low, limit) if sign == -1 else (limit, high)
            return True
    return False
