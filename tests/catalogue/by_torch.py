"""Oracles by PyTorch in float64, and cases of several arrays of different kinds.

torch is imported when an oracle is first asked, so that entries are read without it; mark them
``is_peer``.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from catalogue.entry import Answers, Array, Case, Cases, Dtype, Speed, Workload
from catalogue.inputs import Shape, between, laid

Make = Callable[[Dtype, np.random.Generator], Array]


@dataclass(frozen=True, slots=True)
class ByTorch:
    """``function(torch, *tensors)`` of the arrays, as NumPy arrays."""

    function: Callable[..., Any]

    def __call__(self, *arrays: Array) -> Answers:
        import torch

        tensors = [torch.from_numpy(np.array(one)) for one in arrays]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # of what torch plans to change
            made = self.function(torch, *tensors)
        if isinstance(made, torch.Tensor):
            return np.asarray(made.numpy())
        return tuple(np.asarray(one.numpy()) for one in made)


def by_torch(function: Callable[..., Any]) -> ByTorch:
    """The oracle that is a function of torch."""
    return ByTorch(function)


def speed_of(
    peer: Callable[..., object],
    call: Callable[..., Any] | None,
    *shapes: Shape,
    why: str = "",
    arrays: Workload | None = None,
) -> Speed:
    """A workload of float32 arrays of these shapes, evenly in -1..1."""

    def drawn(random: np.random.Generator) -> Case:
        return tuple(random.uniform(-1, 1, shape).astype(np.float32) for shape in shapes)

    return Speed(peer, arrays or drawn, call, why)


# --- cases ----------------------------------------------------------------------------------


def floats(*shape: int, low: float = -2.0, high: float = 2.0) -> Make:
    """An array in the dtype of the case, evenly in ``low .. high``."""
    return lambda dtype, random: between(dtype, shape, random, low, high)


def whole(*shape: int, low: int, high: int) -> Make:
    """An int64 array in ``low .. high - 1``."""
    return lambda _dtype, random: np.asarray(random.integers(low, high, shape))


def chosen(*values: object, shape: Shape) -> Make:
    """An array of some of these values, in the dtype of the case."""
    return lambda dtype, random: np.asarray(random.choice(np.array(values), shape)).astype(dtype)


def exactly(values: object) -> Make:
    """This array, of integers or bools."""
    return lambda _dtype, _random: np.array(values)


def cases(*rows: Sequence[Make]) -> Cases:
    """A case for each row; layouts of the arrays alternate."""

    def made(dtype: Dtype, random: np.random.Generator) -> Iterator[Case]:
        for number, row in enumerate(rows):
            yield tuple(laid(make(dtype, random), number + k) for k, make in enumerate(row))

    return made
