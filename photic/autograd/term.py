"""A part of a gradient: a plain number times masks times a product of values, not yet computed.

Numbers are multiplied in float64 and rounded once. Masks wait: ``m*(v*g)`` is nothing where the
mask is false, whatever ``g`` is there, while ``(m*v)*g`` would be 0*inf. So a branch that was not
taken never gives nan, as long as nothing is summed between it and the choice. Terms of one node
with the same value cancel, those with the same masks are added before they are masked.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from photic.autograd import build
from photic.autograd.transpose import laid, moves_only, transposed
from photic.ir.dtype import DType
from photic.ir.graph import Operand
from photic.ir.view import Shape, View, is_identity


@dataclass(frozen=True, slots=True)
class Term:
    """``number * masks * factors``; with ``is_masked`` the one factor is nothing where they fail.

    All factors and masks have one shape.
    """

    factors: tuple[Operand, ...]
    number: float = 1.0
    masks: tuple[Operand, ...] = ()
    is_masked: bool = False

    @property
    def value(self) -> Operand:
        """The product of the factors."""
        return build.product(self.factors)


def times(term: Term, factor: Operand) -> Term:
    """The term times a value of its shape."""
    known = build.value_of(factor)
    if known is not None and math.isfinite(known):
        return scaled(term, known)
    return replace(term, factors=(*term.factors, factor), is_masked=False)


def scaled(term: Term, number: float) -> Term:
    """The term times a plain number."""
    return replace(term, number=term.number * number)


def where(term: Term, mask: Operand) -> Term:
    """The term where a mask of its shape is true."""
    if mask in term.masks:
        return term
    return replace(term, masks=(*term.masks, mask), is_masked=False)


def masked_value(term: Term) -> Operand:
    """The factors and the masks, the number aside."""
    if term.is_masked or not term.masks:
        return term.value
    return build.masked(build.product(term.masks), term.value)


def settled(term: Term) -> Term:
    """The term with its masks applied."""
    return Term((masked_value(term),), term.number)


def whole(term: Term) -> Operand:
    """The value of a term."""
    return build.scaled(masked_value(term), term.number)


def in_dtype(term: Term, dtype: DType) -> Term:
    """The term with its value rounded to another dtype."""
    return replace(term, factors=(build.in_dtype(term.value, dtype),))


def brought(term: Term, view: View, source: Shape) -> Term:
    """A term at a view's result, brought to the view's source: seen there, or summed."""
    if is_identity(view, source):
        return replace(term, factors=(term.value,))
    if not moves_only(view, source):
        pending = () if term.is_masked else term.masks
        found = transposed(view, source, term.factors, pending)
        return Term((found.value,), term.number * found.factor)
    found = transposed(view, source, term.factors, ())
    masks = tuple(laid(one, view, source) for one in term.masks)
    is_masked = term.is_masked or not masks
    if found.within is not None:
        masks = (*masks, found.within)
    return Term((found.value,), term.number, masks, is_masked and bool(masks))


# --- sums of terms --------------------------------------------------------------------------


def total(terms: Sequence[Term]) -> Term | None:
    """The sum of terms of one factor; None if they cancel."""
    kept = _added_up(terms)
    groups: dict[tuple[bool, frozenset[Operand]], list[Term]] = {}
    for one in kept:
        groups.setdefault((one.is_masked, frozenset(one.masks)), []).append(one)
    sums = [_sum_alike(group) for group in groups.values()]
    if len(sums) <= 1:
        return sums[0] if sums else None
    return Term((_sum(map(whole, sums)),))


def _added_up(terms: Iterable[Term]) -> list[Term]:
    """Terms that differ in their numbers only are one; those of number 0 go."""
    numbers: dict[Term, float] = {}
    for one in terms:
        key = replace(one, number=1.0)
        numbers[key] = numbers.get(key, 0.0) + one.number
    found = (replace(key, number=number) for key, number in numbers.items() if number)
    return [one for one in found if not build.is_nothing(one.value)]


def _sum_alike(group: Sequence[Term]) -> Term:
    """The sum of terms that have their masks in common."""
    first = group[0]
    if all(one.number == first.number for one in group):
        return replace(first, factors=(_sum(one.value for one in group),))
    value = _sum(build.scaled(one.value, one.number) for one in group)
    return replace(first, factors=(value,), number=1.0)


def _sum(values: Iterable[Operand]) -> Operand:
    result: Operand | None = None
    for one in values:
        result = one if result is None else build.plus(result, one)
    assert result is not None
    return result
