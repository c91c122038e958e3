"""Learning rates that depend on the step: functions of its number, inside the graph.

A schedule takes the number of steps already done (float64, 0 at the first step) and gives the rate
of the next one, as float64. Any function of tensors will do; these are PyTorch's.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from photic.ir.dtype import FLOAT64
from photic.tensor.creation import input
from photic.tensor.tensor import Tensor, number

Schedule = Callable[[Tensor], Tensor]
Rate = float | Schedule


@dataclass(frozen=True, slots=True)
class GivenRate:
    """The rate is an input of the step: ``step(x=..., lr=1e-3)``."""

    name: str = "lr"

    def __call__(self, done: Tensor) -> Tensor:
        return input(self.name, (), FLOAT64)


def rate_at(rate: Rate, done: Tensor) -> Tensor:
    """The learning rate after so many steps, float64."""
    if isinstance(rate, int | float):
        return number(float(rate), FLOAT64)
    return rate(done).astype(FLOAT64)
