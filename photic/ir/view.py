"""Views: movement as algebra. A view says, for each index of its result, which element it reads.

A ``View`` has a shape, one index (a ``Dim`` over the variables ``i0, i1, ...`` of its own axes) per
axis of the source, and bounds: where an index leaves its bounds the view reads nothing, which
``mul`` by false makes the identity of ``add`` (-0.0, 0, False). Views compose by substitution, so
any chain of movements is one view. The movements by name are in ``forms/movement.py``. Nothing here
touches data.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from photic.ir.dim import Atom, Dim, Var, is_within, substitute, var

Shape = tuple[Dim, ...]


@dataclass(frozen=True, slots=True)
class Bound:
    """The condition ``0 <= value < extent``."""

    value: Dim
    extent: Dim


@dataclass(frozen=True, slots=True)
class View:
    """``result[i0, ...] = source[index]`` inside ``bounds``, nothing outside."""

    shape: Shape
    index: tuple[Dim, ...]
    bounds: tuple[Bound, ...] = ()

    @property
    def rank(self) -> int:
        """The number of axes of the result."""
        return len(self.shape)


def axis_variable(axis: int, extent: Dim) -> Dim:
    """The variable of one axis of a view's result."""
    return var(f"i{axis}", extent)


def axis_variables(shape: Shape) -> list[Dim]:
    """The variables of all axes of a view's result."""
    return [axis_variable(k, n) for k, n in enumerate(shape)]


@lru_cache(maxsize=4096)
def identity(shape: Shape) -> View:
    """The view that changes nothing."""
    return View(shape, tuple(axis_variables(shape)))


def is_identity(view: View, source: Shape) -> bool:
    """True if the view shows the whole source as it is."""
    return view == identity(source)


def composed(view: View, shape: Shape, index: Sequence[Dim], bounds: Sequence[Bound] = ()) -> View:
    """The new result, of ``shape``, reads the old one at ``index`` within ``bounds``.

    All movement is this: ``index`` has one entry for each axis of the old result, over the
    variables of the new one. Bounds that an index cannot leave are left out.
    """
    axes = enumerate(zip(view.shape, index, strict=True))
    table: dict[Atom, Dim] = {Var(f"i{k}", n): place for k, (n, place) in axes if n != 1}
    under = [Bound(substitute(one.value, table), one.extent) for one in view.bounds]
    needed = [one for one in (*under, *bounds) if not is_within(one.value, one.extent)]
    places = tuple(substitute(one, table) for one in view.index)
    return View(shape, places, tuple(dict.fromkeys(needed)))
