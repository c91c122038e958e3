"""The movements by name, each from a view to a view.

Each says where every axis of the old result is read, over the variables of the new one;
``ir/view.py`` composes. What does not fit is an error here, so that views are right when made.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

from photic.base.errors import BadArgument, ShapeMismatch
from photic.forms.errors import CannotReshape
from photic.ir.dim import Dim, floordiv, is_within, mod, product
from photic.ir.view import Bound, Shape, View, axis_variable, axis_variables, composed


def permute(view: View, order: Sequence[int]) -> View:
    """Result axis k is source axis ``order[k]``."""
    if sorted(order) != list(range(view.rank)):
        expected = f"each of 0..{view.rank - 1} once"
        raise BadArgument(op="permute", argument="order", given=tuple(order), expected=expected)
    shape = tuple(view.shape[k] for k in order)
    return composed(
        view, shape, [axis_variable(order.index(k), n) for k, n in enumerate(view.shape)]
    )


def expand(view: View, shape: Shape) -> View:
    """Broadcast as NumPy does: axes align from the right, an extent of 1 repeats."""
    aligned = slice(len(shape) - view.rank, None)
    pairs = list(zip(view.shape, shape[aligned], strict=False))
    if len(pairs) < view.rank or any(old not in (1, new) for old, new in pairs):
        raise ShapeMismatch(op="expand", left=view.shape, right=shape)
    places = zip(view.shape, axis_variables(shape)[aligned], strict=True)
    return composed(view, shape, [0 if old == 1 else place for old, place in places])


def reshape(view: View, shape: Shape) -> View:
    """Same elements in row-major order, other axes."""
    return composed(view, shape, _reshape_index(view.shape, shape))


def _reshape_index(old: Shape, new: Shape) -> list[Dim]:
    """For each old axis its index in terms of the new axes, group by group of equal products."""
    index: list[Dim] = []
    a = b = 0
    while a < len(old) or b < len(new):
        end_a, end_b = _next_group(old, new, a, b)
        flat: Dim = 0
        for axis in range(b, end_b):
            flat = flat * new[axis] + axis_variable(axis, new[axis])
        group: list[Dim] = []
        for axis in reversed(range(a, end_a)):
            is_inner = axis > a and old[axis] != 0
            group.append(mod(flat, old[axis]) if is_inner else flat)
            flat = floordiv(flat, old[axis]) if is_inner else 0
        index += reversed(group)
        a, b = end_a, end_b
    return index


def _next_group(old: Shape, new: Shape, a: int, b: int) -> tuple[int, int]:
    """The shortest runs of old and new axes, from a and b, with one element count."""
    ends = sorted(itertools.product(range(a, len(old) + 1), range(b, len(new) + 1)), key=sum)[1:]
    if 0 in old[a:] or 0 in new[b:]:  # no elements, so any groups will do
        ends = ends[-1:]
    for end_a, end_b in ends:
        if product(old[a:end_a]) == product(new[b:end_b]):
            return end_a, end_b
    raise CannotReshape(given=product(old), old=old, new=new)


def shrink(view: View, axis: int, start: Dim, step: int, length: Dim) -> View:
    """Elements ``start, start + step, ...`` of one axis, ``length`` of them; step may be < 0."""
    return _along(view, axis, length, lambda place: start + place * step)


def select(view: View, axis: int, at: Dim) -> View:
    """The slice at one index of an axis, that axis gone."""
    shape = (*view.shape[:axis], *view.shape[axis + 1 :])
    index = axis_variables(shape)
    index.insert(axis, at)
    return composed(view, shape, index, [Bound(at, view.shape[axis])])


def flip(view: View, axis: int) -> View:
    """One axis backwards."""
    index = axis_variables(view.shape)
    index[axis] = view.shape[axis] - 1 - index[axis]
    return composed(view, view.shape, index)


def pad(view: View, axis: int, before: Dim, after: Dim) -> View:
    """``before`` and ``after`` empty places around one axis (negative: cut away)."""
    extent = view.shape[axis] + before + after
    return _along(view, axis, extent, lambda place: place - before)


def _along(view: View, axis: int, extent: Dim, source: Callable[[Dim], Dim]) -> View:
    """One axis of another extent: its place k shows place ``source(k)``, affine in k, of the old.

    Where both ends lie inside, so does all between them.
    """
    shape = (*view.shape[:axis], extent, *view.shape[axis + 1 :])
    index = axis_variables(shape)
    index[axis] = source(index[axis])
    old = view.shape[axis]
    is_inside = extent == 0 or all(is_within(source(end), old) for end in (0, extent - 1))
    return composed(view, shape, index, [] if is_inside else [Bound(index[axis], old)])


def windows(view: View, axis: int, size: Dim, step: int, dilation: int) -> View:
    """One axis becomes two: where the window starts, and (appended last) the place in it."""
    count = (view.shape[axis] - (size - 1) * dilation - 1) // step + 1
    shape = (*view.shape[:axis], count, *view.shape[axis + 1 :], size)
    index = axis_variables(shape)
    place = index.pop()
    index[axis] = index[axis] * step + place * dilation
    return composed(view, shape, index, [Bound(index[axis], view.shape[axis])])
