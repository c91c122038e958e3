"""Brackets: ``x[...]`` with integers, slices, ``None``, ``...``, integer tensors and known masks.

Integers and slices are views. Integer tensors broadcast together and are one lookup in the axes
that they index, merged into one; where the axes of their result stand is NumPy's rule. A mask must
be known when the graph is built, since how many elements it picks is a size of the result.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from types import EllipsisType
from typing import TypeAlias

import numpy as np

from photic.base.errors import BadArgument, ShapeMismatch
from photic.forms.eval import evaluate_operand
from photic.ir.dim import Dim, Int
from photic.ir.dtype import BOOL
from photic.tensor.errors import AxisOutOfRange, SizeOfMask
from photic.tensor.indexing import index_tensor, looked_up_along
from photic.tensor.shapes import expand_dims, transpose
from photic.tensor.slicing import selected, sliced
from photic.tensor.tensor import Array, Index, Tensor, method

Entry: TypeAlias = Index | bool | np.bool_
Known: TypeAlias = int | Int | slice | Tensor | Array | EllipsisType | None


@method
def getitem(x: Tensor, index: Entry | tuple[Entry, ...]) -> Tensor:
    """``x[index]`` as NumPy's, integers beside tensors counting as tensors.

    Integer places and bounds are refused where a symbolic size leaves open what they mean. Symbolic
    ones are taken as they are: places outside the axis read 0, as do those of integer tensors.
    Raises AxisOutOfRange, BadArgument, DtypeMismatch, ShapeMismatch, SizeOfMask.
    """
    found = walked(x, list(index) if isinstance(index, tuple) else [index])
    if not found.places:
        return found.seen
    order, start = found.order()
    return looked_up_along(transpose(found.seen, order), found.places, start)


@dataclass(slots=True)
class Walk:
    """What brackets come to: a view, and integer tensors ``places`` for some of its ``axes``.

    ``kinds`` tells for each entry whether it is one of NumPy's advanced ones, and ``first`` is how
    many axes of the result stand before the first of these.
    """

    seen: Tensor
    axis: int = 0  # the next one to be indexed
    axes: list[int] = field(default_factory=list)
    places: list[Tensor] = field(default_factory=list)
    kinds: list[bool] = field(default_factory=list)
    first: int = 0

    def note(self, *, advanced: bool) -> None:
        """Remember the kind of an entry, and where the first advanced one stands."""
        if advanced and True not in self.kinds:
            self.first = self.axis
        self.kinds.append(advanced)

    def look_up(self, places: Tensor) -> None:
        """The next axis is indexed by a tensor."""
        self.axes.append(self.axis)
        self.places.append(places)
        self.axis += 1

    def is_apart(self) -> bool:
        """True if other entries stand between advanced ones."""
        start = self.kinds.index(True)
        return False in self.kinds[start : len(self.kinds) - self.kinds[::-1].index(True)]

    def order(self) -> tuple[list[int], int]:
        """The view's axes with the indexed ones side by side, and where the first of them is."""
        start = 0 if self.is_apart() else self.first
        rest = [k for k in range(self.seen.ndim) if k not in self.axes]
        return rest[:start] + self.axes + rest[start:], start


def walked(x: Tensor, entries: Sequence[Entry]) -> Walk:
    """Every entry applied or remembered, from left to right."""
    known = [_known(one) for one in entries]
    walk = Walk(x)
    missing = _missing_axes(known, x.ndim)
    for entry in known:
        if entry is Ellipsis:
            walk.note(advanced=False)
            walk.axis += missing
        elif entry is None:
            walk.note(advanced=False)
            walk.seen = expand_dims(walk.seen, walk.axis)
            walk.axis += 1
        elif isinstance(entry, slice):
            walk.note(advanced=False)
            walk.seen = sliced(walk.seen, walk.axis, entry)
            walk.axis += 1
        else:
            walk.note(advanced=True)
            _step_to(walk, entry)
    return walk


def _step_to(walk: Walk, entry: Dim | Tensor | Array) -> None:
    """An integer, a symbolic one, a tensor of integers, or a mask."""
    if isinstance(entry, int | Int):
        walk.seen = selected(walk.seen, walk.axis, entry)
    elif isinstance(entry, Tensor):
        walk.look_up(entry)
    elif entry.ndim == 0:
        walk.seen = expand_dims(walk.seen, walk.axis)
        walk.look_up(index_tensor("[]", np.zeros(int(entry), np.int64)))
    else:
        shape = walk.seen.shape[walk.axis : walk.axis + entry.ndim]
        if shape != entry.shape:
            raise ShapeMismatch(op="[]", left=shape, right=entry.shape)
        for places in np.nonzero(entry):
            walk.look_up(index_tensor("[]", places))


def _known(entry: Entry) -> Known:
    """An entry as an integer, a slice, a tensor of integers or an array of bools."""
    if entry is None or entry is Ellipsis or isinstance(entry, slice | Int):
        return entry
    if isinstance(entry, bool | np.bool_):
        return np.asarray(entry)
    if isinstance(entry, int | np.integer):
        return int(entry)
    if isinstance(entry, Tensor):
        return _known_mask(entry) if entry.dtype == BOOL else index_tensor("[]", entry)
    is_nothing = isinstance(entry, list) and np.size(entry) == 0  # which has no dtype of its own
    array = np.asarray(entry, np.int64) if is_nothing else np.asarray(entry)
    if array.dtype.kind not in "iubf":
        expected = "integers, slices, None, ..., tensors of integers or masks"
        raise BadArgument(op="[]", argument="index", given=repr(entry), expected=expected)
    if array.dtype == np.bool_:
        return array
    if array.ndim == 0 and array.dtype.kind in "iu":
        return int(array)
    return index_tensor("[]", array)


def _known_mask(mask: Tensor) -> Array:
    """The elements of a mask that is a constant; SizeOfMask for any other."""
    if mask.operand.node.op != "constant":
        raise SizeOfMask(op="[]", shape=mask.shape)
    return evaluate_operand(mask.operand, {})


def _missing_axes(entries: list[Known], rank: int) -> int:
    """How many axes ``...`` stands for, which is put at the end where it is left out."""
    used = sum(_axes_of(entry) for entry in entries)
    dots = sum(entry is Ellipsis for entry in entries)
    if dots > 1:
        raise BadArgument(op="[]", argument="index", given="two ...", expected="at most one")
    if used > rank:
        raise AxisOutOfRange(op="[]", axis=used - 1, rank=rank)
    return rank - used


def _axes_of(entry: Known) -> int:
    if entry is None or entry is Ellipsis:
        return 0
    return entry.ndim if isinstance(entry, np.ndarray) else 1
