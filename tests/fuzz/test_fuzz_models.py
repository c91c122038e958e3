"""Products, softmaxes, windows and running sums of odd and symbolic sizes keep their meaning.

Larger than random graphs, so that register tiles, whole vectors and tails all have work.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

import numpy as np
import pytest
from fuzz.agreement import require_meaning
from fuzz.choices import scramble

import photic as ph
from photic.forms import movement
from photic.ir.dim import Dim
from photic.tensor.shapes import moved
from photic.tensor.tensor import Tensor

SIZES = (1, 2, 3, 5, 7, 8, 15, 16, 17, 31, 33, 48, 64, 65, 100)
RTOL = 2e-4  # sums of up to 2,700 products in any order, and what softmax makes of their roundings


@dataclass(slots=True)
class Draw:
    """Inputs, constants and sizes at random."""

    random: Random
    given: dict[str, np.ndarray] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)

    def number(self) -> int:
        return self.random.choice(SIZES)

    def extent(self, size: int) -> Dim:
        """The size itself, or a symbol for it."""
        if self.random.random() < 0.6:
            return size
        name = f"n{len(self.sizes)}"
        self.sizes[name] = size
        return ph.dim(name, self.random.choice([0, 1]), self.random.choice([size, 128, 4096]))

    def value(self, *shape: int, symbolic: tuple[int, ...] = ()) -> Tensor:
        """An input, or a constant if no axis is symbolic."""
        draw = np.random.default_rng(self.random.randrange(2**32))
        array = draw.standard_normal(shape).astype(np.float32)
        if not symbolic and self.random.random() < 0.4:
            return ph.constant(array)
        name = f"x{len(self.given)}"
        self.given[name] = array
        extents = [self.extent(n) if k in symbolic else n for k, n in enumerate(shape)]
        return ph.input(name, extents)


def product(draw: Draw) -> Tensor:
    m, k, n = draw.number(), draw.number(), draw.number()
    x, w = draw.value(m, k, symbolic=(0,)), draw.value(k, n)
    return ph.matmul(x, w) if draw.random.random() < 0.5 else ph.matmul(w.T, x.T)


def two_products(draw: Draw) -> Tensor:
    m, k, n = draw.number(), draw.number(), draw.number()
    x = draw.value(m, k, symbolic=(0,))
    return ph.matmul(ph.gelu(ph.matmul(x, draw.value(k, n))), draw.value(n, k)) + x


def grouped_softmax(draw: Draw) -> Tensor:
    m, k, n = draw.number(), draw.number(), draw.number()
    q, keys = draw.value(2, 3, m, k, symbolic=(2,)), draw.value(2, 1, n, k)
    return ph.softmax(ph.matmul(q, ph.swapaxes(keys, -1, -2)))


def windows(draw: Draw) -> Tensor:
    step = draw.random.choice([1, 2])
    x = ph.pad(draw.value(2, 3, 17, 19), ((0, 0), (0, 0), (1, 1), (1, 1)))
    for axis in (2, 3):
        x = moved(x, movement.windows, axis, 3, step, 1)
    return ph.sum(x[:, None] * draw.value(4, 3, 3, 3)[None, :, :, None, None], axis=(2, 5, 6))


def normalised(draw: Draw) -> Tensor:
    x = draw.value(draw.number(), draw.number(), symbolic=(0,))
    centred = x - ph.mean(x, axis=-1, keepdims=True)
    return centred * ph.rsqrt(ph.var(x, axis=-1, keepdims=True) + 1e-3)


def running(draw: Draw) -> Tensor:
    return ph.cumsum(draw.value(draw.number(), draw.number()), axis=draw.random.choice([0, 1]))


def looked_up(draw: Draw) -> Tensor:
    rows, columns = draw.number(), draw.number()
    draw.given["p"] = np.random.default_rng(rows).integers(-rows - 1, rows + 2, 21)
    return ph.take(draw.value(rows, columns), ph.input("p", (21,), "int64"), 0)


MODELS = (product, two_products, grouped_softmax, windows, normalised, running, looked_up)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("model", MODELS)
def test_models_keep_their_meaning(model: Callable[[Draw], Tensor], seed: int) -> None:
    draw = Draw(Random(seed))
    result = model(draw)
    require_meaning(result, draw.given, sizes=draw.sizes, rtol=RTOL)


@pytest.mark.parametrize("model", MODELS)
def test_models_keep_their_meaning_whatever_is_chosen(model: Callable[[Draw], Tensor]) -> None:
    draw = Draw(Random(99))
    result = model(draw)
    require_meaning(
        result,
        draw.given,
        sizes=draw.sizes,
        rtol=RTOL,
        change=lambda state: scramble(draw.random, state),
    )
