"""Learning rates that depend on the step: functions of its number, inside the graph.

A schedule takes the number of steps already done (float64, 0 at the first step) and gives the rate
of the next one, as float64. Any function of tensors will do; these are closed forms of PyTorch's
``lr_scheduler``. They count steps, not epochs.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from photic.base.errors import BadArgument
from photic.ir.dtype import FLOAT64
from photic.tensor.arithmetic import floor_divide
from photic.tensor.compare import minimum
from photic.tensor.creation import input
from photic.tensor.powers import power
from photic.tensor.primitive import less, where
from photic.tensor.tensor import Tensor, number
from photic.tensor.waves import cos

Schedule = Callable[[Tensor], Tensor]
Rate = float | Schedule


def rate_at(rate: Rate, done: Tensor) -> Tensor:
    """The learning rate after so many steps, float64."""
    if isinstance(rate, int | float):
        return number(float(rate), FLOAT64)
    return rate(done).astype(FLOAT64)


def _require(op: str, argument: str, given: float, least: float) -> None:
    if not isinstance(given, int | float) or not given >= least:
        expected = f"a number, {least} or more"
        raise BadArgument(op=op, argument=argument, given=repr(given), expected=expected)


def _between(start: float, end: float, share: Tensor) -> Tensor:
    """Half a cosine from ``start`` (share 0) to ``end`` (share 1)."""
    return (cos(share * math.pi) + 1.0) * ((start - end) / 2) + end


@dataclass(frozen=True, slots=True)
class GivenRate:
    """The rate is an input of the step, a float64 number: ``step(x=..., lr=1e-3)``."""

    name: str = "lr"

    def __call__(self, done: Tensor) -> Tensor:
        return input(self.name, (), FLOAT64)


@dataclass(frozen=True, slots=True)
class LinearRate:
    """From ``start_factor*lr`` to ``end_factor*lr`` in ``total`` steps, and there it stays."""

    lr: float
    total: int = 5
    start_factor: float = 1 / 3
    end_factor: float = 1.0

    def __post_init__(self) -> None:
        _require("LinearRate", "total", self.total, 1)

    def __call__(self, done: Tensor) -> Tensor:
        share = minimum(done, float(self.total)) * (1 / self.total)
        return (share * (self.end_factor - self.start_factor) + self.start_factor) * self.lr


@dataclass(frozen=True, slots=True)
class CosineRate:
    """Half a cosine from ``lr`` to ``least`` in ``total`` steps; it goes up again after them."""

    lr: float
    total: int
    least: float = 0.0

    def __post_init__(self) -> None:
        _require("CosineRate", "total", self.total, 1)

    def __call__(self, done: Tensor) -> Tensor:
        return _between(self.lr, self.least, done * (1 / self.total))


@dataclass(frozen=True, slots=True)
class StepRate:
    """``lr``, times ``gamma`` after every ``every`` steps."""

    lr: float
    every: int
    gamma: float = 0.1

    def __post_init__(self) -> None:
        _require("StepRate", "every", self.every, 1)

    def __call__(self, done: Tensor) -> Tensor:
        return power(self.gamma, floor_divide(done, float(self.every))) * self.lr


@dataclass(frozen=True, slots=True)
class WarmUp:
    """A straight line from 0 (not reached) to the first rate of ``after`` in ``steps`` steps.

    Step k of them has ``(k + 1)/(steps + 1)`` of that rate; ``after`` counts from its own 0.
    """

    steps: int
    after: Rate

    def __post_init__(self) -> None:
        _require("WarmUp", "steps", self.steps, 0)

    def __call__(self, done: Tensor) -> Tensor:
        line = (done + 1.0) * (1 / (self.steps + 1)) * rate_at(self.after, done * 0.0)
        return where(less(done, float(self.steps)), line, rate_at(self.after, done - self.steps))


@dataclass(frozen=True, slots=True)
class OneCycle:
    """Up to ``most`` and down to almost nothing, by half cosines (Smith and Topin 2017).

    From ``most/div_factor`` up in the first ``up_share`` of ``total`` steps, then down to
    ``most/div_factor/final_div_factor``, as PyTorch's ``OneCycleLR`` of two phases; afterwards it
    stays there.
    """

    most: float
    total: int
    up_share: float = 0.3
    div_factor: float = 25.0
    final_div_factor: float = 1e4

    def __post_init__(self) -> None:
        _require("OneCycle", "total", self.total, 2)

    def __call__(self, done: Tensor) -> Tensor:
        start = self.most / self.div_factor
        top, last = self.up_share * self.total - 1, self.total - 1
        place = minimum(done, float(last))
        rising = _between(start, self.most, place * (1 / top) if top else place)
        falling = _between(self.most, start / self.final_div_factor, (place - top) / (last - top))
        return where(less(top, place), falling, rising)
