"""Symbolic integers: sizes and indices as polynomials over named sizes, axis variables, // and mod.

A ``Dim`` is a plain ``int`` or an ``Int``. An ``Int`` is a sum of terms, each an integer times a
product of atoms. Atoms are symbolic sizes (with a range), axis variables (with an extent), and
floor-divisions and moduli that no law could remove. The form is normal: two ``Int`` that the laws
of this file make equal compare equal. Division and modulo are floored; divisors are positive.

This file proves simple facts (``bounds``, ``at_most``) by intervals; what it cannot prove it
says so by ``False``, never by a guess.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, lru_cache
from keyword import iskeyword
from math import gcd, prod
from numbers import Integral
from typing import Protocol, TypeAlias, Union

from photic.base.errors import BadArgument, NoTruthValue

CACHED = 1 << 16  # results kept of each operation; graphs repeat the same few thousand


@dataclass(frozen=True, slots=True)
class Symbol:
    """A size that is known only when the program is called: ``low <= value <= high``."""

    name: str
    low: int
    high: int

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Var:
    """The index of one axis: ``0 <= value < extent``."""

    name: str
    extent: Dim

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class FloorDiv:
    """``floor(top / bottom)`` with ``bottom > 0``, not reducible by the laws of this file."""

    top: Dim
    bottom: Dim

    def __str__(self) -> str:
        return f"(({self.top}) // {_group(self.bottom)})"


@dataclass(frozen=True, slots=True)
class Mod:
    """``top mod bottom`` in ``0..bottom-1``, not reducible by the laws of this file."""

    top: Dim
    bottom: Dim

    def __str__(self) -> str:
        return f"(({self.top}) % {_group(self.bottom)})"


class Computed(Protocol):
    """An integer expression of another form (the index form's values), hashable and printable."""

    def substitute(self, table: Mapping[Atom, Dim]) -> Computed:
        """The same expression with atoms replaced."""

    def variables(self) -> set[Var]:
        """The axis variables that it depends on."""

    def shown(self) -> str:
        """A short text that only an equal value has."""


@dataclass(frozen=True, slots=True)
class Data:
    """An index that is read from data at run time: ``low <= value <= high`` (guarded outside)."""

    value: Computed
    low: int
    high: int

    def __str__(self) -> str:
        return f"data({self.value.shown()}, {self.low}, {self.high})"


Atom: TypeAlias = Symbol | Var | FloorDiv | Mod | Data
Monomial: TypeAlias = tuple[Atom, ...]
Dim: TypeAlias = Union[int, "Int"]


def _group(value: Dim) -> str:
    return str(value) if isinstance(value, int) else f"({value})"


@cache
def _order(atom: Atom) -> tuple[str, str]:
    return type(atom).__name__, str(atom)


@dataclass(frozen=True, slots=True, eq=False)
class Int:
    """A polynomial that is not a constant; its operators return ``int`` where they can."""

    terms: tuple[tuple[Monomial, int], ...]
    _hash: int = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_hash", hash(self.terms))

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Int):
            return self._hash == other._hash and self.terms == other.terms
        return False if isinstance(other, Integral) else NotImplemented

    def __add__(self, other: Dim) -> Dim:
        return add(self, other) if isinstance(other, _SIZES) else NotImplemented

    __radd__ = __add__

    def __neg__(self) -> Dim:
        return mul(self, -1)

    def __sub__(self, other: Dim) -> Dim:
        return add(self, mul(other, -1)) if isinstance(other, _SIZES) else NotImplemented

    def __rsub__(self, other: Dim) -> Dim:
        return add(other, mul(self, -1)) if isinstance(other, _SIZES) else NotImplemented

    def __mul__(self, other: Dim) -> Dim:
        return mul(self, other) if isinstance(other, _SIZES) else NotImplemented

    __rmul__ = __mul__

    def __floordiv__(self, other: Dim) -> Dim:
        return floordiv(self, other) if isinstance(other, _SIZES) else NotImplemented

    def __mod__(self, other: Dim) -> Dim:
        return mod(self, other) if isinstance(other, _SIZES) else NotImplemented

    def __lt__(self, other: Dim) -> bool:
        return _decide(self, other, "<")

    def __le__(self, other: Dim) -> bool:
        return _decide(self, other, "<=")

    def __gt__(self, other: Dim) -> bool:
        return _decide(self, other, ">")

    def __ge__(self, other: Dim) -> bool:
        return _decide(self, other, ">=")

    def __int__(self) -> int:
        raise NoTruthValue(kind="size", what=f"integer value ({self})")

    __index__ = __int__

    def __str__(self) -> str:
        return " + ".join(_term_text(m, c) for m, c in self.terms).replace("+ -", "- ")

    __repr__ = __str__


_SIZES = (Int, Integral)  # what the operators take; else Python asks the other operand, a tensor


def _decide(left: Dim, right: Dim, sign: str) -> bool:
    if not isinstance(right, _SIZES):
        return NotImplemented  # type: ignore[no-any-return]
    low, high = (left, right) if sign in ("<", ">=") else (right, left)
    is_below, is_not = at_most(add(low, 1), high), at_most(high, low)
    if is_below or is_not:
        return is_not if "=" in sign else is_below
    raise NoTruthValue(kind="comparison", what=f"truth value ({left} {sign} {right})")


def _term_text(monomial: Monomial, coefficient: int) -> str:
    names = "*".join(str(atom) for atom in monomial)
    if not names:
        return str(coefficient)
    if coefficient == 1:
        return names
    return f"-{names}" if coefficient == -1 else f"{coefficient}*{names}"


def symbol(name: str, low: int, high: int) -> Int:
    """A symbolic size with its range (both ends included, ``0 <= low <= high``)."""
    if not (isinstance(low, int) and isinstance(high, int) and 0 <= low <= high):
        given = f"{low}..{high}"
        raise BadArgument(op="dim", argument="range", given=given, expected="0 <= low <= high")
    is_axis = name[:1] == "i" and name[1:].isdigit()  # i0, i1, ...: the axis variables of views
    if not (name.isidentifier() and name.isascii()) or is_axis or iskeyword(name):
        expected = "an ASCII identifier, not i0, i1"
        raise BadArgument(op="dim", argument="name", given=repr(name), expected=expected)
    return _atom(Symbol(name, low, high))


def var(name: str, extent: Dim) -> Dim:
    """The index of an axis; the index of an axis of extent 1 is the constant 0."""
    return 0 if extent == 1 else _atom(Var(name, extent))


def terms_of(value: Dim) -> tuple[tuple[Monomial, int], ...]:
    """The terms of a size; a constant is the empty product."""
    if isinstance(value, Int):
        return value.terms
    return (((), int(value)),) if value else ()


def _from_terms(terms: Iterable[tuple[Monomial, int]]) -> Dim:
    """The sum of terms; those of equal monomials become one."""
    total: dict[Monomial, int] = {}
    for monomial, coefficient in terms:
        total[monomial] = total.get(monomial, 0) + coefficient
    kept = [(m, c) for m, c in total.items() if c]
    constant = total.get((), 0)
    if not kept or (constant and len(kept) == 1):
        return constant
    kept.sort(key=lambda term: tuple(_order(atom) for atom in term[0]))
    return Int(tuple(kept))


@lru_cache(maxsize=CACHED)
def add(left: Dim, right: Dim) -> Dim:
    """The sum; ``n*(x // n) + x % n`` becomes ``x``."""
    if isinstance(left, int) and isinstance(right, int):
        return left + right
    return _join_quotients(_plain_add(left, right))


def _plain_add(left: Dim, right: Dim) -> Dim:
    return _from_terms((*terms_of(left), *terms_of(right)))


def _join_quotients(value: Dim) -> Dim:
    """Apply ``c*n*(x // n) + c*(x % n) = c*x`` wherever both parts stand in the sum.

    ``x // n`` may also stand as ``(x % m) // n`` with n dividing m; the result is then ``x % m``.
    """
    table = dict(terms_of(value))
    for monomial, coefficient in terms_of(value):
        for place, atom in enumerate(monomial):
            if not isinstance(atom, Mod):
                continue
            factor = _from_terms([(monomial[:place] + monomial[place + 1 :], coefficient)])
            for whole in _wholes(value, atom):
                parts = mul(mul(floordiv(whole, atom.bottom), atom.bottom), factor)
                if parts != 0 and all(table.get(m) == c for m, c in terms_of(parts)):
                    gone = _plain_add(parts, _from_terms([(monomial, coefficient)]))
                    return add(_plain_add(value, -gone), mul(whole, factor))
    return value


def _wholes(value: Dim, part: Mod) -> list[Dim]:
    """What ``n*(w // n) + part`` could be: the top of ``part``, or that top modulo a multiple."""
    found = [part.top]
    for monomial, _ in terms_of(value):
        for atom in monomial:
            if isinstance(atom, FloorDiv) and atom.bottom == part.bottom:
                inner = _only_atom(atom.top)
                if isinstance(inner, Mod) and mod(atom.top, part.bottom) == _atom(part):
                    found.append(atom.top)
    return found


def _atom(one: Atom) -> Int:
    return Int((((one,), 1),))


def _only_atom(value: Dim) -> Atom | None:
    """The atom that the value is, if it is nothing else."""
    match terms_of(value):
        case (((atom,), 1),):
            return atom
    return None


@lru_cache(maxsize=CACHED)
def mul(left: Dim, right: Dim) -> Dim:
    """The product, multiplied out."""
    if isinstance(left, int) and isinstance(right, int):
        return left * right
    return _from_terms(
        (tuple(sorted(m1 + m2, key=_order)), c1 * c2)
        for m1, c1 in terms_of(left)
        for m2, c2 in terms_of(right)
    )


def product(values: Iterable[Dim]) -> Dim:
    """The product of many sizes; of none, 1."""
    return prod(values)


def _split_multiple(value: Dim, by: Dim) -> tuple[Dim, Dim]:
    """``value = quotient*by + rest`` where the quotient takes each term that ``by`` divides."""
    divisor = terms_of(by)
    if len(divisor) != 1:
        return (1, 0) if value == by else (0, value)
    (monomial, factor), quotient, rest = divisor[0], {}, {}
    for term, coefficient in terms_of(value):
        whole, over = divmod(coefficient, factor)
        lacks = any(term.count(atom) < monomial.count(atom) for atom in monomial)
        if lacks or (term and over):  # only a constant is taken in part
            rest[term] = coefficient
            continue
        left = list(term)
        for atom in monomial:
            left.remove(atom)
        quotient[tuple(left)], rest[term] = whole, over
    return _from_terms(quotient.items()), _from_terms(rest.items())


def exact_div(value: Dim, by: Dim) -> Dim | None:
    """``value / by`` where that is a polynomial again, else None (a question, not a failure)."""
    quotient, rest = _split_multiple(value, by)
    return quotient if rest == 0 else None


def _require_positive(bottom: Dim, what: str) -> None:
    if bounds(bottom)[0] < 0 or bottom == 0:
        raise BadArgument(op=what, argument="divisor", given=bottom, expected="a positive size")


@lru_cache(maxsize=CACHED)
def floordiv(top: Dim, bottom: Dim) -> Dim:
    """``floor(top / bottom)``; terms that divide leave, what is provably under ``bottom`` is 0."""
    if isinstance(top, int) and isinstance(bottom, int):
        return top // bottom
    _require_positive(bottom, "//")
    quotient, rest = _split_multiple(top, bottom)
    if rest == 0 or is_within(rest, bottom):
        return quotient
    if isinstance(bottom, int):
        return add(quotient, _floordiv_by_constant(rest, bottom))
    return add(quotient, _atom(FloorDiv(rest, bottom)))


def _floordiv_by_constant(rest: Dim, bottom: int) -> Dim:
    for coarse, _, unit in _coarse(rest, bottom):
        return floordiv(coarse, bottom // unit)
    inner = _only_atom(rest)
    if isinstance(inner, FloorDiv) and isinstance(inner.bottom, int):
        return floordiv(inner.top, inner.bottom * bottom)
    return _atom(FloorDiv(rest, bottom))


def _coarse(value: Dim, bottom: int) -> Iterator[tuple[Dim, Dim, int]]:
    """``(coarse, fine, unit)``: ``coarse*unit + fine``, ``fine`` under what divides ``bottom``."""
    factors = [gcd(bottom, c) for monomial, c in terms_of(value) if monomial]
    for unit in sorted({*factors, gcd(bottom, *factors)} - {1}, reverse=True):
        coarse, fine = _split_multiple(value, unit)
        if is_within(fine, unit):
            yield coarse, fine, unit


@lru_cache(maxsize=CACHED)
def mod(top: Dim, bottom: Dim) -> Dim:
    """``top mod bottom``, floored; terms that ``bottom`` divides leave."""
    if isinstance(top, int) and isinstance(bottom, int):
        return top % bottom
    _require_positive(bottom, "%")
    rest = _split_multiple(top, bottom)[1]
    if rest == 0 or is_within(rest, bottom):
        return rest
    inner = _only_atom(rest)
    if isinstance(inner, Mod) and exact_div(inner.bottom, bottom) is not None:
        return mod(inner.top, bottom)
    if isinstance(bottom, int):
        for coarse, fine, unit in _coarse(rest, bottom):
            return add(mul(mod(coarse, bottom // unit), unit), fine)
    return _atom(Mod(rest, bottom))


# --- facts ----------------------------------------------------------------------------------


@cache
def bounds(value: Dim) -> tuple[int, int]:
    """An interval that holds every value: exact for one term, never too small."""
    if isinstance(value, int):
        return value, value
    low = high = 0
    for monomial, coefficient in value.terms:
        a = b = coefficient
        for atom in monomial:
            c, d = _atom_bounds(atom)
            corners = (a * c, a * d, b * c, b * d)
            a, b = min(corners), max(corners)
        low, high = low + a, high + b
    return low, high


def _atom_bounds(atom: Atom) -> tuple[int, int]:
    if isinstance(atom, Symbol | Data):
        return atom.low, atom.high
    if isinstance(atom, Var):
        return 0, max(0, bounds(atom.extent)[1] - 1)
    if isinstance(atom, Mod):
        return 0, max(0, bounds(atom.bottom)[1] - 1)
    (low, high), (least, most) = bounds(atom.top), bounds(atom.bottom)
    corners = [x // max(1, y) for x in (low, high) for y in (least, most)]
    return min(corners), max(corners)


@lru_cache(maxsize=CACHED)
def at_most(left: Dim, right: Dim) -> bool:
    """True only if ``left <= right`` for all sizes and indices in their ranges."""
    gap = right - left
    return bounds(gap)[0] >= 0 or bounds(_lowest(gap))[0] >= 0


def _lowest(value: Dim) -> Dim:
    """A lower bound over the axis variables, as a polynomial in sizes alone where possible."""
    result: Dim = 0
    for monomial, coefficient in terms_of(value):
        factor: Dim = coefficient
        # An atom may go to the end of its range only where no other can turn the product's sign.
        is_monotone = len(monomial) == 1 or all(_atom_bounds(a)[0] >= 0 for a in monomial)
        is_high = is_monotone and coefficient < 0
        for atom in monomial:
            end: Dim = _atom(atom)
            if is_monotone and isinstance(atom, Var | Mod):
                extent = atom.extent if isinstance(atom, Var) else atom.bottom
                end = add(extent, -1) if is_high else 0
            elif is_high and isinstance(atom, FloorDiv) and bounds(atom.bottom)[0] > 0:
                end = floordiv(-_lowest(-atom.top), atom.bottom)
            factor = mul(factor, end)
        result = add(result, factor)
    return result


def is_within(value: Dim, extent: Dim) -> bool:
    """True only if ``0 <= value < extent`` always."""
    return at_most(0, value) and at_most(add(value, 1), extent)


# --- walking --------------------------------------------------------------------------------


def substitute(value: Dim, table: Mapping[Atom, Dim]) -> Dim:
    """Replace atoms (all at once); the result is normal again."""
    if isinstance(value, int):
        return value
    return sum(
        prod((_substitute_atom(atom, table) for atom in monomial), start=coefficient)
        for monomial, coefficient in terms_of(value)
    )


def _substitute_atom(atom: Atom, table: Mapping[Atom, Dim]) -> Dim:
    if atom in table:
        return table[atom]
    if isinstance(atom, FloorDiv):
        return floordiv(substitute(atom.top, table), substitute(atom.bottom, table))
    if isinstance(atom, Mod):
        return mod(substitute(atom.top, table), substitute(atom.bottom, table))
    if isinstance(atom, Var):
        return var(atom.name, substitute(atom.extent, table))
    if isinstance(atom, Data):
        return _atom(Data(atom.value.substitute(table), atom.low, atom.high))
    return _atom(atom)


def data(value: Computed, low: int, high: int) -> Int:
    """An index that is computed from data."""
    return _atom(Data(value, low, high))


@lru_cache(maxsize=CACHED)
def atoms(value: Dim) -> frozenset[Atom]:
    """Every atom in the expression, those inside divisions (and the divisions) included."""
    found = {atom for monomial, _ in terms_of(value) for atom in monomial}
    divisions = [atom for atom in found if isinstance(atom, FloorDiv | Mod)]
    return frozenset(found).union(*(atoms(one.top) | atoms(one.bottom) for one in divisions))


@lru_cache(maxsize=CACHED)
def variables(value: Dim) -> frozenset[Var]:
    """The axis variables that the value depends on, those inside data included."""
    inside = atoms(value)
    read = (atom.value.variables() for atom in inside if isinstance(atom, Data))
    return frozenset(atom for atom in inside if isinstance(atom, Var)).union(*read)


def symbols(value: Dim) -> set[Symbol]:
    """The symbolic sizes that the value depends on, extents of its variables left aside."""
    return {atom for atom in atoms(value) if isinstance(atom, Symbol)}


@lru_cache(maxsize=CACHED)
def coefficient_of(value: Dim, one: Var) -> Dim | None:
    """The factor of ``one`` if the value is affine in it, else None (a question, not a failure)."""
    factor: Dim = 0
    for monomial, coefficient in terms_of(value):
        others = tuple(atom for atom in monomial if atom != one)
        nested = (atom for atom in others if not isinstance(atom, Symbol | Var))
        if len(others) < len(monomial) - 1 or any(one in variables(_atom(x)) for x in nested):
            return None
        if len(others) < len(monomial):
            factor = add(factor, _from_terms([(others, coefficient)]))
    return factor
