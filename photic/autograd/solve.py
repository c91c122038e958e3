"""Which elements of a view's result read a given element of its source: the view, solved for them.

``source[e(i)]`` is what a view shows at ``i``. Here ``j = e(i)`` is solved for ``i``: an index of
the result for each place ``j`` of the source and each value of some *free* variables, with bounds
outside which nothing reads ``j``. Every ``i`` that reads ``j`` belongs to exactly one value of the
free variables: so a sum over them is a sum over all readers.

Indices are affine in parts, with ``//`` and ``%``. What is divided becomes a number of its own
with digits; then each equation is affine, and its unknowns are the digits of a number where their
strides allow it (reshapes, steps), else all but one of them are free (windows). What is not affine
after that is not solved: None. Nothing here touches graphs.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from math import gcd

from photic.ir import dim as dims
from photic.ir.dim import Atom, Dim, FloorDiv, Mod, Symbol, Var, at_most, coefficient_of, var
from photic.ir.view import Bound, Shape, View, axis_variable

Term = tuple[Dim, Var]  # a stride and its variable
MOST_DIVISIONS = 64  # a chain of movements has a few; sizes that do not cancel could go on for ever


@dataclass(frozen=True, slots=True)
class Solution:
    """Readers: axes of ``shape`` are those of the source, then the free ones; ``index`` reads."""

    shape: Shape
    index: tuple[Dim, ...]
    bounds: tuple[Bound, ...]


@dataclass(slots=True)
class _System:
    """Equations ``target = value`` in unknowns, and what has been found out about these.

    ``split`` unknowns are written in others, their digits; ``known`` ones in axes of the solution.
    """

    rank: int
    equations: list[tuple[Dim, Dim]]
    split: dict[Atom, Dim] = field(default_factory=dict)
    known: dict[Atom, Dim] = field(default_factory=dict)
    free: list[Dim] = field(default_factory=list)
    bounds: list[tuple[Dim, Dim]] = field(default_factory=list)
    names: itertools.count[int] = field(default_factory=itertools.count)
    divisions: int = 0

    def unknown(self, extent: Dim) -> Dim:
        """A new unknown number below ``extent``."""
        return var(f"u{next(self.names)}", extent)

    def set_free(self, one: Var) -> Dim:
        """Make an unknown a free variable."""
        place = axis_variable(self.rank + len(self.free), one.extent)
        self.free.append(one.extent)
        self.known[one] = place
        return place

    def written(self, value: Dim) -> Dim:
        """A value with its split and known unknowns replaced."""
        while dims.variables(value) & self.split.keys():
            value = dims.substitute(value, self.split)
        return dims.substitute(value, self.known)

    def unknowns(self, value: Dim) -> list[Var]:
        """The unknowns in a value, in a fixed order."""
        names = (one for one in dims.variables(value) if one.name.startswith("u"))
        return sorted(names, key=str)


@lru_cache(maxsize=4096)
def solve(view: View, source: Shape) -> Solution | None:
    """The view solved for the elements that read one of its source; None where that fails."""
    system = _System(len(source), [])
    axes = [system.unknown(extent) for extent in view.shape]
    given = zip(view.shape, axes)
    table: dict[Atom, Dim] = {Var(f"i{k}", n): one for k, (n, one) in enumerate(given) if n != 1}
    for axis, (index, extent) in enumerate(zip(view.index, source, strict=True)):
        system.equations.append((axis_variable(axis, extent), dims.substitute(index, table)))
    while system.equations:
        while _divide(system):
            pass
        if not _solve_one(system):
            return None
    return _solution(view, source, system, axes, table)


def _solution(
    view: View, source: Shape, system: _System, axes: list[Dim], table: dict[Atom, Dim]
) -> Solution:
    """The index of each axis of the view; unknowns in no equation are free."""
    read = {Bound(index, extent) for index, extent in zip(view.index, source, strict=True)}
    given = [one for one in view.bounds if one not in read]  # a place of the source is inside it
    wanted = [*axes, *(dims.substitute(one.value, table) for one in given)]
    for value in (*wanted, *(value for value, _ in system.bounds)):
        for one in system.unknowns(system.written(value)):
            system.set_free(one)
    pairs = [*zip(wanted[len(axes) :], (one.extent for one in given)), *system.bounds]
    bounds = (Bound(system.written(value), extent) for value, extent in pairs)
    needed = dict.fromkeys(one for one in bounds if not dims.is_within(one.value, one.extent))
    index = tuple(system.written(one) for one in axes)
    return Solution((*source, *system.free), index, tuple(needed))


# --- digits ---------------------------------------------------------------------------------


def _divide(system: _System) -> bool:
    """Join two equations, or replace one number that is divided by digits; False if none is."""
    system.divisions += 1
    if system.divisions > MOST_DIVISIONS:
        return False
    system.equations = [
        (system.written(target), system.written(value)) for target, value in system.equations
    ]
    if _join(system):
        return True
    for _, value in system.equations:
        for atom in _divisions(system, value):
            if not _divisions(system, atom.top):
                return _split(system, atom.top, atom.bottom)
    return False


def _divisions(system: _System, value: Dim) -> list[FloorDiv | Mod]:
    """The divisions of unknowns in a value."""
    found = (one for one in dims.atoms(value) if isinstance(one, FloorDiv | Mod))
    return sorted((one for one in found if system.unknowns(one.top)), key=str)


def _join(system: _System) -> bool:
    """``a = x // n`` and ``b = x % n`` are ``n*a + b = x``; False if there is no such pair."""
    for low in system.equations:
        match dims.terms_of(low[1]):
            case (((Mod(bottom=bottom),), 1),) if dims.is_within(low[0], bottom):
                for high in system.equations:
                    value = dims.mul(bottom, high[1]) + low[1]
                    apart = {*_divisions(system, low[1]), *_divisions(system, high[1])}
                    if high is low or len(_divisions(system, value)) >= len(apart):
                        continue
                    rest = [one for one in system.equations if one not in (low, high)]
                    target = dims.mul(bottom, high[0]) + low[0]
                    system.equations = [*rest, (target, value)]
                    return True
    return False


def _split(system: _System, top: Dim, bottom: Dim) -> bool:
    """Write ``top`` as ``bottom*high + low``; False where its range is not known."""
    floor, rest = dims.FloorDiv(top, bottom), dims.Mod(top, bottom)
    match dims.terms_of(top):
        case (((Var() as one,), 1),):
            high, low = _digits(system, one.extent, bottom)
            system.split[one] = dims.mul(high, bottom) + low
            system.bounds.append((var(one.name, one.extent), one.extent))
            _replace(system, {floor: high, rest: low})
            return True
    ends = _range(top)
    if ends is None:
        return False
    least, span = ends
    is_floored = any(floor in dims.atoms(one) for pair in system.equations for one in pair)
    if at_most(span, bottom) and not is_floored:
        # the remainder alone tells the number, as a rotation does
        low = system.unknown(bottom)
        _replace(system, {rest: low})
        system.equations.append((dims.mod(low - least, bottom), top - least))
        return True
    base = dims.floordiv(least, bottom)
    start = dims.mul(base, bottom)
    high, low = _digits(system, least + span - start, bottom)
    _replace(system, {floor: high + base, rest: low})
    system.equations.append((dims.mul(high, bottom) + low, top - start))
    return True


def _replace(system: _System, table: dict[Atom, Dim]) -> None:
    system.equations = [
        (dims.substitute(target, table), dims.substitute(value, table))
        for target, value in system.equations
    ]


def _digits(system: _System, extent: Dim, bottom: Dim) -> tuple[Dim, Dim]:
    """Two new digits of a number below ``extent``, or up to the next multiple of ``bottom``."""
    count = dims.exact_div(extent, bottom)
    if count is None:
        count = dims.floordiv(extent + bottom - 1, bottom)
    return system.unknown(count), system.unknown(bottom)


def _range(value: Dim) -> tuple[Dim, Dim] | None:
    """The lowest value and how many there are up to the highest, if affine with known signs."""
    terms = _affine(value)
    if terms is None:
        return None
    low = terms[1]
    span: Dim = 1
    for stride, one in terms[0]:
        reach = dims.mul(stride, one.extent - 1)
        if _at_most(0, stride):
            span = span + reach
        elif _at_most(stride, 0):
            low, span = low + reach, span - reach
        else:
            return None
    return low, span


# --- affine equations -----------------------------------------------------------------------


def _affine(value: Dim) -> tuple[list[Term], Dim] | None:
    """The strides of a value's unknowns and what is left; None if it is not affine in them."""
    terms: list[Term] = []
    for one in sorted(dims.variables(value), key=str):
        if not one.name.startswith("u"):
            continue
        stride = coefficient_of(value, one)
        if stride is None or any(x.name.startswith("u") for x in dims.variables(stride)):
            return None
        terms.append((stride, one))
    origin: dict[Atom, Dim] = {one: 0 for _, one in terms}
    return terms, dims.substitute(value, origin)


def _solve_one(system: _System) -> bool:
    """Solve the equation with a known target and the fewest unknowns; False if it is not affine."""
    ready = [pair for pair in system.equations if not system.unknowns(pair[0])]
    if not ready:
        system.set_free(_undetermined(system))
        return True
    chosen = min(ready, key=lambda pair: len(system.unknowns(pair[1])))
    system.equations.remove(chosen)
    target, value = chosen
    parts = _affine(value)
    if parts is None:
        return False
    terms, constant = parts
    _solve_affine(system, target - constant, terms)
    return True


def _undetermined(system: _System) -> Var:
    """An unknown of a target that no equation will tell, if there is one."""
    waiting = [one for target, _ in system.equations for one in system.unknowns(target)]
    told = {one for _, value in system.equations for one in system.unknowns(value)}
    return min([one for one in waiting if one not in told] or waiting, key=_most)


def _solve_affine(system: _System, rest: Dim, terms: list[Term]) -> None:
    """``rest = stride*unknown + ...`` in its digits, largest stride first, the others set free."""
    upward: list[Term] = []
    for stride, one in terms:
        if _at_most(1, stride):
            upward.append((stride, one))
        elif _at_most(stride, -1):  # counted from its end
            other = system.unknown(one.extent)
            system.split[one] = one.extent - 1 - other
            rest = rest - dims.mul(stride, one.extent - 1)
            upward += [(-stride, x) for x in system.unknowns(other)]
        else:
            rest = rest - dims.mul(stride, system.set_free(one))
    _digit_by_digit(system, rest, _by_stride(upward))


def _digit_by_digit(system: _System, rest: Dim, terms: list[Term]) -> None:
    if not terms:
        system.bounds.append((rest, 1))
    while terms:
        (stride, one), *others = terms
        if not others or _at_most(_reach(others) + 1, stride):
            system.known[one] = value = dims.floordiv(rest, stride)
            system.bounds.append((value, one.extent))
            if not others:
                system.bounds.append((dims.mod(rest, stride), 1))
            rest, terms = dims.mod(rest, stride), others
            continue
        longest = max(others, key=lambda term: _most_of(_reach([term])))
        freed = min(terms[0], longest, key=lambda term: _most(term[1]))
        if len(terms) == 2 and _in_steps(system, rest, freed, terms[freed is terms[0]]):
            return
        rest = rest - dims.mul(freed[0], system.set_free(freed[1]))
        terms.remove(freed)


def _in_steps(system: _System, rest: Dim, freed: Term, kept: Term) -> bool:
    """Of two unknowns, free one in steps of the other's stride; False where that does not help.

    ``rest = a*u + b*v`` tells ``u`` modulo b, if a and b have no common divisor: only every b-th
    ``u`` is tried.
    """
    (near, one), (far, other) = freed, kept
    if not (isinstance(near, int) and isinstance(far, int)) or far == 1 or gcd(near, far) != 1:
        return False
    first = dims.mod(dims.mul(rest, pow(near, -1, far)), far)
    count = dims.floordiv(one.extent + far - 1, far)
    step = axis_variable(system.rank + len(system.free), count)
    system.free.append(count)
    system.known[one] = dims.mul(step, far) + first
    left = rest if near == 1 else rest - dims.mul(first, near)
    system.known[other] = dims.floordiv(left, far) - dims.mul(step, near)
    system.bounds += [(system.known[one], one.extent), (system.known[other], other.extent)]
    return True


def _by_stride(terms: Iterable[Term]) -> list[Term]:
    """Largest stride first, as far as that is known."""
    ordered: list[Term] = []
    for term in terms:
        place = 0
        while place < len(ordered) and _at_most(term[0], ordered[place][0]):
            place += 1
        ordered.insert(place, term)
    return ordered


def _reach(terms: Sequence[Term]) -> Dim:
    """The highest value of a sum of terms, all strides being positive."""
    total: Dim = 0
    for stride, one in terms:
        total = total + dims.mul(stride, one.extent - 1)
    return total


def _most(one: Var) -> int:
    return _most_of(one.extent)


def _most_of(value: Dim) -> int:
    return dims.bounds(value)[1]


def _at_most(left: Dim, right: Dim) -> bool:
    """As ``at_most`` for sizes of 1 or more: where a size is 0 there is no element to read."""
    sizes = (dims.symbols(left) | dims.symbols(right)) if left is not right else set()
    table: dict[Atom, Dim] = {
        one: dims.symbol(one.name, 1, max(1, one.high))
        for one in sizes
        if isinstance(one, Symbol) and one.low == 0
    }
    return at_most(dims.substitute(left, table), dims.substitute(right, table))
