"""Which sums of products of bytes with codes a loop over blocks does, and of which fours of terms.

A sum fits if it is over blocks of what is made of one sum of integers, whose terms are those of a
row times codes: all terms of a block are written out, and taken in fours that lie side by side.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from photic.ir import index as form
from photic.ir.dim import Atom, Dim, Var, bounds, coefficient_of, var
from photic.ir.dtype import FLOAT32, INT8, INT32
from photic.ir.index import Access, Buffer, Expr, Order
from photic.ir.nest import Lanes
from photic.ir.program import ROW_MAJOR, Layout
from photic.targets.c.codes import TERMS, Bytes, bytes_of
from photic.targets.c.matrix import outermost, place

MOST_TERMS = 64  # of a block, which are all written out

Layouts = Mapping[Buffer, Layout]
Values = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Group:
    """Four terms: where those of a row begin, and the codes."""

    row: Access
    codes: Bytes


@dataclass(frozen=True, slots=True, eq=False)
class CodedSum:
    """A sum over blocks ``around`` one of products; its groups by the ``written`` axes' values.

    ``body`` is what is added up, in terms of ``around``, whose names are the same for all sums.
    """

    sum: Expr
    body: Expr
    inner: Expr
    around: tuple[Var, ...]
    written: tuple[Var, ...]
    groups: Mapping[Values, list[Group]]

    def is_like(self, other: CodedSum) -> bool:
        """True if both are sums over the same blocks with the same codes."""
        mine, others = (
            {at: [each.codes for each in some] for at, some in one.groups.items()}
            for one in (self, other)
        )
        return self.around == other.around and mine == others


def coded_sum(expr: Expr, lanes: Lanes, layouts: Layouts) -> CodedSum | None:
    """A float32 sum over blocks of what is made of one int32 sum each."""
    own, body = form.reduction(expr)
    around = tuple(Var(f"block{k}", axis.extent) for k, axis in enumerate(own))
    names = (var(axis.name, axis.extent) for axis in around)
    body = form.substitute_expr(body, dict(zip(own, names, strict=True)))
    inner = [one for one in outermost(body) if one.op == "sum" and one.dtype == INT32]
    if expr.op != "sum" or expr.dtype != FLOAT32 or len(inner) != 1 or len(outermost(body)) > 1:
        return None
    orders = [one for one in form.walk(inner[0]) if isinstance(one.attribute, Order)]
    written = tuple(axis for axis in around if any(axis in one.free for one in orders))
    extents = [axis.extent for axis in (*form.reduction(inner[0])[0], *written)]
    if not all(isinstance(one, int) for one in extents):
        return None
    if is_guarded(form.replaced(body, {inner[0]: form.number(0, INT32)})):
        return None
    groups: dict[Values, list[Group]] = {}
    for values in _values_of(written):
        one = form.substitute_expr(inner[0], dict(zip(written, values, strict=True)))
        made = _groups(one, lanes, layouts)
        if made is None:
            return None
        groups[values] = made
    return CodedSum(expr, body, inner[0], around, written, groups)


def _values_of(axes: Sequence[Var]) -> list[Values]:
    return list(itertools.product(*(range(bounds(axis.extent)[1]) for axis in axes)))


def _groups(inner: Expr, lanes: Lanes, layouts: Layouts) -> list[Group] | None:
    """All terms of a block, in fours that lie side by side in a row."""
    axes, body = form.reduction(inner)
    points = _values_of(axes)
    products = _added(body)
    if len(points) * len(products) > MOST_TERMS:
        return None
    terms: list[tuple[Dim, Access, Expr]] = []
    for values, product in itertools.product(points, products):
        table: dict[Atom, Dim] = dict(zip(axes, values, strict=True))
        pair = _row_and_code(form.substitute_expr(product, table), lanes)
        if pair is None:
            return None
        terms.append((place(pair[0], layouts), *pair))
    places = [one - terms[0][0] for one, *_ in terms]
    by_place = {one: term for one, term in zip(places, terms, strict=True) if isinstance(one, int)}
    order = sorted(by_place)
    if len(order) < len(terms) or len(order) % TERMS or order[-1] - order[0] != len(order) - 1:
        return None
    found: list[Group] = []
    for start in order[::TERMS]:
        four = [by_place[start + k] for k in range(TERMS)]
        codes = bytes_of(tuple(code for *_, code in four))
        if codes is None or not codes.is_byte or not _lies_well(codes, lanes, layouts):
            return None
        found.append(Group(four[0][1], codes))
    return found


def _added(body: Expr) -> list[Expr]:
    """What is added up in each step of a sum."""
    if body.op != "add":
        return [body]
    return [term for child in body.children for term in _added(child)]


def _row_and_code(product: Expr, lanes: Lanes) -> tuple[Access, Expr] | None:
    """The load of signed bytes that is the same for all lanes, and the other factor."""
    if product.op != "mul" or not all(one.op == "cast" for one in product.children):
        return None
    factors = [one.children[0] for one in product.children]
    for row, code in (factors, factors[::-1]):
        is_row = isinstance(row.attribute, Access) and row.dtype == INT8
        if is_row and lanes.axis not in row.free and lanes.axis in code.free:
            assert isinstance(row.attribute, Access)
            return None if is_guarded(code) or _reads(row, code) else (row.attribute, code)
    return None


def _lies_well(codes: Bytes, lanes: Lanes, layouts: Layouts) -> bool:
    """True if all loads are of lanes side by side, and may be of more than there are."""
    if not all(_lies_well(one, lanes, layouts) for one in codes.parts):
        return False
    return all(
        coefficient_of(place(one, layouts), lanes.axis) == 1
        and (lanes.valid is None or layouts.get(one.buffer, ROW_MAJOR).tile > 1)
        for one in codes.places
    )


def is_guarded(*values: Expr) -> bool:
    return any(isinstance(one.attribute, Order) for one in form.walk(*values))


def _reads(*values: Expr) -> bool:
    """True if an index inside is read from data."""
    attributes = (one.attribute for one in form.walk(*values))
    return any(True for one in attributes for _ in form.data_in(form.dims_of(one)))
