"""One tile statement: its values as register tiles, and its store.

A choice by an index condition guards what stands behind it: loads there happen only where the
condition holds. Chains of operations are walked, not recursed into (``Frame.emit``), so that their
length does not matter.
"""

from __future__ import annotations

from functools import reduce

from photic.codegen.access import load, order, position, store
from photic.codegen.frame import NO_LANES, Frame, Value, is_conjunction
from photic.codegen.reduce import reduction
from photic.codegen.words import Words, dim_text, number_text
from photic.ir.dtype import BOOL
from photic.ir.index import Access, Buffer, Expr, Order, Over, Position, conjuncts, loads, negation
from photic.ir.nest import Tile
from photic.ir.program import Layout

WORDS = {"maximum": "max", "less_than": "lt"}  # others are named as they are
OF_BOOLS = {"add": "or", "max": "or", "maximum": "or", "less_than": "not"}


def print_tile(tile: Tile, layouts: dict[Buffer, Layout], words: Words) -> None:
    """The whole statement into ``words``."""
    lanes, target = tile.lanes or NO_LANES, tile.store
    frame = Frame(tile, layouts, words, _computed, lanes, not lanes.reduced)
    if lanes.valid is not None:
        frame = frame.partly(dim_text(lanes.valid))
    if not words.special(tile, layouts):
        store(frame, target.buffer, target.index, frame.emit(target.value))


def _computed(frame: Frame, expr: Expr) -> Value:
    """Print the computation of a value whose plain operands are known."""
    match expr.attribute:
        case Access() as access:
            return load(frame, expr, access)
        case Position(index):
            return position(frame, expr, index)
        case Order(gap):
            return order(frame, expr, gap)
        case Over():
            return reduction(frame, expr)
    if expr.op == "number":
        return Value({(): number_text(expr)}, (), expr.dtype)
    if expr.op == "select":
        return _select(frame, expr)
    return _conjunction(frame, expr) if is_conjunction(expr) else _operation(frame, expr)


def _operation(frame: Frame, expr: Expr) -> Value:
    """An element-by-element operation over the union of its operands' points."""
    source, values = expr.children[0].dtype, [frame.emit(child) for child in expr.children]
    if expr.op == "cast":
        return frame.joined(f"cast_{source.short}", expr.dtype.short, values, expr.dtype)
    word = OF_BOOLS[expr.op] if source == BOOL else WORDS.get(expr.op, expr.op)
    return frame.joined(word, source.short, values[:1] if word == "not" else values, expr.dtype)


def _conjunction(frame: Frame, expr: Expr) -> Value:
    """Conditions; what one loads is guarded by the index conditions among those before it.

    Index conditions come first, those that load nothing before others, so that they guard the rest.
    """
    guard, found = frame.guard, list[Value]()

    def order(one: Expr) -> tuple[bool, int]:
        return not isinstance(one.attribute, Order), len(list(loads(one)))

    for term in sorted(conjuncts(expr), key=order):
        found.append(frame.under(guard).emit(term))
        guard = (*guard, term) if isinstance(term.attribute, Order) else guard
    return reduce(frame.both, found)


def _select(frame: Frame, expr: Expr) -> Value:
    """A choice; index conditions guard the loads of either side."""
    condition, yes, no = expr.children
    values = [frame.emit(condition)]
    for holds, side in ((condition, yes), (negation(condition), no)):
        terms = [one for one in conjuncts(holds) if isinstance(one.attribute, Order)]
        inside = frame.under(tuple(dict.fromkeys([*frame.guard, *terms])))
        values.append(inside.emit(side))
    return frame.joined("sel", expr.dtype.short, values, expr.dtype)
