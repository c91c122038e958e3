"""What a call is given: inputs checked against what the program declares, sizes read off them.

Nothing is converted: a wrong dtype or shape is an error that says what was expected. What does not
change from call to call is worked out once.
"""

from __future__ import annotations

import ctypes
import operator
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np

from photic.base.errors import BadArgument
from photic.forms.dim_eval import number_of
from photic.forms.errors import (
    InputDtype,
    InputMissing,
    InputShape,
    InputUnknown,
    InputUnreadable,
    SizeConflict,
    SizeMissing,
    SizeOutOfRange,
)
from photic.ir.dim import Data, Dim, Symbol, Var, terms_of
from photic.storage.artifact import Argument, Array

UNSHARED = (BufferError, RuntimeError, TypeError, ValueError)  # what exporters of DLPack raise


@dataclass(slots=True)
class Sizes:
    """The sizes of one call as they become known, and which input said so."""

    values: dict[str, int] = field(default_factory=dict)
    said_by: dict[str, str] = field(default_factory=dict)

    def learn(self, name: str, value: int, source: str) -> None:
        """Note a size; SizeConflict if another source said otherwise."""
        known = self.values.setdefault(name, value)
        if known != value:
            raise SizeConflict(
                name=name, given=value, where=source, expected=known, other=self.said_by[name]
            )
        self.said_by.setdefault(name, source)

    def of(self, dim: Dim) -> int:
        """The number that a size has in this call."""
        if isinstance(dim, int):
            return dim
        name = _alone(dim)
        return self.values[name] if name else number_of(dim, self._lookup)

    def shape(self, shape: tuple[Dim, ...]) -> tuple[int, ...]:
        """The numbers that the sizes of a shape have in this call."""
        return tuple(map(self.of, shape))

    def _lookup(self, atom: Symbol | Var | Data) -> int:
        assert isinstance(atom, Symbol)
        return self.values[atom.name]


NO_SIZES = Sizes()  # of programs without symbolic sizes: nothing is ever learned


@lru_cache(maxsize=1024)
def _alone(dim: Dim) -> str:
    """The name of the size that a dimension is, or nothing if it is made of several."""
    terms = terms_of(dim)
    only = terms[0][0][0] if len(terms) == 1 and len(terms[0][0]) == 1 else None
    return only.name if isinstance(only, Symbol) and terms[0][1] == 1 else ""


@dataclass(frozen=True, slots=True)
class _Reading:
    """An axis whose extent is ``factor*size + rest`` for one size."""

    axis: int
    name: str
    factor: int
    rest: int


@dataclass(frozen=True, slots=True)
class Port:
    """One input, with all that can be known before a call; ``fixed`` if no size is in its shape."""

    argument: Argument
    dtype: np.dtype[np.generic]
    fixed: tuple[int, ...] | None
    readings: tuple[_Reading, ...]

    def accepted(self, value: object, sizes: Sizes) -> Array:
        """The array that a value is, of the right dtype and rank; its sizes are noted."""
        name = self.argument.name
        array = value if type(value) is np.ndarray else as_array(name, value)
        if array.dtype != self.dtype:
            raise InputDtype(name=name, given=array.dtype, expected=str(self.argument.dtype))
        if self.fixed is None and array.ndim == len(self.argument.shape):
            for one in self.readings:
                number, left = divmod(array.shape[one.axis] - one.rest, one.factor)
                if left:
                    raise InputShape(name=name, given=array.shape, expected=self.shape_text)
                sizes.learn(one.name, number, f"input {name!r}")
        elif array.shape != self.fixed:
            raise InputShape(name=name, given=array.shape, expected=self.shape_text)
        return array if array.flags.c_contiguous else np.ascontiguousarray(array)

    def require_shape(self, array: Array, sizes: Sizes) -> None:
        """InputShape unless the array has the declared shape, all sizes known."""
        if self.fixed is None:
            expected = sizes.shape(self.argument.shape)
            if array.shape != expected:
                raise InputShape(name=self.argument.name, given=array.shape, expected=expected)

    @property
    def shape_text(self) -> str:
        """The declared shape, for messages."""
        return "[" + ", ".join(map(str, self.argument.shape)) + "]"


def port_of(argument: Argument) -> Port:
    """The port of an input."""
    fixed = fixed_shape(argument.shape)
    found = (_reading(axis, extent) for axis, extent in enumerate(argument.shape))
    readings = tuple(one for one in found if one is not None)
    return Port(argument, argument.dtype.numpy, fixed, readings)


def fixed_shape(shape: tuple[Dim, ...]) -> tuple[int, ...] | None:
    """The shape, if it holds no symbolic size."""
    numbers = tuple(extent for extent in shape if isinstance(extent, int))
    return numbers if len(numbers) == len(shape) else None


def _reading(axis: int, extent: Dim) -> _Reading | None:
    if isinstance(extent, int):
        return None
    terms = dict(terms_of(extent))
    rest = terms.pop((), 0)
    if len(terms) != 1:
        return None
    (monomial, factor), *_ = terms.items()
    only = monomial[0] if len(monomial) == 1 else None
    return _Reading(axis, only.name, factor, rest) if isinstance(only, Symbol) else None


def accept(
    ports: Mapping[str, Port], declared: tuple[Symbol, ...], given: Mapping[str, object]
) -> tuple[dict[str, Array], Sizes]:
    """Every input as the kernels read it, and every size.

    Raises InputMissing, InputUnknown, InputShape, InputDtype, InputUnreadable, SizeMissing,
    SizeOutOfRange, SizeConflict, and BadArgument for a size that is no integer.
    """
    sizes = Sizes() if declared else NO_SIZES
    if len(given) != len(ports):
        _learn_given(ports, declared, given, sizes)
    arrays: dict[str, Array] = {}
    for name, port in ports.items():
        if name not in given:
            _learn_given(ports, declared, given, sizes)
            shown = f"{port.argument.dtype}{port.shape_text}"
            raise InputMissing(name=name, expected=shown, given=", ".join(given) or "none")
        arrays[name] = port.accepted(given[name], sizes)
    if declared:
        _check(declared, sizes)
        for name, port in ports.items():
            port.require_shape(arrays[name], sizes)
    return arrays, sizes


def _learn_given(
    ports: Mapping[str, Port],
    declared: tuple[Symbol, ...],
    given: Mapping[str, object],
    sizes: Sizes,
) -> None:
    """Note the sizes given by name; InputUnknown for a name that the program has not."""
    names = {one.name for one in declared}
    for name, value in given.items():
        if name in ports:
            continue
        if name not in names:
            expected = ", ".join([*ports, *sorted(names)])
            raise InputUnknown(name=name, expected=expected or "none")
        try:
            sizes.learn(name, operator.index(value), "the call")  # type: ignore[arg-type]
        except TypeError:
            raise BadArgument(
                op="program", argument=name, given=repr(value), expected="an integer"
            ) from None


def _check(declared: tuple[Symbol, ...], sizes: Sizes) -> None:
    for one in declared:
        if one.name not in sizes.values:
            raise SizeMissing(name=one.name)
        value = sizes.values[one.name]
        if not one.low <= value <= one.high:
            raise SizeOutOfRange(name=one.name, given=value, low=one.low, high=one.high)


# NumPy's binary interface: an array's object begins with Python's own head, then the address of its
# elements. ``array.ctypes.data`` makes two objects and takes seven times as long.
HEAD_BYTES = object.__basicsize__
_pointer_at = ctypes.c_void_p.from_address


def _peeked(array: Array) -> int:
    return _pointer_at(id(array) + HEAD_BYTES).value or 0


def _asked(array: Array) -> int:
    return int(array.ctypes.data)


# Other Pythons' ``id`` is no address.
address_of = _peeked if sys.implementation.name == "cpython" else _asked


def as_array(name: str, value: object) -> Array:
    """NumPy's arrays as they are, DLPack's on their own memory, other values in a new array."""
    if isinstance(value, np.ndarray):
        return value
    if not hasattr(value, "__dlpack__"):
        return np.asarray(value)
    try:
        exported: Array = np.from_dlpack(value)
    except UNSHARED as error:
        raise InputUnreadable(name=name, given=type(value).__name__, problem=error) from None
    return exported
