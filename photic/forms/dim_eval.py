"""The meaning of sizes and indices: the number that each is, given numbers for its atoms.

A divisor of 0 comes from an empty extent; division by it gives 0, as for integers everywhere.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from photic.ir.dim import Atom, Data, Dim, FloorDiv, Mod, Symbol, Var, terms_of

Lookup = Callable[[Symbol | Var | Data], int]


def number_of(value: Dim, lookup: Lookup) -> int:
    """The number that the value has, given a number for each symbol and variable.

    ``lookup`` may return NumPy integer arrays; the result is then an array.
    """
    return sum(
        prod((_atom_number(atom, lookup) for atom in monomial), start=factor)
        for monomial, factor in terms_of(value)
    )


def _atom_number(atom: Atom, lookup: Lookup) -> int:
    if isinstance(atom, FloorDiv | Mod):
        bottom = number_of(atom.bottom, lookup)
        if isinstance(bottom, int) and bottom == 0:
            return 0
        top = number_of(atom.top, lookup)
        return top // bottom if isinstance(atom, FloorDiv) else top % bottom
    return lookup(atom)
