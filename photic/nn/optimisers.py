"""Optimisers as builders of graphs: from a parameter, its gradient and moments to the next ones.

Formulas, defaults and names of moments are PyTorch's. An optimiser is data and keeps nothing: its
moments are states of the program that a train step compiles. Numbers of a whole step, such as a
learning rate or a bias correction, are computed once, in float64, and rounded to the parameter's
dtype, as PyTorch does with Python's floats.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field

from photic.base.errors import BadArgument
from photic.nn.schedules import Rate
from photic.tensor.compare import equal
from photic.tensor.powers import power
from photic.tensor.primitive import reciprocal, sqrt, where
from photic.tensor.rounding import sign
from photic.tensor.tensor import Tensor

Moments = Mapping[str, Tensor]
Next = tuple[Tensor, dict[str, Tensor]]


@dataclass(frozen=True, slots=True)
class Now:
    """What holds for a whole step: its number from 1 on, and the learning rate (both float64)."""

    number: Tensor
    rate: Tensor


class Optimiser(ABC):
    """What a train step asks of an optimiser. ``lr`` is a number or a schedule."""

    lr: Rate

    @property
    @abstractmethod
    def moments(self) -> tuple[str, ...]:
        """The names of what is kept beside each parameter, in its shape, zeros at first."""

    @abstractmethod
    def step(self, value: Tensor, gradient: Tensor, moments: Moments, now: Now) -> Next:
        """The next value and the next moments."""


def _number(x: Tensor, like: Tensor) -> Tensor:
    """A number of the step in the dtype of a parameter."""
    return x.astype(like.dtype)


def _lerp(old: Tensor, new: Tensor, weight: float) -> Tensor:
    return old + (new - old) * weight


def _check_rate(name: str, lr: Rate) -> None:
    if not isinstance(lr, int | float) and not callable(lr):
        expected = "a number or a schedule (parameters are those of the model)"
        raise BadArgument(op=name, argument="lr", given=repr(lr), expected=expected)


def _check(name: str, **betas: float) -> None:
    for argument, value in betas.items():
        if not 0 <= value < 1:
            raise BadArgument(op=name, argument=argument, given=value, expected="0 <= it < 1")


@dataclass(frozen=True)
class SGD(Optimiser):
    """Gradient descent, with momentum (Sutskever and others 2013) as PyTorch writes it."""

    lr: Rate = 1e-3
    momentum: float = 0.0
    dampening: float = 0.0
    weight_decay: float = 0.0
    nesterov: bool = False

    def __post_init__(self) -> None:
        _check_rate("SGD", self.lr)
        if self.nesterov and (self.momentum <= 0 or self.dampening != 0):
            given = f"momentum {self.momentum}, dampening {self.dampening}"
            expected = "momentum above 0 and no dampening"
            raise BadArgument(op="SGD", argument="nesterov", given=given, expected=expected)

    @property
    def moments(self) -> tuple[str, ...]:
        return ("momentum_buffer",) if self.momentum else ()

    def step(self, value: Tensor, gradient: Tensor, moments: Moments, now: Now) -> Next:
        if self.weight_decay:
            gradient = gradient + value * self.weight_decay
        rate = _number(now.rate, value)
        if not self.momentum:
            return value - gradient * rate, {}
        moved = moments["momentum_buffer"] * self.momentum + gradient * (1 - self.dampening)
        if self.dampening:  # the first gradient counts whole
            moved = where(equal(now.number, 1.0), gradient, moved)
        direction = gradient + moved * self.momentum if self.nesterov else moved
        return value - direction * rate, {"momentum_buffer": moved}


@dataclass(frozen=True)
class Adam(Optimiser):
    """Adam (Kingma and Ba 2015); ``weight_decay`` is added to the gradient."""

    lr: Rate = 1e-3
    betas: tuple[float, float] = (0.9, 0.999)
    eps: float = 1e-8
    weight_decay: float = 0.0

    def __post_init__(self) -> None:
        _check_rate("Adam", self.lr)
        _check("Adam", beta1=self.betas[0], beta2=self.betas[1])

    @property
    def moments(self) -> tuple[str, ...]:
        return ("exp_avg", "exp_avg_sq")

    def step(self, value: Tensor, gradient: Tensor, moments: Moments, now: Now) -> Next:
        if self.weight_decay:
            gradient = gradient + value * self.weight_decay
        return self._moved(value, gradient, moments, now)

    def _moved(self, value: Tensor, gradient: Tensor, moments: Moments, now: Now) -> Next:
        first, second = self.betas
        mean = _lerp(moments["exp_avg"], gradient, 1 - first)
        square = moments["exp_avg_sq"] * second + gradient * gradient * (1 - second)
        length = now.rate * reciprocal(1.0 - power(first, now.number))
        spread = reciprocal(sqrt(1.0 - power(second, now.number)))
        divisor = sqrt(square) * _number(spread, value) + self.eps
        moved = value - mean * reciprocal(divisor) * _number(length, value)
        return moved, {"exp_avg": mean, "exp_avg_sq": square}


@dataclass(frozen=True)
class AdamW(Adam):
    """Adam whose weights decay apart from the gradient (Loshchilov and Hutter 2019)."""

    weight_decay: float = 1e-2

    def step(self, value: Tensor, gradient: Tensor, moments: Moments, now: Now) -> Next:
        if self.weight_decay:
            value = value * _number(1.0 - now.rate * self.weight_decay, value)
        return self._moved(value, gradient, moments, now)


@dataclass(frozen=True)
class Lion(Optimiser):
    """Signs of a running mean (Chen and others 2023, algorithm 2)."""

    lr: Rate = 1e-4
    betas: tuple[float, float] = (0.9, 0.99)
    weight_decay: float = 0.0

    def __post_init__(self) -> None:
        _check_rate("Lion", self.lr)
        _check("Lion", beta1=self.betas[0], beta2=self.betas[1])

    @property
    def moments(self) -> tuple[str, ...]:
        return ("exp_avg",)

    def step(self, value: Tensor, gradient: Tensor, moments: Moments, now: Now) -> Next:
        first, second = self.betas
        old = moments["exp_avg"]
        if self.weight_decay:
            value = value * _number(1.0 - now.rate * self.weight_decay, value)
        direction = sign(_lerp(old, gradient, 1 - first))
        moved = value - direction * _number(now.rate, value)
        return moved, {"exp_avg": _lerp(old, gradient, 1 - second)}


@dataclass(frozen=True)
class RMSprop(Optimiser):
    """The gradient over the root of a running mean of its square (Tieleman and Hinton 2012)."""

    lr: Rate = 1e-2
    alpha: float = 0.99
    eps: float = 1e-8
    weight_decay: float = 0.0
    momentum: float = 0.0

    def __post_init__(self) -> None:
        _check_rate("RMSprop", self.lr)
        _check("RMSprop", alpha=self.alpha)

    @property
    def moments(self) -> tuple[str, ...]:
        return ("square_avg", "momentum_buffer") if self.momentum else ("square_avg",)

    def step(self, value: Tensor, gradient: Tensor, moments: Moments, now: Now) -> Next:
        if self.weight_decay:
            gradient = gradient + value * self.weight_decay
        square = _lerp(moments["square_avg"], gradient * gradient, 1 - self.alpha)
        direction = gradient * reciprocal(sqrt(square) + self.eps)
        after = {"square_avg": square}
        if self.momentum:
            direction = moments["momentum_buffer"] * self.momentum + direction
            after["momentum_buffer"] = direction
        return value - direction * _number(now.rate, value), after


AVERAGE = "average"


@dataclass(frozen=True)
class Averaged(Optimiser):
    """Another optimiser, and a running mean of the weights that it makes (EMA).

    The mean begins as the weights after the first step, and moves by ``1 - decay`` towards those
    of each later one, as PyTorch's ``swa_utils.AveragedModel`` with ``get_ema_multi_avg_fn``. It
    is the moment ``average``; ``TrainStep.averages`` gives it under the model's names.
    """

    optimiser: Optimiser
    decay: float = 0.999
    lr: Rate = field(init=False)

    def __post_init__(self) -> None:
        if not isinstance(self.optimiser, Optimiser):
            given = {"given": repr(self.optimiser), "expected": "an optimiser"}
            raise BadArgument(op="Averaged", argument="optimiser", **given)
        _check("Averaged", decay=self.decay)
        object.__setattr__(self, "lr", self.optimiser.lr)

    @property
    def moments(self) -> tuple[str, ...]:
        return (*self.optimiser.moments, AVERAGE)

    def step(self, value: Tensor, gradient: Tensor, moments: Moments, now: Now) -> Next:
        moved, after = self.optimiser.step(value, gradient, moments, now)
        mean = _lerp(moments[AVERAGE], moved, 1 - self.decay)
        return moved, after | {AVERAGE: where(equal(now.number, 1.0), moved, mean)}
