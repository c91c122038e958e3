"""Padding: places around axes, filled with a number or with what the tensor itself holds.

Modes are NumPy's, PyTorch's names of them too. Axes are padded one after another, so that corners
are right. A negative width cuts away first; what is left is padded, by any width. A constant is a
view and a mask, wrapping a view, and the other modes are lookups by the table ``MODES``: joins of
parts would be several guarded loads for each element.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from photic.base.errors import BadArgument
from photic.forms import movement
from photic.ir.dim import Dim, Int, at_most, bounds
from photic.ir.dtype import BOOL
from photic.tensor.axes import as_size, checked_axis
from photic.tensor.compare import clip
from photic.tensor.creation import counted
from photic.tensor.indexing import take
from photic.tensor.primitive import less, masked, negated, where
from photic.tensor.primitive import mod as remainder
from photic.tensor.shapes import moved, repeated_places, window
from photic.tensor.tensor import Tensor, Value, expanded, in_dtype, number, size_value, tensor

Pair: TypeAlias = tuple[Dim, Dim]
PadWidth: TypeAlias = Dim | Sequence[Dim] | Sequence[Sequence[Dim]] | Mapping[int, "Dim | Pair"]


def pad(x: Value, pad_width: PadWidth, mode: str = "constant", constant_values: Any = 0) -> Tensor:
    """Places around each axis, as NumPy's ``pad``; negative widths cut away.

    ``pad_width``: one number, one (before, after) for all axes, one for each axis, or a dictionary
    of some axes. ``mode``: constant, edge (replicate), reflect, symmetric, wrap (circular).
    ``constant_values``: a number, or pairs of them as in ``pad_width``. Sizes may be symbolic;
    an axis that may be empty holds 0 around it in modes other than constant. BadArgument.
    """
    value = tensor(x, "pad")
    pairs = _pairs("pad_width", pad_width, value.ndim)
    widths = [
        (as_size("pad", "pad_width", before), as_size("pad", "pad_width", after))
        for before, after in pairs
    ]
    for axis, (before, after) in enumerate(widths):
        if bounds(value.shape[axis] + before + after)[1] < 0:
            raise BadArgument(
                op="pad", argument="pad_width", given=(before, after), expected="a size left"
            )
    if mode == "constant":
        return _with_constants(value, widths, constant_values)
    if mode not in MODES:
        known = "constant, " + ", ".join(sorted(MODES))
        raise BadArgument(op="pad", argument="mode", given=repr(mode), expected=f"one of {known}")
    for axis, (before, after) in enumerate(widths):
        value = _extended(value, axis, before, after, mode)
    return value


def _pairs(argument: str, given: Any, rank: int) -> list[tuple[Any, Any]]:
    """(before, after) for each axis: sizes, or numbers to fill with."""
    if rank == 0:
        return []
    if isinstance(given, Mapping):
        named = {checked_axis("pad", axis, rank): one for axis, one in given.items()}
        return [_pair(argument, named.get(axis, 0)) for axis in range(rank)]
    if _is_one(given) or all(_is_one(one) for one in given):
        return [_pair(argument, given)] * rank
    couples = [_pair(argument, one) for one in given]
    if len(couples) == 1:
        return couples * rank
    if len(couples) != rank:
        raise BadArgument(
            op="pad", argument=argument, given=given, expected=f"{rank} pairs (before, after)"
        )
    return couples


def _is_one(given: Any) -> bool:
    return isinstance(given, int | float | np.generic | Int | Tensor)


def _pair(argument: str, given: Any) -> tuple[Any, Any]:
    """One number for both sides, or one for each."""
    both = [given] if _is_one(given) else list(given)
    if len(both) not in (1, 2):
        raise BadArgument(op="pad", argument=argument, given=given, expected="(before, after)")
    return both[0], both[-1]


# --- constants ------------------------------------------------------------------------------


def _with_constants(x: Tensor, widths: Sequence[Pair], values: Any) -> Tensor:
    if _is_one(values):
        return _around(x, widths, values)
    for axis, (pair, ends) in enumerate(zip(widths, _pairs("constant_values", values, x.ndim))):
        for side, (width, value) in enumerate(zip(pair, ends)):
            one = (width, 0) if side == 0 else (0, width)
            x = _around(x, [one if k == axis else (0, 0) for k in range(x.ndim)], value)
    return x


def _around(x: Tensor, widths: Sequence[Pair], value: Value) -> Tensor:
    """All axes padded with one number."""
    outside, inside = x, expanded(number(True, BOOL), x.shape)
    for axis, (before, after) in enumerate(widths):
        if before == 0 and after == 0:
            continue
        outside = moved(outside, movement.pad, axis, before, after)
        inside = moved(inside, movement.pad, axis, before, after)
    if outside is x:
        return x
    # what is read outside is the identity of add
    return outside + masked(negated(inside), in_dtype(value, x.dtype))


# --- the tensor itself ----------------------------------------------------------------------


def _extended(x: Tensor, axis: int, before: Dim, after: Dim, mode: str) -> Tensor:
    """One axis cut by its negative widths and padded by the others."""
    cuts = [_cut(one) for one in (before, after)]
    x = window(x, axis, cuts[0], x.shape[axis] - cuts[1], "pad")
    before, after = before + cuts[0], after + cuts[1]
    if before == 0 and after == 0:
        return x
    extent, rule = x.shape[axis], MODES[mode]
    if extent == 0:
        raise BadArgument(op="pad", argument="axis", given=f"{axis}, empty", expected="an element")
    if rule is remainder and bounds(extent)[0] > 0:
        return moved(x, repeated_places, axis, -before, before + extent + after)
    place = counted(0, before + extent + after) - before
    return take(x, rule(place, size_value(extent)), axis)


def _cut(width: Dim) -> Dim:
    """What a negative width takes away; BadArgument where its sign depends on sizes."""
    if at_most(0, width):
        return 0
    if at_most(width, 0):
        return -width
    raise BadArgument(op="pad", argument="pad_width", given=width, expected="surely 0 or more")


def _nearest(place: Tensor, extent: Tensor) -> Tensor:
    return clip(place, 0, extent - 1)


def _there_and_back(place: Tensor, period: Tensor, end: Tensor) -> Tensor:
    """Places counted up and, from the middle of each period on, down again to ``end - place``."""
    gone = remainder(place, period)
    return where(less(end - gone, gone), end - gone, gone)


# What stands at a place in front of, in or behind an axis of some size: which of its places; one
# outside where the axis is empty.
MODES: Mapping[str, Callable[[Tensor, Tensor], Tensor]] = {
    "edge": _nearest,
    "replicate": _nearest,
    "reflect": lambda place, extent: _there_and_back(place, 2 * extent - 2, 2 * extent - 2),
    "symmetric": lambda place, extent: _there_and_back(place, 2 * extent, 2 * extent - 1),
    "wrap": remainder,
    "circular": remainder,
}
