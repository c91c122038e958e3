"""Views as nodes of an ONNX file: Pad, Slice, Gather, Reshape, Transpose, Expand.

A view says for each axis of its source which place is read. Axes that are read by the same
variables are merged and read together; what is affine in the variables, as mixed radix numbers are,
is a slice, and what is not is looked up. Where a bound says no more than that an axis is left, the
source is padded; elsewhere what lies outside is replaced after it was read. So any view can be
written, and equal elements are moved to the bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from photic.forms.eval import identity_of_add
from photic.frontends.onnx.export_sizes import Number, Sizes
from photic.frontends.onnx.export_writer import Sheet, cast_code
from photic.ir.dim import (
    Atom,
    Dim,
    Var,
    add,
    at_most,
    bounds,
    coefficient_of,
    is_within,
    product,
    substitute,
    variables,
)
from photic.ir.dtype import BFLOAT16, FLOAT32, INT16, INT32, DType
from photic.ir.view import Bound, Shape, View

# no runtime has all element types for all operators; these are exact in what they go through
THROUGH = {BFLOAT16: FLOAT32, INT16: INT32}


@dataclass(frozen=True, slots=True)
class Moving:
    """What writing a view needs: where, sizes, and the dtype of the elements."""

    sheet: Sheet
    sizes: Sizes
    dtype: DType

    def through(self, op: str, value: str, *others: str, before: Sequence[str] = ()) -> str:
        """An operator on elements, in a dtype that runtimes have it for."""
        wide = THROUGH.get(self.dtype)
        if wide is None:
            return self.sheet.node(op, *before, value, *others, self.nothing(self.dtype))
        inner = self.sheet.node("Cast", value, to=cast_code(wide))
        made = self.sheet.node(op, *before, inner, *others, self.nothing(wide))
        return self.sheet.node("Cast", made, to=cast_code(self.dtype))

    def nothing(self, dtype: DType) -> str:
        """What a view shows outside its bounds."""
        return self.sheet.number(identity_of_add(dtype.numpy), dtype)  # type: ignore[arg-type]

    def reshaped(self, value: str, shape: Sequence[Dim]) -> str:
        """Row-major order, other axes."""
        return self.sheet.node("Reshape", value, self.sizes.vector(shape), allowzero=1)

    def transposed(self, value: str, order: Sequence[int]) -> str:
        """Axes in the given order."""
        if list(order) == sorted(order):
            return value
        return self.sheet.node("Transpose", value, perm=list(order))

    def expanded(self, value: str, shape: Sequence[Dim]) -> str:
        """Axes of extent 1 repeated."""
        wide = THROUGH.get(self.dtype)
        if wide is None:
            return self.sheet.node("Expand", value, self.sizes.vector(shape))
        inner = self.sheet.node("Cast", value, to=cast_code(wide))
        made = self.sheet.node("Expand", inner, self.sizes.vector(shape))
        return self.sheet.node("Cast", made, to=cast_code(self.dtype))


@dataclass(frozen=True, slots=True)
class Seen:
    """A tensor with only some axes of a view: those that it depends on, in order."""

    name: str
    axes: tuple[int, ...]


# --- what is seen ---------------------------------------------------------------------------


def compact(moving: Moving, source: str, shape: Shape, view: View) -> Seen:
    """The view without the axes along which it repeats, and without those of extent 1."""
    if any(extent == 0 for extent in view.shape):
        axes = tuple(k for k, n in enumerate(view.shape) if n != 1)
        extents = [view.shape[k] for k in axes]
        return Seen(moving.expanded(moving.nothing(moving.dtype), extents), axes)
    if 0 in shape:  # no bound holds, or nothing could be read
        return Seen(moving.nothing(moving.dtype), ())
    value, padded, index, rest = _padded(moving, source, shape, view)
    if rest:
        value, padded = _never_empty(moving, value, padded)
    seen = _read(moving, value, padded, index, view, is_clipped=bool(rest))
    return _masked(moving, seen, view, rest) if rest else seen


def spread(moving: Moving, seen: Seen, shape: Shape) -> tuple[str, Shape]:
    """What was seen with extent 1 where it repeats, without such axes in front; and its shape."""
    if not seen.axes:
        return seen.name, ()
    axes = range(seen.axes[0], len(shape))
    wanted = tuple(shape[k] if k in seen.axes else 1 for k in axes)
    if len(axes) == len(seen.axes):
        return seen.name, wanted
    return moving.reshaped(seen.name, wanted), wanted


# --- bounds ---------------------------------------------------------------------------------


def _padded(
    moving: Moving, source: str, shape: Shape, view: View
) -> tuple[str, Shape, tuple[Dim, ...], list[Bound]]:
    """The source cut and padded until indices stay inside; the bounds that are left."""
    rest = list(view.bounds)
    cuts: dict[int, tuple[Dim, Dim]] = {}
    pads: dict[int, tuple[Dim, Dim]] = {}
    index, extents = list(view.index), list(shape)
    for axis, place in enumerate(view.index):
        found = _interval(place, shape[axis], rest)
        reach = _reach(place)
        if found is None or reach is None:
            continue
        (low, high), kept = found
        before, after = _excess(low - reach[0]), _excess(reach[1] - high + 1)
        if before is None or after is None:
            continue
        rest = kept
        if (low, high) != (0, shape[axis]):
            cuts[axis] = low, high
        pads[axis] = before, after
        index[axis] = place - low + before
        extents[axis] = high - low + before + after
    value = _sliced(moving, source, cuts, dict.fromkeys(cuts, 1)) if cuts else source
    if any(amount != (0, 0) for amount in pads.values()):
        amounts = [pads.get(axis, (0, 0)) for axis in range(len(shape))]
        flat = [before for before, _ in amounts] + [after for _, after in amounts]
        value = moving.through("Pad", value, moving.sizes.vector(flat))
    return value, tuple(extents), tuple(index), rest


def _interval(
    place: Dim, extent: Dim, given: Sequence[Bound]
) -> tuple[tuple[Dim, Dim], list[Bound]] | None:
    """The part of an axis to which bounds confine its index, and the bounds that say other things.

    None if no bound speaks of this axis, or it cannot be said which of two confines more.
    """
    low: Dim = 0
    high, kept = extent, []
    for one in given:
        straight, turned = add(place, -one.value), add(place, one.value)
        if not variables(straight) and variables(place):
            start, end = straight, straight + one.extent
        elif not variables(turned) and variables(place):
            start, end = turned - one.extent + 1, turned + 1
        else:
            kept.append(one)
            continue
        if not (_ordered(low, start) and _ordered(high, end)):
            return None
        low = start if at_most(low, start) else low
        high = end if at_most(end, high) else high
    return None if len(kept) == len(given) else ((low, high), kept)


def _ordered(one: Dim, other: Dim) -> bool:
    return at_most(one, other) or at_most(other, one)


def _reach(place: Dim) -> tuple[Dim, Dim] | None:
    """The least and the greatest value of an index that is affine in its variables."""
    low = high = substitute(place, dict.fromkeys(variables(place), 0))
    for one in variables(place):
        step = coefficient_of(place, one)
        if not isinstance(step, int):
            return None
        end = step * (one.extent - 1)
        low, high = (low, high + end) if step > 0 else (low + end, high)
    return low, high


def _excess(amount: Dim) -> Dim | None:
    """The amount if it is never negative, 0 if it is never positive; None if it may be either."""
    if at_most(amount, 0):
        return 0
    return amount if at_most(0, amount) else None


def _never_empty(moving: Moving, value: str, shape: Shape) -> tuple[str, Shape]:
    """A place more in axes that may have none, so that something can be read there."""
    more = [int(bounds(extent)[0] == 0) for extent in shape]
    if not any(more):
        return value, shape
    padded = moving.through("Pad", value, moving.sizes.vector([*(0 for _ in shape), *more]))
    return padded, tuple(extent + one for extent, one in zip(shape, more))


def _masked(moving: Moving, seen: Seen, view: View, rest: Sequence[Bound]) -> Seen:
    """What was seen where the bounds hold, nothing elsewhere."""
    read = {one for bound in rest for one in variables(bound.value)}
    axes = [k for k, n in enumerate(view.shape) if k in seen.axes or Var(f"i{k}", n) in read]
    shape = [view.shape[k] for k in axes]
    inside = moving.sizes.inside(rest, [Var(f"i{k}", view.shape[k]) for k in axes])
    wide = seen.name
    if len(axes) != len(seen.axes):
        wide = moving.reshaped(wide, [n if k in seen.axes else 1 for k, n in zip(axes, shape)])
    mask = inside.name if axes else moving.reshaped(inside.name, ())
    if moving.dtype.kind == "bool":
        return Seen(moving.sheet.node("And", mask, wide), tuple(axes))
    return Seen(moving.through("Where", wide, before=[mask]), tuple(axes))


# --- reading --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Cut:
    """Places of an axis that are ``start + step * k``; k runs over the view's axes, row by row."""

    start: Dim
    step: int
    axes: tuple[int, ...]


@dataclass(slots=True)
class _Plan:
    """How merged axes are read: some cut, some looked up; ``order`` has the view's axes of each."""

    cuts: dict[int, tuple[Dim, Dim]] = field(default_factory=dict)
    steps: dict[int, int] = field(default_factory=dict)
    looked_up: dict[int, Number] = field(default_factory=dict)
    order: list[tuple[int, ...]] = field(default_factory=list)

    def cut(self, place: int, one: _Cut, extent: Dim, view: View) -> None:
        """An axis that is a slice; nothing is written for the whole of it."""
        self.order.append(one.axes)
        count = product(view.shape[axis] for axis in one.axes)
        if (one.start, one.step, count) == (0, 1, extent):
            return
        end = one.start + one.step * count
        # counted from the end where it goes backwards, so that -1 is before the first place
        self.cuts[place] = one.start, end if one.step > 0 else end - extent
        self.steps[place] = one.step

    @property
    def needs_reshape(self) -> bool:
        """True where an axis that was read is not one of the view's."""
        pairs = enumerate(self.order)
        return any(not many or (len(many) > 1 and k not in self.looked_up) for k, many in pairs)


def _read(
    moving: Moving, value: str, shape: Shape, index: Sequence[Dim], view: View, is_clipped: bool
) -> Seen:
    """The elements at an index for each axis, which may leave its axis only if it is clipped."""
    groups = _groups(index)
    value = moving.transposed(value, [axis for group in groups for axis in group])
    extents = [product(shape[axis] for axis in group) for group in groups]
    if len(groups) != len(shape):
        value = moving.reshaped(value, extents)
    plan = _Plan()
    for place, group in enumerate(groups):
        is_loose = is_clipped and not all(is_within(index[k], shape[k]) for k in group)
        flat = _flat([index[k] for k in group], [shape[k] for k in group])
        cut = None if is_loose else _cut(flat, view)
        if cut is not None:
            plan.cut(place, cut, extents[place], view)
        else:
            numbers, axes = _places(moving, index, shape, group, view, is_loose)
            plan.looked_up[place] = numbers
            plan.order.append(axes)
    if plan.cuts:
        value = _sliced(moving, value, plan.cuts, plan.steps)
    for place, numbers in reversed(plan.looked_up.items()):
        value = moving.sheet.node("Gather", value, numbers.name, axis=place)
    axes = tuple(axis for many in plan.order for axis in many)
    if plan.needs_reshape:
        value = moving.reshaped(value, [view.shape[axis] for axis in axes])
    ordered = sorted(range(len(axes)), key=axes.__getitem__)
    return Seen(moving.transposed(value, ordered), tuple(sorted(axes)))


def _groups(index: Sequence[Dim]) -> list[list[int]]:
    """Axes of the source that are read by the same variables, together; in order."""
    groups: list[tuple[list[int], frozenset[Var]]] = []
    for axis, place in enumerate(index):
        mine, read = [axis], variables(place)
        for other in [one for one in groups if one[1] & read]:
            groups.remove(other)
            mine, read = other[0] + mine, other[1] | read
        groups.append((sorted(mine), read))
    return sorted(group for group, _ in groups)


def _flat(index: Sequence[Dim], shape: Sequence[Dim]) -> Dim:
    """The place in row-major order."""
    flat: Dim = 0
    for place, extent in zip(index, shape):
        flat = flat * extent + place
    return flat


def _cut(flat: Dim, view: View) -> _Cut | None:
    """The slice that these places are, if they are one."""
    read = {int(one.name[1:]): one for one in variables(flat)}
    steps = {axis: coefficient_of(flat, one) for axis, one in read.items()}
    origin: dict[Atom, Dim] = dict.fromkeys(read.values(), 0)
    start = substitute(flat, origin)
    if any(step is None or variables(step) for step in steps.values()):
        return None
    known = {axis: step for axis, step in steps.items() if step is not None}
    axes = sorted(known, key=lambda axis: max(map(abs, bounds(known[axis]))), reverse=True)
    for outer, inner in pairwise(axes):
        if known[outer] != known[inner] * view.shape[inner]:
            return None
    step = known[axes[-1]] if axes else 1
    return _Cut(start, step, tuple(axes)) if isinstance(step, int) else None


def _places(
    moving: Moving,
    index: Sequence[Dim],
    shape: Shape,
    group: Sequence[int],
    view: View,
    is_loose: bool,
) -> tuple[Number, tuple[int, ...]]:
    """The places to look up in merged axes, and the view's axes that they have."""
    read = sorted({int(one.name[1:]) for k in group for one in variables(index[k])})
    axes = [Var(f"i{axis}", view.shape[axis]) for axis in read]
    if not is_loose:
        flat = _flat([index[k] for k in group], [shape[k] for k in group])
        return moving.sizes.number(flat, axes), tuple(read)
    total: Number | None = None
    for k in group:
        last = moving.sizes.number(shape[k] - 1)
        place = moving.sizes.number(index[k], axes).by("Min", last).by("Max", 0)
        total = place if total is None else total * moving.sizes.number(shape[k]) + place
    assert total is not None
    return total, tuple(read)


def _sliced(
    moving: Moving, value: str, cuts: dict[int, tuple[Dim, Dim]], steps: dict[int, int]
) -> str:
    """Some axes cut from start to end."""
    sizes = moving.sizes
    starts = sizes.vector([start for start, _ in cuts.values()])
    ends = sizes.vector([end for _, end in cuts.values()])
    axes = sizes.vector(list(cuts))
    return moving.sheet.node("Slice", value, starts, ends, axes, sizes.vector([*steps.values()]))
