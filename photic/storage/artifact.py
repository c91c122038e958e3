"""A compiled program as data: everything that a runtime or a file needs, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from photic.ir.dim import Dim, Symbol
from photic.ir.dtype import DType
from photic.storage.making import Making

Array = np.ndarray[tuple[int, ...], np.dtype[np.generic]]


@dataclass(frozen=True, slots=True)
class Argument:
    """An input, output or state: its name, its shape over the sizes, its place in the table."""

    name: str
    shape: tuple[Dim, ...]
    dtype: DType
    slot: int


@dataclass(frozen=True, slots=True)
class KernelReport:
    """One kernel as ``program.report`` shows it.

    ``flops`` and ``bytes`` are estimates for one call at the largest sizes; ``seconds`` is None
    until measured; ``rules`` names the rewrites that led to it. ``timed`` are the flops and bytes
    of a call at the sizes that ``seconds`` is the mean of; None in files of an older version.
    """

    name: str
    source: str
    nest: str
    calls: int
    flops: int
    bytes: int
    seconds: float | None
    predicted_seconds: float | None
    rules: tuple[str, ...]
    timed: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class Artifact:
    """A compiled program without its loaded code.

    ``constants`` are laid out as the kernels read them; ``constant_slots`` says where each goes.
    ``scratch_bytes`` are for each thread. ``making`` is None for a file of an older version.
    """

    sizes: tuple[Symbol, ...]
    counters: int
    inputs: tuple[Argument, ...]
    outputs: tuple[Argument, ...]
    states: tuple[Argument, ...]
    constants: Mapping[str, Array]
    constant_slots: Mapping[str, int]
    slots: int
    arena_bytes: int
    buffer_bytes: int
    least_bytes: int
    scratch_bytes: int
    source: str
    kernels: tuple[KernelReport, ...]
    target: str
    machine: str
    making: Making | None = None
