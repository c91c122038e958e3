"""One tile statement: its values as register tiles, and its store.

Equal values are computed once a scope. A choice by an index condition guards what stands behind it:
loads there happen only where the condition holds. Chains of operations are walked, not recursed
into, so that their length does not matter.
"""

from __future__ import annotations

from photic.codegen.access import is_safe, load, order, position, store
from photic.codegen.frame import Frame, Key, Value
from photic.codegen.reduce import count_lanes, reduction
from photic.codegen.words import Words, dim_text, number_text
from photic.ir import index as form
from photic.ir.dtype import BOOL
from photic.ir.index import Access, Buffer, Expr, Order, Over, Position
from photic.ir.program import Layout
from photic.loops.nest import Tile

OF_BOOLS = {"add": "or", "max": "or", "maximum": "or"}


class TilePrinter:
    """Prints one tile statement into ``words``."""

    def __init__(self, tile: Tile, layouts: dict[Buffer, Layout], words: Words) -> None:
        inside_lanes = tile.lanes is not None and not tile.lanes.reduced
        self.frame = Frame(tile, layouts, words, self.emit, tile.lanes, inside_lanes)

    def print_store(self) -> None:
        """The whole statement."""
        target, lanes = self.frame.tile.store, self.frame.lanes
        if lanes is not None and lanes.valid is not None:
            count_lanes(self.frame, lanes.count, dim_text(lanes.valid))
        store(self.frame, target.buffer, target.index, self.emit(target.value))

    def emit(self, expr: Expr) -> Value:
        """The register tile of a value, computed now unless it already is."""
        found = self._known(expr)
        stack = [expr]
        while found is None:
            one = stack[-1]
            waiting = [part for part in self._operands(one) if self._known(part) is None]
            stack += reversed(waiting)
            if not waiting:
                stack.pop()
                if self._known(one) is None:
                    self.frame.scopes[-1][self._key(one)] = self._compute(one)
                found = None if stack else self._known(expr)
        return found

    def _key(self, expr: Expr) -> Key:
        frame = self.frame
        return (expr, () if is_safe(frame, expr) else frame.guard, frame.lanes)

    def _known(self, expr: Expr) -> Value | None:
        return self.frame.known(self._key(expr))

    def _operands(self, expr: Expr) -> tuple[Expr, ...]:
        """What is computed before a value, in the same scope and under the same conditions."""
        is_plain = expr.op != "select" and not isinstance(expr.attribute, Over)
        return expr.children if is_plain and not _is_conjunction(expr) else ()

    def _compute(self, expr: Expr) -> Value:
        """Print the computation of a value whose plain operands are known."""
        frame = self.frame
        if expr.op == "number":
            return Value({(): number_text(expr)}, (), False, expr.dtype)
        if isinstance(expr.attribute, Access):
            return load(frame, expr, expr.attribute)
        if isinstance(expr.attribute, Position):
            return position(frame, expr, expr.attribute.index)
        if isinstance(expr.attribute, Order):
            return order(frame, expr, expr.attribute)
        if isinstance(expr.attribute, Over):
            return reduction(frame, expr)
        if expr.op == "select":
            return self._select(expr)
        if _is_conjunction(expr):
            return self._conjunction(expr)
        return self._operation(expr)

    def _operation(self, expr: Expr) -> Value:
        """An element-by-element operation over the union of its operands' points."""
        source = expr.children[0].dtype
        values = [self.emit(child) for child in expr.children]
        if expr.op == "cast":
            return self.frame.joined(f"cast_{source.short}", expr.dtype.short, values, expr.dtype)
        if expr.op == "less_than" and source == BOOL:
            return self.frame.joined("not", "bool", values[:1], BOOL)
        if expr.op == "less_than":
            return self.frame.joined("lt", source.short, values, BOOL)
        word = {"maximum": "max"}.get(expr.op, expr.op)
        if source == BOOL:
            word = OF_BOOLS[expr.op]
        return self.frame.joined(word, source.short, values, expr.dtype)

    def _conjunction(self, expr: Expr) -> Value:
        """Conditions; what one loads is guarded by the index conditions among those before it.

        Conditions that load nothing come first, so that they guard all others.
        """
        frame, guard, found = self.frame, self.frame.guard, list[Value]()
        for term in sorted(form.conjuncts(expr), key=_loads):
            with frame.under(guard):
                found.append(self.emit(term))
            guard = (*guard, term) if isinstance(term.attribute, Order) else guard
        result = found[0]
        for value in found[1:]:
            result = frame.joined("and", "bool", [result, value], BOOL)
        return result

    def _select(self, expr: Expr) -> Value:
        """A choice; index conditions guard the loads of either side."""
        condition, yes, no = expr.children
        values = [self.emit(condition)]
        with self.frame.under(self._with(condition)):
            values.append(self.emit(yes))
        with self.frame.under(self._with(form.negation(condition))):
            values.append(self.emit(no))
        return self.frame.joined("sel", expr.dtype.short, values, expr.dtype)

    def _with(self, condition: Expr) -> tuple[Expr, ...]:
        """The index conditions that hold here, and those of one more condition."""
        terms = [one for one in form.conjuncts(condition) if isinstance(one.attribute, Order)]
        return tuple(dict.fromkeys([*self.frame.guard, *terms]))


def _loads(expr: Expr) -> bool:
    return any(True for _ in form.loads(expr))


def _is_conjunction(expr: Expr) -> bool:
    return expr.op == "mul" and expr.dtype == BOOL
