"""The runtime of a compiled program: arrays in, one call of the entry function, arrays out.

Thread-safe: each call checks out a workspace (arena, table of addresses) from a pool; a program
with states runs one call at a time. Results never share storage with anything. Inputs are checked
and never converted: a wrong dtype or shape is an error that says what was expected.
"""

from __future__ import annotations

import ctypes
import math
import mmap
import threading
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import numpy as np

from photic.base.errors import (
    InputDtype,
    InputMissing,
    InputShape,
    InputUnknown,
    SizeConflict,
    SizeMissing,
    SizeOutOfRange,
    TooLarge,
)
from photic.compiler.artifact import Argument, Array, Artifact, KernelReport
from photic.ir.dim import Data, Dim, Int, Symbol, Var, evaluate
from photic.targets.registry import Loaded

ALIGNMENT = 64  # bytes


class _Exports(Protocol):
    """An array of another library that NumPy can see without copying."""

    def __dlpack__(self) -> object: ...


@dataclass(frozen=True, slots=True)
class Report:
    """What is known of a compiled program."""

    kernels: tuple[KernelReport, ...]
    candidates: int
    seconds: float
    stopped: str
    matches: Mapping[str, int]


@dataclass(slots=True)
class _Workspace:
    """What one call needs for itself: the table of addresses, the sizes, the arena."""

    table: ctypes.Array[ctypes.c_void_p]
    sizes: ctypes.Array[ctypes.c_int64]
    arena: Array
    address: int


@dataclass(slots=True)
class _Sizes:
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
        return evaluate(dim, self._lookup)

    def _lookup(self, atom: Symbol | Var | Data) -> int:
        assert isinstance(atom, Symbol)
        return self.values[atom.name]


class Program:
    """A compiled program. Call it with its inputs by name; sizes are read off their shapes."""

    def __init__(self, artifact: Artifact, loaded: Loaded) -> None:
        self.artifact = artifact
        self._loaded = loaded
        self._free: deque[_Workspace] = deque()
        self._lock = threading.Lock()
        self._inputs = {one.name: one for one in artifact.inputs}
        self._states = {one.name: _zeros(one) for one in artifact.states}
        self.report = Report(artifact.kernels, 0, 0.0, "no search", {})

    @property
    def peak_bytes(self) -> int:
        """Bytes of the arena at the largest sizes; inputs, outputs and constants aside."""
        return self.artifact.arena_bytes

    @property
    def constant_bytes(self) -> int:
        """Bytes of the constants as the kernels read them."""
        return sum(one.nbytes for one in self.artifact.constants.values())

    @property
    def states(self) -> dict[str, Array]:
        """The states by name: live arrays, to be read or set between calls."""
        return self._states

    def reset(self) -> None:
        """All states zero again."""
        for array in self._states.values():
            array[...] = 0

    def __call__(self, **given: object) -> dict[str, Array]:
        """Run once. Values are arrays (NumPy or DLPack) or, for sizes, integers.

        Returns a new array for each output. Raises InputMissing, InputUnknown, InputShape,
        InputDtype, SizeMissing, SizeOutOfRange, SizeConflict.
        """
        sizes = _Sizes()
        arrays = self._checked(given, sizes)
        outputs = {
            one.name: np.empty(tuple(map(sizes.of, one.shape)), one.dtype.numpy)
            for one in self.artifact.outputs
        }
        if self._states:
            with self._lock:
                self._run(arrays, outputs, sizes)
        else:
            self._run(arrays, outputs, sizes)
        return outputs

    def save(self, path: str | Path) -> None:
        """Write the program to a folder; ``photic.load`` reads it back."""
        from photic.tensor.store import save_artifact

        save_artifact(self.artifact, Path(path))

    def _checked(self, given: Mapping[str, object], sizes: _Sizes) -> dict[str, Array]:
        names = {one.name for one in self.artifact.sizes}
        arrays: dict[str, Array] = {}
        for name, value in given.items():
            if name in self._inputs:
                arrays[name] = _as_array(value)
            elif name in names:
                sizes.learn(name, int(value), "the call")  # type: ignore[call-overload]
            else:
                expected = ", ".join([*self._inputs, *sorted(names)])
                raise InputUnknown(name=name, expected=expected or "none")
        for name, argument in self._inputs.items():
            if name not in arrays:
                shown = f"{argument.dtype}{_shape_text(argument)}"
                raise InputMissing(name=name, expected=shown, given=", ".join(given) or "none")
            _learn(argument, arrays[name], sizes)
        self._check_sizes(sizes)
        for name, argument in self._inputs.items():
            arrays[name] = _fitting(argument, arrays[name], sizes)
        return arrays

    def _check_sizes(self, sizes: _Sizes) -> None:
        for one in self.artifact.sizes:
            if one.name not in sizes.values:
                raise SizeMissing(name=one.name)
            value = sizes.values[one.name]
            if not one.low <= value <= one.high:
                raise SizeOutOfRange(name=one.name, given=value, low=one.low, high=one.high)

    def _run(self, arrays: dict[str, Array], outputs: dict[str, Array], sizes: _Sizes) -> None:
        try:
            work = self._free.pop()
        except IndexError:
            work = self._workspace()
        table = work.table
        for one in self.artifact.inputs:
            if one.slot >= 0:
                table[one.slot] = arrays[one.name].ctypes.data
        for one in self.artifact.outputs:
            table[one.slot] = outputs[one.name].ctypes.data
        for number, symbol in enumerate(self.artifact.sizes):
            work.sizes[number] = sizes.values[symbol.name]
        self._loaded.launch(ctypes.addressof(table), ctypes.addressof(work.sizes), work.address, 0)
        self._free.append(work)

    def _workspace(self) -> _Workspace:
        artifact = self.artifact
        table = (ctypes.c_void_p * max(1, artifact.slots))()
        for name, slot in artifact.constant_slots.items():
            table[slot] = artifact.constants[name].ctypes.data
        for one in artifact.states:
            if one.slot >= 0:
                table[one.slot] = self._states[one.name].ctypes.data
        numbers = (ctypes.c_int64 * max(1, len(artifact.sizes) + artifact.counters))()
        try:
            arena = np.empty(artifact.arena_bytes + ALIGNMENT, np.uint8)
        except MemoryError:
            raise TooLarge(
                what="the arena", given=artifact.arena_bytes, expected="what memory is left"
            ) from None
        start = arena.ctypes.data
        return _Workspace(table, numbers, arena, start + -start % ALIGNMENT)


def _zeros(argument: Argument) -> Array:
    """A state's memory, of which only what is written takes space.

    Mapped by ourselves, since NumPy asks for huge pages: a cache that is filled along an inner
    axis touches all of them at its first rows.
    """
    shape = tuple(int(extent) for extent in argument.shape)
    dtype = argument.dtype.numpy
    size = math.prod(shape) * dtype.itemsize
    try:
        memory = _mapped(max(1, size))
    except (OSError, ValueError, OverflowError):
        what = f"the state {argument.name!r}"
        raise TooLarge(what=what, given=size, expected="what memory is left") from None
    return np.frombuffer(memory, dtype, math.prod(shape)).reshape(shape)


def _mapped(size: int) -> mmap.mmap:
    """Zeroed pages, private to this process also after a fork."""
    if not hasattr(mmap, "MAP_ANONYMOUS"):
        return mmap.mmap(-1, size)
    memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    if hasattr(mmap, "MADV_NOHUGEPAGE"):
        with suppress(OSError):  # a kernel without huge pages
            memory.madvise(mmap.MADV_NOHUGEPAGE)
    return memory


def _as_array(value: object) -> Array:
    if isinstance(value, np.ndarray):
        return value
    if hasattr(value, "__dlpack__"):
        exported: Array = np.from_dlpack(value)
        return exported
    return np.asarray(value)


def _shape_text(argument: Argument) -> str:
    return "[" + ", ".join(map(str, argument.shape)) + "]"


def _learn(argument: Argument, array: Array, sizes: _Sizes) -> None:
    """Read the sizes that stand alone in an input's shape; check rank and dtype."""
    if array.dtype != argument.dtype.numpy:
        raise InputDtype(name=argument.name, given=array.dtype, expected=str(argument.dtype))
    if array.ndim != len(argument.shape):
        raise InputShape(name=argument.name, given=array.shape, expected=_shape_text(argument))
    for extent, actual in zip(argument.shape, array.shape, strict=True):
        if isinstance(extent, Int) and len(extent.terms) == 1:
            monomial, factor = extent.terms[0]
            alone = monomial[0] if len(monomial) == 1 and factor == 1 else None
            if isinstance(alone, Symbol):
                sizes.learn(alone.name, actual, f"input {argument.name!r}")


def _fitting(argument: Argument, array: Array, sizes: _Sizes) -> Array:
    """The input as the kernels read it: contiguous, of the declared shape."""
    expected = tuple(map(sizes.of, argument.shape))
    if array.shape != expected:
        raise InputShape(name=argument.name, given=array.shape, expected=expected)
    return np.ascontiguousarray(array)
