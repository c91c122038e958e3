"""First values of weights: PyTorch's default distributions, drawn from an explicit generator.

Distributions are PyTorch's, the numbers are NumPy's: to begin with the same numbers, load a state
dict. ``rng`` is a ``numpy.random.Generator``, which each draw advances, or a seed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from photic.ir.dtype import dtype_of
from photic.nn.parameter import Parameter
from photic.tensor.tensor import DTypeLike

Rng = np.random.Generator | int


def generator(rng: Rng) -> np.random.Generator:
    """A generator, or one made of a seed."""
    return rng if isinstance(rng, np.random.Generator) else np.random.default_rng(rng)


def uniform(rng: Rng, shape: Sequence[int], bound: float, dtype: DTypeLike) -> Parameter:
    """Uniform in ``-bound .. bound``."""
    drawn = generator(rng).uniform(-bound, bound, tuple(shape))
    return Parameter(drawn.astype(dtype_of(dtype).numpy))


def by_inputs(rng: Rng, shape: Sequence[int], inputs: int, dtype: DTypeLike) -> Parameter:
    """Uniform within ``1/sqrt(inputs)``: what PyTorch's linear layers and convolutions begin with.

    ``inputs`` is how many products an output sums.
    """
    return uniform(rng, shape, 1 / math.sqrt(inputs) if inputs else 0.0, dtype)


def glorot(rng: Rng, shape: tuple[int, int], dtype: DTypeLike) -> Parameter:
    """Uniform within ``sqrt(6/(rows + columns))`` (Glorot and Bengio 2010)."""
    return uniform(rng, shape, math.sqrt(6 / (shape[0] + shape[1])), dtype)


def normal(rng: Rng, shape: Sequence[int], dtype: DTypeLike) -> Parameter:
    """Normal numbers of mean 0 and variance 1."""
    return Parameter(generator(rng).normal(size=tuple(shape)).astype(dtype_of(dtype).numpy))


def filled(shape: Sequence[int], value: float, dtype: DTypeLike) -> Parameter:
    """One number everywhere."""
    return Parameter(np.full(tuple(shape), value, dtype_of(dtype).numpy))
