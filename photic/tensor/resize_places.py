"""Where the places of a resized axis lie on the old one, and which old places they are made of.

Coordinates are exact: place o lies at ``(slope*o + start)/over``, all whole numbers, so that a tie
falls the same way on every machine and in every program. A scale stands for the simplest fraction
that rounds to the same float32. Sizes that are known give tables of constants; symbolic ones are
computed at the call.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

import numpy as np

from photic.base.errors import BadArgument
from photic.forms.eval import evaluate_operand
from photic.ir.dim import Dim, Int, at_most, bounds, floordiv
from photic.ir.dtype import FLOAT64
from photic.ir.view import View, axis_variables, composed
from photic.tensor.compare import clip, maximum
from photic.tensor.creation import counted
from photic.tensor.errors import UnknownSize
from photic.tensor.indexing import is_place
from photic.tensor.primitive import less, masked, reciprocal, reduced, where
from photic.tensor.rounding import abs as magnitude
from photic.tensor.shapes import expand_dims
from photic.tensor.tensor import Tensor, fixed, size_value, tensor

Number: TypeAlias = "int | Tensor"  # a whole number; int64 of rank 0 where a size is symbolic

SCALE_BITS = 24  # of a float32: a scale's fraction needs no larger denominator
NOT_CROPPED = (Fraction(0), Fraction(1))


@dataclass(frozen=True, slots=True)
class Resized:
    """An axis of ``old`` places resized to ``new``.

    From one new place to the next are ``step[0]/step[1]`` old ones. ``crop`` is the part of the
    axis that is shown, for coordinates that crop.
    """

    op: str
    old: Dim
    new: Dim
    step: tuple[Dim, Dim]
    crop: tuple[Fraction, Fraction] = NOT_CROPPED

    def known(self, x: Tensor) -> Tensor:
        """What was made of these sizes, computed now if none of them is symbolic."""
        if any(isinstance(one, Int) for one in (self.old, self.new, *self.step)):
            return x
        return tensor(np.ascontiguousarray(evaluate_operand(x.operand, {})))


def scaled_size(op: str, extent: Dim, scale: float) -> Dim:
    """``floor(extent*scale)``; UnknownSize for a symbolic extent if that may round differently."""
    if isinstance(extent, int):
        return math.floor(extent * float(scale))
    ratio = simplest_fraction(scale)
    if ratio != Fraction(scale):
        raise UnknownSize(op=op, given=f"{extent} times {scale}")
    return floordiv(extent * ratio.numerator, ratio.denominator)


def simplest_fraction(number: float) -> Fraction:
    """The fraction with the smallest denominator (to a power of 2) that is the same float32."""
    exact = Fraction(number)
    tries = (exact.limit_denominator(2**bits) for bits in range(SCALE_BITS + 1))
    same = (one for one in tries if np.float32(float(one)) == np.float32(number))
    return next(same, exact)


# --- coordinates ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Line:
    """Place o of the new axis lies at ``(slope*o + start)/over`` of the old one; over > 0."""

    slope: Number
    start: Number
    over: Number

    @property
    def numbers(self) -> tuple[int, int, int] | None:
        """The three, if all are known when the graph is built."""
        slope, start, over = self.slope, self.start, self.over
        if isinstance(slope, int) and isinstance(start, int) and isinstance(over, int):
            return slope, start, over
        return None

    def tops(self, count: Dim) -> Tensor:
        """``slope*o + start`` for the first places."""
        return counted(0, count) * self.slope + self.start


def _value(size: Dim) -> Number:
    return size if isinstance(size, int) else size_value(size)


def _steps(r: Resized) -> tuple[Number, Number]:
    return _value(r.step[0]), _value(r.step[1])


def _half_pixel(r: Resized) -> Line:
    n, m = _steps(r)
    return Line(n * 2, n - m, m * 2)


def _half_pixel_symmetric(r: Resized) -> Line:
    n, m = _steps(r)
    old, new = _value(r.old), _value(r.new)
    return Line(n * 2, n - m + old * m - new * n, m * 2)


def _half_pixel_alone(r: Resized) -> Line:
    """As half_pixel, but a single place lies at 0."""
    if bounds(r.new)[0] <= 1:
        fixed(r.op, r.new)
        return Line(0, 0, 1)
    return _half_pixel(r)


def _half_pixel_unshifted(r: Resized) -> Line:
    n, m = _steps(r)
    return Line(n * 2, n, m * 2)


def _asymmetric(r: Resized) -> Line:
    n, m = _steps(r)
    return Line(n, 0, m)


def _align_corners(r: Resized) -> Line:
    over = _value(r.new) - 1
    over = max(over, 1) if isinstance(over, int) else maximum(over, 1)
    return Line(_value(r.old) - 1, 0, over)


def _crop_and_resize(r: Resized) -> Line:
    both = math.lcm(*(one.denominator for one in r.crop))
    first, last = (int(one * both) for one in r.crop)
    steps = _value(r.old) - 1
    if bounds(r.new)[0] <= 1:
        fixed(r.op, r.new)
        return Line(0, steps * (first + last), 2 * both)
    turns = _value(r.new) - 1
    return Line(steps * (last - first), steps * turns * first, turns * both)


COORDINATES: Mapping[str, Callable[[Resized], Line]] = {
    "half_pixel": _half_pixel,
    "half_pixel_symmetric": _half_pixel_symmetric,
    "pytorch_half_pixel": _half_pixel_alone,
    "tf_half_pixel_for_nn": _half_pixel_unshifted,
    "asymmetric": _asymmetric,
    "align_corners": _align_corners,
    "tf_crop_and_resize": _crop_and_resize,
}

# Each makes of x the line whose floor is x rounded.
ROUNDINGS: Mapping[str, Callable[[Line], Line]] = {
    "floor": lambda x: x,
    "ceil": lambda x: Line(x.slope, x.start + x.over - 1, x.over),
    "round_prefer_ceil": lambda x: Line(x.slope * 2, x.start * 2 + x.over, x.over * 2),
    "round_prefer_floor": lambda x: Line(x.slope * 2, x.start * 2 + x.over - 1, x.over * 2),
}


def named(op: str, argument: str, given: str, table: Mapping[str, object]) -> None:
    """BadArgument for a word that the table does not have."""
    if given not in table:
        expected = "one of " + ", ".join(sorted(table))
        raise BadArgument(op=op, argument=argument, given=repr(given), expected=expected)


def is_covered(line: Line, r: Resized) -> Tensor:
    """True for each new place that lies between the first and the last old one."""
    tops = line.tops(r.new)
    end = (_value(r.old) - 1) * line.over
    return r.known(less(-1, tops) * less(tops, end + 1))


# --- nearest places -------------------------------------------------------------------------


def floor_view(view: View, axis: int, line: Line, r: Resized) -> View | None:
    """The axis seen at the floor of the line; None where that leaves it or is not known to stay."""
    numbers = line.numbers
    if numbers is None:
        return None
    slope, start, over = numbers
    shape = (*view.shape[:axis], r.new, *view.shape[axis + 1 :])
    last = floordiv(slope * (r.new - 1) + start, over)
    if slope < 0 or start < 0 or not at_most(last + 1, r.old):
        return None
    index = axis_variables(shape)
    index[axis] = floordiv(index[axis] * slope + start, over)
    return composed(view, shape, index)


def floor_places(line: Line, r: Resized) -> Tensor:
    """The floor of the line at each new place; outside the axis the nearest place inside."""
    return r.known(_inside(line.tops(r.new) // line.over, r))


def _inside(places: Tensor, r: Resized) -> Tensor:
    return clip(places, 0, _value(r.old) - 1)


# --- weighted places ------------------------------------------------------------------------

Kernel: TypeAlias = Callable[[Tensor], Tensor]  # a weight for a distance of 0 or more


def triangle(distance: Tensor) -> Tensor:
    """The weights of linear interpolation; 0 from 1 on; nan passes."""
    return where(less(1.0, distance), 0.0, 1.0 - distance)


def cubic(a: float) -> Kernel:
    """The weights of cubic convolution (Keys, 1981, section 3); 0 from 2 on; nan passes."""

    def weights(d: Tensor) -> Tensor:
        near = ((a + 2.0) * d - (a + 3.0)) * d * d + 1.0
        far = (((d - 5.0) * d + 8.0) * d - 4.0) * a
        return where(less(1.0, d), where(less(2.0, d), 0.0, far), near)

    return weights


@dataclass(frozen=True, slots=True)
class Taps:
    """The old places (int64) that each new one is made of, their weights (float64), and which of
    them are read at all; each (taps, new places)."""

    places: Tensor
    weights: Tensor
    is_read: Tensor

    def each(self, function: Callable[[Tensor], Tensor]) -> Taps:
        """A function of each of the three."""
        return Taps(function(self.places), function(self.weights), function(self.is_read))


def taps(
    line: Line, r: Resized, radius: int, kernel: Kernel, stretch: Fraction, excluding: bool
) -> Taps:
    """The taps of a kernel that reaches ``radius*stretch`` places to both sides.

    Places outside are left out if ``excluding``, else the nearest place inside stands for them.
    Not read is what lies further than the kernel reaches, or is left out. The weights of each new
    place sum to 1.
    """
    reach = radius * stretch
    count = math.floor(2 * reach) + (stretch != 1)
    tops, over = line.tops(r.new), line.over
    ahead = over * (reach.denominator - reach.numerator)
    first = (tops * reach.denominator + ahead) // (over * reach.denominator)
    places = first + expand_dims(counted(0, count), 1)
    unit = float(over) if isinstance(over, int) else over.astype(FLOAT64)
    ahead_of = places * over - tops
    weights = kernel(magnitude(ahead_of.astype(FLOAT64) / unit / float(stretch)))
    # as PyTorch's, which reads the later of the two places at the kernel's ends
    end, reached = over * reach.numerator, ahead_of * reach.denominator
    is_read = less(-end, reached) * less(reached, end + 1)
    if excluding:
        is_read = is_read * is_place(places, r.old)
        weights = masked(is_read, weights)
    if excluding or stretch != 1:
        weights = weights * reciprocal(reduced("sum", weights, 0))
    return Taps(r.known(_inside(places, r)), r.known(weights), r.known(is_read))
