"""Sizes and indices as int64 tensors of an ONNX file.

A symbolic size is read off the shape of an input that tells it; one that no input tells is an input
itself, a number. What is computed of sizes alone stands before all other nodes, and what is known
now is computed now.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from photic.forms.dim_eval import number_of
from photic.frontends.onnx.export_writer import Sheet
from photic.frontends.onnx.kinds import Array
from photic.ir.dim import Data, Dim, Symbol, Var, terms_of
from photic.ir.graph import Node
from photic.ir.view import Bound

MOST_IN_A_TABLE = 1 << 16  # places that stand in the file; more are computed by it

KNOWN: Mapping[str, Callable[..., Array]] = {
    "Add": np.add,
    "Sub": np.subtract,
    "Mul": np.multiply,
    "Div": np.floor_divide,  # of multiples only, where it is exact
    "Mod": np.mod,
    "Max": np.maximum,
    "Min": np.minimum,
    "Less": np.less,
    "Equal": np.equal,
    "And": np.logical_and,
    "Not": np.logical_not,
    "Where": np.where,
}


@dataclass(frozen=True, slots=True)
class Told:
    """Where a size can be read: ``factor * size + offset`` is an axis of an input."""

    input: str
    axis: int
    factor: int
    offset: int


def told_by(inputs: Mapping[str, Node]) -> dict[Symbol, Told]:
    """The sizes that shapes of inputs tell."""
    found: dict[Symbol, Told] = {}
    for name, node in inputs.items():
        for axis, extent in enumerate(node.shape):
            terms = dict(terms_of(extent))
            offset = terms.pop((), 0)
            match list(terms.items()):
                case [((Symbol() as one,), factor)] if factor > 0:
                    found.setdefault(one, Told(name, axis, factor, offset))
    return found


@dataclass(frozen=True, slots=True, eq=False)
class Number:
    """Integers or bools: an array that is known, or the name of a tensor of the file.

    It has the operators of ``number_of``.
    """

    sheet: Sheet
    value: Array | str

    @property
    def name(self) -> str:
        """Its name in the file."""
        if isinstance(self.value, str):
            return self.value
        return self.sheet.writer.constant(self.value)

    def by(self, op: str, *others: int | Number) -> Number:
        """An operator of ONNX on this and others, computed now where all is known and small."""
        many = [self, *(self._number(one) for one in others)]
        arrays = [one.value for one in many if not isinstance(one.value, str)]
        if len(arrays) == len(many):
            shape = np.broadcast_shapes(*(one.shape for one in arrays))
            if math.prod(shape) <= MOST_IN_A_TABLE:
                return Number(self.sheet, np.asarray(KNOWN[op](*arrays)))
        return Number(self.sheet, self.sheet.node(op, *(one.name for one in many)))

    def _number(self, value: int | Number) -> Number:
        return value if isinstance(value, Number) else Number(self.sheet, np.array(value, np.int64))

    def __add__(self, other: int | Number) -> Number:
        return self if other == 0 else self.by("Add", other)

    __radd__ = __add__

    def __mul__(self, other: int | Number) -> Number:
        return self if other == 1 else self.by("Mul", other)

    __rmul__ = __mul__

    def __mod__(self, other: int | Number) -> Number:
        """Floored. By 0 it is 0, as everywhere."""
        return self.by("Mod", _divisor(other))

    def __floordiv__(self, other: int | Number) -> Number:
        """Floored. Div truncates, so what is divided is made a multiple first."""
        quotient = self.by("Sub", self % other).by("Div", _divisor(other))
        return (
            other.by("Equal", 0).by("Where", 0, quotient) if isinstance(other, Number) else quotient
        )

    def __rfloordiv__(self, other: int) -> Number:
        return self._number(other) // self

    def __rmod__(self, other: int) -> Number:
        return self._number(other) % self


def _divisor(value: int | Number) -> int | Number:
    return value.by("Max", 1) if isinstance(value, Number) else value


@dataclass(frozen=True, slots=True)
class Sizes:
    """Sizes as tensors; ``sheet`` stands before everything that reads them."""

    sheet: Sheet
    told: Mapping[Symbol, Told]

    def vector(self, sizes: Sequence[Dim]) -> str:
        """A tensor of rank 1 with these sizes."""
        parts = [self._known([one]) if isinstance(one, int) else self.number(one) for one in sizes]
        if all(isinstance(one, int) for one in sizes):
            return self._known(sizes).name
        names = [one.name for one in parts]
        return names[0] if len(names) == 1 else self.sheet.node("Concat", *names, axis=0)

    def scalar(self, size: Dim) -> str:
        """A tensor of rank 0."""
        if isinstance(size, int):
            return self._known(size).name
        return self.sheet.node("Reshape", self.number(size).name, self.vector(()))

    def counted(self, length: Dim) -> Number:
        """0, 1, ..., length - 1."""
        if isinstance(length, int) and length <= MOST_IN_A_TABLE:
            return self._known(range(length))
        ends = self.scalar(0), self.scalar(length), self.scalar(1)
        return Number(self.sheet, self.sheet.node("Range", *ends))

    def number(self, value: Dim, axes: Sequence[Var] = ()) -> Number:
        """A size as one element, or an index: its axes are the variables, or of extent 1."""

        def lookup(atom: Symbol | Var | Data) -> Number:
            assert not isinstance(atom, Data)
            return self._symbol(atom) if isinstance(atom, Symbol) else self._variable(atom, axes)

        found = number_of(value, lookup)  # type: ignore[arg-type]
        return found if isinstance(found, Number) else self._known([int(found)])

    def inside(self, bounds: Sequence[Bound], axes: Sequence[Var]) -> Number:
        """True where all bounds hold."""
        found: Number | None = None
        for one in bounds:
            place, extent = self.number(one.value, axes), self.number(one.extent)
            holds = place.by("Less", 0).by("Not").by("And", place.by("Less", extent))
            found = holds if found is None else found.by("And", holds)
        assert found is not None
        return found

    def _known(self, value: int | Sequence[Dim] | range) -> Number:
        return Number(self.sheet, np.array(value, np.int64))

    def _symbol(self, size: Symbol) -> Number:
        told = self.told.get(size)
        if told is None:
            return Number(self.sheet, self.sheet.node("Reshape", size.name, self.vector([1])))
        axis = told.axis
        extent = self.sheet.node("Shape", told.input, start=axis, end=axis + 1)
        number = Number(self.sheet, extent) + -told.offset
        return number if told.factor == 1 else number // told.factor

    def _variable(self, one: Var, axes: Sequence[Var]) -> Number:
        place = axes.index(one)
        shape = [one.extent if k == place else 1 for k in range(len(axes))]
        numbers = self.counted(one.extent)
        if isinstance(numbers.value, str):
            return Number(self.sheet, self.sheet.node("Reshape", numbers.value, self.vector(shape)))
        return Number(self.sheet, numbers.value.reshape([int(n) for n in shape]))
