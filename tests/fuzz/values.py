"""Values of random graphs, and how far results of a target may lie from them.

A value carries its elements and, beside them, the room: how far two right answers may lie apart.
Room 0 asks for equality to the bit (the sign of a nan aside). Values only carry and judge; how much
room an operation leaves is decided where graphs grow.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from fuzz.movements import Array

from photic.ir.dtype import DType
from photic.ir.graph import Graph, Operand
from photic.ir.view import Shape

# Unit roundoff doubled: the distance from 1 to the next number, and the smallest subnormal.
STEP = {"float64": 2.0**-52, "float32": 2.0**-23, "float16": 2.0**-10, "bfloat16": 2.0**-7}
TINY = {"float64": 2.0**-1074, "float32": 2.0**-149, "float16": 2.0**-24, "bfloat16": 2.0**-133}
LARGEST = {"float64": 2.0**400, "float32": 2.0**120, "float16": 2.0**14, "bfloat16": 2.0**120}


@dataclass(frozen=True, slots=True)
class Value:
    """A part of the graph, its elements, and the room between two right answers for each."""

    operand: Operand
    array: Array
    room: Array

    @property
    def dtype(self) -> DType:
        return self.operand.dtype

    @property
    def shape(self) -> Shape:
        return self.operand.shape

    @property
    def is_exact(self) -> bool:
        return not self.room.any()

    @property
    def is_finite(self) -> bool:
        return self.dtype.kind != "float" or bool(np.isfinite(wide(self.array)).all())


@dataclass(frozen=True, slots=True)
class RandomCase:
    """One graph with everything to run it; ``room`` holds the elements' bounds of each result."""

    seed: int
    graph: Graph
    inputs: dict[str, Array]
    states: dict[str, Array]
    sizes: dict[str, int]
    outputs: dict[str, Value]
    updates: dict[str, Value]
    features: Counter[str]

    def faults(self, outputs: Mapping[str, Array], states: Mapping[str, Array]) -> list[str]:
        """What is wrong with results that a target computed; nothing if all is right."""
        pairs = [(name, value, outputs) for name, value in self.outputs.items()]
        pairs += [(name, value, states) for name, value in self.updates.items()]
        found = [(name, fault(value, got.get(name))) for name, value, got in pairs]
        return [f"seed {self.seed}: {name} {what}" for name, what in found if what]


def wide(array: Array) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    """The elements as float64 (int64 too: close enough for a magnitude)."""
    return array.astype(np.float64)


def fault(value: Value, got: Array | None) -> str:
    """How a computed array differs from what it may be, or nothing."""
    want = value.array
    if got is None:
        return "is missing"
    if (got.dtype, got.shape) != (want.dtype, want.shape):
        return f"is {got.dtype}{got.shape}, not {want.dtype}{want.shape}"
    if value.dtype.kind != "float":
        wrong = got != want
    else:
        a, b = wide(got), wide(want)
        with np.errstate(all="ignore"):
            is_far = ~(np.abs(a - b) <= value.room) & (a != b)
        signs = (np.signbit(a) != np.signbit(b)) & (value.room == 0)
        wrong = (is_far | signs) & ~(np.isnan(a) & np.isnan(b))
    if not np.any(wrong):
        return ""
    place = tuple(int(k) for k in np.argwhere(wrong)[0])
    share = f"{int(np.sum(wrong))} of {want.size}"
    return f"at {place} is {got[place]!r}, not {want[place]!r} ({share}, room {value.room[place]})"


def finite(array: Array) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    """The elements as float64, 0 in place of nan and infinities."""
    return np.nan_to_num(wide(array), nan=0.0, posinf=0.0, neginf=0.0)


def rounding(array: Array, dtype: DType) -> Array:
    """One step of the dtype at each element."""
    return STEP[dtype.name] * np.abs(finite(array)) + TINY[dtype.name]


def settled(room: Array, array: Array) -> Array:
    """No room where the value is not finite: a nan or an infinity must be met as such."""
    return np.where(np.isfinite(wide(array)), room, 0.0)
