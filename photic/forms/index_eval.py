"""The meaning of a store in NumPy: each value is one array over all variables of the store.

Operations mean what ``MEANING`` says. A load outside its buffer gives no number; beside every value
stands where it is such nothing. A select takes nothing only from the side that it chooses, a
conjunction is false where one of its terms is; where nothing reaches the store, BrokenGraph says
so. Whatever is reduced exists whole: this is for judging, not for speed. A store has at most 64
variables, those of its reductions included (NumPy's limit).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from photic.forms.dim_eval import number_of
from photic.forms.errors import BrokenGraph
from photic.forms.eval import MEANING, Array, Run, convert
from photic.ir import index as form
from photic.ir.dim import Data, Dim, Symbol, Var
from photic.ir.dtype import BOOL
from photic.ir.index import Access, Expr, Literal, Order, Over, Position, Store

Bits: TypeAlias = npt.NDArray[np.bool_]
Integers: TypeAlias = npt.NDArray[np.int64]
_OPERATIONS: Mapping[str, Callable[..., Array]] = {
    **MEANING,
    "maximum": lambda x, y: np.maximum(x, y),
    "select": lambda condition, yes, no: np.asarray(np.where(condition, yes, no)),
    "cast": lambda x: x,
    "load": lambda x: x,
}


def operate(one: Expr, *arguments: Array | int) -> Array:
    """The meaning of a value's operation on the values inside it.

    A reduction is also given its axis; a load, the elements that it found.
    """
    return _OPERATIONS[one.op](*arguments)


@np.errstate(all="ignore")
def evaluate_store(
    store: Store,
    buffers: Mapping[str, Array],
    sizes: Mapping[str, int],
    *,
    widen: bool,
    operate: Callable[..., Array] = operate,
) -> None:
    """Do ``store``: read everything from ``buffers``, then write its buffer, in place.

    Arrays have the buffers' shapes and dtypes (with ``widen``, float64 for every float). Another
    ``operate`` may watch or disturb what is computed. Raises BrokenGraph where the store reads or
    writes outside, SizeMissing.
    """
    axes = dict.fromkeys((*store.axes, *form.bound(store)))  # a reduction may be over an output's
    order = {axis: place for place, axis in enumerate(axes)}
    nowhere = np.zeros((1,) * len(order), bool)
    points = _Points(Run(sizes, widen), operate, buffers, order, nowhere, {})
    shape = tuple(points.run.number(axis.extent) for axis in store.axes)
    for one in form.walk_store(store) if 0 not in shape else ():
        points.done[one] = points.value(one)
    if 0 not in shape:
        target, (value, is_nothing) = buffers[store.buffer.name], points.done[store.value]
        places, is_outside = points.places(store.index, target.shape)
        if np.any(is_nothing) or np.any(is_outside):
            raise BrokenGraph(form="program", where=store, problem="an index is outside")
        grid = (
            np.broadcast_to(one, shape + (1,) * (len(order) - len(shape)))
            for one in (*places, value)
        )
        *index, value = (one.reshape(shape) for one in grid)
        target[tuple(index)] = value


@dataclass(frozen=True, slots=True)
class _Points:
    """All points of a store: the dimension of each variable, and the values so far."""

    run: Run
    operate: Callable[..., Array]
    buffers: Mapping[str, Array]
    order: Mapping[Var, int]
    nowhere: Bits
    done: dict[Expr, tuple[Array, Bits]]

    def value(self, one: Expr) -> tuple[Array, Bits]:
        """A value from those inside it, and where it is nothing."""
        dtype = self.run.dtype(one.dtype)
        match one.attribute:
            case Access(buffer=buffer, index=index):
                array = self.buffers[buffer.name]
                places, is_outside = self.places(index, array.shape)
                if not array.size:
                    return np.zeros(is_outside.shape, dtype), is_outside
                read = array[tuple(np.where(is_outside, 0, at) for at in places)]
                read = self.operate(one, read)
                return np.broadcast_to(read, is_outside.shape), is_outside
            case Literal():
                number = convert(np.asarray(form.value_of(one)), dtype)
                return number.reshape(self.nowhere.shape), self.nowhere
            case Position(index=at):
                return self.index(at)
            case Order(gap=gap):
                number, is_nothing = self.index(gap)
                return np.asarray(number > 0), is_nothing
        values, nothings = zip(*(self.done[child] for child in one.children), strict=True)
        if isinstance(one.attribute, Over):
            return self.reduced(one, one.attribute.axis, values[0], nothings[0])
        result = self.operate(one, *map(self.run.arithmetic, values))
        return convert(result, dtype), _nothing(one, values, nothings)

    def reduced(self, one: Expr, axis: Var, value: Array, is_nothing: Bits) -> tuple[Array, Bits]:
        """A reduction; its dimension stays, with one place."""
        place, shape = self.order[axis], list(value.shape)
        shape[place] = self.run.number(axis.extent)
        wide = self.run.arithmetic(np.broadcast_to(value, shape))
        result = np.expand_dims(self.operate(one, wide, place), place)
        missing = np.broadcast_to(is_nothing, shape).any(axis=place, keepdims=True)
        return convert(result, value.dtype), np.asarray(missing)

    def index(self, dim: Dim) -> tuple[Integers, Bits]:
        """The number of an index at all points, and where it is computed from nothing."""
        nothing = [self.nowhere]

        def lookup(atom: Symbol | Var | Data) -> int:
            if isinstance(atom, Symbol):
                return self.run.lookup(atom)
            if isinstance(atom, Var):
                found: Array = np.arange(self.run.number(atom.extent))
                found = np.moveaxis(found[(None,) * (self.nowhere.ndim - 1)], -1, self.order[atom])
            else:
                assert isinstance(atom.value, Expr)
                found, is_nothing = self.done[atom.value]
                nothing.append(nothing[-1] | is_nothing)
            return found.astype(np.int64)  # type: ignore[return-value]

        number = np.asarray(number_of(dim, lookup), np.int64)
        return np.asarray(number + self.nowhere), nothing[-1]

    def places(self, index: tuple[Dim, ...], shape: Sequence[int]) -> tuple[list[Integers], Bits]:
        """The index of each axis at all points, and where one is outside the shape."""
        places, is_outside = [], self.nowhere
        for dim, extent in zip(index, shape, strict=True):
            place, is_nothing = self.index(dim)
            is_outside = is_outside | is_nothing | (place < 0) | (place >= extent)
            places.append(place)
        return places, is_outside


def _nothing(one: Expr, values: Sequence[Array], nothings: Sequence[Bits]) -> Bits:
    """Where a result is nothing, given where its operands are."""
    if one.op == "select":
        return nothings[0] | np.where(values[0], nothings[1], nothings[2])
    if one.op == "mul" and one.dtype == BOOL:
        (a, b), (no_a, no_b) = (value.astype(bool) for value in values), nothings
        return (no_a & (b | no_b)) | (no_b & (a | no_a))
    return nothings[0] if len(nothings) == 1 else nothings[0] | nothings[1]
