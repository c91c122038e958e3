"""Views: movement as algebra. A view says, for each index of its result, which element it reads.

A ``View`` has a shape, one index (a ``Dim`` over the variables ``i0, i1, ...`` of its own axes) per
axis of the source, and bounds: where an index leaves its bounds the view reads nothing, which
``mul`` by false makes the identity of ``add`` (-0.0, 0, False). Views compose by substitution, so
any chain of movements is one view. Nothing here touches data.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from photic.base.errors import AxisOutOfRange, BadArgument, CannotReshape, ShapeMismatch
from photic.ir import dim as dims
from photic.ir.dim import Atom, Dim, Int, Var, add, at_most, floordiv, is_within, mul, product

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
    return dims.var(f"i{axis}", extent)


@lru_cache(maxsize=4096)
def identity(shape: Shape) -> View:
    """The view that changes nothing."""
    return View(shape, tuple(axis_variable(k, n) for k, n in enumerate(shape)))


def is_identity(view: View, source: Shape) -> bool:
    """True if the view shows the whole source as it is."""
    return view == identity(source)


def _moved(view: View, shape: Shape, index: Sequence[Dim], bounds: Sequence[Bound] = ()) -> View:
    """Compose: the new result of ``shape`` reads the old result at ``index`` within ``bounds``."""
    table: dict[Atom, Dim] = {}
    for axis, extent in enumerate(view.shape):
        variable = axis_variable(axis, extent)
        if isinstance(variable, Int):
            table[Var(f"i{axis}", extent)] = index[axis]
    return View(
        shape,
        tuple(dims.substitute(one, table) for one in view.index),
        _needed([*(_bound_under(one, table) for one in view.bounds), *bounds]),
    )


def _bound_under(bound: Bound, table: Mapping[Atom, Dim]) -> Bound:
    return Bound(dims.substitute(bound.value, table), bound.extent)


def _needed(bounds: Sequence[Bound]) -> tuple[Bound, ...]:
    kept: dict[Bound, None] = {}
    for bound in bounds:
        if not is_within(bound.value, bound.extent):
            kept[bound] = None
    return tuple(kept)


def _variables(shape: Shape) -> list[Dim]:
    return [axis_variable(k, n) for k, n in enumerate(shape)]


def checked_axis(op: str, axis: int, rank: int) -> int:
    """The axis counted from the front; AxisOutOfRange outside -rank..rank-1."""
    if not -rank <= axis < rank:
        raise AxisOutOfRange(op=op, axis=axis, rank=rank)
    return axis % rank


def permute(view: View, order: Sequence[int]) -> View:
    """Result axis k is source axis ``order[k]``."""
    if sorted(order) != list(range(view.rank)):
        raise BadArgument(
            op="permute",
            argument="order",
            given=tuple(order),
            expected=f"each of 0..{view.rank - 1} once",
        )
    shape = tuple(view.shape[k] for k in order)
    index: list[Dim] = [0] * view.rank
    for place, k in enumerate(order):
        index[k] = axis_variable(place, shape[place])
    return _moved(view, shape, index)


def expand(view: View, shape: Shape) -> View:
    """Broadcast as NumPy does: axes align from the right, an extent of 1 repeats."""
    offset = len(shape) - view.rank
    if offset < 0:
        raise ShapeMismatch(op="expand", left=view.shape, right=shape)
    index: list[Dim] = []
    for axis, extent in enumerate(view.shape):
        if extent == shape[axis + offset]:
            index.append(axis_variable(axis + offset, extent))
        elif extent == 1:
            index.append(0)
        else:
            raise ShapeMismatch(op="expand", left=view.shape, right=shape)
    return _moved(view, shape, index)


def reshape(view: View, shape: Shape) -> View:
    """Same elements in row-major order, other axes."""
    index = _reshape_index(view.shape, shape)
    return _moved(view, shape, index)


def _reshape_index(old: Shape, new: Shape) -> list[Dim]:
    """For each old axis its index in terms of the new axes, group by group of equal products."""
    index: list[Dim] = []
    a = b = 0
    while a < len(old) or b < len(new):
        end_a, end_b = _next_group(old, new, a, b)
        flat: Dim = 0
        for axis in range(b, end_b):
            flat = add(mul(flat, new[axis]), axis_variable(axis, new[axis]))
        group: list[Dim] = []
        for axis in reversed(range(a, end_a)):
            inner = axis > a
            group.append(dims.mod(flat, old[axis]) if inner and old[axis] != 0 else flat)
            flat = floordiv(flat, old[axis]) if inner and old[axis] != 0 else 0
        index += reversed(group)
        a, b = end_a, end_b
    return index


def _next_group(old: Shape, new: Shape, a: int, b: int) -> tuple[int, int]:
    """The shortest runs of old and new axes, from a and b, with one element count."""
    whole = (len(old), len(new))
    if 0 in old[a:] or 0 in new[b:]:
        if product(old[a:]) != product(new[b:]):
            raise CannotReshape(given=product(old), old=old, new=new)
        return whole
    for total in range(1, len(old) - a + len(new) - b + 1):
        for take in range(total + 1):
            end_a, end_b = a + take, b + total - take
            if end_a > len(old) or end_b > len(new):
                continue
            if product(old[a:end_a]) == product(new[b:end_b]):
                return end_a, end_b
    raise CannotReshape(given=product(old), old=old, new=new)


def infer_shape(old: Shape, given: Sequence[Dim]) -> Shape:
    """``given`` with its one -1 replaced; CannotReshape where the counts do not fit."""
    unknown = [k for k, n in enumerate(given) if n == -1]
    if not unknown:
        if product(given) != product(old):
            raise CannotReshape(given=product(old), old=old, new=tuple(given))
        return tuple(given)
    known = product(n for n in given if n != -1)
    size = None if known == 0 else dims.exact_div(product(old), known)
    if len(unknown) > 1 or size is None:
        raise CannotReshape(given=product(old), old=old, new=tuple(given))
    return tuple(size if n == -1 else n for n in given)


def shrink(view: View, axis: int, start: Dim, step: int, length: Dim) -> View:
    """Elements ``start, start + step, ...`` of one axis, ``length`` of them; step may be < 0."""
    shape = (*view.shape[:axis], length, *view.shape[axis + 1 :])
    index = _variables(shape)
    index[axis] = add(start, mul(axis_variable(axis, length), step))
    last = add(start, mul(add(length, -1), step))
    within = length == 0 or (
        all(at_most(0, one) for one in (start, last))
        and all(at_most(add(one, 1), view.shape[axis]) for one in (start, last))
    )
    bounds = () if within else (Bound(index[axis], view.shape[axis]),)
    return _moved(view, shape, index, bounds)


def select(view: View, axis: int, at: Dim) -> View:
    """The slice at one index of an axis, that axis gone."""
    shape = (*view.shape[:axis], *view.shape[axis + 1 :])
    index = _variables(shape)
    index.insert(axis, at)
    bounds = () if is_within(at, view.shape[axis]) else (Bound(at, view.shape[axis]),)
    return _moved(view, shape, index, bounds)


def flip(view: View, axis: int) -> View:
    """One axis backwards."""
    index = _variables(view.shape)
    index[axis] = add(add(view.shape[axis], -1), mul(index[axis], -1))
    return _moved(view, view.shape, index)


def pad(view: View, axis: int, before: Dim, after: Dim) -> View:
    """``before`` and ``after`` empty places around one axis (negative: cut away)."""
    extent = add(add(view.shape[axis], before), after)
    shape = (*view.shape[:axis], extent, *view.shape[axis + 1 :])
    index = _variables(shape)
    index[axis] = add(index[axis], mul(before, -1))
    return _moved(view, shape, index, [Bound(index[axis], view.shape[axis])])


def windows(view: View, axis: int, size: Dim, step: int, dilation: int) -> View:
    """One axis becomes two: where the window starts, and (appended last) the place in it."""
    reach = add(mul(add(size, -1), dilation), 1)
    count = add(floordiv(add(view.shape[axis], mul(reach, -1)), step), 1)
    shape = (*view.shape[:axis], count, *view.shape[axis + 1 :], size)
    index = _variables(shape)
    place = index.pop()
    index[axis] = add(mul(index[axis], step), mul(place, dilation))
    bounds = [Bound(index[axis], view.shape[axis])]
    return _moved(view, shape, index, bounds)
